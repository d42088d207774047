//! The file layer: space, read-ahead, and the order in which requests are noted.

use crate::device::Drive;
use ssd_core::host::request::{Op, flags};
use ssd_host::fs::{Fs, FsSettings, Node, NotedRequest};
use ssd_kv::vfs::Vfs;

const PAGES: u32 = 1200;

fn settings() -> FsSettings {
    FsSettings {
        cache_pages: 64,
        dirty_pages: 40,
        set_aside_pages: 8,
        keeps_data: true,
        ..FsSettings::default()
    }
}

#[test]
fn a_full_file_system_says_so_and_keeps_what_it_has() {
    let fs = Fs::format(PAGES, settings()).expect("a file system");
    let mut drive = Drive::default();
    let mut file = fs.create("000001.ldb").expect("a file");
    let mut written = 0;
    let error = loop {
        match file.append(&[7; 50_000]) {
            Ok(()) => written += 50_000,
            Err(error) => break error,
        }
        file.sync().expect("what was taken can be written back");
        drive.play(&fs, &mut |_| ());
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("the file system is full"), "{error}");
    let found = drive.mount(settings()).expect("a mount").files();
    assert_eq!(found, [("000001.ldb".to_owned(), vec![7; written])]);
    drop(file);
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    drive.play(&fs, &mut |_| ());
    let mut file = fs.create("000002.ldb").expect("a file");
    file.append(&vec![8; written]).expect("the pages are free again");
    file.sync().expect("a sync");
}

#[test]
fn pages_are_free_when_nothing_refers_to_them_and_the_drive_has_discarded_them() {
    let fs = Fs::format(PAGES, settings()).expect("a file system");
    let mut drive = Drive::default();
    let mut file = fs.create("000001.ldb").expect("a file");
    file.append(&[7; 400_000]).expect("room");
    file.sync().expect("a sync");
    drop(file);
    drive.play(&fs, &mut |_| ());
    let before = fs.spare_pages().0;
    let reader = fs.open("000001.ldb").expect("it is there");
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    drive.play(&fs, &mut |_| ());
    assert_eq!(fs.spare_pages().0, before, "a handle refers to them");
    let mut buffer = vec![0; 400_000];
    assert_eq!(reader.read_at(0, &mut buffer).expect("a read"), 400_000);
    assert!(buffer.iter().all(|&byte| byte == 7));
    // The reads have been noted; they refer to the file until they are done.
    let noted = fs.take_nodes();
    assert!(noted.iter().any(|node| matches!(node, Node::Io(_))), "pages had left the cache");
    drop(reader);
    fs.sync_dir().expect("a sync");
    assert_eq!(fs.spare_pages(), (before, 0), "noted reads refer to them");
    drop(noted);
    fs.sync_dir().expect("a sync");
    let (spare, freeing) = fs.spare_pages();
    assert!(
        spare == before && freeing >= 98,
        "the drive has not discarded them: {spare} {freeing}"
    );
    drive.play(&fs, &mut |_| ());
    assert!(fs.spare_pages().0 >= before + 98 && fs.spare_pages().1 == 0);
}

#[test]
fn reads_in_order_are_read_ahead_and_a_small_drive_is_refused() {
    let fs = Fs::format(PAGES, FsSettings { cache_pages: 4000, ..settings() }).expect("room");
    let mut drive = Drive::default();
    let mut file = fs.create("000001.ldb").expect("a file");
    file.append(&[7; 1_000_000]).expect("room");
    file.sync().expect("a sync");
    drop(file);
    drive.play(&fs, &mut |_| ());
    // With 64 pages, those that were read ahead would be evicted before they are used.
    let large = FsSettings { cache_pages: 4000, ..settings() };
    // A compaction that shares blocks reads each block again a little later.
    for again in [0, 2, 9] {
        let fs = drive.mount(large).expect("a mount");
        let reader = fs.open("000001.ldb").expect("it is there");
        let mut buffer = [0; 4096];
        for page in 0..244_u64 {
            reader.read_at(page * 4096, &mut buffer).expect("a read");
            if again > 0 && page >= again {
                reader.read_at((page - again) * 4096, &mut buffer).expect("a read");
            }
        }
        let counts = fs.counts();
        assert_eq!(counts.misses + counts.hits, if again > 0 { 488 - again } else { 244 });
        assert!(counts.misses <= 2, "{} misses, {again} pages behind", counts.misses);
        let nodes = fs.take_nodes();
        assert!(nodes.iter().any(|node| matches!(node, Node::After(..))), "reads under way");
    }
    let fs = drive.mount(large).expect("a mount");
    let reader = fs.open("000001.ldb").expect("it is there");
    for page in [200, 40, 120, 10, 240_u64] {
        reader.read_at(page * 4096, &mut [0; 4096]).expect("a read");
    }
    assert_eq!((fs.counts().misses, fs.counts().ahead), (5, 0), "random reads");
    assert!(Fs::format(130, settings()).is_err_and(|why| why.contains("too small")));
}

#[test]
fn a_read_waits_for_what_is_being_written() {
    let fs = Fs::format(PAGES, FsSettings { cache_pages: 64, ..settings() }).expect("room");
    let mut file = fs.create("000001.log").expect("a file");
    file.append(&[7; 4000]).expect("room");
    file.sync().expect("a sync");
    // Its only page, which is not full, leaves the cache.
    let mut other = fs.create("000002.ldb").expect("a file");
    other.append(&[8; 100 * 4096]).expect("room");
    other.sync().expect("a sync");
    fs.take_nodes().clear();
    file.append(&[9; 50]).expect("room");
    let nodes = fs.take_nodes();
    let read = nodes
        .iter()
        .position(|node| matches!(node, Node::Io(all) if all.iter().any(|one| one.op == Op::Read)));
    let read = read.expect("the page is read");
    assert!(
        nodes[..read].iter().any(|node| matches!(node, Node::After(..))),
        "it is not there yet"
    );
}

#[test]
fn pages_are_discarded_after_the_removal_is_committed() {
    let fs = Fs::format(PAGES, settings()).expect("room");
    let mut drive = Drive::default();
    let mut file = fs.create("000001.ldb").expect("a file");
    file.append(&[7; 50_000]).expect("room");
    file.sync().expect("a sync");
    drop(file);
    drive.play(&fs, &mut |_| ());
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    let nodes = fs.take_nodes();
    let last = |of: &dyn Fn(&NotedRequest) -> bool| {
        nodes.iter().rposition(|node| matches!(node, Node::Io(all) if all.iter().any(of)))
    };
    let commit = last(&|one| one.flags & flags::FUA != 0).expect("a commit");
    let first = nodes
        .iter()
        .position(|node| matches!(node, Node::Io(all) if all.iter().any(|one| one.op == Op::Trim)));
    assert!(first.is_some_and(|discard| discard > commit), "a cut between them loses the file");
}
