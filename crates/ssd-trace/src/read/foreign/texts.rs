//! Output of tools that do not record requests, or do not print them as a table.

use super::{RECORD, filled_lines, fio, html};
use crate::read::formats::mapping::cells_of;
use crate::read::guess::names::{is_address, is_length, is_operation, is_rate};

/// What several kinds of output have instead of requests, and these kinds: their words, and what they are.
type NonTraceOutput = (&'static str, &'static [(&'static [&'static str], &'static str)]);

/// Text whose requests must be recorded with another tool.
const LACKING: [NonTraceOutput; 6] = [
    (
        ", which has totals per interval but no requests",
        &[
            (&["r_await", "kB_read/s"], "output of iostat"),
            (&["%util"], "output of iostat or sar"),
            (&["---swap--"], "output of vmstat"),
            (&["Kbytes  AVGms"], "output of biotop"),
            (&["Cur ops"], "output of rados bench"),
            (&["OPS/SEC"], "output of rbd bench"),
        ],
    ),
    (
        ", which has results but no requests",
        &[
            (&["[OVERALL], "], "output of YCSB"),
            (&["All Devices ===="], "a report of btt"),
            (
                &[
                    "SMART/Health Info",
                    "SMART DATA SECTION",
                    "Smart Log for NVME",
                    "critical_warning",
                ],
                "output of nvme smart-log or smartctl",
            ),
        ],
    ),
    (
        ", which has system calls on files but no requests to a device",
        &[
            (&[" ms): "], "output of perf trace"),
            (&["pwrite64(", "pread64("], "output of strace"),
            (&["File Operation: "], "a trace of RocksDB"),
        ],
    ),
    (
        ", which has keys but no device addresses",
        &[
            (&[",get,0\n"], "a cache trace of Twitter"),
            (&["key_size,"], "a cache trace"),
            (&["usertable user"], "a log of YCSB"),
        ],
    ),
    (
        ", not a device",
        &[
            (
                &["io_offset io_size"],
                "a trace of Tectonic, whose requests address parts of a distributed file system",
            ),
            (
                &["request_io_size_bytes"],
                "a trace of Thesios, whose requests address files of a distributed file system",
            ),
            (&["do_osd_op", "osd_op("], "a log of a Ceph OSD, whose requests address objects"),
        ],
    ),
    (
        "",
        &[
            (
                &[": count     distribution", "|@"],
                "a histogram, as biolatency, bitesize or bpftrace prints it",
            ),
            (&["] CDB: "], "a log of SCSI commands that does not print their lengths as numbers"),
        ],
    ),
];

/// Words in other text, what the text is, and the remedy.
const TEXTS: [(&[&str], &str, &str); 6] = [
    (
        &["\"fio version\"", ": (groupid="],
        "output of fio, which has results but no requests",
        "record them while the job runs: fio --write_iolog=OUT",
    ),
    (
        &["<<<<<<< "],
        "text with conflict markers of a version control system",
        "resolve the conflict first",
    ),
    (
        &["Histogram: "],
        "a histogram, as vscsiStats prints it",
        "record the commands instead: vscsiStats -s -t -w WORLD_GROUP_ID",
    ),
    (
        &["Latency(us)"],
        "output of SPDK's bdevperf or perf, which has results but no requests",
        "record the requests while it runs: spdk_trace, with the trace group bdev",
    ),
    (
        &["pci_nvme_", "virtio_blk_", "blk_co_p"],
        "a log of QEMU's trace events without the times of requests",
        "record it with -msg timestamp=on and the events virtio_blk_handle_* or pci_nvme_read and pci_nvme_write",
    ),
    (
        &["\"Operation\",\"Path\""],
        "output of Process Monitor, which has operations on files but no requests to a device",
        "record disk events instead: wpr -start DiskIO -filemode, wpr -stop T.etl, xperf -i T.etl -o OUT.csv",
    ),
];

/// Returns the message about text of unknown format, if it is known not to be a trace.
pub(crate) fn named_text(bytes: &[u8]) -> Option<String> {
    let has = |words: &[&str]| {
        words.iter().any(|word| bytes.windows(word.len()).any(|part| part == word.as_bytes()))
    };
    if is_table_of_rates(bytes) {
        return Some(format!("the file is a table of rates{}; {RECORD}", LACKING[0].0));
    }
    for (lacks, outputs) in LACKING {
        if let Some((_, content)) = outputs.iter().find(|(words, _)| has(words)) {
            return Some(format!("the file is {content}{lacks}; {}", RECORD));
        }
    }
    let of_word = TEXTS.iter().find(|(words, ..)| has(words));
    let of_word = of_word.map(|&(_, content, remedy)| (content, remedy));
    let (content, remedy) = of_word
        .or_else(|| fio::recognise(bytes))
        .or_else(|| block_cache(bytes))
        .or_else(|| page(bytes))
        .or_else(|| flash_operations(bytes))
        .or_else(|| values_of_btt(bytes))?;
    Some(format!("the file is {content}; {remedy}"))
}

/// Returns whether it is a table of rates: the first line names a rate, but neither an operation nor an address, and
/// the next line has as many cells.
fn is_table_of_rates(bytes: &[u8]) -> bool {
    let mut rows = filled_lines(bytes).map(cells_of);
    let (Some(names), Some(row)) = (rows.next(), rows.next()) else { return false };
    let is_other = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_digit())
            || is_operation(name)
            || is_address(name)
    };
    names.len() == row.len()
        && names.iter().any(|name| is_rate(name))
        && !names.iter().any(|name| is_other(name))
}

/// Returns what a page without requests is.
fn page(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let content = "an HTML page in which no requests were recognised";
    html::is_page(bytes)
        .then_some((content, "if it comes from a failed download, download the file again"))
}

/// Recognises a trace of RocksDB's block cache in the form of block_cache_trace_analyzer: 21 columns, with the name of
/// the column family among numbers.
fn block_cache(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let line = bytes.split(|&byte| byte == b'\n').next()?;
    let cells: Vec<&[u8]> = line.trim_ascii().split(|&byte| byte == b',').collect();
    let is_number = |cell: &[u8]| !cell.is_empty() && cell.iter().all(u8::is_ascii_digit);
    let is_name = |at: usize| at == 5;
    let fits = cells.iter().enumerate().all(|(at, cell)| is_name(at) != is_number(cell));
    (cells.len() == 21 && fits).then_some((
        "a trace of RocksDB's block cache, whose blocks are those of files, not of a device",
        RECORD,
    ))
}

/// Recognises a trace of flash operations: its names include the block and the page of a channel, chip or die, but no
/// other address and no length.
fn flash_operations(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let names = cells_of(bytes.split(|&byte| byte == b'\n').next()?);
    let names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let has = |name: &&str| names.iter().any(|candidate| candidate == name);
    let is_place = |name: &&String| matches!(name.as_str(), "block" | "page");
    let is_flash = ["block", "page"].iter().all(has)
        && ["channel", "chan", "chip", "die", "plane", "way", "ce"].iter().any(has)
        && !names
            .iter()
            .filter(|name| !is_place(name))
            .any(|name| is_length(name) || is_address(name));
    is_flash.then_some((
        "a trace of flash operations, below the translation layer that ssdlab simulates",
        "record the requests of the host above it, by their logical addresses",
    ))
}

/// Recognises a table of numbers by btt (`*.dat`): times with one value each.
fn values_of_btt(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let text =
        std::str::from_utf8(&bytes[..=bytes.iter().rposition(|&byte| byte == b'\n')?]).ok()?;
    let is_value = |line: &str| {
        let cells: Vec<&str> = line.split_ascii_whitespace().collect();
        let [time, value] = cells[..] else { return false };
        time.contains('.') && [time, value].iter().all(|cell| cell.parse::<f64>().is_ok())
    };
    (!text.is_empty() && text.lines().all(is_value)).then_some((
        "a table of times with one value each, as btt writes for latencies, seeks or queue depths, without requests",
        RECORD,
    ))
}
