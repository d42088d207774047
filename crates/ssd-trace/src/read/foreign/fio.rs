//! Files of fio that are not readable: I/O logs of other versions or without `add` lines, logs of results, and job
//! files.

use std::collections::BTreeSet;

/// Returns the version in the first line of an I/O log.
fn version_of(bytes: &[u8]) -> Option<u32> {
    let line = bytes.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let version = line.strip_prefix(b"fio version ")?.strip_suffix(b" iolog")?;
    std::str::from_utf8(version).ok()?.parse().ok()
}

/// Returns the message about an I/O log of an unsupported version.
pub(super) fn other_iolog(bytes: &[u8]) -> Option<String> {
    let version = version_of(bytes)?;
    let remedy = match version {
        2 | 3 => return None,
        0 | 1 => {
            "name the columns of its lines `operation, offset, length`: sed 1d FILE | ssdlab trace info - \
             --columns op=1,offset=2,size=3,read=0,write=1"
        }
        _ => "record it with fio 3.33, whose write_iolog writes version 3",
    };
    Some(format!(
        "the file is an I/O log of fio, version {version}, but only versions 2 and 3 are read; {remedy}"
    ))
}

/// Returns the message about an I/O log with a request for a file that no earlier line has added.
pub(crate) fn without_files(lines: &[&[u8]]) -> Option<String> {
    let version = version_of(lines.first()?)?;
    let (name, columns) = match version {
        2 => (0, "$1, "),
        3 => (1, "$1, $2, "),
        _ => return None,
    };
    let mut files = BTreeSet::new();
    for (line, number) in lines.iter().zip(1..).skip(1) {
        let cells: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty()).collect();
        let [file, action] = cells.get(name..name + 2)? else { return None };
        match *action {
            b"add" => {
                files.insert(*file);
            }
            b"read" | b"write" | b"trim" | b"open" if !files.contains(file) => {
                let name = name + 1;
                return Some(format!(
                    "the file is an I/O log of fio, version {version}, whose line {number} uses a file that no `add` \
                     line above names; insert the missing lines: awk 'NR > 1 && NF > 1 && \
                     !(${name} in added) {{ added[${name}]; \
                     print {columns}\"add\" }} 1' FILE | ssdlab trace info -"
                ));
            }
            _ => {}
        }
    }
    None
}

/// Returns what a log of results or a job file is, and the remedy.
pub(super) fn recognise(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match log_content(bytes) {
        Some(Content::IssueTimes) => Some((
            "a log of results that fio wrote with --log_offset=1 and --log_issue_time=1",
            "read it by its columns: ssdlab trace info FILE --columns \
             time=7:ns,op=3,offset=5,size=4,read=0,write=1,discard=2 --sort",
        )),
        Some(Content::Offsets) => Some((
            "a log of results that fio wrote with --log_offset=1",
            "read it by its columns (its times are completion times): ssdlab trace info FILE --columns \
             time=1:ms,op=3,offset=5,size=4,read=0,write=1,discard=2",
        )),
        Some(Content::Results) => Some((
            "a log of latencies, bandwidths or rates that fio wrote, which has no addresses",
            "record the requests instead: fio --write_iolog=OUT, or log their addresses, too: fio --log_offset=1",
        )),
        None => is_job(bytes).then_some((
            "a job file of fio, which describes a workload but is not a trace",
            "run it as a workload (docs/fio.md), as in ssdlab run greedy-8ch --set workload.job=FILE",
        )),
    }
}

/// Contents of a log of results.
enum Content {
    /// Only latencies, bandwidths or rates.
    Results,
    /// Also addresses.
    Offsets,
    /// Also addresses, and the issue times of the requests.
    IssueTimes,
}

/// Returns the contents of a log of results: lines `TIME, VALUE, DIRECTION, SIZE[, OFFSET][, PRIORITY[, ISSUE_TIME]]`.
fn log_content(bytes: &[u8]) -> Option<Content> {
    let text =
        std::str::from_utf8(&bytes[..bytes.iter().rposition(|&byte| byte == b'\n')?]).ok()?;
    let (mut last, mut has_offsets, mut has_times, mut has_results) = (0, false, false, false);
    for line in text.lines() {
        let cells: Vec<&str> = line.split(", ").collect();
        let number = |at: usize| cells.get(at)?.parse::<u64>().ok();
        let is_priority =
            |at: usize| cells[at].starts_with("0x") || number(at).is_some_and(|number| number < 8);
        let (time, value, 0..=2, size) = (number(0)?, number(1)?, number(2)?, number(3)?) else {
            return None;
        };
        has_offsets |= match cells.len() {
            4 => false,
            5 => !is_priority(4) && number(4)? > 0,
            6 if is_priority(5) => number(4)? > 0,
            // An issue time without an offset.
            6 if is_priority(4) && number(5).is_some() && size.is_multiple_of(512) => false,
            7 if is_priority(5) => {
                has_times |= number(6)? > 0;
                number(4)? > 0
            }
            _ => return None,
        };
        // If all values are whole sectors, they are addresses.
        has_results |= !value.is_multiple_of(512);
        if time < last {
            return None;
        }
        last = time;
    }
    has_results.then_some(match (has_offsets, has_times) {
        (true, true) => Content::IssueTimes,
        (true, false) => Content::Offsets,
        (false, _) => Content::Results,
    })
}

/// Keys of job files; each job has at least one of them.
const KEYS: [&str; 8] =
    ["rw", "readwrite", "ioengine", "bs", "size", "filename", "runtime", "iodepth"];

/// Returns whether it is a job file: sections with such keys.
fn is_job(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let is_section = lines.next().is_some_and(|line| line.starts_with('[') && line.ends_with(']'));
    is_section
        && lines.filter_map(|line| line.split_once('=')).any(|(key, _)| KEYS.contains(&key.trim()))
}
