//! What the file layer has acknowledged is on the drive after a cut at any moment, whoever else writes, syncs, renames
//! or removes, and whatever is written back meanwhile; and every state found there existed at some moment since.

use crate::device::{Drive, Pages, mount};
use ssd_core::rng::Stream;
use ssd_host::fs::{Fs, FsSettings, PAGE};
use ssd_kv::vfs::{AppendOutcome, VFile, Vfs};
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// Pages of the drive.
const PAGES: u32 = 700;
/// The actor that writes back what is old; the actors before it are clients.
const WRITE_BACK: usize = 4;

struct Contents {
    handle: Option<Box<dyn VFile>>,
    bytes: Vec<u8>,
    /// Bytes that a sync has acknowledged.
    durable: usize,
}

/// What a call promises when it returns: the state of names at its time, and this many bytes of a file.
struct Promise {
    names: usize,
    file: Option<(u64, usize)>,
}

/// Names and their files.
type Names = BTreeMap<String, u64>;

/// What a run has done.
#[derive(Default, Debug)]
struct RunCounts {
    synced: u64,
    synced_by_others: u64,
    removed: u64,
    renamed: u64,
    shared: u64,
    cuts: u64,
    mounts: u64,
}

struct Run {
    fs: Fs,
    drive: Drive,
    random: Stream,
    settings: FsSettings,
    files: BTreeMap<u64, Contents>,
    /// Names after each call that changed some, and how many of these states are acknowledged.
    states: Vec<Names>,
    acknowledged: usize,
    promises: BTreeMap<usize, Promise>,
    now: u64,
    done: RunCounts,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Stream::new(seed, "acknowledged");
        let settings = FsSettings {
            cache_pages: 64,
            dirty_pages: [3, 40][random.below(2) as usize],
            dirty_age_ns: 1000,
            set_aside_pages: [0, 2, 8][random.below(3) as usize],
            discard: random.below(4) > 0,
            keeps_data: true,
            flushes: seed % 2 == 1,
            copies: true,
            ..FsSettings::default()
        };
        let fs = Fs::format(PAGES, settings).expect("a file system");
        let mut drive = Drive::with_buffer(settings.flushes);
        drive.play(&fs, &mut |_| ());
        Run {
            fs,
            drive,
            random,
            settings,
            files: BTreeMap::new(),
            states: vec![Names::new()],
            acknowledged: 0,
            promises: BTreeMap::new(),
            now: 0,
            done: RunCounts::default(),
        }
    }

    fn names(&self) -> &Names {
        self.states.last().expect("a state")
    }

    fn any(&mut self) -> Option<(String, u64)> {
        let at = self.random.below(self.names().len().max(1) as u64) as usize;
        self.names().iter().nth(at).map(|(name, &file)| (name.clone(), file))
    }

    /// A change of names.
    fn rename(&mut self, change: impl FnOnce(&mut Names)) {
        let mut names = self.names().clone();
        change(&mut names);
        self.states.push(names);
    }

    fn bytes(&mut self) -> Vec<u8> {
        let most = if self.random.below(4) == 0 { 30_000 } else { 3000 };
        let length = self.random.below(most);
        (0..length).map(|_| 1 + self.random.below(255) as u8).collect()
    }

    /// A client calls the file layer.
    fn call(&mut self, actor: usize) {
        let name = self.any();
        match (self.random.below(16), name) {
            (0 | 1, _) if self.names().len() < 12 => {
                let file = self.files.len() as u64;
                let name = format!("{file:06}.ldb");
                let handle = Some(self.fs.create(&name).expect("a file"));
                self.files.insert(file, Contents { handle, bytes: Vec::new(), durable: 0 });
                self.rename(|names| _ = names.insert(name, file));
            }
            (2, Some((name, file))) if self.names().len() > 5 => {
                self.fs.remove(&name).expect("it is there");
                let contents = self.files.get_mut(&file).expect("a file");
                // A handle keeps the pages for a while.
                if self.random.below(2) == 0 {
                    contents.handle = None;
                }
                self.rename(|names| _ = names.remove(&name));
                self.done.removed += 1;
            }
            (3, Some((name, file))) => {
                let to = ["CURRENT", "000001.log"][self.random.below(2) as usize];
                self.fs.rename(&name, to).expect("it is there");
                self.rename(|names| {
                    names.remove(&name);
                    names.insert(to.to_owned(), file);
                });
                self.done.renamed += 1;
            }
            (4, _) => {
                self.fs.sync_dir().expect("room");
                let promise = Promise { names: self.states.len() - 1, file: None };
                self.promises.insert(actor, promise);
            }
            (5..8, Some((_, file))) => self.sync(actor, file),
            (8, Some((to, file))) => self.share(&to, file),
            (9, Some((name, _))) => {
                let reader = self.fs.open(&name).expect("it is there");
                let mut buffer = vec![0; 9000];
                reader.read_at(self.random.below(20_000), &mut buffer).expect("a read");
            }
            (_, Some((_, file))) => {
                let bytes = self.bytes();
                let contents = self.files.get_mut(&file).expect("a file");
                let Some(handle) = &mut contents.handle else { return };
                match handle.append(&bytes) {
                    Ok(()) => contents.bytes.extend(bytes),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::StorageFull),
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, actor: usize, file: u64) {
        let commits = self.fs.counts().commits;
        let contents = self.files.get_mut(&file).expect("a file");
        let Some(handle) = &mut contents.handle else { return };
        handle.sync().expect("room");
        let (names, length) = (self.states.len() - 1, contents.bytes.len());
        self.promises.insert(actor, Promise { names, file: Some((file, length)) });
        self.done.synced += 1;
        self.done.synced_by_others += u64::from(self.fs.counts().commits == commits);
    }

    /// Let a file take over whole pages of another.
    fn share(&mut self, to: &str, file: u64) {
        let Some((from, source)) = self.any().filter(|(from, _)| from != to) else { return };
        let pages = self.files[&source].bytes.len() / PAGE;
        let reader = self.fs.open(&from).expect("it is there");
        if pages == 0 {
            return;
        }
        let first = self.random.below(pages as u64) as usize * PAGE;
        let part = self.files[&source].bytes[first..pages * PAGE].to_vec();
        let contents = self.files.get_mut(&file).expect("a file");
        let Some(handle) = &mut contents.handle else { return };
        let rest = contents.bytes.len().next_multiple_of(PAGE) - contents.bytes.len();
        if handle.append(&vec![7; rest]).is_ok() {
            contents.bytes.extend(vec![7; rest]);
            if let Ok(how) = handle.append_shared(&*reader, first as u64, &part) {
                contents.bytes.extend(part);
                self.done.shared += u64::from(how == AppendOutcome::Shared);
            }
        }
    }

    /// Let something happen: a call, the next node of an actor, or the end of a request.
    fn step(&mut self) {
        let actor = self.random.below(WRITE_BACK as u64 + 1) as usize;
        if self.random.below(3) == 0 && self.drive.under_way() > 0 {
            let at = self.random.below(self.drive.under_way() as u64) as usize;
            self.drive.end(at, &self.fs);
        } else if !self.drive.is_idle(actor) {
            self.drive.go_on(actor, &self.fs);
        } else if actor == WRITE_BACK {
            if self.random.below(8) == 0 {
                self.now += self.random.below(2000);
                self.fs.set_now(self.now);
                self.fs.write_back().expect("room");
            }
        } else {
            self.call(actor);
        }
        self.drive.note(actor, &self.fs);
        self.acknowledge();
    }

    /// Expect calls that have returned to keep their promises from now on.
    fn acknowledge(&mut self) {
        let promises = std::mem::take(&mut self.promises);
        for (actor, promise) in promises {
            if !self.drive.is_idle(actor) {
                self.promises.insert(actor, promise);
                continue;
            }
            self.acknowledged = self.acknowledged.max(promise.names);
            if let Some((file, length)) = promise.file {
                let contents = self.files.get_mut(&file).expect("a file");
                contents.durable = contents.durable.max(length);
            }
        }
    }

    /// Whether these names and files are a possible state.
    fn may_be(&self, names: &Names, found: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        if !names.keys().eq(found.keys()) {
            return Err(format!("{:?} instead of {:?}", found.keys(), names.keys()));
        }
        for (name, bytes) in found {
            let contents = &self.files[&names[name]];
            let (length, durable) = (bytes.len(), contents.durable);
            if !contents.bytes.starts_with(bytes) {
                return Err(format!("{name} has other bytes"));
            }
            if length < durable {
                return Err(format!("{name} has {length} bytes of {durable} that were synced"));
            }
        }
        Ok(())
    }

    /// Cut the power now. Returns what the cut leaves, and the files in that.
    fn cut(&mut self) -> (Pages, Fs) {
        self.done.cuts += 1;
        let left = self.drive.cut(&mut self.random);
        let fs = mount(&left, self.settings).unwrap_or_else(|why| panic!("{:?}: {why}", self.done));
        let found: BTreeMap<String, Vec<u8>> = fs.files().into_iter().collect();
        let mut why = String::new();
        for names in &self.states[self.acknowledged..] {
            match self.may_be(names, &found) {
                Ok(()) => return (left, fs),
                Err(reason) => why = reason,
            }
        }
        panic!("{why}, {:?}", self.done);
    }

    /// Continue the run after a cut.
    fn restart(&mut self) {
        let (left, fs) = self.cut();
        (self.drive, self.fs) = (self.drive.restarted(left), fs);
        self.promises.clear();
        self.files.values_mut().for_each(|contents| contents.handle = None);
        let mut names = Names::new();
        for (name, bytes) in self.fs.files() {
            let file = self.files.len() as u64;
            let durable = bytes.len();
            self.files.insert(file, Contents { handle: None, bytes, durable });
            names.insert(name, file);
        }
        (self.states, self.acknowledged) = (vec![names], 0);
        self.fs.set_now(self.now);
        self.done.mounts += 1;
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_cut_at_any_moment() {
    let mut least = u64::MAX;
    for seed in 0..8 {
        let mut run = Run::new(seed);
        for _ in 0..6000 {
            run.step();
            match run.random.below(400) {
                0 => run.restart(),
                1..40 => drop(run.cut()),
                _ => {}
            }
        }
        let done = &run.done;
        let kinds = [done.synced, done.synced_by_others, done.removed, done.renamed, done.shared];
        least = kinds.into_iter().min().map_or(0, |few| few.min(least));
    }
    assert!(least > 3, "a kind of call is too rare");
}
