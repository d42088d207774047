//! A file takes over pages of another: the drive copies them, and a cut leaves what was synced.

use crate::device::{Drive, Pages, mount};
use ssd_core::host::request::Op;
use ssd_host::fs::{Fs, FsSettings, Node, PAGE};
use ssd_kv::vfs::{AppendOutcome, VFile, Vfs};

fn settings(copies: bool) -> FsSettings {
    FsSettings { set_aside_pages: 3, keeps_data: true, copies, ..FsSettings::default() }
}

fn bytes(pages: usize) -> Vec<u8> {
    (0..pages * PAGE).map(|at| 1 + (at / 7 % 251) as u8).collect()
}

/// A synced file with this many pages, an empty one, and the bytes of the first.
fn two_files(fs: &Fs, pages: usize) -> (Box<dyn VFile>, Box<dyn VFile>, Vec<u8>) {
    let (mut old, data) = (fs.create("000001.ldb").expect("a file"), bytes(pages));
    let new = fs.create("000002.ldb").expect("a file");
    old.append(&data).expect("room");
    old.sync().expect("a sync");
    (old, new, data)
}

/// Pages written, pages copied, and the files at the end, with cuts at every step on the way.
fn run(copies: bool) -> (usize, u64, Vec<(String, Vec<u8>)>) {
    let fs = Fs::format(1200, settings(copies)).expect("a file system");
    let (mut drive, mut states, data) = (Drive::default(), Vec::<Pages>::new(), bytes(20));
    let mut play = |fs: &Fs| {
        drive.play(fs, &mut |drive| states.push(drive.flash.clone()));
        states.len()
    };
    let mut old = fs.create("000001.ldb").expect("a file");
    // Two files that grow in turn, so that the source has several extents.
    let mut other = fs.create("000002.ldb").expect("a file");
    for piece in data.chunks(5 * PAGE) {
        old.append(piece).expect("room");
        old.sync().expect("a sync");
        other.append(piece).expect("room");
        other.sync().expect("a sync");
    }
    play(&fs);
    let mut new = fs.create("000003.ldb").expect("a file");
    new.append(&data[..PAGE]).expect("room");
    for (from, to) in [(3, 12), (12, 13), (14, 20)] {
        let part = &data[from * PAGE..to * PAGE];
        let done = new.append_shared(&*old, (from * PAGE) as u64, part).expect("room");
        assert_eq!(done == AppendOutcome::Shared, copies);
    }
    new.append(&data[..100]).expect("room");
    new.sync().expect("a sync");
    let (synced, whole) = (play(&fs), fs.files());
    drop(old);
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    play(&fs);
    for (cut, pages) in states.iter().enumerate() {
        let found = mount(pages, settings(copies)).expect("it mounts").files();
        for (name, found) in &found {
            let whole = &whole.iter().find(|file| file.0 == *name).expect("a known name").1;
            assert!(whole.starts_with(found), "cut {cut}: {name} has other bytes");
        }
        let new = found.iter().find(|file| file.0 == "000003.ldb");
        assert!(cut + 1 < synced || new.is_some_and(|file| file.1.len() == 17 * PAGE + 100));
    }
    (drive.programs, fs.counts().copied.iter().sum(), fs.files())
}

#[test]
fn copies_leave_the_same_files_and_save_the_pages_that_they_copy() {
    let ((written, none, plain), (less, copied, shared)) = (run(false), run(true));
    assert_eq!((none, copied), (0, 16));
    assert!(plain == shared, "the same files");
    assert_eq!(written - less, copied as usize, "programs differ by the copied pages");
}

#[test]
fn what_is_not_whole_or_not_on_the_drive_is_appended() {
    let fs = Fs::format(1200, settings(true)).expect("a file system");
    let (mut old, data) = (fs.create("000001.ldb").expect("a file"), bytes(4));
    let mut new = fs.create("000002.ldb").expect("a file");
    old.append(&data).expect("room");
    assert_eq!(new.append_shared(&*old, 0, &data).expect("room"), AppendOutcome::Copied, "dirty");
    old.sync().expect("a sync");
    let part = &data[100..PAGE + 100];
    assert_eq!(
        new.append_shared(&*old, 100, part).expect("room"),
        AppendOutcome::Copied,
        "unaligned"
    );
    assert_eq!(
        new.append_shared(&*old, 0, &data[..99]).expect("room"),
        AppendOutcome::Copied,
        "odd"
    );
    assert_eq!(fs.counts().copied.iter().sum::<u64>(), 0);
    // Also of a removed file that is still open.
    let fs = Fs::format(1200, settings(true)).expect("a file system");
    let (old, mut new, data) = two_files(&fs, 4);
    fs.remove("000001.ldb").expect("it is there");
    assert_eq!(new.append_shared(&*old, 0, &data).expect("room"), AppendOutcome::Copied, "removed");
}

#[test]
fn pages_taken_over_are_read_from_the_drive_unless_the_cache_keeps_them() {
    for (keeps, misses) in [(false, 1), (true, 0)] {
        let settings = FsSettings { cache_shared: keeps, ..settings(true) };
        let fs = Fs::format(1200, settings).expect("a file system");
        let (old, mut new, data) = two_files(&fs, 4);
        let done = new.append_shared(&*old, 0, &data).expect("room");
        assert_eq!(done, AppendOutcome::Shared);
        new.sync().expect("a sync");
        let mut found = [0; PAGE];
        let reader = fs.open("000002.ldb").expect("it is there");
        reader.read_at(0, &mut found).expect("a read");
        assert_eq!((fs.counts().misses, &found[..]), (misses, &data[..PAGE]));
    }
}

#[test]
fn a_copy_has_no_more_pages_than_the_drive_accepts() {
    let fs = Fs::format(1200, FsSettings { copy_pages: 3, ..settings(true) }).expect("room");
    let (old, mut new, data) = two_files(&fs, 10);
    drop(fs.take_nodes());
    new.append_shared(&*old, 0, &data).expect("room");
    new.sync().expect("a sync");
    let mut copied = Vec::new();
    for node in fs.take_nodes() {
        let Node::Io(all) = node else { continue };
        copied.extend(all.iter().filter(|one| one.op == Op::Copy).map(|one| one.extent.pages));
    }
    assert_eq!((copied.iter().sum::<u32>(), copied.iter().max()), (10, Some(&3)));
}

#[test]
fn a_copy_waits_until_its_source_is_written() {
    let fs = Fs::format(1200, settings(true)).expect("a file system");
    let (old, mut new, data) = two_files(&fs, 4);
    drop(fs.take_nodes());
    assert_eq!(new.append_shared(&*old, 0, &data).expect("room"), AppendOutcome::Shared);
    new.sync().expect("a sync");
    let nodes = fs.take_nodes();
    let copies = |node: &Node| matches!(node, Node::Io(all) if all[0].op == Op::Copy);
    let copy = nodes.iter().position(copies).expect("a copy");
    assert!(
        nodes[..copy].iter().any(|node| matches!(node, Node::After(..))),
        "its source is written"
    );
}
