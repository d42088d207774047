//! Logs of any program whose lines name the addresses and lengths of requests.

use super::Rewriting;
use super::logs::with_dates;
use super::pattern::{self, Pattern, characters};
use regex_lite::Captures;
use std::collections::{BTreeMap, BTreeSet};

/// Patterns of the times in a log, each with the cell for the time: calendar times and times of day, with a point or a
/// comma before decimals, and numbers. The last pattern is for logs without times.
const TIMES: [(&str, &str); 9] = [
    (r"^\W*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d),(\d+)(?:Z|\b)", "$1.$2"),
    (r"^\W*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|[^.\w]|$)", "$1"),
    (r"^\W*(?:[A-Z][a-z][a-z] +\d+ )?(\d\d:\d\d:\d\d),(\d+)\b", "$1.$2"),
    (r"^\W*(?:[A-Z][a-z][a-z] +\d+ )?(\d\d:\d\d:\d\d(?:\.\d+)?)(?:[^.:\w]|$)", "$1"),
    (r"^\d+ +(\d\d:\d\d:\d\d(?:\.\d+)?)(?:[^.:\w]|$)", "$1"),
    (r"^(?:<\d+>)?\W*(\d+\.\d+|\d+)(?:[^.:\w-]|: |$)", "$1"),
    (r"^.*?\b(?:time|timestamp|ts)(?:_[mun]?s)?\W{1,3}(\d+(?:\.\d+)?)\b", "$1"),
    (r"^.*?[^.\w](\d+\.\d{3,9})(?:[^.\w]|$)", "$1"),
    ("", ""),
];
/// The operation in a line of a log; words for completions do not match.
const OPERATION: &str = concat!(
    r"(?:\b|_)p?(read|write|trim|discard|unmap)",
    r"(?:v|_(?:6|10|12|16|32|rq|req|request|start|begin|submit|issue|enter|cmd|command))?[^a-z0-9_]"
);
/// An operation of SCSI. Accesses to registers look alike.
const SCSI: &str = r"(?i)(?:read|write)_(?:6|10|12|16|32)\b";
/// A number in a line of a log.
const NUMBER: &str = r"\W{1,3}(0x[0-9a-f]+|\d+)\b";
/// Names of addresses and of lengths in logs, each with its column name.
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
const LENGTHS: [(&str, &str); 17] = [
    ("length", "size"),
    ("len", "size"),
    ("size", "size"),
    ("bytes", "bytes"),
    ("nlb", "nlb"),
    ("nr_lba", "blocks"),
    ("nr_sectors", "sectors"),
    ("nr_sector", "sectors"),
    ("nsectors", "sectors"),
    ("sectors", "sectors"),
    ("count", "count"),
    ("blocks", "blocks"),
    ("nblocks", "blocks"),
    ("nblk", "blocks"),
    ("num_blocks", "blocks"),
    ("npages", "pages"),
    ("pages", "pages"),
];
/// Devices and their partitions in a line of a log, by names or numbers.
const DEVICES: [&str; 5] = [
    r"(?:sd|vd|xvd)(?:[a-z]|a[a-z])\d{0,3}|hd[a-h]\d{0,3}",
    r"nvme\d+(?:c\d+)?(?:n\d+)?(?:p\d+)?",
    r"(?:dm-|md|mmcblk|nbd|rbd|loop|disk|osd\.?|bdev)\d+(?:p\d+)?",
    r"iqn\.[\w.:-]+",
    r"(?:nsid|lun|target)[ :=]{1,3}\d+",
];
/// A device by major and minor number.
const NUMBERED_DEVICE: &str = r"(\(\d{1,3},\d{1,3}\))";
/// The times of a clock that has run for long differ by less than this share.
const CLOCK_SHARE: f64 = 0.001;
/// A length after the address in the notation of blkparse.
const PLUS: (&str, &str) = ("+", "size");

/// A pattern of the lines with a request, and the numbers of its groups.
struct Request {
    pattern: String,
    operation: usize,
    /// The name of the address; the address is in the next group.
    address: usize,
    /// The name of the length; the length is in the next group.
    length: usize,
    /// The device, if the pattern includes it.
    device: Option<usize>,
}

impl Request {
    /// Returns the pattern of lines with a time and [`Numbers`], and optionally with a device at a place. Lines without
    /// the device match, too.
    fn of(time: &str, numbers: &Numbers, device: Option<(Place, &str)>) -> Request {
        let optional = |place: Place| match device {
            Some((device, name)) if device == place => format!("(?:.*?{name}|)"),
            _ => String::new(),
        };
        let parts = [
            time,
            &optional(Place::First),
            &format!(".*?{OPERATION}"),
            &optional(Place::Second),
            &format!(".*?{}", numbers.pattern),
            &optional(Place::Last),
        ];
        // Returns the number of the first group of a part.
        let group_of = |part: usize| {
            let before = parts[..part].concat();
            let is_group =
                |at: usize| !before[..at].ends_with('\\') && !before[at..].starts_with("(?");
            before.match_indices('(').filter(|&(at, _)| is_group(at)).count() + 1
        };
        Request {
            pattern: format!("(?i){}", parts.concat()),
            operation: group_of(2),
            address: group_of(4) + numbers.address,
            length: group_of(4) + numbers.length,
            device: device.map(|(place, _)| group_of(place as usize)),
        }
    }

    /// Returns the operation, address and length of a request.
    fn values<'t>(&self, caught: &Captures<'t>) -> [&'t str; 3] {
        [self.operation, self.address + 1, self.length + 1]
            .map(|group| caught.get(group).map_or("", |part| part.as_str()))
    }
}

/// Position of a device in a line: its part of the pattern.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Before the operation.
    First = 1,
    /// After the operation.
    Second = 3,
    /// After the numbers.
    Last = 5,
}

/// A pattern of an address and a length, and their groups in it, from 0.
struct Numbers {
    pattern: String,
    address: usize,
    length: usize,
}

/// Converts such a log to a table of its requests.
pub(crate) fn labelled(bytes: &[u8]) -> Option<Rewriting> {
    let text = characters(bytes);
    let lower = text.to_ascii_lowercase();
    let count = lower.lines().filter(|line| !line.trim().is_empty()).count();
    // Only the names in the text are needed.
    let labels = |columns: &[(&'static str, &str)]| {
        let names = columns.iter().map(|(name, _)| *name);
        let names: Vec<&str> = names.filter(|name| lower.contains(name)).collect();
        (!names.is_empty()).then(|| format!(r"\b({}){NUMBER}", names.join("|")))
    };
    let (address, length) = (labels(&ADDRESSES)?, labels(&LENGTHS));
    let order =
        |pattern: String, [address, length]: [usize; 2]| Numbers { pattern, address, length };
    let patterns = length.map(|length| {
        let last = order(format!("{length}.*?{address}"), [2, 0]);
        [order(format!("{address}.*?{length}"), [0, 2]), last]
    });
    let plus = order(format!(r"{address} (\+) (\d+)\b"), [0, 2]);
    let mut orders: Vec<Numbers> = patterns.into_iter().flatten().chain([plus]).collect();
    let is_log = |requests: &[Captures<'_>]| requests.len() > 1 && 2 * requests.len() >= count;
    // A pattern that fails without a time also fails with one.
    orders.retain(|numbers| {
        is_log(&pattern::requests(&format!("(?i){OPERATION}.*?{}", numbers.pattern), &text))
    });
    for (time, of_time) in TIMES {
        for numbers in &orders {
            let request = Request::of(time, numbers, None);
            let requests = pattern::requests(&request.pattern, &text);
            if is_log(&requests) && is_arrival(&requests, of_time) {
                let devices = devices_of(&text, &request);
                let with_devices = with_devices(&text, &request, &devices, (time, numbers));
                let request = with_devices.as_ref().unwrap_or(&request);
                return table(&text, count, request, (of_time, &devices));
            }
        }
    }
    None
}

/// Returns the table of the requests in `text`, which has `count` lines and names `devices`, with the cell `of_time`.
fn table(
    text: &str,
    count: usize,
    request: &Request,
    (of_time, devices): (&str, &[Vec<String>]),
) -> Option<Rewriting> {
    let &Request { operation, address, length, device, .. } = request;
    let requests = &pattern::requests(&request.pattern, text);
    let left = count - requests.len();
    let label = |caught: &Captures<'_>| [address, length].map(|at| caught[at].to_lowercase());
    let names = label(&requests[0]);
    // Lines with other names may have other units.
    if requests.iter().any(|caught| label(caught) != names) || has_ends(requests, request) {
        return None;
    }
    let scsi = pattern::pattern(SCSI);
    let is_scsi = |caught: &Captures<'_>| scsi.is_match(&caught[0]);
    if !names[0].ends_with("lba") && requests.iter().any(is_scsi) {
        return None;
    }
    let column = |name: &str| {
        let mut columns = ADDRESSES.iter().chain(&LENGTHS).chain([&PLUS]);
        columns.find(|(entry, _)| *entry == name).map_or("size", |(_, column)| *column)
    };
    let [of_address, of_length] = [column(&names[0]), column(&names[1])];
    // NVMe counts the blocks of a command from 0; other programs may have added 1.
    let blocks = requests.iter().map(|caught| caught[length + 1].parse::<u64>().ok());
    let blocks: Option<Vec<u64>> = blocks.collect();
    let is_zero_based = of_length == "nlb" && blocks?.iter().all(|blocks| blocks % 8 == 7);
    let of_length = if of_length == "nlb" { "blocks" } else { of_length };
    let number = format!("${}", length + 1);
    let number = if is_zero_based { format!("{{{number} + 1}}") } else { number };
    let comma = if of_time.is_empty() { "" } else { "," };
    let time = if of_time.is_empty() { "" } else { "time" };
    let (volume, of_volume) =
        device.map_or_else(Default::default, |device| (",volume", format!(",${device}")));
    let title = format!("{time}{comma}op,{of_address},{of_length}{volume}");
    let row = format!("{of_time}{comma}${operation},${},{number}{of_volume}", address + 1);
    let pattern = Pattern { title: &title, request: &request.pattern, row: &row };
    let without = if of_time.is_empty() { ", without times" } else { "" };
    let device_names: BTreeSet<&Vec<String>> =
        devices.iter().filter(|names| !names.is_empty()).collect();
    let merged = match (device_names.first(), device_names.last()) {
        (Some(first), Some(last)) if first != last && device.is_none() => format!(
            ", which merges its devices ({} to {}; to read only one, select its lines with grep)",
            first.join("/"),
            last.join("/")
        ),
        _ => String::new(),
    };
    let left_over =
        if left > 0 { format!("; {left} of its first lines are left out") } else { String::new() };
    let message =
        format!("the file is a log; make a table of its requests{without}{merged}{left_over}");
    Some(with_dates(Rewriting::of(message, pattern.filter(), pattern.table(requests))))
}

/// Returns a pattern of devices of these kinds, which excludes folders and files.
fn device(kinds: &[&str]) -> String {
    format!(r"\b({})(?:[^\w\x2f]|$)", kinds.join("|"))
}

/// Returns the devices in each line with a request. A line has several if the request passes through stacked devices,
/// or if a name has several parts.
fn devices_of(text: &str, request: &Request) -> Vec<Vec<String>> {
    let device = pattern::pattern(&format!("(?i){}|{NUMBERED_DEVICE}", device(&DEVICES)));
    let lines = pattern::requests(&format!("{}.*", request.pattern), text);
    let devices_in = |line: &Captures<'_>| {
        let mut names: Vec<String> = Vec::new();
        for name in device.captures_iter(&line[0]) {
            let name = name.get(1).or_else(|| name.get(2)).map_or("", |name| name.as_str());
            if !names.iter().any(|candidate| candidate == name) {
                names.push(name.to_owned());
            }
        }
        names
    };
    lines.iter().map(devices_in).collect()
}

/// Adds a group for the device to the pattern, if all lines have equally many `devices` and one of them differs.
fn with_devices(
    text: &str,
    request: &Request,
    devices: &[Vec<String>],
    (time, numbers): (&str, &Numbers),
) -> Option<Request> {
    let first = devices.first()?;
    if devices.iter().any(|names| names.len() != first.len()) {
        return None;
    }
    let differs = |&at: &usize| devices.iter().any(|names| names[at] != first[at]);
    let differing: Vec<usize> = (0..first.len()).filter(differs).collect();
    let [at] = differing[..] else { return None };
    let requests = pattern::requests(&request.pattern, text);
    let is_right = |candidate: &Request| {
        let matches = pattern::requests(&candidate.pattern, text);
        let device_of = |caught: &Captures<'_>| {
            candidate
                .device
                .and_then(|group| caught.get(group))
                .map(|name| name.as_str().to_owned())
        };
        let is_same =
            |((candidate_match, line), names): ((&Captures<'_>, &Captures<'_>), &Vec<String>)| {
                candidate.values(candidate_match) == request.values(line)
                    && device_of(candidate_match).as_ref() == Some(&names[at])
            };
        matches.len() == requests.len() && matches.iter().zip(&requests).zip(devices).all(is_same)
    };
    // Only the kinds of names in the text are needed.
    let is_named =
        |kind: &&str| pattern::pattern(&format!("(?i){}", device(&[kind]))).is_match(text);
    let places = [Place::First, Place::Second, Place::Last];
    let name = device(&DEVICES.into_iter().filter(is_named).collect::<Vec<&str>>());
    let candidates = places.map(|place| Request::of(time, numbers, Some((place, &name))));
    candidates.into_iter().find(is_right)
}

/// Returns whether the first group may be an arrival. Thread numbers are whole; latencies differ more than the times of
/// a clock, which need not be in order.
fn is_arrival(requests: &[Captures<'_>], of_time: &str) -> bool {
    let numbers: Option<Vec<f64>> = requests
        .iter()
        .map(|caught| caught.get(1).and_then(|part| part.as_str().parse().ok()))
        .collect();
    let Some(numbers) = numbers.filter(|_| of_time == "$1") else { return true };
    let [least, most] =
        [f64::min, f64::max].map(|pick| numbers.iter().copied().fold(numbers[0], pick));
    let is_fraction = |number: &f64| number.fract() != 0.0;
    numbers.is_sorted() || (numbers.iter().any(is_fraction) && most - least < least * CLOCK_SHARE)
}

/// Returns whether the log also has the ends of requests: most requests occur twice, in lines of two kinds.
fn has_ends(requests: &[Captures<'_>], request: &Request) -> bool {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut distinct: BTreeSet<[&str; 3]> = BTreeSet::new();
    for caught in requests {
        let values = request.values(caught);
        distinct.insert(values);
        let line = caught[0].replacen(values[0], "", 1);
        let kind: String = line.chars().filter(char::is_ascii_alphabetic).collect();
        *kinds.entry(kind).or_default() += 1;
    }
    let most = kinds.values().copied().max().unwrap_or(0);
    4 * distinct.len() <= 3 * requests.len() && 3 * most < 2 * requests.len()
}
