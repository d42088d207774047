//! Page decisions: where data go, which pages are valid, which block is collected.
//!
//! `Ftl` holds the controller's state and the flash, and performs each step of a page's life: *bind*
//! (take the next page of a frontier), *commit* (the map switches), *release* (the old page becomes
//! invalid). Both executors, timed and functional, are built from these steps.

pub mod audit;
pub mod blocks;
mod choice;
pub mod gc;
pub mod immediate;
pub mod map;
pub mod mean_field;
pub mod owners;
pub mod place;
mod plane;
pub mod plugs;
pub mod raid;
pub mod reclaim;
pub mod recover;
mod separated;
pub mod separation;
pub mod slc;
pub mod snapshot;
pub mod space;
mod validity;
pub mod wear;
mod zones;

use crate::config::{Config, DataMode};
use crate::memory::prefetch;
use crate::nand::flash::Flash;
use crate::nand::geometry::Geometry;
use crate::plug::PolicySpec;
use crate::rng::Stream;
use crate::units::{BlockId, Lpn, OpSlot, PlaneId, PoolId, Ppn};
use blocks::{BlockState, BlockTable, Origin};
use gc::trigger::SpaceView;
use gc::victim::{Victim, VictimPolicy, counts_time};
use owners::Owners;
use plugs::Plugs;
use raid::Groups;
use raid::lost::LostPages;
use separated::Separator;
use separation::Ground;
use snapshot::shape::Shape;
use space::Space;
use wear::Wear;

/// A chosen victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The block.
    pub block: BlockId,
    /// Chosen by the reserve's greedy rule because the policy made no progress.
    pub by_reserve: bool,
    /// Chosen by static wear levelling for its cold data.
    pub levels: bool,
}

impl Choice {
    /// What the victim policy has chosen.
    #[must_use]
    pub const fn of_policy(block: BlockId) -> Choice {
        Choice { block, by_reserve: false, levels: false }
    }
}

/// Maps, blocks and space of one device (the controller) and its flash.
pub struct Ftl {
    /// Sizes and relations of ids.
    pub geo: Geometry,
    /// Logical to physical, and which pages hold live data.
    pub owners: Owners,
    /// Cells and out-of-band data.
    pub flash: Flash,
    /// State of every erase unit.
    pub blocks: BlockTable,
    /// Erased and open blocks.
    pub space: Space,
    /// Endurance and static wear levelling.
    pub wear: Wear,
    /// The victim policy.
    pub victim: Victim,
    /// The specification that `victim` was built from; `None` for an external policy.
    victim_spec: Option<PolicySpec>,
    /// Host pages bound so far: the clock of victim policies.
    pub clock: u64,
    seals: u64,
    /// Whether the victim policy has named no block although one had an invalid page.
    policy_declines: bool,
    /// Parity groups, if the device has them.
    pub groups: Option<Box<Groups>>,
    /// Pages of the groups that a failed chip has taken, if chips may fail.
    pub lost: Option<Box<LostPages>>,
    /// Pages programmed for parity groups that have not been committed.
    landed: u64,
    /// If power may be cut, by in-flight slot: writes of its LPN up to this admission number are trimmed.
    floors: Option<Vec<u64>>,
    /// Owners that only records name, if power may be cut and pages are shared.
    recorded: Option<Box<owners::OwnerRecords>>,
    /// Classes of pages, where a policy separates them.
    separated: Option<Box<Separator>>,
    rng: Stream,
    shape: Shape,
}

impl Ftl {
    /// An erased device.
    #[must_use]
    pub fn new(config: &Config) -> Ftl {
        Ftl::with_plugs(config, &Plugs::default())
    }

    /// Whether power may be cut.
    pub(crate) fn may_lose_power(&self) -> bool {
        self.floors.is_some()
    }

    /// As [`Ftl::new`], with external policies.
    #[must_use]
    pub fn with_plugs(config: &Config, plugs: &Plugs) -> Ftl {
        let config = &*config.of_drive();
        let geo = Geometry::new(config);
        assert!(geo.logical_pages <= geo.pages, "more logical pages than physical ones");
        let pages = u16::try_from(geo.pages_per_block).expect("checked by the config layer");
        let mut blocks = BlockTable::new(geo.pools, geo.blocks_per_pool, pages);
        let ground = Ground::of(config, &geo);
        let separated = plugs.separation(&config.alloc.separation, &ground);
        let separated = separated.map(|policy| Separator::new(policy, config.is_zoned()));
        let classes = separated.as_ref().map_or_else(|| config.alloc.classes(), Separator::classes);
        blocks.origins = vec![Origin::default(); separated.as_ref().map_or(0, |_| blocks.len())];
        if !config.slc.is_off() {
            (blocks.slc, blocks.slc_erases) = (vec![false; blocks.len()], vec![0; blocks.len()]);
            blocks.slc_lacks = pages - pages / config.device.bits as u16;
        }
        let of_victims = separated.as_ref().and_then(Separator::classes_of_victims);
        let mut victim = plugs.victim_by_class(&config.gc.victim, &blocks, of_victims);
        victim.init(&blocks, 0);
        let mut ftl = Ftl {
            owners: Owners::new(geo.logical_pages, geo.pages),
            flash: Flash::new(
                &geo,
                config.run.data,
                config.metrics.op_log || !config.power.is_off(),
                (config.run.data == DataMode::File).then(|| plugs.page_store()).flatten(),
            ),
            space: Space::new(&geo, config, classes, separated.is_some()),
            wear: Wear::new(config, &geo),
            victim,
            victim_spec: plugs.built_in_victim(&config.gc.victim),
            clock: 0,
            seals: 0,
            policy_declines: false,
            groups: Groups::new(config, &geo).map(Box::new),
            lost: LostPages::new(config, &geo).map(Box::new),
            landed: 0,
            floors: (!config.power.is_off()).then(Vec::new),
            recorded: (!config.power.is_off() && !config.remap.is_off()).then(Box::default),
            separated: separated.map(Box::new),
            rng: Stream::new(config.run.seed, "victim"),
            shape: Shape::of(config),
            blocks,
            geo,
        };
        ftl.begin_life(config);
        ftl
    }

    /// Use the victim policy of `spec` from here on, built from the state of the blocks.
    pub fn set_victim(&mut self, spec: &PolicySpec, plugs: &Plugs) {
        let of_victims = self.separated.as_deref().and_then(Separator::classes_of_victims);
        let mut victim = plugs.victim_by_class(spec, &self.blocks, of_victims);
        victim.init(&self.blocks, self.clock);
        self.victim = victim;
        self.victim_spec = plugs.built_in_victim(spec);
        self.policy_declines = false;
    }

    /// Begin a run, timed or not, with the victim policy of `spec`. If preconditioning used the same policy, the policy
    /// keeps its state. A policy that counts time starts afresh, because the run has a time of its own. So does an
    /// external policy, because each machine has its own.
    pub(crate) fn begin_run(&mut self, spec: &PolicySpec, plugs: &Plugs) {
        let goes_on = plugs.built_in_victim(spec).filter(|spec| !counts_time(spec));
        if goes_on.is_none() || goes_on != self.victim_spec {
            self.set_victim(spec, plugs);
        }
    }

    /// Whether the victim policy has ever named no block although one had an invalid page, as policies with a threshold
    /// do. Then the policy, and not the triggers alone, decides when to collect.
    #[inline(always)]
    #[must_use]
    pub fn policy_declines(&self) -> bool {
        self.policy_declines
    }

    /// Bind a host page: the next page of the host frontier `stream` on `plane`.
    #[inline(always)]
    pub fn bind_host(&mut self, plane: PlaneId, stream: u32) -> Ppn {
        debug_assert!(
            self.space.host_may_bind(plane, stream),
            "{plane:?} has no page for the host"
        );
        self.clock += 1;
        self.bind(plane, stream)
    }

    /// The groups of a device with parity.
    #[inline]
    #[must_use]
    pub fn parity_groups(&self) -> &Groups {
        self.groups.as_deref().expect("a device with parity")
    }

    /// Bind a page of a parity group, for which room is held; `parity`: whether it holds parity. Parity does not
    /// advance the clock of victim policies, which counts pages of the host.
    #[inline]
    pub fn bind_group(&mut self, plane: PlaneId, stream: u32, parity: bool) -> Ppn {
        debug_assert!(self.groups.is_some(), "a device without parity groups");
        debug_assert!(stream < self.space.streams(), "{plane:?} has no frontier {stream}");
        self.clock += u64::from(!parity);
        self.space.take_held(plane, stream);
        let frontier = self.space.frontier_of_held(plane, stream);
        if frontier != stream {
            self.note_class(stream as u8, frontier);
        }
        self.bind(plane, frontier)
    }

    /// Note that the program of a page of a parity group has ended. The page is committed only when all pages of its
    /// update are programmed, and until then its block is not sealed.
    #[inline]
    pub fn land(&mut self, ppn: Ppn) {
        let block = self.geo.block_of(ppn);
        assert!(!self.flash.is_torn(ppn), "{ppn:?} is being programmed");
        assert!(self.blocks.fill[block.at()].pending > 0, "{ppn:?} is not pending");
        self.landed += 1;
    }

    /// The page has been committed.
    #[inline]
    pub fn settle_landed(&mut self, ppn: Ppn) {
        assert!(self.landed > 0, "{ppn:?} is committed and has not landed");
        debug_assert!(!self.flash.is_torn(ppn), "{ppn:?} is being programmed");
        self.landed -= 1;
        self.settle(ppn);
    }

    /// Bind a copy: the next page of frontier `stream` (that of GC or of wear levelling) on `plane`.
    #[inline(always)]
    pub fn bind_copy(&mut self, plane: PlaneId, stream: u32) -> Ppn {
        debug_assert!(stream >= self.space.gc_stream(), "frontier {stream} is the host's");
        self.bind(plane, stream)
    }

    /// Begin the program of the page.
    #[inline(always)]
    fn bind(&mut self, plane: PlaneId, stream: u32) -> Ppn {
        let block = self.space.frontier(plane, stream, &mut self.blocks);
        let ppn = self.flash.begin_program(&self.geo, block, plane);
        debug_assert_eq!(self.geo.block_of(ppn), block, "{ppn:?} is in another block");
        debug_assert_eq!(self.geo.plane_of(ppn), plane, "{ppn:?} is on another plane");
        self.bound(block, plane, 1);
        ppn
    }

    /// Note that `count` pages of `block` on `plane` have been bound.
    #[inline(always)]
    fn bound(&mut self, block: BlockId, plane: PlaneId, count: u16) {
        let at = block.at();
        debug_assert!(count > 0, "no page of {block:?} is bound");
        debug_assert!(self.blocks.state[at] == BlockState::Open);
        let fill = &mut self.blocks.fill[at];
        fill.bound += count;
        fill.pending += count;
        debug_assert!(fill.bound <= self.blocks.pages_per_block, "{block:?} overflows");
        if fill.bound == self.blocks.pages_per_block {
            self.space.fully_bound(block, plane, self.blocks.is_slc(block));
        }
    }

    /// Note that the program of a bound page has completed; its block is sealed after its last one.
    #[inline]
    pub fn settle(&mut self, ppn: Ppn) {
        self.settled(self.geo.block_of(ppn), 1);
    }

    /// Note that the programs of `count` bound pages of `block` have completed.
    #[inline(always)]
    fn settled(&mut self, block: BlockId, count: u16) {
        let at = block.at();
        debug_assert!(self.blocks.state[at] == BlockState::Open, "{block:?} is programmed");
        let fill = &mut self.blocks.fill[at];
        debug_assert!(fill.pending >= count, "more pages of {block:?} end than began");
        debug_assert!(fill.bound >= count, "unbound pages of {block:?} are programmed");
        fill.pending -= count;
        if fill.pending == 0 && fill.bound == self.blocks.pages_per_block {
            self.seal(block);
        }
    }

    /// Seal an open block whose pages are all programmed: it may be a victim.
    #[inline(never)]
    fn seal(&mut self, block: BlockId) {
        let at = block.at();
        assert_eq!(self.blocks.state[at], BlockState::Open);
        self.blocks.state[at] = BlockState::Sealed;
        self.blocks.seal_order[at] = self.seals;
        self.blocks.check(block);
        self.seals += 1;
        self.victim.on_seal(block, &self.blocks, self.clock);
    }

    /// Note that a page of a block that is not a candidate, programmed or still being programmed, becomes invalid.
    #[inline]
    fn lost_page(&mut self, block: BlockId) {
        debug_assert!(!self.blocks.is_candidate(block), "{block:?} was programmed after its seal");
        if self.blocks.state[block.at()] == BlockState::Open {
            self.victim.on_invalidate_open(block, &self.blocks, self.clock);
        }
    }

    /// The next block of `pool` that is collected regardless of the triggers.
    #[inline]
    #[must_use]
    pub fn at_once(&self, pool: PoolId) -> Option<BlockId> {
        let block = self.victim.at_once(pool)?;
        debug_assert_eq!(self.blocks.pool_of(block), pool, "victim {block:?} of another pool");
        assert!(self.blocks.is_candidate(block), "victim {block:?} is not sealed");
        assert_eq!(self.blocks.valid[block.at()], 0, "{block:?} has valid pages");
        Some(block)
    }

    /// Whether the valid pages of `block` find room. They always do unless blocks wear out.
    #[inline]
    #[must_use]
    pub fn fits(&self, block: BlockId) -> bool {
        let pool = self.blocks.pool_of(block);
        u64::from(self.blocks.valid[block.at()]) <= self.space.gc_room(pool)
    }

    /// Make the block of `choice` the victim of its pool.
    pub fn begin_collection(&mut self, choice: Choice) {
        let block = choice.block;
        let (at, pool) = (block.at(), self.blocks.pool_of(block));
        assert_eq!(self.blocks.state[at], BlockState::Sealed, "{block:?} is not sealed");
        assert_eq!(self.blocks.fill[at].pending, 0, "{block:?} has programs pending");
        self.blocks.state[at] = BlockState::Collecting;
        self.blocks.check(block);
        self.victim.on_leave(block, &self.blocks);
        if self.separates() {
            self.notify_victim(block);
        }
        let pages = u32::from(self.blocks.valid[at]);
        if choice.levels {
            self.space.levelling_begins(pool, pages);
        } else {
            self.space.job_begins(pool, pages, self.gives_back(block));
        }
        debug_assert!(
            self.space.gc_need(pool) <= self.space.gc_room(pool),
            "{pool:?} has no room for the pages of {block:?}"
        );
    }

    /// Whether `block` can be used again after its next erase.
    fn gives_back(&self, block: BlockId) -> bool {
        debug_assert!(!self.blocks.is_bad(block), "{block:?} is bad already");
        let erases = self.blocks.erases[block.at()] + 1;
        let of_slc = self.blocks.slc_erases.get(block.at());
        let of_slc = of_slc.map_or(0, |&erases| erases + u32::from(self.blocks.is_slc(block)));
        !self.wear.ends(block, erases, of_slc)
    }

    /// The first valid page of `block` at or after its page `from`.
    #[inline]
    #[must_use]
    pub fn next_valid(&self, block: BlockId, from: u32) -> Option<Ppn> {
        debug_assert!(from <= self.geo.pages_per_block, "{block:?} has no page {from}");
        let first = self.geo.first_page(block).0;
        let next = self.owners.next_valid(Ppn(first + from), Ppn(first + self.geo.pages_per_block));
        debug_assert!(next.is_none_or(|ppn| self.geo.block_of(ppn) == block), "page of another");
        next
    }

    /// Note that the victim has no valid page left and its erase is queued.
    pub fn begin_erase(&mut self, block: BlockId) {
        let at = block.at();
        assert_eq!(self.blocks.state[at], BlockState::Collecting);
        assert_eq!(self.blocks.valid[at], 0, "erase of {block:?} with valid pages");
        debug_assert_eq!(self.next_valid(block, 0), None, "erase of {block:?} with an owned page");
        self.blocks.state[at] = BlockState::Erasing;
        self.blocks.check(block);
        self.space.job_moved_all(self.blocks.pool_of(block), self.gives_back(block));
    }

    /// Erase every flash block of `block` at once.
    pub fn erase_now(&mut self, block: BlockId) {
        let state = self.blocks.state[block.at()];
        assert_eq!(state, BlockState::Erasing, "{block:?} is not to be erased");
        for plane in self.geo.planes_of_block(block) {
            self.flash.begin_erase(block, plane);
            self.flash.end_erase(&self.geo, block, plane);
        }
        self.finish_erase(block);
    }

    /// Note that every flash block of `block` has been erased: it is free again, or worn out.
    pub fn finish_erase(&mut self, block: BlockId) {
        let at = block.at();
        assert_eq!(self.blocks.state[at], BlockState::Erasing, "{block:?} is not being erased");
        assert_eq!(self.blocks.valid[at], 0, "{block:?} was erased with valid pages");
        assert_eq!(self.blocks.fill[at].pending, 0, "{block:?} was erased with programs pending");
        debug_assert_eq!(self.next_valid(block, 0), None, "a page of {block:?} has an owner");
        let mut planes = self.geo.planes_of_block(block);
        debug_assert!(planes.all(|p| self.flash.programmed(block, p) == 0), "{block:?} has pages");
        let gives_back = self.gives_back(block);
        self.blocks.state[at] = if gives_back { BlockState::Free } else { BlockState::Bad };
        self.blocks.erases[at] += 1;
        if self.blocks.is_slc(block) {
            self.end_slc(block);
        }
        let bound = u32::from(std::mem::take(&mut self.blocks.fill[at].bound));
        debug_assert_eq!(bound, self.geo.pages_per_block, "{block:?} was erased half full");
        self.blocks.check(block);
        let plane = self.geo.first_plane(block);
        if gives_back {
            self.space.erased(block, plane, bound, self.blocks.erases[at]);
        } else {
            self.space.worn_out(plane, bound);
        }
        self.note_erase(self.geo.pool_of(plane));
    }

    /// What triggers see of `pool`.
    #[must_use]
    pub fn space_view(&self, pool: PoolId) -> SpaceView {
        debug_assert!(pool.0 < self.geo.pools, "there is no {pool:?}");
        debug_assert!(self.owners.valid_pages() <= self.space.used(), "valid pages are not used");
        SpaceView {
            pool,
            clock: self.clock,
            free_blocks: self.space.free_blocks(pool) - self.space.spares(pool),
            blocks: self.space.good_blocks(pool),
            pool_used_pages: self.space.used_in_pool(pool),
            pool_pages: u64::from(self.space.good_blocks(pool))
                * u64::from(self.geo.pages_per_block),
            used_pages: self.space.used(),
            pages: self.space.good_pages(),
            idle_for: None,
            read_waits: true,
            write_waits: true,
        }
    }

    /// Prefetch what a write of `lpn`, which may be beyond the device, will access; call [`Owners::prefetch`] some
    /// requests earlier.
    #[inline(always)]
    pub fn prefetch_write(&self, lpn: Lpn) {
        self.prefetch_page(lpn);
        if let Some(groups) = self.groups.as_deref()
            && lpn.0 < self.geo.user_pages
        {
            self.owners.prefetch(groups.parity(groups.group_of(lpn)));
        }
    }

    /// Prefetch the state of the page where `lpn` is.
    #[inline(always)]
    pub fn prefetch_page(&self, lpn: Lpn) {
        if let Some(ppn) = self.owners.prefetch_valid(lpn) {
            self.prefetch_counts(ppn);
        }
    }

    /// Prefetch the state of the block of `ppn`.
    #[inline(always)]
    fn prefetch_counts(&self, ppn: Ppn) {
        debug_assert!(ppn.0 < self.geo.pages, "{ppn:?} is beyond the device");
        let block = self.geo.block_of(ppn).at();
        prefetch(&self.blocks.valid, block);
        prefetch(&self.blocks.state, block);
    }

    /// Prefetch what the claim of `slot` will access.
    #[inline(always)]
    pub fn prefetch_claim(&self, slot: OpSlot) {
        if let Some(ppn) = self.owners.under(slot) {
            self.owners.prefetch_validity(ppn);
            self.prefetch_counts(ppn);
        }
    }

    /// Bytes held for maps, flash and block state, without host-side structures.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.owners.bytes_held() + self.flash.bytes_held() + self.blocks.len() * 32
    }
}
