//! Two regions: pages overwritten more often than the average apart from the others.
//!
//! Source: the hot and cold split that analyses of separation assume (Desnoyers, "Analytic models of SSD write
//! performance", ACM TOS 10(2), 2014, section 5), with what a controller can know instead of the true frequencies: the
//! frequency of a page is the inverse of the number of writes since its last one.
//! Decided: a write is hot if it replaces data younger than the mean age of replaced data, which fades over as many
//! overwrites as there are logical pages; a copy is hot if its data are younger than that. A page never written before
//! is cold. Host and copies of a region share its open blocks. History: the last write, 4 B a logical page.

use super::history::LastWrites;
use super::persistence::knows;
use super::{Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of two regions.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "two-regions",
    summary: "pages overwritten more often than the average, and the others",
    paper: "after Desnoyers, Analytic models of SSD write performance, ACM Transactions on Storage 10(2), 2014, \
            section 5",
    params: &[],
};

const HOT: u32 = 0;
const COLD: u32 = 1;

/// When pages were written, and the mean age of data at their overwriting.
pub struct Policy {
    last: LastWrites,
    pages: f64,
    mean_age: f64,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, ground: &Ground) -> Policy {
        let pages = f64::from(ground.pages);
        assert!(pages > 0.0, "a device without pages");
        // Until it is known: that of pages that are written equally often.
        Policy { last: LastWrites::new(ground.pages), pages, mean_age: pages }
    }

    fn region(&self, age: Option<u64>) -> u32 {
        debug_assert!(self.mean_age > 0.0, "data are replaced before they are written");
        if age.is_some_and(|age| (age as f64) < self.mean_age) { HOT } else { COLD }
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: 2 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        debug_assert!(
            page.replaces.is_none_or(|old| old.class <= Some(COLD)),
            "{page:?} was in no region"
        );
        let age = self.last.write(page.lpn, page.clock);
        let region = self.region(age);
        if let Some(age) = age {
            self.mean_age += (age.max(1) as f64 - self.mean_age) / self.pages;
        }
        debug_assert!(self.mean_age >= 1.0, "{page:?}: a mean age of {}", self.mean_age);
        region
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        let age = self.last.age(page.lpn, page.clock);
        debug_assert!(page.class.is_none_or(|class| class <= COLD), "{page:?} is in no region");
        self.region(age)
    }

    knows! { Policy: last, mean_age; given pages; if |policy| policy.mean_age >= 1.0 }
}
