//! MiDAS: a chain of groups, whose number and sizes follow from how long pages live.
//!
//! Paper: Oh, Kim, Han, Kim, Lee and Noh, "MIDAS: minimizing write amplification in log-structured systems
//! through adaptive group number and size configuration", FAST 2024. Pages of the host begin in group 1, and in
//! group 0 if they are hot; a copied page goes from its group to the next. All groups but the last are queues of
//! a fixed size: the first one that is larger gives its oldest block, otherwise the last group gives one by the
//! victim policy. A model of the chain (`chain`), fed with the times between overwrites of sampled pages, says
//! what sizes cost, and a search for the best ones begins with one group and adds others. A block is hot by a
//! counter of two bits, which overwrites in group 0 raise, and those in group 1 while the block is younger than
//! victims of group 0.
//! Source: github.com/sungkyun123/MiDAS-Simulation, commit a226265, in words only: it begins with five groups and
//! victims among all blocks; copies lower the counter; one page in 100 is sampled, in units of a quarter of a
//! block; a plan needs hot victims with few valid pages, here 0.3, and must promise less than is measured; groups
//! with 0.1 more valid pages than expected mean that it was wrong.
//! Different from there, each with its effect in `tests/suite/midas.rs`: how copies and overwrites lower counters, ages
//! since the first page of a block with a mean that fades, and the age itself in cost-benefit.
//! Where it is silent, decided: the model is computed at once, at the end of a window. Windows are as long as the host
//! has pages, twice and then four times as long, and twice as long again after a plan that was wrong; the fill of a
//! device is the first. Small devices sample more pages than one in 100. The model has the lives of hot writes apart,
//! and so a size for group 0 as well; it fills groups only with pages whose lives it has seen. The last group always
//! has the last class; blocks left over in classes that a plan has no more are collected together with it, the class
//! with the fewest valid pages in a block first. With `gc.amount = "all-candidates"` victims are of any group. A plan
//! is judged after the host has written three times as many pages as it has, 64 victims of a group at a time. Their
//! share of valid pages alone would not do: it rises as well when pages that live short become hot, so the pages that
//! leave the group count too. History: two bits a logical page, and 8 B of every sampled one.

use super::chain::{Chain, Lives, Plan, Room};
use super::persistence::{keeps, knows};
use super::{
    ClassBlocks, Classes, CollectedBlock, Ground, PageCopy, PageWrite, SeparationPolicy,
    VictimScope,
};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::{Lpn, PoolId};

/// Registry entry of MiDAS.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "midas",
    summary: "a chain of groups, queues whose number and sizes follow from how long pages live",
    paper: "Oh, Kim, Han, Kim, Lee and Noh, MIDAS: minimizing write amplification in log-structured systems \
            through adaptive group number and size configuration, FAST 2024",
    params: &[ParamInfo {
        name: "groups",
        kind: ParamKind::Int(3, 16),
        default: Some("10"),
        doc: "the most groups, the hot and the last one included",
    }],
};

const HOT: u32 = 0;
const FIRST: u32 = 1;
/// Groups before there is a plan.
const NAIVE: u32 = 5;
/// A page with this counter is hot.
const HOTTEST: u8 = 3;
/// Hot victims with more valid pages allow no plan.
const MOST_HOT_VALID: f64 = 0.3;
/// Victims with more valid pages than expected by this margin end a plan.
const MARGIN: f64 = 0.1;
/// Victims over which a plan is judged.
const JUDGED: u32 = 64;
/// Victims over which means of the hot group fade.
const FADING: f64 = 16.0;
/// The groups settle before a plan is judged: how often the host's pages are written in that time.
const SETTLING: u64 = 3;
/// The longest window, in multiples of the host's pages.
const LONGEST: u64 = 32;

/// A counter of two bits for each page.
struct Counters {
    fours: Box<[u8]>,
}

impl Counters {
    fn get(&self, lpn: Lpn) -> u8 {
        debug_assert!(lpn.at() / 4 < self.fours.len(), "{lpn:?} has no counter");
        self.fours[lpn.at() / 4] >> (lpn.at() % 4 * 2) & 3
    }

    fn change(&mut self, lpn: Lpn, by: i8) {
        let now = self.get(lpn).saturating_add_signed(by).min(HOTTEST);
        let shift = lpn.at() % 4 * 2;
        let byte = &mut self.fours[lpn.at() / 4];
        *byte = *byte & !(3 << shift) | now << shift;
        debug_assert_eq!(self.get(lpn), now, "{lpn:?} has another counter");
    }
}

/// What a window has shown so far.
#[derive(Default)]
struct Window {
    begins: u64,
    /// Its length in multiples of the host's pages.
    times: u64,
    hot_writes: u64,
    copies: u64,
}

/// A plan that is followed.
#[derive(Default)]
struct ActivePlan {
    plan: Plan,
    /// When it begins to be judged.
    begins: u64,
    /// By group: victims, their valid pages, and when this count began.
    victims: Vec<(u32, u64, u64)>,
}

/// Counters, lives, and the current plan.
pub struct Policy {
    last: u32,
    ground: Ground,
    counters: Counters,
    lives: Lives,
    window: Window,
    /// For victims of the hot group, their age and their share of valid pages.
    hot_age: Option<f64>,
    hot_valid: f64,
    followed: Option<ActivePlan>,
}

keeps!(Counters: fours);
keeps!(Window: begins, times, hot_writes, copies);
keeps!(ActivePlan: plan, begins, victims);

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let unit = u64::from(ground.pages_per_block) * u64::from(ground.pools) / 4;
        assert!(ground.pages > 0, "a device without pages");
        Policy {
            last: spec.int("groups") as u32 - 1,
            ground: *ground,
            counters: Counters { fours: vec![0; ground.pages.div_ceil(4) as usize].into() },
            lives: Lives::new(ground.pages, unit.max(1)),
            window: Window { times: 1, ..Window::default() },
            hot_age: None,
            hot_valid: 1.0,
            followed: None,
        }
    }

    /// The last class before that of the last group.
    fn end(&self) -> u32 {
        let groups = match &self.followed {
            Some(followed) => followed.plan.sizes.len() as u32 - 1,
            None => NAIVE - 2,
        };
        debug_assert!(self.last > FIRST, "no class is left for the last group");
        groups.min(self.last - 1)
    }

    /// The class of a page copied from `class`.
    fn next(&self, class: Option<u32>) -> u32 {
        debug_assert!(class.is_none_or(|class| class <= self.last), "there is no class {class:?}");
        class.filter(|&class| class < self.end()).map_or(self.last, |class| class + 1)
    }

    /// The host overwrites a page.
    fn heat(&mut self, page: &PageWrite) {
        let Some(old) = page.replaces else { return };
        let young = self.hot_age.is_none_or(|age| old.age as f64 <= age);
        debug_assert!(old.class.is_none_or(|class| class <= self.last), "{page:?}: no such class");
        let rises = old.class == Some(HOT) || old.class == Some(FIRST) && young;
        self.counters.change(page.lpn, if rises { 1 } else { -1 });
    }

    /// At the end of a window, adopt the best plan if it is better than what was measured.
    fn plan(&mut self, clock: u64) {
        assert!(clock > self.window.begins, "a window without writes");
        let length = clock - self.window.begins;
        let [of_hot, of_rest] = [true, false].map(|hot| self.lives.survival(length, hot));
        self.lives.restart();
        let measured = self.window.copies as f64 / length as f64;
        let hot = self.window.hot_writes as f64 / length as f64;
        let trusted = self.window.hot_writes > 0 && self.hot_valid <= MOST_HOT_VALID;
        // One block is erased, and half of each open one.
        let used = f64::from(self.ground.blocks_per_pool) - 1.0 - f64::from(self.end() + 2) / 2.0;
        let room = Room {
            pages: f64::from(self.ground.pages),
            blocks: used.max(1.0),
            pages_per_block: f64::from(self.ground.pages_per_block),
            pools: f64::from(self.ground.pools),
        };
        let chain = Chain { room, hot, survival: [&of_hot, &of_rest] };
        let plan = if trusted { chain.search(self.last - 1) } else { None };
        if let Some(plan) = plan.filter(|plan| plan.copies < measured) {
            let begins = clock + SETTLING * u64::from(self.ground.pages);
            let victims = vec![(0, 0, begins); plan.valid.len()];
            self.followed = Some(ActivePlan { plan, begins, victims });
        }
        let times = (self.window.times * 2).min(self.window.times.max(4));
        self.window = Window { begins: clock, times, ..Window::default() };
        assert!(self.window.times <= LONGEST, "a window of {} times", self.window.times);
    }

    /// Note a victim. Returns whether victims show that the plan was wrong: the valid share of their pages exceeds the
    /// expectation by the margin, and at least as many pages leave the group as if that share of all that were
    /// expected to enter it were valid.
    fn refutes_plan(&mut self, block: &CollectedBlock) -> bool {
        let (last, pages) = (self.last, f64::from(self.ground.pages_per_block));
        let Some(followed) = &mut self.followed else { return false };
        debug_assert!(block.class <= last, "{block:?} is of no class");
        let ActivePlan { plan, begins, victims } = followed;
        let groups = plan.valid.len();
        let group = if block.class == last { groups - 1 } else { block.class as usize };
        // A class that is no longer in the plan is not judged.
        let is_judged = block.class == last || group + 1 < groups;
        if block.clock < *begins || !is_judged {
            return false;
        }
        let (number, valid, since) = &mut victims[group];
        (*number, *valid) = (*number + 1, *valid + u64::from(block.valid));
        if *number < JUDGED {
            return false;
        }
        let (valid, number) = (std::mem::take(valid) as f64, std::mem::take(number));
        let leave = valid / (block.clock - std::mem::replace(since, block.clock)).max(1) as f64;
        let most = plan.valid[group] + MARGIN;
        valid / f64::from(number) / pages > most && leave > plan.enters[group] * most
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        debug_assert!(self.last > FIRST, "no class is left for the last group");
        Classes { host: 1, all: self.last + 1 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let length = u64::from(self.ground.pages) * self.window.times;
        if page.clock - self.window.begins >= length {
            self.plan(page.clock);
        }
        self.heat(page);
        let hot = self.counters.get(page.lpn) == HOTTEST;
        debug_assert!(page.clock >= self.window.begins, "{page:?} is before its window");
        self.lives.write(page.lpn, page.clock - self.window.begins, hot);
        self.window.hot_writes += u64::from(hot);
        if hot { HOT } else { FIRST }
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(page.clock >= self.window.begins, "{page:?} is before its window");
        self.window.copies += 1;
        self.counters.change(page.lpn, if page.class == Some(HOT) { -1 } else { -2 });
        self.next(page.class)
    }

    fn on_collect(&mut self, block: &CollectedBlock) {
        let share = f64::from(block.valid) / f64::from(self.ground.pages_per_block);
        debug_assert!(block.class <= self.last, "{block:?} is of no class");
        if block.class == HOT {
            let age = (block.clock - block.opened) as f64;
            let former = self.hot_age.unwrap_or(age);
            self.hot_age = Some(former + (age - former) / FADING);
            self.hot_valid += (share - self.hot_valid) / FADING;
        }
        if self.refutes_plan(block) {
            self.followed = None;
            self.window.times = (self.window.times * 2).min(LONGEST);
        }
    }

    fn names_victims(&self) -> bool {
        true
    }

    fn victim_among(&mut self, _pool: PoolId, classes: &[ClassBlocks]) -> VictimScope {
        let Some(followed) = &self.followed else { return VictimScope::All };
        let sizes = &followed.plan.sizes;
        if let Some(group) =
            classes.iter().zip(sizes).position(|(blocks, &size)| blocks.sealed > size)
        {
            return VictimScope::Oldest(group as u32);
        }
        debug_assert_eq!(classes.len(), self.last as usize + 1, "a class is missing");
        let last = (self.end() + 1..=self.last).filter(|&class| classes[class as usize].sealed > 0);
        last.min_by_key(|&class| classes[class as usize].least_valid)
            .map_or(VictimScope::All, VictimScope::Class)
    }

    knows! { Policy: counters, lives, window, hot_age, hot_valid, followed; given last, ground; if |policy| {
        let fits = |followed: &ActivePlan| {
            let Plan { sizes, valid, enters, .. } = &followed.plan;
            let groups = sizes.len() + 1;
            let lengths = [valid.len(), enters.len(), followed.victims.len()];
            (2..=policy.last as usize + 1).contains(&groups) && lengths == [groups; 3]
        };
        policy.followed.as_ref().is_none_or(fits) && (1..=LONGEST).contains(&policy.window.times)
    } }
}
