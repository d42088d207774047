//! The configuration of a run: the kernel's tables and `[workload]`, which the kernel does not know.
//!
//! Each key of the workload is an entry of `table`; each trace format is a file of `read::formats`.

mod checks;
mod pattern;
mod special;
mod table;
mod values;
mod vocabulary;
mod words;

pub use table::Workload;
pub use values::{AllVolumes, Arrival, PatternKeys, SizeShare, VolumeKey};
pub use words::*;

use crate::week::Week;
use serde::{Deserialize, Serialize};
use ssd_core::config::checks::Check;
use ssd_core::config::checks::needs::Need;
use ssd_core::config::draft::Draft;
use ssd_core::config::keys::Table;
use ssd_core::config::terms::Vocabularies;
use ssd_core::config::text::error::{Errors, SourcePos};
use ssd_core::config::{Composed, Config, DeviceFit, HostMode};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// Requests in one arrival cycle of an application: about a second at a thousand requests per second.
pub(crate) const CYCLE: u64 = 1024;

/// Gaps below this are within a train, nanoseconds.
pub(crate) const SHORT_GAP_NS: u64 = 1_000_000;

/// Zipf exponent of the overwrites of an application's tables, as in YCSB.
pub(crate) const TABLE_SKEW: f64 = 0.99;

/// Mean time between the requests of an application: a thousand per second, which most devices can serve.
pub(super) const MODEL_INTERVAL_NS: u64 = 1_000_000;
/// A complete, checked description of one run.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct RunConfig {
    /// The device, and how it is driven and measured.
    #[serde(flatten)]
    pub kernel: Config,
    /// The requests.
    pub workload: Workload,
}

impl Deref for RunConfig {
    type Target = Config;
    fn deref(&self) -> &Config {
        &self.kernel
    }
}

impl DerefMut for RunConfig {
    fn deref_mut(&mut self) -> &mut Config {
        &mut self.kernel
    }
}

impl RunConfig {
    /// Returns the seed of the synthetic requests: `workload.seed`, or else `run.seed`.
    #[must_use]
    pub fn workload_seed(&self) -> u64 {
        self.workload.seed.unwrap_or(self.run.seed)
    }

    /// Returns the number of initial requests without statistics if the source has `expected` requests.
    ///
    /// # Panics
    /// If the warm-up is a share and `expected` is `None`, which the checks refuse.
    #[must_use]
    pub fn warmup(&self, expected: Option<u64>) -> u64 {
        let Workload { warmup_requests, warmup_share, .. } = self.workload;
        if warmup_share == 0.0 {
            return warmup_requests;
        }
        let total = expected.expect("the number of requests is known");
        (warmup_share * total as f64).round() as u64
    }

    /// Returns whether statistics are split by volume and stream, which only traces have.
    #[must_use]
    pub fn splits(&self) -> bool {
        self.workload.kind == WorkloadKind::Trace
    }
}

impl Composed for RunConfig {
    const TABLES: &'static [Table<RunConfig>] = &[table::TABLE];
    const NEEDS: &'static [Need<RunConfig>] = checks::NEEDS;
    const CHECKS: &'static [Check<RunConfig>] = checks::CHECKS;
    const VOCABULARIES: Vocabularies = vocabulary::VOCABULARIES;
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[
        (
            "host.mode",
            "closed for `uniform`, `zipf`, `hot-cold` and `sequential`, set by the job file for `fio`, otherwise open",
        ),
        ("workload.requests", "all of its week for `msr:...`, otherwise 100000"),
    ];

    /// A trace or a job file implies the kind of the workload.
    fn imply(
        draft: &mut Draft<'_, RunConfig>,
        errors: &mut Errors,
        places: &BTreeMap<String, SourcePos>,
    ) {
        let workload = &mut draft.config.workload;
        let kind = places.get("workload.kind");
        let (trace, job) = (places.get("workload.trace"), places.get("workload.job"));
        if let (Some(_), Some(&place)) = (trace, job) {
            errors.add(
                place,
                "workload.job",
                "a trace and a job file are both set; keep one of them",
            );
        }
        for (key, file, implied) in [
            ("workload.trace", trace, WorkloadKind::Trace),
            ("workload.job", job, WorkloadKind::Fio),
        ] {
            match file {
                Some(&place) if kind.is_some() && workload.kind != implied => {
                    let noun = key.trim_start_matches("workload.");
                    let message =
                        format!("a {noun} and another kind are both set; keep one of them");
                    errors.add(place, key, message);
                }
                Some(_) => workload.kind = implied,
                None => {}
            }
        }
        // A later layer with another kind drops the file of an earlier layer.
        if workload.kind != WorkloadKind::Trace {
            workload.trace = None;
        }
        if workload.kind != WorkloadKind::Fio {
            workload.job = None;
        }
    }

    fn follow(draft: &mut Draft<'_, RunConfig>) {
        PatternKeys::follow(draft);
        let Draft { config, pending } = draft;
        let renumbered = config.device.fit == DeviceFit::Trace
            || matches!(config.workload.volume, Some(VolumeKey::Every(_)));
        if renumbered && !pending.has_said("workload.fit") {
            config.workload.fit = Fit::Compact;
        }
        let origin = config.workload.kind.origin();
        // A preset's number of requests applies only to the preset's kind.
        let by_user = |key: &str| pending.set_in_vain(key, &[]).is_some();
        let number_counts = by_user("workload.requests")
            || (pending.has_said("workload.requests") && !by_user("workload.kind"));
        if let Origin::Volume(name) = origin
            && !number_counts
            && let Ok(week) = Week::published(name)
        {
            config.workload.requests = week.shrunk(config.workload.shrink).requests();
        }
        if !pending.has_said("host.mode") {
            config.host.mode = match origin {
                Origin::Trace | Origin::Application(_) | Origin::Volume(_) => HostMode::Open,
                Origin::Shares | Origin::Jobs => HostMode::Closed,
            };
        }
        if !matches!(origin, Origin::Trace | Origin::Shares) {
            let like = config.workload.like.is_some();
            let arrival = &mut config.workload.arrival;
            if !pending.has_said_part("workload.arrival.kind") {
                arrival.kind = ArrivalKind::Model;
            }
            if !pending.has_said_part("workload.arrival.interval") {
                // 0 keeps the recorded intervals.
                arrival.interval_ns = if like { 0 } else { MODEL_INTERVAL_NS };
            }
        }
    }
}
