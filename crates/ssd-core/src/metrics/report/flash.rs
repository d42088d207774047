//! Flash operations by cause, and write amplification.

use super::ratio;
use crate::metrics::cause::{CAUSES, Cause};
use crate::metrics::declare::section;
use crate::metrics::form::Counter as _;
use crate::metrics::inputs::Inputs;
use std::collections::BTreeMap;

section! {
    /// Flash operations.
    pub struct Flash;
    /// Flash operations by cause, counted when they start.
    counters FlashCounts in flash {
        /// Pages read, by cause.
        reads: [u64; CAUSES],
        /// Pages programmed, by cause.
        programs: [u64; CAUSES],
    }
    sums {
        /// Blocks erased.
        erases: [u64; CAUSES],
        /// Retries of the reads.
        retries: [u64; CAUSES],
        /// Suspensions of programs and erases.
        suspensions: [u64; CAUSES],
    }
    values(inputs) {
        let flash = &inputs.measured.flash;
    } {
        /// Blocks erased.
        erases: u64 [Number, shown("erases", "erases")] = flash.all_erases(),
        /// Blocks erased, by cause.
        erases_by_cause: BTreeMap<Cause, u64> = flash.erases.reported(),
        /// Retries of reads, by the cause of the read.
        #[serde(default)]
        retries: BTreeMap<Cause, u64> = flash.retries.reported(),
        /// How often programs and erases were suspended, by their cause.
        #[serde(default)]
        suspensions: BTreeMap<Cause, u64> = flash.suspensions.reported(),
    }
}

impl FlashCounts {
    /// Pages programmed for any cause.
    #[must_use]
    pub fn all_programs(&self) -> u64 {
        self.programs.iter().sum()
    }
    /// Blocks erased for any cause.
    #[must_use]
    pub fn all_erases(&self) -> u64 {
        self.erases.iter().sum()
    }
    /// Operations of any kind and cause.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.reads.iter().sum::<u64>() + self.all_programs() + self.all_erases()
    }
}

section! {
    /// Write amplification: pages programmed over pages written by the host.
    ///
    /// `null` without host writes. The parts sum to the total. `host` is 1, unless the run ended with
    /// writes in flight or a buffer absorbed overwrites.
    pub struct Waf;
    values(inputs) {
        let (flash, written) = (&inputs.measured.flash, inputs.measured.host.pages_written);
        let part = |&cause: &Cause| (cause, ratio(flash.programs[cause.at()], written));
    } {
        /// All causes together.
        total: Option<f64> [Ratio, ranked("waf", "write amplification").short("WAF")] =
            ratio(flash.all_programs(), written),
        /// By cause.
        #[serde(flatten)]
        by_cause: BTreeMap<Cause, Option<f64>> = Cause::ALL.iter().map(part).collect(),
    }
}
