//! fio's job files: their options, and requests like those of fio itself where it is installed.

use ssd_core::host::request::{Op, flags};
use ssd_core::host::source::Source;
use ssd_trace::fio::{Drive, JobFile};
use std::collections::BTreeMap;
use std::process::Command;

/// Requests as (operation, first byte, bytes).
type Made = Vec<(Op, u64, u64)>;

fn made(text: &str, device: u64) -> Made {
    let mut source = JobFile::parse(text, "test.fio").unwrap().source(device, 1).unwrap();
    let mut made = Vec::new();
    while let Some(one) = source.next_request().unwrap() {
        let request = one.request;
        made.push((request.op, request.sector * 512, u64::from(request.sectors) * 512));
    }
    made
}

fn refused(text: &str) -> String {
    match JobFile::parse(text, "test.fio") {
        Ok(file) => file.source(1 << 30, 1).err().expect("refused").0,
        Err(error) => error.0,
    }
}

#[test]
fn mistakes_name_their_line() {
    for (text, wanted) in [
        ("", "line 1: no job"),
        ("[global]\nbs=4k\n", "line 2: no job"),
        ("bs=4k\n[a]\n", "line 1: expected a section"),
        ("[a\n", "line 1: the name of a section does not end"),
        ("[a]\nrw=randwrit\n", "line 2: rw: found \"randwrit\"; expected read, write"),
        ("[a]\n\nbs=5000\n", "line 3: bs: found \"5000\"; expected a multiple of 512"),
        ("[a]\nbssplit=4k/50:8k/60\n", "line 2: bssplit: found"),
        ("[a]\nbssplit=4k/50:8k/40\n", "line 2: bssplit: found"),
        ("[a]\nbssplit=4k/100:8k\n", "line 2: bssplit: found"),
        (
            "[a]\niodepht=4\n",
            "line 2: iodepht: this option of fio is not known here; did you mean \"iodepth\"?",
        ),
        ("[a]\ntime_based\n", "line 1: time_based: expected a runtime"),
        ("[a]\nruntime=1\n[b]\nruntime=2\n", "line 3: runtime, time_based: jobs without a rate"),
        ("[a]\nruntime=1\n[b]\nstonewall\nruntime=1\n", "line 3: stonewall: jobs with a runtime"),
        (
            "[a]\nthinktime_blocks=0\n",
            "line 2: thinktime_blocks: found \"0\"; expected a whole number",
        ),
        (
            "[a]\npercentage_random=101\n",
            "line 2: percentage_random: found \"101\"; expected 0 to 100",
        ),
        ("[a]\nsync=maybe\n", "line 2: sync: found \"maybe\"; expected none, sync"),
        ("[a]\nrandom_distribution=zoned:50/10:60/90\n", "expected random, zipf"),
        ("[a]\nrandom_distribution=pareto:1.5\n", "expected random, zipf"),
        ("[a]\nrandom_distribution=normal:0\n", "expected random, zipf"),
        (
            "[a]\nnumjobs=4097\n",
            "line 2: numjobs: found \"4097\"; expected a whole number from 1 to 4096",
        ),
        ("[a]\nrw=read\nsize=2g\n", "line 1: files up to here take 2147483648 bytes"),
        ("[a]\nrw=write\nbs=1m\nsize=64k\n", "line 1: job a: its file has 65536 bytes"),
        ("[a]\nrate=1m\n[b]\nrw=read\n", "line 3: jobs with and without a rate do not mix"),
        ("[a]\nsize=k\n", "line 2: size: found \"k\"; expected a size as 1g"),
        ("[a]\nrwmixread=101\n", "line 2: rwmixread: found \"101\"; expected 0 to 100"),
    ] {
        let found = refused(text);
        assert!(found.starts_with("test.fio: ") && found.contains(wanted), "{text:?}: {found}");
    }
}

#[test]
fn options_of_the_device_are_taken_and_those_of_the_host_ignored() {
    let text = "; a comment\n[global]\nioengine=libaio ; asynchronous\ndirect=1\nbs=8k\nsize=1m\n\n[a]\n\
        rw=write\nfilename=/dev/disk\niodepth=4\n[b]\nstonewall\nrw=trim\nfilename=/dev/disk\n";
    let requests = made(text, 1 << 20);
    assert_eq!(requests.len(), 256);
    assert_eq!(requests[0], (Op::Write, 0, 8192));
    assert_eq!(requests[127], (Op::Write, 127 * 8192, 8192));
    assert_eq!(requests[128], (Op::Trim, 0, 8192));
    let drive = JobFile::parse(text, "a").unwrap().drive();
    assert_eq!(drive, Drive::Closed { depth: 4, think_ns: 0, think_every: 1, stop_ns: 0 });
    let mixed = JobFile::parse("[a]\nrate_iops=1000\nsize=1m\nrw=randread\n", "a").unwrap();
    assert_eq!(mixed.drive(), Drive::Open);
    let mut source = mixed.source(1 << 20, 1).unwrap();
    let at: Vec<u64> = (0..3).map(|_| source.next_request().unwrap().unwrap().at.0).collect();
    assert_eq!(at, [0, 1_000_000, 2_000_000]);
}

#[test]
fn sizes_have_their_shares() {
    let job = "[a]\nrw=randread\nnorandommap\nsize=64m\nio_size=1g\nnumber_ios=10000\nbssplit=";
    for (split, expected) in [
        ("4k/60:8k/30:16k/10", [0.6, 0.3, 0.1]),
        // Sizes without a share divide what is left.
        ("4k/60:8k:16k/", [0.6, 0.2, 0.2]),
    ] {
        let mut counts = BTreeMap::from([(4096, 0), (8192, 0), (16_384, 0)]);
        made(&format!("{job}{split}\n"), 1 << 26)
            .iter()
            .for_each(|one| *counts.get_mut(&one.2).expect("a size of the job") += 1);
        for ((bytes, count), expected) in counts.into_iter().zip(expected) {
            let share = f64::from(count) / 10_000.0;
            assert!((share - expected).abs() < 0.02, "{split}: {share} of {bytes}");
        }
    }
}

#[test]
fn random_requests_visit_every_block_once() {
    let mut places: Vec<u64> = made("[a]\nrw=randwrite\nbs=8k\nsize=1m\n", 1 << 20)
        .iter()
        .inspect(|one| assert_eq!((one.0, one.2), (Op::Write, 8192)))
        .map(|one| one.1)
        .collect();
    assert!(!places.is_sorted());
    places.sort_unstable();
    assert_eq!(places, (0..128).map(|block| block * 8192).collect::<Vec<u64>>());
}

#[test]
fn instances_have_files_of_their_own() {
    let mut places: Vec<u64> =
        made("[a]\nrw=write\nnumjobs=3\nsize=64k\n", 1 << 20).iter().map(|one| one.1).collect();
    places.sort_unstable();
    assert_eq!(places, (0..48).map(|block| block * 4096).collect::<Vec<u64>>());
}

#[test]
fn a_normal_distribution_has_its_deviation() {
    // 1 % of 1024 blocks: 10.24. The density at the centre is 1 / (10.24 sqrt(2 pi)).
    let text =
        "[a]\nrw=randread\nrandom_distribution=normal:1\nsize=4m\nnumber_ios=40000\nio_size=1g\n";
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    made(text, 4 << 20).iter().for_each(|one| *counts.entry(one.1).or_default() += 1);
    let highest = f64::from(*counts.values().max().unwrap()) / 40_000.0;
    assert!((0.0390..0.0430).contains(&highest), "{highest}");
    // 3 to 5 deviations on each side.
    assert!((61..=103).contains(&counts.len()), "{} blocks", counts.len());
}

#[test]
fn jobs_end_by_the_clock() {
    let job = |options: &str| {
        let text = format!("[a]\nfilename=f\nrw=write\nsize=64k\n{options}\n");
        JobFile::parse(&text, "a").unwrap()
    };
    // With a rate, by its arrivals: 10 ms at 1000 a second, although 16 requests fill the file.
    let rated = "rate_iops=1000\nruntime=20ms";
    let count = |options: &str| {
        let mut source = job(options).source(1 << 20, 1).unwrap();
        std::iter::from_fn(|| source.next_request().unwrap()).take(1000).count()
    };
    assert_eq!(count(rated), 16);
    assert_eq!(count(&format!("{rated}\ntime_based")), 20);
    assert_eq!(count("rate_iops=1000\nruntime=10ms"), 10);
    // Without, by that of the device.
    let closed = job("runtime=3\ntime_based\nthinktime=10\nthinktime_blocks=5");
    let drive =
        Drive::Closed { depth: 1, think_ns: 10_000, think_every: 5, stop_ns: 3_000_000_000 };
    assert_eq!(closed.drive(), drive);
    assert_eq!(count("runtime=3\ntime_based"), 1000);
}

#[test]
fn writes_are_flushed_when_they_should() {
    let requests = made("[a]\nrw=write\nsize=1m\nfsync=10\nend_fsync=1\nsync=1\n", 1 << 20);
    let flushes = requests.iter().enumerate().filter(|one| one.1.0 == Op::Flush);
    let places: Vec<usize> = flushes.map(|one| one.0).collect();
    assert_eq!(places[..3], [10, 21, 32]);
    assert_eq!((places.len(), places.last()), (26, Some(&(requests.len() - 1))));
    let file = JobFile::parse("[a]\nrw=write\nsize=1m\nsync=dsync\n", "a").unwrap();
    let first = file.source(1 << 20, 1).unwrap().next_request().unwrap().unwrap();
    assert_eq!(first.request.flags, flags::FUA);
}

/// After each request, reads included, the number of writes so far says whether a flush is due.
#[test]
fn reads_between_writes_are_flushed_as_fio_does() {
    let requests = made("[a]\nrw=randrw\nsize=1m\nfsync=4\n", 1 << 20);
    let (mut writes, mut after_reads) = (0, 0);
    for pair in requests.windows(2).filter(|pair| pair[0].0 != Op::Flush) {
        writes += u64::from(pair[0].0 == Op::Write);
        let due = writes > 0 && u64::is_multiple_of(writes, 4);
        assert_eq!(pair[1].0 == Op::Flush, due, "after {writes} writes");
        after_reads += u64::from(due && pair[0].0 == Op::Read);
    }
    assert!(after_reads > 10, "{after_reads}");
    // Who has written nothing has nothing to flush at the end.
    for (job, last) in [("rw=write", Op::Flush), ("rw=read", Op::Read)] {
        let requests = made(&format!("[a]\n{job}\nsize=64k\nend_fsync=1\n"), 1 << 20);
        assert_eq!(requests.last().map(|one| one.0), Some(last), "{job}");
    }
}

#[test]
fn trims_come_before_the_writes_of_their_blocks() {
    let requests = made("[a]\nrw=randtrimwrite\nsize=1m\n", 1 << 20);
    assert_eq!(requests.len(), 512);
    for pair in requests.chunks(2) {
        assert_eq!((pair[0].0, pair[1].0), (Op::Trim, Op::Write));
        assert_eq!(pair[0].1, pair[1].1);
    }
}

#[test]
fn any_text_is_a_job_file_or_an_error() {
    let mut random = ssd_core::rng::Stream::new(3, "fio fuzz");
    let words = [
        "[",
        "]",
        "a",
        "rw",
        "=",
        "randrw",
        "bs",
        "4k",
        ",",
        "/",
        ":",
        "%",
        "size",
        "\n",
        "100",
        "bssplit",
        "zoned",
        "random_distribution",
        "loops",
        "fsync",
        "percentage_random",
        "runtime",
        "rate_iops",
        "time_based",
        "numjobs",
        "#",
        ";",
        " ",
        "-1",
        "1e9",
        "ü",
    ];
    for _ in 0..20_000 {
        let n = random.below(24);
        let text: String =
            (0..n).map(|_| words[random.below(words.len() as u64) as usize]).collect();
        if let Ok(file) = JobFile::parse(&text, "fuzz")
            && let Ok(mut source) = file.source(1 << 22, 1)
        {
            for _ in 0..64 {
                let Some(one) = source.next_request().unwrap() else { break };
                let end = one.request.sector + u64::from(one.request.sectors);
                let empty = one.request.sectors == 0 && one.request.op != Op::Flush;
                assert!(!empty && end * 512 <= 1 << 22, "{text:?}");
            }
        }
    }
}

/// What fio does with the same job, from its own log.
fn of_fio(options: &str, name: &str) -> Option<Made> {
    let folder = std::env::temp_dir().join(format!("fio-jobs-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let job = format!("[a]\nioengine=psync\nfilename=file\n{options}\n");
    std::fs::write(folder.join("a.fio"), job).unwrap();
    let done = Command::new("fio")
        .args(["a.fio", "--write_iolog=log", "--output-format=terse"])
        .current_dir(&folder)
        .output();
    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&folder);
    let done = done.ok()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, op, start, bytes] = fields[..] else { return None };
        let op = match op {
            "read" => Op::Read,
            "write" => Op::Write,
            "sync" | "datasync" => Op::Flush,
            _ => return None,
        };
        Some((op, start.parse().ok()?, bytes.parse().ok()?))
    };
    Some(log.lines().filter_map(line).collect())
}

/// Statistics of requests: share of reads, mean size, share of the bytes in the first quarter of the
/// file, blocks touched, shares of the 1 and 16 most frequent of them, of requests that begin where the
/// last of their operation ended, and of flushes.
fn statistics(all: &Made, size: u64) -> [f64; 8] {
    let made: Made = all.iter().copied().filter(|one| one.0 != Op::Flush).collect();
    let mut ends = [u64::MAX; 4];
    let follows = made.iter().filter(|one| {
        let end = std::mem::replace(&mut ends[one.0 as usize], one.1 + one.2);
        end == one.1
    });
    let follows = follows.count() as f64;
    let n = made.len() as f64;
    let mut blocks: BTreeMap<u64, u64> = BTreeMap::new();
    for &(_, start, _) in &made {
        *blocks.entry(start / 4096).or_default() += 1;
    }
    let mut counts: Vec<u64> = blocks.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let top = |k: usize| counts.iter().take(k).sum::<u64>() as f64 / n;
    [
        made.iter().filter(|one| one.0 == Op::Read).count() as f64 / n,
        made.iter().map(|one| one.2).sum::<u64>() as f64 / n,
        made.iter().filter(|one| one.1 < size / 4).count() as f64 / n,
        blocks.len() as f64,
        top(1),
        top(16),
        follows / n,
        (all.len() - made.len()) as f64 / n,
    ]
}

#[test]
#[allow(clippy::print_stderr, reason = "it says why it proves nothing")]
fn requests_are_like_those_of_fio() {
    let size = 16 << 20;
    let cases = [
        ("read", "rw=read\nbs=16k"),
        ("mix", "rw=randrw\nrwmixread=30\nbs=4k"),
        ("sequential-mix", "rw=rw\nrwmixread=70\nbs=4k"),
        ("split", "rw=randwrite\nbssplit=4k/60:16k/30:64k/10"),
        ("split-drawn", "rw=randwrite\nbssplit=4k/60:16k/40\nnorandommap"),
        ("drawn", "rw=randwrite\nnorandommap\nloops=3"),
        ("zipf", "rw=randwrite\nrandom_distribution=zipf:0.99"),
        ("zipf-steep", "rw=randread\nrandom_distribution=zipf:1.2"),
        ("pareto", "rw=randwrite\nrandom_distribution=pareto:0.2"),
        ("normal", "rw=randwrite\nrandom_distribution=normal:10"),
        ("zoned", "rw=randwrite\nrandom_distribution=zoned:60/10:30/20:8/30:2/40"),
        ("sizes", "rw=randrw\nbs=4k,16k\nnorandommap"),
        ("io-size", "rw=randwrite\nio_size=8m"),
        ("ios", "rw=randwrite\nnumber_ios=500"),
        ("part-random", "rw=randwrite\npercentage_random=30\nnorandommap"),
        ("part-random-map", "rw=randread\npercentage_random=60"),
        ("part-random-mix", "rw=randrw\npercentage_random=80,20\nnorandommap"),
        ("fsync", "rw=randwrite\nfsync=7"),
        ("fsync-mix", "rw=randrw\nrwmixread=70\nnumber_ios=3000\nfsync=16"),
        ("fdatasync", "rw=rw\nfdatasync=16\nend_fsync=1"),
        ("pauses", "rw=randwrite\nthinktime=10\nthinktime_blocks=64"),
    ];
    for (name, options) in cases {
        let options = format!("size=16m\n{options}");
        let Some(theirs) = of_fio(&options, name) else {
            eprintln!("skipped: fio is not installed");
            return;
        };
        let ours = made(&format!("[a]\nfilename=file\n{options}\n"), size);
        let (found, wanted) = (statistics(&ours, size), statistics(&theirs, size));
        let n = theirs.len() as f64;
        // With a map, requests are cut where a block is taken: how often hangs on the order of draws.
        // fio's normal distribution is a little narrower than its deviation says (measured: 9 %).
        let cut = match name {
            "split" => 0.15,
            "normal" => 0.12,
            _ => 0.06,
        };
        let requests = ours.len() as f64 / n;
        assert!((requests - 1.0).abs() < cut, "{name}: {} requests, fio {n}", ours.len());
        // Five standard deviations of a share, and what two kinds of draws may differ by.
        let noise = 5.0 * 0.5 / n.sqrt();
        for (i, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
            let limit = match i {
                1 | 3 => cut * wanted,
                // The quarter that holds the first ranks of a scattered distribution is chance.
                2 if name.contains("zipf") || name == "pareto" || name == "normal" => 0.5,
                _ => noise.max(0.01),
            };
            assert!(
                (found - wanted).abs() <= limit,
                "{name}: statistic {i} is {found}, of fio {wanted} (within {limit})"
            );
        }
    }
}
