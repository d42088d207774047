//! A device as large as its trace: `device.fit = "trace"`.

use crate::caller::{Caller, Stage};
use crate::error::RunError;
use ssd_core::config::{self, ConfigError, DeviceFit, Input, Word};
use ssd_trace::config::RunConfig;
use ssd_trace::{Step, footprint_pages};
use std::ops::ControlFlow;

/// Fewest blocks that `device.blocks_per_plane` may be.
const FEWEST: u64 = 4;

/// `config` with the capacity that its `device.fit` requests.
///
/// # Errors
/// The trace cannot be read, or not twice; no device of this form holds its pages; or the caller ends it.
pub(crate) fn resolved(config: RunConfig, caller: &mut dyn Caller) -> Result<RunConfig, RunError> {
    if config.device.fit == DeviceFit::None {
        return Ok(config);
    }
    readable_twice(&config)?;
    let mut ended = false;
    let mut watch = |step: Step| {
        let go_on = match step {
            Step::Read(bytes) => caller.progress(Stage::Reading, bytes, None),
            Step::Sorted { done, total } => caller.progress(Stage::Sorting, done, Some(total)),
        };
        ended |= go_on.is_break();
        if ended { ControlFlow::Break(()) } else { go_on }
    };
    match footprint_pages(&config.workload, config.device.page_bytes, &mut watch) {
        Ok(pages) => sized(&config, pages),
        Err(_) if ended => Err(RunError::Interrupted),
        Err(error) => Err(RunError::Workload(error.to_string())),
    }
}

/// Whether the trace to which `config` fits the device can also be read before the run.
///
/// # Errors
/// It is a pipe.
pub fn readable_twice(config: &RunConfig) -> Result<(), RunError> {
    let trace = config.workload.trace.as_deref().unwrap_or_default();
    // A missing file is reported when it is opened.
    let pipe = trace == "-" || std::fs::metadata(trace).is_ok_and(|file| !file.is_file());
    if config.device.fit == DeviceFit::None || !pipe {
        return Ok(());
    }
    let file = if trace == "-" { "standard input" } else { trace };
    Err(RunError::Workload(format!(
        "{file}: device.fit = \"trace\" reads the trace twice: expected a file, not a pipe"
    )))
}

/// `config` with the smallest device of its form that holds `pages` pages of the host at its over-provisioning.
///
/// # Errors
/// There is none: planes would have too few blocks or too many, or keys contradict each other at that size.
pub fn sized(config: &RunConfig, pages: u64) -> Result<RunConfig, RunError> {
    assert!(pages > 0, "a trace touches pages");
    let (device, physical) = (&config.device, physical_pages(config));
    assert!(device.user_pages > 0, "a resolved device has pages");
    let row = physical / u64::from(device.blocks_per_plane);
    // Blocks of a plane per page of the host.
    let share = f64::from(device.user_pages) / physical as f64;
    let least = (pages as f64 / share / row as f64).ceil() as u64;
    if least < FEWEST {
        return Err(unfit(config, pages, least, "expected at least 4"));
    }
    // Pages of the host are rounded down, which may cost another block.
    for blocks in least..=least + 1 {
        let fitted = of_blocks(config, blocks).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(|e| e.message.clone()).collect();
            unfit(config, pages, blocks, &messages.join("; "))
        })?;
        if u64::from(fitted.device.user_pages) >= pages {
            return Ok(fitted);
        }
    }
    panic!("{pages} pages do not fit {} blocks per plane", least + 1)
}

/// `config` with `blocks` blocks in each plane, and its over-provisioning.
fn of_blocks(config: &RunConfig, blocks: u64) -> Result<RunConfig, Vec<ConfigError>> {
    let stripe = if config.raid.group == 0 { 1 } else { config.chips() };
    let with_parity = u64::from(config.device.user_pages) / config.data_pages_per_stripe() * stripe;
    let spare = physical_pages(config) as f64 / with_parity as f64 - 1.0;
    let sets = vec![
        ("device.fit".to_owned(), DeviceFit::None.word().to_owned()),
        ("device.blocks_per_plane".to_owned(), blocks.to_string()),
        ("device.over_provisioning".to_owned(), format!("{spare:.9}")),
    ];
    let file = Some((format!("{}.toml", config.run.name), config::to_toml(config)));
    config::load(&Input { file, sets, ..Input::default() })
}

fn physical_pages(config: &RunConfig) -> u64 {
    let pages = config.device.physical_pages().and_then(|pages| u64::try_from(pages).ok());
    pages.expect("a resolved device has fewer than 2^32 pages")
}

fn unfit(config: &RunConfig, pages: u64, blocks: u64, reason: &str) -> RunError {
    let trace = config.workload.trace.as_deref().unwrap_or_default();
    let planes = config.device.planes();
    RunError::Config(format!(
        "device.fit: {trace} touches {pages} pages of {} bytes: that makes blocks_per_plane = {blocks} with {} pages \
         per block and {planes} planes: {reason}; fewer channels, chips or pages per block give a plane more blocks",
        config.device.page_bytes, config.device.pages_per_block
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> RunConfig {
        let file = Some(("fit.toml".to_owned(), text.to_owned()));
        config::load(&Input { file, ..Input::default() }).unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// Over-provisioning of the fitted device: (physical - user) / user.
    fn spare(config: &RunConfig) -> f64 {
        physical_pages(config) as f64 / f64::from(config.device.user_pages) - 1.0
    }

    #[test]
    fn the_smallest_device_that_holds_the_pages_keeps_its_spare() {
        for ratio in ["0.07", "0.1", "0.28", "1.0"] {
            let text = format!(
                "[device]\nfit = \"trace\"\nover_provisioning = {ratio}\npages_per_block = 4\n\
                 [workload]\ntrace = \"t.csv\""
            );
            let config = config(&text);
            for pages in [20_000, 170_596, 1_000_003, 16_000_000u64] {
                let fitted = sized(&config, pages).expect("it fits");
                let expected: f64 = ratio.parse().expect("a number");
                assert!((spare(&fitted) - expected).abs() < 1e-4, "{ratio}: {}", spare(&fitted));
                assert!(u64::from(fitted.device.user_pages) >= pages, "{ratio}: {pages} pages");
                let fewer = of_blocks(&fitted, u64::from(fitted.device.blocks_per_plane) - 1);
                assert!(u64::from(fewer.expect("a device").device.user_pages) < pages, "{pages}");
                assert_eq!(fitted.device.fit, DeviceFit::None);
            }
        }
    }

    #[test]
    fn parity_counts_as_pages_of_the_host() {
        let text = "[device]\nfit = \"trace\"\nover_provisioning = 0.2\n[raid]\ngroup = 8\n\
                    [workload]\ntrace = \"t.csv\"";
        let fitted = sized(&config(text), 400_000).expect("it fits");
        assert!(fitted.device.user_pages >= 400_000, "{}", fitted.device.user_pages);
        let with_parity = 1.2 * 8.0 / 7.0 - 1.0;
        assert!((spare(&fitted) - with_parity).abs() < 1e-3, "{}", spare(&fitted));
    }

    /// The defaults have 256 blocks per plane, of which 19 are spare: fewer than 24 classes need.
    #[test]
    fn what_looks_at_the_capacity_waits_for_it() {
        let text = "[device]\nfit = \"trace\"\nover_provisioning = 0.07\n[alloc.separation]\n\
                    policy = \"future\"\nclasses = 64\n[gc.trigger]\npolicy = \"free-blocks\"\n\
                    soft = 270\n[workload]\ntrace = \"t.csv\"";
        let config = config(text);
        let fitted = sized(&config, 16 << 20).expect("many blocks");
        assert!(fitted.device.blocks_per_plane > 2000, "{}", fitted.device.blocks_per_plane);
        let Err(RunError::Config(message)) = sized(&config, 1 << 18) else {
            panic!("64 classes fit")
        };
        assert!(message.contains("holds 64 classes open"), "{message}");
    }

    #[test]
    fn a_trace_that_fits_no_device_of_the_form_is_refused() {
        let config = config("[device]\nfit = \"trace\"\n[workload]\ntrace = \"t.csv\"");
        for (pages, words) in [(100, "at least 4"), (u64::from(u32::MAX) * 2, "blocks")] {
            let Err(RunError::Config(message)) = sized(&config, pages) else {
                panic!("{pages} fit")
            };
            assert!(message.contains(words) && message.contains("t.csv touches"), "{message}");
        }
    }
}
