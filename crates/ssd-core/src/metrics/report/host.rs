//! Requests and pages of the host.

use super::per_second;
use crate::host::request::Op;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Requests by outcome and by operation.
    pub struct Requests;
    values(inputs) {
        let host = &inputs.measured.host;
    } {
        /// Initial requests that were simulated but left out of all statistics.
        warmup: u64 = inputs.measured.warmup,
        /// Submitted.
        submitted: u64 = host.submitted.iter().sum(),
        /// Completed: the sum of the next four fields and of `remap.commands`.
        completed: u64 [Number, fact("requests")] = host.completed.iter().sum(),
        /// Reads completed.
        read: u64 = host.completed[Op::Read as usize],
        /// Writes completed.
        write: u64 = host.completed[Op::Write as usize],
        /// TRIMs completed.
        trim: u64 = host.completed[Op::Trim as usize],
        /// Flushes completed.
        flush: u64 = host.completed[Op::Flush as usize],
    }
}

section! {
    /// Host pages.
    pub struct Host;
    /// Host requests and pages; the arrays are indexed by `op as usize`.
    counters HostCounts in host {
        /// Pages read, from flash or not.
        pages_read: u64,
        /// Pages written; a page written in part counts as one.
        pages_written: u64,
        /// Pages unmapped by TRIM.
        pages_trimmed: u64,
        /// Pages read that held no data.
        unmapped_pages_read: u64,
        /// Pages read while their data were still in the controller.
        controller_pages_read: u64,
        /// Pages written in part.
        rmw: u64,
    }
    sums {
        /// Requests submitted.
        submitted: [u64; Op::ALL.len()],
        /// Requests completed.
        completed: [u64; Op::ALL.len()],
    }
    values(inputs) {
        let rate = |pages: u64| per_second(pages * inputs.device.page_bytes, inputs.span_ns());
    } {
        /// Bytes read per second of simulated time, in whole pages.
        read_bytes_per_s: Option<f64> [
            Bandwidth,
            measure("read_bytes_per_s").short("read throughput").last()
        ] = rate(inputs.measured.host.pages_read),
        /// Bytes written per second of simulated time, in whole pages.
        write_bytes_per_s: Option<f64> [
            Bandwidth,
            measure("write_bytes_per_s").short("write throughput").last()
        ] = rate(inputs.measured.host.pages_written),
    }
}
