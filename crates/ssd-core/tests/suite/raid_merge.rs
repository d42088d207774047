//! Updates of a group that wait for its lock become one (`raid.merge`): reads, programs and times by hand, the requests
//! that merged operations are for, and storms.

use crate::rig::parity::{PROGRAM, READ, paper, storms};
use crate::rig::storm::Weather;
use crate::rig::{closed, filled, finish, operations_of, whole};
use ssd_core::config::{Config, DataMode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::Measurements;
use ssd_core::metrics::counters::Cause;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

/// A group of `group` chips of which every page is written.
fn merging(group: u32) -> Config {
    let mut c = paper([group, 1, 1], group, 64);
    (c.raid.merge, c.run.data) = (true, DataMode::Digest);
    c
}

/// When each of `requests`, all submitted at time 0, completes, by number.
fn completions(ssd: &mut Ssd, requests: &[Request]) -> Vec<u64> {
    for request in requests {
        ssd.submit(Nanos::ZERO, request, None).expect("a valid request");
    }
    let mut times = vec![0; requests.len()];
    for completion in finish(ssd).expect("all complete") {
        times[completion.id.0 as usize] = completion.at.0;
    }
    times
}

/// Reads for updates, programs of data, programs of parity.
fn operations(m: &Measurements) -> [u64; 3] {
    let programs = m.flash.programs;
    [m.flash.reads[Cause::Rmw.at()], programs[Cause::Host.at()], programs[Cause::Parity.at()]]
}

const UPDATE: u64 = READ + PROGRAM;

#[test]
fn updates_that_wait_are_read_for_and_programmed_as_one() {
    // The first write begins alone: 2 reads, 2 programs. `waiting` writes of other pages of its group wait; together
    // they read m + 1 old pages, or the 7 - m that stay.
    for (waiting, reads) in [(1, 2), (2, 3), (3, 4), (4, 3), (5, 2), (6, 1)] {
        let mut ssd = filled(&merging(8));
        let writes: Vec<Request> = (0..=waiting).map(|lpn| whole(Op::Write, lpn, 1)).collect();
        let mut expected = vec![2 * UPDATE; 1 + waiting as usize];
        expected[0] = UPDATE;
        assert_eq!(completions(&mut ssd, &writes), expected, "{waiting} wait");
        let m = ssd.measured();
        assert_eq!(operations(m), [2 + reads, 1 + u64::from(waiting), 2], "{waiting} wait");
        assert_eq!(m.raid.merged, u64::from(waiting) - 1);
        assert_eq!(m.raid.rmw + m.raid.rcw, 2);
        // The wait for the lock is queueing; the rest is one read and one program for each.
        assert_eq!(m.write_parts.queue, u128::from(u64::from(waiting) * UPDATE));
        assert_eq!(m.write_parts.chip, u128::from(u64::from(waiting + 1) * UPDATE));
    }
}

#[test]
fn a_group_that_waits_whole_is_written_without_a_read() {
    let mut ssd = filled(&merging(4));
    let writes = [0, 0, 1, 2].map(|lpn| whole(Op::Write, lpn, 1));
    let end = UPDATE + PROGRAM;
    assert_eq!(completions(&mut ssd, &writes), [UPDATE, end, end, end]);
    assert_eq!(operations(ssd.measured()), [2, 1 + 3, 2]);
    assert_eq!((ssd.measured().raid.full, ssd.measured().raid.merged), (1, 2));
}

#[test]
fn without_the_key_each_update_waits_for_the_one_before_it() {
    let mut c = merging(8);
    c.raid.merge = false;
    let mut ssd = filled(&c);
    let writes = [0, 1, 2, 3].map(|lpn| whole(Op::Write, lpn, 1));
    assert_eq!(completions(&mut ssd, &writes), [1, 2, 3, 4].map(|n| n * UPDATE));
    assert_eq!(operations(ssd.measured()), [8, 4, 4]);
    assert_eq!(ssd.measured().raid.merged, 0);
}

#[test]
fn a_second_version_of_a_page_and_a_trim_end_what_merges() {
    let mut ssd = filled(&merging(8));
    let write = |lpn| whole(Op::Write, lpn, 1);
    // 0 alone; 1 and 2; the second version of 1, with 3; the TRIM of 4, an update of its own; 5 and 6.
    let requests = [
        write(0),
        write(1),
        write(2),
        write(1),
        write(3),
        whole(Op::Trim, 4, 1),
        write(5),
        write(6),
    ];
    let expected = [1, 2, 2, 3, 3, 4, 5, 5].map(|n| n * UPDATE);
    assert_eq!(completions(&mut ssd, &requests), expected);
    assert_eq!(ssd.measured().raid.merged, 3);
}

#[test]
fn merged_data_are_logged_for_their_own_requests_and_the_rest_for_the_first() {
    let mut c = merging(8);
    c.metrics.op_log = true;
    let mut ssd = filled(&c);
    completions(&mut ssd, &[0, 1, 2].map(|lpn| whole(Op::Write, lpn, 1)));
    let log = operations_of(&mut ssd);
    let of = |cause: Cause| -> Vec<u64> {
        let mut requests: Vec<u64> =
            log.iter().filter(|op| op.cause == cause).filter_map(|op| op.request).collect();
        requests.sort_unstable();
        requests
    };
    assert_eq!(of(Cause::Host), [0, 1, 2]);
    assert_eq!(of(Cause::Parity), [0, 1]);
    assert_eq!(of(Cause::Rmw), [0, 0, 1, 1, 1]);
}

#[test]
fn one_request_at_a_time_has_nothing_to_merge() {
    let digest = |merge: bool| {
        let mut c = merging(4);
        c.raid.merge = merge;
        let mut ssd = filled(&c);
        let writes = (0..200).map(|n| whole(Op::Write, n * 37 % 180, 1 + n % 5));
        closed(&mut ssd, 1, writes).expect("all complete");
        ssd.event_digest()
    };
    assert_eq!(digest(true), digest(false));
}

#[test]
fn merged_storms_lose_no_page() {
    let weather =
        Weather { requests: 1_500, depth: 0, seed: 0, audit: 7, mix: [30, 10, 3], pause: 0 };
    let (mut merged, mut full) = (0, 0);
    storms(
        &[(24, DataMode::Digest), (64, DataMode::Bytes)],
        weather,
        |c, number| {
            c.raid.merge = true;
            // Few groups, so that many writes meet in one.
            c.device.user_pages = 12 * c.data_pages_per_stripe() as u32;
            c.host.write_buffer_pages = if number % 2 == 0 { 0 } else { 40 };
        },
        |m| {
            merged += m.raid.merged;
            full += m.raid.full;
            assert_eq!(m.write_parts.total(), m.latencies.of(Op::Write).histogram.sum());
        },
    );
    assert!(merged > 1_000 && full > 100, "{merged} updates have joined others, {full} are whole");
}
