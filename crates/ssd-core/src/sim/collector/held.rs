//! Pages that collection has moved and that host reads still wait for: those of a block that is closed
//! until its whole job has ended.

use crate::nand::geometry::Geometry;
use crate::units::{PoolId, Ppn};

/// The new addresses of the pages of closed blocks.
#[derive(Default)]
pub(crate) struct RelocatedPages {
    /// One bit for each flash page; empty if no page is ever held.
    bits: Vec<u64>,
    /// The held pages of each pool's job.
    moved: Vec<Vec<Ppn>>,
}

impl RelocatedPages {
    /// For a device in which pages are held.
    pub(crate) fn new(geo: &Geometry) -> RelocatedPages {
        RelocatedPages {
            bits: vec![0; (geo.pages as usize).div_ceil(64)],
            moved: vec![Vec::new(); geo.pools as usize],
        }
    }

    /// Note that the job of `pool` has moved a page to `target`.
    #[inline(always)]
    pub(crate) fn hold(&mut self, pool: PoolId, target: Ppn) {
        debug_assert!(
            self.moved.is_empty() || pool.at() < self.moved.len(),
            "there is no {pool:?}"
        );
        if let Some(moved) = self.moved.get_mut(pool.at()) {
            debug_assert!(self.bits[target.at() / 64] >> (target.0 % 64) & 1 == 0, "held twice");
            moved.push(target);
            self.bits[target.at() / 64] |= 1 << (target.0 % 64);
        }
    }

    /// Release the pages of `pool`, whose job has ended.
    pub(crate) fn let_go(&mut self, pool: PoolId) {
        debug_assert!(
            self.moved.is_empty() || pool.at() < self.moved.len(),
            "there is no {pool:?}"
        );
        if let Some(moved) = self.moved.get_mut(pool.at()) {
            for page in moved.drain(..) {
                let is_held = self.bits[page.at() / 64] >> (page.0 % 64) & 1 == 1;
                assert!(is_held, "{page:?} is let go twice by {pool:?}");
                self.bits[page.at() / 64] &= !(1 << (page.0 % 64));
            }
        }
    }

    /// Whether `page` is held.
    #[inline(always)]
    pub(crate) fn holds(&self, page: Ppn) -> bool {
        debug_assert!(
            self.bits.is_empty() || page.at() / 64 < self.bits.len(),
            "{page:?} is beyond the device"
        );
        self.bits.get(page.at() / 64).is_some_and(|bits| bits >> (page.0 % 64) & 1 == 1)
    }

    /// Audit: held pages belong to running jobs, and the bits agree with the lists.
    pub(crate) fn audit(&self, running: impl Fn(PoolId) -> bool) -> Result<(), String> {
        for (pool, moved) in self.moved.iter().enumerate() {
            if !moved.is_empty() && !running(PoolId(pool as u32)) {
                return Err(format!("pool {pool} has no job, and {} pages are held", moved.len()));
            }
        }
        let pages: u32 = self.bits.iter().map(|bits| bits.count_ones()).sum();
        let moved: usize = self.moved.iter().map(Vec::len).sum();
        if pages as usize != moved {
            return Err(format!("{pages} pages are held, {moved} have been moved"));
        }
        Ok(())
    }
}
