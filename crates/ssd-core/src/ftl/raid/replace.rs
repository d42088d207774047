//! A chip fails, and a spare takes its place.

use super::lost::Numbers;
use crate::ftl::Ftl;
use crate::ftl::blocks::{BlockState, Fill};
use crate::ftl::gc::victim::VictimPolicy;
use crate::units::{Lpn, PlaneId};

impl Ftl {
    /// Lose what is committed on the chip of `planes`, which fails. Returns the number of lost pages, and whether every
    /// group can compute its lost page.
    pub(crate) fn chip_fails(&mut self, planes: &[PlaneId]) -> (u64, bool) {
        let lost = self.lost.as_deref_mut().expect("a chip may fail");
        planes.iter().for_each(|&plane| lost.set_dead(plane, true));
        let (mut count, mut is_recoverable) = (0, true);
        for lpn in (0..self.geo.logical_pages).map(Lpn) {
            let Some(page) = self.owners.committed(lpn) else { continue };
            if !planes.contains(&self.geo.plane_of(page)) {
                continue;
            }
            let numbers =
                Numbers { sequence: self.owner_sequence(lpn, page), listed: self.number_of(lpn) };
            self.disown_committed(lpn);
            is_recoverable &= self.lose(lpn, numbers);
            count += 1;
        }
        (count, is_recoverable)
    }

    /// Note that the chip of `plane` has failed while power was off.
    pub(crate) fn lose_plane(&mut self, plane: PlaneId) {
        debug_assert_eq!(self.owners.valid_pages(), 0, "the device has been mounted");
        self.lost.as_deref_mut().expect("a chip may fail").set_dead(plane, true);
    }

    /// Whether a group has lost more pages than it can compute.
    pub(crate) fn has_lost_two(&self) -> bool {
        let (Some(lost), Some(groups)) = (&self.lost, &self.groups) else { return false };
        let mut of: Vec<_> = lost.pages(Lpn(0)).map(|lpn| groups.group_of(lpn)).collect();
        of.sort_unstable();
        debug_assert_eq!(of.len() as u64, lost.count(), "a lost page is in no group");
        of.array_windows().any(|[a, b]| a == b)
    }

    /// Replace the failed chip of `planes`, on which nothing is under way, by a spare at the same address: all of its
    /// blocks are erased. Erase counts belong to the address and stay.
    pub(crate) fn replace_chip(&mut self, planes: &[PlaneId]) {
        let lost = self.lost.as_deref_mut().expect("a chip has failed");
        planes.iter().for_each(|&plane| lost.set_dead(plane, false));
        for &plane in planes {
            let pool = self.geo.pool_of(plane);
            for block in self.blocks.of_pool(pool) {
                let at = block.at();
                assert_eq!(self.blocks.valid[at], 0, "{block:?} of a spare holds data");
                assert_eq!(self.blocks.fill[at].pending, 0, "{block:?} of a spare is programmed");
                if self.blocks.state[at] == BlockState::Open {
                    // The policy sees it leave as a full one.
                    self.blocks.fill[at].bound = self.blocks.pages_per_block;
                    self.seal(block);
                }
                if self.blocks.state[at] != BlockState::Sealed {
                    let state = self.blocks.state[at];
                    assert!(
                        matches!(state, BlockState::Free | BlockState::Bad),
                        "{block:?} is {state:?} while its chip is replaced"
                    );
                    continue;
                }
                self.blocks.state[at] = BlockState::Erasing;
                self.victim.on_leave(block, &self.blocks);
                self.blocks.state[at] = BlockState::Free;
                self.blocks.fill[at] = Fill::default();
                self.flash.begin_erase(block, plane);
                self.flash.end_erase(&self.geo, block, plane);
            }
            self.space.renew(plane, &self.blocks);
        }
    }
}
