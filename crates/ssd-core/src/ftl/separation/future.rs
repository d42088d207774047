//! Future: pages are separated by when they will be overwritten. No controller can do that; it is the benchmark for the
//! other policies.
//!
//! Source: the placement by death times that the policies of this folder approximate ("FK" of SepBIT's authors, Wang et
//! al., FAST 2022, section 2.4, with classes as wide as a block; "grouping by death time" of He et al., "The unwritten
//! contract of solid state drives", EuroSys 2017).
//! Decided: the classes are ranges of the writes until the next one of a page, each wider than the one below it by the
//! factor 1 + 6 / `classes`; the last one begins at eight times the logical pages, divided by that factor. (Of the
//! widths tried on uniform and Zipf writes this one had the fewest copies. Ranges of one block each tell pages apart
//! that die within five blocks only.) With more classes there are fewer copies, and more open blocks. Host and copies
//! of a class share its open blocks. It sees the writes of the run in a first pass over the workload; a TRIM is not
//! foreseen, and a write that was not foreseen counts as never overwritten. The parity of a group is overwritten when
//! the first of its pages is. Knowledge of the future survives power cuts, after which interrupted requests come again:
//! their pages seem to be written once more than they are. A device with this knowledge cannot be stored in a snapshot.
//! History: 8 B a logical page, and 4 B a write.

use super::{Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::Lpn;
use std::sync::Arc;

/// Registry entry of the future.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "future",
    summary: "classes by the time of the next overwrite, which a first pass over the workload has found",
    paper: "after FK of Wang et al., Separating data via block invalidation time inference for write amplification \
            reduction in log-structured storage, FAST 2022, section 2.4",
    params: &[ParamInfo {
        name: "classes",
        kind: ParamKind::Int(2, 64),
        default: Some("6"),
        doc: "classes, from pages that are overwritten soon to those that are not",
    }],
};

/// No write.
const NEVER: u32 = u32::MAX;

/// Which pages the host will write, in order.
#[derive(Debug, Default)]
pub struct FutureWrites {
    /// The number of the first write of each logical page.
    first: Vec<u32>,
    /// For each write, the number of the next one of its page.
    next: Vec<u32>,
}

impl FutureWrites {
    /// Most writes that can be foreseen.
    pub const MOST: usize = NEVER as usize;

    /// For a device of `pages` logical pages, whose host writes `order`.
    ///
    /// # Panics
    /// There are more than [`FutureWrites::MOST`] writes, or one is beyond the device.
    #[must_use]
    pub fn new(pages: u32, order: &[Lpn]) -> FutureWrites {
        assert!(order.len() <= FutureWrites::MOST, "{} writes cannot be numbered", order.len());
        let (mut first, mut next) = (vec![NEVER; pages as usize], vec![NEVER; order.len()]);
        for (number, lpn) in order.iter().enumerate().rev() {
            next[number] = std::mem::replace(&mut first[lpn.at()], number as u32);
            debug_assert!(next[number] as usize > number, "{lpn:?} is written again before");
        }
        FutureWrites { first, next }
    }
}

/// What will happen.
pub struct Policy {
    /// Where the ranges of all classes but the first one begin, in writes.
    begins: Vec<f64>,
    /// The next write of each page of the host.
    next: Vec<u32>,
    /// Pages that the host has written since the forecast began.
    written: u64,
    /// Pages of data in a parity group.
    data_pages: u32,
    foreseen: Arc<FutureWrites>,
}

impl Policy {
    /// One that foresees nothing.
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let classes = spec.int("classes") as u32;
        assert!(classes > 1, "one class separates nothing");
        let ratio = 1.0 + 6.0 / f64::from(classes);
        let below = |far: &f64| Some(far / ratio);
        let far = 8.0 * f64::from(ground.pages) / ratio;
        let mut begins: Vec<f64> =
            std::iter::successors(Some(far), below).take(classes as usize - 1).collect();
        begins.reverse();
        Policy {
            begins,
            next: vec![NEVER; ground.host_pages as usize],
            written: 0,
            data_pages: ground.data_pages,
            foreseen: Arc::default(),
        }
    }

    /// The same, which foresees `foreseen`.
    #[must_use]
    pub fn foreseeing(mut self, foreseen: Arc<FutureWrites>) -> Policy {
        assert_eq!(foreseen.first.len(), self.next.len(), "the future of another device");
        self.next.clone_from(&foreseen.first);
        self.foreseen = foreseen;
        self
    }

    /// The next write of `lpn`. Parity is written when any page of its group is.
    fn next_of(&self, lpn: Lpn) -> u32 {
        if let Some(&next) = self.next.get(lpn.at()) {
            return next;
        }
        let group = lpn.at() - self.next.len();
        let first = group * self.data_pages as usize;
        debug_assert!(first < self.next.len(), "{lpn:?} is the parity of no group");
        let data = &self.next[first..first + self.data_pages as usize];
        data.iter().copied().min().unwrap_or(NEVER)
    }

    /// The class of `lpn` when the host has written `written` pages.
    fn class(&self, lpn: Lpn, written: u64) -> u32 {
        let next = self.next_of(lpn);
        if next == NEVER {
            return self.begins.len() as u32;
        }
        let left = u64::from(next).saturating_sub(written) as f64;
        let class = self.begins.partition_point(|&begin| begin < left);
        debug_assert!(class <= self.begins.len(), "{lpn:?} is in class {class}");
        class as u32
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: self.begins.len() as u32 + 1 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let written = self.written;
        debug_assert!(written <= page.clock, "{page:?} was written before");
        if let Some(next) = self.next.get_mut(page.lpn.at()) {
            self.written += 1;
            if *next != NEVER {
                *next = self.foreseen.next[*next as usize];
            }
        }
        self.class(page.lpn, written)
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(
            page.class.is_none_or(|class| class <= self.begins.len() as u32),
            "{page:?} has no class"
        );
        self.class(page.lpn, self.written)
    }
}
