//! A store that is open for reading only: it shows all, and its directory stays as it is.

mod rig;

use rig::{Map, assert_equal, change, option_sets};
use ssd_core::rng::Stream;
use ssd_kv::vfs::{FaultVfs, Faults, MemoryVfs, Vfs};
use ssd_kv::{Db, Error, Options, WriteBatch};
use std::sync::Arc;

fn reading(options: &Options) -> Options {
    Options { create_if_missing: false, read_only: true, ..options.clone() }
}

/// Fill a store: tables, and changes that only its log has.
fn written(vfs: Arc<dyn Vfs>, options: &Options) -> Map {
    let mut db = Db::open(vfs, options.clone()).expect("a new store");
    let (mut random, mut model) = (Stream::new(5, "read only"), Map::new());
    for _ in 0..3_000 {
        let mut batch = WriteBatch::new();
        change(&mut random, &mut batch, &mut model, 900);
        db.write(&batch, false).expect("written");
    }
    model
}

#[test]
fn shows_all_and_changes_nothing() {
    for options in option_sets() {
        let vfs = MemoryVfs::new();
        let model = written(Arc::new(vfs.clone()), &options);
        let before = vfs.snapshot();
        let mut db = Db::open(Arc::new(vfs.clone()), reading(&options)).expect("a sound store");
        assert!(db.stats().logged > 0, "the log holds the last changes");
        assert!(db.tables_per_level().iter().sum::<usize>() > 0, "tables hold the others");
        assert_equal(&db, &model, None);
        db.verify().expect("sound");
        assert!(!db.has_work(), "no compaction is due");
        assert!(!db.step().expect("nothing to do"));
        let refused = [
            db.put(b"k", b"v", false),
            db.delete(b"k", true),
            db.write(&WriteBatch::new(), true),
            db.compact_range(None, None),
        ];
        for refusal in refused {
            let said = refusal.expect_err("it is read only").to_string();
            assert!(said.ends_with("the store is open for reading only"), "{said}");
        }
        drop(db);
        assert_eq!(vfs.snapshot(), before);
    }
}

/// Beside others that read, not beside one that writes.
#[test]
fn shares_its_lock() {
    let options = option_sets().remove(0);
    let vfs = MemoryVfs::new();
    written(Arc::new(vfs.clone()), &options);
    let open = |options: &Options| Db::open(Arc::new(vfs.clone()), options.clone());
    let readers =
        [open(&reading(&options)), open(&reading(&options))].map(|db| db.expect("shared"));
    assert!(matches!(open(&options), Err(Error::Locked(_))));
    let [first, second] = readers;
    drop(first);
    assert!(matches!(open(&options), Err(Error::Locked(_))));
    drop(second);
    let writer = open(&options).expect("free");
    assert!(matches!(open(&reading(&options)), Err(Error::Locked(_))));
    drop(writer);
    open(&reading(&options)).expect("free");
}

/// On a medium that takes no writes at all.
#[test]
fn needs_no_call_that_writes() {
    let options = option_sets().remove(1);
    let vfs = FaultVfs::new();
    let model = written(Arc::new(vfs.clone()), &options);
    vfs.inject(Faults::From(0));
    assert!(vfs.rename("a", "b").is_err(), "writes fail");
    let db = Db::open(Arc::new(vfs), reading(&options)).expect("it only reads");
    assert_equal(&db, &model, None);
}

#[test]
fn nothing_to_read_is_an_error() {
    let vfs = MemoryVfs::new();
    let options = Options { read_only: true, ..Options::default() };
    let said = Db::open(Arc::new(vfs.clone()), options.clone()).map(drop).expect_err("no store");
    assert!(said.to_string().contains("there is no store here"), "{said}");
    let create = Options { create_if_missing: true, ..options };
    let said = Db::open(Arc::new(vfs.clone()), create).map(drop).expect_err("contradicts itself");
    assert!(said.to_string().contains("read_only: such a store cannot be created"), "{said}");
    assert!(vfs.snapshot().is_empty());
}
