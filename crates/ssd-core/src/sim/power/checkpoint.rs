//! Checkpoints of the map: an image of one instant, written page by page to two areas in turn.
//!
//! The areas are flash blocks of their own, as many on each plane, numbered after those of the pools. On each plane
//! one operation after the other: first the blocks of the area are erased, if it has been used, then its pages are
//! programmed. Until the last page is on flash the checkpoint before counts.

use super::Power;
use crate::config::Config;
use crate::ftl::recover::image::Image;
use crate::metrics::counters::Cause;
use crate::nand::geometry::{Geometry, PageAddress};
use crate::sched::order::W_GC;
use crate::sim::array::op::{Op, OpKind, Work};
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, OpSlot, PlaneId};

/// The two areas.
pub(super) struct Area {
    /// The last checkpoint that was written to its end.
    pub(super) current: Option<Box<Image>>,
    /// The area that holds it.
    half: usize,
    /// Areas that are not erased.
    used: [bool; 2],
    /// Pages and flash blocks of a checkpoint on each plane.
    pages: u32,
    blocks: u32,
    pages_per_block: u32,
}

/// A checkpoint that is being written.
pub(super) struct Writing {
    image: Image,
    half: usize,
    /// Admission number at the beginning of the one before.
    before: u64,
    /// Records that it makes unnecessary.
    records: usize,
    /// The same of those that had found no room.
    backlog: usize,
    /// By plane: erases, then pages, that have not begun.
    left: Vec<(u32, u32)>,
    /// Operations that have not ended.
    running: u32,
}

impl Area {
    /// Erased areas, or with a `first` checkpoint.
    pub(super) fn new(config: &Config, geo: &Geometry, first: Option<Image>) -> Area {
        let units = u64::from(geo.pools * geo.blocks_per_pool);
        let blocks = units * u64::from(geo.members);
        let bytes = Image::bytes(u64::from(geo.logical_pages), blocks, units);
        let pages = bytes.div_ceil(u64::from(config.device.page_bytes));
        let pages = pages.div_ceil(u64::from(geo.planes)) as u32;
        assert!(pages > 0, "a checkpoint without pages");
        Area {
            used: [first.is_some(), false],
            current: first.map(Box::new),
            half: 0,
            pages,
            blocks: pages.div_ceil(geo.pages_per_flash_block),
            pages_per_block: geo.pages_per_flash_block,
        }
    }

    /// Pages of a checkpoint on each plane.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Where operation `number` of a checkpoint in area `half` is on a plane of `blocks` blocks for data: its block
    /// and page.
    fn place(&self, half: usize, number: u32, erases: bool, blocks: u32) -> (u32, u32) {
        debug_assert!(half < 2, "there is no area {half}");
        debug_assert!(erases || number < self.pages, "page {number} of {}", self.pages);
        debug_assert!(!erases || number < self.blocks, "block {number}");
        let first = blocks + half as u32 * self.blocks;
        if erases {
            return (first + number, 0);
        }
        let page = number;
        (first + page / self.pages_per_block, page % self.pages_per_block)
    }
}

impl Power {
    /// A cut ends the checkpoint that is being written: the next one is due as if it had not begun.
    pub(super) fn drop_checkpoint(&mut self) {
        if let Some(writing) = self.writing.take() {
            debug_assert!(writing.before <= self.checkpointed, "checkpoints begin backwards");
            self.checkpointed = writing.before;
        }
    }

    /// Whether `power.checkpoint` bytes have been written since the last checkpoint began; `sequence`: pages admitted.
    fn interval_is_over(&self, sequence: u64) -> bool {
        debug_assert!(self.checkpointed <= sequence, "a checkpoint of the future");
        let interval = self.config.power.checkpoint_bytes;
        let written = (sequence - self.checkpointed) * u64::from(self.config.device.page_bytes);
        interval > 0 && written >= interval
    }
}

impl Ssd {
    /// Begin a checkpoint if one is due and none is being written.
    pub(crate) fn checkpoint_if_due(&mut self) {
        let Some(power) = &self.power else { return };
        if power.writing.is_some() || power.off_since.is_some() {
            return;
        }
        let crowded = power.nvram.is_crowded() || !power.backlog.is_empty();
        if power.interval_is_over(self.front.sequence) || crowded {
            self.begin_checkpoint();
        }
    }

    #[inline(never)]
    fn begin_checkpoint(&mut self) {
        let under_way = self.pages_under_way();
        assert!(!self.is_off(), "a checkpoint without power");
        let power = self.power.as_mut().expect("the caller has checked");
        let half = if power.area.current.is_some() { 1 - power.area.half } else { 0 };
        let erases =
            if std::mem::replace(&mut power.area.used[half], true) { power.area.blocks } else { 0 };
        assert!(power.writing.is_none(), "two checkpoints at a time");
        assert!(power.checkpointed <= self.front.sequence, "pages are admitted backwards");
        let before = std::mem::replace(&mut power.checkpointed, self.front.sequence);
        let planes = self.ftl.geo.planes;
        let mut image = Image::of(&self.ftl, &power.moved);
        let records = power.nvram.records().chain(power.backlog.iter().copied());
        image.end_later(&under_way, &records.collect::<Vec<_>>(), power.area.current.as_deref());
        power.writing = Some(Box::new(Writing {
            image,
            half,
            before,
            records: power.nvram.len(),
            backlog: power.backlog.len(),
            left: vec![(erases, power.area.pages); planes as usize],
            running: 0,
        }));
        (0..planes).map(PlaneId).for_each(|plane| self.continue_checkpoint(plane));
    }

    /// The pages of writes and copies that are not on flash, with their admission numbers.
    fn pages_under_way(&self) -> Vec<(Lpn, u64)> {
        debug_assert!(self.power.is_some(), "nobody asks");
        self.array
            .ops
            .live()
            .flat_map(|op| match op.work {
                Work::HostWrite { .. } | Work::RmwRead { .. } => {
                    [Some((op.lpn, op.sequence)), None]
                }
                Work::GcRead(moved) | Work::GcWrite(moved) | Work::GcCopyback(moved) => {
                    // Of a page with several owners the copy carries any, or the LPN of the page if all have left.
                    let flash = &self.ftl.flash;
                    let carried = (flash.lpn(moved.source), flash.sequence(moved.source));
                    [Some(carried), Some((op.lpn, op.sequence))]
                }
                _ => [None, None],
            })
            .flatten()
            .collect()
    }

    /// The next operation of the checkpoint on `plane`.
    fn continue_checkpoint(&mut self, plane: PlaneId) {
        let power = self.power.as_mut().expect("a checkpoint is being written");
        let writing = power.writing.as_mut().expect("a checkpoint is being written");
        let (erases, pages) = &mut writing.left[plane.at()];
        let work = if *erases > 0 {
            *erases -= 1;
            Work::MetadataErase { step: power.area.blocks - 1 - *erases }
        } else if *pages > 0 {
            *pages -= 1;
            Work::MetadataProgram { step: power.area.pages - 1 - *pages }
        } else {
            return;
        };
        assert!(writing.running < self.ftl.geo.planes, "two operations on {plane:?}");
        writing.running += 1;
        let op = Op::new(work, Lpn::NONE, plane, self.array.now);
        let slot = self.array.ops.insert(op);
        self.enqueue(slot, W_GC);
    }

    /// An operation of the checkpoint begins.
    #[inline(never)]
    pub(crate) fn start_metadata(&mut self, unit: usize, slot: OpSlot, erase: bool) -> bool {
        debug_assert_eq!(
            self.ftl.geo.unit_of(self.array.ops[slot].plane).at(),
            unit,
            "another unit"
        );
        debug_assert!(!self.is_off(), "a checkpoint without power");
        let flash = &mut self.ledger.measured.flash;
        let times = &self.array.times;
        let times = if erase {
            flash.erases[Cause::Metadata.at()] += 1;
            (times.erase_ns, 0)
        } else {
            flash.programs[Cause::Metadata.at()] += 1;
            (times.program_ns, times.gc_local_bus_ns)
        };
        let kind = if erase { OpKind::MetadataErase } else { OpKind::MetadataProgram };
        self.begin::<true>(unit, (slot, kind), times);
        true
    }

    /// An operation of the checkpoint ends; the checkpoint counts from its last one on.
    #[inline(never)]
    pub(crate) fn metadata_ends(&mut self, slot: OpSlot) {
        let plane = self.array.ops[slot].plane;
        debug_assert!(!self.array.ops[slot].kind().is_host(), "{slot:?} is the host's");
        self.array.ops.remove(slot);
        let power = self.power.as_mut().expect("a checkpoint is being written");
        power.writing.as_mut().expect("a checkpoint is being written").running -= 1;
        self.continue_checkpoint(plane);
        let power = self.power.as_mut().expect("seen");
        if power.writing.as_ref().is_some_and(|writing| writing.running > 0) {
            return;
        }
        let Writing { image, half, records, backlog, .. } =
            *power.writing.take().expect("a checkpoint is being written");
        debug_assert!(power.area.used[half], "area {half} has not been written");
        debug_assert!(records <= power.nvram.len(), "records went before their checkpoint");
        (power.area.current, power.area.half) = (Some(Box::new(image)), half);
        power.nvram.clean(records);
        // Those that were written meanwhile have been counted among the ones that had found no room.
        debug_assert!(backlog <= power.backlog.len(), "the backlog shrinks without a checkpoint");
        power.backlog.drain(..backlog);
        power.passed += backlog as u64;
        self.ledger.measured.power.checkpoints += 1;
        self.records_have_room();
    }

    /// Whether a checkpoint goes before the host on a unit: records wait for it, or the next one is due already.
    pub(crate) fn checkpoint_is_urgent(&self) -> bool {
        let Some(power) = &self.power else { return false };
        debug_assert!(power.off_since.is_none(), "an operation waits without power");
        !power.backlog.is_empty() || power.interval_is_over(self.front.sequence)
    }

    /// Where an operation of the checkpoint is, by its number on the plane, for the log.
    pub(crate) fn metadata_place(&self, slot: OpSlot, step: u32, erase: bool) -> PageAddress {
        let op = &self.array.ops[slot];
        debug_assert!(op.cause() == Cause::Metadata, "{slot:?} is no step of one");
        let power = self.power.as_ref().expect("it has checkpoints");
        let half = power.writing.as_ref().map_or(power.area.half, |writing| writing.half);
        let blocks = power.config.device.blocks_per_plane;
        let within = power.area.place(half, step, erase, blocks);
        self.ftl.geo.place_on(op.plane, within)
    }
}
