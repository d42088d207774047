//! How a drive comes to rest, and how it is restored after a rest or a kill.

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

/// The result of a power cut and the mount after it.
#[derive(Clone, PartialEq, Debug)]
pub struct MountResult {
    /// The mount.
    pub recovery: Recovery,
    /// Pages whose newest data are lost.
    pub pages_lost: u64,
    /// Requests that were replayed.
    pub requests: u64,
}

/// A machine in the state of `snapshot`, at time 0.
pub(super) fn restored(config: &RunConfig, snapshot: &DeviceSnapshot) -> Result<Ssd, String> {
    let mut ssd = Ssd::restore(config, snapshot)?;
    ssd.measure(0, config.splits());
    Ok(ssd)
}

impl Engine {
    /// Replay a record of the log.
    ///
    /// # Errors
    /// This drive cannot have logged it.
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
                    // A request that the drive refuses now was refused by the killed server, too.
                    let _ = self.hand_over(*at, request, slots);
                    if self.versions.is_sweep_due() {
                        // The freed slots are not used before the mount.
                        self.versions.sweep(&Flash(&self.ssd));
                    }
                }
            }
        }
        self.done.clear();
        Ok(())
    }

    /// Cut the power now, and mount the drive.
    ///
    /// # Errors
    /// The configuration has no power cuts, or the simulator fails.
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
        // Write the data that capacitors have saved to flash.
        self.last = self.last.max(self.ssd.now().0) + 1;
        self.ssd.submit(Nanos(self.last), &Request::new(Op::Flush, 0, 0), None)?;
        self.idle();
        // No client requested this flush.
        self.life.busy_ns = busy_ns;
        self.failure
            .as_ref()
            .map_or(Ok(()), |failure| Err(DeviceError::Power(failure.to_string())))?;
        let pages_lost = self.versions.recover(&Flash(&self.ssd));
        Ok(MountResult { recovery, pages_lost, requests })
    }

    /// Run until the drive has no more events.
    fn idle(&mut self) {
        while let Some(at) = self.next_event() {
            self.run(at);
        }
        self.done.clear();
    }

    /// Flush the drive and complete every request. Like a run, it ends with the last completion.
    ///
    /// # Errors
    /// The drive has failed.
    pub fn finish(&mut self) -> Result<(), String> {
        self.flush(0).map_err(|refusal| refusal.to_string())?;
        let before = self.done.len();
        while self.ssd.outstanding() > 0 {
            // Further events at the instant of the last completion are left to `rest`.
            let run = self.ssd.run_until(Nanos::NEVER, &mut self.done);
            run.map_err(|error| error.to_string())?;
        }
        self.note_busy(before);
        self.done.clear();
        Ok(())
    }

    /// Bring the drive to rest after [`Engine::finish`]. Returns its state, and the writer of the complete recording.
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

    /// Continue from the stored `snapshot` of the drive at rest, at time 0, as a server that starts does.
    ///
    /// # Errors
    /// The snapshot is not of this drive, or the disk fails.
    pub fn begin_again(&mut self, snapshot: &DeviceSnapshot) -> Result<(), String> {
        self.life = self.life();
        self.ssd = restored(&self.config, snapshot)?;
        self.slowest = SlowestRequests::default();
        self.versions.forget_older();
        (self.sequence, self.last) = (snapshot.counters().sequence, 0);
        self.lacks_space = false;
        // The numbers of requests start over, too.
        self.promises = Promises::new(&self.config);
        self.use_slots().map_err(|error| error.to_string())
    }

    /// Free the slots of older data: after a rest no power cut brings them back.
    ///
    /// # Errors
    /// The disk fails.
    pub fn use_slots(&mut self) -> io::Result<()> {
        self.slots.keep_only(self.versions.table(), &self.disk)
    }

    /// The slots and their table, for another engine of the same drive.
    #[must_use]
    pub fn into_data(self) -> (Slots, SlotTable) {
        (self.slots, self.versions.into_table())
    }
}
