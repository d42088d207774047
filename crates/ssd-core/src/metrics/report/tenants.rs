//! Write amplification and copies by volume and stream.

use super::ratio;
use crate::metrics::cause::Cause;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;
use crate::metrics::tenants::Written;
use std::collections::BTreeMap;

section! {
    /// What is written for one volume or stream.
    pub struct TenantStats;
    fields {
        /// Pages that its requests have written.
        pages_written: u64,
        /// Programs of logical pages that it has written last, for any cause.
        programs: u64,
        /// Those of copies (causes `gc`, `wear` and `fold`).
        copies: u64,
        /// Programs over pages written.
        waf: Option<f64> [Ratio],
        /// Of the copies of the device.
        share_of_copies: Option<f64> [Percent],
    }
}

section! {
    /// What is written for each volume and stream, which add up to the whole.
    ///
    /// A program counts for the request that has written, or copied to, its logical page last.
    pub struct Tenants;
    values(inputs) {
        let flash = &inputs.measured.flash;
        let all = Written { pages: inputs.measured.host.pages_written, programs: flash.programs };
        let (mut others, mut volumes, mut streams) =
            (Written::default(), BTreeMap::new(), BTreeMap::new());
        for (writer, counts) in inputs.measured.tenants.iter().flat_map(|t| t.by_writer()) {
            let Some((volume, stream)) = writer else {
                add(&mut others, counts);
                continue;
            };
            add(volumes.entry(volume).or_default(), counts);
            add(streams.entry(stream).or_default(), counts);
        }
        assert_eq!(sum(volumes.values(), &others), all, "the volumes do not add up");
        assert_eq!(sum(streams.values(), &others), all, "the streams do not add up");
        let stats = |counts: &Written| TenantStats::of(counts, &all);
    } {
        /// By volume.
        by_volume: BTreeMap<u16, TenantStats> =
            volumes.iter().map(|(&volume, counts)| (volume, stats(counts))).collect(),
        /// By stream.
        by_stream: BTreeMap<u8, TenantStats> =
            streams.iter().map(|(&stream, counts)| (stream, stats(counts))).collect(),
        /// Pages that no request has written since the run began, parity and checkpoints.
        others: TenantStats = stats(&others),
    }
}

impl TenantStats {
    /// Of `counts`, a part of `all`.
    fn of(counts: &Written, all: &Written) -> TenantStats {
        let programs = counts.programs.iter().sum();
        TenantStats {
            pages_written: counts.pages,
            programs,
            copies: copies(counts),
            waf: ratio(programs, counts.pages),
            share_of_copies: ratio(copies(counts), copies(all)),
        }
    }
}

fn copies(counts: &Written) -> u64 {
    [Cause::Gc, Cause::Wear, Cause::Fold].iter().map(|cause| counts.programs[cause.at()]).sum()
}

fn add(sum: &mut Written, counts: &Written) {
    sum.pages += counts.pages;
    for (sum, programs) in sum.programs.iter_mut().zip(counts.programs) {
        *sum += programs;
    }
}

fn sum<'a>(parts: impl Iterator<Item = &'a Written>, others: &Written) -> Written {
    let mut sum = *others;
    parts.for_each(|counts| add(&mut sum, counts));
    sum
}
