//! The file layer against its twin, call by call: what each call notes, what it counts, and which pages are free.

use crate::cases::cases;
use crate::twin::directory::Directory;
use crate::twin::files::{Step, TwinRequest};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use ssd_core::host::copy::decode;
use ssd_core::host::request::Op;
use ssd_core::rng::Stream;
use ssd_host::fs::{Cause, Fs, FsSettings, Node, NotedRequest, PAGE, Streams};
use ssd_kv::vfs::{VFile, Vfs};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

const PAGES: u32 = 3000;

/// A request: number, kind, range, flags, stream, sources in pages.
type RequestFields = (u64, Op, (u32, u32), u8, u8, Vec<(u32, u32)>);

/// What an actor would play.
#[derive(PartialEq, Eq, Debug)]
enum ActorStep {
    Cpu(u64),
    Io(Vec<RequestFields>),
    ReadAhead(Vec<RequestFields>),
    After(u64, u64),
    Barrier(u64),
    Free(Vec<u32>),
}

fn asked(one: &NotedRequest) -> RequestFields {
    let sources = match one.op {
        Op::Copy => decode(one.data.as_deref().expect("sources")).expect("whole ranges"),
        _ => Vec::new(),
    };
    let page = |sectors: u64| u32::try_from(sectors / 8).expect("a small drive");
    let sources = sources.iter().map(|range| (page(range.sector), page(range.sectors))).collect();
    (one.number, one.op, (one.extent.start, one.extent.pages), one.flags, one.stream, sources)
}

fn wanted(one: &TwinRequest) -> RequestFields {
    (one.number, one.op, (one.start, one.pages), one.flags, one.stream, one.sources.clone())
}

fn played(node: &Node) -> ActorStep {
    match node {
        Node::Cpu(ns) => ActorStep::Cpu(*ns),
        Node::Io(all) => ActorStep::Io(all.iter().map(asked).collect()),
        Node::ReadAhead(all) => ActorStep::ReadAhead(all.iter().map(asked).collect()),
        Node::After(first, last) => ActorStep::After(*first, *last),
        Node::Barrier(number) => ActorStep::Barrier(*number),
        Node::Free(all) => {
            ActorStep::Free(all.iter().flat_map(|e| e.start..e.start + e.pages).collect())
        }
    }
}

fn stepped(step: &Step) -> ActorStep {
    match step {
        Step::Cpu(ns) => ActorStep::Cpu(*ns),
        Step::Io(all) => ActorStep::Io(all.iter().map(wanted).collect()),
        Step::ReadAhead(all) => ActorStep::ReadAhead(all.iter().map(wanted).collect()),
        Step::After(all) => ActorStep::After(all[0], all[all.len() - 1]),
        Step::Barrier(number) => ActorStep::Barrier(*number),
        Step::Free(pages) => ActorStep::Free(pages.clone()),
    }
}

/// Waits for the same requests again are left out: they do not take longer.
fn without_repeats(all: Vec<ActorStep>) -> Vec<ActorStep> {
    let mut kept: Vec<ActorStep> = Vec::new();
    for one in all {
        let waits = kept.iter().rev().take_while(|before| matches!(before, ActorStep::After(..)));
        if !(matches!(one, ActorStep::After(..)) && waits.into_iter().any(|before| *before == one))
        {
            kept.push(one);
        }
    }
    kept
}

/// A file in the real system and its twin.
struct FilePair<T> {
    real: T,
    twin: T,
}

struct Pair {
    real: Fs,
    twin: Directory,
    random: Stream,
    now: u64,
    written: BTreeMap<String, FilePair<Box<dyn VFile>>>,
    removed: Vec<FilePair<Box<dyn VFile>>>,
    readers: Vec<FilePair<Arc<dyn VFile>>>,
    /// Requests that are not on the drive yet: both keep what they read.
    noted: Vec<(Vec<NotedRequest>, Vec<TwinRequest>)>,
    under_way: Vec<u64>,
    freed: Vec<(Vec<ssd_host::fs::Extent>, Vec<u32>)>,
    files: u32,
    /// The most files that there may be at once. If there are few, each is written back often.
    most: usize,
}

impl Pair {
    fn new(settings: FsSettings, seed: u64) -> Pair {
        let real = Fs::format(PAGES, settings).expect("room");
        let twin = Directory::format(PAGES, settings);
        let (random, written) = (Stream::new(seed, "calls"), BTreeMap::new());
        let (removed, readers, noted) = (Vec::new(), Vec::new(), Vec::new());
        let (under_way, freed) = (Vec::new(), Vec::new());
        let mut pair = Pair {
            real,
            twin,
            random,
            now: 0,
            written,
            removed,
            readers,
            noted,
            under_way,
            freed,
            files: 0,
            most: if seed.is_multiple_of(2) { 12 } else { 3 },
        };
        pair.compare();
        pair
    }

    fn below(&mut self, most: usize) -> usize {
        self.random.below(most.max(1) as u64) as usize
    }

    fn name(&mut self) -> Option<String> {
        let at = self.below(self.written.len());
        self.written.keys().nth(at).cloned()
    }

    /// Compare what both have noted, and their states.
    fn compare(&mut self) {
        let (real, twin) = (self.real.take_nodes(), self.twin.files().take_steps());
        let notes = without_repeats(real.iter().map(played).collect());
        assert_eq!(notes, without_repeats(twin.iter().map(stepped).collect()));
        let waits = |step: &Step| matches!(step, Step::After(_));
        let real = real.into_iter().filter(|node| !matches!(node, Node::After(..)));
        for (node, step) in real.zip(twin.into_iter().filter(|step| !waits(step))) {
            match (node, step) {
                (
                    Node::Io(real) | Node::ReadAhead(real),
                    Step::Io(twin) | Step::ReadAhead(twin),
                ) => {
                    self.noted.push((real, twin));
                }
                (Node::Free(real), Step::Free(twin)) => self.freed.push((real, twin)),
                _ => {}
            }
        }
        assert_eq!(self.real.counts(), self.twin.files().counts());
        assert_eq!(self.real.spare_pages(), self.twin.files().spare());
        assert_eq!(self.real.wants_write_back(), self.twin.files().wants_write_back());
        assert_eq!(self.real.list().expect("names"), self.twin.list().expect("names"));
    }

    /// Occasionally send requests to the drive, complete requests, and free pages.
    fn pass(&mut self) {
        if self.below(3) == 0 && !self.noted.is_empty() {
            let (real, _) = self.noted.remove(0);
            self.under_way.extend(real.iter().map(|one| one.number));
        }
        if self.below(2) == 0 && !self.under_way.is_empty() {
            let at = self.below(self.under_way.len());
            let number = self.under_way.swap_remove(at);
            self.real.done(number);
            self.twin.files().done(number);
        }
        if self.below(4) == 0 && !self.freed.is_empty() {
            let (real, twin) = self.freed.remove(0);
            self.real.freed(&real);
            self.twin.files().free(&twin);
        }
        self.now += self.random.below(30);
        self.real.set_now(self.now);
        self.twin.files().now = self.now;
    }

    fn create(&mut self) {
        self.files += 1;
        let kind = ["ldb", "ldb", "ldb", "log", "tmp"][self.below(5)];
        let name = match self.below(20) {
            0 => format!("MANIFEST-{}", self.files),
            1 => self.name().unwrap_or_default(),
            _ => format!("{:06}.{kind}", self.files),
        };
        if name.is_empty() {
            return;
        }
        let level = Cause::Level(1 + self.random.below(6) as u8);
        let cause = if self.below(2) == 0 { Cause::Flush } else { level };
        self.real.set_table_cause(cause);
        self.twin.files().table_cause = cause;
        let real = self.real.create(&name).expect("room");
        let twin = self.twin.create(&name).expect("room");
        let before = self.written.insert(name, FilePair { real, twin });
        self.removed.extend(before);
    }

    fn append(&mut self, name: &str) {
        let large = if self.most > 3 { 600_000 } else { 9000 };
        let most = [200, 6000, 9000, large][self.below(4).min(self.below(4))];
        let bytes = vec![1; self.below(most)];
        let file = self.written.get_mut(name).expect("open");
        file.real.append(&bytes).expect("room");
        file.twin.append(&bytes).expect("room");
    }

    /// Let a file take over pages of another, or append them if that is impossible.
    fn share(&mut self, to: &str, from: &str) {
        if to == from {
            return;
        }
        let Some(mut target) = self.written.remove(to) else { return };
        let length = |file: &FilePair<Box<dyn VFile>>| file.real.len().expect("a length") as usize;
        let rest = length(&target).next_multiple_of(PAGE) - length(&target);
        let pages = length(&self.written[from]) / PAGE;
        let odd = if self.below(6) == 0 { 100 } else { 0 };
        let first = self.below(pages);
        let bytes = vec![1; ((1 + self.below(pages - first)) * PAGE).saturating_sub(odd)];
        if self.below(6) > 0 {
            target.real.append(&vec![1; rest]).expect("room");
            target.twin.append(&vec![1; rest]).expect("room");
        }
        if pages > 0 {
            let (source, offset) = (&self.written[from], (first * PAGE) as u64);
            let real = target.real.append_shared(&*source.real, offset, &bytes).expect("room");
            let twin = target.twin.append_shared(&*source.twin, offset, &bytes).expect("room");
            assert_eq!(real, twin);
        }
        self.written.insert(to.to_owned(), target);
    }

    fn read(&mut self) {
        let at = self.below(self.readers.len());
        let (offset, length) = (self.random.below(300_000), 1 + self.below(20_000));
        let Some(reader) = self.readers.get(at) else { return };
        let (mut real, mut twin) = (vec![0; length], vec![0; length]);
        let times = if offset % 3 == 0 { 6 } else { 1 };
        for time in 0..times {
            let at = offset + time * length as u64;
            let read = reader.real.read_at(at, &mut real).expect("a read");
            assert_eq!(read, reader.twin.read_at(at, &mut twin).expect("a read"));
        }
    }

    fn open(&mut self, name: &str) {
        let real = self.real.open(name).expect("it is there");
        self.readers.push(FilePair { real, twin: self.twin.open(name).expect("it is there") });
    }

    /// Remove the file; a handle may keep it for a while. A file that has never been written back is not read any more.
    fn remove(&mut self, name: &str) {
        let keeps = self.below(2) == 0;
        let file = self.written.remove(name).expect("open");
        if keeps {
            self.removed.push(file);
        }
        self.real.remove(name).expect("it is there");
        self.twin.remove(name).expect("it is there");
    }

    fn rename(&mut self, from: &str) {
        let to = ["CURRENT", "other", "000000.log", from][self.below(4)];
        self.real.rename(from, to).expect("it is there");
        self.twin.rename(from, to).expect("it is there");
        let file = self.written.remove(from).expect("open");
        self.removed.extend(self.written.insert(to.to_owned(), file));
    }

    fn call(&mut self) {
        let Some(name) = self.name() else { return self.create() };
        match self.below(24) {
            0 | 1 if self.written.len() < self.most => self.create(),
            2..5 => {
                let file = self.written.get_mut(&name).expect("open");
                file.real.sync().expect("room");
                file.twin.sync().expect("room");
            }
            5 => {
                self.real.sync_dir().expect("room");
                self.twin.sync_dir().expect("room");
            }
            6 => {
                self.real.write_back().expect("room");
                self.twin.files().write_back_old();
            }
            7 if self.written.len() > 5 => self.remove(&name),
            8 if self.most > 3 => self.rename(&name),
            9 => self.open(&name),
            10..13 => self.read(),
            13 => drop(self.readers.pop()),
            14 => drop(self.removed.pop()),
            15 => {
                let from = self.name().expect("a file");
                self.share(&name, &from);
            }
            _ => self.append(&name),
        }
        if self.real.spare_pages().0 < 600 {
            self.remove_largest();
        }
    }

    fn remove_largest(&mut self) {
        let length = |file: &FilePair<Box<dyn VFile>>| file.real.len().expect("a length");
        let largest = self.written.iter().max_by_key(|one| length(one.1)).map(|one| one.0.clone());
        self.readers.clear();
        self.removed.clear();
        self.remove(&largest.expect("a file"));
        self.removed.clear();
        self.noted.clear();
        let (real, twin) = (self.real.sync_dir(), self.twin.sync_dir());
        assert!(real.is_ok() && twin.is_ok(), "room");
    }
}

fn any_settings() -> impl Strategy<Value = FsSettings> {
    (
        (select(vec![64, 300]), select(vec![1, 8, 100]), select(vec![0, 100, 1000])),
        (select(vec![0, 5, 32]), select(vec![0, 1, 8, 64]), any::<bool>(), any::<bool>()),
        (any::<bool>(), any::<bool>(), any::<bool>(), select(vec![1, 3, 128])),
    )
        .prop_map(|(cache, space, (flushes, copies, levels, copy_pages))| FsSettings {
            cache_pages: cache.0,
            dirty_pages: cache.1,
            dirty_age_ns: cache.2,
            readahead_pages: space.0,
            set_aside_pages: space.1,
            discard: space.2,
            cache_shared: space.3,
            flushes,
            copies,
            streams: if levels { Streams::Levels } else { Streams::None },
            copy_pages,
            ..FsSettings::default()
        })
}

/// How often a run has done what is rare.
fn kinds(pair: &Pair) -> [(&'static str, u64); 6] {
    let files = pair.twin.files();
    let counts = files.counts();
    [
        ("pages of other extents", files.leaves_taken),
        ("pages at home", counts.written[Cause::Home.at()]),
        ("copied", counts.copied.iter().sum()),
        ("read ahead", counts.ahead),
        ("misses", counts.misses),
        ("discarded", counts.discarded),
    ]
}

#[test]
fn each_call_notes_what_the_twin_notes() {
    let runs = RefCell::new(BTreeMap::<&str, u64>::new());
    let calls = (any_settings(), any::<u64>());
    let ended = TestRunner::new(cases(80, 82)).run(&calls, |(settings, seed)| {
        let mut pair = Pair::new(settings, seed);
        for _ in 0..1200 {
            pair.call();
            pair.compare();
            pair.pass();
        }
        for (kind, times) in kinds(&pair) {
            *runs.borrow_mut().entry(kind).or_default() += u64::from(times > 0);
        }
        Ok(())
    });
    ended.unwrap_or_else(|why| panic!("{why}"));
    let runs = runs.into_inner();
    assert!(runs.values().all(|&runs| runs >= 5), "runs in which each happened: {runs:?}");
}
