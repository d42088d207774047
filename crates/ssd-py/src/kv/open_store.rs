//! An open store, held by one thread at a time.

use super::errors::{KvError, closed, kv_error};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCFunction};
use ssd_kv::{Db, Error};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A store until it is closed, and the process that opened it.
pub(crate) struct OpenStore {
    db: Mutex<Option<Db>>,
    /// Whether it is closed, for callers that do not wait for the store.
    closed: AtomicBool,
    process: u32,
    /// Whether a write that was applied succeeds although background work after it failed, as in LevelDB: then the next
    /// one fails.
    defers: bool,
}

pub(super) type Shared = Arc<OpenStore>;

pub(super) fn shared(db: Db, defers: bool) -> Shared {
    let process = PROCESS.load(Ordering::Relaxed);
    Arc::new(OpenStore {
        db: Mutex::new(Some(db)),
        closed: AtomicBool::new(false),
        process,
        defers,
    })
}

/// This process. Kept, because asking the system takes longer than reading a pair.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Note which process this is, now and in every fork.
pub(crate) fn know_process(module: &Bound<'_, PyModule>) -> PyResult<()> {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    let callback = PyCFunction::new_closure(module.py(), None, None, |_, _| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
    })?;
    let when = [("after_in_child", callback)].into_py_dict(module.py())?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&when)).map(drop)
}

/// Fails in a fork of the process that opened the store: both would write to the same files, and a
/// mutex that another thread held stays locked in the fork.
#[inline]
pub(super) fn check_process(shared: &Shared) -> PyResult<()> {
    let (opened_by, process) = (shared.process, PROCESS.load(Ordering::Relaxed));
    if opened_by == process {
        return Ok(());
    }
    Err(KvError::new_err(format!(
        "the store was opened by process {opened_by} and is of no use in its fork, process {process}"
    )))
}

/// Fails if the store is closed, or unusable in this process.
#[inline]
pub(super) fn check_open(shared: &Shared) -> PyResult<()> {
    check_process(shared)?;
    if shared.closed.load(Ordering::Acquire) { Err(closed("the store")) } else { Ok(()) }
}

/// Close the store once no thread holds it.
pub(super) fn close(py: Python<'_>, shared: &Shared) -> PyResult<()> {
    py.detach(|| {
        locked(shared).map(|mut store| {
            shared.closed.store(true, Ordering::Release);
            drop(store.0.take());
        })
    })
    .map_err(kv_error)
}

/// Whether it is closed, as it is in a fork.
pub(super) fn is_closed(shared: &Shared) -> bool {
    check_process(shared).is_err() || shared.closed.load(Ordering::Acquire)
}

thread_local! {
    /// The stores that this thread holds, the last one last.
    static HERE: RefCell<Vec<*const OpenStore>> = const { RefCell::new(Vec::new()) };
}

/// A store held against other threads.
struct Guard<'a>(MutexGuard<'a, Option<Db>>);

impl<'a> Guard<'a> {
    fn new(shared: &Shared, store: MutexGuard<'a, Option<Db>>) -> Guard<'a> {
        HERE.with_borrow_mut(|stores| stores.push(Arc::as_ptr(shared)));
        Guard(store)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        HERE.with_borrow_mut(Vec::pop);
    }
}

fn is_held_here(shared: &Shared) -> bool {
    HERE.with_borrow(|stores| stores.contains(&Arc::as_ptr(shared)))
}

/// Long work runs signal handlers, which cannot wait for the store that it holds.
pub(super) fn check_not_held_here(shared: &Shared) -> Result<(), Error> {
    if is_held_here(shared) {
        let message =
            "the store is in use by what this signal interrupted: use it after the handler";
        return Err(Error::Invalid(message.to_owned()));
    }
    Ok(())
}

fn locked(shared: &Shared) -> Result<Guard<'_>, Error> {
    check_not_held_here(shared)?;
    Ok(Guard::new(shared, shared.db.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Lock the store for something short that runs no Python code, so that no signal handler can meet it. Its holder may
/// need the interpreter, so the interpreter is released while this waits.
pub(super) fn awaited<'a>(
    py: Python<'_>,
    shared: &'a Shared,
) -> Result<MutexGuard<'a, Option<Db>>, Error> {
    loop {
        match shared.db.try_lock() {
            Ok(store) => return Ok(store),
            Err(TryLockError::Poisoned(store)) => return Ok(store.into_inner()),
            // Fails if this thread holds it.
            Err(TryLockError::WouldBlock) => py.detach(|| locked(shared).map(drop))?,
        }
    }
}

/// Use the open store for something short that runs no Python code, see `awaited`.
pub(super) fn briefly<T>(
    py: Python<'_>,
    shared: &Shared,
    f: impl FnOnce(&Db) -> Result<T, Error>,
) -> PyResult<T> {
    check_open(shared)?;
    let store = awaited(py, shared).map_err(kv_error)?;
    // It may have been closed while this waited for it.
    let db = store.as_ref().ok_or_else(|| closed("the store"))?;
    f(db).map_err(kv_error)
}

/// Use the open store without blocking other Python threads.
pub(super) fn with<T: Send>(
    py: Python<'_>,
    shared: &Shared,
    f: impl FnOnce(&mut Db) -> Result<T, Error> + Send,
) -> PyResult<T> {
    check_open(shared)?;
    let done = py.detach(|| Ok(locked(shared)?.0.as_mut().map(f)));
    match done.map_err(kv_error)? {
        Some(result) => result.map_err(kv_error),
        // While this waited for it.
        None => Err(closed("the store")),
    }
}

/// Write to the open store, in the same way.
pub(super) fn write(
    py: Python<'_>,
    shared: &Shared,
    f: impl FnOnce(&mut Db) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let defers = shared.defers;
    with(py, shared, |db| match f(db) {
        Err(Error::Applied(_)) if defers => Ok(()),
        written => written,
    })
}
