//! What holds for every group at any time: its committed pages are on different chips, each at home or on a chip of
//! other groups, it has parity if and only if it has data, and the parity is the exclusive or of the data.
//!
//! It holds at any time, not only at rest, because the pages of an update are committed together.

use super::{GroupId, Groups};
use crate::ftl::Ftl;
use crate::nand::flash::Payload;
use crate::units::{Lpn, Ppn};

/// The exclusive or of contents: of bytes if both have some, and of digests.
pub fn mix(sum: &mut Payload, other: &Payload) {
    sum.digest ^= other.digest;
    match (&mut sum.bytes, &other.bytes) {
        (Some(sum), Some(other)) => {
            assert_eq!(sum.len(), other.len(), "pages of different sizes");
            sum.iter_mut().zip(other).for_each(|(sum, byte)| *sum ^= byte);
        }
        (sum @ None, Some(other)) => *sum = Some(other.clone()),
        (_, None) => {}
    }
}

impl Ftl {
    /// Every parity group is whole.
    ///
    /// # Errors
    /// The first that is not.
    pub fn audit_groups(&self) -> Result<(), String> {
        let Some(groups) = &self.groups else { return Ok(()) };
        assert_eq!(groups.count() + self.geo.user_pages, self.geo.logical_pages, "other groups");
        (0..groups.count()).map(GroupId).try_for_each(|group| self.audit_group(groups, group))
    }

    fn audit_group(&self, groups: &Groups, group: GroupId) -> Result<(), String> {
        let committed = |lpn: Lpn| Some((lpn, self.owners.committed(lpn)?));
        let pages: Vec<_> = groups.pages(group).filter_map(committed).collect();
        assert!(pages.len() <= groups.chips() as usize, "{group:?} has {} pages", pages.len());
        let mut chips: Vec<u32> =
            pages.iter().map(|&(_, ppn)| self.geo.chip_of(self.geo.plane_of(ppn))).collect();
        chips.sort_unstable();
        if let Some([chip, _]) = chips.array_windows().find(|[a, b]| a == b) {
            return Err(format!("{group:?} has two pages on chip {chip}: {pages:?}"));
        }
        let is_away = |&&(lpn, ppn): &&(Lpn, Ppn)| {
            let (chip, home) = (groups.chip_of(self.geo.plane_of(ppn)), groups.home(lpn));
            let home = groups.chip_of(home);
            chip != home && groups.are_together(chip, home)
        };
        if let Some((lpn, ppn)) = pages.iter().find(is_away) {
            return Err(format!("{lpn:?} on {ppn:?} is at the home of another page of {group:?}"));
        }
        let lost: Vec<Lpn> = groups.pages(group).filter(|&lpn| self.is_lost(lpn)).collect();
        let lpns = || pages.iter().map(|&(lpn, _)| lpn).chain(lost.iter().copied());
        if lpns().any(|lpn| groups.is_parity(lpn)) != lpns().any(|lpn| !groups.is_parity(lpn)) {
            return Err(format!("{group:?} has data without parity, or the reverse: {pages:?}"));
        }
        if !lost.is_empty() {
            let gone = lost.iter().find(|&&lpn| self.owners.committed(lpn).is_some());
            return match gone {
                Some(lpn) => Err(format!("{lpn:?} of {group:?} is lost and on flash")),
                None => Ok(()),
            };
        }
        let mut sum = Payload::default();
        pages.iter().for_each(|&(_, ppn)| mix(&mut sum, &self.flash.payload(ppn)));
        if sum.digest != 0 || sum.bytes.is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0)) {
            return Err(format!("the parity of {group:?} is not the sum of its data: {pages:?}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mixed_in_twice_is_gone() {
        let page = |digest, byte| Payload { digest, bytes: Some(vec![byte; 4].into()) };
        let mut sum = page(7, 1);
        mix(&mut sum, &page(9, 2));
        assert_eq!(sum, page(7 ^ 9, 3));
        mix(&mut sum, &page(7, 1));
        assert_eq!(sum, page(9, 2));
        mix(&mut sum, &Payload::default());
        assert_eq!(sum, page(9, 2));
        let mut nothing = Payload::default();
        mix(&mut nothing, &page(9, 2));
        assert_eq!(nothing, page(9, 2));
    }
}
