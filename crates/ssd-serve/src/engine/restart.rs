//! How a drive stops, at rest or by a kill, and how it starts again.

use super::answers::Promises;
use super::{Engine, Flash};
use crate::log::Record;
use crate::slots::Slots;
use crate::table::SlotTable;
use crate::view::SlowestRequests;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::report::Recovery;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Nanos, SECTOR_BYTES};
use ssd_trace::config::RunConfig;
use ssd_trace::write::TraceWriter;
use std::io;

/// What a cut has left.
#[derive(Clone, PartialEq, Debug)]
pub struct MountResult {
    /// The mount, as the model has it.
    pub recovery: Recovery,
    /// Pages whose newest data are gone.
    pub pages_lost: u64,
    /// Requests that were run again.
    pub requests: u64,
}

/// A machine in the state of `snapshot`, at time 0.
pub(super) fn restored(config: &RunConfig, snapshot: &DeviceSnapshot) -> Result<Ssd, String> {
    let mut ssd = Ssd::restore(config, snapshot)?;
    ssd.measure(0, config.splits());
    Ok(ssd)
}

impl Engine {
    /// Run a record of the log again.
    ///
    /// # Errors
    /// It is not from this drive.
    pub fn repeat(&mut self, record: &Record) -> Result<(), String> {
        if self.failure.is_some() {
            return Ok(());
        }
        match record {
            Record::Mark(at) => self.run(*at),
            Record::Request { at, request, slots } => {
                let sectors = u64::from(request.sectors);
                let end = request.sector.checked_add(sectors).filter(|_| sectors > 0);
                let fits = end.is_some_and(|end| end <= self.bytes() / SECTOR_BYTES);
                if *at <= self.last.max(self.ssd.now().0) || !(fits || request.op == Op::Flush) {
                    return Err(format!(
                        "the log is damaged: {request:?} at {at} ns is not possible"
                    ));
                }
                self.run(at - 1);
                if self.failure.is_none() {
                    // If the drive refuses it now, it did so then.
                    let _ = self.hand_over(*at, request, slots);
                    if self.versions.is_sweep_due() {
                        // Their slots do not matter before the mount.
                        self.versions.sweep(&Flash(&self.ssd));
                    }
                }
            }
        }
        self.done.clear();
        Ok(())
    }

    /// Cut power now, and let the drive mount.
    ///
    /// # Errors
    /// The drive is not prepared for it, or an error of the simulator.
    pub fn cut_and_mount(&mut self) -> Result<MountResult, DeviceError> {
        self.run(self.last);
        let requests = self.ssd.submitted();
        self.failure = None;
        self.done.clear();
        if self.ssd.outstanding() > 0 {
            self.life.busy_ns += self.ssd.now().0 - self.busy_since;
        }
        let busy_ns = self.life.busy_ns;
        self.ssd.power_cut()?;
        let recovery = self.ssd.mount(false)?;
        // What capacitors have saved goes to flash.
        self.last = self.last.max(self.ssd.now().0) + 1;
        self.ssd.submit(Nanos(self.last), &Request::new(Op::Flush, 0, 0), None)?;
        self.idle();
        // This flush was not requested by a client.
        self.life.busy_ns = busy_ns;
        self.failure
            .as_ref()
            .map_or(Ok(()), |failure| Err(DeviceError::Power(failure.to_string())))?;
        let pages_lost = self.versions.recover(&Flash(&self.ssd));
        Ok(MountResult { recovery, pages_lost, requests })
    }

    /// Run until nothing is left to do.
    fn idle(&mut self) {
        while let Some(at) = self.next_event() {
            self.run(at);
        }
        self.done.clear();
    }

    /// Flush the drive and complete every request, like a run that ends with the last of them.
    ///
    /// # Errors
    /// The drive has failed.
    pub fn finish(&mut self) -> Result<(), String> {
        self.flush(0).map_err(|refusal| refusal.to_string())?;
        let before = self.done.len();
        while self.ssd.outstanding() > 0 {
            // What is left to do at the instant of the last completion belongs to the rest.
            let run = self.ssd.run_until(Nanos::NEVER, &mut self.done);
            run.map_err(|error| error.to_string())?;
        }
        self.note_busy(before);
        self.done.clear();
        Ok(())
    }

    /// Bring the drive, which has finished, to rest. Returns its state, and the writer of the complete recording.
    ///
    /// # Errors
    /// The drive or the disk has failed.
    pub fn rest(&mut self) -> Result<(DeviceSnapshot, Option<Box<dyn TraceWriter>>), String> {
        self.idle();
        if let Some(failure) = &self.failure {
            return Err(failure.to_string());
        }
        self.settle().map_err(|error| error.to_string())?;
        let snapshot = self.ssd.snapshot().map_err(|error| error.to_string())?;
        Ok((snapshot, self.record.take()))
    }

    /// Continue after the drive has come to rest in the state of `snapshot`, which is stored: at time 0, as after a
    /// start.
    ///
    /// # Errors
    /// The snapshot is not of this drive, or the disk fails.
    pub fn begin_again(&mut self, snapshot: &DeviceSnapshot) -> Result<(), String> {
        self.life = self.life();
        self.ssd = restored(&self.config, snapshot)?;
        self.slowest = SlowestRequests::default();
        self.versions.forget_older();
        (self.sequence, self.last) = (snapshot.counters().sequence, 0);
        self.wants_room = false;
        // The numbers of requests start over, too.
        self.promises = Promises::new(&self.config);
        self.use_slots().map_err(|error| error.to_string())
    }

    /// Only the newest data matter: older data cannot come back any more.
    ///
    /// # Errors
    /// The disk fails.
    pub fn use_slots(&mut self) -> io::Result<()> {
        self.slots.keep_only(self.versions.table(), &self.disk)
    }

    /// The slots and their table, for the drive that follows after a rest.
    #[must_use]
    pub fn into_data(self) -> (Slots, SlotTable) {
        (self.slots, self.versions.into_table())
    }
}
