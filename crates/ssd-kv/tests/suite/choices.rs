//! Which tables flushes and compactions read and write, against LevelDB's rules written again: after every step of
//! random stores of large values, tables and statistics are what the rules say.

use ssd_core::rng::Stream;
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Background, Compression, Db, NextWork, Options};
use std::cmp::Reverse;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
const KEYS: u64 = 100;
/// Size of a table at which the next one begins, and the largest value.
const TABLE: u64 = MIB;
const VALUE: u64 = 400_000;

/// User key and sequence number: the newest entry of a user key comes first.
type Key = (String, Reverse<u64>);

#[derive(Clone, PartialEq, Debug)]
struct Table {
    number: u64,
    bytes: u64,
    first: Key,
    last: Key,
}

type Levels = [Vec<Table>; 7];

fn key_of(text: &str) -> Key {
    let (user, rest) = text.rsplit_once("' @ ").expect("a key and its tag");
    let (sequence, _) = rest.split_once(" : ").expect("a sequence number and a kind");
    (user.trim_start_matches('\'').to_owned(), Reverse(sequence.parse().expect("a number")))
}

fn levels_of(db: &Db) -> Levels {
    let mut levels = Levels::default();
    for table in db.tables() {
        let (first, last) = (key_of(&table.smallest), key_of(&table.largest));
        levels[table.level].push(Table { number: table.number, bytes: table.bytes, first, last });
    }
    levels
}

fn total(tables: &[Table]) -> u64 {
    tables.iter().map(|table| table.bytes).sum()
}

/// The smallest and the largest user key.
fn span(tables: &[Table]) -> (String, String) {
    let first = tables.iter().map(|table| &table.first.0).min().expect("a table");
    let last = tables.iter().map(|table| &table.last.0).max().expect("a table");
    (first.clone(), last.clone())
}

/// Tables of a level that share a user key with a range; on level 0 also those that share one with such tables.
fn overlapping(tables: &[Table], level: usize, from: Option<&str>, to: Option<&str>) -> Vec<Table> {
    let (mut from, mut to) = (from.map(str::to_owned), to.map(str::to_owned));
    loop {
        let meets = |table: &&Table| {
            from.as_ref().is_none_or(|from| table.last.0 >= *from)
                && to.as_ref().is_none_or(|to| table.first.0 <= *to)
        };
        let found: Vec<Table> = tables.iter().filter(meets).cloned().collect();
        if level > 0 || found.is_empty() {
            return found;
        }
        let (first, last) = span(&found);
        let wider = (from.clone().map(|old| old.min(first)), to.clone().map(|old| old.max(last)));
        if wider == (from.clone(), to.clone()) {
            return found;
        }
        (from, to) = wider;
    }
}

fn meeting(levels: &Levels, level: usize, (from, to): &(String, String)) -> Vec<Table> {
    levels.get(level).map_or(Vec::new(), |tables| overlapping(tables, level, Some(from), Some(to)))
}

/// The level of a new table: down to level 2 while nothing overlaps it there, or may come to overlap it, and little
/// overlaps it on the level after.
fn level_of(levels: &Levels, new: &Table, under_way: Option<&Choice>) -> usize {
    let range = span(std::slice::from_ref(new));
    let comes = |level: usize| {
        under_way.filter(|choice| choice.level + 1 == level).is_some_and(|choice| {
            let (first, last) = span(&[choice.upper.clone(), choice.lower.clone()].concat());
            first <= range.1 && last >= range.0
        })
    };
    let free = |level: usize| meeting(levels, level, &range).is_empty() && !comes(level);
    let little = |level: usize| total(&meeting(levels, level, &range)) <= 10 * TABLE;
    match (free(0), free(1) && little(2), free(2) && little(3)) {
        (true, true, true) => 2,
        (true, true, false) => 1,
        _ => 0,
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Choice {
    level: usize,
    upper: Vec<Table>,
    lower: Vec<Table>,
    grandparents: Vec<Table>,
    on_request: bool,
}

impl Choice {
    /// With the tables below, and with neighbours that add none of those, up to the size of 25 tables.
    fn of(
        levels: &Levels,
        level: usize,
        mut upper: Vec<Table>,
        seen: &mut DecisionCounts,
    ) -> Choice {
        let mut lower = meeting(levels, level + 1, &span(&upper));
        if !lower.is_empty() {
            let more = meeting(levels, level, &span(&[upper.clone(), lower.clone()].concat()));
            if more.len() > upper.len() {
                let below = meeting(levels, level + 1, &span(&more));
                let fits = total(&lower) + total(&more) < 25 * TABLE;
                if fits && below.len() == lower.len() {
                    (upper, lower) = (more, below);
                    seen.wider += 1;
                }
            }
        }
        let all = span(&[upper.clone(), lower.clone()].concat());
        let grandparents = meeting(levels, level + 2, &all);
        Choice { level, upper, lower, grandparents, on_request: false }
    }

    fn is_move(&self) -> bool {
        let alone = self.upper.len() == 1 && self.lower.is_empty() && !self.on_request;
        alone && total(&self.grandparents) <= 10 * TABLE
    }
}

/// A range that is compacted on request.
#[derive(Clone)]
struct Request {
    level: usize,
    end_level: usize,
    begin: Option<String>,
    end: Option<String>,
    from: Option<String>,
}

/// How often the rules decided.
#[derive(Default, Debug)]
struct DecisionCounts {
    levels: [u32; 3],
    moves: u32,
    refused_moves: u32,
    wider: u32,
    cut_by_size: u32,
    cut_by_overlap: u32,
    begun_anew: u32,
    kept_above: u32,
    on_request: u32,
}

#[derive(Default)]
struct Twin {
    /// For each level, where its next compaction continues.
    pointers: [Option<Key>; 7],
    under_way: Option<Choice>,
    request: Option<Request>,
    /// For each level: compactions, bytes read and written.
    done: [(u64, u64, u64); 7],
    moved: u64,
    seen: DecisionCounts,
}

impl Twin {
    /// What a level that is too full compacts: level 0 by tables, others by bytes.
    fn due(&mut self, levels: &Levels) -> Choice {
        let (mut level, mut most) = (0, levels[0].len() as f64 / 4.0);
        for (at, tables) in levels.iter().enumerate().take(6).skip(1) {
            let score = total(tables) as f64 / (10 * MIB * 10u64.pow(at as u32 - 1)) as f64;
            if score > most {
                (level, most) = (at, score);
            }
        }
        assert!(most >= 1.0, "nothing is due: {levels:?}");
        let goes_on = |table: &&Table| {
            self.pointers[level].as_ref().is_none_or(|pointer| table.last > *pointer)
        };
        let first = levels[level].iter().find(goes_on);
        self.seen.begun_anew += u32::from(first.is_none());
        let first = first.unwrap_or(&levels[level][0]).clone();
        let range = span(std::slice::from_ref(&first));
        let upper = if level == 0 { meeting(levels, 0, &range) } else { vec![first] };
        Choice::of(levels, level, upper, &mut self.seen)
    }

    /// The next part of a request: from level 1 on, enough tables to fill one.
    fn asked(&mut self, levels: &Levels) -> Option<Choice> {
        loop {
            let request = self.request.as_mut()?;
            let (from, end) = (request.from.as_deref(), request.end.as_deref());
            let mut upper = overlapping(&levels[request.level], request.level, from, end);
            if !upper.is_empty() {
                let mut bytes = 0;
                let full = |table: &Table| {
                    bytes += table.bytes;
                    bytes >= TABLE
                };
                let fill = upper.iter().position(full).map_or(upper.len(), |last| last + 1);
                upper.truncate(if request.level > 0 { fill } else { upper.len() });
                let choice = Choice::of(levels, request.level, upper, &mut self.seen);
                self.seen.on_request += 1;
                return Some(Choice { on_request: true, ..choice });
            }
            (request.level, request.from) = (request.level + 1, request.begin.clone());
            if request.level >= request.end_level {
                self.request = None;
            }
        }
    }

    /// Check that memtables have become tables, one after the other.
    fn flushed(&mut self, before: &Levels, after: &Levels) {
        let is_new = |table: &Table| !before.iter().flatten().any(|old| old == table);
        let mut new: Vec<(usize, Table)> = Vec::new();
        for (level, tables) in after.iter().enumerate() {
            new.extend(tables.iter().filter(|t| is_new(t)).map(|t| (level, t.clone())));
        }
        new.sort_by_key(|(_, table)| table.number);
        let mut now = before.clone();
        for (level, table) in new {
            let expected = level_of(&now, &table, self.under_way.as_ref());
            assert_eq!(level, expected, "{table:?} in {now:?}");
            self.seen.levels[level] += 1;
            self.seen.kept_above += u32::from(level < level_of(&now, &table, None));
            self.done[level].2 += table.bytes;
            now[level].push(table);
            now[level].sort_by(|a, b| (&a.first, a.number).cmp(&(&b.first, b.number)));
        }
        assert_eq!(now, *after, "a flush removes nothing");
    }

    fn begun(&mut self, choice: Choice, before: &Levels, after: &Levels) {
        let (level, last) = (choice.level, choice.upper.iter().map(|table| &table.last).max());
        self.pointers[level] = last.cloned();
        if !choice.is_move() {
            let alone = choice.upper.len() == 1 && choice.lower.is_empty() && !choice.on_request;
            self.seen.refused_moves += u32::from(alone);
            assert_eq!(before, after, "{choice:?} does not move");
            self.under_way = Some(choice);
            return;
        }
        let mut moved = before.clone();
        moved[level].retain(|table| *table != choice.upper[0]);
        moved[level + 1].push(choice.upper[0].clone());
        moved[level + 1].sort_by(|a, b| a.first.cmp(&b.first));
        assert_eq!(moved, *after, "{choice:?} moves");
        self.moved += 1;
        self.seen.moves += 1;
    }

    fn compacted(&mut self, before: &Levels, after: &Levels) {
        let choice = self.under_way.take().expect("a compaction is under way");
        let (level, below) = (choice.level, choice.level + 1);
        let gone = |level: usize| -> Vec<Table> {
            before[level].iter().filter(|t| !after[level].contains(t)).cloned().collect()
        };
        let sorted = |mut tables: Vec<Table>| {
            tables.sort_by_key(|table| table.number);
            tables
        };
        assert_eq!(sorted(gone(level)), sorted(choice.upper.clone()), "of {before:?}");
        assert_eq!(sorted(gone(below)), sorted(choice.lower.clone()), "of {before:?}");
        let made: Vec<Table> =
            after[below].iter().filter(|t| !before[below].contains(t)).cloned().collect();
        self.check_cuts(&made, &choice.grandparents);
        let done = &mut self.done[below];
        let read = total(&choice.upper) + total(&choice.lower);
        *done = (done.0 + 1, done.1 + read, done.2 + total(&made));
        if let Some(request) =
            self.request.as_mut().filter(|request| choice.on_request && request.level == level)
        {
            request.from = choice.upper.last().map(|table| table.last.0.clone());
        }
    }

    /// Check that a table ends when it is full, or when those that it overlaps two levels down are larger than ten
    /// tables.
    fn check_cuts(&mut self, made: &[Table], grandparents: &[Table]) {
        let Some(mut since) = made.first().map(|table| table.first.clone()) else { return };
        for (at, table) in made.iter().enumerate() {
            let passed = |until: &Key| -> u64 {
                let is_passed = |old: &&Table| old.last >= since && old.last < *until;
                grandparents.iter().filter(is_passed).map(|old| old.bytes).sum()
            };
            assert!(table.bytes < TABLE + VALUE + 8192, "{table:?} is too large");
            assert!(passed(&table.last) <= 10 * TABLE, "{table:?} overlaps {grandparents:?}");
            let Some(next) = made.get(at + 1) else { return };
            if passed(&next.first) > 10 * TABLE {
                since = next.first.clone();
                self.seen.cut_by_overlap += 1;
            } else {
                assert!(table.bytes >= TABLE, "{table:?} ends too early before {next:?}");
                self.seen.cut_by_size += 1;
            }
        }
    }

    fn step(&mut self, db: &mut Db) {
        let (before, work) = (levels_of(db), db.next_work());
        let choice = match work {
            NextWork::Pick if self.request.is_some() => self.asked(&before),
            NextWork::Pick => Some(self.due(&before)),
            _ => None,
        };
        db.step().expect("a step");
        let after = levels_of(db);
        match (work, choice) {
            (NextWork::Flush, _) => self.flushed(&before, &after),
            (NextWork::Compact(_), _) if before != after => self.compacted(&before, &after),
            (_, Some(choice)) => self.begun(choice, &before, &after),
            _ => assert_eq!(before, after),
        }
        let stats = db.stats();
        if self.under_way.is_none() {
            let found = stats.levels.map(|l| (l.compactions, l.bytes_read, l.bytes_written));
            assert_eq!((found, stats.moved), (self.done, self.moved));
        }
    }

    /// After the request before has been done.
    fn ask(&mut self, db: &mut Db, begin: Option<String>, end: Option<String>) {
        while self.request.is_some() {
            self.step(db);
        }
        let before = levels_of(db);
        let meets = |level: &usize| {
            !overlapping(&before[*level], *level, begin.as_deref(), end.as_deref()).is_empty()
        };
        let end_level = (1..7).rev().find(meets).unwrap_or(1);
        let [b, e] = [&begin, &end].map(|key| key.as_ref().map(String::as_bytes));
        db.request_compaction(b, e).expect("a request");
        self.flushed(&before, &levels_of(db));
        let from = begin.clone();
        self.request = Some(Request { level: 0, end_level, begin, end, from });
    }
}

fn key(n: u64) -> String {
    format!("{n:03}")
}

/// Write a value, after the steps that the write would do otherwise.
fn put(db: &mut Db, twin: &mut Twin, user: u64, bytes: u64) {
    while db.backlog().full || db.backlog().level0 >= 8 {
        twin.step(db);
    }
    db.put(key(user).as_bytes(), &vec![7; bytes as usize], false).expect("written");
}

/// Write all keys with large values to one level, three per table; then a table over most of them next to one of a
/// single key, and others over many.
fn fill(db: &mut Db, twin: &mut Twin) {
    for user in 0..KEYS {
        put(db, twin, user, VALUE);
    }
    twin.ask(db, None, None);
    for (user, bytes) in [(0, 310_000), (1, 200_000), (99, 200_000)] {
        put(db, twin, user, bytes);
    }
    twin.ask(db, Some(key(1)), Some(key(99)));
    twin.ask(db, None, None);
    for ends in [[0, 30], [34, 64], [68, 98], [70, 96], [72, 94]] {
        while db.has_work() {
            twin.step(db);
        }
        for user in ends {
            put(db, twin, user, 200_000);
        }
    }
}

/// While a compaction merges tables of the same two keys, one between them becomes a table.
fn write_between(db: &mut Db, twin: &mut Twin) {
    for _ in 0..2 {
        for user in [KEYS + 1, KEYS + 9] {
            put(db, twin, user, VALUE);
        }
        twin.ask(db, Some(key(KEYS + 1)), Some(key(KEYS + 9)));
    }
    while !matches!(db.next_work(), NextWork::Compact(2)) {
        twin.step(db);
    }
    (0..2).for_each(|_| put(db, twin, KEYS + 5, VALUE));
}

/// Random writes in windows of keys, with steps in between and ranges that are compacted on request.
fn run(seed: u64, twin: &mut Twin) {
    let mut random = Stream::new(seed, "choices");
    let options = Options {
        create_if_missing: true,
        write_buffer_size: [64 << 10, 300 << 10][seed as usize % 2],
        max_file_size: TABLE,
        compression: Compression::None,
        background: Background::Steps,
        ..Options::default()
    };
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options).expect("it opens");
    let large = seed.is_multiple_of(2);
    let keys = if large { 3 * KEYS } else { KEYS };
    if !large {
        write_between(&mut db, twin);
        fill(&mut db, twin);
    }
    let (mut from, mut width) = (0, keys);
    for _ in 0..180 {
        if random.below(7) == 0 {
            width = [1, 3, 20, keys][random.below(4) as usize];
            from = random.below(keys + 1 - width);
        }
        let some = if large { [100, 30_000, 200_000, VALUE] } else { [100, 1000, 30_000, 200_000] };
        put(&mut db, twin, from + random.below(width), some[random.below(4) as usize]);
        if random.below(12) == 0 {
            let (begin, end) = (random.below(keys), random.below(keys));
            let mut bound = |n: u64| (random.below(3) > 0).then(|| key(n));
            let (begin, end) = (bound(begin.min(end)), bound(begin.max(end)));
            twin.ask(&mut db, begin, end);
        }
        for _ in 0..[0, 0, 1, 3, 200][random.below(5) as usize] {
            if db.has_work() {
                twin.step(&mut db);
            }
        }
    }
    db.verify().expect("whole");
}

#[test]
fn tables_are_chosen_as_leveldb_does() {
    let mut seen = Vec::new();
    for seed in 0..8 {
        let mut twin = Twin::default();
        run(seed, &mut twin);
        seen.push(twin.seen);
    }
    let all = |count: fn(&DecisionCounts) -> u32| seen.iter().map(count).sum::<u32>();
    let counts = [
        all(|s| s.levels[0]),
        all(|s| s.levels[1]),
        all(|s| s.levels[2]),
        all(|s| s.moves),
        all(|s| s.refused_moves),
        all(|s| s.wider),
        all(|s| s.cut_by_size),
        all(|s| s.cut_by_overlap),
        all(|s| s.begun_anew),
        all(|s| s.kept_above),
        all(|s| s.on_request),
    ];
    assert!(counts.iter().all(|&count| count > 0), "a rule never decided: {counts:?}");
}
