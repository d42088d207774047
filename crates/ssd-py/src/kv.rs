//! The store for Python: opening, reading, writing, walking.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{IntoPyDict, PyBytes, PyCFunction};
use serde_json::json;
use ssd_kv::policy::{Pages, Policy, Stock};
use ssd_kv::vfs::{PosixVfs, Vfs};
use ssd_kv::{
    Background, Compression, Db, DbIter, Error, LevelStats, Options, ReadOptions, TableInfo,
    WriteBatch,
};
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

pyo3::create_exception!(
    ssdlab._core,
    KvError,
    PyException,
    "A store that cannot do what was asked."
);
pyo3::create_exception!(ssdlab._core, KvCorruptionError, KvError, "A damaged file of a store.");
pyo3::create_exception!(ssdlab._core, KvIoError, KvError, "A file of a store that cannot be used.");
pyo3::create_exception!(ssdlab._core, KvLockedError, KvError, "A store that is open elsewhere.");
pyo3::create_exception!(
    ssdlab._core,
    KvAppliedError,
    KvError,
    "A write that is made, though background work after it failed."
);
pyo3::create_exception!(
    ssdlab._core,
    KvUncertainError,
    KvError,
    "A write that may be found when the store is opened again, or not at all."
);

/// The error of a write, caused by another one.
fn caused(error: PyErr, cause: Error) -> PyErr {
    Python::attach(|py| error.set_cause(py, Some(told(cause))));
    error
}

fn told(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Applied(cause) => caused(KvAppliedError::new_err(text), *cause),
        Error::Uncertain(cause) => caused(KvUncertainError::new_err(text), *cause),
        Error::Corruption { .. } => KvCorruptionError::new_err(text),
        Error::Io { .. } => KvIoError::new_err(text),
        Error::Stopped(why) => match why.get_ref().and_then(|why| why.downcast_ref::<PyErr>()) {
            Some(raised) => Python::attach(|py| raised.clone_ref(py)),
            None => KvError::new_err(text),
        },
        Error::Locked(_) => KvLockedError::new_err(text),
        Error::Invalid(_) | Error::Poisoned(_) => KvError::new_err(text),
    }
}

/// The files of a folder. Long work on them stops when Python has got a signal that raises.
fn files(folder: PathBuf) -> Arc<dyn Vfs> {
    let go_on = || Python::attach(|py| py.check_signals()).map_err(io::Error::other);
    Arc::new(PosixVfs::new(folder).asking(go_on))
}

/// The settings, by the names of the Rust options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    create_if_missing: bool,
    error_if_exists: bool,
    paranoid_checks: bool,
    write_buffer_size: usize,
    max_open_tables: usize,
    block_cache_size: usize,
    block_size: usize,
    block_restart_interval: usize,
    max_file_size: u64,
    snappy: bool,
    bloom_bits_per_key: u32,
    eager: bool,
    pages_per_block: usize,
}

impl Settings {
    fn options(&self) -> Options {
        Options {
            create_if_missing: self.create_if_missing,
            error_if_exists: self.error_if_exists,
            paranoid_checks: self.paranoid_checks,
            write_buffer_size: self.write_buffer_size,
            max_open_tables: self.max_open_tables,
            block_cache_size: self.block_cache_size,
            block_size: self.block_size,
            block_restart_interval: self.block_restart_interval,
            max_file_size: self.max_file_size,
            compression: if self.snappy { Compression::Snappy } else { Compression::None },
            bloom_bits_per_key: Some(self.bloom_bits_per_key).filter(|&bits| bits > 0),
            background: if self.eager { Background::Eager } else { Background::Steps },
        }
    }

    fn policy(&self) -> Box<dyn Policy> {
        match self.pages_per_block {
            0 => Box::new(Stock),
            pages => Box::new(Pages::new(4096, pages)),
        }
    }
}

/// The ranges of the settings that have one, as JSON: from, to.
#[pyfunction]
pub(crate) fn kv_ranges() -> String {
    let ranges =
        ssd_kv::RANGES.iter().map(|&(name, least, most)| (name.to_owned(), json!([least, most])));
    serde_json::Value::Object(ranges.collect()).to_string()
}

/// The defaults of all settings, as JSON.
#[pyfunction]
pub(crate) fn kv_defaults() -> String {
    let o = Options::default();
    json!({
        "create_if_missing": o.create_if_missing,
        "error_if_exists": o.error_if_exists,
        "paranoid_checks": o.paranoid_checks,
        "write_buffer_size": o.write_buffer_size,
        "max_open_tables": o.max_open_tables,
        "block_cache_size": o.block_cache_size,
        "block_size": o.block_size,
        "block_restart_interval": o.block_restart_interval,
        "max_file_size": o.max_file_size,
        "snappy": o.compression == Compression::Snappy,
        "bloom_bits_per_key": o.bloom_bits_per_key.unwrap_or(0),
        "eager": o.background == Background::Eager,
        "pages_per_block": 0,
    })
    .to_string()
}

/// A store until it is closed, and the process that opened it.
struct Held {
    db: Mutex<Option<Db>>,
    process: u32,
}

type Shared = Arc<Held>;

/// This process. Kept, because asking the system takes longer than reading a pair.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Note which process this is, now and in every fork.
pub(crate) fn know_process(module: &Bound<'_, PyModule>) -> PyResult<()> {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    let again = PyCFunction::new_closure(module.py(), None, None, |_, _| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
    })?;
    let when = [("after_in_child", again)].into_py_dict(module.py())?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&when)).map(drop)
}

/// Fails in a fork of the process that opened the store: both would write to the same files, and a
/// mutex that another thread held stays locked in the fork.
fn check_process(shared: &Shared) -> PyResult<()> {
    let (opened_by, process) = (shared.process, PROCESS.load(Ordering::Relaxed));
    if opened_by == process {
        return Ok(());
    }
    Err(KvError::new_err(format!(
        "the store was opened by process {opened_by} and is of no use in its fork, process {process}"
    )))
}

thread_local! {
    /// The stores that this thread holds, the last one last.
    static HERE: RefCell<Vec<*const Held>> = const { RefCell::new(Vec::new()) };
}

/// A store held against other threads.
struct Guard<'a>(MutexGuard<'a, Option<Db>>);

impl<'a> Guard<'a> {
    fn new(shared: &Shared, store: MutexGuard<'a, Option<Db>>) -> Guard<'a> {
        HERE.with_borrow_mut(|held| held.push(Arc::as_ptr(shared)));
        Guard(store)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        HERE.with_borrow_mut(Vec::pop);
    }
}

fn is_held_here(shared: &Shared) -> bool {
    HERE.with_borrow(|held| held.contains(&Arc::as_ptr(shared)))
}

/// Long work lets signal handlers run: they cannot wait for the store that it holds.
fn check_not_held_here(shared: &Shared) -> Result<(), Error> {
    if is_held_here(shared) {
        let what = "the store is in use by what this signal interrupted: use it after the handler";
        return Err(Error::Invalid(what.to_owned()));
    }
    Ok(())
}

fn locked(shared: &Shared) -> Result<Guard<'_>, Error> {
    check_not_held_here(shared)?;
    Ok(Guard::new(shared, shared.db.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// The store, for something short. Who has it may need the interpreter, so it is not held meanwhile.
fn awaited<'a>(py: Python<'_>, shared: &'a Shared) -> Result<Guard<'a>, Error> {
    check_not_held_here(shared)?;
    loop {
        match shared.db.try_lock() {
            Ok(store) => return Ok(Guard::new(shared, store)),
            Err(TryLockError::Poisoned(store)) => {
                return Ok(Guard::new(shared, store.into_inner()));
            }
            Err(TryLockError::WouldBlock) => py.detach(|| locked(shared).map(drop))?,
        }
    }
}

/// Use the open store without holding up other threads of Python.
fn with<T: Send>(
    py: Python<'_>,
    shared: &Shared,
    f: impl FnOnce(&mut Db) -> Result<T, Error> + Send,
) -> PyResult<T> {
    check_process(shared)?;
    py.detach(|| match locked(shared)?.0.as_mut() {
        Some(db) => f(db),
        None => Err(Error::Invalid("the store is closed".to_owned())),
    })
    .map_err(told)
}

fn settle_if_eager(db: &mut Db) -> Result<(), Error> {
    match db.options().background {
        Background::Eager if db.has_work() => db.settle(),
        _ => Ok(()),
    }
}

fn read_options((verify_checksums, fill_cache): (bool, bool)) -> ReadOptions {
    ReadOptions { verify_checksums, fill_cache }
}

/// An open store.
#[pyclass(frozen)]
pub(crate) struct Store(Shared);

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, settings: Settings) -> PyResult<Store> {
        let open = || Db::open_with(files(path), settings.options(), settings.policy());
        let db = py.detach(open).map_err(told)?;
        Ok(Store(Arc::new(Held {
            db: Mutex::new(Some(db)),
            process: PROCESS.load(Ordering::Relaxed),
        })))
    }

    /// Close it. Closing it twice does nothing, nor does closing it in a fork.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if check_process(&self.0).is_err() {
            return Ok(());
        }
        py.detach(|| locked(&self.0).map(|mut store| drop(store.0.take()))).map_err(told)
    }

    /// Whether it is closed, as it is in a fork.
    fn closed(&self, py: Python<'_>) -> bool {
        // What is held here is open.
        check_process(&self.0).is_err()
            || py.detach(|| locked(&self.0).is_ok_and(|store| store.0.is_none()))
    }

    #[pyo3(signature = (key, options, snapshot=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: PyBackedBytes,
        options: (bool, bool),
        snapshot: Option<&KvSnapshot>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let snapshot = snapshot.map(|s| &s.0);
        let found = with(py, &self.0, |db| {
            let found = db.get(&key, read_options(options), snapshot)?;
            // Looks in vain may have made a compaction due. If it fails, writes are refused from now on
            // and say why; what was found is right.
            let _ = settle_if_eager(db);
            Ok(found)
        })?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    fn put(
        &self,
        py: Python<'_>,
        key: PyBackedBytes,
        value: PyBackedBytes,
        sync: bool,
    ) -> PyResult<()> {
        with(py, &self.0, |db| db.put(&key, &value, sync))
    }

    fn delete(&self, py: Python<'_>, key: PyBackedBytes, sync: bool) -> PyResult<()> {
        with(py, &self.0, |db| db.delete(&key, sync))
    }

    fn write(&self, py: Python<'_>, batch: &KvBatch, sync: bool) -> PyResult<()> {
        with(py, &self.0, |db| db.write(&batch.0, sync))
    }

    #[pyo3(signature = (options, snapshot=None))]
    fn iter(
        &self,
        py: Python<'_>,
        options: (bool, bool),
        snapshot: Option<&KvSnapshot>,
    ) -> PyResult<KvIter> {
        let snapshot = snapshot.map(|s| &s.0);
        let iter = with(py, &self.0, |db| db.iter(read_options(options), snapshot))?;
        Ok(KvIter { iter, store: self.0.clone(), failed: None })
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<KvSnapshot> {
        with(py, &self.0, |db| Ok(KvSnapshot(db.snapshot())))
    }

    fn property(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        with(py, &self.0, |db| Ok(db.property(name)))
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn compact_range(
        &self,
        py: Python<'_>,
        start: Option<PyBackedBytes>,
        stop: Option<PyBackedBytes>,
    ) -> PyResult<()> {
        // Some steps at a time, so that Ctrl-C is heard and others get in.
        let request = loop {
            let begun = with(py, &self.0, |db| {
                for _ in 0..64 {
                    if !db.is_compacting_on_request() {
                        return db.request_compaction(start.as_deref(), stop.as_deref()).map(Some);
                    }
                    db.step()?;
                }
                Ok(None)
            })?;
            if let Some(request) = begun {
                break request;
            }
            py.check_signals()?;
        };
        while with(py, &self.0, |db| {
            for _ in 0..64 {
                if !db.step_request(request)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })? {
            if let Err(interrupt) = py.check_signals() {
                with(py, &self.0, |db| {
                    db.cancel_request(request);
                    Ok(())
                })?;
                return Err(interrupt);
            }
        }
        with(py, &self.0, settle_if_eager)
    }

    fn approximate_size(
        &self,
        py: Python<'_>,
        start: PyBackedBytes,
        stop: PyBackedBytes,
    ) -> PyResult<u64> {
        with(py, &self.0, |db| db.approximate_size(&start, &stop))
    }

    /// One piece of background work; false if nothing is due.
    fn step(&self, py: Python<'_>) -> PyResult<bool> {
        with(py, &self.0, Db::step)
    }

    /// Tables, entries and bytes, all found right.
    fn verify(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let found = with(py, &self.0, |db| db.verify())?;
        Ok((found.tables, found.entries, found.bytes))
    }

    /// Work done since it was opened, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        with(py, &self.0, |db| {
            let (tables, stats) = (db.tables(), db.stats());
            let level = |(at, l): (usize, &LevelStats)| {
                let its = || tables.iter().filter(|table| table.level == at);
                json!({"tables": its().count(), "bytes": its().map(|table| table.bytes).sum::<u64>(),
                       "compactions": l.compactions,
                       "bytes_read": l.bytes_read, "bytes_written": l.bytes_written})
            };
            let levels: Vec<_> = stats.levels.iter().enumerate().map(level).collect();
            let table = |t: &TableInfo| {
                json!({"level": t.level, "number": t.number, "bytes": t.bytes,
                       "smallest": t.smallest, "largest": t.largest})
            };
            let tables: Vec<_> = tables.iter().map(table).collect();
            Ok(json!({"levels": levels, "tables": tables,
                      "moved": stats.moved, "slowed": stats.slowed,
                      "stalled_steps": stats.stalled_steps,
                      "damaged_log_records": stats.damaged_log_records,
                      "damaged_logs": stats.damaged_logs})
            .to_string())
        })
    }
}

/// Changes that are made together.
#[pyclass]
#[derive(Default)]
pub(crate) struct KvBatch(WriteBatch);

#[pymethods]
impl KvBatch {
    #[new]
    fn new() -> KvBatch {
        KvBatch::default()
    }

    fn put(&mut self, key: PyBackedBytes, value: PyBackedBytes) {
        self.0.put(&key, &value);
    }

    fn delete(&mut self, key: PyBackedBytes) {
        self.0.delete(&key);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn extend(&mut self, other: &KvBatch) {
        self.0.extend(&other.0);
    }

    fn copy(&self) -> KvBatch {
        KvBatch(self.0.clone())
    }

    /// Bytes that it takes in the log.
    fn size(&self) -> usize {
        self.0.size()
    }

    fn __len__(&self) -> usize {
        self.0.count() as usize
    }
}

/// The state of a store at one time.
#[pyclass(frozen)]
pub(crate) struct KvSnapshot(ssd_kv::Snapshot);

/// A place between the pairs of a store.
#[pyclass]
pub(crate) struct KvIter {
    iter: DbIter,
    store: Shared,
    /// Why it stands nowhere: moves fail until it is sought a place.
    failed: Option<Error>,
}

type Pair<'py> = Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>;

impl KvIter {
    fn moved(
        &mut self,
        py: Python<'_>,
        f: impl FnOnce(&mut DbIter) -> Result<(), Error>,
    ) -> PyResult<()> {
        check_process(&self.store)?;
        // A closed store lets another one change the files.
        let store = awaited(py, &self.store).map_err(told)?;
        if store.0.is_none() {
            return Err(KvError::new_err("the store is closed"));
        }
        if self.failed.is_none() {
            self.failed = f(&mut self.iter).err();
        }
        self.failed.clone().map_or(Ok(()), |error| Err(told(error)))
    }

    fn pair<'py>(&self, py: Python<'py>) -> Pair<'py> {
        let bytes = |b: &[u8]| PyBytes::new(py, b);
        self.iter.valid().then(|| (bytes(self.iter.key()), bytes(self.iter.value())))
    }
}

#[pymethods]
impl KvIter {
    /// Go before the first pair whose key is not below `key`; without a key, before the first pair.
    #[pyo3(signature = (key=None))]
    fn seek(&mut self, py: Python<'_>, key: Option<PyBackedBytes>) -> PyResult<()> {
        self.failed = None;
        self.moved(py, |iter| match &key {
            Some(key) => iter.seek(key),
            None => iter.seek_to_first(),
        })
    }

    /// Go behind the last pair.
    fn seek_to_end(&mut self, py: Python<'_>) -> PyResult<()> {
        self.failed = None;
        self.moved(py, |iter| {
            iter.seek_to_last()?;
            if iter.valid() { iter.next() } else { Ok(()) }
        })
    }

    /// The pair behind the place, which goes behind it; none at the end.
    fn forward<'py>(&mut self, py: Python<'py>) -> PyResult<Pair<'py>> {
        let pair = self.pair(py);
        if pair.is_some() || self.failed.is_some() {
            self.moved(py, DbIter::next)?;
        }
        Ok(pair)
    }

    /// The pair before the place, which goes before it; none at the begin.
    fn backward<'py>(&mut self, py: Python<'py>) -> PyResult<Pair<'py>> {
        self.moved(py, |iter| if iter.valid() { iter.prev() } else { iter.seek_to_last() })?;
        if !self.iter.valid() {
            self.moved(py, DbIter::seek_to_first)?;
            return Ok(None);
        }
        Ok(self.pair(py))
    }
}

/// Remove the store in a folder.
#[pyfunction]
pub(crate) fn kv_destroy(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| ssd_kv::destroy(files(path))).map_err(told)
}

/// Rebuild the store in a folder: pairs, tables, what was lost, what the old files are called.
#[pyfunction]
pub(crate) fn kv_repair(
    py: Python<'_>,
    path: PathBuf,
    settings: Settings,
) -> PyResult<(u64, u64, Vec<String>, Vec<String>)> {
    let repair = || ssd_kv::repair(files(path), &settings.options());
    let done = py.detach(repair).map_err(told)?;
    Ok((done.pairs, done.tables, done.lost, done.kept))
}

/// Give the lines of a file of a store as text to `line`.
#[pyfunction]
pub(crate) fn kv_dump(path: PathBuf, name: &str, line: &Bound<'_, PyAny>) -> PyResult<()> {
    ssd_kv::dump(files(path), name, &mut |text| {
        line.call1((text,)).map(drop).map_err(io::Error::other)
    })
    .map_err(told)
}

/// Workloads to be measured.
#[pyclass]
pub(crate) struct KvBench(ssd_kv::bench::Bench);

#[pymethods]
impl KvBench {
    #[new]
    fn new(n: u64, value_size: usize) -> PyResult<KvBench> {
        Ok(KvBench(ssd_kv::bench::Bench::new(n, value_size).map_err(told)?))
    }

    /// The names of the workloads.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        ssd_kv::bench::NAMES.to_vec()
    }

    /// Run one on a store: how many operations found or wrote a pair.
    fn run(&mut self, py: Python<'_>, store: &Store, name: &str, seed: u64) -> PyResult<u64> {
        with(py, &store.0, |db| self.0.run(db, name, seed))
    }
}
