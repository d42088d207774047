//! A device that one can touch: requests in, completions and state out as arrays.

use crate::policies::{Policies, Said};
use crate::run::{Finished, tell};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use ssd_core::config::Config;
use ssd_core::experiment::{Circumstances, so_far};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::sim::functional::Functional;
use ssd_core::sim::request::RequestRecord;
use ssd_core::sim::ssd::{MAX_SECTORS, Ssd};
use ssd_core::units::{Lpn, Nanos, PoolId};
use ssd_trace::snapshots::{self, LoadError, SaveError};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Instants between two looks for signals.
const WATCH_EVERY: u64 = 4096;

/// A configuration that cannot be, for this reason.
pub(crate) fn refused(why: String) -> PyErr {
    crate::ConfigError::new_err((vec![why],))
}

fn wrong(why: impl Into<String>) -> PyErr {
    crate::WorkloadError::new_err(why.into())
}

/// The snapshot in the file `path`, for a device of `config` if there is one, and its digest. What is
/// wrong with it is said after `begin`.
pub(crate) fn loaded(
    py: Python<'_>,
    begin: &str,
    path: &Path,
    config: Option<&Config>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<(DeviceSnapshot, String)> {
    let mut raised = None;
    let loaded = py.detach(|| {
        snapshots::load(path, config, &mut |done| {
            noted(&mut raised, "reading", done, None, progress)
        })
    });
    loaded.map_err(|error| match error {
        LoadError::Refused(why) => refused(format!("{begin}{why}")),
        LoadError::Interrupted => raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
    })
}

/// Tell Python how far the work is; an exception is kept and stops it.
fn noted(
    raised: &mut Option<PyErr>,
    stage: &str,
    done: u64,
    total: Option<u64>,
    progress: Option<&Py<PyAny>>,
) -> ControlFlow<()> {
    match tell(progress, stage, done, total) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *raised = Some(error);
            ControlFlow::Break(())
        }
    }
}

/// What the snapshot in a file is of, as JSON. Raises `ConfigError` if it is none.
#[pyfunction]
#[pyo3(signature = (path, *, progress=None))]
pub(crate) fn snapshot_info(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (snapshot, digest) = loaded(py, "", &path, None, progress.as_ref())?;
    // TOML of strings, numbers and truth values without special ones is JSON.
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let shape: serde_json::Map<_, _> =
        snapshot.shape().values().map(|(key, text)| (key.to_string(), value(text))).collect();
    let erases = snapshot.erases().iter().map(|&n| u64::from(n));
    let info = json!({
        "digest": digest,
        "file_bytes": path.metadata().map(|file| file.len()).ok(),
        "host_pages_written": snapshot.counters().sequence,
        "used_pages": snapshot.used_pages(),
        "valid_pages": snapshot.valid_pages(),
        "erases": erases.sum::<u64>(),
        "config": shape,
    });
    Ok(info.to_string())
}

/// A device with its time.
struct Machine {
    /// None until it is first used.
    ssd: Option<Ssd>,
    plugs: Plugs,
    outside: Option<Arc<Policies>>,
    /// Digest of the snapshot that it was loaded from.
    snapshot_digest: Option<String>,
    /// Latest arrival that was asked for.
    last_ns: u64,
    /// Why it cannot go on.
    stuck: Option<String>,
}

/// A simulated device.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct Device {
    /// As it was said, for reports.
    said: Config,
    /// With what the device itself needs.
    config: Config,
    machine: Mutex<Machine>,
}

impl Device {
    fn lock(&self) -> PyResult<MutexGuard<'_, Machine>> {
        self.machine.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => wrong("the device is in use by another thread"),
            TryLockError::Poisoned(_) => wrong("the device has failed: make a new one"),
        })
    }

    /// The same, of a device that can go on.
    fn lock_going(&self) -> PyResult<MutexGuard<'_, Machine>> {
        let machine = self.lock()?;
        match &machine.stuck {
            Some(why) => Err(crate::StuckError::new_err(why.clone())),
            None => Ok(machine),
        }
    }

    /// The same, of a device that nothing has been done with.
    fn lock_unused(&self) -> PyResult<MutexGuard<'_, Machine>> {
        let machine = self.lock_going()?;
        let used = |ssd: &Ssd| ssd.submitted() > 0 || ssd.ftl.space.used() > 0;
        if machine.ssd.as_ref().is_some_and(used) {
            return Err(wrong("the device has been written or used already: make a new one"));
        }
        Ok(machine)
    }

    /// The state of a device at rest.
    pub(crate) fn snapshot(&self) -> PyResult<DeviceSnapshot> {
        let mut machine = self.lock()?;
        if let Some(why) = &machine.stuck {
            return Err(wrong(format!("the device cannot go on: {why}")));
        }
        let taken = self.ssd(&mut machine).snapshot();
        taken.map_err(|error| wrong(format!("{error}; flush it and let it run until it is idle")))
    }

    /// The running machine, erased flash if it has not been used yet.
    fn ssd<'m>(&self, machine: &'m mut Machine) -> &'m mut Ssd {
        let plugs = machine.plugs.clone();
        machine.ssd.get_or_insert_with(|| {
            let ftl = Ftl::with_plugs(&self.config, &plugs);
            Ssd::with_plugs(&self.config, ftl, 0, &plugs)
        })
    }

    /// The request of `op` on pages `lpn..lpn + pages`, or why there is none.
    fn request(&self, op: Op, lpn: i64, pages: i64, stream: u8) -> Result<Request, String> {
        let (user, page) =
            (i64::from(self.config.device.user_pages), self.config.device.page_bytes);
        if op == Op::Flush {
            return Ok(Request { stream, ..Request::new(op, 0, 0) });
        }
        let most = if op == Op::Trim { u32::MAX } else { MAX_SECTORS };
        let page_sectors = i64::from(page / 512);
        let sectors = pages.checked_mul(page_sectors).and_then(|n| u32::try_from(n).ok());
        let sectors = sectors.filter(|&n| n > 0 && n <= most).ok_or_else(|| {
            let most = i64::from(most) / page_sectors;
            format!("{pages} pages; expected 1 to {most}")
        })?;
        if lpn < 0 || lpn > user - pages {
            return Err(format!(
                "{pages} pages from LPN {lpn} on; the device has LPN 0 to {}",
                user - 1
            ));
        }
        Ok(Request { stream, ..Request::new(op, (lpn * page_sectors) as u64, sectors) })
    }

    /// The end of a call in which the device failed. (One interrupted inside of a policy has lost its
    /// answer and cannot go on either.)
    fn failed(py: Python<'_>, machine: &mut Machine, error: &DeviceError) -> PyErr {
        machine.stuck = Some(error.to_string());
        if *error == DeviceError::Interrupted {
            return PyKeyboardInterrupt::new_err(());
        }
        let raised = crate::StuckError::new_err(error.to_string());
        raised.set_cause(py, machine.outside.as_ref().and_then(|policies| policies.exception()));
        raised
    }
}

/// Run one instant after the other until nothing is left to do.
fn run_until_idle(ssd: &mut Ssd, raised: &mut Option<PyErr>) -> Result<(), DeviceError> {
    let (mut done, mut logged) = (Vec::new(), Vec::new());
    for instant in 1u64.. {
        match ssd.next_event() {
            Some(at) => ssd.run_until(at, &mut done)?,
            None if ssd.outstanding() > 0 => ssd.run_until(Nanos::NEVER, &mut done)?,
            None => break,
        };
        // Contents and operations are for those who ask for them: nobody does here.
        for completion in done.drain(..) {
            ssd.take_data(completion.id);
        }
        if instant % WATCH_EVERY == 0 {
            ssd.drain_operations(&mut logged);
            logged.clear();
            if noted(raised, "", 0, None, None).is_break() {
                return Err(DeviceError::Interrupted);
            }
        }
    }
    Ok(())
}

/// The records as arrays, by name.
fn arrays<'py>(py: Python<'py>, records: &[RequestRecord]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let column = |name: &str, value: &dyn Fn(&RequestRecord) -> u64| {
        let values = records.iter().map(|r| value(r).cast_signed()).collect();
        table.set_item(name, PyArray1::<i64>::from_vec(py, values))
    };
    column("id", &|r| r.id)?;
    column("op", &|r| r.request.op as u64)?;
    column("lpn", &|r| u64::from(r.lpn))?;
    column("pages", &|r| u64::from(r.pages))?;
    column("arrival_ns", &|r| r.arrival.0)?;
    column("completion_ns", &|r| r.completion.0)?;
    column("queue_ns", &|r| r.parts.queue_ns)?;
    column("chip_ns", &|r| r.parts.chip_ns)?;
    column("transfer_ns", &|r| r.parts.transfer_ns)?;
    column("gc_wait_ns", &|r| r.parts.gc_wait_ns)?;
    column("metadata_ns", &|r| r.parts.metadata_ns)?;
    Ok(table)
}

#[pymethods]
impl Device {
    /// An erased device of a resolved configuration (JSON); `policies` as in `run`.
    #[new]
    #[pyo3(signature = (config, *, policies=Vec::new()))]
    fn new(py: Python<'_>, config: &str, policies: Vec<Said>) -> PyResult<Device> {
        let said: Config = crate::parsed("config", config)?;
        let mut config = said.clone();
        config.metrics.request_log = true;
        config.workload.warmup_requests = 0;
        let (outside, plugs) = Policies::plugs(py, &config, policies)?;
        let machine =
            Machine { ssd: None, plugs, outside, snapshot_digest: None, last_ns: 0, stuck: None };
        Ok(Device { said, config, machine: Mutex::new(machine) })
    }

    /// Write it as the configuration says, in functional mode, or load the snapshot that it names.
    #[pyo3(signature = (*, progress=None))]
    fn precondition(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        if let Some(file) = &self.config.precondition.snapshot {
            return self.load(py, file.into(), progress);
        }
        let mut machine = self.lock_unused()?;
        let (mut raised, plugs) = (None, machine.plugs.clone());
        let made = py.detach(|| {
            let mut device = Functional::with_plugs(&self.config, &plugs);
            let mut keep_going = |done, total| {
                noted(&mut raised, "precondition", done, Some(total), progress.as_ref())
                    .is_continue()
            };
            device.precondition(&self.config, &mut keep_going).map(|whole| {
                whole.then(|| {
                    let sequence = device.sequence();
                    Ssd::with_plugs(&self.config, device.ftl, sequence, &plugs)
                })
            })
        });
        match made {
            Ok(Some(ssd)) => {
                machine.ssd = Some(ssd);
                Ok(())
            }
            Ok(None) => Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))),
            Err(error) => Err(Device::failed(py, &mut machine, &error)),
        }
    }

    /// Take over the state in the snapshot `path`.
    #[pyo3(signature = (path, *, progress=None))]
    fn load(&self, py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let mut machine = self.lock_unused()?;
        let (snapshot, digest) = loaded(py, "", &path, Some(&self.config), progress.as_ref())?;
        let plugs = machine.plugs.clone();
        let restored = py.detach(|| {
            let device = Functional::restore(&self.config, &snapshot, &plugs)?;
            let sequence = device.sequence();
            Ok(Ssd::with_plugs(&self.config, device.ftl, sequence, &plugs))
        });
        let ssd = restored.map_err(|why: String| refused(format!("{}: {why}", path.display())))?;
        (machine.ssd, machine.snapshot_digest) = (Some(ssd), Some(digest));
        Ok(())
    }

    /// Save its state at rest; the digest. Raises `OSError` when the file exists and `replace` is not
    /// said, or cannot be written.
    #[pyo3(signature = (path, *, replace=false, progress=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let snapshot = self.snapshot()?;
        let (mut raised, total) = (None, Some(snapshot.bytes()));
        let saved = py.detach(|| {
            snapshots::save(&snapshot, &path, replace, &mut |done| {
                noted(&mut raised, "writing", done, total, progress.as_ref())
            })
        });
        match saved {
            Ok(saved) => Ok(saved.digest),
            Err(SaveError::Write(error)) => Err(PyOSError::new_err(error.to_string())),
            Err(SaveError::Interrupted) => {
                Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
            }
        }
    }

    /// Submit requests, all of them or none: operations by number, first pages, numbers of pages,
    /// arrivals (None: as early as possible). The number of the first.
    #[pyo3(signature = (ops, lpns, pages, arrivals_ns, stream))]
    fn submit(
        &self,
        ops: PyReadonlyArray1<'_, i64>,
        lpns: PyReadonlyArray1<'_, i64>,
        pages: PyReadonlyArray1<'_, i64>,
        arrivals_ns: Option<PyReadonlyArray1<'_, i64>>,
        stream: u8,
    ) -> PyResult<u64> {
        let mut machine = self.lock_going()?;
        let last = machine.last_ns;
        let ssd = self.ssd(&mut machine);
        let (ops, lpns, pages) = (ops.as_array(), lpns.as_array(), pages.as_array());
        let arrivals = arrivals_ns.as_ref().map(PyReadonlyArray1::as_array);
        let (mut requests, mut earliest) = (Vec::with_capacity(ops.len()), last);
        for i in 0..ops.len() {
            let bad = |why: String| wrong(format!("request {i}: {why}"));
            let op = usize::try_from(ops[i]).ok().and_then(|op| Op::ALL.get(op));
            let &op = op.ok_or_else(|| bad(format!("there is no operation {}", ops[i])))?;
            let request = self.request(op, lpns[i], pages[i], stream).map_err(bad)?;
            let at = match &arrivals {
                None => earliest.max(ssd.now().0),
                Some(all) => {
                    u64::try_from(all[i]).ok().filter(|&at| at >= earliest).ok_or_else(|| {
                        bad(format!("it arrives at {} ns; expected {earliest} or later", all[i]))
                    })?
                }
            };
            earliest = at;
            requests.push((Nanos(at), request));
        }
        let first = ssd.submitted();
        for (at, request) in requests {
            ssd.submit(at, &request, None).map_err(|error| wrong(error.to_string()))?;
        }
        machine.last_ns = earliest;
        Ok(first)
    }

    /// Run until nothing is left to do: what has completed since the last call, as arrays.
    fn run_until_idle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut machine = self.lock_going()?;
        let ssd = self.ssd(&mut machine);
        let mut raised = None;
        let run = py.detach(|| run_until_idle(ssd, &mut raised));
        match (run, raised) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(Device::failed(py, &mut machine, &error)),
            (Ok(()), None) => {
                let mut records = Vec::new();
                ssd.drain_requests(&mut records);
                arrays(py, &records)
            }
        }
    }

    /// What has happened so far, as a finished run.
    #[pyo3(signature = (*, commit=None))]
    fn report(&self, commit: Option<String>) -> PyResult<Finished> {
        let mut machine = self.lock()?;
        let circumstances = Circumstances {
            commit,
            snapshot_digest: machine.snapshot_digest.clone(),
            plugs: machine.plugs.clone(),
            ..Circumstances::default()
        };
        Ok(Finished::of(so_far(&self.said, self.ssd(&mut machine), &circumstances)))
    }

    /// The first invariant that does not hold; None: all do.
    fn audit(&self) -> PyResult<Option<String>> {
        Ok(self.ssd(&mut *self.lock()?).audit().err())
    }

    /// Simulated time, ns.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.ssd(&mut *self.lock()?).now().0)
    }

    /// Requests submitted and not completed.
    #[getter]
    fn outstanding(&self) -> PyResult<u64> {
        Ok(self.ssd(&mut *self.lock()?).outstanding())
    }

    /// Pools, and blocks of each.
    #[getter]
    fn shape(&self) -> PyResult<(u32, u32)> {
        let mut machine = self.lock()?;
        let geo = &self.ssd(&mut machine).ftl.geo;
        Ok((geo.pools, geo.blocks_per_pool))
    }

    /// Valid pages of each block.
    #[getter]
    fn valid_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut machine = self.lock()?;
        let valid = self.ssd(&mut machine).ftl.blocks.valid.iter().map(|&n| i64::from(n));
        Ok(PyArray1::from_iter(py, valid))
    }

    /// Erases of each block.
    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut machine = self.lock()?;
        let erases = self.ssd(&mut machine).ftl.blocks.erases.iter().map(|&n| i64::from(n));
        Ok(PyArray1::from_iter(py, erases))
    }

    /// Erased blocks of each pool.
    #[getter]
    fn free_blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut machine = self.lock()?;
        let ftl = &self.ssd(&mut machine).ftl;
        let free = (0..ftl.geo.pools).map(|pool| i64::from(ftl.space.free_blocks(PoolId(pool))));
        Ok(PyArray1::from_iter(py, free))
    }

    /// Flash page of each user page; -1 where it has none.
    #[getter]
    fn mapping<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut machine = self.lock()?;
        let ssd = self.ssd(&mut machine);
        let page = |lpn| ssd.page_on_flash(Lpn(lpn)).map_or(-1, |page| i64::from(page.0));
        Ok(PyArray1::from_iter(py, (0..ssd.ftl.geo.user_pages).map(page)))
    }

    /// Pages in the write buffer, those on their way to flash included.
    #[getter]
    fn buffered_pages(&self) -> PyResult<u64> {
        let mut machine = self.lock()?;
        Ok(self.ssd(&mut machine).buffered_pages())
    }
}
