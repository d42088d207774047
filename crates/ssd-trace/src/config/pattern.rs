//! The keys of the pattern of a stand-in, which is the dependence between its requests.

use super::{Pattern, PatternKeys, RunConfig, Workload};
use ssd_core::config::draft::Draft;

impl PatternKeys {
    /// Returns the values in `workload`.
    #[must_use]
    pub fn of(workload: &Workload) -> PatternKeys {
        PatternKeys {
            short_gaps: workload.short_gaps,
            gap_cv: workload.gap_cv,
            train_gap_ns: workload.train_gap_ns,
            train_cv: workload.train_cv,
            same_size: workload.same_size,
            sequential_writes: workload.sequential_writes,
            read_recent: workload.read_recent,
        }
    }

    /// Sets the keys that the configuration leaves out to the values of `workload.pattern`.
    pub(super) fn follow(draft: &mut Draft<'_, RunConfig>) {
        let Draft { config, pending } = draft;
        let workload = &mut config.workload;
        let values = match workload.pattern {
            Pattern::Independent => return,
            Pattern::MsrSample => PatternKeys::MSR_SAMPLE,
        };
        for (key, at, value) in [
            ("workload.short_gaps", &mut workload.short_gaps, values.short_gaps),
            ("workload.gap_cv", &mut workload.gap_cv, values.gap_cv),
            ("workload.train_cv", &mut workload.train_cv, values.train_cv),
            ("workload.same_size", &mut workload.same_size, values.same_size),
            (
                "workload.sequential_writes",
                &mut workload.sequential_writes,
                values.sequential_writes,
            ),
            ("workload.read_recent", &mut workload.read_recent, values.read_recent),
        ] {
            if !pending.has_said(key) {
                *at = value;
            }
        }
        if !pending.has_said("workload.train_gap") {
            workload.train_gap_ns = values.train_gap_ns;
        }
    }
}
