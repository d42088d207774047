//! fio's job files: their options and requests.

use ssd_core::host::request::{Op, flags};
use ssd_core::host::source::Source;
use ssd_core::units::Nanos;
use ssd_trace::fio::JobFile;
use std::collections::BTreeMap;

/// Requests as (operation, first byte, bytes).
pub(crate) type RequestList = Vec<(Op, u64, u64)>;

/// Those of a job file on a device of `device` bytes that takes no time.
pub(crate) fn made(text: &str, device: u64) -> RequestList {
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
        (
            "[a]\niodepht=4\n",
            "line 2: iodepht: no option of fio 3.33 or of its block devices; did you mean \"iodepth\"?",
        ),
        ("[a]\nrate=1m\nrate_iops=5\n", "line 1: rate, rate_iops: set one of them"),
        ("[a]\nwait_for=b\n[b]\n", "line 1: wait_for: 0 jobs before a are called \"b\""),
        ("[a]\nrandom_generator=lfsr\nba=4k\n", "line 1: random_generator=lfsr, blockalign"),
        ("[a]\nbs=4kib\n", "kib, mib and gib powers of 1000 unless kb_base=1000"),
        ("[a]\nbsrange=3k-12k\n", "line 2: bsrange: found \"3k-12k\"; expected multiples of 512"),
        (
            "[a]\noffset=100\nsize=1m\n",
            "line 1: job a: its offset of 100 bytes is no multiple of 512",
        ),
        ("[a]\nfilename=/dev/sda:/dev/sdb\n", "line 2: filename: found"),
        ("[a]\nnrfiles=4\n", "line 2: nrfiles: found \"4\"; expected 1"),
        ("[a]\nbs=${BS}\n", "line 2: bs: ${BS} is what the environment says when fio runs"),
        ("[a]\nsize=8*$mb_memory\n", "line 2: size: 8*$mb_memory is what the machine says"),
        ("[a]\nsize=(4*1024)\n", "line 2: size: (4*1024) is an expression"),
        ("[a]\ninclude other.fio\n", "line 2: include: other files are not read"),
        ("[a]\nzonemode=zbd\n", "line 2: zonemode: found \"zbd\"; expected none or strided"),
        ("[a]\nzonemode=strided\nsize=1m\n", "line 1: job a: zonemode=strided needs a zonesize"),
        ("[a]\nverify=crc32c\n", "line 2: verify: fio would read back"),
        (
            "[g]\n[a]\nioengine=cpuio\nrw=randwrit\n",
            "line 3: ioengine=cpuio uses CPUs only (job a)",
        ),
        (
            "[a]\nrandom_distribution=zoned_abs:50/1m:50/2m\nrw=randread\nsize=2m\n",
            "line 1: job a: zoned_abs: its zones are larger than its file",
        ),
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
    let hosting = JobFile::parse(text, "a").unwrap().hosting();
    assert_eq!((hosting.depth, hosting.is_open), (4, false));
    assert_eq!(hosting.ignored, ["direct"]);
    let mixed = JobFile::parse("[a]\nrate_iops=1000\nsize=1m\nrw=randread\n", "a").unwrap();
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
        // What all leave goes to the most frequent size, as in fio.
        ("4k/20:8k/50:16k/20", [0.2, 0.6, 0.2]),
        ("4k/20:8k/80:16k", [0.2, 0.8, 0.0]),
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
    // Without a time there is none, as in fio.
    assert_eq!(job("time_based").hosting().ignored, ["time_based"]);
    assert_eq!(count("time_based"), 16);
    let hosting = job("runtime=3\ntime_based").hosting();
    assert!(hosting.needs_time.unwrap().contains("a: line 1: runtime: this job ends by the clock"));
    assert_eq!(job("runtime=3\ntime_based\nthinktime=10").hosting().needs_time, None);
    let mut source = job("runtime=3\ntime_based").source(1 << 20, 1).unwrap();
    assert!(source.next_request().is_err());
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
        "bsrange",
        "ba",
        "zoned_abs",
        "offset_increment",
        "thinktime",
        "iodepth",
        "stonewall",
        "-",
        "zonesize=64k\nzoneskip",
        "#",
        ";",
        " ",
        "-1",
        "1e9",
        "ü",
    ];
    for _ in 0..20_000 {
        let n = random.below(32);
        let text: String =
            (0..n).map(|_| words[random.below(words.len() as u64) as usize]).collect();
        if let Ok(file) = JobFile::parse(&text, "fuzz")
            && let Ok(mut source) = file.source(1 << 22, 1)
        {
            for _ in 0..64 {
                // A job that needs a clock has none here.
                let Ok(Some(one)) = source.next_request() else { break };
                let end = one.request.sector + u64::from(one.request.sectors);
                let empty = one.request.sectors == 0 && one.request.op != Op::Flush;
                assert!(!empty && end * 512 <= 1 << 22, "{text:?}");
            }
        }
    }
}

/// Rounds of a job with `loops`, or with more `io_size` than `size`, repeat the requests of the first one: so does
/// `random_generator=lfsr` whenever all blocks have been visited.
#[test]
fn rounds_repeat() {
    let rounds = |options: &str| {
        let job = format!("[a]\nrw=randwrite\nsize=256k\n{options}\n");
        let all = made(&job, 1 << 20);
        assert_eq!(all.len(), 192, "{options}");
        for round in all.chunks(64) {
            let mut places: Vec<u64> = round.iter().map(|one| one.1).collect();
            places.sort_unstable();
            let each: Vec<u64> = (0..64).map(|block| block * 4096).collect();
            assert_eq!(places, each, "{options}");
        }
        let mut rounds = all.chunks(64);
        let first = rounds.next().unwrap();
        rounds.all(|round| round == first)
    };
    assert!(rounds("loops=3") && rounds("io_size=768k"));
    assert!(!rounds("loops=3\nrandrepeat=0") && !rounds("io_size=768k\nallrandrepeat=0"));
    assert!(rounds("loops=3\nrandom_generator=lfsr\nrandrepeat=0"));
    let clocked = "time_based\nruntime=192ms\nrate_iops=1000";
    assert!(!rounds(clocked) && rounds(&format!("{clocked}\nrandom_generator=lfsr")));
    // Without a map there are no rounds.
    let drawn = made("[a]\nrw=randwrite\nsize=256k\nloops=2\nnorandommap\n", 1 << 20);
    assert_ne!(drawn[..64], drawn[64..]);
    // Seeds of jobs, files and rounds differ.
    let of = |seed: &str| made(&format!("[a]\nrw=randwrite\nsize=256k\n{seed}\n"), 1 << 20);
    assert_ne!(of("randseed=1"), of("randseed=2"));
}

#[test]
fn a_range_of_lengths_has_its_multiples() {
    let shares = |range: &str| {
        let job =
            "[a]\nrw=randwrite\nnorandommap\nsize=64m\nio_size=1g\nnumber_ios=20000\nbsrange=";
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        made(&format!("{job}{range}\n"), 1 << 26)
            .iter()
            .for_each(|one| *counts.entry(one.2).or_default() += 1.0 / 20_000.0);
        counts
    };
    let close = |range: &str, expected: &[(u64, f64)]| {
        let shares = shares(range);
        assert_eq!(shares.len(), expected.len(), "{range}: {shares:?}");
        for &(bytes, expected) in expected {
            assert!((shares[&bytes] - expected).abs() < 0.02, "{range}: {shares:?}");
        }
    };
    close("4k-16k", &[(4096, 0.25), (8192, 0.25), (12_288, 0.25), (16_384, 0.25)]);
    // Lengths beyond the largest become the largest.
    close("4k:10k", &[(4096, 0.4), (8192, 0.4), (10_240, 0.2)]);
    close("8k-4k", &[(4096, 0.5), (8192, 0.5)]);
    // Of each direction.
    let mixed = made("[a]\nrw=rw\nsize=16m\nbsrange=4k-8k,16k-32k\n", 1 << 24);
    for (op, least, most) in [(Op::Read, 4096, 8192), (Op::Write, 16_384, 32_768)] {
        let mut sizes = mixed.iter().filter(|one| one.0 == op).map(|one| one.2);
        assert!(sizes.all(|bytes| (least..=most).contains(&bytes)), "{op:?}");
    }
}

/// Which of several options about lengths counts does not hang on their order.
#[test]
fn shares_go_before_ranges_and_ranges_before_a_size() {
    let sizes = |options: &str| {
        let job = format!("[a]\nrw=write\nsize=16m\n{}\n", options.replace(' ', "\n"));
        let sizes: std::collections::BTreeSet<u64> =
            made(&job, 1 << 24).iter().map(|one| one.2 / 1024).collect();
        sizes.into_iter().collect::<Vec<u64>>()
    };
    for (options, expected) in [
        ("bsrange=4k-8k bs=16k", vec![4, 8]),
        ("bssplit=4k/50:8k/50 bs=16k", vec![4, 8]),
        ("bssplit=16k/50:32k/50 bsrange=4k-8k", vec![16, 32]),
        ("bs=16k bs=,8k", vec![8]),
        ("bs=8k,16k,", vec![16]),
        ("bs=8k,", vec![4]),
        ("kb_base=1000 bsrange=4kib-8kib", vec![4, 8]),
        ("bs=0x2000", vec![8]),
    ] {
        assert_eq!(sizes(options), expected, "{options}");
    }
}

/// Places by a twin that knows the job's words only as numbers.
#[test]
fn places_are_those_of_the_options() {
    let mib = 1 << 20;
    let shares = |options: &str, of: &dyn Fn(&(Op, u64, u64)) -> bool| {
        let job = format!("[a]\nrw=randrw\nnorandommap\nsize=64m\n{options}\n");
        let all: RequestList = made(&job, 64 * mib).into_iter().filter(of).collect();
        let share = |from: u64, to: u64| {
            let within = all.iter().filter(|one| (from * mib..to * mib).contains(&one.1)).count();
            within as f64 / all.len() as f64
        };
        [share(0, 8), share(8, 16), share(16, 64)]
    };
    let any = |_: &(Op, u64, u64)| true;
    let close = |found: [f64; 3], expected: [f64; 3]| {
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.02);
        assert!(near, "{found:?}, expected {expected:?}");
    };
    let law = "random_distribution=";
    close(shares(&format!("{law}zoned_abs:70/8m:20/8m:10/48m"), &any), [0.7, 0.2, 0.1]);
    close(shares(&format!("{law}zoned_abs:70/8m:30/8m"), &any), [0.7, 0.3, 0.0]);
    close(shares(&format!("{law}zoned:60/12.5:40/12.5"), &any), [0.6, 0.4, 0.0]);
    close(shares(&format!("{law}zoned:60/12.5:0/12.5:40/"), &any), [0.6, 0.0, 0.4]);
    let zones = format!("{law}zoned:100/12.5:0/87.5,0/12.5:100/12.5:0/75");
    close(shares(&zones, &|one| one.0 == Op::Read), [1.0, 0.0, 0.0]);
    close(shares(&zones, &|one| one.0 == Op::Write), [0.0, 1.0, 0.0]);
    // The most frequent block of a law is where it is said to be.
    let job = format!("[a]\nrw=randread\nsize=64m\n{law}zipf:1.2:0.25\n");
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    made(&job, 64 * mib).iter().for_each(|one| *counts.entry(one.1).or_default() += 1);
    assert_eq!(counts.iter().max_by_key(|one| one.1).map(|one| *one.0), Some(16 * mib));
}

#[test]
fn requests_are_aligned_as_asked() {
    for (options, unit, places) in
        [("blockalign=64k", 65_536, 16), ("bs=8k\nba=512", 512, 1000), ("ba=8k,512", 8192, 128)]
    {
        let job = format!("[a]\nrw=randread\nsize=1m\nio_size=64m\n{options}\n");
        let starts: std::collections::BTreeSet<u64> =
            made(&job, 1 << 20).iter().map(|one| one.1).collect();
        assert!(starts.iter().all(|start| start % unit == 0), "{options}");
        let few = (1 << 20) / unit == places;
        assert!(
            starts.len() as u64 == places || (!few && starts.len() as u64 > places),
            "{options}"
        );
    }
}

/// The blocks of a job, as numbers.
fn blocks(options: &str) -> Vec<u64> {
    let job = format!("[a]\nfilename=f\nrw=read\n{}\n", options.replace(' ', "\n"));
    made(&job, 1 << 20).iter().map(|one| one.1 / 4096).collect()
}

#[test]
fn sequential_jobs_step_and_stride() {
    assert_eq!(blocks("size=32k rw=read:4k"), [0, 2, 4, 6, 0, 2, 4, 6]);
    assert_eq!(blocks("size=32k rw=read:-8k"), [0, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(blocks("size=64k bs=12k loops=2"), [0, 3, 6, 9, 12, 0, 3, 6, 9, 12]);
    assert_eq!(blocks("size=64k bs=12k"), [0, 3, 6, 9, 12]);
    assert_eq!(blocks("size=64k io_size=16k loops=2"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(blocks("size=32k number_ios=5 loops=2"), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    let strides = "zonemode=strided zonesize=8k zoneskip=24k size=64k";
    assert_eq!(blocks(&format!("{strides} io_size=24k")), [0, 1, 8, 9, 0, 1]);
    assert_eq!(blocks(&format!("{strides} zonerange=4k io_size=24k")), [0, 0, 7, 7, 14, 14]);
    assert_eq!(blocks(&format!("{strides} zonerange=16k io_size=24k")), [0, 1, 10, 11, 0, 1]);
    assert_eq!(blocks("offset=30% size=16k filename=f"), [77, 78, 79, 80]);
    assert_eq!(blocks("offset=30% offset_align=64k size=8k"), [80, 81]);
    let mut two = blocks("offset_increment=16k numjobs=2 size=1m number_ios=2 filesize=1m");
    two.sort_unstable();
    assert_eq!(two, [0, 1, 4, 5]);
    assert_eq!(blocks("filesize=64k size=16k"), [0, 1, 2, 3]);
    let same = blocks("rw=randread:3 rw_sequencer=identical size=1m norandommap number_ios=240");
    assert!(same.chunks(3).all(|three| three[0] == three[1] && three[0] == three[2]));
    let onward = blocks("rw=randread:4 size=1m norandommap number_ios=240");
    let runs = onward.chunks(4).filter(|four| four[3] == four[0] + 3).count();
    // Those that begin in the last blocks have no room.
    assert!((54..=60).contains(&runs), "{runs}");
}

#[test]
fn a_mark_of_the_byte_order_is_no_section() {
    let text = "\u{feff}[a]\r\nrw=write\r\nsize=8k\r\n";
    assert_eq!(made(text, 1 << 20), [(Op::Write, 0, 4096), (Op::Write, 4096, 4096)]);
    // A comment may begin anywhere, as in fio.
    assert_eq!(made("[a]\nrw=write ; or read\nsize=8k#16k\n", 1 << 20).len(), 2);
}

/// Whoever changes these numbers raises the version of the results.
#[test]
fn a_job_keeps_its_requests() {
    let digest = |options: &str| {
        let job = format!("[a]\nsize=1m\n{}\n[b]\nsize=1m\nrw=write\n", options.replace(' ', "\n"));
        let of_one = |digest: u64, one: &(Op, u64, u64)| {
            let number = (one.0 as u64) << 60 | one.1 << 24 | one.2;
            (digest ^ number).wrapping_mul(0x0000_0100_0000_01b3)
        };
        made(&job, 4 << 20).iter().fold(0, of_one)
    };
    for (options, expected) in [
        ("rw=randwrite", 0x0f67_1265_cbe0_0000),
        ("rw=randrw bssplit=4k/50:16k/50 iodepth=4 loops=2", 0x5739_77f2_298e_4000),
        ("rw=randread random_distribution=zipf:1.1", 0x949a_9d05_cbe0_0000),
        ("rw=randread random_distribution=zoned:60/10:40/90 bsrange=4k-16k", 0x51c7_a0e9_48e1_9000),
        ("rw=randtrimwrite random_generator=lfsr rate=1m fsync=3", 0x82c4_ce23_de9c_5000),
    ] {
        assert_eq!(digest(options), expected, "{options}");
    }
}

#[test]
fn a_job_that_ends_by_time_is_refused_where_time_stands_still() {
    let text = "[a]\nfilename=f\nrw=randread\nsize=64k\nruntime=3\ntime_based\n";
    let source = || JobFile::parse(text, "a").unwrap().source(1 << 20, 1).unwrap();
    let refused = |advance: u64| {
        let (mut source, mut now) = (source(), 0);
        let clients = source.clients().unwrap();
        (0..5_000_000).find_map(|number| {
            now += advance;
            let arrived = clients.arrive(Nanos(now)).map(|request| request.expect("a request"));
            arrived.inspect(|_| clients.completed(number)).err()
        })
    };
    let error = refused(0).expect("an error").0;
    assert!(
        error.contains("at one time (0 ns)") && error.contains("precondition.fill=1"),
        "{error}"
    );
    assert!(refused(1).is_none());
}
