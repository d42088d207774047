//! The file layer: what a sync has made durable is there after a cut at any write, and mount needs the pages only.

use ssd_core::host::request::{Op, flags};
use ssd_core::rng::Stream;
use ssd_host::fs::{Fs, FsSettings, Node, Noted, PAGE};
use ssd_kv::vfs::{VFile, Vfs};
use std::collections::BTreeMap;

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

/// The pages of a drive, and all writes to them in order.
#[derive(Default)]
struct Drive {
    writes: Vec<(u32, Vec<u8>)>,
}

impl Drive {
    /// Do all that has been noted, in order.
    fn play(&mut self, fs: &Fs) {
        for node in fs.take_nodes() {
            match node {
                Node::Io(all) | Node::Ahead(all) => {
                    for one in all {
                        if one.op == Op::Write {
                            let data = one.data.as_deref().expect("data");
                            let pages = data.chunks(PAGE).map(<[u8]>::to_vec);
                            self.writes.extend((one.extent.start..).zip(pages));
                        }
                        fs.done(one.number);
                    }
                }
                Node::Barrier(number) => assert!(fs.is_past(number), "what was noted is done"),
                Node::After(first, last) => assert!(fs.are_done(first, last)),
                Node::Free(extents) => fs.freed(&extents),
                Node::Cpu(_) => {}
            }
        }
    }

    /// Mount what the first `writes` writes have left.
    fn mount(&self, writes: usize) -> Result<Fs, String> {
        self.mount_as(settings(), writes)
    }

    fn mount_as(&self, settings: FsSettings, writes: usize) -> Result<Fs, String> {
        let mut pages = BTreeMap::new();
        for (page, data) in &self.writes[..writes] {
            pages.insert(*page, data);
        }
        Fs::mount(settings, &mut |page| {
            Ok(pages.get(&page).map_or_else(|| vec![0; PAGE], |data| (*data).clone()))
        })
    }
}

/// What must be there after a cut behind so many writes: synced contents, all contents; `None`: removed.
type Mark = (usize, String, Option<(Vec<u8>, Vec<u8>)>);

struct Run {
    fs: Fs,
    drive: Drive,
    random: Stream,
    open: BTreeMap<String, (Box<dyn VFile>, Vec<u8>)>,
    marks: Vec<Mark>,
    number: u32,
}

impl Run {
    fn new(seed: u64) -> Run {
        let fs = Fs::format(PAGES, settings()).expect("a file system");
        let (drive, random) = (Drive::default(), Stream::new(seed, "files"));
        let (open, marks) = (BTreeMap::new(), Vec::new());
        let mut run = Run { fs, drive, random, open, marks, number: 0 };
        run.drive.play(&run.fs);
        run
    }

    fn any(&mut self) -> Option<String> {
        let at = self.random.below(self.open.len().max(1) as u64) as usize;
        self.open.keys().nth(at).cloned()
    }

    fn step(&mut self) {
        match self.random.below(12) {
            0 => {
                self.number += 1;
                let name = format!("{:06}.ldb", self.number);
                let file = self.fs.create(&name).expect("a file");
                self.open.insert(name, (file, Vec::new()));
            }
            1 if self.open.len() > 6 => {
                let Some(name) = self.any() else { return };
                self.open.remove(&name);
                self.fs.remove(&name).expect("it is there");
                self.fs.sync_dir().expect("a sync");
                self.drive.play(&self.fs);
                self.marks.push((self.drive.writes.len(), name, None));
            }
            2 => self.fs.write_back().expect("a write back"),
            3..5 => {
                let Some(name) = self.any() else { return };
                let (file, data) = self.open.get_mut(&name).expect("it is open");
                file.sync().expect("a sync");
                let synced = data.clone();
                self.drive.play(&self.fs);
                self.marks.push((self.drive.writes.len(), name, Some((synced, Vec::new()))));
            }
            _ => {
                let Some(name) = self.any() else { return };
                let most = if self.random.below(4) == 0 { 30_000 } else { 3000 };
                let bytes: Vec<u8> = (0..self.random.below(most))
                    .map(|_| 1 + self.random.below(255) as u8)
                    .collect();
                let (file, data) = self.open.get_mut(&name).expect("it is open");
                match file.append(&bytes) {
                    Ok(()) => data.extend(bytes),
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::StorageFull),
                }
            }
        }
        self.drive.play(&self.fs);
    }
}

#[test]
fn what_was_synced_is_there_after_a_cut_at_any_write() {
    for seed in 0..6 {
        let mut run = Run::new(seed);
        (0..900).for_each(|_| run.step());
        let mut whole: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (_, name, state) in &run.marks {
            if let Some((synced, _)) = state {
                whole.insert(name.clone(), synced.clone());
            }
        }
        whole.extend(run.open.iter().map(|(name, (_, data))| (name.clone(), data.clone())));
        assert!(run.fs.counts().commits > 100 && run.fs.counts().discarded > 50);
        for cut in 1..=run.drive.writes.len() {
            let fs = run.drive.mount(cut).unwrap_or_else(|why| panic!("cut {cut}: {why}"));
            let files: BTreeMap<_, _> = fs.files().into_iter().collect();
            let last: BTreeMap<_, _> = (run.marks.iter())
                .filter(|mark| mark.0 <= cut)
                .map(|(_, name, state)| (name, state))
                .collect();
            for (name, state) in last {
                match (state, files.get(name)) {
                    (None, found) => assert!(found.is_none(), "cut {cut}: {name} is back"),
                    (Some((synced, _)), Some(found)) => {
                        assert!(found.starts_with(synced), "cut {cut}: {name} lacks synced bytes");
                    }
                    (Some(_), None) => {
                        let removed = |mark: &&Mark| mark.1 == *name && mark.2.is_none();
                        let later = run.marks.iter().find(removed);
                        assert!(later.is_some(), "cut {cut}: {name} is gone");
                    }
                }
            }
            for (name, found) in &files {
                if let Some(whole) = whole.get(name) {
                    let length = found.len().min(whole.len());
                    assert!(
                        found[..length] == whole[..length],
                        "cut {cut}: {name} has other bytes"
                    );
                }
            }
        }
    }
}

#[test]
fn a_file_system_goes_on_after_each_mount() {
    let mut run = Run::new(11);
    for round in 0..40 {
        (0..60).for_each(|_| run.step());
        let names: Vec<String> = run.open.keys().cloned().collect();
        for name in names {
            run.open.get_mut(&name).expect("open").0.sync().expect("a sync");
            run.drive.play(&run.fs);
        }
        let cut = run.drive.writes.len();
        let fs = run.drive.mount(cut).unwrap_or_else(|why| panic!("round {round}: {why}"));
        let found: BTreeMap<_, _> = fs.files().into_iter().collect();
        let held = run.open.iter().map(|(name, (_, data))| (name.clone(), data.clone()));
        assert!(found == held.collect(), "round {round}");
        run.fs = fs;
        // Handles of the old one would append to it: begin new files.
        run.open = BTreeMap::new();
        for name in found.keys() {
            run.fs.remove(name).expect("it is there");
        }
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
        drive.play(&fs);
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("the file system is full"), "{error}");
    let found = drive.mount(drive.writes.len()).expect("a mount").files();
    assert_eq!(found, [("000001.ldb".to_owned(), vec![7; written])]);
    drop(file);
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    drive.play(&fs);
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
    drive.play(&fs);
    let before = fs.spare_pages().0;
    let reader = fs.open("000001.ldb").expect("it is there");
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    drive.play(&fs);
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
    drive.play(&fs);
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
    drive.play(&fs);
    // With 64 pages, those that were read ahead would leave before they are used.
    let large = FsSettings { cache_pages: 4000, ..settings() };
    // A compaction that shares blocks reads each again, a little later.
    for again in [0, 2, 9] {
        let fs = drive.mount_as(large, drive.writes.len()).expect("a mount");
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
    let fs = drive.mount_as(large, drive.writes.len()).expect("a mount");
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
    drive.play(&fs);
    fs.remove("000001.ldb").expect("it is there");
    fs.sync_dir().expect("a sync");
    let nodes = fs.take_nodes();
    let last = |of: &dyn Fn(&Noted) -> bool| {
        nodes.iter().rposition(|node| matches!(node, Node::Io(all) if all.iter().any(of)))
    };
    let commit = last(&|one| one.flags & flags::FUA != 0).expect("a commit");
    let first = nodes
        .iter()
        .position(|node| matches!(node, Node::Io(all) if all.iter().any(|one| one.op == Op::Trim)));
    assert!(first.is_some_and(|discard| discard > commit), "a cut between them loses the file");
}
