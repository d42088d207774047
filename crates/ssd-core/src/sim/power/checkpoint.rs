//! Checkpoints of the map: an image of one instant, written page by page to two areas in turn.
//!
//! The areas are separate flash blocks, as many on each plane, numbered after those of the pools. Operations on a plane
//! run one after the other: first the blocks of the area are erased, if it has been used, then its pages are
//! programmed. The previous checkpoint counts until the last page is on flash.

use super::Power;
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::recover::image::Image;
use crate::metrics::counters::Cause;
use crate::nand::geometry::{Geometry, PageAddress};
use crate::sched::order::W_GC;
use crate::sim::array::op::{Op, OpKind, Work};
use crate::sim::core::Core;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, OpSlot, PlaneId, Ppn};

/// The two areas.
pub(super) struct Area {
    /// The last checkpoint that was written completely.
    pub(super) current: Option<Box<Image>>,
    /// The area that holds it.
    half: usize,
    /// Flash blocks on each plane that are not erased, by area.
    used: [u32; 2],
    /// Flash blocks of an area on each plane: room for the largest checkpoint.
    blocks: u32,
    pages_per_block: u32,
    /// Bytes of a page on each of the planes, without the parity that restores those of a failed chip.
    stripe: u64,
    /// Admission numbers that pages have received in addition to their first.
    pub(super) extra_numbers: u64,
    /// Whether the pages of the last checkpoint on a failed chip have not been written to its spare.
    pub(super) misses_pages: bool,
}

/// A checkpoint that is being written.
pub(super) struct CheckpointWrite {
    pub(super) image: Image,
    half: usize,
    /// Pages admitted at the beginning of the previous one.
    before: u64,
    /// Records that it makes unnecessary.
    records: usize,
    /// Records in the backlog that it makes unnecessary.
    backlog: usize,
    /// Erases and pages on each plane.
    steps: (u32, u32),
    /// Those that have not begun, by plane.
    left: Vec<(u32, u32)>,
    /// Operations that have not ended.
    running: u32,
}

impl Area {
    /// With erased areas, or with a `first` checkpoint.
    pub(super) fn new(config: &Config, geo: &Geometry, first: Option<Image>) -> Area {
        let units = u64::from(geo.pools * geo.blocks_per_pool);
        let blocks = units * u64::from(geo.members);
        let logical = u64::from(geo.logical_pages);
        let shares_in_groups = config.raid.group > 0 && !config.remap.is_off();
        let listed = Image::MOST_LISTED + if shares_in_groups { Image::NUMBER } else { 0 };
        let most = Image::bytes(logical, blocks, units) + listed * logical;
        let stripe = u64::from(config.device.page_bytes) * u64::from(geo.planes);
        // With parity a chip of each group has none of it.
        let chip = stripe.checked_div(u64::from(config.raid.group)).unwrap_or(0);
        let stripe = stripe - chip;
        let pages_per_block = geo.pages_per_flash_block;
        let blocks = (most.div_ceil(stripe) as u32).div_ceil(pages_per_block);
        let mut area = Area {
            used: [0, 0],
            current: None,
            half: 0,
            blocks,
            pages_per_block,
            stripe,
            extra_numbers: 0,
            misses_pages: false,
        };
        if let Some(first) = first {
            area.used[0] = area.pages_of(&first).div_ceil(pages_per_block);
            area.current = Some(Box::new(first));
        }
        area
    }

    /// Pages of the last checkpoint on each plane; 0 if there is none.
    pub(super) fn pages(&self) -> u32 {
        self.current.as_ref().map_or(0, |image| self.pages_of(image))
    }

    /// Pages of `image` on each plane.
    fn pages_of(&self, image: &Image) -> u32 {
        self.pages_for(image.own_bytes())
    }

    /// Pages on each plane of a checkpoint of so many bytes.
    pub(super) fn pages_for(&self, bytes: u64) -> u32 {
        let pages = bytes.div_ceil(self.stripe) as u32;
        assert!(pages > 0, "a checkpoint without pages");
        assert!(pages <= self.blocks * self.pages_per_block, "{pages} pages are too many");
        pages
    }

    /// The area of the next checkpoint.
    pub(super) fn next_half(&self) -> usize {
        debug_assert!(self.half < 2, "there is no area {}", self.half);
        if self.current.is_some() { 1 - self.half } else { 0 }
    }

    /// Begin a checkpoint of `pages` on each plane in area `half`. Returns the blocks to erase before.
    pub(super) fn begin(&mut self, half: usize, pages: u32) -> u32 {
        let erases = self.used[half];
        debug_assert!(pages > 0 && erases <= self.blocks, "area {half} has {erases} blocks");
        // If a cut comes first, blocks of the previous one may be left.
        self.used[half] = erases.max(pages.div_ceil(self.pages_per_block));
        erases
    }

    /// Make `image`, written to area `half`, the last checkpoint.
    pub(super) fn end(&mut self, half: usize, image: Image, ftl: &mut Ftl) {
        debug_assert!(self.used[half] > 0, "area {half} has not been written");
        ftl.owners.drop_map(1 - half);
        self.used[half] = self.pages_of(&image).div_ceil(self.pages_per_block);
        (self.current, self.half) = (Some(Box::new(image)), half);
    }

    /// Where operation `number` of a checkpoint in area `half` is on a plane of `blocks` blocks for data: its block and
    /// page.
    fn place(&self, half: usize, number: u32, erases: bool, blocks: u32) -> (u32, u32) {
        debug_assert!(half < 2, "there is no area {half}");
        let pages = self.blocks * self.pages_per_block;
        debug_assert!(erases || number < pages, "page {number} of {pages}");
        debug_assert!(!erases || number < self.blocks, "block {number}");
        let first = blocks + half as u32 * self.blocks;
        if erases {
            return (first + number, 0);
        }
        (first + number / self.pages_per_block, number % self.pages_per_block)
    }
}

impl Power {
    /// The checkpoint, which is on flash, stays when the controller of `ftl` loses its memory.
    pub(super) fn keep_checkpoint(&mut self, ftl: &Ftl) {
        if let Some(image) = &mut self.area.current {
            image.take_map(ftl);
        }
    }

    /// Leave the map of the checkpoint to `ftl`, which a mount has rebuilt from it.
    pub(super) fn release_checkpoint(&mut self, ftl: &mut Ftl) {
        if let Some(image) = &mut self.area.current {
            image.leave_map(ftl);
        }
    }

    /// Drop the checkpoint that is being written, which a cut ends: the next one is due as if it had not begun.
    pub(super) fn drop_checkpoint(&mut self) {
        if let Some(writing) = self.writing.take() {
            debug_assert!(writing.before <= self.checkpointed, "checkpoints begin backwards");
            self.checkpointed = writing.before;
        }
    }

    /// Pages admitted when the last number was `sequence`.
    pub(super) fn admitted(&self, sequence: u64) -> u64 {
        debug_assert!(self.area.extra_numbers <= sequence, "more second numbers than numbers");
        sequence - self.area.extra_numbers
    }

    /// Whether the host has written or copied `power.checkpoint` bytes since the last checkpoint began; `sequence`: the
    /// last admission number.
    fn interval_is_over(&self, sequence: u64) -> bool {
        let admitted = self.admitted(sequence);
        debug_assert!(self.checkpointed <= admitted, "a checkpoint of the future");
        let interval = self.config.power.checkpoint_bytes;
        let written = (admitted - self.checkpointed) * u64::from(self.config.device.page_bytes);
        interval > 0 && written >= interval
    }

    /// Begin a checkpoint if one is due and none is being written.
    pub(crate) fn checkpoint_if_due(&mut self, core: &mut Core) {
        if self.writing.is_some() || self.off_since.is_some() {
            return;
        }
        let crowded = self.nvram.is_crowded() || !self.backlog.is_empty();
        if self.interval_is_over(core.front.sequence) || crowded || self.area.misses_pages {
            self.begin_checkpoint(core);
        }
    }

    #[inline(never)]
    fn begin_checkpoint(&mut self, core: &mut Core) {
        let not_covered = core.ftl.not_covered(&landed_pages(core));
        let under_way = pages_under_way(core, &not_covered);
        self.area.misses_pages = false;
        assert!(self.off_since.is_none(), "a checkpoint without power");
        let half = self.area.next_half();
        assert!(self.writing.is_none(), "two checkpoints at a time");
        let admitted = self.admitted(core.front.sequence);
        assert!(self.checkpointed <= admitted, "pages are admitted backwards");
        let before = std::mem::replace(&mut self.checkpointed, admitted);
        let planes = core.ftl.geo.planes;
        let mut image = Image::of(&mut core.ftl, half, &self.moved, &not_covered);
        let records = self.nvram.records().chain(self.backlog.iter().copied());
        image.end_later(&under_way, &records.collect::<Vec<_>>(), self.area.current.as_deref());
        let pages = self.area.pages_of(&image);
        let steps = (self.area.begin(half, pages), pages);
        self.writing = Some(Box::new(CheckpointWrite {
            image,
            half,
            before,
            records: self.nvram.len(),
            backlog: self.backlog.len(),
            steps,
            left: vec![steps; planes as usize],
            running: 0,
        }));
        (0..planes).map(PlaneId).for_each(|plane| self.continue_checkpoint(core, plane));
    }

    /// The next operation of the checkpoint on `plane`. What belongs on a missing chip is left out.
    fn continue_checkpoint(&mut self, core: &mut Core, plane: PlaneId) {
        if core.ftl.is_dead(plane) {
            return;
        }
        let writing = self.writing.as_mut().expect("a checkpoint is being written");
        let (erases, pages) = &mut writing.left[plane.at()];
        let work = if *erases > 0 {
            *erases -= 1;
            Work::MetadataErase { step: writing.steps.0 - 1 - *erases }
        } else if *pages > 0 {
            *pages -= 1;
            Work::MetadataProgram { step: writing.steps.1 - 1 - *pages }
        } else {
            return;
        };
        assert!(writing.running < core.ftl.geo.planes, "two operations on {plane:?}");
        writing.running += 1;
        let op = Op::new(work, Lpn::NONE, plane, core.array.now);
        let slot = core.array.ops.insert(op);
        core.enqueue(slot, W_GC);
    }

    /// End an operation of the checkpoint. The checkpoint counts from its last one on.
    #[inline(never)]
    pub(crate) fn end_metadata(&mut self, core: &mut Core, slot: OpSlot) {
        let plane = core.array.ops[slot].plane;
        debug_assert!(!core.array.ops[slot].kind().is_host(), "{slot:?} is the host's");
        core.array.ops.remove(slot);
        self.writing.as_mut().expect("a checkpoint is being written").running -= 1;
        self.continue_checkpoint(core, plane);
        if self.writing.as_ref().is_some_and(|writing| writing.running > 0) {
            return;
        }
        let CheckpointWrite { image, half, records, backlog, .. } =
            *self.writing.take().expect("a checkpoint is being written");
        debug_assert!(records <= self.nvram.len(), "records went before their checkpoint");
        self.area.end(half, image, &mut core.ftl);
        self.nvram.clean(records);
        // Those that were written meanwhile have been counted among the ones that had found no room.
        debug_assert!(backlog <= self.backlog.len(), "the backlog shrinks without a checkpoint");
        self.backlog.drain(..backlog);
        self.passed += backlog as u64;
        core.ledger.measured.power.checkpoints += 1;
        self.release_recorded(core);
    }

    /// Whether checkpoint operations go before the host on a unit: records wait for the checkpoint, or the next one is
    /// due already.
    pub(crate) fn checkpoint_is_urgent(&self, core: &Core) -> bool {
        debug_assert!(self.off_since.is_none(), "an operation waits without power");
        !self.backlog.is_empty() || self.interval_is_over(core.front.sequence)
    }

    /// Where an operation of the checkpoint is, by its number on the plane, for the log.
    pub(crate) fn metadata_place(
        &self,
        core: &Core,
        slot: OpSlot,
        (step, erase): (u32, bool),
    ) -> PageAddress {
        let op = &core.array.ops[slot];
        debug_assert!(op.cause() == Cause::Metadata, "{slot:?} is not a step of a checkpoint");
        let half = self.writing.as_ref().map_or(self.area.half, |writing| writing.half);
        let blocks = self.config.device.blocks_per_plane;
        let within = self.area.place(half, step, erase, blocks);
        core.ftl.geo.place_on(op.plane, within)
    }
}

/// The pages that updates of parity groups have programmed and not committed.
fn landed_pages(core: &Core) -> Vec<Ppn> {
    debug_assert!(core.ftl.may_lose_power(), "nobody asks");
    let of_groups = |op: &&Op| op.kind() == OpKind::GroupWrite && op.ppn != Ppn::NONE;
    let pages = core.array.ops.live().filter(of_groups).map(|op| op.ppn);
    pages.filter(|&page| !core.ftl.flash.is_torn(page)).collect()
}

/// The pages of writes and copies that are not on flash, and those that are `not_covered`, with their admission
/// numbers.
fn pages_under_way(core: &Core, not_covered: &[Ppn]) -> Vec<(Lpn, u64)> {
    debug_assert!(core.ftl.may_lose_power(), "nobody asks");
    let flash = &core.ftl.flash;
    let not_covered = not_covered.iter().map(|&page| (flash.lpn(page), flash.sequence(page)));
    core.array
        .ops
        .live()
        .flat_map(|op| match op.work {
            Work::HostWrite { .. } | Work::RmwRead { .. } => [Some((op.lpn, op.sequence)), None],
            Work::GcRead(moved) | Work::GcWrite(moved) | Work::GcCopyback(moved) => {
                // The copy of a page with several owners carries any of them, or the LPN of the page if all have left.
                let flash = &core.ftl.flash;
                let carried = (flash.lpn(moved.source), flash.sequence(moved.source));
                [Some(carried), Some((op.lpn, op.sequence))]
            }
            _ => [None, None],
        })
        .flatten()
        .chain(not_covered)
        .collect()
}

impl Ssd {
    /// Begin an operation of the checkpoint. False if its chip is missing.
    #[inline(never)]
    pub(in crate::sim) fn start_step_of_checkpoint(
        &mut self,
        unit: usize,
        slot: OpSlot,
        erase: bool,
    ) -> bool {
        let plane = self.core.array.ops[slot].plane;
        debug_assert_eq!(self.core.ftl.geo.unit_of(plane).at(), unit, "{slot:?} is elsewhere");
        if self.core.ftl.is_dead(plane) {
            self.core.leave_queue(unit, slot);
            let (power, core) = self.power_cuts();
            power.end_metadata(core, slot);
            return false;
        }
        start_metadata(&mut self.core, unit, slot, erase)
    }
}

fn start_metadata(core: &mut Core, unit: usize, slot: OpSlot, erase: bool) -> bool {
    debug_assert_eq!(core.ftl.geo.unit_of(core.array.ops[slot].plane).at(), unit, "another unit");
    let flash = &mut core.ledger.measured.flash;
    let times = &core.array.times;
    let times = if erase {
        flash.erases[Cause::Metadata.at()] += 1;
        (times.erase_ns, 0)
    } else {
        flash.programs[Cause::Metadata.at()] += 1;
        let Work::MetadataProgram { step } = core.array.ops[slot].work else {
            unreachable!("{slot:?} programs no page of a checkpoint")
        };
        let page = step % core.ftl.geo.pages_per_flash_block;
        (times.program_in_block(&core.ftl.geo, page), times.gc_local_bus_ns)
    };
    let kind = if erase { OpKind::MetadataErase } else { OpKind::MetadataProgram };
    core.begin::<true>(unit, (slot, kind), times);
    true
}
