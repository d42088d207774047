//! Mount: rebuilds the state, and lets the time of its reads and erases pass.
//!
//! Mount runs alone, so its time is computed: records, checkpoint, scan, comparisons and erases, one after the other.
//! In each of them every busy unit works on one page at a time, and in the pipelined model the pages of a channel share
//! its bus.

use crate::ftl::map::Entry;
use crate::ftl::recover::{MountFailure, MountFindings, PagesRead, Steps, first_pages};
use crate::host::device::DeviceError;
use crate::host::write_buffer::BufferedPage;
use crate::metrics::report::Recovery;
use crate::nand::geometry::Geometry;
use crate::nand::nvram::Record;
use crate::nand::timing::Times;
use crate::sim::array::op::{Op, Part, Work};
use crate::sim::collector::Collector;
use crate::sim::contents::Contents;
use crate::sim::ssd::Ssd;
use crate::units::{Nanos, PlaneId, RequestSlot, UnitId};

/// Time to read the out-of-band data of that many pages of each type on each plane.
#[must_use]
pub(super) fn read_time_ns(times: &Times, geo: &Geometry, pages: &[PagesRead]) -> u64 {
    assert_eq!(pages.len(), geo.planes as usize, "planes of another device");
    let bus = times.command_ns + times.gc_local_bus_ns;
    let mut units = vec![0u64; geo.units as usize];
    // Pages of each channel, and the shortest read of one.
    let mut channels = vec![(0u64, u64::MAX); geo.channels as usize];
    for (plane, reads) in (0..).map(PlaneId).zip(pages) {
        let channel = &mut channels[geo.channel_of(plane).at()];
        for (kind, &pages) in reads.iter().enumerate().filter(|&(_, &pages)| pages > 0) {
            let read_ns = times.read_of_type(kind);
            units[geo.unit_of(plane).at()] += pages * (read_ns + bus);
            *channel = (channel.0 + pages, channel.1.min(read_ns));
        }
    }
    let of_units = units.iter().copied().max().unwrap_or(0);
    // The bus is shared; the first page is read before it is used.
    let shared = |&(pages, read_ns): &(u64, u64)| if pages > 0 { read_ns + pages * bus } else { 0 };
    let of_buses = if times.serial { 0 } else { channels.iter().map(shared).max().unwrap_or(0) };
    of_units.max(of_buses)
}

/// Time to erase that many flash blocks on each plane.
fn erase_time_ns(times: &Times, geo: &Geometry, blocks: &[u64]) -> u64 {
    assert_eq!(blocks.len(), geo.planes as usize, "planes of another device");
    let of_unit = |unit: u32| {
        let planes = geo.planes_of_unit(UnitId(unit));
        planes.map(|plane| blocks[plane as usize]).sum::<u64>()
    };
    (0..geo.units).map(of_unit).max().unwrap_or(0) * times.erase_ns
}

impl Ssd {
    /// Restore power: rebuild the state from what has survived, and continue when that is done; `repeat`: whether the
    /// host submits again what had not completed.
    ///
    /// # Errors
    /// Power is on, or the device cannot be recovered, which is an error in the simulator.
    pub fn mount(&mut self, repeat: bool) -> Result<Recovery, DeviceError> {
        let recovery = self.mount_until(None)?;
        debug_assert!(!recovery.interrupted, "nothing has cut it off");
        self.accept_requests(repeat)?;
        let (power, core) = self.power_cuts();
        power.schedule_next_cut(core.array.now);
        Ok(recovery)
    }

    /// Take the first `steps` steps of a mount that change the flash, and cut the power again. Returns whether there
    /// were that many; otherwise the flash is as after a mount. No time passes.
    ///
    /// # Errors
    /// As [`Ssd::mount`].
    pub fn mount_in_part(&mut self, steps: u64) -> Result<bool, DeviceError> {
        match self.rebuild(&mut Steps::first(steps)) {
            Err(MountFailure::PowerCut) => Ok(true),
            Ok(_) => Ok(false),
            Err(MountFailure::NoBlock(pool)) => Err(no_block(pool.0)),
        }
        .inspect(|_| self.forget_all())
    }

    fn rebuild(&mut self, steps: &mut Steps) -> Result<MountFindings, MountFailure> {
        assert!(self.is_off(), "a device with power is mounted");
        assert_eq!(self.core.array.ops.len(), 0, "operations run without power");
        let plugs = self.plugs.clone();
        let (power, core) = self.power_cuts();
        let records: Vec<Record> =
            power.nvram.records().chain(power.backlog.iter().copied()).collect();
        core.ftl.lose_power(&power.config);
        let image = power.area.current.as_deref();
        core.ftl.recover(&power.config, &plugs, &records, image, steps)
    }

    /// Rebuild the state; if that takes beyond `limit`, power is cut again then.
    pub(super) fn mount_until(&mut self, limit: Option<Nanos>) -> Result<Recovery, DeviceError> {
        let Some(since) = self.off_since() else {
            return Err(DeviceError::Power("power is on: there is nothing to mount".into()));
        };
        let (mut began, mut erased_before) = (since, Vec::new());
        let (findings, checkpoint, written, end) = loop {
            let mut findings = match self.rebuild(&mut Steps::all()) {
                Ok(findings) => findings,
                Err(MountFailure::NoBlock(pool)) => return Err(no_block(pool.0)),
                Err(MountFailure::PowerCut) => unreachable!("no limit was set"),
            };
            let (checkpoint, written, time) = self.cost_of_mount(&findings);
            let end = Nanos(began.0 + time);
            erased_before.append(&mut findings.erased_blocks);
            let next = self.next_failure();
            let Some(at) = next.filter(|&at| at < end && limit.is_none_or(|limit| at < limit))
            else {
                findings.erased_blocks = erased_before;
                break (findings, checkpoint, written, end);
            };
            // The mount begins again without the chip.
            began = began.max(at);
            self.forget_all();
            self.chip_fails_during_mount(at);
        };
        let time = (end - since).0;
        let (power, core) = self.power_cuts();
        let geo = &core.ftl.geo;
        assert!(findings.sequence <= core.front.sequence, "a page has an admission number to come");
        assert!(limit.is_none_or(|limit| limit >= since), "a cut in the past");
        let interrupted = limit.is_some_and(|limit| limit < end);
        let recovery = Recovery {
            cut_at: since.0,
            interrupted,
            time: if interrupted { limit.expect("seen").0 - since.0 } else { time },
            requests: power.withdrawn.iter().filter(|r| r.outside.is_some()).count() as u64,
            reads: findings.scanned.iter().chain(&findings.compared).flatten().sum(),
            checkpoint_pages: checkpoint * u64::from(geo.planes),
            records: power.nvram.len() as u64,
            erases: findings.erased.iter().sum(),
            torn_pages: findings.torn,
            skipped_pages: findings.skipped,
            saved_pages: power.saved.len() as u64,
            mapped_pages: findings.mapped,
            updates_undone: findings.undone,
            checkpoint_programs: written,
        };
        core.ledger.measured.recoveries.push(recovery.clone());
        if let Some(log) = &mut self.logs.power {
            log.log_mount(&self.core, &findings, &recovery);
        }
        let end = Nanos(since.0 + recovery.time);
        debug_assert!(end >= self.core.array.now, "a mount ends before it began");
        let most = u64::from(self.core.ftl.geo.logical_pages);
        debug_assert!(recovery.mapped_pages <= most, "too many");
        self.core.advance_to(end)?;
        if interrupted {
            self.forget_all();
            let (power, core) = self.power_cuts();
            power.off_since = Some(end);
            core.ledger.measured.power.cuts += 1;
        }
        Ok(recovery)
    }

    /// Pages of the checkpoint on each plane that a mount with these `findings` reads, pages of the one that it writes,
    /// and its time.
    fn cost_of_mount(&mut self, findings: &MountFindings) -> (u64, u64, u64) {
        let (power, core) = self.power_cuts();
        let (times, geo) = (&core.array.times, &core.ftl.geo);
        let checkpoint = u64::from(power.area.pages());
        let saved = (power.saved.len() as u64).div_ceil(u64::from(geo.planes));
        debug_assert_eq!(findings.scanned.len(), geo.planes as usize, "planes of another device");
        let on_each = |pages: u64| {
            read_time_ns(times, geo, &vec![first_pages(geo, pages); geo.planes as usize])
        };
        let time = power.nvram.read_ns()
            + on_each(checkpoint)
            + on_each(saved)
            + read_time_ns(times, geo, &findings.scanned)
            + read_time_ns(times, geo, &findings.compared)
            + erase_time_ns(times, geo, &findings.erased);
        if core.ftl.groups.is_none() {
            return (checkpoint, 0, time);
        }
        let (written, writing) = power.begin_last_step(core);
        (checkpoint, written, time + writing)
    }

    /// Continue with the rebuilt state.
    pub(super) fn accept_requests(&mut self, repeat: bool) -> Result<(), DeviceError> {
        let plugs = self.plugs.clone();
        let (power, core) = self.power_cuts();
        let cut = power.off_since.take();
        let cut = cut.expect("the caller has mounted a device without power");
        power.repeated.clear();
        power.release_checkpoint(&mut core.ftl);
        debug_assert!(power.writing.is_none(), "a checkpoint has survived");
        debug_assert!(power.unrecorded.is_empty(), "a request has survived");
        core.gc = Collector::new(&power.config, &core.ftl, &plugs);
        (0..core.array.units.len()).for_each(|unit| core.gc.arm_idle_timer(unit, &mut core.array));
        self.contents = Contents::new(&power.config, &core.ftl);
        self.take_saved_pages();
        if self.raid.is_some() {
            self.continue_groups();
        }
        let (power, core) = self.power_cuts();
        power.write_records(core);
        core.ftl.audit().map_err(DeviceError::Power)?;
        if repeat {
            power.repeat_requests(core);
        } else {
            power.forget_requests(core, cut);
        }
        Ok(())
    }

    /// Put pages that capacitors have saved back into the buffer.
    fn take_saved_pages(&mut self) {
        let saved = std::mem::take(&mut self.power_cuts().0.saved);
        debug_assert!(saved.is_empty() || self.core.front.buffer.is_some(), "saved from no buffer");
        for page in saved {
            // Its program may have ended in the instant of the cut.
            let part = Part { request: RequestSlot::NONE, number: 0 };
            let work = Work::HostWrite { part, stream: page.stream, copies: false };
            let mut op = Op::new(work, page.lpn, PlaneId(0), self.core.array.now);
            op.sequence = page.sequence;
            let slot = self.core.array.ops.insert(op);
            let old = self.core.ftl.owners.newest(page.lpn);
            debug_assert!(!matches!(old, Entry::Slot(_)), "{page:?} is saved twice");
            let page_sectors = self.core.whole_page();
            if let Some(contents) = &mut self.contents {
                contents.restore_saved(slot, page.lpn, page.payload);
            }
            self.core.ftl.admit(page.lpn, slot);
            self.core.ftl.note_floor(slot, old, page.sequence);
            if page.sectors != page_sectors && self.core.ftl.owners.under(slot).is_some() {
                self.core.array.ops[slot].becomes_rmw_read();
            }
            let epoch = self.core.front.epochs.write_arrives();
            let buffered = BufferedPage {
                sectors: page.sectors,
                epoch,
                request: page.request,
                inside: true,
                ..BufferedPage::default()
            };
            let buffer = self.core.front.buffer.as_mut().expect("pages were saved from it");
            buffer.admit(slot, buffered);
            buffer.keep_saved(page.sequence, slot);
        }
        if self.core.front.buffer.is_some() {
            self.let_in(0);
        }
    }
}

fn no_block(pool: u32) -> DeviceError {
    DeviceError::Power(format!("pool {pool} has no block that recovery could use"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BusyUnit, Config};
    use crate::rng::Stream;

    /// Units erase side by side, and the planes of a unit one block after the other.
    #[test]
    fn a_unit_erases_the_blocks_of_its_planes_in_turn() {
        let mut random = Stream::new(2, "erases");
        let mut c = Config::default();
        (c.device.channels, c.device.chips_per_channel, c.device.planes_per_chip) = (3, 2, 2);
        c.device.user_pages = 1000;
        for (unit, planes) in [(BusyUnit::Plane, 1), (BusyUnit::Chip, 2), (BusyUnit::Channel, 4)] {
            c.timing.busy_unit = unit;
            let (times, geo) = (Times::new(&c), Geometry::new(&c));
            for _ in 0..50 {
                let blocks: Vec<u64> = (0..12).map(|_| random.below(4)).collect();
                // Planes are numbered channel by channel, chip by chip.
                let mut ends = vec![0; 12 / planes];
                for (plane, &erased) in blocks.iter().enumerate() {
                    ends[plane / planes] += erased * c.timing.erase_ns;
                }
                let last = ends.into_iter().max().expect("there are units");
                assert_eq!(erase_time_ns(&times, &geo, &blocks), last, "{unit:?}: {blocks:?}");
            }
        }
    }
}
