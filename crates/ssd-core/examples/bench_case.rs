//! A small fixed case, whose instructions are counted: `python -m ssdlab.bench --instructions`.
//!
//! 32 planes of 256 blocks of 32 pages, 85 % of it for the host, greedy, queue depth 64: 600 000
//! uniformly random writes to an empty device. Prints the answer.
#![allow(clippy::print_stdout, reason = "its output is the answer")]

use ssd_core::config::{Config, HostMode};
use ssd_core::ftl::Ftl;
use ssd_core::host::drive::drive;
use ssd_core::host::request::{Op, Request, Source, SourceError, TimedRequest};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use std::ops::ControlFlow;

const WRITES: u64 = 600_000;

/// Uniformly random writes of a page.
struct Uniform {
    random: Stream,
    pages: u64,
    sectors_per_page: u32,
    left: u64,
}

impl Source for Uniform {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let sector = self.random.below(self.pages) * u64::from(self.sectors_per_page);
        let request = Request::new(Op::Write, sector, self.sectors_per_page);
        Ok(Some(TimedRequest { at: Nanos(0), request }))
    }
}

fn main() {
    let mut config = Config::default();
    config.device.pages_per_block = 32;
    config.device.user_pages = 8 * 4 * 256 * 32 * 85 / 100;
    config.host.mode = HostMode::Closed;
    config.host.queue_depth = 64;
    config.gc.trigger[0].params.insert("soft".into(), Value::Int(12));
    let mut source = Uniform {
        random: Stream::new(1, "bench"),
        pages: u64::from(config.device.user_pages),
        sectors_per_page: config.device.page_bytes / 512,
        left: WRITES,
    };
    let mut ssd = Ssd::new(&config, Ftl::new(&config), 0);
    let outcome = drive(&mut ssd, &config.host, &mut source, &mut |_, _| ControlFlow::Continue(()));
    outcome.expect("the case runs to its end");
    let (programs, erases) = (
        ssd.measured.flash.all_programs(),
        ssd.erases().iter().map(|&n| u64::from(n)).sum::<u64>(),
    );
    println!("{programs} programs, {erases} erases, digest {:016x}", ssd.event_digest);
}
