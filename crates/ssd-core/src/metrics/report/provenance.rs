//! What a run was made with.

use crate::metrics::declare::section;
use std::collections::BTreeMap;

/// Raised by every change after which some run has other results: the key under which results may
/// be kept (docs/adr/0022). `make golden` accepts no changed number without it.
pub const RESULTS_VERSION: u64 = 10;

section! {
    /// Everything needed to repeat the run.
    pub struct Provenance;
    fields {
        /// Version of ssdlab.
        ssdlab: String,
        /// Version of its results: equal inputs of equal versions have equal results; `null` if
        /// the run is older than this number.
        #[serde(default)]
        results: Option<u64>,
        /// Commit it was built from, if known.
        commit: Option<String>,
        /// Seed of every random stream.
        seed: u64 [Number, fact("seed")],
        /// Digest of the resolved configuration.
        config_digest: String [Number, fact("config_digest")],
        /// Digest of the trace; `null` for a synthetic workload.
        trace_digest: Option<String>,
        /// Digest of the snapshot that the run started from; `null` if it was preconditioned.
        #[serde(default)]
        snapshot_digest: Option<String>,
        /// Digest of all events of the run in order; `null` in functional mode.
        event_digest: Option<String> [Number, fact("event_digest")],
        /// Policies in Python by the key that they replace; repeating the run requires them.
        #[serde(default)]
        external_policies: BTreeMap<String, String>,
    }
}

section! {
    /// What became of the lines of a trace.
    pub struct TraceLines;
    fields {
        /// Lines of the file; records of a binary one.
        lines: u64,
        /// Lines that could not be used and were skipped (`workload.skip_bad`).
        skipped: u64,
        /// Requests that are earlier than one above them: sorted, or among the lines skipped.
        late: u64,
        /// Whether the requests were sorted by time (`workload.sort`).
        sorted: bool,
        /// A message to show before all results: more than 1 % of the lines were skipped.
        loss: Option<String>,
    }
}
