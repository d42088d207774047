//! Writes whose caller waits itself: the same files and contents as writes that wait within the engine.

use crate::rig::{self, Map, assert_equal};
use ssd_core::rng::Stream;
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Background, Backlog, Db, NextWork, Options, WriteBatch, WriteRoom};
use std::sync::Arc;

fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_size: 64 << 10,
        max_file_size: 1 << 20,
        background: Background::Steps,
        ..Options::default()
    }
}

fn batch(random: &mut Stream, model: &mut Map) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for _ in 0..1 + random.below(3) {
        rig::change(random, &mut batch, model, 3000);
    }
    batch
}

#[test]
fn a_caller_that_waits_as_the_engine_does_gets_the_same_files() {
    let (ours, theirs) = (MemoryVfs::new(), MemoryVfs::new());
    let mut paced = Db::open(Arc::new(ours.clone()), options()).expect("a store");
    let mut plain = Db::open(Arc::new(theirs.clone()), options()).expect("a store");
    let (mut random, mut model) = (Stream::new(7, "paced"), Map::new());
    let (mut slowed, mut waited) = (0, 0);
    for _ in 0..9000 {
        let mut batch = batch(&mut random, &mut model);
        plain.write(&batch, false).expect("a write");
        let mut may_slow = true;
        loop {
            let seen = paced.backlog();
            match paced.ask_room(may_slow, seen).expect("an answer") {
                WriteRoom::Ready => break,
                WriteRoom::Slow => (may_slow, slowed) = (false, slowed + 1),
                WriteRoom::Wait => waited += 1,
            }
            assert_ne!(paced.next_work(), NextWork::Nothing, "nothing to wait for");
            assert!(paced.step().expect("a step"));
        }
        paced.log_batch(&mut batch, false).expect("the first half");
        paced.apply_logged(&batch).expect("the second half");
    }
    assert!(slowed > 100 && waited > 10, "{slowed} slowed, {waited} waited");
    assert_eq!(slowed, plain.stats().slowed);
    assert_equal(&paced, &model, None);
    assert!(ours.snapshot() == theirs.snapshot(), "the files differ");
}

#[test]
fn between_the_halves_readers_see_nothing_and_steps_go_on() {
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options()).expect("a store");
    let read = |db: &Db| db.get(b"k", rig::CHECKED, None).expect("a read");
    for i in 0..2000u32 {
        db.put(&i.to_be_bytes(), &[1; 100], false).expect("a write");
    }
    let mut batch = WriteBatch::new();
    batch.put(b"k", b"v");
    while db.ask_room(false, db.backlog()).expect("an answer") != WriteRoom::Ready {
        db.step().expect("a step");
    }
    db.log_batch(&mut batch, true).expect("the first half");
    assert_eq!(read(&db), None);
    assert!(db.put(b"other", b"", false).is_err(), "a write between the halves");
    assert!(db.compact_range(None, None).is_err(), "a new log between the halves");
    assert!(db.ask_room(true, db.backlog()).is_err(), "another write between the halves");
    assert!(db.log_batch(&mut batch.clone(), true).is_err(), "the same half twice");
    db.settle().expect("steps");
    db.apply_logged(&batch).expect("the second half");
    assert_eq!(read(&db).as_deref(), Some(b"v".as_slice()));
    assert!(db.apply_logged(&batch).is_err(), "the second half twice");
}

/// Write keys after `last` while a caller that has `seen` this much may. Returns the last one written.
fn write_while_ready(db: &mut Db, seen: Backlog, mut last: u32) -> u32 {
    while db.ask_room(false, seen).expect("an answer") == WriteRoom::Ready {
        last += 1;
        let mut batch = WriteBatch::new();
        batch.put(&last.to_be_bytes(), &[1; 1000]);
        db.log_batch(&mut batch, false).expect("the first half");
        db.apply_logged(&batch).expect("the second half");
    }
    last
}

#[test]
fn a_caller_waits_for_what_it_has_not_seen_done() {
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options()).expect("a store");
    let mut n = 0u32;
    while !db.backlog().full {
        n += 1;
        db.put(&n.to_be_bytes(), &[1; 1000], false).expect("a write");
    }
    let before = db.backlog();
    db.settle().expect("steps");
    write_while_ready(&mut db, before, n);
    assert_eq!(db.ask_room(false, before).expect("an answer"), WriteRoom::Wait);
    let now = db.backlog();
    assert_eq!(db.ask_room(false, now).expect("an answer"), WriteRoom::Ready);
}

#[test]
fn a_caller_waits_for_tables_that_the_engine_has_compacted_before_it() {
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options()).expect("a store");
    assert_eq!(db.next_work(), NextWork::Nothing);
    let seen = Backlog { full: false, level0: 12 };
    let n = write_while_ready(&mut db, seen, 0);
    assert_eq!((db.ask_room(false, seen).expect("an answer"), n > 20), (WriteRoom::Wait, true));
    assert_eq!(db.next_work(), NextWork::Nothing, "its memtable is not put aside yet");
    assert_eq!(db.ask_room(false, db.backlog()).expect("an answer"), WriteRoom::Ready);
}
