//! The store for Python: opening, reading, writing.

mod arguments;
mod batch;
mod errors;
mod iter;
mod open_store;
mod settings;
mod simulated;
mod walk;

pub(crate) use batch::KvBatch;
pub(crate) use errors::{Kinds, KvAppliedError, KvCorruptionError, KvError};
pub(crate) use iter::KvIter;
pub(crate) use open_store::know_process;
pub(crate) use settings::{kv_defaults, kv_ranges};
pub(crate) use simulated::{kv_simulate, kv_simulate_defaults};

use arguments::{Given, bytes, flag};
use errors::kv_error;
use open_store::{Shared, briefly, close, is_closed, shared, with, write};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use settings::Settings;
use ssd_kv::vfs::{PosixVfs, Vfs};
use ssd_kv::{Db, LevelStats, ReadOptions, ReuseStats, TableInfo};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The files of a folder. Long work on them stops when Python has received a signal that raises.
fn posix(folder: PathBuf) -> PosixVfs {
    let go_on = || Python::attach(|py| py.check_signals()).map_err(io::Error::other);
    PosixVfs::new(folder).asking(go_on)
}

fn files(folder: PathBuf) -> Arc<dyn Vfs> {
    Arc::new(posix(folder))
}

/// Whether to verify checksums and to fill the cache.
fn read_options(
    verify_checksums: &Bound<'_, PyAny>,
    fill_cache: &Bound<'_, PyAny>,
) -> PyResult<ReadOptions> {
    let verify_checksums = flag("verify_checksums", verify_checksums)?;
    Ok(ReadOptions { verify_checksums, fill_cache: flag("fill_cache", fill_cache)? })
}

/// An open store, or the part of it whose keys begin with `under`, which callers leave out.
#[pyclass(frozen)]
pub(crate) struct Store {
    shared: Shared,
    under: Vec<u8>,
}

impl Store {
    fn full_key<'a>(&self, key: &'a [u8]) -> Cow<'a, [u8]> {
        if self.under.is_empty() { key.into() } else { [&self.under, key].concat().into() }
    }
}

#[pymethods]
impl Store {
    /// Open it. With `defers`, a write that was applied succeeds although background work after it failed.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, settings: Settings, defers: bool) -> PyResult<Store> {
        let files = posix(path);
        let files = if settings.reflinks() { files.reflinking() } else { files };
        let open = || Db::open_with(Arc::new(files), settings.options(), settings.policy());
        let db = py.detach(open).map_err(kv_error)?;
        Ok(Store { shared: shared(db, defers), under: Vec::new() })
    }

    /// The part of it whose keys begin with `prefix`.
    fn part(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> PyResult<Store> {
        let prefix = bytes("prefix", prefix)?;
        with(py, &self.shared, |db| db.check_prefix(&prefix))?;
        let under = self.full_key(&prefix).into_owned();
        Ok(Store { shared: self.shared.clone(), under })
    }

    /// What the keys of this part begin with.
    fn under<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.under)
    }

    /// Close it. Closing it twice does nothing, nor does closing it in a fork.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if is_closed(&self.shared) { Ok(()) } else { close(py, &self.shared) }
    }

    /// Whether it is closed, as it is in a fork.
    fn closed(&self) -> bool {
        is_closed(&self.shared)
    }

    /// The value of a key, or `default`. Python calls it without a method in between, which would cost a fifth of a
    /// lookup in memory.
    #[expect(clippy::too_many_arguments, reason = "in Python they have names")]
    #[pyo3(
        signature = (key, default=None, *, verify_checksums=None, fill_cache=Given(None), snapshot=None),
        text_signature = "($self, key, default=None, *, verify_checksums=None, fill_cache=True, snapshot=None)"
    )]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'_, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        verify_checksums: Option<&Bound<'_, PyAny>>,
        fill_cache: Given<'_>,
        snapshot: Option<&KvSnapshot>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let flag_or = |name, value: Option<&Bound<'_, PyAny>>, default| {
            value.map_or(Ok(default), |value| flag(name, value))
        };
        let options = ReadOptions {
            verify_checksums: flag_or("verify_checksums", verify_checksums, false)?,
            fill_cache: flag_or("fill_cache", fill_cache.0.as_ref(), true)?,
        };
        let key = bytes("key", key)?;
        let (key, snapshot) = (self.full_key(&key), snapshot.map(|s| &s.0));
        let in_place = |value: Option<&[u8]>| value.map(|value| PyBytes::new(py, value));
        // A look into memory takes less time than releasing the interpreter.
        if let Some(answer) =
            briefly(py, &self.shared, |db| db.get_in_memory(&key, snapshot, in_place))?
        {
            return Ok(answer.map(Bound::into_any).or(default));
        }
        let value = with(py, &self.shared, |db| {
            let value = db.get_in_tables(&key, options, snapshot)?;
            // Fruitless lookups may have made a compaction due. If it fails, writes are refused from now on and say
            // why; what was found is right.
            let _ = db.settle_if_eager();
            Ok(value)
        })?;
        Ok(value.map(|value| PyBytes::new(py, &value).into_any()).or(default))
    }

    fn put(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        sync: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (key, value, sync) = (bytes("key", key)?, bytes("value", value)?, flag("sync", sync)?);
        let key = self.full_key(&key);
        write(py, &self.shared, |db| db.put(&key, &value, sync))
    }

    fn delete(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        sync: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (key, sync) = (bytes("key", key)?, flag("sync", sync)?);
        let key = self.full_key(&key);
        write(py, &self.shared, |db| db.delete(&key, sync))
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<KvSnapshot> {
        with(py, &self.shared, |db| Ok(KvSnapshot(db.read_view())))
    }

    fn property(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        with(py, &self.shared, |db| Ok(db.property(name)))
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn compact_range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let start = start.map(|start| bytes("start", start)).transpose()?;
        let stop = stop.map(|stop| bytes("stop", stop)).transpose()?;
        // A few steps at a time, so that Ctrl-C is handled and other threads get in.
        let request = loop {
            let begun = with(py, &self.shared, |db| {
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
        while with(py, &self.shared, |db| {
            for _ in 0..64 {
                if !db.step_request(request)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })? {
            if let Err(interrupt) = py.check_signals() {
                with(py, &self.shared, |db| {
                    db.cancel_request(request);
                    Ok(())
                })?;
                return Err(interrupt);
            }
        }
        with(py, &self.shared, Db::settle_if_eager)
    }

    fn approximate_size(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let (start, stop) = (bytes("start", start)?, bytes("stop", stop)?);
        with(py, &self.shared, |db| db.approximate_size(&start, &stop))
    }

    /// Do one piece of background work; false if nothing is due.
    fn step(&self, py: Python<'_>) -> PyResult<bool> {
        with(py, &self.shared, Db::step)
    }

    /// Check everything. Returns the tables, entries and bytes.
    fn verify(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let report = with(py, &self.shared, |db| db.verify())?;
        Ok((report.tables, report.entries, report.bytes))
    }

    /// Work done since it was opened, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        with(py, &self.shared, |db| {
            let (tables, stats) = (db.tables(), db.stats());
            let level = |(at, l): (usize, &LevelStats)| {
                let of_level = || tables.iter().filter(|table| table.level == at);
                json!({"tables": of_level().count(), "bytes": of_level().map(|table| table.bytes).sum::<u64>(),
                       "compactions": l.compactions,
                       "bytes_read": l.bytes_read, "bytes_written": l.bytes_written})
            };
            let levels: Vec<_> = stats.levels.iter().enumerate().map(level).collect();
            let table = |t: &TableInfo| {
                json!({"level": t.level, "number": t.number, "bytes": t.bytes,
                       "smallest": t.smallest, "largest": t.largest})
            };
            let tables: Vec<_> = tables.iter().map(table).collect();
            let reuse: Vec<_> = stats.reuse.iter().map(reuse_of_level).collect();
            Ok(json!({"levels": levels, "tables": tables,
                      "reuse": reuse, "why_copied": db.why_copied(),
                      "moved": stats.moved, "slowed": stats.slowed,
                      "stalled_steps": stats.stalled_steps, "logged": stats.logged,
                      "damaged_log_records": stats.damaged_log_records,
                      "damaged_logs": stats.damaged_logs,
                      "tails": db.tails().iter().map(ToString::to_string).collect::<Vec<_>>()})
            .to_string())
        })
    }
}

fn reuse_of_level(stats: &ReuseStats) -> serde_json::Value {
    json!({"input_blocks": stats.input_blocks, "unchanged_blocks": stats.unchanged_blocks,
           "output_blocks": stats.output_blocks, "reused_blocks": stats.reused_blocks,
           "bytes_shared": stats.bytes_shared, "bytes_copied": stats.bytes_copied, "calls": stats.calls,
           "lost_dropped": stats.lost_dropped, "lost_switched": stats.lost_switched,
           "lost_cut": stats.lost_cut, "lost_unaligned": stats.lost_unaligned,
           "lost_declined": stats.lost_declined, "lost_different": stats.lost_different})
}

/// The state of a store at one time.
#[pyclass(frozen)]
pub(crate) struct KvSnapshot(ssd_kv::ReadView);

/// Remove the store in a folder.
#[pyfunction]
pub(crate) fn kv_destroy(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| ssd_kv::destroy(files(path))).map_err(kv_error)
}

/// Rebuild the store in a folder. Returns pairs, tables, what was lost, and the new names of the old files.
#[pyfunction]
pub(crate) fn kv_repair(
    py: Python<'_>,
    path: PathBuf,
    settings: Settings,
) -> PyResult<(u64, u64, Vec<String>, Vec<String>)> {
    let repair = || ssd_kv::repair(files(path), &settings.options());
    let done = py.detach(repair).map_err(kv_error)?;
    Ok((done.pairs, done.tables, done.lost, done.kept))
}

/// Pass the lines of a file of a store as text to `line`.
#[pyfunction]
pub(crate) fn kv_dump(path: PathBuf, name: &str, line: &Bound<'_, PyAny>) -> PyResult<()> {
    ssd_kv::dump(files(path), name, &mut |text| {
        line.call1((text,)).map(drop).map_err(io::Error::other)
    })
    .map_err(kv_error)
}

/// Workloads to be measured.
#[pyclass]
pub(crate) struct KvBench(ssd_kv::bench::Bench);

#[pymethods]
impl KvBench {
    #[new]
    fn new(n: u64, value_size: usize) -> PyResult<KvBench> {
        Ok(KvBench(ssd_kv::bench::Bench::new(n, value_size).map_err(kv_error)?))
    }

    /// The names of the workloads.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        ssd_kv::bench::NAMES.to_vec()
    }

    /// Run one workload on a store. Returns how many operations found or wrote a pair.
    fn run(&mut self, py: Python<'_>, store: &Store, name: &str, seed: u64) -> PyResult<u64> {
        with(py, &store.shared, |db| self.0.run(db, name, seed))
    }
}
