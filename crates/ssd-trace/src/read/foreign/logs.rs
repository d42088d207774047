//! Logs in which some lines have a request, with the filters that make a table of these.

use super::Rewriting;
use regex_lite::{Captures, Regex};
use std::collections::BTreeSet;

/// A log of a program.
struct Log {
    /// Words of which its text has one.
    words: &'static [&'static str],
    /// What it is, and what its numbers are taken for.
    what: &'static str,
    /// A line with a request, in the syntax that Perl and [`Regex`] share.
    request: &'static str,
    /// The row for such a line: groups of it, as in `$1`, and numbers that are calculated from them, as in `{$2 + 1}`.
    row: &'static str,
    /// The columns of that row; none if it is a line of a known format.
    columns: &'static [&'static str],
}

impl Log {
    /// The table in `text`, if it has any row.
    fn table(&self, text: &str) -> Option<Rewriting> {
        let request = Regex::new(self.request).expect("it is a pattern");
        let rows = rows_of(text, &request, self.row);
        (!rows.is_empty()).then(|| Rewriting {
            what: format!("the file is {}", self.what),
            filter: filter_of("", self.request, self.row),
            bytes: rows.into_bytes(),
            columns: self.columns,
        })
    }
}

/// A table of seconds, sectors and numbers of sectors.
const IN_SECTORS: &[&str] = &["time=1:s,op=2,offset=3:512B,size=4:512B"];

const LOGS: [Log; 14] = [
    Log {
        words: &["# tracer: blk"],
        what: "text of ftrace's tracer blk; convert it to that of blkparse",
        request: r"-(\d+) +\[(\d+)\] .*?([0-9.]+): +(\d+,\d+) +(\w +\w+ .*)",
        row: "$4 $2 0 $3 $1 $5",
        columns: &[],
    },
    Log {
        words: &["BDEV_IO_START"],
        what: "text of spdk_trace; convert it to a table (blocks of 512 B here)",
        request: r"^ *\d+:\s*([0-9.]+)\s.*BDEV_IO_START\s+(?:size:\s*\d+)?.*type:\s*([1-3]),?\s.*offset:\s*(\w+)\s+len:\s*(\w+)",
        row: "$1,$2,$3,$4",
        columns: &["time=1:us,op=2,offset=3:512B,size=4:512B,read=1,write=2,discard=3"],
    },
    Log {
        words: &["BDEV_IO_START"],
        what: "text of spdk_trace; convert it to a table (blocks of 512 B here)",
        request: r"^ *\d+:\s*([0-9.]+)\s.*BDEV_IO_START\s+size:\s*(\d+)\s.*type:\s*([1-3]),?\s.*offset:\s*(\w+)",
        row: "$1,$3,$4,$2",
        columns: &["time=1:us,op=2,offset=3:512B,size=4:512B,read=1,write=2,discard=3"],
    },
    Log {
        words: &["librbd:"],
        what: "text of LTTng with the calls of librbd; convert it to a table",
        request: r"^\[(?:[0-9-]+ )?([0-9:.]+)\].*librbd:(?:aio_)?(read|write|discard)\d?_enter.*\boff(?:set)? = (\d+), len(?:gth)? = (\d+)",
        row: "2000-01-01T$1,$2,$3,$4",
        columns: &["time=1,op=2,offset=3,size=4"],
    },
    Log {
        words: &["block_rq_issue: { cpu_id", "block_rq_insert: { cpu_id"],
        what: "text of LTTng, where a bit of rwbs is the operation; convert it to a table",
        request: r"^\[(?:[0-9-]+ )?([0-9:.]+)\].*block_rq_issue: .*\bsector = (\d+), nr_sector = ([1-9]\d*), .*\brwbs = (\d+)",
        row: "2000-01-01T$1,{$4 & 7},$2,$3",
        columns: &["time=1,op=2,offset=3:512B,size=4:512B,read=4,write=1,discard=2"],
    },
    Log {
        words: &["block:block_rq_issue("],
        what: "output of perf trace with block events; convert it to a table",
        request: r#"^ *([0-9.]+) .*block_rq_issue\(.*sector: (\d+), nr_sector: (\d+), .*rwbs: "(\w+)""#,
        row: "$1,$4,$2,$3",
        columns: &["time=1:ms,op=2,offset=3:512B,size=4:512B"],
    },
    Log {
        words: &[":pci_nvme_read ", ":pci_nvme_write "],
        what: "a log of QEMU's trace events; convert it to a table (blocks of 512 B here)",
        request: r"^\d+\@([\d.]+):pci_nvme_(read|write) .*count (\d+) lba (0x\w+)",
        row: "$1,$2,$4,$3",
        columns: &["time=1:s,op=2,offset=3:512B,size=4"],
    },
    Log {
        words: &[":virtio_blk_handle_"],
        what: "a log of QEMU's trace events; convert it to a table",
        request: r"^\d+\@([\d.]+):virtio_blk_handle_(read|write) .*sector (\d+) nsectors (\d+)",
        row: "$1,$2,$3,$4",
        columns: IN_SECTORS,
    },
    Log {
        words: &[":blk_co_p"],
        what: "a log of QEMU's trace events; convert it to a table",
        request: r"^\d+\@([\d.]+):blk_co_p(read|write|discard)\w* .*offset (\d+) bytes (\d+)",
        row: "$1,$2,$3,$4",
        columns: &["time=1:s,op=2,offset=3,size=4"],
    },
    Log {
        words: &["nvme_setup_cmd: "],
        what: "text of ftrace with NVMe commands, whose lengths are zero-based; convert it to a table (blocks of 512 B \
               here)",
        request: r" ([0-9.]+): nvme_setup_cmd: .*nvme_cmd_(read|write) slba=(\d+), len=(\d+)",
        row: "$1,$2,$3,{$4 + 1}",
        columns: IN_SECTORS,
    },
    Log {
        words: &["scsi_dispatch_cmd_start: "],
        what: "text of ftrace with SCSI commands; convert it to a table (blocks of 512 B here)",
        request: r" ([0-9.]+): scsi_dispatch_cmd_start: .*cmnd=\(([A-Z]+)_\d+ lba=(\d+) txlen=(\d+) ",
        row: "$1,$2,$3,$4",
        columns: IN_SECTORS,
    },
    Log {
        words: &["ufshcd_command: "],
        what: "text of ftrace with UFS commands; convert it to a table (blocks of 4 KiB here; older kernels print \
               sectors, 512B)",
        request: r" ([0-9.]+): ufshcd_command: send.* size: (\d+), .*LBA: (\d+), .*opcode: \S+ \(([A-Z]+)",
        row: "$1,$4,$3,$2",
        columns: &["time=1:s,op=2,offset=3:4KiB,size=4"],
    },
    Log {
        words: &["WrData"],
        what: "output of fs_usage; convert it to a table",
        request: r"^([0-9:.]+) +(Rd|Wr)Data.* D=(0x[0-9a-f]+) +B=(0x[0-9a-f]+) ",
        row: "2000-01-01T$1,$2,$3,$4",
        columns: &["time=1,op=2,offset=3:512B,size=4"],
    },
    Log {
        words: &[" bdev(0x"],
        what: "a log of a Ceph OSD with the requests to its device; convert it to a table",
        request: r"^(\S+) .* bdev\(0x.*\) (?:aio_)?(read|write|discard) (0x[0-9a-f]+)~([0-9a-f]+)",
        row: "$1,$2,$3,0x$4",
        columns: &["time=1,op=2,offset=3,size=4"],
    },
];

/// A table of times, first sectors and end sectors, as btt -B writes it.
const ENDS: Log = Log {
    words: &[],
    what: "a table of times, first sectors and end sectors, as btt -B writes it, with the operation only in the file \
           name (use op=read for NAME_r.dat); convert the ends to lengths",
    request: r"^ *(\d+\.\d+) +(\d+) +(\d+) *$",
    row: "$1,$2,{$3 - $2}",
    columns: &["time=1:s,op=write,offset=2:512B,size=3:512B"],
};

/// Times of a log, each with the cell for it: calendar times, perhaps with a decimal comma, times of day, and others.
const TIMES: [(&str, &str); 5] = [
    (r"^\W*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d),(\d+)\b", "$1.$2"),
    (r"^\W*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)\b", "$1"),
    (r"^\W*(\d\d:\d\d:\d\d(?:\.\d+)?)\b", "2000-01-01T$1"),
    (r"^\W*(\d+\.\d+|\d+)\b", "$1"),
    ("", ""),
];
/// The operation in a line of a log.
const OPERATION: &str = r"(?:\b|_)p?(read|write|trim|discard|unmap)(?:v|_(?:rq|req|request|start|begin|submit|issue|enter|cmd|command))?[^a-z0-9_]";
/// A number in a line of a log.
const NUMBER: &str = r"\W{1,3}(0x[0-9a-f]+|\d+)\b";
/// Names of addresses and of lengths in logs, each with the name of its column.
const ADDRESSES: [(&str, &str); 9] = [
    ("offset", "offset"),
    ("off", "offset"),
    ("slba", "lba"),
    ("lba", "lba"),
    ("sector", "sector"),
    ("address", "offset"),
    ("addr", "offset"),
    ("lpn", "lpn"),
    ("pos", "offset"),
];
const LENGTHS: [(&str, &str); 11] = [
    ("length", "size"),
    ("len", "size"),
    ("size", "size"),
    ("bytes", "bytes"),
    ("nlb", "blocks"),
    ("nr_sectors", "sectors"),
    ("nr_sector", "sectors"),
    ("nsectors", "sectors"),
    ("sectors", "sectors"),
    ("count", "count"),
    ("blocks", "blocks"),
];
/// Lines from which a log of no known program is recognised, and their greatest length.
const LINES: usize = 64;
const WIDTH: usize = 1000;

/// A table of the requests in a known log.
pub(crate) fn known(bytes: &[u8]) -> Option<Rewriting> {
    let has = |word: &&str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let text = String::from_utf8_lossy(bytes);
    LOGS.iter().filter(|log| log.words.iter().any(has)).find_map(|log| log.table(&text))
}

/// A table of the requests in one with their ends, if all of its lines are such.
pub(crate) fn of_ends(bytes: &[u8]) -> Option<Rewriting> {
    let text =
        std::str::from_utf8(&bytes[..=bytes.iter().rposition(|&byte| byte == b'\n')?]).ok()?;
    let cells = |line: &str| -> Vec<u64> {
        line.split_ascii_whitespace().skip(1).filter_map(|cell| cell.parse().ok()).collect()
    };
    let is_range = |line: &str| matches!(cells(line)[..], [start, end] if start < end);
    text.lines().all(is_range).then(|| ENDS.table(text))?
}

/// A table of the requests in a log of any program, whose lines name their addresses and lengths.
pub(crate) fn labelled(bytes: &[u8]) -> Option<Rewriting> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(LINES);
    let lines: Vec<&str> = lines.filter(|line| line.len() <= WIDTH).collect();
    // Those of the log suffice.
    let labels = |known: &[(&'static str, &str)]| {
        let has = |name: &&str| lines.iter().any(|line| line.to_ascii_lowercase().contains(name));
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).filter(has).collect();
        format!(r"\b({}){NUMBER}", names.join("|"))
    };
    let (address, length) = (labels(&ADDRESSES), labels(&LENGTHS));
    // Both, or the length as blkparse prints it.
    let orders = [
        (format!("{address}.*?{length}"), [0, 1, 2, 3]),
        (format!("{length}.*?{address}"), [2, 3, 0, 1]),
        (format!(r"{address} (\+) (\d+)\b"), [0, 1, 2, 3]),
    ];
    for (time, of_time) in TIMES {
        for (numbers, order) in &orders {
            let pattern = format!("(?i){time}.*?{OPERATION}.*?{numbers}");
            let request = Regex::new(&pattern).expect("it is a pattern");
            let found: Vec<Captures<'_>> =
                lines.iter().filter_map(|line| request.captures(line)).collect();
            if found.len() < 2 || 2 * found.len() < lines.len() {
                continue;
            }
            let groups = time.matches('(').count() - time.matches("(?").count();
            let [of_address, at_address, of_length, at_length] =
                order.map(|place| groups + 2 + place);
            return of_captures(&found, [groups + 1, at_address, at_length]).then(|| {
                let named = |group: usize, known: &[(&str, &'static str)]| {
                    let label = found[0][group].to_lowercase();
                    known
                        .iter()
                        .find(|(name, _)| *name == label)
                        .map_or("size", |(_, column)| *column)
                };
                let names = [named(of_address, &ADDRESSES), named(of_length, &LENGTHS)];
                // NVMe counts the blocks of a command from 0.
                let is_page = |caught: &Captures<'_>| {
                    caught[at_length].parse().is_ok_and(|length: u64| length % 8 == 7)
                };
                let length = if names[1] == "blocks" && found.iter().all(is_page) {
                    format!("{{${at_length} + 1}}")
                } else {
                    format!("${at_length}")
                };
                let (title, comma) = if of_time.is_empty() { ("", "") } else { ("time,", ",") };
                let title = format!("{title}op,{}", names.join(","));
                let row = format!("{of_time}{comma}${},${at_address},{length}", groups + 1);
                Rewriting {
                    what: "the file is a log; make a table of its requests".to_owned(),
                    filter: filter_of(&title, &pattern, &row),
                    bytes: format!("{title}\n{}", rows_of(&text, &request, &row)).into_bytes(),
                    columns: &[],
                }
            });
        }
    }
    None
}

/// Whether requests have been caught, each once: a log may also say when they are done.
fn of_captures(found: &[Captures<'_>], request: [usize; 3]) -> bool {
    let all: BTreeSet<[&str; 3]> = found
        .iter()
        .map(|caught| request.map(|group| caught.get(group).map_or("", |part| part.as_str())))
        .collect();
    4 * all.len() > 3 * found.len()
}

/// The rows for the lines of `text` that match.
fn rows_of(text: &str, request: &Regex, row: &str) -> String {
    let rows = text.lines().filter_map(|line| Some(filled(row, &request.captures(line)?) + "\n"));
    rows.collect()
}

/// The `row` for a line.
fn filled(row: &str, caught: &Captures<'_>) -> String {
    let mut done = String::new();
    let mut rest = row;
    while let Some(start) = rest.find(['$', '{']) {
        done += &rest[..start];
        if let Some(inner) = rest[start..].strip_prefix('{') {
            let (calculation, after) = inner.split_once('}').unwrap_or((inner, ""));
            done += &calculated(calculation, caught).to_string();
            rest = after;
        } else {
            let (group, after) = rest[start + 1..].split_at(1);
            done += caught.get(group.parse().unwrap_or(0)).map_or("", |part| part.as_str());
            rest = after;
        }
    }
    done + rest
}

/// The number that a calculation gives, as in `$1 + 1`.
fn calculated(calculation: &str, caught: &Captures<'_>) -> u64 {
    let number = |word: &str| {
        let group = word.strip_prefix('$').and_then(|group| group.parse().ok());
        let word = group.and_then(|group| caught.get(group)).map_or(word, |part| part.as_str());
        word.parse::<u64>().unwrap_or(0)
    };
    match calculation.split(' ').collect::<Vec<&str>>()[..] {
        [left, "+", right] => number(left).saturating_add(number(right)),
        [left, "-", right] => number(left).saturating_sub(number(right)),
        [left, "&", right] => number(left) & number(right),
        _ => 0,
    }
}

/// The command that prints `title` and the `row` of each line that matches.
fn filter_of(title: &str, request: &str, row: &str) -> String {
    let title = match title {
        "" => String::new(),
        title => format!(r#"BEGIN {{ print "{title}\n" }} "#),
    };
    let row = row.replace('{', "@{[").replace('}', "]}");
    format!(r#"perl -ne '{title}/{request}/ and print "{row}\n"' FILE"#)
}
