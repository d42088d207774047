//! Files that are no traces of requests, by their first bytes: what they are, and how to get at the requests.

/// First bytes, what such a file is, and what to do.
const KNOWN: [(&[u8], &str, &str); 22] = [
    (
        b"PAR1",
        "a Parquet file",
        "give its path, unpacked: as standard input or in an archive it cannot be read",
    ),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it: 7z x FILE"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it: unrar x FILE"),
    (b"\x1f\x9d", "compressed with compress(1)", "unpack it: gzip -d FILE"),
    (b"\x1f\xa0", "compressed with compress(1)", "unpack it: gzip -d FILE"),
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
