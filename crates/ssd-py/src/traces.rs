//! Traces read, converted and split with the interpreter released, except for calls for progress.

use numpy::PyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use ssd_core::config::Word;
use ssd_core::host::request::Op;
use ssd_core::host::source::SourceError;
use ssd_trace::Step;
use ssd_trace::config::RunConfig;
use ssd_trace::raw::{Reading, ReadingError, each_request};
use ssd_trace::write::{
    Allow, ConvertError, Counts, Options, Target, WriteError, convert, convert_trace, merge_traces,
    split_trace,
};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Run `work` without the interpreter. Its argument asks Python whether to continue, and calls `progress(done, total)`:
/// with the bytes read, whose total is None, and then with the requests sorted. `None` from `work` means that it was
/// interrupted.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(Step) -> ControlFlow<()>) -> PyResult<Option<T>> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let done = py.detach(|| {
        work(&mut |step| {
            let counts = match step {
                Step::Read(bytes) => (bytes, None),
                Step::Sorted { done, total } => (done, Some(total)),
            };
            let answer = Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    Some(callback) => callback.call1(py, counts).map(|_| ()),
                    None => Ok(()),
                }
            });
            match answer {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    })?;
    done.ok_or_else(|| raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err("interrupted")))
}

/// The exception for a trace that cannot be used.
pub(crate) fn refused(error: &SourceError) -> PyErr {
    crate::WorkloadError::new_err(error.to_string())
}

/// The result of a conversion; `None` if it was interrupted.
fn converted<T>(result: Result<T, ConvertError>) -> PyResult<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(ConvertError::Interrupted { .. }) => Ok(None),
        Err(ConvertError::Source(error)) => Err(refused(&error)),
        Err(ConvertError::Write(error)) => Err(unwritten(&error)),
    }
}

fn unwritten(error: &WriteError) -> PyErr {
    match error {
        WriteError::Exists(_) | WriteError::File { .. } => PyOSError::new_err(error.to_string()),
        WriteError::Option(_) | WriteError::Request { .. } => {
            crate::WorkloadError::new_err(error.to_string())
        }
    }
}

/// The format `to` and how its file is written, from the words of Python.
fn form(to: &str, replace: bool, allow: &[String]) -> PyResult<(&'static Target, Options)> {
    let target = Target::named(to).map_err(|error| unwritten(&error))?;
    let allow = Allow::named(allow).map_err(|error| unwritten(&error))?;
    Ok((target, Options { replace, allow }))
}

pub(crate) fn described(reading: &Reading) -> Value {
    let mut source = json!(reading);
    source["warnings"] = json!(reading.warnings());
    source
}

/// Counts of the target's file.
fn counted(path: &Path, counts: &Counts) -> Value {
    let dropped: serde_json::Map<String, Value> = Op::ALL
        .iter()
        .zip(counts.dropped)
        .map(|(op, count)| (op.name().to_owned(), json!(count)))
        .collect();
    json!({
        "path": path,
        "requests": counts.requests,
        "dropped": dropped,
        "times_rounded": counts.times_rounded,
        "fields_forgotten": counts.fields_forgotten,
        "bytes": counts.bytes,
    })
}

/// Write the trace that a resolved configuration (JSON) names to the file `out` in the format `to`. Returns JSON of
/// what was read and written.
///
/// `replace`: whether a file of that name may be replaced. `allow` names the losses that are permitted. `progress(done,
/// total)` is called regularly, see `watched`. Raises `WorkloadError` if the trace cannot be used or converted,
/// `OSError` if the file cannot be written, `KeyboardInterrupt` if it was interrupted; then no file is left.
#[pyfunction]
#[pyo3(signature = (config, out, *, to, replace=false, allow=Vec::new(), progress=None))]
#[allow(clippy::too_many_arguments, reason = "in Python they have names")]
pub(crate) fn trace_convert(
    py: Python<'_>,
    config: &str,
    out: PathBuf,
    to: &str,
    replace: bool,
    allow: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let (target, options) = form(to, replace, &allow)?;
    let (reading, counts) = watched(py, progress, |watch| {
        let writer = target.create(&out, options);
        let writer = writer.map_err(|error| unwritten(&error))?;
        converted(convert_trace(&config.workload, writer, watch))
    })?;
    Ok(json!({ "source": described(&reading), "written": counted(&out, &counts) }).to_string())
}

/// Write the traces that resolved configurations (JSON) name to the file `out`, each as a volume. Returns JSON of what
/// was read and written. The rest is as in `trace_convert`.
#[pyfunction]
#[pyo3(signature = (configs, out, *, to, replace=false, allow=Vec::new(), progress=None))]
#[allow(clippy::too_many_arguments, reason = "in Python they have names")]
pub(crate) fn trace_merge(
    py: Python<'_>,
    configs: Vec<String>,
    out: PathBuf,
    to: &str,
    replace: bool,
    allow: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let configs = configs.iter().map(|config| crate::parsed::<RunConfig>("configs", config));
    let workloads: Vec<_> = configs.map(|config| Ok(config?.workload)).collect::<PyResult<_>>()?;
    let (target, options) = form(to, replace, &allow)?;
    let (readings, counts) = watched(py, progress, |watch| {
        let writer = target.create(&out, options);
        let writer = writer.map_err(|error| unwritten(&error))?;
        converted(merge_traces(&workloads, writer, watch))
    })?;
    let sources: Vec<Value> = readings.iter().map(described).collect();
    Ok(json!({ "sources": sources, "written": counted(&out, &counts) }).to_string())
}

/// Write the requests of the workload of a resolved configuration (JSON) on a volume of `bytes` to the file `out`.
/// Returns JSON of what was written and of warnings. The rest is as in `trace_convert`; `progress(done, None)` is
/// called with requests.
#[pyfunction]
#[pyo3(signature = (config, out, *, bytes, to, replace=false, allow=Vec::new(), progress=None))]
#[allow(clippy::too_many_arguments, reason = "in Python they have names")]
pub(crate) fn trace_generate(
    py: Python<'_>,
    config: &str,
    out: PathBuf,
    bytes: u64,
    to: &str,
    replace: bool,
    allow: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let (target, options) = form(to, replace, &allow)?;
    let page_bytes = config.device.page_bytes;
    let pages = u32::try_from(bytes / u64::from(page_bytes));
    let pages =
        pages.map_err(|_| crate::WorkloadError::new_err("the volume has too many pages"))?;
    let (counts, warnings) = watched(py, progress, |watch| {
        let mut stopped = false;
        let mut reading = |_| {
            let flow = watch(Step::Read(0));
            stopped |= flow.is_break();
            flow
        };
        let seed = config.workload_seed();
        let workload = &config.workload;
        let opened = ssd_trace::open_watched(workload, page_bytes, pages, seed, None, &mut reading);
        if stopped {
            return Ok(None);
        }
        let opened = opened.map_err(|error| refused(&error))?;
        let warnings = opened.warnings();
        if let Some(reason) = opened.hosting.and_then(|hosting| hosting.needs_time) {
            return Err(crate::WorkloadError::new_err(reason));
        }
        let mut source = opened.source;
        let writer = target.create(&out, options);
        let writer = writer.map_err(|error| unwritten(&error))?;
        let done = converted(convert(&mut *source, writer, &mut |progress| {
            watch(Step::Read(progress.done))
        }));
        done.map(|counts| counts.map(|counts| (counts, warnings)))
    })?;
    Ok(json!({ "written": counted(&out, &counts), "warnings": warnings }).to_string())
}

/// The published numbers of an application, one of the words after `app:`, in a parameter set, as JSON: shares and
/// means of its reads, writes and deletes. Raises `WorkloadError` if there are none.
#[pyfunction]
pub(crate) fn application(name: &str, set: &str) -> PyResult<String> {
    let model = ssd_trace::app::Model::published(name, set).map_err(|error| refused(&error))?;
    let shapes = model.shapes.map(|shape| {
        let random = (1.0 - shape.sequential) * shape.random_bytes;
        json!({
            "share": shape.share,
            "sequential": shape.sequential,
            "bytes": shape.sequential * shape.sequential_bytes + random,
            "sequential_bytes": shape.sequential_bytes,
        })
    });
    Ok(json!({ "ops": shapes, "journal": model.journal }).to_string())
}

/// Write every volume of the trace that a resolved configuration (JSON) names to its own file in `folder`, which must
/// exist. Returns JSON of what was read and written. The rest is as in `trace_convert`, except that after an error the
/// folder holds what was done.
#[pyfunction]
#[pyo3(signature = (config, folder, *, to, allow=Vec::new(), progress=None))]
pub(crate) fn trace_split(
    py: Python<'_>,
    config: &str,
    folder: PathBuf,
    to: &str,
    allow: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let (target, options) = form(to, false, &allow)?;
    let (reading, volumes) = watched(py, progress, |watch| {
        converted(split_trace(&config.workload, &folder, target, options, watch))
    })?;
    let volumes: Vec<Value> = volumes
        .iter()
        .map(|volume| {
            let mut written = counted(&volume.path, &volume.counts);
            written["volume"] = json!(volume.volume);
            written["name"] = json!(volume.name);
            written
        })
        .collect();
    Ok(json!({ "source": described(&reading), "volumes": volumes }).to_string())
}

/// Columns of the requests: arrival (ns), first sector, sectors, operation (index into read, write,
/// trim, flush), flags.
type Columns<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
);

/// The requests of the trace that a resolved configuration (JSON) names, at most `limit` of them: arrays of arrival
/// (ns), first sector, sectors, operation and flags. Raises `WorkloadError` if the trace cannot be used or has more,
/// `KeyboardInterrupt` if it was interrupted.
#[pyfunction]
#[pyo3(signature = (config, *, limit, progress=None))]
pub(crate) fn trace_requests<'py>(
    py: Python<'py>,
    config: &str,
    limit: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Columns<'py>> {
    let config: RunConfig = crate::parsed("config", config)?;
    let columns = watched(py, progress, |watch| {
        let mut columns = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let read = each_request(&config.workload, watch, |timed| {
            if columns.0.len() == limit {
                let remedy = "raise limit, or read a part (workload.from, workload.until)";
                return Err(SourceError(format!("more than limit = {limit} requests; {remedy}")));
            }
            let request = &timed.request;
            columns.0.push(timed.at.0);
            columns.1.push(request.sector);
            columns.2.push(request.sectors);
            // Four operations.
            columns.3.push(request.op as u8);
            columns.4.push(request.flags);
            Ok(())
        });
        match read {
            Ok(_) => Ok(Some(columns)),
            Err(ReadingError::Refused(error)) => Err(refused(&error)),
            Err(ReadingError::Interrupted) => Ok(None),
        }
    })?;
    Ok((
        PyArray1::from_vec(py, columns.0),
        PyArray1::from_vec(py, columns.1),
        PyArray1::from_vec(py, columns.2),
        PyArray1::from_vec(py, columns.3),
        PyArray1::from_vec(py, columns.4),
    ))
}

/// The formats that can be written, as JSON.
pub(crate) fn targets() -> Value {
    ssd_trace::write::TARGETS
        .iter()
        .map(|target| {
            json!({
                "name": target.format.word(),
                "extension": target.extension,
                "carries": target.carries,
            })
        })
        .collect()
}
