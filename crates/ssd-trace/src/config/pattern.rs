//! The keys of the pattern of a stand-in: how its requests depend on one another.

use super::{Pattern, RunConfig, Workload};
use ssd_core::config::draft::Draft;

/// Values of these keys; each is defined at its key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PatternKeys {
    /// `workload.short_gaps`
    pub short_gaps: f64,
    /// `workload.gap_cv`
    pub gap_cv: f64,
    /// `workload.train_gap`
    pub train_gap_ns: u64,
    /// `workload.train_cv`
    pub train_cv: f64,
    /// `workload.same_size`
    pub same_size: f64,
    /// `workload.sequential_writes`
    pub sequential_writes: f64,
    /// `workload.read_recent`
    pub read_recent: f64,
}

impl PatternKeys {
    /// `workload.pattern = "independent"`: every request is independent of the others.
    pub const INDEPENDENT: PatternKeys = PatternKeys {
        short_gaps: 0.0,
        gap_cv: 1.0,
        train_gap_ns: 50_000,
        train_cv: 1.0,
        same_size: 0.0,
        sequential_writes: 0.0,
        read_recent: 0.0,
    };
    /// `workload.pattern = "msr-sample"`: measured with `ssdlab trace info` on the 10,000 requests of an MSR
    /// volume that Heimdall's artifact has (243 s; 80 % writes of 6.2 KiB on average). The sample does not say
    /// which volume it is from, and its mean gap and sizes are not used.
    pub const MSR_SAMPLE: PatternKeys = PatternKeys {
        short_gaps: 0.797,
        gap_cv: 3.38,
        train_gap_ns: 48_200,
        train_cv: 1.23,
        same_size: 0.658,
        sequential_writes: 0.035,
        read_recent: 0.286,
    };

    /// Those of a configuration.
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

    /// Sets the keys that are not said to those of `workload.pattern`.
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
