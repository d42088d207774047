//! A device for interactive use: requests in, completions and state out as arrays.

use crate::bridge::Bridge;
use crate::finished::Finished;
use crate::policies::{Policies, PolicyArgument};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use ssd_core::ftl::separation::{UNFORESEEN, foresees};
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::Op;
use ssd_core::host::zones::{ZoneFailure, ZoneStatus};
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::sim::zones::ZoneAction;
use ssd_core::units::{Lpn, Nanos, PoolId};
use ssd_run::{PushDriver, PushError, Submission, load_snapshot};
use ssd_trace::config::RunConfig;
use ssd_trace::snapshots::LoadError;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// The error of an impossible configuration, with this reason.
pub(crate) fn refused(message: String) -> PyErr {
    crate::ConfigError::new_err((vec![message],))
}

fn wrong(message: impl Into<String>) -> PyErr {
    crate::WorkloadError::new_err(message.into())
}

/// The description of the snapshot in a file, as JSON. Raises `ConfigError` if it is not a snapshot.
#[pyfunction]
#[pyo3(signature = (path, *, progress=None))]
pub(crate) fn snapshot_info(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut bridge = Bridge::new(progress);
    let loaded = py.detach(|| load_snapshot(&path, None, &mut bridge));
    let (snapshot, digest) = loaded.map_err(|error| match error {
        LoadError::Refused(message) => refused(message),
        LoadError::Interrupted => bridge.interrupt(),
    })?;
    // TOML of strings, numbers and booleans without special values is JSON.
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
        "extra_owners": snapshot.extra_owners(),
        "erases": erases.sum::<u64>(),
        "config": shape,
    });
    Ok(info.to_string())
}

/// The statuses with which zone commands are refused: code and name of each.
#[pyfunction]
pub(crate) fn zone_statuses() -> Vec<(u16, &'static str)> {
    ZoneStatus::ALL.iter().map(|status| (status.code(), status.name())).collect()
}

/// A simulated device.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct Device {
    driver: Mutex<PushDriver>,
    outside: Option<Arc<Policies>>,
}

impl Device {
    fn lock(&self) -> PyResult<MutexGuard<'_, PushDriver>> {
        self.driver.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => wrong("the device is in use by another thread"),
            TryLockError::Poisoned(_) => wrong("the device has failed: make a new one"),
        })
    }

    /// The device, which must have power: without it there is no state to read.
    fn lock_on(&self) -> PyResult<MutexGuard<'_, PushDriver>> {
        let driver = self.lock()?;
        if driver.is_off() {
            return Err(wrong("power is off: mount() the device first"));
        }
        Ok(driver)
    }

    /// The state of a device at rest.
    pub(crate) fn snapshot(&self) -> PyResult<DeviceSnapshot> {
        let snapshot = self.lock()?.snapshot();
        snapshot.map_err(|error| self.raised(error, None))
    }

    /// Run `work` on the device with the interpreter released.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&mut PushDriver, &mut Bridge) -> Result<T, PushError> + Send,
    ) -> PyResult<T> {
        let mut driver = self.lock()?;
        let (driver, mut bridge) = (&mut *driver, Bridge::new(progress));
        let done = py.detach(|| work(driver, &mut bridge));
        done.map_err(|error| self.raised(error, Some(&mut bridge)))
    }

    /// The exception of a call that failed.
    fn raised(&self, error: PushError, bridge: Option<&mut Bridge>) -> PyErr {
        match error {
            PushError::Refused(message) => wrong(message),
            PushError::Snapshot(message) => refused(message),
            PushError::File(message) => PyOSError::new_err(message),
            PushError::Stuck(message) => crate::StuckError::new_err(message),
            PushError::Interrupted => {
                bridge.map_or_else(|| PyKeyboardInterrupt::new_err(()), Bridge::interrupt)
            }
            PushError::Failed(DeviceError::Interrupted) => PyKeyboardInterrupt::new_err(()),
            PushError::Failed(error) => {
                let raised = crate::StuckError::new_err(error.to_string());
                let cause = self.outside.as_ref().and_then(|policies| policies.exception());
                Python::attach(|py| raised.set_cause(py, cause));
                raised
            }
        }
    }
}

/// `ns` as a time; `subject` begins the error for a negative one.
fn time(ns: i64, subject: &str) -> PyResult<Nanos> {
    let past = |_| wrong(format!("{subject} {ns} ns is in the past: give a time from now on"));
    u64::try_from(ns).map(Nanos).map_err(past)
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
    fn new(py: Python<'_>, config: &str, policies: Vec<PolicyArgument>) -> PyResult<Device> {
        let config: RunConfig = crate::parsed("config", config)?;
        if foresees(&config.alloc.separation) {
            return Err(refused(UNFORESEEN.into()));
        }
        let (outside, plugs) = Policies::plugs(py, &config, policies)?;
        Ok(Device { driver: Mutex::new(PushDriver::new(config, plugs)), outside })
    }

    /// Precondition it according to the configuration, in functional mode, or load the snapshot that it names.
    #[pyo3(signature = (*, progress=None))]
    fn precondition(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        self.detached(py, progress, |driver, bridge| driver.precondition(bridge))
    }

    /// Replace its state by that of the snapshot `path`.
    #[pyo3(signature = (path, *, progress=None))]
    fn load(&self, py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
        self.detached(py, progress, |driver, bridge| driver.load(&path, bridge))
    }

    /// Save its state at rest. Returns the digest. Raises `OSError` if the file exists and `replace` is false, or if it
    /// cannot be written.
    #[pyo3(signature = (path, *, replace=false, progress=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        self.detached(py, progress, |driver, bridge| driver.save(&path, replace, bridge))
    }

    /// Submit all requests or none: operations by number, first pages, numbers of pages, first pages of the sources of
    /// copies, arrivals (None: as early as possible). Returns the number of the first.
    #[pyo3(signature = (ops, lpns, pages, sources, arrivals_ns, stream, flags))]
    #[expect(clippy::too_many_arguments, reason = "the columns of a table")]
    fn submit(
        &self,
        ops: PyReadonlyArray1<'_, i64>,
        lpns: PyReadonlyArray1<'_, i64>,
        pages: PyReadonlyArray1<'_, i64>,
        sources: Option<PyReadonlyArray1<'_, i64>>,
        arrivals_ns: Option<PyReadonlyArray1<'_, i64>>,
        stream: u8,
        flags: u8,
    ) -> PyResult<u64> {
        let from = sources.as_ref().map(PyReadonlyArray1::as_array);
        let (ops, lpns, pages) = (ops.as_array(), lpns.as_array(), pages.as_array());
        let arrivals = arrivals_ns.as_ref().map(PyReadonlyArray1::as_array);
        let mut submissions = Vec::with_capacity(ops.len());
        for i in 0..ops.len() {
            let op = usize::try_from(ops[i]).ok().and_then(|op| Op::ALL.get(op));
            let &op =
                op.ok_or_else(|| wrong(format!("request {i}: there is no operation {}", ops[i])))?;
            let at_ns = arrivals.as_ref().map(|column| column[i]);
            let source = from.as_ref().map_or(0, |column| column[i]);
            let (lpn, pages) = (lpns[i], pages[i]);
            submissions.push(Submission { op, lpn, pages, source, stream, flags, at_ns });
        }
        let submitted = self.lock()?.submit(&submissions);
        submitted.map_err(|error| self.raised(error, None))
    }

    /// Submit a copy of page ranges (first page, pages) to the pages from `lpn` on, as early as possible without an
    /// arrival. Returns its number.
    #[pyo3(signature = (lpn, sources, arrival_ns))]
    fn copy(&self, lpn: i64, sources: Vec<(i64, i64)>, arrival_ns: Option<i64>) -> PyResult<u64> {
        let submitted = self.lock()?.copy(lpn, &sources, arrival_ns);
        submitted.map_err(|error| self.raised(error, None))
    }

    /// Append pages to a zone, as early as possible without an arrival. Returns the status (0: success), the number of
    /// the request and the first page.
    fn zone_append(
        &self,
        zone: i64,
        pages: i64,
        arrival_ns: Option<i64>,
    ) -> PyResult<(u16, u64, u32)> {
        let answer = self.lock()?.zone_append(zone, pages, arrival_ns);
        let answer = answer.map_err(|error| self.raised(error, None))?;
        Ok(answer.map_or_else(|status| (status.code(), 0, 0), |(id, first)| (0, id, first)))
    }

    /// Let a zone management command take effect now. Returns the status (0: success), and the number of its request.
    fn zone_manage(&self, zone: i64, action: &str) -> PyResult<(u16, Option<u64>)> {
        let unknown = || wrong(format!("there is no zone action {action:?}"));
        let action = match action {
            "open" => ZoneAction::Open,
            "close" => ZoneAction::Close,
            "finish" => ZoneAction::Finish,
            "reset" => ZoneAction::Reset,
            "offline" => ZoneAction::Offline,
            "fail read-only" => ZoneAction::Fail(ZoneFailure::ReadOnly),
            "fail offline" => ZoneAction::Fail(ZoneFailure::Offline),
            _ => return Err(unknown()),
        };
        let answer = self.lock()?.zone_manage(zone, action);
        let answer = answer.map_err(|error| self.raised(error, None))?;
        Ok(answer.map_or_else(|status| (status.code(), None), |id| (0, id)))
    }

    /// The zones: the name of the state of each, and its pages before the write pointer.
    #[getter]
    fn zones(&self) -> PyResult<Vec<(&'static str, u32)>> {
        let mut driver = self.lock()?;
        let zones = driver.zones().map_err(|error| self.raised(error, None))?;
        Ok(zones.iter().map(|zone| (zone.state.name(), zone.written)).collect())
    }

    /// Run until nothing is left to do. Returns the requests completed since the last call, as arrays.
    fn run_until_idle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let records = self.detached(py, None, |driver, bridge| driver.run_until_idle(bridge))?;
        arrays(py, &records)
    }

    /// Run up to and including `time_ns`. Returns the requests completed since the last call, as arrays.
    fn run_until<'py>(&self, py: Python<'py>, time_ns: i64) -> PyResult<Bound<'py, PyDict>> {
        let end = time(time_ns, "a run until")?;
        let records = self.detached(py, None, |driver, bridge| driver.run_until(end, bridge))?;
        arrays(py, &records)
    }

    /// Run to the first instant with completions, or through `limit_ns`. Returns the requests completed since the last
    /// call.
    #[pyo3(signature = (limit_ns=None))]
    fn run_until_completion<'py>(
        &self,
        py: Python<'py>,
        limit_ns: Option<i64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let limit = limit_ns.map(|ns| time(ns, "a limit at")).transpose()?;
        let run = |driver: &mut PushDriver, bridge: &mut Bridge| {
            driver.run_until_completion(limit, bridge)
        };
        arrays(py, &self.detached(py, None, run)?)
    }

    /// The time of the next event, ns; None if nothing happens without a submission.
    fn next_event(&self) -> PyResult<Option<u64>> {
        let next = self.lock()?.next_event();
        next.map(|next| next.map(|at| at.0)).map_err(|error| self.raised(error, None))
    }

    /// Cut the power at `at_ns` (None: now). Returns the numbers of the requests that are lost.
    #[pyo3(signature = (at_ns=None))]
    fn power_cut<'py>(
        &self,
        py: Python<'py>,
        at_ns: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let at = at_ns.map(|ns| time(ns, "a power cut at")).transpose()?;
        let lost = self.detached(py, None, |driver, bridge| driver.power_cut(at, bridge))?;
        Ok(PyArray1::from_iter(py, lost.into_iter().map(u64::cast_signed)))
    }

    /// Mount the device after a power cut. Returns what that took, as JSON.
    fn mount(&self, py: Python<'_>) -> PyResult<String> {
        let recovery = self.detached(py, None, |driver, _| driver.mount())?;
        serde_json::to_string(&recovery).map_err(|error| wrong(error.to_string()))
    }

    /// The results so far, like those of a finished run.
    #[pyo3(signature = (*, commit=None))]
    fn report(&self, commit: Option<String>) -> PyResult<Finished> {
        Ok(Finished::of(self.lock_on()?.report(commit)))
    }

    /// The first invariant that does not hold; None if all hold.
    fn audit(&self) -> PyResult<Option<String>> {
        Ok(self.lock_on()?.ssd().audit().err())
    }

    /// Simulated time, ns.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.lock()?.ssd().now().0)
    }

    /// Requests submitted and not completed.
    #[getter]
    fn outstanding(&self) -> PyResult<u64> {
        Ok(self.lock()?.ssd().outstanding())
    }

    /// Pools, and blocks of each.
    #[getter]
    fn shape(&self) -> PyResult<(u32, u32)> {
        let mut driver = self.lock()?;
        let geo = &driver.ssd().core.ftl.geo;
        Ok((geo.pools, geo.blocks_per_pool))
    }

    /// Valid pages of each block.
    #[getter]
    fn valid_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut driver = self.lock_on()?;
        let valid = driver.ssd().core.ftl.blocks.valid.iter().map(|&n| i64::from(n));
        Ok(PyArray1::from_iter(py, valid))
    }

    /// Erases of each block.
    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut driver = self.lock()?;
        let erases = driver.ssd().core.ftl.blocks.erases.iter().map(|&n| i64::from(n));
        Ok(PyArray1::from_iter(py, erases))
    }

    /// Erased blocks of each pool.
    #[getter]
    fn free_blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut driver = self.lock_on()?;
        let ftl = &driver.ssd().core.ftl;
        let free = (0..ftl.geo.pools).map(|pool| i64::from(ftl.space.free_blocks(PoolId(pool))));
        Ok(PyArray1::from_iter(py, free))
    }

    /// Flash page of each user page; -1 if it has none.
    #[getter]
    fn mapping<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut driver = self.lock_on()?;
        let ssd = driver.ssd();
        let page = |lpn| ssd.page_on_flash(Lpn(lpn)).map_or(-1, |page| i64::from(page.0));
        Ok(PyArray1::from_iter(py, (0..ssd.core.ftl.geo.user_pages).map(page)))
    }

    /// Digest of the data of page `lpn` that a read returns; None if it has no data.
    fn digest(&self, lpn: i64) -> PyResult<Option<u64>> {
        let mut driver = self.lock_on()?;
        let ssd = driver.ssd();
        let user = ssd.core.ftl.geo.user_pages;
        let page = u32::try_from(lpn).ok().filter(|&page| page < user);
        let page =
            page.ok_or_else(|| wrong(format!("LPN {lpn}; the device has LPN 0 to {}", user - 1)))?;
        let none = "the device keeps no digests: set run.data = \"digest\"";
        let digest = ssd.newest_digest(Lpn(page)).ok_or_else(|| wrong(none))?;
        Ok((digest != 0).then_some(digest))
    }

    /// Pages in the write buffer, including those on their way to flash.
    #[getter]
    fn buffered_pages(&self) -> PyResult<u64> {
        let mut driver = self.lock()?;
        Ok(driver.ssd().buffered_pages())
    }
}
