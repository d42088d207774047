//! DAC, dynamic data clustering: a page moves to a hotter class when the host overwrites it, and to a colder one when
//! it is copied.
//!
//! Paper: Chiang, Lee and Chang, "Using data clustering to improve cleaning performance for flash memory", Software:
//! Practice and Experience 29(3), 1999, whose regions these classes are.
//! Where it is silent, decided: a page that has never been written before begins in the coldest class, host and copies
//! of a class share its open blocks, and an overwrite promotes whatever the age of the page (the paper also knows a
//! variant with a limit of age). History: the class, one byte a logical page.

use super::persistence::knows;
use super::{CLASSES, Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of DAC.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "dac",
    summary: "a page goes up a class when it is overwritten, and down one when it is copied",
    paper: "Chiang, Lee and Chang, Using data clustering to improve cleaning performance for flash memory, \
            Software: Practice and Experience 29(3), 1999",
    params: &[CLASSES],
};

/// The class of each page.
pub struct Policy {
    classes: u32,
    class: Box<[u8]>,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let classes = spec.int("classes") as u32;
        assert!(classes > 1, "one class separates nothing");
        Policy { classes, class: vec![NEW; ground.pages as usize].into() }
    }
}

const NEW: u8 = u8::MAX;

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: self.classes }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let class = &mut self.class[page.lpn.at()];
        *class = if *class == NEW { 0 } else { (*class + 1).min(self.classes as u8 - 1) };
        debug_assert!(u32::from(*class) < self.classes, "{page:?} is in class {class}");
        u32::from(*class)
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(page.lpn.at() < self.class.len(), "{page:?} is beyond the device");
        let class = &mut self.class[page.lpn.at()];
        // A page that was there before the policy.
        *class = if *class == NEW { 0 } else { class.saturating_sub(1) };
        debug_assert!(u32::from(*class) < self.classes, "{page:?} is in class {class}");
        u32::from(*class)
    }

    knows! { Policy: class; given classes; if |policy| {
        policy.class.iter().all(|&class| class == NEW || u32::from(class) < policy.classes)
    } }
}
