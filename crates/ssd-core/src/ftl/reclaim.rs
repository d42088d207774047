//! Block counts of a device that separates pages, and the report of a device with reclaim unit handles.

use super::Ftl;
use super::separation::Classes;
use crate::nand::geometry::PageAddress;
use crate::units::{BlockId, Nanos, Ppn};

/// What happened to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitStep {
    /// It was opened: a handle has a new reclaim unit.
    Opened,
    /// Its collection began: its valid pages move elsewhere.
    Collected,
}

/// A block was opened or collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitEvent {
    /// The time of the event.
    pub at: Nanos,
    /// What happened.
    pub step: UnitStep,
    /// Its frontier: a class, or that of static wear levelling.
    pub(super) class: u32,
    /// The block.
    pub(super) block: BlockId,
    /// Its valid pages; 0 when it is opened.
    pub(super) pages: u32,
}

/// One line of the log of reclaim units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitRecord {
    /// The time of the event.
    pub at: Nanos,
    /// What happened.
    pub step: UnitStep,
    /// The handle whose data it takes; `None` if it takes those of several.
    pub handle: Option<u32>,
    /// Whether it takes copies rather than pages of the host.
    pub copies: bool,
    /// Its first page.
    pub place: PageAddress,
    /// Valid pages of a unit that is collected.
    pub pages: Option<u32>,
}

impl UnitStep {
    /// Name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            UnitStep::Opened => "opened",
            UnitStep::Collected => "collected",
        }
    }
}

/// What happened to reclaim units within the measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitCounts {
    /// Pages that the host has written to them.
    pub host_pages: u64,
    /// Pages that have been copied to them.
    pub copied_pages: u64,
    /// Units opened.
    pub opened: u64,
    /// Units whose collection has begun.
    pub collected: u64,
    /// Pages copied out of them.
    pub moved_pages: u64,
}

impl UnitCounts {
    /// These and `other`.
    #[must_use]
    pub fn plus(&self, other: &UnitCounts) -> UnitCounts {
        UnitCounts {
            host_pages: self.host_pages + other.host_pages,
            copied_pages: self.copied_pages + other.copied_pages,
            opened: self.opened + other.opened,
            collected: self.collected + other.collected,
            moved_pages: self.moved_pages + other.moved_pages,
        }
    }
}

/// The reclaim units of a device with handles, within the measurement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReclaimCounts {
    /// By handle.
    pub handles: Vec<UnitCounts>,
    /// Units that hold copies of several handles.
    pub shared: UnitCounts,
    /// Copies that went to units of another handle.
    pub diverted_copies: u64,
}

/// Counts by frontier: the classes, and that of static wear levelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    opened: Vec<u64>,
    bound: Vec<u64>,
    pub(super) collected: Vec<u64>,
    moved: Vec<u64>,
    pub(super) diverted: u64,
}

impl Counts {
    pub(super) fn new(frontiers: u32) -> Counts {
        assert!(frontiers > 1, "a device has a class and a frontier of wear levelling");
        let none = || vec![0; frontiers as usize];
        Counts { opened: none(), bound: none(), collected: none(), moved: none(), diverted: 0 }
    }
}

impl Ftl {
    /// Keep copies with their handle from the start, if handles are persistently isolated.
    pub(super) fn isolate_handles(&mut self) {
        let isolates = self.handles().is_some_and(|(_, isolates)| isolates);
        debug_assert!(!isolates || self.separates(), "handles without classes");
        if isolates {
            self.space.isolate();
        }
    }

    /// Note that `pages` pages of `block`, which is being collected, have been copied.
    pub(crate) fn note_moved(&mut self, block: BlockId, pages: u64) {
        let class = self.blocks.origin(block).class;
        debug_assert!(pages <= u64::from(self.geo.pages_per_block), "{pages} pages of {block:?}");
        let separated = self.separated.as_deref_mut().expect("the device separates");
        debug_assert!((class as usize) < separated.counts.moved.len(), "{block:?} has no class");
        separated.counts.moved[class as usize] += pages;
    }

    /// As [`Ftl::note_moved`], of the one page `source`.
    pub(crate) fn note_moved_page(&mut self, source: Ppn) {
        debug_assert!(source.0 < self.geo.pages, "there is no {source:?}");
        self.note_moved(self.geo.block_of(source), 1);
    }

    /// Counts so far.
    fn class_counts(&self) -> Option<Counts> {
        let separated = self.separated.as_deref()?;
        let (opened, bound) = self.space.filled(&self.blocks);
        debug_assert_eq!(opened.len(), separated.counts.opened.len(), "a frontier is missing");
        Some(Counts { opened, bound, ..separated.counts.clone() })
    }

    /// The measurement begins.
    pub(crate) fn restart_classes(&mut self) {
        let counts = self.class_counts();
        debug_assert_eq!(counts.is_some(), self.separates(), "classes are not counted");
        if let (Some(separated), Some(counts)) = (self.separated.as_deref_mut(), counts) {
            separated.before = counts;
        }
    }

    /// The reclaim unit handles, and whether they are persistently isolated; `None` on other devices.
    #[must_use]
    pub fn handles(&self) -> Option<(u32, bool)> {
        let policy = self.separated.as_deref()?.fdp()?;
        debug_assert!(policy.handles() <= self.space.streams(), "a handle has no class");
        Some((policy.handles(), policy.isolates()))
    }

    /// Why the device refuses a write of request stream `stream`; `None` if it does not.
    #[must_use]
    pub fn lacks_handle(&self, stream: u8) -> Option<String> {
        let (handles, _) = self.handles().filter(|&(handles, _)| u32::from(stream) >= handles)?;
        debug_assert!(handles > 0, "a device without handles");
        let streams =
            if handles == 1 { "stream 0".into() } else { format!("streams 0 to {}", handles - 1) };
        Some(format!(
            "a write of stream {stream}, and alloc.separation = \"fdp\" has handles = {handles}, for {streams}"
        ))
    }

    /// Take the log of reclaim units so far, in order.
    pub(crate) fn take_units(&mut self) -> Vec<UnitRecord> {
        let Some((handles, isolates)) = self.handles() else { return Vec::new() };
        let (units, classes) = (self.space.take_units(), self.space.streams());
        debug_assert!(handles < classes, "no class takes copies");
        let record = |unit: UnitEvent| {
            let of_one = unit.class < if isolates { classes } else { handles };
            debug_assert!(unit.class <= classes, "{unit:?} is of no frontier");
            UnitRecord {
                at: unit.at,
                step: unit.step,
                handle: of_one.then_some(unit.class % handles),
                copies: unit.class >= handles,
                place: self.geo.place(self.geo.first_page(unit.block)),
                pages: (unit.step == UnitStep::Collected).then_some(unit.pages),
            }
        };
        units.into_iter().map(record).collect()
    }

    /// What has happened to the reclaim units of the handles since the measurement began; `None` without handles.
    #[must_use]
    pub fn reclaimed(&self) -> Option<ReclaimCounts> {
        let (handles, isolates) = self.handles()?;
        let (now, before) = (self.class_counts()?, &self.separated.as_deref()?.before);
        let counts = |class: u32| {
            let since = |now: &[u64], before: &[u64]| now[class as usize] - before[class as usize];
            UnitCounts {
                host_pages: 0,
                copied_pages: since(&now.bound, &before.bound),
                opened: since(&now.opened, &before.opened),
                collected: since(&now.collected, &before.collected),
                moved_pages: since(&now.moved, &before.moved),
            }
        };
        let Classes { host, all } = self.classes()?;
        assert_eq!(host, handles, "a handle has another class");
        let mut rows: Vec<UnitCounts> = (0..handles)
            .map(counts)
            .map(|row| UnitCounts { host_pages: row.copied_pages, copied_pages: 0, ..row })
            .collect();
        let levelled = counts(all);
        let shared = if isolates {
            rows.iter_mut().zip(host..all).for_each(|(row, class)| *row = row.plus(&counts(class)));
            levelled
        } else {
            levelled.plus(&counts(host))
        };
        let diverted_copies = self.diverted_copies();
        debug_assert_eq!(rows.len(), handles as usize, "a handle is missing");
        debug_assert!(isolates || diverted_copies == 0, "copies have one class, and left it");
        Some(ReclaimCounts { handles: rows, shared, diverted_copies })
    }
}
