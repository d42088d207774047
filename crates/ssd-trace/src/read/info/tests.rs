//! Traces that are small enough to check by hand; every statistic occurs at least once.

use super::*;
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;

const MS: u64 = 1_000_000;

fn timed(at: u64, op: Op, sector: u64, sectors: u32) -> TimedRequest {
    TimedRequest { at: Nanos(at), request: Request::new(op, sector, sectors) }
}

fn options() -> Options {
    Options { journal: Vec::new(), memory: 1 << 30 }
}

fn info_with(options: Options, requests: &[TimedRequest]) -> Info {
    let mut collector = Collector::new(options).unwrap();
    for request in requests {
        collector.push(request).unwrap();
    }
    collector.finish().unwrap()
}

fn info(requests: &[TimedRequest]) -> Info {
    info_with(options(), requests)
}

#[track_caller]
fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("a value");
    assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
}

#[test]
fn mix_sizes_and_alignment() {
    let found = info(&[
        timed(0, Op::Write, 0, 8),
        timed(1, Op::Write, 16, 16),
        timed(2, Op::Write, 100, 8),
        timed(3, Op::Read, 0, 24),
        timed(4, Op::Trim, 0, 800),
        timed(5, Op::Flush, 0, 0),
    ]);
    assert_eq!((found.requests, found.flushes), (6, 1));
    near(found.write_share, 3.0 / 4.0);
    let Ops { read, write, trim } = &found.ops;
    assert_eq!((read.bytes, write.bytes, trim.bytes), (12_288, 16_384, 409_600));
    near(write.request_share, 3.0 / 5.0);
    near(write.byte_share, 16.0 / 28.0);
    assert_eq!(trim.byte_share, None);
    near(write.aligned_share, 2.0 / 3.0);
    let size = &write.size;
    assert_eq!((size.min, size.max, size.p50), (Some(4096), Some(8192), None));
    near(size.mean, 16_384.0 / 3.0);
    assert_eq!((&size.bucket_low[..], &size.bucket_count[..]), (&[4096, 8192][..], &[2, 1][..]));
    let frequent: Vec<(u64, u64)> = write.frequent.iter().map(|f| (f.bytes, f.requests)).collect();
    assert_eq!(frequent, [(4096, 2), (8192, 1)]);
    near(Some(write.frequent[0].share), 2.0 / 3.0);
}

#[test]
fn order_by_operation_and_by_any() {
    let found = info(&[
        timed(0, Op::Write, 0, 8),
        timed(1, Op::Read, 8, 8),    // follows the write: any operation only
        timed(2, Op::Write, 8, 16),  // follows the write before it: its operation only
        timed(3, Op::Write, 24, 8),  // both
        timed(4, Op::Write, 400, 8), // a new run
    ]);
    near(found.sequential_share, 2.0 / 5.0);
    near(found.sequential_any_share, 2.0 / 5.0);
    let write = &found.ops.write;
    near(write.sequential_share, 2.0 / 4.0);
    near(write.sequential_mean_bytes, 24.0 * 512.0 / 2.0);
    assert_eq!((write.run_requests.count, write.run_requests.max), (2, Some(3)));
    assert_eq!((write.run_bytes.min, write.run_bytes.max), (Some(4096), Some(16_384)));
    assert_eq!(found.ops.read.run_requests.max, Some(1));
}

#[test]
fn footprint_updates_and_discards() {
    let found = info(&[
        timed(0, Op::Write, 0, 16),  // pages 0, 1
        timed(10, Op::Write, 8, 8),  // page 1, the very next page write
        timed(30, Op::Write, 4, 2),  // page 0, inside
        timed(40, Op::Write, 80, 2), // page 10, a part
        timed(50, Op::Read, 8, 16),  // pages 1 (written) and 2 (not)
        timed(60, Op::Trim, 4, 16),  // page 1 whole; 0 and 2 in part
        timed(70, Op::Trim, 8, 8),   // page 1 again: without effect
        timed(80, Op::Read, 8, 8),   // page 1, discarded
    ]);
    let place = &found.footprint;
    assert_eq!((place.pages_read, place.pages_written, place.pages_both), (2, 3, 1));
    assert_eq!((place.pages_touched, place.pages_trimmed), (4, 1));
    assert_eq!(place.distinct_bytes_written, 18 * 512);
    near(place.overwrite_factor, 28.0 / 18.0);
    assert_eq!(place.page_reads, 3);
    near(place.read_after_write_share, 1.0 / 3.0);
    let updates = &found.updates;
    assert_eq!((updates.page_writes, updates.rewrites), (5, 2));
    near(updates.rewrite_share, 2.0 / 5.0);
    // Page 1 has the writes 1 and 2; page 0 has the writes 0 and 3.
    assert_eq!((updates.interval_pages.min, updates.interval_pages.max), (Some(1), Some(3)));
    assert_eq!((updates.interval_ns.min, updates.interval_ns.max), (Some(10), Some(30)));
    let freed = &found.discards;
    assert_eq!((freed.nominal_bytes, freed.effective_bytes), (24 * 512, 4096));
    near(freed.effective_share, 1.0 / 3.0);
    near(freed.effective_mean_bytes, 2048.0);
    assert_eq!(freed.without_effect, 1);
}

#[test]
fn trains_of_requests() {
    let found = info(&[
        timed(0, Op::Write, 0, 8),
        timed(MS - 1, Op::Write, 80, 16), // in the train, another size
        timed(MS - 1, Op::Read, 0, 8),    // the first read of the train
        timed(MS + 1, Op::Write, 160, 16), // as large as the last write, a read between
        timed(2 * MS + 1, Op::Write, 0, 16), // 1 ms later: another train
        timed(2 * MS + 1, Op::Write, 0, 16),
        timed(6 * MS + 1, Op::Flush, 0, 0), // a separate train
    ]);
    let trains = &found.trains;
    near(trains.short_gap_share, 4.0 / 6.0);
    near(trains.short_gap_mean_ns, (MS + 1) as f64 / 4.0);
    let lengths = &trains.requests;
    assert_eq!((lengths.count, lengths.min, lengths.max), (3, Some(1), Some(4)));
    // Lengths 4, 2, 1: mean 7/3, mean square 7.
    near(trains.requests_cv, (7.0 - 49.0f64 / 9.0).sqrt() / (7.0 / 3.0));
    near(trains.same_size_share, 2.0 / 3.0);
    let gaps = [999_999.0, 0.0, 2.0, 1e6, 0.0, 4e6];
    let mean = gaps.iter().sum::<f64>() / 6.0;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 6.0;
    let cv = trains.gap_cv.unwrap();
    assert!((cv - variance.sqrt() / mean).abs() < 1e-9, "{cv}");
}

#[test]
fn gaps_without_variation() {
    let even = info(&(0..100).map(|i| timed(i * 7 * MS, Op::Write, 0, 8)).collect::<Vec<_>>());
    near(even.trains.gap_cv, 0.0);
    near(even.trains.requests_cv, 0.0);
    near(even.trains.short_gap_share, 0.0);
    assert_eq!((even.trains.short_gap_mean_ns, even.trains.same_size_share), (None, None));
    // Gaps of 146 years do not overflow.
    let far = info(&[
        timed(0, Op::Read, 0, 8),
        timed(0, Op::Read, 0, 8),
        timed(1 << 62, Op::Read, 0, 8),
        timed(u64::MAX, Op::Read, 0, 8),
    ]);
    let (one, two) = (0.25f64, 0.75f64);
    near(far.trains.gap_cv, (3.0 * (one * one + two * two) - 1.0).sqrt());
    let none = info(&[timed(5, Op::Read, 0, 8)]);
    assert_eq!((none.trains.gap_cv, none.trains.short_gap_share), (None, None));
    assert_eq!(none.trains.requests.count, 1);
    let at_once = info(&[timed(5, Op::Read, 0, 8), timed(5, Op::Read, 0, 8)]);
    assert_eq!(at_once.trains.gap_cv, None);
    assert_eq!(info(&[]).trains.requests.count, 0);
}

#[test]
fn reads_of_pages_just_written() {
    // Pages 0 to 65, of which the last 64 are just written.
    let writes = (0..66u64).map(|page| timed(page, Op::Write, page * 8, 8));
    let mut all: Vec<_> = writes.collect();
    all.push(timed(100, Op::Read, 8, 8)); // page 1: 65 page writes ago
    all.push(timed(101, Op::Read, 8, 16)); // from page 1 on: the first page counts
    all.push(timed(102, Op::Read, 2 * 8, 8)); // page 2
    all.push(timed(103, Op::Read, 65 * 8 + 1, 1)); // inside page 65
    all.push(timed(104, Op::Read, 66 * 8, 8)); // never written
    all.push(timed(105, Op::Trim, 65 * 8, 8));
    all.push(timed(106, Op::Read, 65 * 8, 8)); // discarded
    near(info(&all).footprint.read_recent_share, 2.0 / 6.0);
    assert_eq!(info(&all[..66]).footprint.read_recent_share, None);
}

#[test]
fn the_hottest_pages() {
    // Ten pages; page 0 is written 11 times, the others once: 20 page writes.
    let once = (0..10u64).map(|page| timed(page, Op::Write, page * 8, 8));
    let again = (10..20u64).map(|at| timed(at, Op::Write, 0, 8));
    let found = info(&once.chain(again).collect::<Vec<_>>());
    let shares: Vec<f64> = found.hot.write_share.iter().map(|share| share.unwrap()).collect();
    for (found, expected) in shares.iter().zip([11.0, 11.0, 11.0, 12.0]) {
        near(Some(*found), expected / 20.0);
    }
}

#[test]
fn bursts_gaps_and_idle_periods() {
    let at = [5, 5, 6, 16, 35].map(|ms| timed(ms * MS, Op::Read, 0, 8));
    let found = info(&at);
    // Windows of 10 ms from 5 ms on: 3, 1, 0, 1.
    let burst = &found.bursts[0];
    assert_eq!((burst.windows, burst.peak), (4, 3));
    near(Some(burst.mean), 1.25);
    near(burst.peak_to_mean, 2.4);
    near(burst.dispersion, (11.0 / 4.0 - 1.5625) / 1.25);
    assert_eq!((found.bursts[1].windows, found.bursts[1].dispersion), (1, None));
    assert_eq!((found.first_ns, found.duration_ns), (5 * MS, 30 * MS));
    near(found.requests_per_s, 5.0 / 0.03);
    assert_eq!((found.gaps.count, found.gaps.min, found.gaps.max), (4, Some(0), Some(19 * MS)));
    assert_eq!((found.idle.periods.count, found.idle.count), (3, [3, 2, 0, 0, 0]));
    near(found.idle.share, 1.0);
    near(found.idle.time_share[1], 29.0 / 30.0);
    assert_eq!(found.gaps.bucket_low.first(), Some(&0));
}

#[test]
fn journal_doubles_and_volumes() {
    let mut far = timed(3 * MS, Op::Write, 100, 8);
    far.request.volume = 7;
    let requests = [
        timed(0, Op::Write, 100, 8),
        timed(MS - 1, Op::Write, 100, 8),     // doubled
        timed(2 * MS - 1, Op::Write, 100, 8), // a whole millisecond later: not
        timed(2 * MS, Op::Read, 100, 8),      // another operation: not
        far,                                  // another volume: not
        timed(4 * MS, Op::Write, 200, 24),    // after the journal
    ];
    let journal = vec![(100, 200)];
    let found = info_with(Options { journal, ..options() }, &requests);
    assert_eq!(found.doubled, 1);
    near(found.doubled_share, 1.0 / 6.0);
    let journal = found.journal.as_ref().unwrap();
    assert_eq!(journal.requests, 5);
    near(journal.request_share, 5.0 / 6.0);
    near(journal.write_share, 4.0 / 5.0);
    near(journal.write_byte_share, 32.0 / 56.0);
    assert_eq!(found.volumes.len(), 2);
    let [first, other] = &found.volumes[..] else { panic!("two volumes") };
    assert_eq!((first.writes, first.reads, other.volume, other.writes), (4, 1, 7, 1));
    assert_eq!((first.pages_written, other.pages_written, other.pages_touched), (5, 2, 2));
    assert_eq!(found.footprint.pages_written, 7);
}

#[test]
fn doubles_are_those_of_a_plain_search() {
    let mut random = Stream::new(39, "doubles");
    // Dense and sparse requests, and more distinct requests than the hash table has entries.
    for (gap, sectors) in [(1, 20), (40_000, 20), (1, 1 << 20), (20_000, 300)] {
        let (mut at, mut requests) = (0, Vec::new());
        for _ in 0..4000 {
            at += random.below(2 * gap);
            let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
            requests.push(timed(at, op, 8 * random.below(sectors), 8 + random.below(2) as u32));
        }
        let same =
            |a: &TimedRequest, b: &TimedRequest| a.request == b.request && b.at.0 - a.at.0 < MS;
        let repeats =
            |n: usize| requests[n.saturating_sub(64)..n].iter().any(|a| same(a, &requests[n]));
        let expected = (0..requests.len()).filter(|&n| repeats(n)).count() as u64;
        assert_eq!(info(&requests).doubled, expected, "gap {gap}, {sectors} addresses");
    }
}

#[test]
fn a_record_of_another_volume_is_no_double() {
    let mut others = [0, 1, 2].map(|at| timed(at, Op::Write, 100, 8));
    others[1].request.volume = 7;
    assert_eq!(info(&others[..2]).doubled, 0);
    assert_eq!(info(&others).doubled, 1);
}

#[test]
fn of_equally_frequent_sizes_the_smaller_comes_first() {
    let sizes = [24, 16, 8, 16, 8].map(|sectors| timed(0, Op::Write, 0, sectors));
    let found = info(&sizes).ops.write.frequent;
    let listed: Vec<(u64, u64)> = found.iter().map(|size| (size.bytes, size.requests)).collect();
    assert_eq!(listed, [(4096, 2), (8192, 2), (12_288, 1)]);
}

#[test]
fn a_discard_is_followed_like_any_request() {
    let found = info(&[
        timed(0, Op::Write, 0, 8),
        timed(1, Op::Trim, 8, 8),   // follows the write
        timed(2, Op::Read, 16, 8),  // follows the discard
        timed(3, Op::Write, 16, 8), // follows the discard no more: the read came between
    ]);
    near(found.sequential_any_share, 2.0 / 4.0);
    near(found.sequential_share, 0.0);
}

#[test]
fn the_last_window_may_be_the_peak() {
    let at = [0, 20, 20, 21].map(|ms| timed(ms * MS, Op::Read, 0, 8));
    // Windows of 10 ms: 1, 0, 3. And the other way round.
    let last = &info(&at).bursts[0];
    assert_eq!((last.windows, last.peak), (3, 3));
    let first = info(&[0, 0, 1, 21].map(|ms| timed(ms * MS, Op::Read, 0, 8)));
    assert_eq!((first.bursts[0].windows, first.bursts[0].peak), (3, 3));
}

#[test]
fn a_copy_is_an_arrival_of_no_other_kind() {
    let part = |at, op, sector| {
        let mut part = timed(at, op, sector, 8);
        part.request.flags |= flags::COPY;
        part
    };
    let found = info(&[part(3, Op::Read, 0), part(3, Op::Write, 80), timed(3, Op::Flush, 0, 0)]);
    assert_eq!((found.requests, found.copies, found.bytes_copied), (2, 1, 4096));
    let rate = found.rate;
    assert_eq!(
        (rate.reads, rate.writes, rate.trims, rate.others),
        (vec![0], vec![0], vec![0], vec![2])
    );
}

#[test]
fn a_journal_may_lie_in_several_places() {
    let requests = [100, 999, 1000, 1099, 1100].map(|sector| timed(0, Op::Write, sector, 8));
    let journal = vec![(100, 200), (1000, 1100)];
    let found = info_with(Options { journal, ..options() }, &requests).journal.unwrap();
    assert_eq!(found.requests, 3);
    near(found.write_byte_share, 3.0 / 5.0);
}

#[test]
fn corner_cases_are_said_to_be_empty() {
    let none = info(&[]);
    assert_eq!((none.requests, none.requests_per_s, none.write_share), (0, None, None));
    assert!(none.bursts.is_empty());
    let one = info(&[timed(9, Op::Read, 0, 1)]);
    assert_eq!((one.first_ns, one.duration_ns, one.gaps.count), (9, 0, 0));
    assert_eq!((one.footprint.overwrite_factor, one.updates.rewrite_share), (None, None));
    assert_eq!(one.hot.write_share, [None; 4]);
    let still = info(&[timed(9, Op::Write, 0, 8), timed(9, Op::Write, 8, 8)]);
    assert_eq!((still.requests_per_s, still.idle.share, still.gaps.max), (None, None, Some(0)));
    let discards = info(&[timed(0, Op::Trim, 0, u32::MAX), timed(1, Op::Trim, 1, 8)]);
    assert_eq!(discards.discards.without_effect, 2);
    assert_eq!(discards.footprint.pages_trimmed, u64::from(u32::MAX) / 8);
    assert_eq!(discards.footprint.pages_touched, 0);
    let flush = info(&[timed(0, Op::Flush, 0, 0)]);
    assert_eq!((flush.flushes, flush.sequential_share), (1, None));
}

#[test]
fn a_discard_of_everything_frees_everything() {
    // The discard is long enough that the existing areas are visited instead of its own.
    let writes = (0..500u64).map(|n| timed(n, Op::Write, n * 8000, 8));
    let found = info(&writes.chain([timed(900, Op::Trim, 0, u32::MAX)]).collect::<Vec<_>>());
    assert_eq!(found.discards.effective_bytes, 500 * 4096);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |memory: u64, count: u64, distance: u64| {
        let mut collector = Collector::new(Options { memory, ..options() }).unwrap();
        let mut scattered = (0..count).map(|n| timed(n, Op::Write, n * distance, 8));
        // The thread may detect it some requests later.
        let refused = scattered.find_map(|request| collector.push(&request).err());
        refused.or_else(|| collector.finish().err()).expect("a refusal").0
    };
    let message = refused(1 << 20, 1 << 20, 1_000_003);
    assert!(message.contains("1 MiB of memory") && message.contains("--memory"), "{message}");
    // The areas fit, but not a larger index beside the first one.
    assert!(refused(320_000, 2048, 4096).contains("more than 1024 areas"));

    let mut statistics = Statistics::new(options()).unwrap();
    statistics.add(&timed(0, Op::Write, 0, 8)).unwrap();
    statistics.add(&timed(1 << 54, Op::Write, 0, 8)).unwrap();
    assert!(statistics.add(&timed(0, Op::Write, 0, 8)).unwrap_err().0.contains("arrives"));
    assert!(statistics.finish().unwrap_err().0.contains("208 days"));
    assert!(info(&[timed(0, Op::Read, u64::MAX - 8, 8)]).footprint.pages_read == 2);
}

#[test]
fn many_areas_are_all_found_again() {
    let of_two = |mut request: TimedRequest, n: u64| {
        request.request.volume = (n % 2) as u16;
        request
    };
    let once =
        |from: u64| (0..70_000u64).map(move |n| of_two(timed(from + n, Op::Write, n * 4096, 8), n));
    let found = info(&once(0).chain(once(70_000)).collect::<Vec<_>>());
    assert_eq!((found.footprint.pages_written, found.updates.rewrites), (70_000, 70_000));
    assert_eq!(found.updates.interval_pages.min, Some(70_000));
    assert!(found.volumes.iter().all(|volume| volume.pages_written == 35_000));
    assert_eq!(found.volumes.len(), 2);
    // 258 bytes an area, and an index of at most 64 beside it.
    assert!(found.table_bytes <= 70_000 * (258 + 64), "{}", found.table_bytes);
}

/// Returns the sums of a map: pages read and pages written.
fn mapped(map: &over_time::AddressMap) -> (u64, u64) {
    let sum = |rows: &[Vec<u64>]| rows.iter().flatten().sum();
    (sum(&map.reads), sum(&map.writes))
}

#[test]
fn arrivals_in_bins_of_time() {
    let second = 1_000_000_000;
    let found = info(&[
        timed(7, Op::Read, 0, 8),
        timed(7, Op::Write, 0, 8),
        timed(7 + 3 * second, Op::Write, 8, 8),
        timed(7 + 3 * second, Op::Trim, 8, 8),
        timed(7 + 600 * second, Op::Flush, 0, 0),
    ])
    .rate;
    // 600 s in at most 512 bins, from the first arrival on: 300 bins of 2 s, and one more for the last arrival.
    assert_eq!((found.bin_ns, found.reads.len()), (2 * second, 301));
    assert_eq!((found.reads[0], found.writes[0], found.writes[1]), (1, 1, 1));
    assert_eq!((found.trims[1], found.others[300]), (1, 1));
    assert_eq!(info(&[timed(5, Op::Read, 0, 8)]).rate.reads, [1]);
    assert!(info(&[]).rate.reads.is_empty());
}

#[test]
fn pages_in_cells_of_time_and_address() {
    // Pages 10 to 12; 12; 40 to 103. The first read begins in the middle of a page.
    let found = info(&[
        timed(0, Op::Write, 80, 24),
        timed(127, Op::Read, 96, 4),
        timed(127, Op::Read, 324, 508),
    ])
    .map;
    // 94 pages in at most 64 rows: two pages per row, from page 10 on.
    assert_eq!((found.bin_ns, found.bin_pages, found.first_page), (1, 2, 10));
    assert_eq!((found.writes.len(), found.writes[0].len()), (47, 128));
    assert_eq!((found.writes[0][0], found.writes[1][0], found.reads[1][127]), (2, 1, 1));
    assert_eq!((found.reads[14][127], found.reads[15][127], found.reads[46][127]), (0, 2, 2));
    assert_eq!(mapped(&found), (1 + 64, 3));
    let empty = info(&[timed(0, Op::Trim, 0, 8)]).map;
    assert!(empty.reads.is_empty() && empty.writes.is_empty());
}

#[test]
fn bins_that_are_merged_lose_nothing() {
    // Spans and addresses grow in both directions, in steps from 0 to the maximum.
    let (mut state, mut at, mut all) = (1u64, 0u64, Vec::new());
    let mut draw = |bits: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> (64 - bits)
    };
    for i in 0..4000u32 {
        at += draw(1 + i / 100);
        let middle = 1 << 50;
        let sector = middle + draw(1 + i / 90) - draw(1 + i / 90);
        let op = [Op::Read, Op::Write][draw(1) as usize];
        all.push(timed(at, op, sector, 1 + draw(12) as u32));
    }
    let found = info(&all);
    let rate = &found.rate;
    assert_eq!(rate.reads.iter().sum::<u64>(), found.ops.read.requests);
    assert_eq!(rate.writes.iter().sum::<u64>(), found.ops.write.requests);
    let pages = (found.footprint.page_reads, found.updates.page_writes);
    assert_eq!(mapped(&found.map), pages);
    let (rows, columns) = (found.map.reads.len(), found.map.reads[0].len());
    assert!((32..=64).contains(&rows), "{rows} rows");
    assert!((64..=128).contains(&columns), "{columns} columns");
    assert!((256..=512).contains(&rate.reads.len()));
    // Counts every cell again with the final bins.
    let mut cells = vec![vec![[0u64; 2]; columns]; rows];
    for one in &all {
        let first = one.request.sector;
        let end = first + u64::from(one.request.sectors);
        for page in first / PAGE_SECTORS..=(end - 1) / PAGE_SECTORS {
            let row = (page - found.map.first_page) / found.map.bin_pages;
            let column = (one.at.0 - all[0].at.0) / found.map.bin_ns;
            cells[row as usize][column as usize][one.request.op as usize] += 1;
        }
    }
    for (row, counted) in cells.iter().enumerate() {
        for (column, [reads, writes]) in counted.iter().enumerate() {
            assert_eq!(found.map.reads[row][column], *reads, "row {row}, column {column}");
            assert_eq!(found.map.writes[row][column], *writes, "row {row}, column {column}");
        }
    }
    // The minimum and maximum of time and addresses.
    let far = info(&[timed(0, Op::Read, 0, 8), timed(u64::MAX, Op::Read, u64::MAX - 8, 8)]);
    assert_eq!(mapped(&far.map), (1 + 2, 0));
    assert_eq!(far.rate.reads.last(), Some(&1));
}
