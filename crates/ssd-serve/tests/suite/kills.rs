//! A drive that collects is killed again and again; it has what it promised, page by page.
//!
//! The engine has one queue, so the order in which pages change is known: after a kill a page holds one of its versions,
//! and none that is older than the last one that was promised to survive.

use crate::rig::{Temporary, everything, fold, open, with_state};
use ssd_core::rng::Stream;
use ssd_serve::engine::{Engine, Numbers};
use std::collections::BTreeMap;

const PAGE: u64 = 4096;
const SECTOR: u64 = 512;
/// Sectors of a page.
const SECTORS: u64 = PAGE / SECTOR;

/// What the sectors of a page hold: each of them eight bytes again and again.
type Page = [u64; SECTORS as usize];

const DRIVES: [(bool, &[(&str, &str)]); 4] = [
    (false, &[]),
    (true, &[("host.write_buffer_pages", "32")]),
    (false, &[("host.write_buffer_pages", "16"), ("power.buffer", "protected")]),
    (
        true,
        &[
            ("host.write_buffer_pages", "8"),
            ("power.nvram", "256 B"),
            ("power.checkpoint", "64 KiB"),
        ],
    ),
];

/// A change of pages that is under way or has been answered.
struct Change {
    number: u64,
    pages: std::ops::Range<u64>,
}

/// What becomes of a request when it is answered.
enum Asked {
    /// Nothing is promised before a flush.
    Change(Change),
    /// This is promised.
    Kept(Vec<Change>),
    Nothing,
}

/// All versions that a page may hold.
#[derive(Default)]
struct Ledger {
    /// By page, with the number of the change; the first is promised, or was there when the drive was opened.
    pages: BTreeMap<u64, Vec<(u64, Page)>>,
    changes: u64,
    /// What has been answered since the last flush.
    answered: Vec<Change>,
    /// By the number of the first request of the machine: how many are left.
    asked: BTreeMap<u64, (u64, u64, Asked)>,
}

impl Ledger {
    /// The sectors from `first` to `end` change to `tag`, or to zeros.
    fn change(&mut self, first: u64, end: u64, tag: u64) -> Change {
        self.changes += 1;
        let pages = first / SECTORS..end.div_ceil(SECTORS);
        for page in pages.clone() {
            let versions = self.pages.entry(page).or_insert_with(|| vec![(0, Page::default())]);
            let mut next = versions.last().expect("a version").1;
            for (at, sector) in (page * SECTORS..).zip(&mut next) {
                if (first..end).contains(&at) {
                    *sector = tag;
                }
            }
            versions.push((self.changes, next));
        }
        Change { number: self.changes, pages }
    }

    fn keep(&mut self, change: &Change) {
        for page in change.pages.clone() {
            let versions = self.pages.get_mut(&page).expect("it was changed");
            versions.retain(|version| version.0 >= change.number);
        }
    }

    fn ask(&mut self, numbers: Numbers, asked: Asked) {
        if numbers.count == 0 {
            self.end(asked);
        } else {
            let end = numbers.first + numbers.count;
            self.asked.insert(numbers.first, (end, numbers.count, asked));
        }
    }

    fn end(&mut self, asked: Asked) {
        match asked {
            Asked::Change(change) => self.answered.push(change),
            Asked::Kept(changes) => changes.iter().for_each(|change| self.keep(change)),
            Asked::Nothing => {}
        }
    }

    /// A request of the machine is answered.
    fn answer(&mut self, id: u64) {
        let (&first, asked) = self.asked.range_mut(..=id).next_back().expect("it was asked");
        assert!(id < asked.0, "nobody has asked for {id}");
        asked.1 -= 1;
        if asked.1 == 0 {
            let asked = self.asked.remove(&first).expect("it was there").2;
            self.end(asked);
        }
    }

    /// Everything is promised, and nothing is under way.
    fn keep_all(&mut self) {
        self.pages.values_mut().for_each(|versions| {
            versions.drain(..versions.len() - 1);
        });
        (self.answered, self.asked) = (Vec::new(), BTreeMap::new());
    }

    /// The drive, which was just opened, holds `found`.
    fn check(&mut self, found: &[u8], what: &str) {
        for (page, bytes) in (0u64..).zip(found.chunks_exact(PAGE as usize)) {
            let mut held = Page::default();
            for (sector, bytes) in held.iter_mut().zip(bytes.chunks_exact(SECTOR as usize)) {
                let mut words = bytes.chunks_exact(8);
                *sector = u64::from_le_bytes(words.next().expect("a word").try_into().expect("8"));
                assert!(words.all(|word| word == sector.to_le_bytes()), "half a sector");
            }
            let zeros = [(0, Page::default())];
            let versions = self.pages.get(&page).map_or(&zeros[..], Vec::as_slice);
            let is_known = versions.iter().any(|version| version.1 == held);
            assert!(is_known, "{what}: page {page} holds {held:?}, of {versions:?}");
            if let Some(versions) = self.pages.get_mut(&page) {
                *versions = vec![(0, held)];
            }
        }
        (self.answered, self.asked) = (Vec::new(), BTreeMap::new());
    }
}

/// What a client does in one life of the drive.
struct Client {
    /// Sectors of which it uses the first so many, in units of so many, of which a request has at most so many.
    places: u64,
    unit: u64,
    most: u64,
    /// How probable FUA is, in percent.
    fua: u64,
    /// ns between requests at most.
    pause: u64,
    /// Writes without FUA may be lost until a flush.
    is_volatile: bool,
}

impl Client {
    fn new(rng: &mut Stream, sectors: u64, is_volatile: bool) -> Client {
        let mut choose = |choices: [u64; 3]| choices[rng.below(3) as usize];
        Client {
            places: choose([320, 3200, sectors]),
            unit: choose([1, SECTORS, SECTORS]),
            most: choose([1, 8, 40]),
            fua: choose([0, 10, 100]),
            pause: choose([2_000, 100_000, 3_000_000]),
            is_volatile,
        }
    }

    fn step(&self, rng: &mut Stream, engine: &mut Engine, ledger: &mut Ledger, now: &mut u64) {
        *now += rng.below(self.pause) + 1;
        engine.run(*now);
        for completion in engine.completions().expect("the disk works") {
            ledger.answer(completion.id.0);
        }
        let sectors = (1 + rng.below(self.most)) * self.unit;
        let first = rng.below((self.places - sectors) / self.unit + 1) * self.unit;
        let (at, bytes, end) = (first * SECTOR, sectors * SECTOR, first + sectors);
        let fua = rng.below(100) < self.fua;
        let asked = |change| match fua || !self.is_volatile {
            true => Asked::Kept(vec![change]),
            false => Asked::Change(change),
        };
        let (begun, asked) = match rng.below(40) {
            0 => {
                let answered = std::mem::take(&mut ledger.answered);
                (engine.flush(*now), Asked::Kept(answered))
            }
            1..4 => (engine.read(*now, at, bytes), Asked::Nothing),
            4..8 => {
                let (from, to) = (first.next_multiple_of(SECTORS), end / SECTORS * SECTORS);
                let change = ledger.change(from, to.max(from), 0);
                (engine.trim(*now, at, bytes), Asked::Kept(vec![change]))
            }
            8..12 => {
                let trims = rng.chance(0.5);
                let change = ledger.change(first, end, 0);
                (engine.write_zeroes(*now, (at, bytes), fua, trims), asked(change))
            }
            _ => {
                let tag = ledger.changes + 1;
                let data = tag.to_le_bytes().repeat(bytes as usize / 8);
                let change = ledger.change(first, end, tag);
                (engine.write(*now, at, &data, fua), asked(change))
            }
        };
        ledger.ask(begun.expect("the drive takes it"), asked);
    }
}

/// Kill a drive so many times, each time after at most so many requests.
fn kill(seed: u64, kills: u32, most: u64) {
    let mut rng = Stream::new(seed, "kills");
    let (is_volatile, sets) = DRIVES[(seed % 4) as usize];
    let mut sets = sets.to_vec();
    sets.extend([("precondition.fill", "1"), ("precondition.overwrite", "1")]);
    let (folder, config) = (Temporary::new(), with_state(&sets));
    let mut ledger = Ledger::default();
    for life in 0..=kills {
        let (mut state, mut engine, _, _) = open(&folder.0, &config).expect("it mounts");
        ledger.check(&everything(&engine), &format!("seed {seed}, life {life}"));
        let (mut now, fold_at) = (0, rng.below(2 * most));
        let client = Client::new(&mut rng, engine.bytes() / SECTOR, is_volatile);
        for request in 0..rng.below(most) {
            client.step(&mut rng, &mut engine, &mut ledger, &mut now);
            if request == fold_at {
                fold(&mut state, &config, &mut engine);
                ledger.keep_all();
                now = 0;
            }
        }
    }
}

#[test]
fn a_drive_that_collects_has_what_it_promised_after_kills() {
    let drives = std::env::var("SSDLAB_DRIVES").map_or(8, |said| said.parse().expect("a number"));
    (0..drives).for_each(|seed| kill(seed, 6, 3000));
}
