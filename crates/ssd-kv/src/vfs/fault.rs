//! A file layer that injects faults: errors at the n-th call, and crashes that lose unsynced data.
//!
//! Faults: an I/O error at a chosen call, or at all calls from it on (a failing append writes a part); a
//! crash that truncates every file to its last synced length, or to a length between that and its current
//! one; a crash that also undoes creations, renames and removals since the last `sync_dir`.

use super::memory::{MemoryVfs, SharedLock, locked};
use super::{AppendOutcome, VFile, Vfs};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// When calls fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// Never.
    #[default]
    None,
    /// Only the call with this number, counted from 0.
    At(u64),
    /// The call with this number and all later calls that write: as if the medium became read-only.
    From(u64),
}

/// What remains of unsynced data after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Nothing; names stay.
    DropUnsynced,
    /// A part, chosen by this seed; names stay.
    Torn(u64),
    /// Nothing, and names are those of the last `sync_dir`.
    DropUnsyncedNames,
}

/// A directory in memory whose calls can be made to fail. Clones are the same directory.
#[derive(Clone, Default)]
pub struct FaultVfs {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    contents: BTreeMap<u64, File>,
    next: u64,
    calls: u64,
    faults: Faults,
    lock: SharedLock,
    /// Bytes shared by `append_shared`, if it shares.
    shared: Option<u64>,
}

#[derive(Default)]
struct File {
    data: Vec<u8>,
    synced: usize,
}

impl State {
    /// What must hold between calls.
    fn check(&self) {
        let mut ids = self.names.values().chain(self.durable_names.values());
        assert!(ids.all(|id| self.contents.contains_key(id)), "a name of no contents");
        assert!(
            self.contents.last_key_value().is_none_or(|(&id, _)| id < self.next),
            "an id given twice"
        );
        assert!(self.contents.values().all(|f| f.synced <= f.data.len()), "durable, not written");
        let mut ids: Vec<u64> = self.names.values().copied().collect();
        ids.sort_unstable();
        assert!(ids.array_windows().all(|[a, b]| a < b), "two names of a file");
        let mut ids: Vec<u64> = self.durable_names.values().copied().collect();
        ids.sort_unstable();
        assert!(ids.array_windows().all(|[a, b]| a < b), "two durable names of a file");
    }

    /// Count a call; `writes` is true if it changes the medium.
    fn call(&mut self, writes: bool) -> io::Result<()> {
        let number = self.calls;
        self.calls += 1;
        let fails = match self.faults {
            Faults::None => false,
            Faults::At(n) => number == n,
            Faults::From(n) => writes && number >= n,
        };
        if fails { Err(io::Error::other(format!("injected at call {number}"))) } else { Ok(()) }
    }
}

impl FaultVfs {
    /// An empty directory without faults.
    #[must_use]
    pub fn new() -> FaultVfs {
        FaultVfs::default()
    }

    /// From now on `append_shared` shares. A share that fails copies, in a further call.
    #[must_use]
    pub fn sharing(self) -> FaultVfs {
        locked(&self.state).shared = Some(0);
        self
    }

    /// Bytes that were shared.
    #[must_use]
    pub fn shared(&self) -> u64 {
        locked(&self.state).shared.unwrap_or(0)
    }

    /// The files of `directory`, all synced.
    #[must_use]
    pub fn of(directory: &MemoryVfs) -> FaultVfs {
        let mut state = State::default();
        for (id, (name, data)) in (0..).zip(directory.snapshot()) {
            state.names.insert(name, id);
            let synced = data.len();
            state.contents.insert(id, File { data, synced });
            state.next = id + 1;
        }
        state.durable_names = state.names.clone();
        state.check();
        FaultVfs { state: Arc::new(Mutex::new(state)) }
    }

    /// Inject `faults` from now on; the count of calls restarts.
    pub fn inject(&self, faults: Faults) {
        let mut state = locked(&self.state);
        state.calls = 0;
        state.faults = faults;
    }

    /// Calls since the last `inject`.
    #[must_use]
    pub fn calls(&self) -> u64 {
        locked(&self.state).calls
    }

    /// All files as they are now.
    #[must_use]
    pub fn files(&self) -> MemoryVfs {
        let state = locked(&self.state);
        let names = state.names.iter();
        MemoryVfs::of(names.map(|(n, id)| (n.clone(), state.contents[id].data.clone())).collect())
    }

    /// The files that a crash at this moment would leave. This directory is not changed.
    #[must_use]
    pub fn crash(&self, reset: Reset) -> MemoryVfs {
        let state = locked(&self.state);
        let names =
            if reset == Reset::DropUnsyncedNames { &state.durable_names } else { &state.names };
        let mut files = BTreeMap::new();
        for (name, id) in names {
            let file = &state.contents[id];
            assert!(file.synced <= file.data.len(), "{name}: durable, but not written");
            let loose = (file.data.len() - file.synced) as u64;
            let length = match reset {
                Reset::Torn(seed) => {
                    (seed ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(23) % (loose + 1)
                }
                _ => 0,
            };
            assert!(length <= loose, "{name}: more is kept than was written");
            files.insert(name.clone(), file.data[..file.synced + length as usize].to_vec());
        }
        MemoryVfs::of(files)
    }
}

impl Vfs for FaultVfs {
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>> {
        let mut state = locked(&self.state);
        state.call(true)?;
        let id = state.next;
        state.next += 1;
        assert!(!state.contents.contains_key(&id), "an id given twice");
        state.contents.insert(id, File::default());
        state.names.insert(name.to_owned(), id);
        state.check();
        Ok(Box::new(Handle { state: self.state.clone(), id }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>> {
        let mut state = locked(&self.state);
        state.call(false)?;
        let id = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        assert!(state.contents.contains_key(&id), "{name}: a name of no contents");
        Ok(Arc::new(Handle { state: self.state.clone(), id }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = locked(&self.state);
        state.call(true)?;
        let id = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), id);
        state.check();
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = locked(&self.state);
        state.call(true)?;
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.check();
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = locked(&self.state);
        state.call(false)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = locked(&self.state);
        state.call(true)?;
        state.durable_names = state.names.clone();
        state.check();
        Ok(())
    }

    fn create_dir(&self) -> io::Result<()> {
        locked(&self.state).call(true)
    }

    fn remove_dir(&self) -> io::Result<()> {
        locked(&self.state).call(true)
    }

    fn go_on(&self) -> io::Result<()> {
        locked(&self.state).call(false)
    }

    fn lock(&self, _: &str) -> io::Result<Box<dyn Send + Sync>> {
        let mut state = locked(&self.state);
        state.call(false)?;
        state.lock.take()?;
        Ok(Box::new(Lock(self.state.clone())))
    }

    fn lock_shared(&self, _: &str) -> io::Result<Box<dyn Send + Sync>> {
        let mut state = locked(&self.state);
        state.call(false)?;
        state.lock.share()?;
        Ok(Box::new(Lock(self.state.clone())))
    }
}

struct Lock(Arc<Mutex<State>>);

impl Drop for Lock {
    fn drop(&mut self) {
        debug_assert!(locked(&self.0).lock != SharedLock::Free, "a lock is released once");
        locked(&self.0).lock.release();
    }
}

struct Handle {
    state: Arc<Mutex<State>>,
    id: u64,
}

impl Handle {
    /// Share bytes of another file of the directory; None if they cannot be shared.
    fn share(&self, from: &dyn VFile, offset: u64, length: usize) -> Option<()> {
        let from = (from as &dyn Any).downcast_ref::<Handle>()?;
        let mut state = locked(&self.state);
        let shared = state.shared?;
        state.call(true).ok()?;
        let source = &state.contents[&from.id];
        let start = usize::try_from(offset).ok()?;
        assert!(source.synced >= start + length, "shared bytes are durable");
        assert_ne!(from.id, self.id, "a file shares with itself");
        let data = source.data[start..start + length].to_vec();
        state.shared = Some(shared + data.len() as u64);
        state.contents.get_mut(&self.id)?.data.extend_from_slice(&data);
        Some(())
    }
}

impl VFile for Handle {
    fn append(&mut self, data: &[u8]) -> io::Result<()> {
        let mut state = locked(&self.state);
        let result = state.call(true);
        assert!(state.contents.contains_key(&self.id), "contents stay, whatever happens to names");
        let written = if result.is_ok() { data } else { &data[..data.len() / 2] };
        if let Some(file) = state.contents.get_mut(&self.id) {
            file.data.extend_from_slice(written);
            debug_assert!(file.synced <= file.data.len(), "durable, not written");
        }
        result
    }

    fn append_shared(
        &mut self,
        from: &dyn VFile,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<AppendOutcome> {
        if self.share(from, offset, bytes.len()).is_some() {
            return Ok(AppendOutcome::Shared);
        }
        self.append(bytes)?;
        Ok(AppendOutcome::Copied)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = locked(&self.state);
        state.call(false)?;
        assert!(state.contents.contains_key(&self.id), "contents stay, whatever happens to names");
        // By its number: an open file can still be read when its name is gone.
        let data = &state.contents[&self.id].data;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        let length = buffer.len().min(data.len() - start);
        buffer[..length].copy_from_slice(&data[start..start + length]);
        Ok(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = locked(&self.state);
        state.call(true)?;
        assert!(state.contents.contains_key(&self.id), "contents stay, whatever happens to names");
        if let Some(file) = state.contents.get_mut(&self.id) {
            file.synced = file.data.len();
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut state = locked(&self.state);
        state.call(false)?;
        assert!(state.contents.contains_key(&self.id), "contents stay, whatever happens to names");
        Ok(state.contents[&self.id].data.len() as u64)
    }
}
