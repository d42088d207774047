//! The collectors of SSD-iq (PVLDB 18(11), 2025; "2R-greedy", "2R-FIFO"), literally: survivors are compacted within the
//! victims, which flash cannot do. No block is kept erased for them. It is slow, and models only pages.

use std::collections::VecDeque;

/// Which blocks are victims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Collector {
    /// The blocks with the fewest valid pages, of the region whose best block has fewer.
    Greedy,
    /// The blocks below the bar, in the order of a list.
    Fifo,
}

/// Where survivors go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Survivors {
    /// Into the victims, the last one first; a victim that they do not fill goes to the host.
    InPlace,
    /// Into separate blocks; a partly filled block waits for the next survivors. One block is kept erased.
    Apart,
}

const NOWHERE: usize = usize::MAX;

/// A block: pages in the order of writing, including those that have become invalid.
#[derive(Clone, Default)]
struct Block {
    pages: Vec<Option<usize>>,
    valid: usize,
}

/// Where a sealed block is: the region of the host, or that of copies.
const REGIONS: usize = 2;

pub(crate) struct InPlace {
    collector: Collector,
    survivors: Survivors,
    pages_per_block: usize,
    blocks: Vec<Block>,
    /// By page: its block and its index there.
    at: Vec<(usize, usize)>,
    /// Sealed blocks in the order of sealing.
    regions: [Vec<usize>; REGIONS],
    /// Blocks that the host fills next, and the one that it is filling.
    free: VecDeque<usize>,
    open: usize,
    /// For separate copies: erased blocks, and the one that copies are filling.
    spare: VecDeque<usize>,
    open_copies: Option<usize>,
    /// Invalid pages of victims since a block was gained, and the region of these victims.
    gained: usize,
    region: usize,
    /// For the list: where the pointer stands, blocks passed since the first, the bar.
    pointer: usize,
    passed: usize,
    bar: f64,
    pub(crate) host_pages: u64,
    pub(crate) copies: u64,
}

impl InPlace {
    pub(crate) fn new(
        collector: Collector,
        survivors: Survivors,
        blocks: usize,
        pages_per_block: usize,
        user_pages: usize,
    ) -> InPlace {
        assert!(user_pages < blocks * pages_per_block, "no spare");
        // The block that is kept erased and the one that copies fill are not part of the space.
        let spare = if survivors == Survivors::Apart { 2 } else { 0 };
        let mut free: VecDeque<usize> = (0..blocks).collect();
        InPlace {
            collector,
            survivors,
            pages_per_block,
            blocks: vec![Block::default(); blocks + spare],
            at: vec![(NOWHERE, NOWHERE); user_pages],
            regions: Default::default(),
            open: free.pop_front().unwrap(),
            free,
            spare: (blocks..blocks + spare).collect(),
            open_copies: None,
            gained: 0,
            region: 0,
            pointer: 0,
            passed: 0,
            bar: 0.5,
            host_pages: 0,
            copies: 0,
        }
    }

    fn put(&mut self, block: usize, page: usize) {
        let of = &mut self.blocks[block];
        assert!(of.pages.len() < self.pages_per_block, "block {block} is full");
        self.at[page] = (block, of.pages.len());
        of.pages.push(Some(page));
        of.valid += 1;
    }

    fn full(&self, block: usize) -> bool {
        self.blocks[block].pages.len() == self.pages_per_block
    }

    fn invalid(&self, block: usize) -> usize {
        self.pages_per_block - self.blocks[block].valid
    }

    /// Take the pages of `block`, which is erased.
    fn taken(&mut self, block: usize) -> Vec<usize> {
        std::mem::take(&mut self.blocks[block]).pages.into_iter().flatten().collect()
    }

    pub(crate) fn write(&mut self, page: usize) {
        let (block, place) = self.at[page];
        if block != NOWHERE {
            self.blocks[block].pages[place] = None;
            self.blocks[block].valid -= 1;
        }
        if self.full(self.open) {
            self.regions[0].push(self.open);
            while self.free.is_empty() {
                self.collect();
            }
            self.open = self.free.pop_front().unwrap();
        }
        self.put(self.open, page);
        self.host_pages += 1;
    }

    /// In place: collect victims until a block is gained. Apart: collect one victim; the next call continues.
    fn collect(&mut self) {
        let mut victims = Vec::new();
        while self.gained < self.pages_per_block {
            let victim = match self.collector {
                Collector::Greedy => self.greedy(),
                Collector::Fifo => self.below_the_bar(),
            };
            self.gained += self.invalid(victim);
            victims.push(victim);
            if self.survivors == Survivors::Apart {
                break;
            }
        }
        if self.gained >= self.pages_per_block {
            (self.gained, self.bar) = (0, 0.7);
        }
        match self.survivors {
            Survivors::InPlace => self.compact(&victims),
            Survivors::Apart => self.copy(victims[0]),
        }
    }

    /// The region is chosen when a block has been gained, in a tie that of copies; of equal blocks, the oldest.
    fn greedy(&mut self) -> usize {
        let few = [0, 1].map(|region| {
            let invalid: usize = self.regions[region].iter().map(|&b| self.invalid(b)).sum();
            invalid < self.pages_per_block
        });
        let least = |of: &Vec<usize>| of.iter().map(|&b| self.blocks[b].valid).min();
        if self.gained == 0 || self.survivors == Survivors::Apart && few[self.region] {
            let [host, copies] = [0, 1].map(|region| least(&self.regions[region]));
            self.region = usize::from(!few[1] && (few[0] || copies <= host));
        }
        let of = &self.regions[self.region];
        let best = (0..of.len()).min_by_key(|&i| (self.blocks[of[i]].valid, i)).unwrap();
        self.regions[self.region].remove(best)
    }

    /// One list for both regions, here the first.
    fn below_the_bar(&mut self) -> usize {
        let blocks = self.regions[0].len();
        if self.pointer >= blocks {
            (self.pointer, self.passed) = (0, 0);
        }
        loop {
            let block = self.regions[0][self.pointer];
            let share = self.blocks[block].valid as f64 / self.pages_per_block as f64;
            let taken = share < self.bar;
            if taken {
                self.regions[0].remove(self.pointer);
            } else {
                self.pointer += 1;
            }
            self.passed += 1;
            if self.passed >= (0.7 * blocks as f64) as usize {
                (self.pointer, self.passed) = (0, 0);
                self.bar += 0.05;
            }
            if taken {
                return block;
            }
        }
    }

    fn sealed_copies(&mut self, block: usize) {
        let region = usize::from(self.collector == Collector::Greedy);
        self.regions[region].push(block);
    }

    fn compact(&mut self, victims: &[usize]) {
        let all: Vec<Vec<usize>> = victims.iter().map(|&b| self.taken(b)).collect();
        let mut pages = all.iter().rev().flatten().copied();
        for &block in victims.iter().rev() {
            for page in pages.by_ref().take(self.pages_per_block) {
                self.put(block, page);
                self.copies += 1;
            }
        }
        for &block in victims {
            if self.full(block) {
                self.sealed_copies(block);
            } else {
                self.free.push_back(block);
            }
        }
    }

    fn copy(&mut self, victim: usize) {
        let pages = self.taken(victim);
        self.spare.push_back(victim);
        for page in pages {
            let to = self.open_copies.unwrap_or_else(|| self.spare.pop_front().unwrap());
            self.put(to, page);
            self.copies += 1;
            self.open_copies = (!self.full(to)).then_some(to);
            if self.full(to) {
                self.sealed_copies(to);
            }
        }
        let kept = self.spare.len() - 1;
        self.free.extend(self.spare.drain(..kept));
    }
}
