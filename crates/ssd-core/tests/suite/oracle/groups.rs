//! The chain of groups of MiDAS (FAST 2024) before it adapts, exactly as in its public simulator (commit a226265): all
//! sealed blocks in one list, four erased, five open. It is slow, and models only pages.

use std::collections::VecDeque;

/// Where the device differs from the simulator, one rule each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    /// If true, the counter of a page falls by 2 when the page is copied from the hot group and by 1 from the next one,
    /// and only there. Otherwise it falls by 1 from the hot group and by 2 from all others, and when the page is
    /// overwritten in one of those.
    pub(crate) counters_of_simulator: bool,
    /// Blocks are as old as their seal, and victims of the hot group live as long as their mean and the former value
    /// halved say; or blocks are as old as their first page, and a mean of victims fades.
    pub(crate) ages_of_simulator: bool,
    /// Cost-benefit takes the square root of the age, or the age. `None`: greedy.
    pub(crate) root_of_age: Option<bool>,
}

const HOT: usize = 0;
const FIRST: usize = 1;
const LAST: usize = 4;
const ERASED: usize = 4;
const NOWHERE: usize = usize::MAX;

pub(crate) struct Groups {
    rules: Rules,
    per_block: usize,
    /// By block: its pages in the order of writing, the valid ones, its group, and when it was opened and sealed.
    pages: Vec<Vec<Option<usize>>>,
    valid: Vec<usize>,
    group: Vec<usize>,
    opened: Vec<u64>,
    sealed: Vec<Option<u64>>,
    /// By page: its block and index there, and its counter.
    at: Vec<(usize, usize)>,
    counters: Vec<i8>,
    free: VecDeque<usize>,
    open: [usize; LAST + 1],
    queue: VecDeque<usize>,
    /// Whether counters are kept: not while the device is being filled.
    learns: bool,
    /// How long victims of the hot group live, and the number of writes until the next estimate; the sum of ages since
    /// the last one, and their number.
    life: f64,
    left: f64,
    ages: (f64, u32),
    fading: Option<f64>,
    clock: u64,
    pub(crate) copies: u64,
}

impl Groups {
    pub(crate) fn new(rules: Rules, blocks: usize, per_block: usize, user: usize) -> Groups {
        let mut free: VecDeque<usize> = (0..blocks).collect();
        let open = [0; LAST + 1].map(|_| free.pop_front().unwrap());
        let mut group = vec![LAST; blocks];
        for (number, &block) in open.iter().enumerate() {
            group[block] = number;
        }
        Groups {
            rules,
            per_block,
            pages: vec![Vec::new(); blocks],
            valid: vec![0; blocks],
            group,
            opened: vec![0; blocks],
            sealed: vec![None; blocks],
            at: vec![(NOWHERE, 0); user],
            counters: vec![0; user],
            free,
            open,
            queue: VecDeque::new(),
            learns: false,
            life: user as f64,
            left: user as f64,
            ages: (0.0, 0),
            fading: None,
            clock: 0,
            copies: 0,
        }
    }

    /// The device is full.
    pub(crate) fn learn(&mut self) {
        self.learns = true;
    }

    fn change(&mut self, page: usize, by: i8) {
        self.counters[page] = (self.counters[page] + by).clamp(0, 3);
    }

    fn estimate(&mut self) {
        if self.left <= 0.0 && self.ages.1 > 0 {
            let (mean, former) = (self.ages.0 / f64::from(self.ages.1), self.life);
            let halved = f64::midpoint(mean, former);
            self.life = if mean >= 2.0 * former { 1.5 * former } else { halved }.floor();
            (self.left, self.ages) = (self.life - 1.0, (0.0, 0));
        }
    }

    fn age(&self, block: usize) -> f64 {
        let since = if self.rules.ages_of_simulator {
            self.sealed[block].unwrap_or(self.clock)
        } else {
            self.opened[block]
        };
        (self.clock - since) as f64
    }

    fn overwritten(&mut self, page: usize, block: usize) {
        self.estimate();
        self.left -= 1.0;
        let longest = if self.rules.ages_of_simulator { Some(self.life) } else { self.fading };
        let young = longest.is_none_or(|longest| self.age(block) <= longest);
        match self.group[block] {
            HOT => self.change(page, 1),
            FIRST => self.change(page, if young { 1 } else { -1 }),
            _ if self.rules.counters_of_simulator => {}
            _ => self.change(page, -1),
        }
    }

    fn put(&mut self, group: usize, page: usize) {
        let mut block = self.open[group];
        if self.pages[block].len() == self.per_block {
            self.sealed[block] = Some(self.clock);
            self.queue.push_back(block);
            block = self.free.pop_front().unwrap();
            (self.open[group], self.group[block]) = (block, group);
            (self.opened[block], self.sealed[block]) = (self.clock, None);
        }
        self.at[page] = (block, self.pages[block].len());
        self.pages[block].push(Some(page));
        self.valid[block] += 1;
    }

    pub(crate) fn write(&mut self, page: usize) {
        let (block, place) = self.at[page];
        if block != NOWHERE {
            self.pages[block][place] = None;
            self.valid[block] -= 1;
            if self.learns {
                self.overwritten(page, block);
            }
        }
        self.put(if self.counters[page] == 3 { HOT } else { FIRST }, page);
        while self.free.len() < ERASED {
            self.collect();
        }
        self.clock += 1;
    }

    fn value(&self, block: usize) -> f64 {
        let invalid = (self.per_block - self.valid[block]) as f64;
        let Some(root) = self.rules.root_of_age else { return invalid };
        let age = (self.clock - self.sealed[block].unwrap()) as f64;
        let age = if root { age.sqrt() } else { age };
        if self.valid[block] == 0 {
            f64::INFINITY
        } else {
            invalid * age / self.valid[block] as f64
        }
    }

    /// Collect the best block, the oldest of equal ones; its pages go to the next group.
    fn collect(&mut self) {
        let (mut at, mut best) = (0, self.value(self.queue[0]));
        for i in 1..self.queue.len() {
            let value = self.value(self.queue[i]);
            if value > best {
                (at, best) = (i, value);
            }
        }
        let victim = self.queue.remove(at).unwrap();
        let group = self.group[victim];
        for page in std::mem::take(&mut self.pages[victim]).into_iter().flatten() {
            let by = match (self.rules.counters_of_simulator, group) {
                (true, HOT) => -2,
                (true, FIRST) => -1,
                (true, _) => 0,
                (false, HOT) => -1,
                (false, _) => -2,
            };
            if self.learns {
                self.estimate();
                self.change(page, by);
            }
            self.put((group + 1).min(LAST), page);
            self.copies += 1;
        }
        if group == HOT && self.learns {
            let age = self.age(victim);
            self.ages = (self.ages.0 + age, self.ages.1 + 1);
            let former = self.fading.unwrap_or(age);
            self.fading = Some(former + (age - former) / 16.0);
        }
        (self.valid[victim], self.sealed[victim]) = (0, None);
        self.free.push_back(victim);
    }
}
