//! Recognises files that are not traces of requests: what they are, and how to get the requests.

/// First bytes of a kind of file, what it is, and what to do with it.
const KNOWN: [(&[u8], &str, &str); 24] = [
    (
        b"PAR1",
        "a Parquet file",
        "pass the path of the unpacked file: it cannot be read from standard input or from an archive",
    ),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it: 7z x FILE"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it: unrar x FILE"),
    (b"\x1f\x9d", "data compressed with compress(1)", "unpack it: gzip -d FILE"),
    (b"\x1f\xa0", "data compressed with compress(1)", "unpack it: gzip -d FILE"),
    (b"\x5d\0\0", "data compressed as .lzma, the format before xz", "unpack it: xz -d FILE"),
    (b"LZIP", "data compressed with lzip", "unpack it: lzip -d FILE"),
    (
        b"\x02\x21\x4c\x18",
        "data in lz4's legacy format",
        "compress it again: lz4 -d FILE | lz4 > OUT",
    ),
    (b"\xff\x06\x00\x00sNaPpY", "data compressed with Snappy", "unpack it: snzip -d FILE"),
    (b"\x89LZO\x00", "data compressed with lzop", "unpack it: lzop -d FILE"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "convert it to CSV or Parquet"),
    (
        b"SQLite format 3\x00",
        "an SQLite database",
        "export the table: sqlite3 -csv FILE 'SELECT ...' > OUT.csv",
    ),
    (b"ARROW1", "an Arrow file", "convert it to CSV or Parquet"),
    (b"ORC", "an ORC file", "convert it to CSV or Parquet"),
    (b"Obj\x01", "an Avro file", "convert it to CSV or Parquet"),
    (b"\x93NUMPY", "a NumPy array", "convert it to CSV: numpy.savetxt"),
    (
        b"\x17\x08\x44tracing",
        "a recording of trace-cmd",
        "convert it to text: trace-cmd report FILE > OUT",
    ),
    (b"PERFILE2", "a recording of perf", "convert it to text: perf script -i FILE > OUT"),
    (
        b"\xc1\x1f\xfc\xc1",
        "a trace of LTTng (CTF)",
        "convert it to text: babeltrace2 FOLDER > OUT, and name the columns",
    ),
    (
        b"\xd4\xc3\xb2\xa1",
        "a packet capture (pcap)",
        "record the requests of a block device instead",
    ),
    (
        b"\x10\0\0\0rbd-replay-trace",
        "output of rbd-replay-prep for rbd replay",
        "use the text of the trace from which it was prepared: babeltrace FOLDER > OUT",
    ),
    (b"\x7fELF", "a program", "pass the trace that it recorded"),
    (b"%PDF", "a PDF document", "pass the trace itself"),
    (b"<!DOCTYPE html", "an HTML page, perhaps from a failed download", "download the file again"),
];

/// The message about a file that begins with `bytes`, if it is known not to be a trace.
pub(crate) fn named(bytes: &[u8]) -> Option<String> {
    let known = KNOWN.iter().find(|(magic, ..)| bytes.starts_with(magic));
    if let Some((_, what, remedy)) = known {
        return Some(format!("the file is {what}, not a trace; {remedy}"));
    }
    if let Some(text) = other_iolog(bytes) {
        return Some(text);
    }
    let first = bytes.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"TIME(ms)"))?;
    let has = |name: &[u8]| first.windows(name.len()).any(|word| word == name);
    (has(b"DISK") && !has(b"SECTOR")).then(|| {
        "output of bpftrace's biosnoop.bt, which prints neither sector nor size; record with bcc's biosnoop, \
         or with bpftrace -e 'tracepoint:block:block_rq_issue { printf(\"%llu %s %llu %u\\n\", nsecs, \
         args.rwbs, args.sector, args.bytes); }' and read it with --columns \
         time=1:ns,op=2,offset=3:512B,size=4"
            .to_owned()
    })
}

/// The message about an I/O log of fio of a version that is not read.
fn other_iolog(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let version = line.strip_prefix(b"fio version ")?.strip_suffix(b" iolog")?;
    let version: u32 = std::str::from_utf8(version).ok()?.parse().ok()?;
    let remedy = match version {
        2 | 3 => return None,
        0 | 1 => {
            "name the columns of its lines `operation, offset, length`: sed 1d FILE | ssdlab trace info - \
             --columns op=1,offset=2,size=3,read=0,write=1"
        }
        _ => "record it with fio 3.33, whose write_iolog writes version 3",
    };
    Some(format!(
        "the file is an I/O log of fio of version {version}, of which only versions 2 and 3 are read; {remedy}"
    ))
}

/// How to record the requests that a file lacks.
macro_rules! record {
    () => {
        "record the requests of the device: blktrace -d /dev/DEVICE -w 60 -o - | blkparse -i - > OUT"
    };
}

/// Words in text of no known format, what such a file is, and what to do with it.
const TEXTS: [(&[&str], &str, &str); 29] = [
    (
        &["r_await", "kB_read/s"],
        "output of iostat, which has totals per interval but no requests",
        record!(),
    ),
    (
        &["%util"],
        "output of iostat or sar, which has totals per interval but no requests",
        record!(),
    ),
    (&["---swap--"], "output of vmstat, which has totals per interval but no requests", record!()),
    (
        &["Kbytes  AVGms"],
        "output of biotop, which has totals per interval but no requests",
        record!(),
    ),
    (&[": count     distribution"], "a histogram, as biolatency or bitesize prints it", record!()),
    (
        &["pwrite64(", "pread64("],
        "output of strace, which has calls on files but no requests to a device",
        record!(),
    ),
    (
        &["File Operation: "],
        "a trace of RocksDB, which has calls on files but no requests to a device",
        record!(),
    ),
    (
        &[",get,0\n"],
        "a trace of a cache (Twitter's), which has keys but no device addresses",
        record!(),
    ),
    (&["key_size,"], "a trace of a cache, which has keys but no device addresses", record!()),
    (
        &["usertable user"],
        "a log of YCSB, which has operations on keys but no requests to a device",
        record!(),
    ),
    (&["[OVERALL], "], "output of YCSB, which has results but no requests", record!()),
    (
        &["io_offset io_size"],
        "a trace of Tectonic, whose requests address parts of a distributed file system, not a device",
        record!(),
    ),
    (
        &["request_io_size_bytes"],
        "a trace of Thesios, whose requests address files of a distributed file system, not a device",
        record!(),
    ),
    (
        &["do_osd_op", "osd_op("],
        "a log of a Ceph OSD, whose requests address objects, not a device",
        record!(),
    ),
    (
        &["Cur ops"],
        "output of rados bench, which has totals per interval but no requests",
        record!(),
    ),
    (&["OPS/SEC"], "output of rbd bench, which has totals per interval but no requests", record!()),
    (&["All Devices ===="], "a report of btt, which has averages but no requests", record!()),
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
        &["] CDB: "],
        "a log of SCSI commands that does not print their lengths as numbers",
        record!(),
    ),
    (&["block_rq_issue: { cpu_id"], "text of LTTng that encodes operations as bits", record!()),
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
        &["WrData"],
        "output of fs_usage",
        "convert it to a table: sed -nE 's/^([0-9:.]+) +(Rd|Wr)Data.* D=(0x[0-9a-f]+) +B=(0x[0-9a-f]+) \
         .*/2000-01-01T\\1,\\2,\\3,\\4/p' FILE | ssdlab trace info - --columns time=1,op=2,offset=3:512B,size=4",
    ),
    (
        &["{\""],
        "JSON",
        "convert it to a table, with the names of its fields: jq -r '[.time, .op, .offset, .size] | @csv' FILE | \
         ssdlab trace info - --columns time=1:us,op=2,offset=3,size=4",
    ),
    (
        &[",nlb"],
        "a table with the NLB field of NVMe, which is zero-based",
        "add 1 to it, here in column 5, and name the columns: awk -F, -v OFS=, 'NR > 1 { $5 += 1 } 1' FILE | ssdlab \
         trace info - --columns time=1:us,op=2,offset=4:512B,size=5:512B,read=0x02,write=0x01,discard=0x09",
    ),
    (
        &["<?xml"],
        "XML",
        "convert it to CSV and name the columns: ssdlab trace info FILE --columns time=1:us,op=2,offset=3,size=4",
    ),
];

/// Tables of numbers that btt writes (`*.dat`): what those of two and of three columns are, and what to do with them.
const BTT: [(&str, &str); 2] = [
    (
        "a table of times with one value each, as btt writes for latencies, seeks or queue depths, without requests",
        record!(),
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
    let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let of_word = TEXTS.iter().find(|(words, ..)| words.iter().any(|word| has(word)));
    let of_word = of_word.map(|(_, what, remedy)| (what, remedy));
    let (what, remedy) =
        of_word.or_else(|| table_of_btt(bytes).map(|(what, remedy)| (what, remedy)))?;
    Some(format!("the file is {what}; {remedy}"))
}

/// A notation of numbers that is not read: its description, the command that rewrites it, and the same as a function.
type Numbers = (&'static str, &'static str, fn(&[u8]) -> Vec<u8>);

/// These notations are never read as they are: 1,024 is one number with a thousands separator and another with a
/// decimal comma.
pub(crate) const NUMBERS: [Numbers; 5] = [
    (
        "its numbers have thousands separators; remove them",
        r#"perl -pe 's/"\d[\d,]*"/$&=~tr|,||dr/ge'"#,
        without_thousands,
    ),
    ("its numbers have a decimal comma; replace it with a point", "sed s/,/./g", with_points),
    (
        "its numbers have points as thousands separators and a decimal comma; replace both",
        r"perl -pe 's/(?<![\w.])\d{1,3}([.]\d{3})+(?![\w.])/$&=~tr|.||dr/ge; tr/,/./'",
        |bytes| match without_groups(bytes, b'.') {
            plain if plain.contains(&b',') => with_points(&plain),
            _ => bytes.to_vec(),
        },
    ),
    (
        "its numbers have points as thousands separators; remove them",
        r"perl -pe 's/(?<![\w.])\d{1,3}([.]\d{3})+(?![\w.])/$&=~tr|.||dr/ge'",
        |bytes| without_groups(bytes, b'.'),
    ),
    (
        "its numbers have commas as thousands separators; remove them",
        r"perl -pe 's/(?<![\w,])\d{1,3}([,]\d{3})+(?![\w,])/$&=~tr|,||dr/ge'",
        |bytes| without_groups(bytes, b','),
    ),
];

/// `bytes` without the `mark` between groups of three digits, if a number there has two of them: one may be a decimal
/// point.
fn without_groups(bytes: &[u8], mark: u8) -> Vec<u8> {
    let is_part = |byte: u8| byte == mark || byte == b'_' || byte.is_ascii_alphanumeric();
    let is_grouped = |word: &[u8]| {
        let mut groups = word.split(|&byte| byte == mark);
        let digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
        groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && digits(first))
            && groups.all(|group| group.len() == 3 && digits(group))
    };
    let (mut all, mut is_certain) = (Vec::with_capacity(bytes.len()), false);
    for word in bytes.chunk_by(|&a, &b| is_part(a) == is_part(b)) {
        let marks = word.iter().filter(|&&byte| byte == mark).count();
        if marks > 0 && is_grouped(word) {
            is_certain |= marks > 1;
            all.extend(word.iter().filter(|&&byte| byte != mark));
        } else {
            all.extend(word);
        }
    }
    // A comma may separate cells unless something else does.
    let has_other = mark != b',' || bytes.iter().any(|byte| matches!(byte, b';' | b'\t' | b' '));
    if is_certain && has_other { all } else { bytes.to_vec() }
}

fn without_thousands(bytes: &[u8]) -> Vec<u8> {
    let mut parts = bytes.split(|&byte| byte == b'"');
    let mut done = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        done.push(b'"');
        let number =
            !part.is_empty() && part.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
        // After a closing quote, a comma separates cells.
        let number = number && part[0] != b',' && part[part.len() - 1] != b',';
        done.extend(part.iter().filter(|&&byte| !(number && byte == b',')));
    }
    done
}

fn with_points(bytes: &[u8]) -> Vec<u8> {
    // A comma may separate cells unless something else does.
    if !bytes.iter().any(|byte| matches!(byte, b';' | b'\t')) {
        return bytes.to_vec();
    }
    bytes.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect()
}
