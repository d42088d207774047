//! When the requests of fio's jobs reach a device that answers after a constant time, against twins that do what fio's
//! loop does, one call after the other.

use ssd_core::host::request::Op;
use ssd_core::host::source::clients_of;
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;
use ssd_trace::fio::JobFile;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// A request: when it was submitted, when it was meant to be, what, first byte and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SubmittedRequest {
    now: u64,
    meant: u64,
    op: Op,
    start: u64,
    bytes: u64,
}

/// The requests of `text` on a device of 64 MiB that answers `latency` after it is asked, up to `most` of them.
fn seen(text: &str, latency: u64, most: usize) -> Vec<SubmittedRequest> {
    let mut source = JobFile::parse(text, "test.fio").unwrap().source(64 << 20, 1).unwrap();
    let (mut now, mut all, mut flight) = (0, Vec::new(), VecDeque::new());
    loop {
        while let Some(next) = clients_of(&mut source).arrive(Nanos(now)).unwrap() {
            let request = next.request;
            let (start, bytes) = (request.sector * 512, u64::from(request.sectors) * 512);
            flight.push_back((now + latency, all.len() as u64));
            all.push(SubmittedRequest { now, meant: next.at.0, op: request.op, start, bytes });
            if all.len() == most {
                return all;
            }
        }
        let due = clients_of(&mut source).due().map_or(u64::MAX, |due| due.0);
        let answer = flight.front().map_or(u64::MAX, |first: &(u64, u64)| first.0);
        if due == u64::MAX && answer == u64::MAX {
            return all;
        }
        now = due.min(answer);
        while let Some(&(_, number)) = flight.front().filter(|first| first.0 == now) {
            clients_of(&mut source).completed(number);
            flight.pop_front();
        }
    }
}

/// The options of a job.
#[derive(Clone, Debug)]
struct Options {
    depth: usize,
    low: usize,
    at_once: usize,
    think: u64,
    /// 0: not said.
    blocks: u64,
    issue: bool,
    after: u64,
    /// Bytes a second; 0: none.
    rate: u64,
    offload: bool,
    forgets: bool,
    runtime: u64,
}

impl Options {
    fn options(&self) -> String {
        let mut text = format!("iodepth={}\niodepth_low={}\n", self.depth, self.low);
        text +=
            &format!("iodepth_batch_complete_min={}\nthinktime={}ns\n", self.at_once, self.think);
        if self.blocks > 0 {
            text += &format!("thinktime_blocks={}\n", self.blocks);
        }
        if self.issue {
            text += "thinktime_blocks_type=issue\n";
        }
        if self.after > 0 {
            text += &format!("thinktime_iotime={}ns\n", self.after);
        }
        if self.rate > 0 {
            text += &format!("rate={}\n", self.rate);
        }
        if self.offload {
            text += "io_submit_mode=offload\n";
        }
        if self.runtime > 0 {
            text += &format!("time_based\nruntime={}ns\n", self.runtime);
        }
        text + if self.forgets { "rate_ignore_thinktime=1\n" } else { "" }
    }

    fn random(random: &mut Stream) -> Options {
        let mut some = |n: u64| random.below(n);
        let depth = 1 + some(8);
        let think = if some(2) == 0 { 0 } else { 1 + some(5 * MS) };
        Options {
            depth: depth as usize,
            low: 1 + some(depth) as usize,
            at_once: 1 + some(depth) as usize,
            think,
            blocks: some(3) * (1 + some(9)),
            issue: some(2) == 0,
            after: if some(3) == 0 { 1 + some(20 * MS) } else { 0 },
            rate: if some(2) == 0 { 0 } else { 1 << (18 + some(8)) },
            offload: some(2) == 0,
            forgets: some(2) == 0,
            runtime: if some(2) == 0 { 0 } else { 1 + some(50 * MS) },
        }
    }
}

/// When a job with requests of 4 KiB submits them, and when it was meant to: by calls that block.
fn twin(options: &Options, latency: u64, most: usize) -> Vec<(u64, u64)> {
    let (mut now, mut all) = (0u64, Vec::new());
    let mut flight: VecDeque<u64> = VecDeque::new();
    let (mut reaped, mut issued, mut due, mut bytes) = (0u64, 0u64, 0u64, 0u64);
    let (mut counted_before, mut paused_until) = (0u64, 0u64);
    let end = if options.runtime == 0 { u64::MAX } else { options.runtime };
    let drain = |flight: &mut VecDeque<u64>, now: &mut u64, reaped: &mut u64| {
        for answer in flight.drain(..) {
            *now = answer.max(*now);
            *reaped += 1;
        }
    };
    while all.len() < most && now < end {
        // The rate.
        if due.min(end) > now {
            if !options.offload {
                drain(&mut flight, &mut now, &mut reaped);
            }
            now = now.max(due.min(end));
            if now >= end {
                break;
            }
        }
        let meant = if options.offload && options.rate > 0 { due.max(paused_until) } else { now };
        all.push((now, meant));
        flight.push_back(now + latency);
        issued += 1;
        bytes += 4096;
        if options.rate > 0 {
            due = (u128::from(bytes) * 1_000_000_000 / u128::from(options.rate)) as u64;
        }
        // A full queue.
        if flight.len() >= options.depth {
            loop {
                let wait = options.at_once.min(flight.len());
                now = now.max(flight[wait - 1]);
                while flight.front().is_some_and(|&answer| answer <= now) {
                    flight.pop_front();
                    reaped += 1;
                }
                if flight.len() <= options.low.min(options.depth - 1) {
                    break;
                }
            }
        }
        // A pause.
        if options.think == 0 {
            continue;
        }
        let counted = if options.issue { issued } else { reaped };
        let by_time = options.after > 0 && now - paused_until >= options.after;
        let by_count = (options.after == 0 || options.blocks > 0)
            && counted >= counted_before + options.blocks.max(1);
        if by_time || by_count {
            counted_before = counted;
            drain(&mut flight, &mut now, &mut reaped);
            now = (now + options.think).min(end.max(now));
            paused_until = now;
            if options.forgets && options.rate > 0 {
                let missed =
                    (u128::from(options.think) * u128::from(options.rate) / 1_000_000_000) as u64;
                let one =
                    u128::from(options.think) * u128::from(options.rate) >= 4096 * 1_000_000_000;
                bytes += missed.saturating_sub(if one { 4096 } else { 0 });
            }
        }
    }
    all
}

#[test]
fn a_job_submits_when_the_loop_of_fio_does() {
    let mut random = Stream::new(7, "fio pace");
    let (mut rated, mut paused, mut late) = (0, 0, 0);
    for case in 0..4000 {
        let options = Options::random(&mut random);
        let latency = 1 + random.below(2 * MS);
        let text = format!("[a]\nrw=write\nsize=64m\n{}", options.options());
        let found = seen(&text, latency, 200);
        let found: Vec<(u64, u64)> = found.iter().map(|one| (one.now, one.meant)).collect();
        let expected = twin(&options, latency, 200);
        assert_eq!(found, expected, "case {case}, latency {latency}: {options:?}");
        rated += u32::from(options.rate > 0);
        paused += u32::from(options.think > 0);
        late += u32::from(expected.iter().any(|one| one.1 < one.0));
    }
    assert!(rated > 1500 && paused > 1500 && late > 100, "{rated} {paused} {late}");
}

/// Times of reads and writes of a job with rates of both.
#[test]
fn each_direction_has_its_rate() {
    let job = |options: &str| format!("[a]\nrw=rw\nsize=16m\n{options}\n");
    let rates = |text: &str, latency| {
        let all = seen(text, latency, 4000);
        let last = all.last().unwrap().now as f64 / 1e9;
        [Op::Read, Op::Write].map(|op| {
            all.iter().filter(|one| one.op == op).map(|one| one.bytes).sum::<u64>() as f64 / last
        })
    };
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.02;
    let [reads, writes] = rates(&job("rate=4m,1m"), 1000);
    assert!(close(reads, 4_194_304.0) && close(writes, 1_048_576.0), "{reads} {writes}");
    // Of requests of several lengths, a rate of requests counts the smallest.
    let [reads, writes] = rates(&job("rate_iops=1000,500\nbssplit=4k/50:8k/50"), 1000);
    assert!(close(reads, 4_096_000.0) && close(writes, 2_048_000.0), "{reads} {writes}");
    // A write that is ahead gives way to reads, which have no rate.
    let all = seen(&job("rate=,1m"), 10, 100);
    assert!(all.iter().filter(|one| one.op == Op::Write).count() <= 1);
    // One that the device cannot follow is what the device gives: 1,000 requests a second here.
    let [reads, writes] = rates(&job("rate=40m,10m"), MS);
    assert!(close(reads + writes, 4_096_000.0), "{reads} {writes}");
    // Trims wait for the rate of their writes.
    let pairs = seen("[a]\nrw=trimwrite\nsize=1m\nrate=100k\n", 10, 20);
    for pair in pairs.chunks(2) {
        assert_eq!((pair[0].op, pair[1].op, pair[0].start), (Op::Trim, Op::Write, pair[1].start));
        assert!(pair[1].now - pair[0].now < 100, "{pair:?}");
    }
    assert!((pairs[18].now / MS).abs_diff(9 * 40) <= 1, "{}", pairs[18].now);
}

#[test]
fn a_poisson_process_has_exponential_intervals() {
    let text = "[a]\nrw=randread\nsize=64m\nrate_iops=1000\nrate_process=poisson\n\
        io_submit_mode=offload\niodepth=4096\n";
    let all = seen(text, MS, 10_000);
    let mut gaps: Vec<f64> =
        all.windows(2).map(|two| (two[1].now - two[0].now) as f64 / MS as f64).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    assert!((mean - 1.0).abs() < 0.05, "{mean}");
    gaps.sort_unstable_by(f64::total_cmp);
    // Kolmogorov and Smirnov: the largest distance from 1 - exp(-x), at the level of 0.1 %.
    let distance = gaps.iter().enumerate().map(|(i, &gap)| {
        let law = 1.0 - libm::exp(-gap);
        (law - i as f64 / n).abs().max((law - (i + 1) as f64 / n).abs())
    });
    assert!(distance.fold(0.0, f64::max) < 1.95 / n.sqrt());
}

/// First and last time of each job of `text`, by the file that it works on: a MiB each.
fn spans(text: &str, latency: u64) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for one in seen(text, latency, usize::MAX) {
        let file = (one.start >> 20) as usize;
        spans.resize(spans.len().max(file + 1), (u64::MAX, 0));
        spans[file] = (spans[file].0.min(one.now), one.now);
    }
    spans.iter().map(|span| (span.0 / MS, span.1 / MS)).collect()
}

#[test]
fn jobs_wait_for_others() {
    // 256 requests of 1 ms each; the second job by the clock, the third by its delay after both.
    let jobs = "[global]\nsize=1m\nrw=read\n[a]\n[b]\nruntime=100ms\ntime_based\n[c]\nstonewall\nstartdelay=50ms\n";
    assert_eq!(spans(jobs, MS), [(0, 255), (0, 99), (306, 561)]);
    // Walls between jobs that end by the clock.
    let jobs = "[global]\nsize=1m\nrw=read\nstonewall\nruntime=20ms\ntime_based\n[a]\n[b]\niodepth=4\n[c]\n";
    assert_eq!(spans(jobs, MS), [(0, 19), (20, 39), (40, 59)]);
    let jobs = "[global]\nsize=1m\nrw=read\n[a]\nnumber_ios=10\n[b]\nnumber_ios=20\n[c]\nwait_for=a\nnumber_ios=5\n";
    assert_eq!(spans(jobs, MS), [(0, 9), (0, 19), (10, 14)]);
    let delays = "[a]\nsize=1m\nrw=read\nnumber_ios=1\nstartdelay=1-3\nnumjobs=20\n";
    let begins: Vec<u64> = spans(delays, MS).iter().map(|span| span.0).collect();
    assert!(begins.iter().all(|at| (1000..=3000).contains(at)), "{begins:?}");
    assert!(begins.iter().max().unwrap() - begins.iter().min().unwrap() > 1000, "{begins:?}");
}

#[test]
fn jobs_end_with_others() {
    let jobs = |what: &str| {
        format!(
            "[global]\nsize=1m\nrw=read\nexitall\n[a]\nnumber_ios=10\nexit_what={what}\n[b]\n\
             [c]\nnew_group\nnumber_ios=40\n[d]\nstonewall\nnumber_ios=5\n"
        )
    };
    // The group of a and b; all that run; all.
    assert_eq!(spans(&jobs("group"), MS), [(0, 9), (0, 9), (0, 39), (40, 44)]);
    assert_eq!(spans(&jobs("stonewall"), MS), [(0, 9), (0, 9), (0, 9), (10, 14)]);
    assert_eq!(spans(&jobs("all"), MS), [(0, 9), (0, 9), (0, 9)]);
}

/// Jobs of different depths have their own queues: requests outstanding never exceed them.
#[test]
fn each_job_has_its_depth() {
    let text = "[global]\nsize=1m\nrw=read\n[a]\niodepth=2\n[b]\niodepth=8\n[c]\n";
    let all = seen(text, MS, 500);
    for (file, depth) in [(0, 2), (1, 8), (2, 1)] {
        let of: Vec<u64> =
            all.iter().filter(|one| one.start >> 20 == file).map(|one| one.now).collect();
        for (at, &now) in of.iter().enumerate() {
            let outstanding = of[..=at].iter().filter(|&&then| then + MS > now).count();
            assert!(outstanding <= depth, "job {file}: {outstanding} at {now}");
        }
        assert_eq!(of.iter().filter(|&&now| now == 0).count(), depth, "job {file}");
    }
}
