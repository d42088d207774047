//! The table compared with a literal version: a map of pages that processes each access at once.

use super::survey::HOTTEST;
use super::*;
use ssd_core::rng::Stream;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Default)]
struct PlainPage {
    writes: u64,
    number: u64,
    time: u64,
    sectors: u64,
    read: bool,
    mapped: bool,
}

/// The statistics according to their definitions.
#[derive(Default)]
struct Plain {
    pages: BTreeMap<(u16, u64), PlainPage>,
    reads: u64,
    page_reads: u64,
    after_write: u64,
    recent: u64,
    page_writes: u64,
    rewrites: u64,
    by_pages: Histogram,
    by_time: Histogram,
    unmapped: u64,
    with_effect: u64,
}

impl Plain {
    fn push(&mut self, access: &Access) {
        let Access { op, volume, sector, end, after } = *access;
        let touched = sector / 8..end.div_ceil(8);
        match op {
            Op::Read => {
                let first = self.pages.get(&(volume, touched.start)).copied().unwrap_or_default();
                let back = self.page_writes - first.number;
                self.recent += u64::from(first.mapped && back <= RECENT_PAGES);
                self.reads += 1;
                for page in touched {
                    let page = self.pages.entry((volume, page)).or_default();
                    page.read = true;
                    self.page_reads += 1;
                    self.after_write += u64::from(page.mapped);
                }
            }
            Op::Write => {
                for number in touched {
                    let page = self.pages.entry((volume, number)).or_default();
                    if page.writes > 0 {
                        self.rewrites += 1;
                        self.by_pages.record(self.page_writes - page.number);
                        self.by_time.record(after - page.time);
                    }
                    for at in (0..8).filter(|at| (sector..end).contains(&(number * 8 + at))) {
                        page.sectors |= 1 << at;
                    }
                    page.writes += 1;
                    (page.number, page.time, page.mapped) = (self.page_writes, after, true);
                    self.page_writes += 1;
                }
            }
            Op::Trim => {
                let before = self.unmapped;
                for page in sector.div_ceil(8)..end / 8 {
                    if let Some(page) = self.pages.get_mut(&(volume, page)) {
                        self.unmapped += u64::from(std::mem::take(&mut page.mapped));
                    }
                }
                self.with_effect += u64::from(self.unmapped > before);
            }
            Op::Flush | Op::Copy => unreachable!("it has no pages"),
        }
    }

    fn count(&self, counted: impl Fn(&PlainPage) -> bool) -> u64 {
        self.pages.values().filter(|page| counted(page)).count() as u64
    }

    fn footprint(&self, bytes_written: u64) -> Footprint {
        let distinct = self.pages.values().map(|page| u64::from(page.sectors.count_ones()) * 512);
        let distinct_bytes_written = distinct.sum();
        Footprint {
            pages_touched: self.count(|page| page.read || page.writes > 0),
            pages_read: self.count(|page| page.read),
            pages_written: self.count(|page| page.writes > 0),
            pages_both: self.count(|page| page.read && page.writes > 0),
            pages_trimmed: 7,
            distinct_bytes_written,
            overwrite_factor: share(bytes_written, distinct_bytes_written),
            page_reads: self.page_reads,
            read_after_write_share: share(self.after_write, self.page_reads),
            read_recent_share: share(self.recent, self.reads),
        }
    }

    fn updates(&self) -> Updates {
        Updates {
            page_writes: self.page_writes,
            rewrites: self.rewrites,
            rewrite_share: share(self.rewrites, self.page_writes),
            interval_pages: Distribution::of(&self.by_pages, 1),
            interval_ns: Distribution::of(&self.by_time, 1),
        }
    }

    /// Returns the share of writes that go to the hottest pages.
    fn hot(&self) -> [Option<f64>; HOTTEST.len()] {
        let mut writes: Vec<u64> =
            self.pages.values().map(|page| page.writes).filter(|&writes| writes > 0).collect();
        writes.sort_by_key(|&writes| std::cmp::Reverse(writes));
        let sum = |pages: usize| writes[..pages].iter().sum::<u64>();
        HOTTEST.map(|percent| {
            let hottest = (writes.len() * percent as usize).div_ceil(100);
            share(sum(hottest), sum(writes.len()))
        })
    }

    fn volume(&self, volume: u16) -> (u64, u64) {
        let of = |written: bool| {
            let pages = self.pages.iter().filter(|(key, _)| key.0 == volume);
            pages.filter(|(_, page)| page.writes > 0 || (page.read && !written)).count() as u64
        };
        (of(false), of(true))
    }
}

/// Returns accesses to `volumes` volumes with this many sectors, of which the lowest are hot.
fn accesses(seed: u64, count: u64, volumes: u64, sectors: u64) -> Vec<Access> {
    let (mut random, mut after) = (Stream::new(seed, "accesses"), 0);
    let mut draw = |_| {
        after += random.below(1000);
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
        let reach = if random.below(3) == 0 { sectors } else { 1 + sectors / 50 };
        let sector = random.below(reach);
        let longest = if op == Op::Trim && random.below(40) == 0 { sectors } else { 600 };
        let end = sector + 1 + random.below(longest);
        Access { op, volume: random.below(volumes) as u16, sector, end, after }
    };
    (0..count).map(&mut draw).collect()
}

#[test]
fn the_table_is_that_of_a_plain_map() {
    // Crowded and scattered pages, complete and incomplete batches, and more writes of a page than the array counts.
    let cases =
        [(0, 1, 1000), (1, 1, 100), (63, 2, 500), (64, 1, 40), (6001, 3, 200_000), (9000, 1, 16)];
    for (count, volumes, sectors) in cases {
        let (mut pages, mut plain) = (Pages::new(1 << 30), Plain::default());
        let accesses = accesses(count, count, volumes, sectors);
        pages.consume(&accesses).unwrap();
        accesses.iter().for_each(|access| plain.push(access));
        let (survey, case) = (pages.survey(), format!("{count} accesses to {sectors} sectors"));
        assert_eq!(survey.footprint(&pages, 99, 7), plain.footprint(99), "{case}");
        assert_eq!(pages.updates(), plain.updates(), "{case}");
        assert_eq!(survey.hot().write_share, plain.hot(), "{case}");
        assert_eq!((pages.pages_unmapped, pages.with_effect), (plain.unmapped, plain.with_effect));
        for volume in 0..volumes as u16 {
            let found = survey.volumes.get(&volume).copied().unwrap_or_default();
            assert_eq!((found.touched, found.written), plain.volume(volume), "{case}");
        }
    }
}

#[test]
fn the_table_takes_no_more_memory_than_is_allowed() {
    let scattered = (0..1u64 << 20).map(|n| {
        let sector = n * 1_000_003;
        Access { op: Op::Write, volume: 0, sector, end: sector + 8, after: n }
    });
    let mut pages = Pages::new(1 << 20);
    let refused = scattered.map(|access| pages.consume(&[access])).find_map(Result::err);
    assert!(refused.expect("a refusal").0.contains("1 MiB of memory"));
    assert!(pages.bytes() <= 1 << 20);
}
