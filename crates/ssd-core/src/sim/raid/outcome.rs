//! The outcome of a reconstruction: its page is known, or a page that it was to read is lost. The result goes to the
//! host or is programmed, and the next update of its group begins. `reconstruct` calls nothing of updates, because
//! updates begin reconstructions.

use super::Stage;
use super::recoveries::{Recovery, Step};
use crate::ftl::raid::GroupId;
use crate::ftl::raid::verify::mix;
use crate::host::device::DeviceError;
use crate::metrics::counters::Parts;
use crate::sim::array::op::{OpKind, Work};
use crate::sim::ssd::Ssd;
use crate::units::{OpSlot, Ppn, RecoverySlot};

impl Ssd {
    /// Handle the read in `slot`, which waits nowhere and finds no page on flash.
    #[inline(always)]
    pub(in crate::sim) fn read_finds_nothing(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].kind().is_read(), "{slot:?} reads nothing");
        if self.core.ftl.lost.is_some() {
            self.core.note_room();
        }
        match self.core.array.ops[slot].work {
            Work::HostRead { .. } => self.serve_or_recover(slot),
            Work::GroupRead { update } => self.group_read_fails(slot, update),
            Work::RecoveryRead { recovery, .. } => self.recovery_read_fails(slot, recovery),
            Work::RmwRead { copies: true, .. } => self.end_unprogrammed(slot),
            Work::SourceRead { .. } => self.recover(slot),
            _ => self.rmw_becomes_write(slot),
        }
    }

    /// Note that a page has been read for the reconstruction `recovery_slot`.
    #[inline(never)]
    pub(in crate::sim) fn recovery_read_ends(
        &mut self,
        slot: OpSlot,
        recovery_slot: RecoverySlot,
        parts: &Parts,
    ) {
        let (raid, core) = self.parity();
        let ppn = core.array.ops[slot].ppn;
        assert_ne!(ppn, Ppn::NONE, "{recovery_slot:?} has read nothing");
        let recovery = raid.recoveries.get(recovery_slot);
        assert_eq!(recovery.step, Step::Reading, "{ppn:?} is read for {recovery_slot:?}");
        if core.ftl.flash.keeps_contents() {
            mix(&mut recovery.sum, &core.ftl.flash.payload(ppn));
        }
        if core.array.times.host_ecc_ns > 0 {
            core.decode(slot, parts);
        } else {
            self.receive_recovery_page(slot, recovery_slot, parts);
        }
    }

    /// Take in the page that `slot` has read for the reconstruction `recovery_slot`.
    pub(in crate::sim) fn receive_recovery_page(
        &mut self,
        slot: OpSlot,
        recovery_slot: RecoverySlot,
        parts: &Parts,
    ) {
        let (raid, core) = self.parity();
        debug_assert_eq!(
            core.array.ops[slot].recovery(),
            Some(recovery_slot),
            "{slot:?} is read for another"
        );
        core.array.ops.remove(slot);
        let recovery = raid.recoveries.get(recovery_slot);
        assert_eq!(recovery.step, Step::Reading, "{recovery_slot:?} does not read");
        recovery.parts = *parts;
        if recovery.steps.part_ends() {
            self.finish_recovery_reads(recovery_slot);
        }
    }

    /// Handle the loss of the page that `slot` was to read for the reconstruction `recovery_slot`.
    pub(in crate::sim) fn recovery_read_fails(
        &mut self,
        slot: OpSlot,
        recovery_slot: RecoverySlot,
    ) {
        let (raid, core) = self.parity();
        debug_assert_eq!(core.array.ops[slot].ppn, Ppn::NONE, "{slot:?} has read its page");
        core.array.ops.remove(slot);
        let recovery = raid.recoveries.get(recovery_slot);
        assert_eq!(recovery.step, Step::Reading, "{recovery_slot:?} does not read");
        recovery.failed = true;
        if recovery.steps.part_ends() {
            self.finish_recovery_reads(recovery_slot);
        }
    }

    /// Finish the reads of the reconstruction in `slot`: all other pages have been read.
    fn finish_recovery_reads(&mut self, slot: RecoverySlot) {
        let (raid, core, contents) = self.parity_and_contents();
        let now = core.array.now;
        let recovery = raid.recoveries.get(slot);
        assert!(recovery.step == Step::Reading && recovery.steps.is_done(), "{slot:?} reads");
        let readers = std::mem::take(&mut recovery.readers);
        let Recovery { lpn, began, parts, failed, expected, target, .. } = *recovery;
        let group = core.ftl.parity_groups().group_of(lpn);
        if failed {
            readers.into_iter().for_each(|(reader, since)| self.read_again(reader, since));
            let (raid, core) = self.parity();
            raid.give_up_rebuild(core, slot);
            return self.end_recovery(group);
        }
        debug_assert!(began <= now, "{slot:?} began in the future");
        let page = recovery.sum.clone();
        if expected.is_some_and(|expected| expected != page.digest) {
            let error = format!(
                "LPN {} computed from its group has digest {:016x}, it was written with {:016x}",
                lpn.0,
                page.digest,
                expected.unwrap_or(0)
            );
            core.fail(DeviceError::Data(error));
        }
        let programs = target.is_some() && raid.program_rebuilt(core, contents, slot);
        for (reader, since) in readers {
            let is_source = self.core.array.ops[reader].kind() == OpKind::SourceRead;
            self.core.ledger.measured.raid.reconstructed += u64::from(!is_source);
            let op = &mut self.core.array.ops[reader].parts;
            if since <= began {
                op.queue_ns += (began - since).0 + parts.queue_ns;
                op.chip_ns += parts.chip_ns;
                op.transfer_ns += parts.transfer_ns;
                op.gc_wait_ns += parts.gc_wait_ns;
            } else {
                op.queue_ns += (now - since).0;
            }
            let parts = self.core.array.ops[reader].parts;
            if is_source {
                self.check_source(reader, &page);
                self.receive_copied(reader, &parts);
                continue;
            }
            if let Some(contents) = &mut self.contents {
                contents.deliver(&mut self.core, reader, &page);
            }
            self.page_goes_out(reader, &parts);
        }
        if !programs {
            self.end_recovery(group);
        }
    }

    /// End the reconstruction that has locked `group`: the next update, or the next reconstruction, begins.
    pub(super) fn end_recovery(&mut self, group: GroupId) {
        let (raid, core) = self.parity();
        let strict = core.ftl.lost.is_some();
        assert!(!(strict && raid.has_begun(group)), "{group:?} was read while it was updated");
        raid.recoveries.release(group);
        if let Some(first) = raid.lines.first(group) {
            match raid.at(first).stage {
                Stage::Queued => self.begin_if_first(first),
                Stage::WaitsForReads => self.commit_after_reads(first),
                _ => {}
            }
        }
        self.begin_recovery_of(group);
    }
}
