//! The keys of the pattern of a stand-in, which is the dependence between its requests.

use super::{Pattern, PatternKeys, RunConfig, SHORT_GAP_NS, Workload};
use libm::sqrt;
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

    /// Returns the power of a uniform number by which a short gap is shorter than `SHORT_GAP_NS`; `None`: all are 0.
    pub(crate) fn short_gap_exponent(&self) -> Option<f64> {
        (self.train_gap_ns > 0).then(|| SHORT_GAP_NS as f64 / self.train_gap_ns as f64 - 1.0)
    }

    /// Returns the mean square of short gaps, ns².
    pub(crate) fn short_gap_square(&self) -> f64 {
        let limit = SHORT_GAP_NS as f64;
        self.short_gap_exponent().map_or(0.0, |power| limit * limit / (2.0 * power + 1.0))
    }

    /// Returns the coefficient of variation below which no gaps have these short ones: that of the shortest mean, at
    /// which all long gaps are `SHORT_GAP_NS` long.
    pub(crate) fn least_gap_cv(&self) -> f64 {
        let (short, limit) = (self.short_gaps, SHORT_GAP_NS as f64);
        let mean = short * self.train_gap_ns as f64 + (1.0 - short) * limit;
        let square = short * self.short_gap_square() + (1.0 - short) * limit * limit;
        sqrt((square / (mean * mean) - 1.0).max(0.0))
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
