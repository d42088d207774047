//! The space of a device at rest as columns, and back.

use super::super::snapshot::columns::Columns;
use super::free_list::FreeList;
use super::{NONE, OpenBlock, PoolSpace, Space};
use crate::ftl::blocks::{BlockState, BlockTable};
use crate::nand::flash::Flash;
use crate::nand::geometry::Geometry;
use crate::units::{BlockId, PlaneId, PoolId};

/// What a space is loaded from, besides its columns.
pub(in crate::ftl) struct Ground<'a> {
    pub(in crate::ftl) geo: &'a Geometry,
    pub(in crate::ftl) blocks: &'a BlockTable,
    pub(in crate::ftl) flash: &'a Flash,
}

impl Space {
    /// Blocks put back into free lists so far: part of the order among them.
    pub(in crate::ftl) fn releases(&self) -> u32 {
        self.releases
    }

    /// Write what does not follow from the blocks into `columns`.
    pub(in crate::ftl) fn save(&self, blocks: usize, columns: &mut Columns) {
        let mut order = vec![0; blocks];
        let free = self.free.iter().flat_map(FreeList::iter);
        free.for_each(|&(key, block)| order[block as usize] = key);
        assert_eq!(self.open.len() % self.frontiers as usize, 0, "a plane lacks a frontier");
        let listed = self.free.iter().flat_map(FreeList::iter).count() as u64;
        assert_eq!(listed, self.free_total, "erased blocks, as counted");
        assert!(self.pools.iter().all(|pool| pool.promised == 0), "a device at rest levels wear");
        columns.free_order = order;
        columns.frontiers = self.open.iter().flat_map(|open| [open.block, open.left]).collect();
        if self.superblock {
            let list = |(list, turn): (&Vec<BlockId>, &u32)| {
                let ids: Vec<u32> = list.iter().map(|block| block.0).collect();
                [*turn, ids.len() as u32].into_iter().chain(ids)
            };
            let lists = self.open_supers.iter().zip(&self.copy_turn);
            columns.open_superblocks = lists.flat_map(list).collect();
        }
        if self.host_turn.iter().any(|&turn| turn > 0) {
            columns.host_turns.clone_from(&self.host_turn);
        }
        columns.opened = self.pools.iter().map(|pool| u8::from(pool.opened)).collect();
    }

    /// Restore the state of a device at rest. `releases` and `lowest_free` are counters.
    ///
    /// # Errors
    /// What contradicts the blocks.
    pub(in crate::ftl) fn load(
        &mut self,
        ground: &Ground<'_>,
        columns: &Columns,
        releases: u32,
        lowest_free: u64,
    ) -> Result<(), String> {
        assert_eq!(
            columns.frontiers.len(),
            2 * self.open.len(),
            "the caller has checked the sizes"
        );
        assert_eq!(columns.opened.len(), self.pools.len(), "the caller has checked the sizes");
        self.load_free(ground, &columns.free_order);
        for (open, pair) in self.open.iter_mut().zip(columns.frontiers.as_chunks().0) {
            let &[block, left] = pair;
            *open = OpenBlock { block, left };
        }
        self.load_superblocks(ground, &columns.open_superblocks)?;
        self.load_turns(&columns.host_turns)?;
        self.check_frontiers(ground)?;
        // After a power cut no block is open, and those that were open are counted.
        if self.separates() && ground.blocks.state.contains(&BlockState::Open) {
            self.count_opened();
        }
        for pool in (0..ground.geo.pools).map(PoolId) {
            let copies = self.gc_stream()..self.streams;
            let gc_open = copies.map(|stream| self.count_open(ground, pool, stream)).sum();
            self.pools[pool.at()].gc_open = gc_open;
            self.pools[pool.at()].wear_open = self.count_open(ground, pool, self.wear_stream());
            self.keep(pool, self.pages_per_block);
            self.keep_spare(pool);
            let worn_out = |b| ground.blocks.is_bad(b) && ground.blocks.erases[b.at()] > 0;
            let room = self.gc_need(pool);
            if room < u64::from(self.pages_per_block) && !ground.blocks.of_pool(pool).any(worn_out)
            {
                return Err(format!(
                    "pool {} has lost no block and has room for {room} pages",
                    pool.0
                ));
            }
        }
        for (pool, &opened) in self.pools.iter_mut().zip(&columns.opened) {
            pool.opened = opened != 0;
        }
        (self.releases, self.lowest_free) = (releases, lowest_free);
        assert!(lowest_free <= self.free_total, "the caller has checked the counters");
        Ok(())
    }

    fn load_free(&mut self, ground: &Ground<'_>, order: &[u32]) {
        let mut free = vec![Vec::new(); self.free.len()];
        assert_eq!(order.len(), ground.blocks.len(), "the caller has checked the sizes");
        for pool in &mut self.pools {
            (pool.free, pool.good, pool.used, pool.kept, pool.spare) = (0, 0, 0, 0, 0);
        }
        for (at, &state) in ground.blocks.state.iter().enumerate() {
            let block = BlockId(at as u32);
            let plane = ground.geo.first_plane(block);
            let (home, pool) = (self.home(plane), self.pool(plane).at());
            if state == BlockState::Free {
                free[home].push((order[at], block.0));
                self.pools[pool].free += 1;
            }
            self.pools[pool].good += u32::from(state != BlockState::Bad);
            self.pools[pool].used += u32::from(ground.blocks.fill[at].bound);
        }
        self.free = free.into_iter().map(|list| FreeList::new(list.into_iter())).collect();
        let total =
            |count: fn(&PoolSpace) -> u32| self.pools.iter().map(|p| u64::from(count(p))).sum();
        (self.good_total, self.free_total) = (total(|pool| pool.good), total(|pool| pool.free));
        self.used = total(|pool| pool.used);
        assert!(self.free_total <= self.good_total, "erased blocks are bad");
        let listed = self.free.iter().flat_map(FreeList::iter).count() as u64;
        assert_eq!(listed, self.free_total, "erased blocks, as counted");
    }

    fn load_superblocks(&mut self, ground: &Ground<'_>, column: &[u32]) -> Result<(), String> {
        if !self.superblock {
            let none = column.is_empty();
            return if none {
                Ok(())
            } else {
                Err("superblocks are open, but the device has none".into())
            };
        }
        let (mut rest, mut listed) = (column, vec![false; ground.blocks.len()]);
        assert_eq!(
            self.open_supers.len(),
            self.pools.len() * self.frontiers as usize,
            "a pool lacks a frontier"
        );
        let planes = self.planes_per_pool.get();
        for (at, list) in self.open_supers.iter_mut().enumerate() {
            let short = || "the list of open superblocks ends early".to_string();
            let (&[turn, count], tail) = rest.split_first_chunk().ok_or_else(short)?;
            if turn >= planes {
                return Err(format!("it is the turn of plane {turn} of {planes} to take a copy"));
            }
            self.copy_turn[at] = turn;
            let (ids, tail) = tail.split_at_checked(count as usize).ok_or_else(short)?;
            rest = tail;
            let pool = PoolId(at as u32 / self.frontiers);
            for &id in ids {
                let open = ground.blocks.state.get(id as usize) == Some(&BlockState::Open);
                let is_of_pool = open && ground.blocks.pool_of(BlockId(id)) == pool;
                if !is_of_pool || std::mem::replace(&mut listed[id as usize], true) {
                    return Err(format!("superblock {id} is not open in pool {} once", pool.0));
                }
            }
            *list = ids.iter().map(|&id| BlockId(id)).collect();
        }
        let lost = listed.iter().zip(&ground.blocks.state);
        match lost.into_iter().position(|(&l, &state)| l != (state == BlockState::Open)) {
            Some(block) => Err(format!("open superblock {block} belongs to no frontier")),
            None if rest.is_empty() => Ok(()),
            None => Err("the list of open superblocks continues after its end".to_string()),
        }
    }

    /// Without the column, the first plane is next everywhere.
    fn load_turns(&mut self, column: &[u32]) -> Result<(), String> {
        if column.is_empty() {
            return Ok(());
        }
        let (frontiers, planes) = (self.host_turn.len(), self.planes());
        if column.len() != frontiers {
            return Err(format!("host_turns has {} entries, expected {frontiers}", column.len()));
        }
        if let Some(turn) = column.iter().find(|&&turn| turn >= planes) {
            return Err(format!("host_turns names plane {turn} of a device with {planes}"));
        }
        self.host_turn.copy_from_slice(column);
        Ok(())
    }

    /// Check that every frontier continues after the programmed pages of its block, and that every open block has a
    /// frontier.
    fn check_frontiers(&self, ground: &Ground<'_>) -> Result<(), String> {
        let mut is_taken = vec![false; ground.blocks.len()];
        for (at, open) in self.open.iter().enumerate() {
            let (plane, stream) = (at as u32 / self.frontiers, at as u32 % self.frontiers);
            let wrong =
                || format!("frontier {stream} of plane {plane} is not where its block ends");
            let is_known = (open.block as usize) < ground.blocks.len();
            if !(is_known || (open.block == NONE && open.left == 0)) {
                return Err(wrong());
            }
            if self.superblock {
                self.check_plane_of_superblocks(ground, PlaneId(plane), stream)
                    .ok_or_else(wrong)?;
            } else if open.left > 0 {
                let block = BlockId(open.block);
                let is_open = ground.blocks.state[block.at()] == BlockState::Open;
                let left = self.pages_on_plane - u32::from(ground.blocks.fill[block.at()].bound);
                let by_host = stream < self.of_host || !ground.blocks.is_slc(block);
                let is_on_plane = ground.geo.first_plane(block) == PlaneId(plane);
                let twice = std::mem::replace(&mut is_taken[block.at()], true);
                if twice || !(is_open && is_on_plane && by_host && left == open.left) {
                    return Err(wrong());
                }
            }
        }
        let open = ground.blocks.state.iter().filter(|&&s| s == BlockState::Open).count();
        let count = is_taken.iter().filter(|&&is_set| is_set).count();
        if self.superblock || count == open {
            return Ok(());
        }
        Err(format!("{open} blocks are open, of which {count} belong to a frontier"))
    }

    /// Check that a plane has filled the open superblocks before its current one and not begun those after it.
    fn check_plane_of_superblocks(
        &self,
        ground: &Ground<'_>,
        plane: PlaneId,
        stream: u32,
    ) -> Option<()> {
        let open = self.open[self.frontier_at(plane, stream)];
        let list = &self.open_supers[self.supers_at(self.pool(plane), stream)];
        let current = list.iter().position(|block| block.0 == open.block);
        let sound = list.iter().enumerate().all(|(i, &block)| {
            let expected = match current {
                Some(current) if i < current => Some(self.pages_of(block, ground.blocks)),
                Some(current) if i == current => {
                    self.pages_of(block, ground.blocks).checked_sub(open.left)
                }
                _ => Some(0),
            };
            Some(ground.flash.programmed(block, plane)) == expected
        });
        (sound && (current.is_some() || open.left == 0)).then_some(())
    }

    /// Unbound pages in the open blocks of a frontier.
    fn count_open(&self, ground: &Ground<'_>, pool: PoolId, stream: u32) -> u32 {
        debug_assert!(stream >= self.gc_stream(), "pages of host frontier {stream} are not room");
        if self.superblock {
            let unbound = |block: &BlockId| {
                self.pages_per_block - u32::from(ground.blocks.fill[block.at()].bound)
            };
            return self.open_supers[self.supers_at(pool, stream)].iter().map(unbound).sum();
        }
        let left = |plane: u32| self.open[self.frontier_at(PlaneId(plane), stream)].left;
        ground.geo.planes_of_pool(pool).map(left).sum()
    }
}
