//! Logs of any program whose lines name the addresses and lengths of requests.

use super::Rewriting;
use super::logs::with_dates;
use super::pattern::{self, Pattern, characters};
use regex_lite::Captures;
use std::collections::{BTreeMap, BTreeSet};

/// Patterns of the times in a log, each with the cell for the time: calendar times and times of day, perhaps with a
/// decimal comma, and numbers. The last pattern is for logs without times.
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
/// The operation in a line of a log; the words for completions do not match.
const OPERATION: &str = concat!(
    r"(?:\b|_)p?(read|write|trim|discard|unmap)",
    r"(?:v|_(?:6|10|12|16|32|rq|req|request|start|begin|submit|issue|enter|cmd|command))?[^a-z0-9_]"
);
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
/// A device in a line of a log, by its name or number.
const DEVICE: &str = concat!(
    r"\b((?:sd|hd|vd|xvd)[a-z]{1,2}|(?:nvme\d+n|dm-|md|mmcblk|nbd|rbd|loop|disk|osd\.?|bdev|",
    r"nsid[ :=]{1,3}|lun[ :=]{1,3})\d+)\b"
);
/// As [`DEVICE`], by its two numbers.
const NUMBERED_DEVICE: &str = r"\(\d{1,3},\d{1,3}\)";
/// A length as blkparse prints it, behind the address.
const PLUS: (&str, &str) = ("+", "size");

/// A pattern of the lines with requests, and groups of it.
struct Request {
    pattern: String,
    operation: usize,
    /// The name of the address, and the address behind it.
    address: usize,
    /// The name of the length, and the length behind it.
    length: usize,
    /// The device, if the pattern has it.
    device: Option<usize>,
}

impl Request {
    /// That of lines with these `parts` in order. The address and the length are groups of `numbers`, counted from 0.
    fn of(parts: &[&str], (numbers, [address, length]): &(String, [usize; 2])) -> Request {
        // The first group of a part, as these have no escaped bracket.
        let group_of = |part: &str| {
            let at = parts.iter().position(|other| *other == part)?;
            let before = parts[..at].concat();
            Some(before.matches('(').count() - before.matches("(?").count() + 1)
        };
        let [operation, first] = [OPERATION, numbers].map(|part| group_of(part).unwrap_or(0));
        Request {
            pattern: format!("(?i){}", parts.join(".*?")),
            operation,
            address: first + address,
            length: first + length,
            device: group_of(DEVICE),
        }
    }

    /// The operation, address and length of a request.
    fn values<'t>(&self, caught: &Captures<'t>) -> [&'t str; 3] {
        [self.operation, self.address + 1, self.length + 1]
            .map(|group| caught.get(group).map_or("", |part| part.as_str()))
    }
}

/// A table of the requests in such a log.
pub(crate) fn labelled(bytes: &[u8]) -> Option<Rewriting> {
    let text = characters(bytes);
    let lower = text.to_ascii_lowercase();
    let count = lower.lines().filter(|line| !line.trim().is_empty()).count();
    // The names in the text suffice.
    let labels = |known: &[(&'static str, &str)]| {
        let names = known.iter().map(|(name, _)| *name);
        let names: Vec<&str> = names.filter(|name| lower.contains(name)).collect();
        (!names.is_empty()).then(|| format!(r"\b({}){NUMBER}", names.join("|")))
    };
    let (address, length) = (labels(&ADDRESSES)?, labels(&LENGTHS));
    let both = length.map(|length| {
        [(format!("{address}.*?{length}"), [0, 2]), (format!("{length}.*?{address}"), [2, 0])]
    });
    let plus = (format!(r"{address} (\+) (\d+)\b"), [0, 2]);
    let mut orders: Vec<(String, [usize; 2])> = both.into_iter().flatten().chain([plus]).collect();
    let is_log = |requests: &[Captures<'_>]| requests.len() > 1 && 2 * requests.len() >= count;
    // Lines without requests in this order have none below a time, either.
    orders.retain(|(numbers, _)| {
        is_log(&pattern::requests(&format!("(?i){OPERATION}.*?{numbers}"), &text))
    });
    for (time, of_time) in TIMES {
        for numbers in &orders {
            let parts = [time, OPERATION, &numbers.0];
            let request = Request::of(&parts, numbers);
            let requests = pattern::requests(&request.pattern, &text);
            if is_log(&requests) && has_order(&requests, of_time) {
                let request = with_devices(&text, &request, parts, numbers).unwrap_or(request);
                return table(&text, count, &request, of_time);
            }
        }
    }
    None
}

/// The table of the requests in `text`, with the cell `of_time`; the text has `count` lines.
fn table(text: &str, count: usize, request: &Request, of_time: &str) -> Option<Rewriting> {
    let &Request { operation, address, length, device, .. } = request;
    let requests = &pattern::requests(&request.pattern, text);
    let left = count - requests.len();
    let label = |caught: &Captures<'_>| [address, length].map(|at| caught[at].to_lowercase());
    let names = label(&requests[0]);
    // Lines with other names may have other units.
    if requests.iter().any(|caught| label(caught) != names) || has_ends(requests, request) {
        return None;
    }
    let column = |name: &str| {
        let mut known = ADDRESSES.iter().chain(&LENGTHS).chain([&PLUS]);
        known.find(|(known, _)| *known == name).map_or("size", |(_, column)| *column)
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
    let all: BTreeSet<String> =
        devices_of(text, request).into_iter().filter(|devices| !devices.is_empty()).collect();
    let merged = match (all.first(), all.last()) {
        (Some(first), Some(last)) if first != last && device.is_none() => format!(
            ", which does not keep apart the devices that they name ({first} to {last}: choose one with grep)"
        ),
        _ => String::new(),
    };
    let others =
        if left > 0 { format!("; {left} of its first lines are left out") } else { String::new() };
    let what = format!("the file is a log; make a table of its requests{without}{merged}{others}");
    Some(with_dates(Rewriting::of(what, pattern.filter(), pattern.table(requests))))
}

/// The devices that each line with a request names, of which it may pass several, one above the other.
fn devices_of(text: &str, request: &Request) -> Vec<String> {
    let device = pattern::pattern(&format!("(?i){DEVICE}|{NUMBERED_DEVICE}"));
    let lines = pattern::requests(&format!("{}.*", request.pattern), text);
    let passed = |line: &Captures<'_>| {
        device.find_iter(&line[0]).map(|part| part.as_str()).collect::<Vec<&str>>().join("/")
    };
    lines.iter().map(passed).collect()
}

/// The same request with the device, if each line names a single one and these differ.
fn with_devices(
    text: &str,
    request: &Request,
    [time, operation, numbers]: [&str; 3],
    order: &(String, [usize; 2]),
) -> Option<Request> {
    let devices = devices_of(text, request);
    let is_other = |name: &String| name.is_empty() || name.contains('/') || name.starts_with('(');
    if devices.iter().any(is_other) || devices.iter().all(|name| *name == devices[0]) {
        return None;
    }
    let values = |request: &Request| -> Vec<[&str; 3]> {
        let requests = pattern::requests(&request.pattern, text);
        requests.iter().map(|caught| request.values(caught)).collect()
    };
    let places = [
        [time, DEVICE, operation, numbers],
        [time, operation, DEVICE, numbers],
        [time, operation, numbers, DEVICE],
    ];
    let all = places.iter().map(|parts| Request::of(parts, order));
    all.into_iter().find(|with| values(with) == values(request))
}

/// Whether the first group may be a time: numbers at the start of lines may be those of threads.
fn has_order(requests: &[Captures<'_>], of_time: &str) -> bool {
    let numbers: Option<Vec<f64>> = requests
        .iter()
        .map(|caught| caught.get(1).and_then(|part| part.as_str().parse().ok()))
        .collect();
    // Those of threads are whole.
    let is_fraction = |number: &f64| number.fract() != 0.0;
    of_time != "$1"
        || numbers.is_none_or(|numbers| {
            numbers.is_sorted()
                || 2 * numbers.iter().filter(|number| is_fraction(number)).count() > numbers.len()
        })
}

/// Whether the log also has the ends of requests: most requests come twice, in lines of two kinds.
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
