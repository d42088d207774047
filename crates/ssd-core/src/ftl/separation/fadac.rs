//! FADaC: pages are separated by a counter that host writes raise and copies lower; classes are its powers of ten.
//!
//! Paper: Kremer and Brinkmann, "FADaC: a self-adapting data classifier for flash memory", SYSTOR 2019. Class k holds
//! the counters above 10^(k-1) times a fading average of what a write adds.
//! Where it is silent, decided: a write adds 1 for each page, so that this average is 1, as it becomes in the public
//! simulator of SepBIT's authors; counters are between 0 and 2^16 - 1; host and copies of a class share its open
//! blocks. History: the counter, two bytes a logical page.

use super::persistence::knows;
use super::{CLASSES, Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::Lpn;

/// Registry entry of FADaC.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "fadac",
    summary: "classes by the magnitude of a counter that writes raise and copies lower",
    paper: "Kremer and Brinkmann, FADaC: a self-adapting data classifier for flash memory, SYSTOR 2019",
    // No counter of two bytes is above 10^5.
    params: &[ParamInfo { kind: ParamKind::Int(2, 6), ..CLASSES }],
};

/// The counter of each page.
pub struct Policy {
    classes: u32,
    counters: Box<[u16]>,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let classes = spec.int("classes") as u32;
        assert!(classes > 1, "one class separates nothing");
        Policy { classes, counters: vec![0; ground.pages as usize].into() }
    }

    fn class(&self, lpn: Lpn) -> u32 {
        let counter = u32::from(self.counters[lpn.at()]);
        debug_assert!(self.classes > 1, "{lpn:?} has one class only");
        // 2 to 10 are in class 1, 11 to 100 in class 2.
        let magnitude = if counter < 2 { 0 } else { (counter - 1).ilog10() + 1 };
        magnitude.min(self.classes - 1)
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: self.classes }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        debug_assert!(page.lpn.at() < self.counters.len(), "{page:?} is beyond the device");
        let counter = &mut self.counters[page.lpn.at()];
        *counter = counter.saturating_add(1);
        self.class(page.lpn)
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(page.class.is_none_or(|class| class < self.classes), "{page:?} has no class");
        let counter = &mut self.counters[page.lpn.at()];
        *counter = counter.saturating_sub(1);
        self.class(page.lpn)
    }

    knows! { Policy: counters; given classes }
}
