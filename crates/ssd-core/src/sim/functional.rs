//! The functional executor: the same page decisions without timing.
//!
//! It equals the timed machine at queue depth 1 with whole-job collection, one pool at a time. A write binds and
//! commits, and then the pool's demand is met before the next write binds; when a device-wide trigger begins to hold,
//! the demand of every pool is met. It is used for preconditioning and for studies of write amplification.

mod copy;
mod groups;
mod precondition;
mod tally;
mod trim;

pub use groups::GroupTally;
pub use tally::Tally;

use super::front::{Pages, is_in_part, is_of_whole_pages, pages_of};
use super::ssd::policy_error;
use super::zones::ZonesInUse;
use crate::config::{Config, RemapMode};
use crate::ftl::blocks::BlockState;
use crate::ftl::gc::Demand;
use crate::ftl::gc::agenda::{Agenda, AlwaysItsTurn, Next};
use crate::ftl::owners::of_block::OwnedPages;
use crate::ftl::place::{IdlePlanes, Layout, Placement, PlacementPolicy};
use crate::ftl::plugs::Plugs;
use crate::ftl::snapshot::DeviceSnapshot;
use crate::ftl::{Choice, Ftl};
use crate::host::device::DeviceError;
use crate::host::request::{Op, Request};
use crate::metrics::counters::Cause;
use crate::metrics::histogram::Histogram;
use crate::nand::flash::Payload;
pub use crate::nand::flash::fill_digest;
use crate::units::{BlockId, Lpn, PlaneId, PoolId, Ppn};

/// Page decisions without timing on one device.
pub struct Functional {
    /// The device.
    pub ftl: Ftl,
    /// What has been counted since the last reset.
    pub tally: Tally,
    /// Parity groups closed.
    pub groups: GroupTally,
    /// Invalid pages of each victim counted in the tally.
    pub victim_invalid: Histogram,
    placement: Placement,
    layout: Layout,
    remap: RemapMode,
    agenda: Agenda,
    /// The pages of the victim under collection.
    pages: OwnedPages,
    /// Whether writes need none of the checks for shared frontiers, superblocks, contents, shared pages and external
    /// policies, as most do.
    plain: bool,
    sequence: u64,
    victims: Option<Vec<BlockId>>,
    /// Pages copied for any reason.
    copies: u64,
    /// Pages admitted and copied at the next progress report.
    next_look: u64,
    plugs: Plugs,
    /// Zones, and the host that writes them, if they are the interface.
    pub(super) zones: Option<Box<ZonesInUse>>,
}

/// Pages programmed between two reports of progress.
const LOOK_EVERY: u64 = 65_536;

impl Functional {
    /// A machine with the device `ftl` of `config`.
    #[must_use]
    pub fn new(config: &Config, ftl: Ftl) -> Functional {
        Functional::over(config, ftl, &Plugs::default())
    }

    /// A machine with the erased device of `config`, with external policies.
    #[must_use]
    pub fn with_plugs(config: &Config, plugs: &Plugs) -> Functional {
        plugs.begin();
        Functional::over(config, Ftl::with_plugs(config, plugs), plugs)
    }

    /// A machine with a device of `config` in the state of `snapshot`, with external policies.
    ///
    /// # Errors
    /// As [`Ftl::restore`].
    pub fn restore(
        config: &Config,
        snapshot: &DeviceSnapshot,
        plugs: &Plugs,
    ) -> Result<Functional, String> {
        plugs.begin();
        let ftl = Ftl::restore_with_plugs(config, snapshot, plugs)?;
        let sequence = snapshot.counters().sequence;
        assert!(ftl.clock <= sequence, "{} pages were bound, {sequence} admitted", ftl.clock);
        Ok(Functional { sequence, ..Functional::over(config, ftl, plugs) })
    }

    fn over(config: &Config, ftl: Ftl, plugs: &Plugs) -> Functional {
        let drive = config.of_drive();
        let layout = Layout::new(config.device.shape());
        assert_eq!(layout.planes(), ftl.geo.planes, "the device is not of this configuration");
        assert_eq!(drive.device.user_pages, ftl.geo.user_pages, "it has another capacity");
        let agenda = Agenda::new(&config.gc, &ftl, plugs);
        Functional {
            pages: OwnedPages::default(),
            tally: Tally::default(),
            groups: GroupTally::default(),
            victim_invalid: Histogram::new(),
            placement: plugs.placement(&config.alloc.placement, &layout),
            layout,
            remap: config.remap.mode,
            agenda,
            plain: !plugs.any() && ftl.is_plain() && config.remap.is_off(),
            sequence: 0,
            victims: None,
            copies: 0,
            next_look: 0,
            plugs: plugs.clone(),
            zones: ZonesInUse::new(config),
            ftl,
        }
    }

    /// Begin a run under `config` as a timed run on this device begins: the placement starts over, except for the turns
    /// at the planes of superblocks, and every pool is marked as pending for [`Functional::meet_demands`].
    #[must_use]
    pub fn begin_run(self, config: &Config) -> Functional {
        let Functional { mut ftl, sequence, plugs, zones, .. } = self;
        plugs.begin();
        ftl.begin_run(&config.gc.victim, &plugs);
        let mut run = Functional { sequence, zones, ..Functional::over(config, ftl, &plugs) };
        run.agenda.consider_all();
        run
    }

    /// Record the victims from now on, in order.
    pub fn record_victims(&mut self) {
        self.victims = Some(Vec::new());
    }

    /// The victims recorded so far.
    #[must_use]
    pub fn victims(&self) -> &[BlockId] {
        self.victims.as_deref().unwrap_or(&[])
    }

    /// Host pages admitted so far: the next admission number.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Write one page of request stream `stream`.
    ///
    /// # Errors
    /// [`DeviceError::NoSpace`] when the pool cannot free a block; [`DeviceError::Policy`] when an external
    /// policy fails.
    #[inline]
    pub fn write(&mut self, lpn: Lpn, stream: u8) -> Result<(), DeviceError> {
        if self.plain { self.write_plain(lpn, stream) } else { self.write_run(lpn, 1, stream) }
    }

    /// Execute the write `r`: its pages one after the other, or group by group if the device has parity. A page on
    /// flash that `r` writes in part is read first.
    ///
    /// # Errors
    /// As [`Functional::write`].
    #[inline]
    pub fn write_request(&mut self, r: &Request) -> Result<(), DeviceError> {
        debug_assert_eq!(r.op, Op::Write, "{r:?} writes nothing");
        if self.ftl.groups.is_some() {
            return self.write_groups(r);
        }
        let pages = pages_of(&self.ftl.geo, r);
        if !is_of_whole_pages(&self.ftl.geo, r) {
            self.read_rests(r, pages);
        }
        for i in 0..pages.count {
            self.write_page(Lpn(pages.first + i), r.stream, pages.count)?;
        }
        Ok(())
    }

    /// Count the pages on flash that `r` writes in part.
    #[inline(never)]
    fn read_rests(&mut self, r: &Request, pages: Pages) {
        debug_assert!(!is_of_whole_pages(&self.ftl.geo, r), "{r:?} leaves nothing of its pages");
        let lpns = (pages.first..pages.first + pages.count).map(Lpn);
        let rests = lpns.filter(|&lpn| is_in_part(&self.ftl.geo, r, lpn));
        self.tally.rests_read += rests.filter(|&lpn| self.has_data(lpn)).count() as u64;
    }

    /// Write one page of a request of `pages` pages.
    #[inline]
    pub(super) fn write_page(
        &mut self,
        lpn: Lpn,
        stream: u8,
        pages: u32,
    ) -> Result<(), DeviceError> {
        if self.plain {
            return self.write_plain(lpn, stream);
        }
        if self.zones.is_some() {
            return self.write_to_zone(lpn, stream);
        }
        self.write_classed(lpn, stream, pages)
    }

    /// Write one page of a zone, with the handle `handle`.
    pub(super) fn write_page_below(&mut self, lpn: Lpn, handle: u8) -> Result<(), DeviceError> {
        debug_assert!(self.ftl.is_zoned(), "{lpn:?} is of no zone");
        self.write_classed(lpn, handle, 1)
    }

    /// Write one page on a device whose pages have classes.
    #[inline]
    fn write_classed(&mut self, lpn: Lpn, stream: u8, pages: u32) -> Result<(), DeviceError> {
        self.admit(lpn);
        let class = self.class_of(lpn, stream, pages)?;
        let frontier = self.ftl.space.host_stream(class);
        let planned = self.plan(lpn, frontier);
        self.write_planned(lpn, planned, frontier)
    }

    /// The plane for which a page of the host's frontier `frontier` is planned.
    #[inline]
    fn plan(&mut self, lpn: Lpn, frontier: u32) -> PlaneId {
        let planned = match self.ftl.space.take_turn(frontier) {
            Some(turn) => self.layout.striped(turn),
            None => self.placement.place(lpn, &IdlePlanes),
        };
        debug_assert!(planned.0 < self.ftl.geo.planes, "{lpn:?} goes to {planned:?}");
        planned
    }

    /// Write one page on a device whose pages have one class.
    #[inline]
    fn write_plain(&mut self, lpn: Lpn, stream: u8) -> Result<(), DeviceError> {
        debug_assert!(self.plain, "{lpn:?} has a class");
        self.admit(lpn);
        let stream = self.ftl.space.host_stream(stream);
        let planned = self.placement.place(lpn, &IdlePlanes);
        debug_assert!(planned.0 < self.ftl.geo.planes, "{lpn:?} goes to {planned:?}");
        if let Some((old, eventful)) = self.ftl.write_open(planned, stream, lpn) {
            if eventful || !self.agenda.is_quiet() {
                self.page_written(planned, old);
            }
            return Ok(());
        }
        self.write_planned(lpn, planned, stream)
    }

    /// Count one page that the host writes.
    #[inline]
    fn admit(&mut self, lpn: Lpn) {
        assert!(lpn.0 < self.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        self.sequence += 1;
        self.tally.host_pages += 1;
    }

    /// The class of a write, which the device refuses if its stream has none.
    pub(super) fn class_of(&mut self, lpn: Lpn, stream: u8, pages: u32) -> Result<u8, DeviceError> {
        debug_assert!(!self.plain, "{lpn:?} has no class");
        match self.ftl.lacks_handle(stream) {
            Some(reason) => Err(DeviceError::BadRequest { id: self.sequence, reason }),
            None => Ok(self.ftl.class_of_write(lpn, stream, pages)),
        }
    }

    /// Execute the rest of a write that is planned for a plane: find a plane that has a page, bind, commit.
    #[inline(never)]
    fn write_planned(
        &mut self,
        lpn: Lpn,
        planned: PlaneId,
        stream: u32,
    ) -> Result<(), DeviceError> {
        let target = self.plane_for(planned, stream);
        if let Ok(plane) = target {
            let (pool, expected) = (self.ftl.geo.pool_of(plane), self.ftl.geo.pool_of(planned));
            debug_assert_eq!(pool, expected, "{lpn:?} is written to another pool");
            let (ppn, old) = self.ftl.write_now(plane, stream, lpn);
            self.tally.slc.host_pages += u64::from(self.ftl.is_slc_page(ppn));
            if self.ftl.flash.keeps_contents() {
                let payload = Payload { digest: fill_digest(lpn, self.sequence), bytes: None };
                self.ftl.flash.store(ppn, self.sequence, &payload);
            }
            self.page_written(plane, old);
        }
        if self.plugs.any() {
            self.check_policies()?;
        }
        target.map(|_| ())
    }

    /// Note that a page has been written on `plane` and `old` has become invalid: collect if that changes a demand.
    #[inline(never)]
    fn page_written(&mut self, plane: PlaneId, old: Option<Ppn>) {
        self.note_written(plane, old);
        if !self.agenda.is_empty() {
            self.meet_demands();
        }
    }

    /// Note that a page has been written on `plane` and `old` has become invalid: the demand of their pools may have
    /// changed.
    #[inline(always)]
    fn note_written(&mut self, plane: PlaneId, old: Option<Ppn>) {
        let pool = self.ftl.geo.pool_of(plane);
        debug_assert!(old.is_none_or(|page| !self.ftl.owners.is_valid(page)), "{old:?} is valid");
        let opened = self.ftl.space.take_opened(pool);
        debug_assert!(
            self.tally.host_pages <= self.sequence,
            "more pages are counted than admitted"
        );
        self.agenda.page_written(pool, opened);
        if self.agenda.watches_releases() {
            self.agenda.page_released(pool);
            self.page_released(old);
        }
    }

    /// End the run if an external policy has failed.
    ///
    /// # Errors
    /// [`DeviceError::Policy`] or [`DeviceError::Interrupted`].
    #[inline(never)]
    pub fn check_policies(&self) -> Result<(), DeviceError> {
        let place = || format!("in functional mode, after {} host pages", self.sequence);
        self.plugs.fault().map_or(Ok(()), |fault| Err(policy_error(fault, place)))
    }

    /// Note that a page has become invalid, if there is one.
    fn page_released(&mut self, page: Option<Ppn>) {
        debug_assert!(page.is_none_or(|page| !self.ftl.owners.is_valid(page)), "{page:?} is valid");
        if let Some(page) = page {
            self.agenda.page_released(self.ftl.geo.pool_of(self.ftl.geo.plane_of(page)));
        }
    }

    /// The plane where a page planned for `planned` can be bound, collecting until there is one.
    #[inline]
    fn plane_for(&mut self, planned: PlaneId, stream: u32) -> Result<PlaneId, DeviceError> {
        debug_assert!(planned.0 < self.ftl.geo.planes, "there is no {planned:?}");
        loop {
            if let Some(plane) = self.ftl.host_plane(planned, stream, |_| true) {
                return Ok(plane);
            }
            let pool = self.ftl.geo.pool_of(planned);
            if !self.collect_next(pool) {
                return Err(super::no_room::no_space(&self.ftl, pool, &self.plugs, (1, 0), ""));
            }
        }
    }

    /// Collect as the agenda says until it has no more to collect.
    #[inline(never)]
    pub fn meet_demands(&mut self) {
        self.agenda.watch_device(&self.ftl);
        while let Some(pool) = self.agenda.pop() {
            while self.collect_next(pool) {}
        }
    }

    /// Collect the block of `pool` that is next; false if there is none.
    fn collect_next(&mut self, pool: PoolId) -> bool {
        debug_assert_eq!(self.ftl.space.promised(pool), 0, "{pool:?} levels wear already");
        let view = self.ftl.space_view(pool);
        match self.agenda.next(&mut self.ftl, &view, &AlwaysItsTurn) {
            Next::Collect(choice, demand) => self.collect(choice, demand >= Demand::Urgent),
            Next::Nothing => return false,
            Next::Wait => unreachable!("it is always its turn"),
        }
        true
    }

    /// Collect one block: move its valid pages, erase it.
    fn collect(&mut self, choice: Choice, foreground: bool) {
        let block = choice.block;
        self.ftl.prefetch_block(block);
        if let Some(list) = &mut self.victims {
            list.push(block);
        }
        let (cause, stream) = self.count_job(choice, foreground);
        self.ftl.begin_collection(choice);
        let mut pages = std::mem::take(&mut self.pages);
        pages.take(&self.ftl, block);
        let mut left = pages.get();
        let moved = left.pages.len() as u64;
        debug_assert!(
            moved <= u64::from(self.ftl.geo.pages_per_block),
            "{moved} pages of {block:?}"
        );
        let separates = self.ftl.separates() && !choice.levels;
        while let Some(&source) = left.pages.first() {
            let home = self.ftl.geo.plane_of(source);
            let stream = if separates {
                let class = self.ftl.class_of_copy(source);
                let frontier = self.ftl.space.class_with_page(home, u32::from(class));
                self.ftl.note_class(class, frontier);
                frontier
            } else {
                stream
            };
            let plane = if self.ftl.space.copies_in_turn() && !choice.levels {
                self.ftl.space.copy_plane_in_turn(home, stream)
            } else {
                self.ftl.space.copy_plane(home, stream, &self.ftl.blocks)
            };
            let plane = plane.expect("the reserve keeps room for every job");
            let pool = self.ftl.geo.pool_of(plane);
            debug_assert_eq!(
                pool,
                self.ftl.geo.pool_of(home),
                "a page of {block:?} leaves its pool"
            );
            // Pages of a superblock are on its planes in turn.
            let run = if self.ftl.geo.members == 1 && !separates { left } else { left.first(1) };
            let copied = self.ftl.copy_now(run, block, plane, stream);
            left = left.after(copied);
        }
        debug_assert_eq!(self.ftl.blocks.valid[block.at()], 0, "{block:?} keeps pages");
        let copies = match cause {
            Cause::Wear => &mut self.tally.wear_pages,
            Cause::Fold => &mut self.tally.fold_pages,
            _ => &mut self.tally.gc_pages,
        };
        *copies += moved;
        if self.ftl.separates() {
            self.ftl.note_moved(block, moved);
        }
        self.copies += moved;
        self.pages = pages;
        self.ftl.begin_erase(block);
        self.ftl.erase_now(block);
        debug_assert!(
            matches!(self.ftl.blocks.state[block.at()], BlockState::Free | BlockState::Bad),
            "{block:?} is still collected"
        );
        self.agenda.watch_device(&self.ftl);
    }

    /// Count the job of `choice`: its cause, and the frontier of its copies.
    #[inline]
    fn count_job(&mut self, choice: Choice, foreground: bool) -> (Cause, u32) {
        let cause = Cause::of_job(choice.levels, self.ftl.blocks.is_slc(choice.block));
        match cause {
            Cause::Wear => self.tally.levelled += 1,
            Cause::Fold => self.tally.slc.count_fold(foreground),
            _ => self.count_victim(choice, foreground),
        }
        let space = &self.ftl.space;
        (cause, if choice.levels { space.wear_stream() } else { space.gc_stream() })
    }

    #[inline]
    fn count_victim(&mut self, choice: Choice, foreground: bool) {
        self.tally.victims += 1;
        self.tally.foreground += u64::from(foreground);
        self.tally.by_reserve += u64::from(choice.by_reserve);
        let pool = self.ftl.blocks.pool_of(choice.block);
        let unmet = self.agenda.is_unmet(&self.ftl, pool);
        self.tally.unmet += u64::from(unmet);
        self.tally.decided += u64::from(!unmet && !choice.by_reserve);
        debug_assert!(self.tally.by_reserve <= self.tally.victims, "{:?}", self.tally);
        debug_assert!(self.tally.foreground <= self.tally.victims, "{:?}", self.tally);
        debug_assert!(
            self.tally.unmet + self.tally.decided <= self.tally.victims,
            "{:?}",
            self.tally
        );
        let valid = u32::from(self.ftl.blocks.valid[choice.block.at()]);
        debug_assert!(valid <= self.ftl.geo.pages_per_block, "{choice:?} has {valid} valid pages");
        self.tally.victim_valid += u64::from(valid);
        self.victim_invalid.record(u64::from(self.ftl.geo.pages_per_block - valid));
    }

    /// Whether a progress report is due, by pages programmed, including copies: one host page may cost any number of
    /// them.
    #[inline(always)]
    pub fn is_time_to_look(&mut self) -> bool {
        let programs = self.sequence + self.copies;
        let due = programs >= self.next_look;
        if due {
            self.next_look = programs + LOOK_EVERY;
        }
        due
    }
}
