//! Read retries against a literal version of their rules: from the operation log, how many each read draws, and how
//! long the array works for that.

use crate::cases::cases;
use crate::rig::{device, free_blocks, with_pages};
use proptest::prelude::*;
use ssd_core::config::{BusyUnit, GcPath, PoolScope, TimingModel};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::units::Nanos;
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(cases(30, 81))]
    #[test]
    fn reads_are_repeated_as_a_literal_version_says(
        pipelined in any::<bool>(),
        copyback in any::<bool>(),
        threshold in 0u32..=2,
        probability in prop_oneof![Just(0.0), 0.0f64..=1.0],
        growth in prop_oneof![Just(0.0), 0.001f64..0.2],
        (limit, factor) in (1u32..=6, 0.1f64..3.0),
        seed in any::<u64>(),
    ) {
        prop_assume!(probability + growth > 0.0);
        let mut c = device([2, 1, 2], 14, 8, 280);
        c.timing.model = if pipelined { TimingModel::Pipelined } else { TimingModel::Serial };
        (c.timing.busy_unit, c.alloc.pool) = (BusyUnit::Plane, PoolScope::Plane);
        c.gc.trigger = vec![free_blocks(2)];
        c.gc.path = if copyback { GcPath::Copyback } else { GcPath::Controller };
        (c.wear.static_threshold, c.metrics.op_log, c.run.seed) = (threshold, true, seed);
        let k = &mut c.controller;
        (k.retry_probability, k.retry_growth) = (probability, growth);
        (k.retry_limit, k.retry_factor) = (limit, factor);
        let mut ssd = with_pages(&c, c.device.user_pages);
        let mut rng = Stream::new(seed, "requests");
        for _ in 0..600 {
            let hot = if rng.chance(0.8) { 30 } else { c.device.user_pages };
            let sector = rng.below(4 * u64::from(hot));
            let op = if rng.chance(0.3) { Op::Read } else { Op::Write };
            // Some are of part of a page.
            let sectors = 1 + rng.below(4 - sector % 4) as u32;
            ssd.submit(ssd.now(), &Request::new(op, sector, sectors), None).expect("it fits");
            if rng.chance(0.5) {
                ssd.run_until(Nanos::NEVER, &mut Vec::new()).expect("it goes on");
            }
        }
        while let Some(next) = ssd.next_event() {
            ssd.run_until(next, &mut Vec::new()).expect("it goes on");
        }
        let mut log = Vec::new();
        ssd.drain_operations(&mut log);
        let mut draws = Stream::new(seed, "read retries");
        let mut erases = BTreeMap::new();
        let mut retries = BTreeMap::<Cause, u64>::new();
        let copied_back = |read: &OpRecord, next: Option<&OpRecord>| {
            copyback && next.is_some_and(|next| {
                next.op == FlashOp::Program && next.cause == read.cause && next.start == read.end
                    && next.lpn == read.lpn && next.queued == read.queued
            })
        };
        for (at, row) in log.iter().enumerate() {
            let block = (row.place.channel, row.place.plane, row.place.block);
            match row.op {
                FlashOp::Erase => *erases.entry(block).or_insert(0) += 1,
                FlashOp::Read => {
                    // A copy-back is not decoded.
                    let decoded = !copied_back(row, log.get(at + 1));
                    let worn = f64::from(erases.get(&block).copied().unwrap_or(0));
                    let fails = (probability + growth * worn).min(1.0);
                    let mut repeated = 0;
                    while decoded && repeated < limit && draws.chance(fails) {
                        repeated += 1;
                    }
                    *retries.entry(row.cause).or_default() += u64::from(repeated);
                    let (begin, end) = row.array.expect("the array reads");
                    // The log of the serial model has only the whole time of the unit.
                    let transfer = if decoded && !pipelined { c.timing.transfer_ns } else { 0 };
                    let once = c.timing.read_ns + transfer;
                    let retry = (c.timing.read_ns as f64 * factor).round() as u64;
                    prop_assert_eq!(
                        end.0 - begin.0,
                        once + u64::from(repeated) * retry,
                        "row {}, {} retries: {:?}", at, repeated, row
                    );
                    // The bus is held for one page, however often the array has read it.
                    prop_assert!(row.bus.is_none_or(|(begin, end)| end.0 - begin.0 == c.timing.transfer_ns));
                }
                FlashOp::Program => {}
            }
        }
        for (cause, repeated) in retries {
            prop_assert_eq!(ssd.measured().flash.retries[cause.at()], repeated, "{:?}", cause);
        }
    }
}
