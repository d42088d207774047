//! Programs by volume and stream: against the logs of storms, and sums with everything else.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, Spare, any_config};
use crate::rig::{alone, device, finish, free_blocks, operations_of, whole, with_pages};
use proptest::prelude::*;
use ssd_core::config::{self, Config, Input, Kernel, RemapMode};
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::{CAUSES, Cause};
use ssd_core::metrics::tenants::{Writer, Written};
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use std::collections::BTreeMap;

type Counts = BTreeMap<Option<Writer>, Written>;

/// What the device has counted, without writers of nothing.
fn counted(ssd: &Ssd) -> Counts {
    let tenants = ssd.measured().tenants.as_ref().expect("they are told apart");
    let counts = tenants.by_writer().map(|(writer, counts)| (writer, *counts));
    counts.filter(|(_, counts)| *counts != Written::default()).collect()
}

/// What follows from the logs: a program counts for the request that has arrived last of those that write its page.
fn by_the_logs(operations: &[OpRecord], requests: &[RequestRecord]) -> Counts {
    let mut counts = Counts::new();
    let writer_of = |r: &RequestRecord| Some((r.request.volume, r.request.stream));
    for r in requests.iter().filter(|r| r.request.op == Op::Write) {
        counts.entry(writer_of(r)).or_default().pages += u64::from(r.pages);
    }
    for (program, starts) in programs(operations) {
        let writes = requests.iter().filter(|r| {
            let pages = r.lpn..r.lpn + r.pages;
            r.request.op == Op::Write && r.arrival <= starts && pages.contains(&program.lpn)
        });
        let last = writes.max_by_key(|r| (r.arrival, r.id));
        let counts = counts.entry(last.and_then(writer_of)).or_default();
        counts.programs[program.cause.at()] += 1;
    }
    counts
}

/// The programs, and when they count: that of a copy-back with its read, which the log has before it.
fn programs(operations: &[OpRecord]) -> impl Iterator<Item = (&OpRecord, Nanos)> {
    operations.iter().enumerate().filter(|(_, r)| r.op == FlashOp::Program).map(|(n, r)| {
        let read = n.checked_sub(1).map(|before| &operations[before]);
        let is_copied_back = |read: &&OpRecord| {
            let planes = [r, read].map(|r| (r.place.channel, r.place.chip, r.place.plane));
            read.op == FlashOp::Read
                && matches!(r.cause, Cause::Gc | Cause::Wear | Cause::Fold)
                && (read.cause, read.end, read.queued) == (r.cause, r.start, r.queued)
                && planes[0] == planes[1]
        };
        (r, read.filter(is_copied_back).map_or(r.start, |read| read.start))
    })
}

/// The sums over all writers are those of the device.
fn adds_up(ssd: &Ssd) {
    let (mut pages, mut programs) = (0, [0; CAUSES]);
    for counts in counted(ssd).values() {
        pages += counts.pages;
        programs.iter_mut().zip(counts.programs).for_each(|(sum, n)| *sum += n);
    }
    let m = ssd.measured();
    assert_eq!((pages, programs), (m.host.pages_written, m.flash.programs));
}

/// A request of two volumes with two streams each, which differ in where they write most.
fn drawn(rng: &mut Stream, user: u64) -> Request {
    let volume = rng.below(2) as u16;
    let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim][rng.below(5) as usize];
    let pages = 1 + rng.below(3.min(user)) as u32;
    let first = if rng.chance(0.7) { u64::from(volume) * user / 2 } else { 0 };
    let lpn = (first + rng.below(user / 2 + 1)).min(user - u64::from(pages)) as u32;
    Request { volume, stream: rng.below(2) as u8 * 5, ..whole(op, lpn, pages) }
}

fn storm(c: &Config, seed: u64) -> Option<Ssd> {
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    let mut rng = Stream::new(seed, "tenants");
    let user = u64::from(c.device.user_pages);
    let mut at = 0;
    for _ in 0..500 {
        // No request arrives in the instant of another, nor because another completes.
        at += 1 + rng.below(c.timing.program_ns);
        ssd.submit(Nanos(at), &drawn(&mut rng, user), None).expect("a valid request");
    }
    // A device may refuse to go on, when placement has crowded a pool.
    finish(&mut ssd).ok()?;
    ssd.quiesce().expect("it comes to rest");
    Some(ssd)
}

proptest! {
    #![proptest_config(cases(120, 192))]

    #[test]
    fn programs_count_for_who_has_written_the_page_last(
        RandomConfig(mut c) in any_config(Spare::Tight), seed in 0u64..1000, buffer in any::<bool>()
    ) {
        prop_assume!(c.device.user_pages > 8);
        c.metrics.tenants = true;
        (c.metrics.op_log, c.metrics.request_log) = (true, true);
        c.host.write_buffer_pages = if buffer { 7 } else { 0 };
        if let Some(mut ssd) = storm(&c, seed) {
            adds_up(&ssd);
            let mut requests = Vec::new();
            ssd.drain_requests(&mut requests);
            prop_assert_eq!(counted(&ssd), by_the_logs(&operations_of(&mut ssd), &requests));
        }
    }
}

fn small() -> Config {
    let mut c = device([1, 1, 1], 16, 8, 80);
    c.gc.trigger = vec![free_blocks(2)];
    c.metrics.tenants = true;
    c
}

fn of(ssd: &Ssd, writer: Option<Writer>) -> (u64, u64, u64) {
    let written = counted(ssd).get(&writer).copied().unwrap_or_default();
    let [host, gc] = [Cause::Host, Cause::Gc].map(|cause| written.programs[cause.at()]);
    (written.pages, host, gc)
}

#[test]
fn a_copy_counts_for_the_writer_of_its_page_and_preconditioning_for_others() {
    let mut ssd = with_pages(&small(), 80);
    let by = |volume, stream, lpn| Request { volume, stream, ..whole(Op::Write, lpn, 1) };
    // The second volume overwrites the same ten pages again and again; the first has written ten others once.
    (0..10).for_each(|lpn| _ = alone(&mut ssd, by(1, 3, 20 + lpn)));
    (0..400).for_each(|n| _ = alone(&mut ssd, by(2, 0, n % 10)));
    let ((first, second), others) =
        ((of(&ssd, Some((1, 3))), of(&ssd, Some((2, 0)))), of(&ssd, None));
    assert_eq!((first.0, first.1, second.0, second.1), (10, 10, 400, 400));
    assert_eq!((others.0, others.1), (0, 0));
    assert!(first.2 > 0 && others.2 > 0, "{first:?}, {others:?}");
    adds_up(&ssd);
    // A measurement that starts anew keeps the writers of pages, not the counts.
    let mut c = small();
    c.run.seed = 2;
    let mut ssd = with_pages(&c, 80);
    ssd.measure(11, false);
    (0..10).for_each(|lpn| _ = alone(&mut ssd, by(1, 3, 20 + lpn)));
    (0..400).for_each(|n| _ = alone(&mut ssd, by(2, 0, n % 10)));
    // The eleventh request is left out, too.
    assert_eq!(of(&ssd, Some((2, 0))).0, 399);
    let kept = of(&ssd, Some((1, 3)));
    assert!(kept.0 == 0 && kept.1 == 0 && kept.2 > 0, "{kept:?}");
    adds_up(&ssd);
}

#[test]
fn a_page_that_the_host_copies_is_that_of_the_copy() {
    let mut c = small();
    c.remap.mode = RemapMode::Copy;
    let mut ssd = with_pages(&c, 20);
    let copy = Request { volume: 7, stream: 1, ..whole(Op::Copy, 40, 2) };
    let ranges = encode(&[SourceRange { sector: 4, sectors: 8 }]);
    ssd.submit(ssd.now(), &copy, Some(&ranges)).expect("a valid copy");
    finish(&mut ssd).expect("it completes");
    let written = counted(&ssd)[&Some((7, 1))];
    assert_eq!((written.pages, written.programs[Cause::Remap.at()]), (0, 2));
    adds_up(&ssd);
}

#[test]
fn counting_changes_no_event() {
    let digest = |tenants| {
        let mut c = small();
        c.metrics.tenants = tenants;
        storm(&c, 5).expect("it goes on").event_digest()
    };
    assert_eq!(digest(true), digest(false));
}

#[test]
fn functional_mode_refuses_it() {
    let sets = [("run.mode", "functional"), ("metrics.tenants", "true")];
    let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let errors = config::load::<Kernel>(&Input { sets, ..Input::default() }).expect_err("refused");
    let text = errors.iter().map(ToString::to_string).collect::<String>();
    assert!(text.contains("functional mode does not count by volume and stream"), "{text}");
}
