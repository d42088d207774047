//! Logs in which some lines have a request, and the filters that make a table of these lines.

use super::pattern::{Pattern, characters, replaced, requests};
use super::times::with_a_date;
use super::{Rewriting, filled_lines, notation};

/// A known kind of log.
struct Log {
    /// What it is, and how its numbers are interpreted.
    text: &'static str,
    /// A line with a request, in the syntax common to Perl and [`Regex`].
    request: &'static str,
    /// The row for such a line: its groups, as in `$1`, and calculated numbers, as in `{$2 + 1}`.
    row: &'static str,
    /// The columns of that row; empty for a line of a known format.
    columns: &'static [&'static str],
}

impl Log {
    /// Returns the table in `text`, if it has any row.
    fn table(&self, text: &str) -> Option<Rewriting> {
        let pattern = Pattern { title: "", request: self.request, row: self.row };
        let bytes = pattern.table(&requests(self.request, text));
        let (message, filter) = (format!("the file is {}", self.text), pattern.filter());
        let table = Rewriting { columns: self.columns, ..Rewriting::of(message, filter, bytes) };
        (!table.bytes.is_empty()).then(|| with_dates(table))
    }
}

/// Adds dates to times of day in the table, if it has any.
pub(super) fn with_dates(table: Rewriting) -> Rewriting {
    let Some(dated) = with_a_date(&table.bytes) else { return table };
    let filter = format!("{} | {}", table.filter, dated.filter.replacen(" < FILE", "", 1));
    Rewriting { filter, bytes: dated.bytes, ..table }
}

/// Columns of seconds, sectors, numbers of sectors and volumes.
const IN_SECTORS: &[&str] = &["time=1:s,op=2,offset=3:512B,size=4:512B,volume=5"];

/// Output of ftrace with times without a decimal point.
const COUNTED_TIMES: &str = "output of ftrace whose trace_clock counts nanoseconds, cycles or events; convert it to a \
                             table (if they are cycles, divide them by the clock rate in GHz)";
/// Columns of its rows.
const COUNTED_COLUMNS: &[&str] = &[
    "time=1:ns,op=2,offset=3:512B,size=4:512B,volume=5",
    "op=2,offset=3:512B,size=4:512B,volume=5",
];

/// The start of a line of spdk_trace with a request, with a group for the time.
macro_rules! bdev_io_start {
    () => {
        r"^(?:\[\w+\] core)? *\d+:\s*([0-9.]+)\s.*BDEV_IO_START\s+"
    };
}

/// Logs, each with words of which its text contains at least one.
const LOGS: [(&[&str], Log); 24] = [
    (
        &["block_rq_issue: "],
        Log {
            text: COUNTED_TIMES,
            request: concat!(
                r"\] +(?:\S+ +)?(\d+): +(?:block:)?block_rq_issue: +(\d+,\d+) (\w+) \d+ ",
                r"\(\S*\) (\d+) \+ (\d+)"
            ),
            row: "$1 $3 $4 $5 $2",
            columns: COUNTED_COLUMNS,
        },
    ),
    (
        &["block_bio_queue: "],
        Log {
            text: COUNTED_TIMES,
            request: r"\] +(?:\S+ +)?(\d+): +(?:block:)?block_bio_queue: +(\d+,\d+) (\w+) (\d+) \+ (\d+)",
            row: "$1 $3 $4 $5 $2",
            columns: COUNTED_COLUMNS,
        },
    ),
    (
        &["# tracer: blk"],
        Log {
            text: "output of ftrace's blk tracer; convert it to that of blkparse",
            request: r"-(\d+) +(?:\(.*?\) +)?\[(\d+)\] .*?([0-9.]+): +(\d+,\d+) +(\w +\w+ .*)",
            row: "$4 $2 0 $3 $1 $5",
            columns: &[],
        },
    ),
    (
        &["BDEV_IO_START"],
        Log {
            text: "output of spdk_trace; convert it to a table (blocks are taken as 512 B)",
            request: concat!(
                bdev_io_start!(),
                r"(?:size:\s*\d+)?.*type:\s*([1-3]),?\s",
                r".*offset:\s*(\w+)\s+len:\s*(\w+)"
            ),
            row: "$1,$2,$3,$4",
            columns: &["time=1:us,op=2,offset=3:512B,size=4:512B,read=1,write=2,discard=3"],
        },
    ),
    (
        &["BDEV_IO_START"],
        Log {
            text: "output of spdk_trace; convert it to a table (blocks are taken as 512 B)",
            request: concat!(
                bdev_io_start!(),
                r"size:\s*(\d+)\s.*type:\s*([1-3]),?\s.*offset:\s*(\w+)"
            ),
            row: "$1,$3,$4,$2",
            columns: &["time=1:us,op=2,offset=3:512B,size=4:512B,read=1,write=2,discard=3"],
        },
    ),
    (
        &["BDEV_IO_START"],
        Log {
            text: "output of spdk_trace; convert it to a table (blocks are taken as 512 B)",
            request: concat!(
                bdev_io_start!(),
                r"(?:size|blocks):\s*(\d+)\s.*type:\s*([1-3]),?\s",
                r".*offset:\s*(\w+)\s.*\bname:\s*(\S+)"
            ),
            row: "$1,$3,$4,$2,$5",
            columns: &[
                "time=1:us,op=2,offset=3:512B,size=4:512B,volume=5,read=1,write=2,discard=3",
            ],
        },
    ),
    (
        &["librbd:"],
        Log {
            text: "output of LTTng with the calls of librbd; convert it to a table",
            request: concat!(
                r"^\[((?:[0-9-]+ )?[0-9:.]+)\].*librbd:(?:aio_)?(read|write|discard)\d?_enter",
                r#".*\bname = "([^"]*)", .*\boff(?:set)? = (\d+), len(?:gth)? = (\d+)"#
            ),
            row: "$1,$2,$4,$5,$3",
            columns: &["time=1,op=2,offset=3,size=4,volume=5"],
        },
    ),
    (
        &["block_rq_issue: { cpu_id"],
        Log {
            text: "output of LTTng, in which a bit of rwbs is the operation; convert it to a table",
            request: concat!(
                r"^\[((?:[0-9-]+ )?[0-9:.]+)\].*block_rq_issue: .*\bdev = (\d+), sector = (\d+), ",
                r"nr_sector = ([1-9]\d*), .*\brwbs = (\d+)"
            ),
            row: "$1,{$5 & 7},$3,$4,$2",
            columns: &[
                "time=1,op=2,offset=3:512B,size=4:512B,volume=5,read=4,write=1,discard=2,ignore=0",
            ],
        },
    ),
    (
        &["block:block_rq_issue("],
        Log {
            text: "output of perf trace with block events; convert it to a table",
            request: concat!(
                r"^ *([0-9.]+) .*block_rq_issue\(dev: (\d+), sector: (\d+), nr_sector: (\d+), ",
                r#".*rwbs: "(\w+)""#
            ),
            row: "$1,$5,$3,$4,$2",
            columns: &["time=1:ms,op=2,offset=3:512B,size=4:512B,volume=5"],
        },
    ),
    (
        &[":pci_nvme_read ", ":pci_nvme_write "],
        Log {
            text: "a log of QEMU's trace events; convert its reads and writes to a table, without discards and writes \
                   of zeros (blocks are taken as 512 B, and it does not tell controllers apart)",
            request: r"^\d+\@([\d.]+):pci_nvme_(read|write) .*nsid (\d+) .*count (\d+) lba (0x\w+)",
            row: "$1,$2,$5,$4,$3",
            columns: &["time=1:s,op=2,offset=3:512B,size=4,volume=5"],
        },
    ),
    (
        &[":virtio_blk_handle_"],
        Log {
            text: "a log of QEMU's trace events; convert it to a table",
            request: concat!(
                r"^\d+\@([\d.]+):virtio_blk_handle_(read|write) (?:vdev (\w+) )?.*",
                r"sector (\d+) nsectors (\d+)"
            ),
            row: "$1,$2,$4,$5,vdev$3",
            columns: IN_SECTORS,
        },
    ),
    (
        &[":blk_co_p"],
        Log {
            text: "a log of QEMU's trace events; convert it to a table",
            request: r"^\d+\@([\d.]+):blk_co_p(read|write|discard)\w* blk (\w+) .*offset (\d+) bytes (\d+)",
            row: "$1,$2,$4,$5,blk$3",
            columns: &["time=1:s,op=2,offset=3,size=4,volume=5"],
        },
    ),
    (
        &["nvme_setup_cmd: "],
        Log {
            text: "output of ftrace with NVMe commands, whose lengths are zero-based; convert it to a table; discards \
                   are left out, because it does not show their ranges (blocks are taken as 512 B)",
            request: concat!(
                r" ([0-9.]+): +(?:nvme:)?nvme_setup_cmd: +(nvme\d+): .*nsid=(\d+), .*",
                r"nvme_cmd_(read|write|write_zeroes) slba=(\d+), len=(\d+)"
            ),
            row: "$1,$4,$5,{$6 + 1},$2n$3",
            columns: IN_SECTORS,
        },
    ),
    (
        &["scsi_dispatch_cmd_start: "],
        Log {
            text: "output of ftrace with SCSI commands; convert it to a table; discards by UNMAP are left out, because \
                   it does not show their ranges (blocks are taken as 512 B)",
            // WRITE_SAME with unmap=1 discards.
            request: concat!(
                r" ([0-9.]+): +(?:scsi:)?scsi_dispatch_cmd_start: +host_no=(\d+) channel=(\d+) id=(\d+) ",
                r"lun=(\d+) .*cmnd=\((?:VARIABLE_LENGTH_CMD )?(READ|WRITE|WRITE_SAME)(?:_ATOMIC)?(?:_\d+)? ",
                r"lba=(\d+) txlen=(\d+)(?: protect=\d+)?(?: ei_lbrt=\d+)?(?: unmap=(\d))?"
            ),
            row: "$1,$6$9,$7,$8,$2:$3:$4:$5",
            columns: &[concat!(
                "time=1:s,op=2,offset=3:512B,size=4:512B,volume=5,",
                "read=READ,write=WRITE|WRITE_SAME0,discard=WRITE_SAME1"
            )],
        },
    ),
    (
        &["ufshcd_command: "],
        Log {
            text: "output of ftrace with UFS commands; convert it to a table (blocks are taken as 4 KiB; older kernels \
                   print sectors, 512B)",
            request: concat!(
                r" ([0-9.]+): +(?:ufs:)?ufshcd_command: +send.* size: (\d+), .*LBA: (\d+), ",
                r".*opcode: \S+ \(([A-Z]+)"
            ),
            row: "$1,$4,$3,$2",
            columns: &["time=1:s,op=2,offset=3:4KiB,size=4"],
        },
    ),
    (
        &["mmc_request_start: "],
        Log {
            text: "output of ftrace with MMC commands; convert its reads and writes to a table",
            // The opcode is 0 if the host has a command queue. The flags of the data have a bit for each direction.
            request: concat!(
                r" (\d+\.\d+): +(?:mmc:)?mmc_request_start: +(mmc\d+): .*cmd_opcode=(?:0|17|18|24|25|46|47) .*",
                r"\bblocks=([1-9]\d*) block_size=512 blk_addr=(\d+) data_flags=0x\w*([12569ade])\w\w\b"
            ),
            row: "$1,$5,$4,$3,$2",
            columns: &[concat!(
                "time=1:s,op=2,offset=3:512B,size=4:512B,volume=5,",
                "read=2|6|a|e,write=1|5|9|d"
            )],
        },
    ),
    (
        &["64("],
        Log {
            text: "output of strace with calls on a device; make a table of its pread64 and pwrite64 calls (other \
                   calls, and reads that another thread interrupts, are left out; without O_DIRECT, the page cache may \
                   answer reads and merge writes)",
            // Seconds since 1970, not the intervals of strace -r.
            request: concat!(
                r"^(?:\[pid +\d+\] +|\d+ +)?(\d{9,}\.\d+|\d\d:\d\d:\d\d(?:\.\d+)?) p(read|write)64",
                r"\(\d+<(\x2fdev\x2f(?:mapper\x2f)?[\w.-]+)(?:<block [^<>]*>)?>, .*, (\d+), (\d+)",
                r"(?: <unfinished|\) += +[1-9])"
            ),
            row: "$1,$2,$5,$4,$3",
            columns: &[
                "time=1:s,op=2,offset=3,size=4,volume=5",
                "time=1,op=2,offset=3,size=4,volume=5",
            ],
        },
    ),
    (
        &["64(fd: "],
        Log {
            text: "output of perf trace with calls on a device; make a table of its pread64 and pwrite64 calls (other \
                   calls are left out; without O_DIRECT, the page cache may answer reads and merge writes)",
            // The duration of a call that lines of other threads interrupt is missing.
            request: concat!(
                r"^ *([0-9.]+) \( *(?:[0-9.]+ ms)?\): .*\bp(read|write)64\(fd: \d+<",
                r"(\x2fdev\x2f(?:mapper\x2f)?[\w.-]+)>, .*count: (\d+)(?:, pos: (\d+))?\) *(?:= +[1-9]|\.\.\.)"
            ),
            // A position of 0 is not printed.
            row: "$1,$2,{$5 + 0},$4,$3",
            columns: &["time=1:ms,op=2,offset=3,size=4,volume=5"],
        },
    ),
    (
        &["\"SCSI: "],
        Log {
            text: "a list of iSCSI packets, as Wireshark exports it; convert its reads and writes to a table (blocks \
                   are taken as 512 B)",
            request: concat!(
                r#"^"\d+","([0-9.]+)","[^"]*","([^"]*)",.*"SCSI: (Read|Write)\(\d+\) LUN: (\w+) "#,
                r"\(LBA: (0x[0-9a-f]+), Len: (\d+)\)"
            ),
            row: "$1,$3,$5,$6,$2/$4",
            columns: &["time=1:s,op=2,offset=3:512B,size=4:512B,volume=5"],
        },
    ),
    (
        &["Event Name, "],
        Log {
            text: "output of tracerpt; convert its disk events to a table",
            // The used fields of an event are disk, flags, size, and after a reserved field the address.
            request: concat!(
                r"^ *DiskIo, +(Read|Write),(?:[^,]*,){14} *(\d+),(?:[^,]*,){2} *(\d+), *0x\w+, *(0x\w+),",
                r" *\w+, *(0x\w+)"
            ),
            row: "$2,$1,$5,$4,$3",
            columns: &["time=1:100ns,op=2,offset=3,size=4,volume=5"],
        },
    ),
    (
        &[" block "],
        Log {
            text: "output of the kernel's block_dump; convert it to a table",
            request: concat!(
                r"\[ *(\d+\.\d+|\d{4}-\d\d-\d\dT[\d:.]+)\] .*: (READ|WRITE) block (\d+) on (\S+) ",
                r"\((\d+) sectors\)"
            ),
            row: "$1,$2,$3,$5,$4",
            columns: &[
                "time=1:s,op=2,offset=3:512B,size=4:512B,volume=5",
                "time=1,op=2,offset=3:512B,size=4:512B,volume=5",
            ],
        },
    ),
    (
        &["WrData"],
        Log {
            text: "output of fs_usage; convert it to a table (blocks are taken as 512 B)",
            request: r"^([0-9:.]+) +(Rd|Wr)Data.* D=(0x[0-9a-f]+) +B=(0x[0-9a-f]+) +(\W?dev\W\w+)?",
            row: "$1,$2,$3,$4,$5",
            columns: &["time=1,op=2,offset=3:512B,size=4,volume=5"],
        },
    ),
    (
        &[" bdev(0x"],
        Log {
            text: "a log of a Ceph OSD with the requests to its device; convert these to a table",
            // A line with `aio 0x...` after the range repeats another line.
            request: concat!(
                r"^(\d{4}-\d\d-\d\d[ T][0-9:.]+).* bdev\(0x\w+ ([^)]*)\) (?:aio_|_)?(read|write|discard) ",
                r"(0x[0-9a-f]+)~([0-9a-f]+)(?: \(\w+\))?\s*$"
            ),
            row: "$1,$3,$4,0x$5,$2",
            columns: &["time=1,op=2,offset=3,size=4,volume=5"],
        },
    ),
    (
        &[" () "],
        Log {
            text: "output of perf script with block events but without their names; convert those that issue a request \
                   to a table (events that insert or merge requests look the same: record only block_rq_issue)",
            // Completions have no number of bytes.
            request: r"^ *(?:\S+ .*)?\b(\d+\.\d+): +(\d+,\d+) (\w+) \d+ \(\S*\) (\d+) \+ (\d+) ",
            row: "$1 $3 $4 $5 $2",
            columns: IN_SECTORS,
        },
    ),
];

/// A table of times, first sectors and end sectors, as written by btt -B.
const ENDS: Log = Log {
    text: "a table of times, first sectors and end sectors, as btt -B writes it; only its name tells the operation \
           (NAME_r.dat has reads, NAME_w.dat writes); convert the ends to lengths",
    request: r"^\s*(\d+\.\d+)\s+(\d+)\s+(\d+)\s*$",
    row: "$1,$2,{$3 - $2}",
    columns: &[
        "time=1:s,op=write,offset=2:512B,size=3:512B",
        "time=1:s,op=read,offset=2:512B,size=3:512B",
    ],
};

/// Converts a known log to a table of its requests.
pub(crate) fn convert_known(bytes: &[u8]) -> Option<Rewriting> {
    let has = |word: &&str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let text = characters(bytes);
    let candidates = LOGS.iter().filter(|(words, _)| words.iter().any(has));
    candidates.into_iter().find_map(|(_, log)| log.table(&text))
}

/// Converts a file in which every line has a time, a first sector and an end sector.
pub(crate) fn ranges_with_ends(bytes: &[u8]) -> Option<Rewriting> {
    let text = std::str::from_utf8(bytes).ok()?;
    let cells = |line: &str| -> Vec<u64> {
        line.split_ascii_whitespace().skip(1).filter_map(|cell| cell.parse().ok()).collect()
    };
    let is_range = |line: &str| matches!(cells(line)[..], [start, end] if start < end);
    (!text.is_empty() && text.lines().all(is_range)).then(|| ENDS.table(text))?
}

/// Adds the missing column names to rows of biosnoop. A dash replaces the name of the command, which may contain
/// blanks.
pub(crate) fn biosnoop_rows(bytes: &[u8]) -> Option<Rewriting> {
    const NAMES: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";
    const ROW: &str = r"(?m)^ *(\d+\.\d+) +\S.*? +(\d+ +\S+ +[A-Z]+ +\d+ +\d+ +\d+\.\d+[ \r]*)$";
    let mut count = 0;
    let rows = replaced(bytes, ROW, |row| {
        count += 1;
        format!("{} - {}", &row[1], &row[2])
    });
    let message = "it is output of biosnoop without the header line; insert that line";
    let filter = format!(r#"perl -pe 'BEGIN {{ print "{NAMES}\n" }} s/{ROW}/$1 - $2/' < FILE"#);
    let with_names = [NAMES.as_bytes(), b"\n", &rows].concat();
    (count > 0 && count == filled_lines(bytes).count())
        .then(|| notation(message, &filter, bytes, with_names))?
}
