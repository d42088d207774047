//! Iterators for Python.

use super::arguments::{bytes, bytes_or_none, flag};
use super::errors::{closed, kv_error};
use super::open_store::{Shared, awaited, check_not_held_here, check_open, with};
use super::walk::{Bounds, Range, Walk, prefix_bounds};
use super::{KvSnapshot, Store, read_options};
use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use ssd_kv::{Db, DbIter, Error};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Most pairs of a batch, and bytes after which one ends: the store is locked once per batch, and what is read ahead
/// stays in the nearest cache.
const MOST_PAIRS: usize = 64;
const MOST_BYTES: usize = 16 << 10;
/// At most one pair in this many is read ahead in vain after a seek of which nothing is known.
const IN_VAIN: usize = 4;
/// Bytes that may then be read ahead for each pair that was read: copying large values in vain costs more than reading
/// ahead saves.
const BYTES_IN_VAIN: usize = 128;

/// A position between the pairs of a range of a store, and which parts of them it returns.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct KvIter {
    ahead: Mutex<Option<BufferedWalk>>,
    store: Shared,
    shown: SelectedParts,
    reverse: bool,
    under: Vec<u8>,
}

/// Which parts of a pair are returned.
#[derive(Clone, Copy)]
struct SelectedParts {
    key: bool,
    value: bool,
}

#[derive(Default)]
struct Parts {
    key: Option<Py<PyBytes>>,
    value: Option<Py<PyBytes>>,
}

/// A walk that is some pairs ahead of its user.
struct BufferedWalk {
    walk: Walk,
    /// Pairs that the walk has passed and the user has not, the next one first.
    ready: VecDeque<Parts>,
    /// The sortable key of the first of them, if there may be more than one.
    first: Vec<u8>,
    /// The direction in which it passed them.
    forward: bool,
    /// Pairs read since its last seek or change of direction.
    read: usize,
    /// Pairs that the user took after the last seek but one.
    pairs_taken: usize,
    /// Pairs that the user took after both of the last two seeks, and so probably takes after this one.
    expected: usize,
    /// Why it is nowhere: moves fail until the next seek.
    failed: Option<Error>,
}

impl BufferedWalk {
    fn note_seek(&mut self) {
        let count = self.read - self.ready.len();
        self.expected = count.min(self.pairs_taken);
        self.pairs_taken = count;
        self.ready.clear();
        self.read = 0;
        self.failed = None;
    }

    /// Move the walk back to the position of the user.
    fn give_back(&mut self) -> Result<(), Error> {
        self.read = 0;
        self.expected = 0;
        while self.ready.pop_back().is_some() {
            self.walk.step(!self.forward)?;
        }
        Ok(())
    }

    /// Most pairs and bytes of the next batch: the expected pairs, then more and more while the direction stays.
    fn batch(&self) -> (usize, usize) {
        match self.expected.saturating_sub(self.read) {
            0 => {
                let pairs = (self.read / IN_VAIN + 1).min(MOST_PAIRS);
                (pairs, MOST_BYTES.min(self.read * BYTES_IN_VAIN))
            }
            expected => (expected.min(MOST_PAIRS), MOST_BYTES),
        }
    }

    /// Read a batch of pairs.
    fn fetch(
        &mut self,
        py: Python<'_>,
        (shown, under): (SelectedParts, usize),
        forward: bool,
    ) -> Result<(), Error> {
        if forward != self.forward {
            self.give_back()?;
            self.forward = forward;
        }
        let (batch, most_bytes) = self.batch();
        let mut bytes = 0;
        self.first.clear();
        let mut walk = self.walk.lock();
        while self.ready.len() < batch && (bytes < most_bytes || self.ready.is_empty()) {
            match walk.step(forward) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if self.ready.is_empty() => return Err(error),
                // What was read before is right and comes first; the next batch meets the error again.
                Err(_) => {
                    drop(walk);
                    return self.return_to_first();
                }
            }
            let pair = walk.pair();
            if self.ready.is_empty() && batch > 1 {
                self.first.extend_from_slice(pair.sortable_key());
            }
            let mut parts = Parts::default();
            if shown.key {
                let key = &pair.key()[under..];
                bytes += key.len();
                parts.key = Some(PyBytes::new(py, key).unbind());
            }
            if shown.value {
                let value = pair.value();
                bytes += value.len();
                parts.value = Some(PyBytes::new(py, value).unbind());
            }
            self.ready.push_back(parts);
            self.read += 1;
        }
        Ok(())
    }

    /// Move the walk back to where it was before it failed, before the pairs that are ready.
    fn return_to_first(&mut self) -> Result<(), Error> {
        self.walk.seek_sortable(&self.first)?;
        if !self.forward {
            self.walk.step(true)?;
        }
        for _ in 0..self.ready.len() {
            self.walk.step(self.forward)?;
        }
        Ok(())
    }
}

impl KvIter {
    /// Lock it for this thread, open, with its open store.
    fn lock_ahead(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<BufferedWalk>>> {
        check_open(&self.store)?;
        let ahead = loop {
            match self.ahead.try_lock() {
                Ok(ahead) => break ahead,
                Err(TryLockError::Poisoned(ahead)) => break ahead.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    // The thread that has the iterator may wait for the store.
                    check_not_held_here(&self.store).map_err(kv_error)?;
                    py.detach(|| drop(self.ahead.lock().unwrap_or_else(PoisonError::into_inner)));
                }
            }
        };
        if ahead.is_some() { Ok(ahead) } else { Err(closed("the iterator")) }
    }

    /// Return the next pair, in key order if `forward`; none at the end of the range.
    #[inline]
    fn advance<'py>(&self, py: Python<'py>, forward: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let parts = {
            let mut guard = self.lock_ahead(py)?;
            let Some(ahead) = guard.as_mut() else { return Ok(None) };
            if ahead.ready.is_empty() || ahead.forward != forward {
                self.fill(py, ahead, forward)?;
            }
            ahead.ready.pop_front()
        };
        // Outside of the lock: a tuple may let the garbage collector run code of others.
        Ok(match parts {
            None => None,
            Some(Parts { key: Some(key), value: Some(value) }) => {
                Some(PyTuple::new(py, [key, value])?.into_any())
            }
            Some(Parts { key: Some(object), .. } | Parts { value: Some(object), .. }) => {
                Some(object.into_bound(py).into_any())
            }
            Some(_) => Some(py.None().into_bound(py)),
        })
    }

    fn fill(&self, py: Python<'_>, ahead: &mut BufferedWalk, forward: bool) -> PyResult<()> {
        // Once a store is closed, another one may change its files.
        let _store = self.open_store(py)?;
        if ahead.failed.is_none()
            && let Err(error) = ahead.fetch(py, (self.shown, self.under.len()), forward)
        {
            ahead.ready.clear();
            ahead.failed = Some(error);
        }
        ahead.failed.clone().map_or(Ok(()), |error| Err(kv_error(error)))
    }

    fn open_store(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Db>>> {
        let store = awaited(py, &self.store).map_err(kv_error)?;
        if store.is_some() { Ok(store) } else { Err(closed("the store")) }
    }

    fn seek_with(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Walk) -> Result<(), Error>,
    ) -> PyResult<()> {
        let mut guard = self.lock_ahead(py)?;
        let Some(ahead) = guard.as_mut() else { return Ok(()) };
        let _store = self.open_store(py)?;
        ahead.note_seek();
        ahead.failed = f(&mut ahead.walk).err();
        ahead.failed.clone().map_or(Ok(()), |error| Err(kv_error(error)))
    }
}

type Any<'py> = Bound<'py, PyAny>;

/// The first key of what the caller asks for, and the first one behind it, from `start`, `stop`, whether each is
/// included, or a prefix.
fn bounds_of(
    [start, stop, include_start, include_stop, prefix]: &[Any<'_>; 5],
    under: &[u8],
    iter: &DbIter,
) -> PyResult<Bounds> {
    let (start, stop) = (bytes_or_none("start", start)?, bytes_or_none("stop", stop)?);
    let include_start = flag("include_start", include_start)?;
    let include_stop = flag("include_stop", include_stop)?;
    if let Some(prefix) = bytes_or_none("prefix", prefix)? {
        if start.is_some() || stop.is_some() {
            let message = "a range has a prefix, or a start and a stop, not both";
            return Err(PyTypeError::new_err(message));
        }
        iter.check_prefix(&prefix).map_err(kv_error)?;
        return Ok(prefix_bounds(&[under, &prefix].concat()));
    }
    let sortable = |key| iter.sortable(key).map_err(kv_error);
    let start = start.as_deref().map(sortable).transpose()?;
    let stop = stop.as_deref().map(sortable).transpose()?;
    let (start, stop) = (start.as_deref(), stop.as_deref());
    Ok(Range { start, stop, include_start, include_stop }.bounds(under))
}

#[pymethods]
impl KvIter {
    /// `reading`: whether to verify checksums and to fill the cache. `span`: start, stop, whether each is included,
    /// prefix. `show`: whether backwards, whether keys, whether values.
    #[new]
    fn new(
        py: Python<'_>,
        store: &Store,
        reading: [Any<'_>; 2],
        snapshot: Option<&KvSnapshot>,
        span: [Any<'_>; 5],
        show: [Any<'_>; 3],
    ) -> PyResult<KvIter> {
        let [verify_checksums, fill_cache] = &reading;
        let options = read_options(verify_checksums, fill_cache)?;
        let [reverse, key, value] = show;
        let reverse = flag("reverse", &reverse)?;
        let (key, value) = (flag("include_key", &key)?, flag("include_value", &value)?);
        let (shared, under) = (store.shared.clone(), store.under.clone());
        let snapshot = snapshot.map(|snapshot| &snapshot.0);
        let iter = with(py, &shared, |db| db.iter(options, snapshot))?;
        let bounds = bounds_of(&span, &under, &iter)?;
        let iter = if value { iter } else { iter.without_values() };
        let walk = Walk::new(iter, bounds, !reverse);
        let (ready, first) = (VecDeque::new(), Vec::new());
        let (read, pairs_taken, expected) = (0, 0, 0);
        let forward = !reverse;
        let ahead =
            BufferedWalk { walk, ready, first, forward, read, pairs_taken, expected, failed: None };
        let (ahead, shown) = (Mutex::new(Some(ahead)), SelectedParts { key, value });
        Ok(KvIter { ahead, store: shared, shown, reverse, under })
    }

    /// For annotations; the parameters make no difference here.
    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, _gives: &Any<'py>) -> Bound<'py, PyType> {
        cls.clone()
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Any<'py>>> {
        self.advance(py, !self.reverse)
    }

    /// Go back and return what the last `next` returned. Raises `StopIteration` at the start.
    fn prev<'py>(&self, py: Python<'py>) -> PyResult<Any<'py>> {
        self.advance(py, self.reverse)?.ok_or_else(|| PyStopIteration::new_err(()))
    }

    /// Go before the first pair of the range.
    fn seek_to_start(&self, py: Python<'_>) -> PyResult<()> {
        self.seek_with(py, |walk| {
            walk.seek_to_start();
            Ok(())
        })
    }

    /// Go behind the last pair of the range.
    fn seek_to_stop(&self, py: Python<'_>) -> PyResult<()> {
        self.seek_with(py, |walk| {
            walk.seek_to_stop();
            Ok(())
        })
    }

    /// Go before the first pair whose key is not below `target`, but stay within the range.
    fn seek(&self, py: Python<'_>, target: &Any<'_>) -> PyResult<()> {
        let target = bytes("target", target)?;
        if self.under.is_empty() {
            return self.seek_with(py, |walk| walk.seek(&target));
        }
        let target = [&self.under, &target[..]].concat();
        self.seek_with(py, |walk| walk.seek(&target))
    }

    /// Raise if it, or its store, is closed.
    fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        self.lock_ahead(py).map(drop)
    }

    /// Release the state that it shows. Closing it twice does nothing.
    fn close(&self, py: Python<'_>) {
        if let Ok(mut guard) = self.lock_ahead(py) {
            let ahead = guard.take();
            drop(guard);
            drop(ahead);
        }
    }
}
