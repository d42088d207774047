//! Hot and cold: a share of the accesses goes to a share of the space, each region uniform.
//!
//! Source: Rosenblum and Ousterhout, "The Design and Implementation of a Log-Structured File
//! System", ACM TOCS 10(1), 1992, section 3.5 ("hot-and-cold": 90 % of the accesses to 10 %). The
//! hot pages are the first ones.

use super::check_share;
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// A hot and a cold region.
pub(super) struct HotCold {
    hot: u64,
    cold: u64,
    hot_access: f64,
}

impl HotCold {
    /// Creates the regions of `pages` pages: the first `space` of them get `access` of the accesses.
    pub(super) fn new(pages: u64, space: f64, access: f64) -> Result<HotCold, SourceError> {
        check_share("hot_space", space)?;
        check_share("hot_access", access)?;
        let hot = (space * pages as f64).round() as u64;
        let cold = pages - hot.min(pages);
        if (hot == 0 && access > 0.0) || (cold == 0 && access < 1.0) {
            return Err(SourceError(format!(
                "workload.hot_space = {space} of {pages} pages leaves {hot} hot and {cold} cold \
                 pages for workload.hot_access = {access}; give each region at least a page"
            )));
        }
        Ok(HotCold { hot, cold, hot_access: access })
    }

    #[inline(always)]
    pub(super) fn page(&self, random: &mut Stream) -> u64 {
        if random.chance(self.hot_access) {
            random.below(self.hot)
        } else {
            self.hot + random.below(self.cold)
        }
    }
}
