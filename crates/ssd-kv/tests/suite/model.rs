//! The store against a map: random operations, snapshots, iterators, reopenings, compactions.

use crate::rig::{self, CHECKED, Map, assert_equal, change, key, option_sets};
use ssd_core::rng::Stream;
use ssd_kv::policy::Pages;
use ssd_kv::vfs::{MemoryVfs, PosixVfs, Vfs};
use ssd_kv::{Db, DbIter, Options, ReadView, WriteBatch};
use std::sync::Arc;

struct Run {
    vfs: Arc<dyn Vfs>,
    options: Options,
    aligned: bool,
    db: Option<Db>,
    model: Map,
    random: Stream,
    views: Vec<(ReadView, Map)>,
    iterators: Vec<(DbIter, Map)>,
}

const KEYS: u64 = 400;

impl Run {
    fn new(vfs: Arc<dyn Vfs>, options: Options, seed: u64) -> Run {
        let random = Stream::new(seed, "model");
        let (views, iterators) = (Vec::new(), Vec::new());
        let aligned = seed % 2 == 1;
        let mut run =
            Run { vfs, options, aligned, db: None, model: Map::new(), random, views, iterators };
        run.open();
        run
    }

    fn open(&mut self) {
        self.views.clear();
        self.iterators.clear();
        self.db = None;
        let (vfs, options) = (self.vfs.clone(), self.options.clone());
        let db = if self.aligned {
            Db::open_with(vfs, options, Box::new(Pages::new(4096, 1)))
        } else {
            Db::open(vfs, options)
        };
        self.db = Some(db.expect("it opens"));
    }

    fn step(&mut self) {
        let db = self.db.as_mut().expect("open");
        match self.random.below(1000) {
            0..500 => {
                let mut batch = WriteBatch::new();
                for _ in 0..=self.random.below(8) {
                    change(&mut self.random, &mut batch, &mut self.model, KEYS);
                }
                db.write(&batch, self.random.below(10) == 0).expect("written");
            }
            500..900 => {
                let key = key(&mut self.random, KEYS);
                let found = db.get(&key, CHECKED, None).expect("read");
                assert_eq!(found.as_ref(), self.model.get(&key), "{key:?}");
                if let Some((view, model)) = self.views.first() {
                    let found = db.get(&key, CHECKED, Some(view)).expect("read");
                    assert_eq!(found.as_ref(), model.get(&key), "{key:?} of a snapshot");
                }
            }
            900..930 => walk(db, &self.model, &mut self.random),
            930..945 => self.views.push((db.read_view(), self.model.clone())),
            945..960 => {
                if let Some((view, model)) = self.views.pop() {
                    assert_equal(db, &model, Some(&view));
                }
            }
            960..970 => {
                let iter = db.iter(CHECKED, None).expect("an iterator");
                self.iterators.push((iter, self.model.clone()));
            }
            970..980 => {
                if let Some((iter, model)) = self.iterators.pop() {
                    assert!(rig::pairs(iter).expect("a scan") == model, "an old iterator differs");
                }
            }
            980..990 => {
                let mut bounds = [key(&mut self.random, KEYS), key(&mut self.random, KEYS)];
                bounds.sort();
                db.compact_range(Some(&bounds[0]), Some(&bounds[1])).expect("compacted");
            }
            990..994 => {
                let _ = db.step().expect("a step");
            }
            994 => db.compact_range(None, None).expect("compacted"),
            _ => self.open(),
        }
    }

    fn check(&mut self) {
        let db = self.db.as_mut().expect("open");
        assert_equal(db, &self.model, None);
        db.verify().expect("whole");
        db.settle().expect("settled");
        assert_equal(db, &self.model, None);
        let checked = db.verify().expect("whole");
        assert!(checked.tables > 0 || self.model.is_empty());
    }
}

/// Seeks, then some steps to and fro.
fn walk(db: &Db, model: &Map, random: &mut Stream) {
    let mut iter = db.iter(CHECKED, None).expect("an iterator");
    let start = key(random, KEYS);
    iter.seek(&start).expect("a seek");
    let mut at = model.range(start..).next().map(|(k, _)| k.clone());
    for _ in 0..random.below(20) {
        assert_eq!(iter.valid().then(|| iter.key().to_vec()), at);
        let Some(here) = at else { return };
        assert_eq!(iter.value(), model[&here]);
        if random.below(2) == 0 {
            iter.next().expect("the next pair");
            at = model.range(here.clone()..).nth(1).map(|(k, _)| k.clone());
        } else {
            iter.prev().expect("the pair before");
            at = model.range(..here).next_back().map(|(k, _)| k.clone());
        }
    }
}

#[test]
fn random_operations_under_all_option_sets() {
    for (i, options) in option_sets().into_iter().enumerate() {
        for seed in 0..4 {
            let mut run =
                Run::new(Arc::new(MemoryVfs::new()), options.clone(), seed + 10 * i as u64);
            for _ in 0..1500 {
                run.step();
            }
            run.check();
        }
    }
}

#[test]
fn files_of_the_operating_system_are_as_good() {
    let folder = std::env::temp_dir().join(format!("ssd-kv-model-{}", std::process::id()));
    // An aborted run whose process had the same id may have left it.
    let _ = std::fs::remove_dir_all(&folder);
    for (seed, options) in (0..).zip(option_sets()) {
        let vfs = Arc::new(PosixVfs::new(&folder));
        let mut run = Run::new(vfs.clone(), options, 100 + seed);
        for _ in 0..800 {
            run.step();
        }
        run.check();
        drop(run);
        ssd_kv::destroy(vfs).expect("destroyed");
        assert!(!folder.exists(), "destroy leaves nothing");
    }
}

/// As in LevelDB, a block is compressed if that saves more than an eighth of it.
#[test]
fn blocks_that_hardly_compress_are_stored_as_they_are() {
    for (zeros, compressed) in [(300, false), (1200, true)] {
        let options = option_sets()[1].clone();
        let vfs = MemoryVfs::new();
        let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
        let mut random = Stream::new(6, "a block");
        let mut value: Vec<u8> = (0..4000 - zeros).map(|_| random.below(256) as u8).collect();
        value.resize(4000, 0);
        db.put(b"key", &value, false).expect("written");
        db.compact_range(None, None).expect("compacted");
        let files = vfs.snapshot();
        let (_, table) = files.iter().find(|(n, _)| n.ends_with(".ldb")).expect("a table");
        assert_eq!(table.windows(zeros).any(|w| w == &value[4000 - zeros..]), !compressed);
        assert_eq!(db.get(b"key", CHECKED, None).expect("read"), Some(value));
    }
}

/// Enough data for several levels, with overwrites and deletions.
#[test]
fn levels_below() {
    let vfs = Arc::new(MemoryVfs::new());
    let options = Options { write_buffer_size: 256 << 10, ..option_sets()[0].clone() };
    let mut db = Db::open(vfs.clone(), options.clone()).expect("it opens");
    let mut random = Stream::new(5, "levels");
    let mut model = Map::new();
    for i in 0..30_000_u64 {
        let key = format!("{:08}", random.below(25_000)).into_bytes();
        if i % 11 == 0 {
            db.delete(&key, false).expect("deleted");
            model.remove(&key);
        } else {
            let value = vec![(i % 251) as u8; 1000];
            db.put(&key, &value, false).expect("written");
            model.insert(key, value);
        }
    }
    let tables = db.tables_per_level();
    let compactions = db.stats().levels.map(|level| level.compactions);
    assert_eq!((&tables[..4], &compactions[..4]), (&[1, 11, 11, 0][..], &[0, 35, 1, 0][..]));
    db.verify().expect("whole");
    assert_equal(&db, &model, None);
    drop(db);
    let mut db = Db::open(vfs, options).expect("it opens");
    assert_equal(&db, &model, None);
    db.compact_range(None, None).expect("compacted");
    // In parts of about a table each.
    let compactions = db.stats().levels.map(|level| level.compactions);
    assert_eq!(compactions[..4], [0, 1, 10, 0]);
    assert_equal(&db, &model, None);
    let entries = db.verify().expect("whole").entries;
    assert_eq!(entries, model.len() as u64, "a full compaction leaves no hidden entry");
}

#[test]
fn equal_operations_give_equal_bytes() {
    let run = || {
        let vfs = MemoryVfs::new();
        let mut run = Run::new(Arc::new(vfs.clone()), option_sets()[1].clone(), 77);
        for _ in 0..1500 {
            run.step();
        }
        drop(run);
        vfs.snapshot()
    };
    assert!(run() == run(), "two runs differ in their files");
}

/// A compaction on request proceeds in steps, can be cancelled, and changes nothing that is read.
#[test]
fn a_request_in_steps() {
    for given_up_after in [0, 1, 3, 10, usize::MAX] {
        let options = Options { background: ssd_kv::Background::Steps, ..option_sets()[0].clone() };
        let mut db = Db::open(Arc::new(MemoryVfs::new()), options).expect("it opens");
        let (mut random, mut model) = (Stream::new(6, "request"), Map::new());
        for _ in 0..2000 {
            let mut batch = WriteBatch::new();
            change(&mut random, &mut batch, &mut model, 900);
            db.write(&batch, false).expect("written");
        }
        let request = db.request_compaction(None, None).expect("requested");
        let mut steps = 0;
        while db.is_compacting_on_request() && steps < given_up_after {
            assert!(db.step().expect("a step"), "there is something to do");
            steps += 1;
        }
        db.cancel_request(request);
        assert_equal(&db, &model, None);
        db.settle().expect("settled");
        assert!(!db.has_work() && !db.is_stalled());
        assert_equal(&db, &model, None);
        if given_up_after == usize::MAX {
            let entries = db.verify().expect("whole").entries;
            assert_eq!(entries, model.len() as u64, "nothing hidden is left");
        }
    }
}

/// A request is finished before the next one begins, and nobody cancels that of another.
#[test]
fn requests_do_not_discard_each_other() {
    let options = Options { background: ssd_kv::Background::Steps, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options).expect("it opens");
    let (mut random, mut model) = (Stream::new(7, "requests"), Map::new());
    for _ in 0..2000 {
        let mut batch = WriteBatch::new();
        change(&mut random, &mut batch, &mut model, 900);
        db.write(&batch, false).expect("written");
    }
    let all = db.request_compaction(None, None).expect("requested");
    let part = db.request_compaction(Some(b"k"), Some(b"l")).expect("requested");
    assert!(!db.step_request(all).expect("no step"), "it is done");
    assert_eq!(db.verify().expect("whole").entries, model.len() as u64, "nothing hidden is left");
    db.cancel_request(all);
    assert!(db.is_compacting_on_request(), "the other one is still there");
    while db.step_request(part).expect("a step") {}
    assert_equal(&db, &model, None);
}
