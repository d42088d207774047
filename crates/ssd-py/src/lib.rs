//! Python bindings of ssdlab: only conversions.

mod bridge;
mod device;
mod finished;
mod keys;
mod kv;
mod log_reader;
mod panics;
mod policies;
mod published;
mod run;
mod serve;
mod trace_cache;
mod trace_info;
mod traces;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use ssd_core::config::terms::{Term, Vocabulary};
use ssd_core::config::{self, Composed as _};
use ssd_core::metrics::numbers;
use ssd_core::metrics::report::{RESULTS_VERSION, Report};
use ssd_core::plug::PolicyInfo;
use ssd_trace::config::RunConfig;
use ssd_trace::fio::Class;

pyo3::create_exception!(
    ssdlab._core,
    ConfigError,
    PyValueError,
    "Errors of a configuration, all at once."
);
pyo3::create_exception!(
    ssdlab._core,
    WorkloadError,
    PyValueError,
    "A trace or workload that cannot be run."
);

fn parsed<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("{name}: {e}")))
}

pyo3::create_exception!(
    ssdlab._core,
    StuckError,
    PyRuntimeError,
    "A simulation that cannot go on."
);

/// Resolve a configuration to JSON. Raises `ConfigError` with all messages as its arguments.
#[pyfunction]
#[pyo3(signature = (preset=None, file=None, sets=Vec::new()))]
fn load(
    preset: Option<String>,
    file: Option<(String, String)>,
    sets: Vec<(String, String)>,
) -> PyResult<String> {
    let config =
        config::load::<RunConfig>(&config::Input { preset, file, sets }).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            ConfigError::new_err((messages,))
        })?;
    Ok(json!(config).to_string())
}

/// A resolved configuration (JSON) as TOML that resolves to itself.
#[pyfunction]
fn config_toml(config: &str) -> PyResult<String> {
    Ok(config::to_toml(&parsed::<RunConfig>("config", config)?))
}

/// Warnings about a resolved configuration (JSON) before a run begins.
#[pyfunction]
fn config_notes(config: &str) -> PyResult<Vec<String>> {
    Ok(parsed::<RunConfig>("config", config)?.notes())
}

/// The digest of a resolved configuration (JSON), as in reports.
#[pyfunction]
fn config_digest(config: &str) -> PyResult<String> {
    Ok(config::digest(&parsed::<RunConfig>("config", config)?))
}

/// JSON Schema of configurations.
#[pyfunction]
fn config_schema() -> String {
    config::schema::<RunConfig>().to_string()
}

/// JSON Schema of report.json.
#[pyfunction]
fn report_schema() -> String {
    ssd_core::metrics::schema::schema().to_string()
}

/// The sections of report.json and the columns of comparisons, with their definitions and units, as JSON.
#[pyfunction]
fn report_form() -> String {
    ssd_core::metrics::describe::describe().to_string()
}

/// Every configuration key and policy as a Markdown page.
#[pyfunction]
fn config_reference() -> String {
    config::reference_markdown::<RunConfig>()
}

/// The largest simulated time, in ns, that the device of a resolved configuration (JSON) can reach.
#[pyfunction]
fn last_time_ns(config: &str) -> PyResult<u64> {
    let config: RunConfig = parsed("config", config)?;
    Ok(ssd_core::sim::last_time(&config.kernel).0)
}

/// The human summary of a report (JSON).
#[pyfunction]
fn summary(report: &str) -> PyResult<String> {
    Ok(ssd_core::metrics::summary::text(&parsed::<Report>("report", report)?))
}

/// A number as text: three significant digits, in the units of `quantity`. Raises `ValueError` for an unknown one.
#[pyfunction]
fn number_text(quantity: &str, value: f64) -> PyResult<String> {
    let write = match quantity {
        "duration" => numbers::duration,
        "size" => numbers::size,
        "bandwidth" => numbers::bandwidth,
        "rate" => numbers::rate,
        "percent" => numbers::percent,
        "ratio" => numbers::ratio,
        "number" => numbers::significant,
        _ => return Err(PyValueError::new_err(format!("{quantity}: no such quantity"))),
    };
    Ok(write(value))
}

/// The 97.5 % point of Student's t by degrees of freedom. Raises `ValueError` for 0 of them.
#[pyfunction]
fn student_t_95(freedom: u64) -> PyResult<f64> {
    if freedom == 0 {
        return Err(PyValueError::new_err("an interval needs at least two values"));
    }
    Ok(ssd_core::metrics::batch::student_t_95(freedom))
}

fn described(policies: &[&PolicyInfo]) -> serde_json::Value {
    let policy = |p: &&PolicyInfo| {
        let param = |q: &ssd_core::plug::ParamInfo| {
            json!({"name": q.name, "default": q.default, "doc": q.doc,
                   "kind": format!("{:?}", q.kind)})
        };
        let params: Vec<_> = p.params.iter().map(param).collect();
        json!({"name": p.name, "summary": p.summary, "paper": p.paper, "params": params})
    };
    policies.iter().map(policy).collect()
}

/// Words of other tools by tool, each with its key, or key and value, in ssdlab.
fn words() -> serde_json::Map<String, serde_json::Value> {
    let entry = |term: &Term| {
        let Term { key, note, .. } = term;
        let summary = match (*key, *note) {
            ("", note) => note.to_owned(),
            (key, "") => key.to_owned(),
            (key, note) => format!("{key}: {note}"),
        };
        let spellings: Vec<&str> = term.spellings().collect();
        json!({"name": spellings.join(", "), "summary": summary, "key": key, "spellings": spellings})
    };
    let entry_of = |vocabulary: &Vocabulary| {
        (vocabulary.tool.to_owned(), vocabulary.terms.iter().map(entry).collect())
    };
    RunConfig::VOCABULARIES.iter().map(entry_of).collect()
}

/// Policies by question, presets, trace formats to read and to write, words of other tools, as JSON.
#[pyfunction]
fn registry() -> String {
    let presets: Vec<_> = config::presets::PRESETS
        .iter()
        .map(|p| {
            let published = p.published().map(published::table);
            json!({
                "name": p.name,
                "summary": p.summary(),
                "text": p.text(),
                "published": published,
                "measured": p.measured,
            })
        })
        .collect();
    let policies: serde_json::Map<_, _> = config::keys::policy::DECISIONS
        .iter()
        .map(|decision| (decision.key.to_owned(), described(decision.policies)))
        .collect();
    let formats: Vec<serde_json::Value> = ssd_trace::formats::ALL
        .iter()
        .map(|info| {
            json!({
                "name": info.name,
                "summary": info.summary,
                "form": info.form,
                "units": info.units,
                "clock": info.clock.name(),
                "volume": info.volume,
                "order": info.order,
                "source": info.source,
                "traps": info.traps,
            })
        })
        .collect();
    let fio_options: Vec<serde_json::Value> = ssd_trace::fio::options()
        .map(|option| {
            let (class, reason) = match option.class {
                Class::Modelled => ("modelled", None),
                Class::Host => ("host", None),
                Class::Refused(reason) => ("refused", Some(reason)),
            };
            json!({"name": option.name, "alias": option.alias, "class": class, "why": reason})
        })
        .collect();
    let fio_engines: Vec<_> = ssd_trace::fio::engines_without_device().collect();
    json!({
        "fio_options": fio_options,
        "fio_engines": fio_engines,
        "policies": policies,
        "presets": presets,
        "formats": formats,
        "targets": traces::targets(),
        "losses": ssd_trace::write::Allow::NAMES,
        "words": words(),
    })
    .to_string()
}

fn add_kv(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    kv::know_process(module)?;
    module.add("KvError", py.get_type::<kv::KvError>())?;
    module.add("KvCorruptionError", py.get_type::<kv::KvCorruptionError>())?;
    module.add("KvAppliedError", py.get_type::<kv::KvAppliedError>())?;
    let kinds = kv::Kinds::of(py)?;
    module.add("KvClosedError", &kinds.closed)?;
    module.add("KvIoError", &kinds.io)?;
    module.add("KvLockedError", &kinds.locked)?;
    module.add("KvUncertainError", &kinds.uncertain)?;
    module.add_class::<kv::Store>()?;
    module.add_class::<kv::KvBatch>()?;
    module.add_class::<kv::KvSnapshot>()?;
    module.add_class::<kv::KvIter>()?;
    module.add_class::<kv::KvBench>()?;
    module.add_function(wrap_pyfunction!(kv::kv_defaults, module)?)?;
    module.add_function(wrap_pyfunction!(kv::kv_ranges, module)?)?;
    module.add_function(wrap_pyfunction!(kv::kv_destroy, module)?)?;
    module.add_function(wrap_pyfunction!(kv::kv_repair, module)?)?;
    module.add_function(wrap_pyfunction!(kv::kv_dump, module)?)?;
    module.add_function(wrap_pyfunction!(kv::kv_simulate, module)?)?;
    module.add_function(wrap_pyfunction!(kv::kv_simulate_defaults, module)?)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__results_version__", RESULTS_VERSION)?;
    panics::silence();
    module.add("__commit__", option_env!("SSDLAB_COMMIT").filter(|commit| !commit.is_empty()))?;
    module.add("ConfigError", module.py().get_type::<ConfigError>())?;
    module.add("WorkloadError", module.py().get_type::<WorkloadError>())?;
    module.add_class::<finished::Finished>()?;
    module.add("StuckError", module.py().get_type::<StuckError>())?;
    module.add_class::<log_reader::LogReader>()?;
    module.add_class::<keys::KeyStream>()?;
    module.add_class::<device::Device>()?;
    add_kv(module)?;
    module.add_class::<policies::DeviceInfo>()?;
    module.add_class::<policies::VictimView>()?;
    module.add_class::<policies::TriggerView>()?;
    module.add_class::<policies::ClassView>()?;
    module.add_class::<policies::ConcurrencyView>()?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(config_toml, module)?)?;
    module.add_function(wrap_pyfunction!(config_notes, module)?)?;
    module.add_function(wrap_pyfunction!(config_digest, module)?)?;
    module.add_function(wrap_pyfunction!(config_schema, module)?)?;
    module.add_function(wrap_pyfunction!(report_form, module)?)?;
    module.add_function(wrap_pyfunction!(report_schema, module)?)?;
    module.add_function(wrap_pyfunction!(config_reference, module)?)?;
    module.add_function(wrap_pyfunction!(last_time_ns, module)?)?;
    module.add_function(wrap_pyfunction!(summary, module)?)?;
    module.add_function(wrap_pyfunction!(number_text, module)?)?;
    module.add_function(wrap_pyfunction!(student_t_95, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(published::published, module)?)?;
    module.add_function(wrap_pyfunction!(published::toml_json, module)?)?;
    module.add_function(wrap_pyfunction!(panics::last_panic, module)?)?;
    module.add_class::<run::Start>()?;
    module.add_function(wrap_pyfunction!(trace_info::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info::footprint_pages, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info::trace_totals, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info::fitted, module)?)?;
    module.add_class::<trace_cache::Traces>()?;
    module.add_function(wrap_pyfunction!(trace_cache::trace_memory_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(traces::application, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_merge, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_generate, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_split, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_requests, module)?)?;
    module.add_function(wrap_pyfunction!(device::snapshot_info, module)?)?;
    module.add_function(wrap_pyfunction!(device::zone_statuses, module)?)?;
    module.add_function(wrap_pyfunction!(run::op_log_excerpt, module)?)?;
    module.add_function(wrap_pyfunction!(serve::serve, module)?)?;
    module.add_function(wrap_pyfunction!(serve::served_why, module)?)?;
    module.add("SERVED_START", ssd_serve::session::START)?;
    module.add("SERVED_REQUESTS", ssd_serve::session::REQUESTS)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)
}
