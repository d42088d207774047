//! Requests like those of fio itself, where it is installed.

use super::fio_jobs::{RequestList, made};
use ssd_core::host::request::Op;
use std::collections::BTreeMap;
use std::process::Command;

/// What fio does with the same job, from its own log.
fn of_fio(options: &str, name: &str) -> Option<RequestList> {
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
fn statistics(all: &RequestList, size: u64) -> [f64; 8] {
    let made: RequestList = all.iter().copied().filter(|one| one.0 != Op::Flush).collect();
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

/// Jobs of 16 MiB.
const CASES: &[(&str, &str)] = &[
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
    ("range", "rw=randwrite\nbsrange=1k-16k\nnorandommap"),
    ("range-rest", "rw=randwrite\nbsrange=4k-10k\nnorandommap"),
    ("range-mix", "rw=randrw\nbsrange=4k-8k,16k-32k\nnorandommap"),
    ("split-mix", "rw=randrw\nbssplit=4k/50:8k/,16k/20:4k/30\nnorandommap"),
    ("align", "rw=randread\nblockalign=64k"),
    ("align-fine", "rw=randread\nbs=8k\nblockalign=512"),
    ("zoned-rest", "rw=randwrite\nrandom_distribution=zoned:50/5:0/40:30/15:20/"),
    ("zoned-part", "rw=randwrite\nrandom_distribution=zoned:50/5:50/15"),
    ("zoned-abs", "rw=randwrite\nrandom_distribution=zoned_abs:70/1m:30/3m"),
    ("lfsr", "rw=randwrite\nrandom_generator=lfsr\nnorandommap\nloops=2"),
    ("lfsr-split", "rw=randwrite\nrandom_generator=lfsr\nbssplit=4k/60:16k/40"),
    ("seek", "rw=randread:8\nnorandommap"),
    ("same", "rw=randread:4\nrw_sequencer=identical\nnorandommap"),
    ("skip", "rw=read:12k"),
    ("backwards", "rw=write:-8k"),
    ("strided", "rw=read\nzonemode=strided\nzonesize=64k\nzonerange=128k\nzoneskip=256k"),
    ("odd", "rw=write\nbs=12k\nloops=3"),
    ("rounds", "rw=randwrite\nsize=1m\nloops=4"),
    ("pauses", "rw=randwrite\nthinktime=10\nthinktime_blocks=64"),
];

#[test]
#[allow(clippy::print_stderr, reason = "it says why it proves nothing")]
fn requests_are_like_those_of_fio() {
    let size = 16 << 20;
    for &(name, options) in CASES {
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

/// Jobs without randomness are those of fio, request by request.
#[test]
#[allow(clippy::print_stderr, reason = "it says why it proves nothing")]
fn requests_without_randomness_are_those_of_fio() {
    for (name, options) in [
        ("steps", "size=32k rw=read:4k"),
        ("back", "size=40k rw=write:-8k"),
        ("rest", "size=64k bs=12k rw=write loops=3"),
        ("part", "size=64k bs=12k rw=write io_size=192k"),
        ("twice", "size=1m rw=read io_size=16k loops=2"),
        ("count", "size=32k rw=write number_ios=5 loops=3"),
        ("file", "filesize=64k size=32k rw=read"),
        ("strides", "size=512k rw=read zonemode=strided zonesize=16k zoneskip=96k loops=2"),
        ("again", "size=512k rw=read zonemode=strided zonesize=32k zonerange=16k zoneskip=112k"),
        ("fraction", "size=512k rw=read zonemode=strided zonesize=16k zonerange=32k zoneskip=96k"),
        ("flushes", "size=64k rw=write fsync=4 end_fsync=1"),
        ("units", "size=1m rw=write bs=0x2000 io_size=64kb"),
        ("comment", "size=64k rw=write bs=4k;8k"),
        ("default", "size=64k rw=read bs=,8k"),
    ] {
        let options = options.replace(' ', "\n");
        let Some(theirs) = of_fio(&options, name) else {
            eprintln!("skipped: fio is not installed");
            return;
        };
        let ours = made(&format!("[a]\nfilename=file\n{options}\n"), 1 << 20);
        let data = |made: &RequestList| -> RequestList {
            made.iter()
                .map(|&(op, at, n)| if op == Op::Flush { (op, 0, 0) } else { (op, at, n) })
                .collect()
        };
        assert_eq!(data(&ours), data(&theirs), "{name}");
    }
}

/// In jobs of several rounds fio repeats the requests of the first one, or does not: so do we.
#[test]
#[allow(clippy::print_stderr, reason = "it says why it proves nothing")]
fn rounds_repeat_where_those_of_fio_do() {
    // On a busy machine fio makes a small part of these requests; 128 are needed.
    let timed = "rw=randread time_based runtime=3 rate_iops=1000".to_owned();
    for (name, options, requests) in [
        ("loops", "rw=randwrite loops=3", 64),
        ("fresh", "rw=randwrite loops=3 randrepeat=0", 64),
        ("bytes", "rw=randwrite io_size=768k", 64),
        ("lfsr", "rw=randwrite loops=3 random_generator=lfsr", 64),
        ("drawn", "rw=randread loops=3 norandommap", 64),
        ("timed", &timed, 64),
        ("timed-lfsr", &format!("{timed} random_generator=lfsr"), 64),
    ] {
        let options = format!("size=256k\n{}", options.replace(' ', "\n"));
        let Some(theirs) = of_fio(&options, name) else {
            eprintln!("skipped: fio is not installed");
            return;
        };
        let repeats = |all: &RequestList| all[..requests] == all[requests..2 * requests];
        let ours = made(&format!("[a]\nfilename=file\n{options}\n"), 256 << 10);
        assert_eq!(repeats(&ours), repeats(&theirs), "{name}");
    }
}
