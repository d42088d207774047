//! Names of the columns of tables, and the units in these names.

/// Maximum length of a recognised column name, bytes.
const LONGEST_NAME: usize = 40;
/// Names of columns, reduced to letters and digits in lower case.
pub(super) const TIMES: [&str; 20] = [
    "time",
    "datetime",
    "timestamp",
    "ts",
    "arrival",
    "arrivaltime",
    "elapsed",
    "starttime",
    "strttime",
    "stime",
    "start",
    "issuetime",
    "requesttime",
    "t",
    "clock",
    "reltime",
    "date",
    "inittime",
    "optime",
    "walltimestamp",
];
pub(super) const OPS: [&str; 26] = [
    "kind",
    "op",
    "operation",
    "reqop",
    "type",
    "iotype",
    "optype",
    "opcode",
    "opc",
    "cmd",
    "command",
    "commandtype",
    "cmdtype",
    "rw",
    "rwbs",
    "rwflag",
    "readwrite",
    "request",
    "iswrite",
    "isread",
    "direction",
    "iodirection",
    "ioop",
    "dir",
    "d",
    "ziotype",
];
pub(super) const OFFSETS: [&str; 37] = [
    "offset",
    "off",
    "byteoffset",
    "address",
    "addr",
    "lba",
    "lbn",
    "sector",
    "startsector",
    "startlba",
    "lbastart",
    "sectorstart",
    "offsetstart",
    "blockstart",
    "firstsector",
    "firstlba",
    "startoffset",
    "blockaddress",
    "startaddress",
    "pos",
    "position",
    "block",
    "blocknumber",
    "blocknum",
    "blockno",
    "blkno",
    "lpn",
    "startlpn",
    "page",
    "startpage",
    "pageno",
    "pagenumber",
    "slba",
    "minoffset",
    "iooffset",
    "objectid",
    "objid",
];
pub(super) const SIZES: [&str; 45] = [
    "size",
    "length",
    "len",
    "bytes",
    "iosize",
    "datalength",
    "iodatalength",
    "requestsize",
    "reqsize",
    "nsectors",
    "nsect",
    "nrsector",
    "nbytes",
    "nrbytes",
    "nrsectors",
    "sectors",
    "count",
    "nblks",
    "blocks",
    "nblocks",
    "numblocks",
    "numblks",
    "nblk",
    "npages",
    "pages",
    "pagecount",
    "pagecnt",
    "numpages",
    "sizebytes",
    "numsectors",
    "kbytes",
    "kilobytes",
    "kib",
    "kb",
    "requested",
    "transferred",
    "objectsize",
    "objsize",
    "sz",
    "sectorcnt",
    "sectorcount",
    "byteslen",
    "bytelen",
    "bytelength",
    "bytecount",
];
pub(super) const VOLUMES: [&str; 57] = [
    "volume",
    "volumeid",
    "disk",
    "disknumber",
    "device",
    "dev",
    "deviceid",
    "lun",
    "asu",
    "vol",
    "disknum",
    "ns",
    "nsid",
    "lunid",
    "diskid",
    "target",
    "targetid",
    "vm",
    "vmid",
    "server",
    "node",
    "image",
    "file",
    "filename",
    "hostname",
    "partition",
    "minor",
    "drive",
    "driveid",
    "host",
    "hostid",
    "member",
    "raiddisk",
    "ssd",
    "ssdid",
    "namespace",
    "namespaceid",
    "tenant",
    "tenantid",
    "bdev",
    "major",
    "maj",
    "devmajor",
    "devminor",
    "vdev",
    "wwn",
    "wwid",
    "osd",
    "osdid",
    "devname",
    "devicename",
    "diskname",
    "drivename",
    "vdisk",
    "vmdk",
    "spindle",
    "devt",
];

/// Words for a number after such a name.
const NUMBERS: [&str; 5] = ["no", "nr", "num", "number", "id"];

/// Returns the member of [`VOLUMES`] that a column is named after, perhaps with a word for its number, as in `disk_no`.
fn volume_named(cell: &str) -> Option<&'static str> {
    // Fields of Wireshark are paths, as in `nvme.cmd.nsid`.
    let letters = letters_of(cell.rsplit('.').next().unwrap_or(cell));
    let stems = NUMBERS.iter().filter_map(|end| letters.strip_suffix(end));
    let mut names = [letters.as_str()].into_iter().chain(stems);
    let column_name =
        names.find_map(|name| VOLUMES.iter().find(|candidate| **candidate == name))?;
    is_pasted(cell).then_some(*column_name)
}

/// Returns the columns with names of volumes, each with its member of [`VOLUMES`]. Next to `maj`, `min` is the minor
/// number of a device.
pub(super) fn volumes_named(names: &[String]) -> impl Iterator<Item = (usize, &'static str)> {
    let has_major = names.iter().any(|name| volume_named(name) == Some("maj"));
    names.iter().enumerate().filter_map(move |(at, name)| {
        let is_minor = has_major && letters_of(name) == "min";
        volume_named(name)
            .or_else(|| is_minor.then_some("minor"))
            .map(|column_name| (at, column_name))
    })
}

/// Beginnings of words in the names of columns with durations or ends of requests.
pub(super) const LATENCIES: [&str; 10] =
    ["lat", "resp", "serv", "svc", "complet", "end", "finish", "duration", "queue", "qtime"];

/// Returns a name with u for the micro sign, which has two code points.
pub(super) fn with_letter_u(name: &str) -> String {
    name.replace(['\u{b5}', '\u{3bc}'], "u")
}

/// Returns the letters and digits of a name, in lower case.
pub(crate) fn letters_of(cell: &str) -> String {
    let letters: String = with_letter_u(cell).chars().filter(char::is_ascii_alphanumeric).collect();
    letters.to_ascii_lowercase()
}

/// Returns whether a command with this name can be pasted.
pub(super) fn is_pasted(cell: &str) -> bool {
    cell.len() <= LONGEST_NAME && !cell.chars().any(char::is_control)
}

/// Returns the unit that a name states or implies, `Some(None)` if it has none, and `None` if it is not one of the
/// `field_names`, with or without a unit after it.
pub(super) fn unit_named(cell: &str, field_names: &[&str]) -> Option<Option<&'static str>> {
    if !is_pasted(cell) {
        return None;
    }
    // Fields of Wireshark are paths, as in `nvme.cmd.nsid`.
    if let Some((_, last)) = cell.rsplit_once('.')
        && let Some(unit) = unit_named(last, field_names)
    {
        return Some(unit);
    }
    let letters = letters_of(cell);
    let is = |name: &str| field_names.contains(&name);
    if is(&letters) {
        return Some(unit_of_name(&letters));
    }
    for (ending, unit) in [
        ("seconds", "s"),
        ("usecs", "us"),
        ("usec", "us"),
        ("msecs", "ms"),
        ("msec", "ms"),
        ("nsec", "ns"),
        ("secs", "s"),
        ("sec", "s"),
        ("sectors", "512B"),
        ("sector", "512B"),
        ("kilobytes", "1KiB"),
        ("kbytes", "1KiB"),
        ("bytes", "B"),
        ("byte", "B"),
        ("4kblocks", "4KiB"),
        ("4kib", "4KiB"),
        ("4kb", "4KiB"),
        ("4k", "4KiB"),
        ("pages", "4KiB"),
        ("kib", "1KiB"),
        ("kb", "1KiB"),
        ("mib", "1MiB"),
        ("mb", "1MiB"),
        ("gib", "1GiB"),
        ("gb", "1GiB"),
        ("512b", "512B"),
        ("512", "512B"),
        ("k", "1KiB"),
        ("100ns", "100ns"),
        ("us", "us"),
        ("ms", "ms"),
        ("ns", "ns"),
        ("s", "s"),
        ("b", "B"),
    ] {
        let stem = letters.strip_suffix(ending);
        // For example `size_in_bytes`.
        let stem = stem.map(|stem| stem.strip_suffix("in").filter(|stem| is(stem)).unwrap_or(stem));
        if let Some(stem) = stem.filter(|stem| is(stem)) {
            let is_plural = ending == "s" && TIMES.contains(&stem) && !is_apart(cell);
            return Some((!is_plural).then_some(unit));
        }
    }
    None
}

/// Returns whether the last letter of a name is a separate word, after a separator or a change of case: the s of
/// seconds in `time_s`, but not in `times`.
fn is_apart(name: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let mut letters = name.chars().rev();
    let (last, before) = (letters.next(), letters.next());
    let is_same =
        |letter: char| last.is_some_and(|last| last.is_uppercase() == letter.is_uppercase());
    before.is_some_and(|letter| !letter.is_ascii_alphabetic() || !is_same(letter))
}

/// Returns whether a column of this name may be a field of a request.
pub(crate) fn is_field(name: &str) -> bool {
    is_needed_field(name) || is_volume(name)
}

/// Returns whether a column of this name may have the volumes, or parts of their names.
pub(crate) fn is_volume(name: &str) -> bool {
    volume_named(name).is_some()
}

/// Returns whether the name of an address, a length or a time states its unit.
pub(crate) fn has_unit(name: &str) -> bool {
    let fields: [&[&str]; 3] = [&OFFSETS, &SIZES, &TIMES];
    fields
        .iter()
        .any(|field_names| unit_named(name, field_names).is_some_and(|unit| unit.is_some()))
}

/// Returns whether a column of this name may be the time, the operation, the address or the length of a request.
pub(crate) fn is_needed_field(name: &str) -> bool {
    let fields: [&[&str]; 2] = [&TIMES, &OPS];
    is_length(name)
        || is_address(name)
        || fields.iter().any(|field_names| unit_named(name, field_names).is_some())
}

/// Returns whether a column of this name may have times.
pub(crate) fn is_time(name: &str) -> bool {
    unit_named(name, &TIMES).is_some()
}

/// Returns whether a column of this name may have the addresses of requests.
pub(crate) fn is_address(name: &str) -> bool {
    unit_named(name, &OFFSETS).is_some()
}

/// Returns whether a column of this name may have the lengths of requests.
pub(crate) fn is_length(name: &str) -> bool {
    unit_named(name, &SIZES).is_some()
}

/// Returns whether a column of this name may have operations.
pub(crate) fn is_operation(name: &str) -> bool {
    unit_named(name, &OPS).is_some()
}

/// Returns whether a column of this name has requests per second.
pub(crate) fn is_rate(name: &str) -> bool {
    let letters = letters_of(name);
    letters.starts_with("iops") || letters.ends_with("iops")
}

/// Returns whether a column of this name, reduced to letters and digits in lower case, is in pages.
pub(crate) fn is_of_pages(letters: &str) -> bool {
    ["lpn", "page"].iter().any(|word| letters.contains(word))
}

/// Returns the unit that the name of an address or a length implies.
fn unit_of_name(letters: &str) -> Option<&'static str> {
    match letters {
        "lba" | "lbn" | "sector" | "startsector" | "lbastart" | "sectorstart" | "startlba"
        | "firstsector" | "firstlba" | "nsectors" | "nsect" | "nrsector" | "nrsectors"
        | "sectors" | "numsectors" | "sectorcnt" | "sectorcount" => Some("512B"),
        "bytes" | "byteoffset" | "sizebytes" | "nbytes" | "nrbytes" | "byteslen" | "bytelen"
        | "bytelength" | "bytecount" => Some("B"),
        "kbytes" | "kilobytes" | "kib" | "kb" => Some("1KiB"),
        _ if is_of_pages(letters) => Some("4KiB"),
        _ => None,
    }
}

/// Returns the unit of time in the last word of a name.
pub(super) fn unit_of_time(name: &str) -> Option<&'static str> {
    let name = with_letter_u(name);
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    Some(match words.rfind(|word| !word.is_empty())?.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => "ms",
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" => "us",
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => "ns",
        "100ns" | "filetime" => "100ns",
        _ => return None,
    })
}

/// Returns a name without its last word, which is its unit.
pub(super) fn without_unit(name: &str) -> &str {
    let words = name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    words.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric())
}

/// Returns the unit of addresses or lengths at the end of a name in any language, in brackets or as a separate word.
pub(super) fn unit_behind(name: &str) -> Option<&'static str> {
    let name = name.trim_end();
    let unit = match name.strip_suffix([']', ')']) {
        Some(inner) => inner.rfind(['[', '(']).map(|at| &inner[at + 1..]),
        // The last letter of a name may mean something else, unless it is a capital after lower-case letters.
        None => name
            .rsplit_once(['_', '-', '.', ' '])
            .filter(|(stem, word)| {
                word.len() > 1 || (*word == "B" && stem.ends_with(char::is_lowercase))
            })
            .map(|(_, word)| word),
    };
    Some(match unit?.to_lowercase().replace(' ', "").as_str() {
        "b" | "byte" | "bytes" | "octet" | "octets" => "B",
        "sector" | "sectors" | "sektor" | "sektoren" | "secteurs" | "512b" => "512B",
        "kb" | "kib" => "1KiB",
        "mb" | "mib" => "1MiB",
        "gb" | "gib" => "1GiB",
        "4k" | "4kb" | "4kib" => "4KiB",
        "8k" | "8kb" | "8kib" => "8KiB",
        "16k" | "16kb" | "16kib" => "16KiB",
        _ => return None,
    })
}
