//! What is judged from the course of a run: whether it has settled.

use crate::host::request::Op;
use crate::metrics::inputs::Inputs;
use crate::metrics::steady::{Evidence, SteadyState};
use crate::metrics::verdict::{self, DecidedBy};
use crate::metrics::warmup::{self, Warmup};

/// Largest number of stretches of the host's writes over which write amplification is examined: as many as
/// there are batches of latencies.
const MOST_SLOPES: usize = 63;

/// Only the host of zones copies pages. The write amplification of its drive is always about 1.
const OF_ZONES: &str = "the write amplification of the host that stores its pages in zones";

/// Whether write amplification has settled.
pub(super) fn steady_state(inputs: &Inputs) -> SteadyState {
    let m = inputs.measured;
    if inputs.device.zones.is_some() {
        return SteadyState {
            reached: false,
            reason: format!("{OF_ZONES} is not judged"),
            wa_first: None,
            wa_second: None,
        };
    }
    m.course.judge(&Evidence {
        host_pages: m.host.pages_written,
        programs: m.flash.all_programs(),
        pages_before: inputs.device.pages_before,
        user_pages: inputs.device.user_pages,
        spare_pages: inputs.device.physical_pages
            - inputs.device.user_pages
            - inputs.device.parity_groups.unwrap_or(0),
        live_pages: inputs.device.valid_pages,
        starts_steady: inputs.config["precondition"]["steady_state"] == "mean-field",
        gc_calls: m.gc.calls,
        reserve_decided: verdict::judge(&m.gc).decided_by == DecidedBy::Reserve,
    })
}

/// Whether the measurement starts with a transient.
pub(super) fn warmup(inputs: &Inputs) -> Warmup {
    let m = inputs.measured;
    if inputs.trace_lines.is_some() {
        return warmup::unknown(
            "changes in a trace cannot be distinguished from a transient of the device",
        );
    }
    if inputs.device.zones.is_some() {
        return warmup::unknown(&format!("the course of {OF_ZONES} is not recorded"));
    }
    let latency = |op: Op| m.latencies.of(op).batches.means().unwrap_or_default();
    let courses = [
        ("write amplification", m.course.slopes(MOST_SLOPES)),
        ("write latency", latency(Op::Write)),
        ("read latency", latency(Op::Read)),
    ];
    warmup::judge(&courses, m.warmup, m.host.submitted.iter().sum())
}
