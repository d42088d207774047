//! Text of tools that record no requests, or print them in a form that is no table.

use super::{RECORD, fio};

/// What several tools print instead of requests, and their outputs: words in them, and what they are.
type Lacking = (&'static str, &'static [(&'static [&'static str], &'static str)]);

/// Text whose requests have to be recorded with another tool.
const LACKING: [Lacking; 6] = [
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
        ", which has calls on files but no requests to a device",
        &[
            (&[" ms): "], "output of perf trace"),
            (&["pwrite64(", "pread64("], "output of strace"),
            (&["File Operation: "], "a trace of RocksDB"),
        ],
    ),
    (
        ", which has keys but no device addresses",
        &[
            (&[",get,0\n"], "a trace of a cache (Twitter's)"),
            (&["key_size,"], "a trace of a cache"),
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
            (&["block_rq_issue: { cpu_id"], "text of LTTng that encodes operations as bits"),
        ],
    ),
];

/// Words in other text, what it is, and what to do with it.
const TEXTS: [(&[&str], &str, &str); 14] = [
    (
        &["\"fio version\"", ": (groupid="],
        "output of fio, which has results but no requests",
        "record them while the job runs: fio --write_iolog=OUT",
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
        &["BDEV_IO_START"],
        "text of spdk_trace",
        "convert it to a table (blocks of 512 B here): awk '/BDEV_IO_START/ { gsub(\":\", \": \"); for (i = 3; \
         i < NF; i++) v[$i] = $(i + 1); if (v[\"type:\"] ~ /^[123]$/) print $2 \",\" v[\"type:\"] \",\" \
         v[\"offset:\"] \",\" (\"len:\" in v ? v[\"len:\"] : v[\"size:\"]) }' FILE | ssdlab trace info - --columns \
         time=1:us,op=2,offset=3:512B,size=4:512B,read=1,write=2,discard=3",
    ),
    (
        &["librbd:"],
        "text of LTTng with the calls of librbd",
        "convert it to a table: perl -ne '/^.?([0-9:.]+).*librbd:(?:aio_)?(read|write|discard)\\d?_enter.*\\boff\
         (?:set)? = (\\d+), len(?:gth)? = (\\d+)/ and print \"2000-01-01T$1,$2,$3,$4\\n\"' FILE | ssdlab trace info - \
         --columns time=1,op=2,offset=3,size=4",
    ),
    (
        &["block:block_rq_issue("],
        "output of perf trace with block events",
        "convert it to a table: perl -ne '/^ *([0-9.]+) .*block_rq_issue\\(.*sector: (\\d+), nr_sector: (\\d+), \
         .*rwbs: \"(\\w+)\"/ and print \"$1,$4,$2,$3\\n\"' FILE | ssdlab trace info - --columns \
         time=1:ms,op=2,offset=3:512B,size=4:512B",
    ),
    (
        &[":pci_nvme_read ", ":pci_nvme_write "],
        "a log of QEMU's trace events",
        "convert it to a table (blocks of 512 B here): perl -ne '/^\\d+\\@([\\d.]+):pci_nvme_(read|write) .*count \
         (\\d+) lba (0x\\w+)/ and print \"$1,$2,$4,$3\\n\"' FILE | ssdlab trace info - --columns \
         time=1:s,op=2,offset=3:512B,size=4",
    ),
    (
        &[":virtio_blk_handle_"],
        "a log of QEMU's trace events",
        "convert it to a table: perl -ne '/^\\d+\\@([\\d.]+):virtio_blk_handle_(read|write) .*sector (\\d+) \
         nsectors (\\d+)/ and print \"$1,$2,$3,$4\\n\"' FILE | ssdlab trace info - --columns \
         time=1:s,op=2,offset=3:512B,size=4:512B",
    ),
    (
        &["pci_nvme_", "virtio_blk_", "blk_co_p"],
        "a log of QEMU's trace events without the times of requests",
        "record it with -msg timestamp=on and the events virtio_blk_handle_* or pci_nvme_read and pci_nvme_write",
    ),
    (
        &["\"Operation\",\"Path\""],
        "output of Process Monitor, which has calls on files but no requests to a device",
        "record disk events instead: wpr -start DiskIO -filemode, wpr -stop T.etl, xperf -i T.etl -o OUT.csv",
    ),
    (
        &["nvme_setup_cmd: "],
        "text of ftrace with NVMe commands, whose lengths are zero-based",
        "convert it to a table (blocks of 512 B here): awk '/nvme_setup_cmd:/ && match($0, \
         /nvme_cmd_(read|write) slba=[0-9]+, len=[0-9]+/) { split(substr($0, RSTART + 9, RLENGTH - 9), f, \
         /[ =,]+/); for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+[.][0-9]+:$/) t = $i; sub(\":\", \"\", t); \
         print t \",\" f[1] \",\" f[3] \",\" f[5] + 1 }' FILE | ssdlab trace info - --columns \
         time=1:s,op=2,offset=3:512B,size=4:512B",
    ),
    (
        &["scsi_dispatch_cmd_start: "],
        "text of ftrace with SCSI commands",
        "convert it to a table (blocks of 512 B here): sed -nE 's/.* ([0-9.]+): scsi_dispatch_cmd_start: \
         .*cmnd=[(]([A-Z]+)_[0-9]+ lba=([0-9]+) txlen=([0-9]+) .*/\\1,\\2,\\3,\\4/p' FILE | ssdlab trace info - \
         --columns time=1:s,op=2,offset=3:512B,size=4:512B",
    ),
    (
        &["ufshcd_command: "],
        "text of ftrace with UFS commands",
        "convert it to a table (blocks of 4 KiB here; older kernels print sectors, 512B): sed -nE 's/.* ([0-9.]+): \
         ufshcd_command: send.* size: ([0-9]+), .*LBA: ([0-9]+), .*opcode: \\S+ \\(([A-Z]+).*/\\1,\\4,\\3,\\2/p' \
         FILE | ssdlab trace info - --columns time=1:s,op=2,offset=3:4KiB,size=4",
    ),
    (
        &["WrData"],
        "output of fs_usage",
        "convert it to a table: sed -nE 's/^([0-9:.]+) +(Rd|Wr)Data.* D=(0x[0-9a-f]+) +B=(0x[0-9a-f]+) \
         .*/2000-01-01T\\1,\\2,\\3,\\4/p' FILE | ssdlab trace info - --columns time=1,op=2,offset=3:512B,size=4",
    ),
];

/// Tables of numbers that btt writes (`*.dat`): what those of two and of three columns are, and what to do with them.
const BTT: [(&str, &str); 2] = [
    (
        "a table of times with one value each, as btt writes for latencies, seeks or queue depths, without requests",
        RECORD,
    ),
    (
        "a table of times, first sectors and end sectors, as btt -B writes it, with the operation only in \
         the file name",
        "convert the ends to lengths, and use op=read for NAME_r.dat: awk '{ print $1 \",\" $2 \",\" $3 - $2 }' FILE \
         | ssdlab trace info - --columns time=1:s,op=write,offset=2:512B,size=3:512B",
    ),
];

/// The entry of [`BTT`] that describes the text.
fn table_of_btt(bytes: &[u8]) -> Option<&'static (&'static str, &'static str)> {
    let text =
        std::str::from_utf8(&bytes[..=bytes.iter().rposition(|&byte| byte == b'\n')?]).ok()?;
    let rows = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let time = |cell: &str| cell.contains('.') && cell.parse::<f64>().is_ok();
    let ends = |row: &[&str]| {
        let [start, end] = [row[1], row[2]].map(|cell| cell.parse::<u64>().ok());
        start.zip(end).is_some_and(|(start, end)| start < end)
    };
    let mut kinds = rows.map(|row| match row.len() {
        2 if time(row[0]) && row[1].parse::<f64>().is_ok() => Some(&BTT[0]),
        3 if time(row[0]) && ends(&row) => Some(&BTT[1]),
        _ => None,
    });
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

/// The message about text of no known format, if it is known not to be a trace.
pub(crate) fn named_text(bytes: &[u8]) -> Option<String> {
    let has = |words: &[&str]| {
        words.iter().any(|word| bytes.windows(word.len()).any(|part| part == word.as_bytes()))
    };
    for (lacks, outputs) in LACKING {
        if let Some((_, what)) = outputs.iter().find(|(words, _)| has(words)) {
            return Some(format!("the file is {what}{lacks}; {}", RECORD));
        }
    }
    let of_word = TEXTS.iter().find(|(words, ..)| has(words));
    let of_word = of_word.map(|&(_, what, remedy)| (what, remedy));
    let (what, remedy) = of_word
        .or_else(|| fio::named(bytes))
        .or_else(|| block_cache(bytes))
        .or_else(|| table_of_btt(bytes).copied())?;
    Some(format!("the file is {what}; {remedy}"))
}

/// What a trace of RocksDB's block cache is, in the form of block_cache_trace_analyzer: 21 columns, the name of the
/// column family among numbers.
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
