//! Files that are no traces of requests, by their first bytes: what they are, and how to get at the requests.

/// First bytes, what such a file is, and what to do.
const KNOWN: [(&[u8], &str, &str); 24] = [
    (
        b"PAR1",
        "a Parquet file",
        "give its path, unpacked: as standard input or in an archive it cannot be read",
    ),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it: 7z x FILE"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it: unrar x FILE"),
    (b"\x1f\x9d", "compressed with compress(1)", "unpack it: gzip -d FILE"),
    (b"\x1f\xa0", "compressed with compress(1)", "unpack it: gzip -d FILE"),
    (b"\x5d\0\0", "compressed with LZMA alone, the format before xz", "unpack it: xz -d FILE"),
    (b"LZIP", "compressed with lzip", "unpack it: lzip -d FILE"),
    (b"\x02\x21\x4c\x18", "of lz4's legacy format", "pack it anew: lz4 -d FILE | lz4 > OUT"),
    (b"\xff\x06\x00\x00sNaPpY", "compressed with Snappy", "unpack it: snzip -d FILE"),
    (b"\x89LZO\x00", "compressed with lzop", "unpack it: lzop -d FILE"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write it as CSV, or as Parquet"),
    (
        b"SQLite format 3\x00",
        "an SQLite database",
        "write the table: sqlite3 -csv FILE 'SELECT ...' > OUT.csv",
    ),
    (b"ARROW1", "an Arrow file", "write it as CSV, or as Parquet"),
    (b"ORC", "an ORC file", "write it as CSV, or as Parquet"),
    (b"Obj\x01", "an Avro file", "write it as CSV, or as Parquet"),
    (b"\x93NUMPY", "a NumPy array", "write it as CSV: numpy.savetxt"),
    (
        b"\x17\x08\x44tracing",
        "recorded with trace-cmd",
        "write it as text: trace-cmd report FILE > OUT",
    ),
    (b"PERFILE2", "recorded with perf", "write it as text: perf script -i FILE > OUT"),
    (
        b"\xc1\x1f\xfc\xc1",
        "a trace of LTTng (CTF)",
        "write it as text: babeltrace2 FOLDER > OUT, and name the columns",
    ),
    (
        b"\xd4\xc3\xb2\xa1",
        "recorded packets (pcap)",
        "record the requests of a block device instead",
    ),
    (
        b"\x10\0\0\0rbd-replay-trace",
        "made by rbd-replay-prep for rbd replay",
        "give the text that it was made of: babeltrace FOLDER > OUT",
    ),
    (b"\x7fELF", "a program", "give the trace that it made"),
    (b"%PDF", "a PDF document", "give the trace itself"),
    (b"<!DOCTYPE html", "a page of HTML, as of a download that failed", "download the file again"),
];

/// The sentence about a file that begins with `bytes`, if it is known to be something else.
pub(crate) fn named(bytes: &[u8]) -> Option<String> {
    let known = KNOWN.iter().find(|(magic, ..)| bytes.starts_with(magic));
    if let Some((_, what, remedy)) = known {
        return Some(format!("the file is {what}, not a trace; {remedy}"));
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

/// How to record what is missing in a file.
macro_rules! record {
    () => {
        "record the requests of the device: blktrace -d /dev/DEVICE -w 60 -o - | blkparse -i - > OUT"
    };
}

/// Words in text of no format, what such a file is, and what to do.
const TEXTS: [(&str, &str, &str); 30] = [
    ("r_await", "output of iostat, sums over intervals and no requests", record!()),
    ("kB_read/s", "output of iostat, sums over intervals and no requests", record!()),
    ("%util", "output of iostat or sar, sums over intervals and no requests", record!()),
    ("---swap--", "output of vmstat, sums over intervals and no requests", record!()),
    ("Kbytes  AVGms", "output of biotop, sums over intervals and no requests", record!()),
    (": count     distribution", "a histogram, as of biolatency or bitesize", record!()),
    ("pwrite64(", "output of strace, calls on files and no requests to a device", record!()),
    ("pread64(", "output of strace, calls on files and no requests to a device", record!()),
    (
        "File Operation: ",
        "a trace of RocksDB, calls on files and no requests to a device",
        record!(),
    ),
    (
        ",get,0\n",
        "a trace of a cache (Twitter's), which has keys and no addresses of a device",
        record!(),
    ),
    ("key_size,", "a trace of a cache, which has keys and no addresses of a device", record!()),
    (
        "io_offset io_size",
        "a trace of Tectonic, requests to parts of a file system over many hosts and not to a device",
        record!(),
    ),
    (
        "request_io_size_bytes",
        "a trace of Thesios, requests to files of a file system over many hosts and not to a device",
        record!(),
    ),
    ("do_osd_op", "a log of a Ceph OSD, requests to objects and not to a device", record!()),
    ("osd_op(", "a log of a Ceph OSD, requests to objects and not to a device", record!()),
    ("Cur ops", "output of rados bench, sums over intervals and no requests", record!()),
    ("OPS/SEC", "output of rbd bench, sums over intervals and no requests", record!()),
    ("All Devices ====", "a report of btt, averages and no requests", record!()),
    (
        "Latency(us)",
        "output of SPDK's bdevperf or perf, results and no requests",
        "record them while it runs: spdk_trace, with the trace group bdev",
    ),
    (
        "BDEV_IO_START",
        "text of spdk_trace",
        "make a table of it (blocks of 512 B here): awk '/BDEV_IO_START/ { gsub(\":\", \": \"); for (i = 3; i < NF; \
         i++) v[$i] = $(i + 1); if (v[\"type:\"] ~ /^[123]$/) print $2 \",\" v[\"type:\"] \",\" v[\"offset:\"] \",\" \
         (\"len:\" in v ? v[\"len:\"] : v[\"size:\"]) }' FILE | ssdlab trace info - --columns \
         time=1:us,op=2,offset=3:512B,size=4:512B,read=1,write=2,discard=3",
    ),
    (
        "librbd:",
        "text of LTTng with the calls of librbd",
        "make a table of it: perl -ne '/^.?([0-9:.]+).*librbd:(?:aio_)?(read|write|discard)\\d?_enter.*\\boff(?:set)? = \
         (\\d+), len(?:gth)? = (\\d+)/ and print \"2000-01-01T$1,$2,$3,$4\\n\"' FILE | ssdlab trace info - --columns \
         time=1,op=2,offset=3,size=4",
    ),
    ("] CDB: ", "a log of SCSI commands without their lengths in numbers", record!()),
    ("block_rq_issue: { cpu_id", "text of LTTng, whose operations are bits", record!()),
    (
        "\"Operation\",\"Path\"",
        "output of Process Monitor, calls on files and no requests to a device",
        "record the events of the disk: wpr -start DiskIO -filemode, wpr -stop T.etl, xperf -i T.etl -o OUT.csv",
    ),
    (
        "nvme_setup_cmd: ",
        "text of ftrace with commands of NVMe, whose lengths count from 0",
        "make a table of it (blocks of 512 B here): awk '/nvme_setup_cmd:/ && match($0, \
         /nvme_cmd_(read|write) slba=[0-9]+, len=[0-9]+/) { split(substr($0, RSTART + 9, RLENGTH - 9), f, \
         /[ =,]+/); for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+[.][0-9]+:$/) t = $i; sub(\":\", \"\", t); \
         print t \",\" f[1] \",\" f[3] \",\" f[5] + 1 }' FILE | ssdlab trace info - --columns \
         time=1:s,op=2,offset=3:512B,size=4:512B",
    ),
    (
        "scsi_dispatch_cmd_start: ",
        "text of ftrace with commands of SCSI",
        "make a table of it (blocks of 512 B here): sed -nE 's/.* ([0-9.]+): scsi_dispatch_cmd_start: \
         .*cmnd=[(]([A-Z]+)_[0-9]+ lba=([0-9]+) txlen=([0-9]+) .*/\\1,\\2,\\3,\\4/p' FILE | ssdlab trace info - \
         --columns time=1:s,op=2,offset=3:512B,size=4:512B",
    ),
    (
        "WrData",
        "output of fs_usage",
        "make a table of it: sed -nE 's/^([0-9:.]+) +(Rd|Wr)Data.* D=(0x[0-9a-f]+) +B=(0x[0-9a-f]+) \
         .*/2000-01-01T\\1,\\2,\\3,\\4/p' FILE | ssdlab trace info - --columns time=1,op=2,offset=3:512B,size=4",
    ),
    (
        "{\"",
        "JSON",
        "make a table of it, with the names of its fields: jq -r '[.time, .op, .offset, .size] | @csv' FILE | \
         ssdlab trace info - --columns time=1:us,op=2,offset=3,size=4",
    ),
    (
        ",nlb",
        "a table with NLB of NVMe, which counts from 0",
        "add 1 to it, here in column 5, and name the columns: awk -F, -v OFS=, 'NR > 1 { $5 += 1 } 1' FILE | ssdlab \
         trace info - --columns time=1:us,op=2,offset=4:512B,size=5:512B,read=0x02,write=0x01,discard=0x09",
    ),
    (
        "<?xml",
        "XML",
        "write it as CSV, and name the columns: ssdlab trace info FILE --columns time=1:us,op=2,offset=3,size=4",
    ),
];

/// Columns of numbers that btt writes (`*.dat`): sentences about tables of two, and of three.
const BTT: [(&str, &str); 2] = [
    (
        "a table of times and one value each, as btt's of latencies, seeks or depths: no requests",
        record!(),
    ),
    (
        "a table of times, first sectors and ends, as of btt -B, whose operation is in the name of the file",
        "make a table with lengths of it, op=read for NAME_r.dat: awk '{ print $1 \",\" $2 \",\" $3 - $2 }' FILE | \
         ssdlab trace info - --columns time=1:s,op=write,offset=2:512B,size=3:512B",
    ),
];

/// Which of the tables of [`BTT`] the text is.
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

/// The sentence about text of no format, if it is known to be something else.
pub(crate) fn named_text(bytes: &[u8]) -> Option<String> {
    let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let of_word = TEXTS.iter().find(|(word, ..)| has(word)).map(|(_, what, remedy)| (what, remedy));
    let (what, remedy) =
        of_word.or_else(|| table_of_btt(bytes).map(|(what, remedy)| (what, remedy)))?;
    Some(format!("the file is {what}; {remedy}"))
}

/// A way to write numbers that is not read: what it is, the command that changes it, and what that does.
type Numbers = (&'static str, &'static str, fn(&[u8]) -> Vec<u8>);

/// Such ways. They are never read as they are: 1,024 is one number with thousands and another with decimals.
pub(crate) const NUMBERS: [Numbers; 2] = [
    (
        "its numbers have separators of thousands; take them out",
        r#"perl -pe 's/"\d[\d,]*"/$&=~tr|,||dr/ge'"#,
        without_thousands,
    ),
    ("its numbers have a comma before the decimals; make it a point", "sed s/,/./g", with_points),
];

fn without_thousands(bytes: &[u8]) -> Vec<u8> {
    let mut parts = bytes.split(|&byte| byte == b'"');
    let mut done = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        done.push(b'"');
        let number =
            !part.is_empty() && part.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
        // Behind a quote that closes, a comma separates.
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
