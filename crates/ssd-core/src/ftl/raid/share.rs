//! Which page a copy may share in a parity group.
//!
//! The pages of a group lie on different chips, or the loss of a chip would take two of them. One that shares a page is
//! where its source is. It may be on the chip on which it is at home, or on a chip of other groups on which its own
//! group has no page. It may not be on another chip of its group, even if nothing of the group is there now: that chip
//! is the home of another page, which the host may write, or a rebuild restore, at any time.

use super::{Changes, GroupId};
use crate::ftl::Ftl;
use crate::units::{Lpn, Ppn};

impl Ftl {
    /// Whether `lpn` may share `page`, if its group has pages on the chips `taken`.
    pub(crate) fn may_share(&self, lpn: Lpn, page: Ppn, taken: &[u32]) -> bool {
        debug_assert!(self.owners.is_valid(page), "{page:?} holds no data to share");
        let groups = self.parity_groups();
        let chip = groups.chip_of(self.geo.plane_of(page));
        let home = groups.chip_of(groups.home(lpn));
        chip == home || (!groups.are_together(chip, home) && !taken.contains(&chip))
    }

    /// The chips, in striping order, of the pages of `group` that `changes` leave where they are.
    pub(crate) fn chips_of_others(&self, group: GroupId, changes: Changes) -> Vec<u32> {
        let groups = self.parity_groups();
        let others = (0..groups.data_pages()).filter(|&p| changes.changed() >> p & 1 == 0);
        let committed = others.filter_map(|p| self.owners.committed(groups.page(group, p)));
        committed.map(|page| groups.chip_of(self.geo.plane_of(page))).collect()
    }
}
