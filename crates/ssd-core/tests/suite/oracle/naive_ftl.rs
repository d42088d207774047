//! A page-mapped FTL as simple as it can be: maps and lists, and every count obtained by examining every page. It
//! shares no code with the simulator; it follows the documentation of static placement, one pool per plane, the
//! reserve, `free-blocks` with `until-satisfied`, wear levelling, and SLC blocks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Which block is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// The fewest valid pages, then the lowest number.
    Greedy,
    /// The block that was filled first.
    Fifo,
}

/// The purpose for which a page is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Host,
    Gc,
    Wear,
}

/// SLC blocks of a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slc {
    /// Pages of one.
    pub(crate) pages: usize,
    /// Blocks that may be in use however few are erased.
    pub(crate) fixed: usize,
    /// Share of the others, per cent.
    pub(crate) percent: usize,
    /// Whether the host waits for folding.
    pub(crate) waits: bool,
}

/// A physical page: block of the plane, page of the block.
type Page = (usize, usize);

/// One plane, which is one pool.
#[derive(Default)]
struct Plane {
    /// What was programmed into each page of each block since its erase.
    pages: Vec<Vec<u32>>,
    /// The owners of each physical page.
    holds: BTreeMap<Page, BTreeSet<u32>>,
    /// Erased blocks by (order or number of their erases, number).
    free: BTreeSet<(u32, usize)>,
    /// Full blocks in the order of filling.
    full: Vec<usize>,
    /// SLC blocks that are not erased.
    slc: BTreeSet<usize>,
    /// The open block of each frontier, by purpose.
    open: [Option<usize>; 3],
    erases: Vec<u32>,
    nothing_found: bool,
    /// Whether a block has been erased since wear was last compared.
    compares: bool,
}

/// The whole device.
pub(crate) struct NaiveFtl {
    planes: Vec<Plane>,
    /// Where each logical page is: plane and page.
    at: BTreeMap<u32, (usize, Page)>,
    order: Vec<usize>,
    per_block: usize,
    pub(crate) rule: Rule,
    pub(crate) one_frontier: bool,
    pub(crate) by_erases: bool,
    pub(crate) reserve: usize,
    pub(crate) soft: usize,
    pub(crate) hard: usize,
    /// Difference of erases beyond which wear is levelled; 0: never.
    pub(crate) threshold: u32,
    erased: u32,
    /// (plane, block) of every victim, in order.
    pub(crate) victims: Vec<(usize, usize)>,
    pub(crate) host_programs: u64,
    pub(crate) gc_programs: u64,
    pub(crate) wear_programs: u64,
    pub(crate) levelled: u64,
    pub(crate) slc: Option<Slc>,
    /// Pages that the host programmed in SLC blocks, such blocks folded, and pages copied by that.
    pub(crate) slc_programs: u64,
    pub(crate) folds: u64,
    pub(crate) fold_programs: u64,
}

impl NaiveFtl {
    /// `order[lpn % planes]` is the plane of a logical page.
    pub(crate) fn new(order: Vec<usize>, blocks: usize, per_block: usize, rule: Rule) -> NaiveFtl {
        let plane = || Plane {
            pages: vec![Vec::new(); blocks],
            free: (0..blocks).map(|b| (0, b)).collect(),
            erases: vec![0; blocks],
            ..Plane::default()
        };
        NaiveFtl {
            planes: order.iter().map(|_| plane()).collect(),
            at: BTreeMap::new(),
            order,
            per_block,
            rule,
            one_frontier: false,
            by_erases: true,
            reserve: 1,
            soft: 1,
            hard: 0,
            threshold: 0,
            erased: 0,
            victims: Vec::new(),
            host_programs: 0,
            gc_programs: 0,
            wear_programs: 0,
            levelled: 0,
            slc: None,
            slc_programs: 0,
            folds: 0,
            fold_programs: 0,
        }
    }

    pub(crate) fn write(&mut self, lpn: u32) {
        let p = self.order[lpn as usize % self.order.len()];
        self.host_programs += 1;
        let page = self.program(p, lpn, Purpose::Host);
        let left = self.leave(lpn);
        self.own(lpn, p, page);
        self.meet_demand(p);
        if let Some(left) = left.filter(|&left| left != p) {
            self.look_again(left);
        }
    }

    /// Make `lpn` an owner of `page` of plane `p`.
    fn own(&mut self, lpn: u32, p: usize, page: Page) {
        self.at.insert(lpn, (p, page));
        self.planes[p].holds.entry(page).or_default().insert(lpn);
    }

    /// Unmap `lpn`. Returns the plane on which a page has lost its last owner by that.
    fn leave(&mut self, lpn: u32) -> Option<usize> {
        let (p, page) = self.at.remove(&lpn)?;
        let owners = self.planes[p].holds.get_mut(&page).expect("an owner of a page");
        owners.remove(&lpn);
        if !owners.is_empty() {
            return None;
        }
        self.planes[p].holds.remove(&page);
        Some(p)
    }

    /// Give `lpn` the page of `source`, or none if that has none.
    pub(crate) fn share(&mut self, lpn: u32, source: u32) {
        let left = self.leave(lpn);
        if let Some(&(p, page)) = self.at.get(&source) {
            self.own(lpn, p, page);
        }
        if let Some(left) = left {
            self.look_again(left);
        }
    }

    /// Level wear, and collect while few blocks are erased and there is something to gain.
    fn meet_demand(&mut self, p: usize) {
        let soft = self.soft.max(self.reserve);
        loop {
            let free = self.planes[p].free.len();
            if free > self.reserve.max(self.hard)
                && std::mem::take(&mut self.planes[p].compares)
                && let Some(cold) = self.cold(p)
            {
                self.levelled += 1;
                self.collect(p, cold, Purpose::Wear);
                continue;
            }
            if free > self.reserve
                && let Some(block) = self.awaited(p)
            {
                self.collect(p, block, Purpose::Gc);
                continue;
            }
            if free > soft {
                return;
            }
            let victim = self.victim(p, free <= self.reserve);
            self.planes[p].nothing_found = victim.is_none();
            let Some(victim) = victim else { return };
            self.collect(p, victim, Purpose::Gc);
        }
    }

    /// Whether the next block that the host opens is an SLC block: there are fewer than the fixed ones, or another one
    /// leaves more erased blocks than collection wants and is within the share.
    fn opens_slc(&self, p: usize) -> bool {
        let (Some(slc), plane) = (self.slc, &self.planes[p]) else { return false };
        let (used, free) = (plane.slc.len(), plane.free.len());
        if used < slc.fixed {
            return true;
        }
        let others = used - slc.fixed;
        free >= self.soft.max(self.reserve) + 2
            && (others + 1) * 100 <= slc.percent * (others + free)
    }

    /// The full SLC block with the fewest valid pages, of several the one filled first, if the host waits for it.
    fn awaited(&self, p: usize) -> Option<usize> {
        if !self.slc?.waits || self.opens_slc(p) {
            return None;
        }
        let plane = &self.planes[p];
        let full = plane.full.iter().copied().filter(|block| plane.slc.contains(block));
        full.min_by_key(|&block| self.valid(p, block))
    }

    /// Pages of a block of plane `p`.
    fn pages(&self, p: usize, block: usize) -> usize {
        let slc = self.slc.filter(|_| self.planes[p].slc.contains(&block));
        slc.map_or(self.per_block, |slc| slc.pages)
    }

    /// The full block with the fewest erases, then the fewest invalid pages, then the lowest number, if the most worn
    /// erased block has more erases than it by more than the threshold.
    fn cold(&self, p: usize) -> Option<usize> {
        let Plane { free, full, erases, .. } = &self.planes[p];
        let worn = free.iter().map(|&(_, b)| erases[b]).max()?;
        let invalid = |b| self.per_block - self.valid(p, b);
        let young = full.iter().copied().min_by_key(|&b| (erases[b], invalid(b), b))?;
        (self.threshold > 0 && worn > erases[young] + self.threshold).then_some(young)
    }

    /// The erased block that is opened next; for wear levelling the most worn one, then the one with the lowest number.
    fn open(&mut self, p: usize, purpose: Purpose) -> usize {
        let slc = purpose == Purpose::Host && self.opens_slc(p);
        let Plane { free, erases, .. } = &mut self.planes[p];
        let next = match purpose {
            Purpose::Wear => free.iter().max_by_key(|&&(_, b)| (erases[b], Reverse(b))),
            Purpose::Host | Purpose::Gc => free.first(),
        };
        let next = *next.expect("an erased block");
        free.remove(&next);
        if slc {
            self.planes[p].slc.insert(next.1);
        }
        next.1
    }

    pub(crate) fn trim(&mut self, lpn: u32) {
        if let Some(left) = self.leave(lpn) {
            self.look_again(left);
        }
    }

    /// Reconsider a plane that has found nothing to collect when a page of it becomes invalid.
    fn look_again(&mut self, p: usize) {
        if self.planes[p].nothing_found {
            self.meet_demand(p);
        }
    }

    /// Program `lpn` to the next page of a frontier. Returns the page.
    fn program(&mut self, p: usize, lpn: u32, purpose: Purpose) -> Page {
        let frontier =
            if self.one_frontier && purpose == Purpose::Gc { 0 } else { purpose as usize };
        let block = self.planes[p].open[frontier].unwrap_or_else(|| self.open(p, purpose));
        let pages = self.pages(p, block);
        let plane = &mut self.planes[p];
        if plane.slc.contains(&block) {
            assert_eq!(purpose, Purpose::Host, "copies go to blocks with all bits");
            self.slc_programs += 1;
        }
        plane.pages[block].push(lpn);
        let full = plane.pages[block].len() == pages;
        plane.open[frontier] = (!full).then_some(block);
        let page = (block, plane.pages[block].len() - 1);
        if full {
            plane.full.push(block);
        }
        page
    }

    fn valid(&self, p: usize, block: usize) -> usize {
        self.planes[p].holds.range((block, 0)..(block + 1, 0)).count()
    }

    /// The victim by the rule. A victim that gains nothing is taken only if another block has something to gain, and at
    /// the reserve that other block is taken instead.
    fn victim(&self, p: usize, must: bool) -> Option<usize> {
        let full = &self.planes[p].full;
        let fewest = full.iter().copied().min_by_key(|&b| (self.valid(p, b), b))?;
        if self.valid(p, fewest) == self.per_block {
            return None;
        }
        let chosen = if self.rule == Rule::Greedy { fewest } else { full[0] };
        let gains = self.valid(p, chosen) < self.per_block;
        Some(if gains || !must { chosen } else { fewest })
    }

    fn collect(&mut self, p: usize, victim: usize, purpose: Purpose) {
        self.victims.push((p, victim));
        self.planes[p].full.retain(|&b| b != victim);
        let folds = self.planes[p].slc.contains(&victim) && purpose == Purpose::Gc;
        self.folds += u64::from(folds);
        for page in 0..self.per_block {
            let owners = self.planes[p].holds.remove(&(victim, page)).unwrap_or_default();
            if let Some(&first) = owners.first() {
                *(match purpose {
                    Purpose::Wear => &mut self.wear_programs,
                    _ if folds => &mut self.fold_programs,
                    _ => &mut self.gc_programs,
                }) += 1;
                let copy = self.program(p, first, purpose);
                owners.into_iter().for_each(|lpn| self.own(lpn, p, copy));
            }
        }
        self.erased += 1;
        let plane = &mut self.planes[p];
        plane.pages[victim].clear();
        plane.slc.remove(&victim);
        plane.erases[victim] += 1;
        let key = if self.by_erases { plane.erases[victim] } else { self.erased };
        plane.free.insert((key, victim));
        plane.compares = true;
    }

    /// Where a logical page is: plane, block, page.
    pub(crate) fn place(&self, lpn: u32) -> Option<(usize, usize, usize)> {
        self.at.get(&lpn).map(|&(p, (block, page))| (p, block, page))
    }

    pub(crate) fn mapped(&self) -> usize {
        self.at.len()
    }

    pub(crate) fn valid_pages(&self) -> usize {
        self.planes.iter().map(|plane| plane.holds.len()).sum()
    }

    pub(crate) fn erases(&self) -> Vec<u32> {
        self.planes.iter().flat_map(|plane| plane.erases.iter().copied()).collect()
    }
}
