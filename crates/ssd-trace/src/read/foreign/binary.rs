//! Files with a known signature, and binary data of unknown kinds.

use super::RECORD;
use crate::read::commands::command;

/// Remedy for text in UTF-32.
const UTF_32: &str = "convert it: iconv -f UTF-32 -t UTF-8 FILE | ssdlab trace info -";
/// Remedy for a pickle, such as one of a data frame.
const PICKLE: &str = concat!(
    "if you trust it (it can run any program when it is loaded), convert its table to CSV: python3 -c 'import sys, ",
    "pandas as p; p.DataFrame(p.read_pickle(sys.argv[1])).to_csv(sys.stdout, index=False)' FILE | ssdlab trace info -"
);

/// Remedy for a file that pandas reads with the function of this name.
macro_rules! pandas {
    ($kind:literal) => {
        pandas!($kind, "")
    };
    ($kind:literal, $doubt:literal) => {
        concat!(
            "convert it to CSV",
            $doubt,
            ": python3 -c 'import sys, pandas as p; p.read_",
            $kind,
            "(sys.argv[1]).to_csv(sys.stdout, index=False)' FILE | ssdlab trace info -"
        )
    };
}

/// Signatures of files, what the files are, and the remedy.
const KNOWN: [(&[u8], &str, &str); 39] = [
    (b"\xff\xfe\0\0", "text in UTF-32", UTF_32),
    (b"\0\0\xfe\xff", "text in UTF-32", UTF_32),
    (b"\x80\x05\x95", "a pickle of Python", PICKLE),
    (b"\x80\x04\x95", "a pickle of Python", PICKLE),
    (b"\x80\x03c", "a pickle of Python", PICKLE),
    (b"\x80\x02c", "a pickle of Python", PICKLE),
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
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", pandas!("hdf", " (if pandas wrote it)")),
    (
        b"SQLite format 3\x00",
        "an SQLite database",
        "export the table: sqlite3 -csv FILE 'SELECT ...' > OUT.csv",
    ),
    (b"ARROW1", "an Arrow file (Feather)", pandas!("feather")),
    (b"FEA1", "a Feather file", pandas!("feather")),
    (b"ORC", "an ORC file", pandas!("orc")),
    (b"Obj\x01", "an Avro file", "convert it to CSV or Parquet"),
    (
        b"\x93NUMPY",
        "a NumPy array",
        concat!(
            "convert it to CSV: python3 -c 'import sys, numpy as n; a = n.load(sys.argv[1]); ",
            "a = a if hasattr(a, \"dtype\") else a[a.files[0]]; n.savetxt(sys.stdout, a, \"%s\", \",\", ",
            "header=\",\".join(a.dtype.names or ()), comments=\"\")' FILE | ssdlab trace info -"
        ),
    ),
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
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer",
        "fetch the file to which it points: git lfs pull",
    ),
    (
        b"/annex/objects/",
        "a git-annex pointer",
        "fetch the file to which it points: git annex get FILE",
    ),
    (
        b"\x03\x09\0\0\0\0\0\0",
        "output of btrecord for btreplay",
        "use the recording from which it was made: NAME.blktrace.0 for NAME.replay.0",
    ),
    (b"\x89PNG", "a picture", "pass the trace itself"),
    (b"\xff\xd8\xff", "a picture", "pass the trace itself"),
    (b"GIF8", "a picture", "pass the trace itself"),
    (b"QFI\xfb", "a disk image (qcow2)", RECORD),
    (b"KDMV", "a disk image (VMDK)", RECORD),
    (b"conectix", "a disk image (VHD)", RECORD),
    (b"\x7fELF", "a program", "pass the trace that it recorded"),
    (b"%PDF", "a PDF document", "pass the trace itself"),
];

/// The signature of RocksDB's own traces, after the time, type and length of their first record.
const ROCKSDB: &[u8] = b"feedcafedeadbeef";
/// Bytes that decide between binary data and text: the first sector of a disk.
const HEAD: usize = 512;
/// The signature at the end of the first sector of a disk.
const BOOTABLE: [u8; 2] = [0x55, 0xaa];

/// Returns the message about a file with a known signature.
pub(super) fn marked(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(64)];
    if head.windows(ROCKSDB.len()).any(|part| part == ROCKSDB) {
        let content = "a trace of RocksDB, which has operations on keys or blocks but no requests to a device";
        return Some(format!("the file is {content}; {RECORD}"));
    }
    let signature = KNOWN.iter().find(|(magic, ..)| bytes.starts_with(magic));
    let signature = signature.map(|&(_, content, remedy)| (content, remedy));
    let is_disk = || {
        let mark = bytes.get(HEAD - 2..HEAD).filter(|mark| *mark == BOOTABLE);
        mark.filter(|_| is_binary(bytes)).map(|_| ("a disk image", RECORD))
    };
    let (content, remedy) = signature.or_else(is_disk)?;
    Some(format!("the file is {content}, not a trace; {remedy}"))
}

/// Returns whether `bytes` are binary data.
fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    let is_control = |byte: &&u8| matches!(byte, 1..=8 | 14..=26 | 28..=31 | 127);
    head.contains(&0) || 20 * head.iter().filter(is_control).count() > head.len()
}

/// Returns the message about binary data of an unknown format at the beginning of `file`.
pub(crate) fn unmarked(file: &str, bytes: &[u8]) -> Option<String> {
    if !is_binary(bytes) {
        return None;
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return Some(
            "the file begins with zero bytes only: it is not a trace, or its data were never written; copy or \
             record it again"
                .to_owned(),
        );
    }
    let shown: String = bytes.iter().take(8).map(|byte| format!(" {byte:02x}")).collect();
    let columns =
        "--columns record=24,time=u64@0:ns,offset=u64@8:512B,size=u32@16,op=u8@20,read=0,write=1";
    Some(format!(
        "binary data of no known format (its first bytes are{shown}); if it consists of records of a fixed length, \
         set that length, and the type and byte offset of each field (docs/formats.md), as in {}",
        command(file, columns)
    ))
}
