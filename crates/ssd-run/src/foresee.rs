//! The first pass of a run whose separation policy knows the future: which pages its host will write.

use crate::caller::{Caller, Stage};
use crate::error::RunError;
use crate::workload::open_workload;
use ssd_core::config::{Mode, PowerCut};
use ssd_core::ftl::plugs::{Plugs, PolicyFactory};
use ssd_core::ftl::separation::future::FutureWrites;
use ssd_core::ftl::separation::{Classes, Ground, PageCopy, PageWrite, SeparationPolicy, foresees};
use ssd_core::functional_run::FunctionalRun;
use ssd_core::host::device::DeviceError;
use ssd_core::host::drive::DriveError;
use ssd_core::sim::functional::Functional;
use ssd_core::units::Lpn;
use ssd_trace::config::RunConfig;
use std::sync::{Arc, Mutex, PoisonError};

/// The pages that the host has written, in order.
#[derive(Clone, Default)]
struct Order(Arc<Mutex<Vec<Lpn>>>);

impl Order {
    fn note(&self, lpn: Lpn) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lpn);
    }
}

/// Separates nothing, and records what is written.
struct Recorder(Order, u32);

impl SeparationPolicy for Recorder {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: 1 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        // Parity follows from the pages of the host.
        if page.lpn.0 < self.1 {
            self.0.note(page.lpn);
        }
        0
    }

    fn of_copy(&mut self, _: &PageCopy) -> u32 {
        0
    }
}

impl PolicyFactory for Order {
    fn separation(&self, ground: &Ground) -> Option<Box<dyn SeparationPolicy>> {
        Some(Box::new(Recorder(self.clone(), ground.host_pages)))
    }
}

/// Whether the workload can be read twice, if the policy of `config` needs that.
///
/// # Errors
/// The trace is a pipe.
pub(crate) fn check(config: &RunConfig) -> Result<(), RunError> {
    let Some(trace) =
        config.workload.trace.as_deref().filter(|_| foresees(&config.alloc.separation))
    else {
        return Ok(());
    };
    // A missing file is reported when it is opened.
    if std::fs::metadata(trace).is_ok_and(|file| !file.is_file()) {
        return Err(RunError::Workload(format!(
            "{trace}: alloc.separation = \"future\" reads the workload twice: expected a file, not a pipe"
        )));
    }
    Ok(())
}

/// What the host of `config` will write, including preconditioning, found by a run without time.
///
/// # Errors
/// The workload cannot be opened twice, the device fails, or the caller ends the pass.
pub(crate) fn future_of(
    config: &RunConfig,
    caller: &mut dyn Caller,
) -> Result<Arc<FutureWrites>, RunError> {
    let mut config = config.clone();
    (config.run.mode, config.power.cut) = (Mode::Functional, PowerCut::Never);
    let mut source = open_workload(&mut config, caller)?.source;
    if let Some(requests) =
        source.expected().filter(|&requests| requests > FutureWrites::MOST as u64)
    {
        return Err(too_many(&format!("{requests} requests")));
    }
    let order = Order::default();
    let plugs = Plugs::new(Arc::new(order.clone()));
    let mut device = Functional::with_plugs(&config, &plugs);
    let mut keep_going =
        |done, total| caller.progress(Stage::Precondition, done, Some(total)).is_continue();
    let failed = |error: DriveError| match error {
        DriveError::Device(DeviceError::Interrupted) => RunError::Interrupted,
        error => RunError::Workload(format!("the first pass over the workload failed: {error}")),
    };
    if !device.precondition(&config, &mut keep_going).map_err(|error| failed(error.into()))? {
        return Err(RunError::Interrupted);
    }
    let total = source.expected();
    let mut watch = |done| caller.progress(Stage::Foreseeing, done, total);
    let mut run = FunctionalRun::new(&config, device);
    if run.drive(0, &mut *source, &mut watch).map_err(failed)?.interrupted {
        return Err(RunError::Interrupted);
    }
    let order = order.0.lock().unwrap_or_else(PoisonError::into_inner);
    if order.len() > FutureWrites::MOST {
        return Err(too_many(&format!("{} pages written", order.len())));
    }
    Ok(Arc::new(FutureWrites::new(config.device.user_pages, &order)))
}

fn too_many(subject: &str) -> RunError {
    let most = FutureWrites::MOST;
    RunError::Workload(format!(
        "{subject}: alloc.separation = \"future\" foresees up to {most} writes of a page; make fewer requests"
    ))
}
