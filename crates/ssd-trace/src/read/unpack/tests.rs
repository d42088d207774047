use super::*;
use std::io::Write as _;

fn read(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    let mut reader = unpacked(bytes).map_err(|error| error.to_string())?;
    reader.read_to_end(&mut all).map_err(|error| error.to_string())?;
    Ok(all)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a member of a tar archive.
fn tar(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    block[156] = kind;
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    block.extend(bytes);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

/// Returns a member of a zip archive with its sizes in the header or in a descriptor.
fn zip(name: &str, bytes: &[u8], deflated: bool, described: bool) -> Vec<u8> {
    let packed = if deflated {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    } else {
        bytes.to_vec()
    };
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let sizes = [crc.sum(), packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
    let mut all = b"PK\x03\x04\x14\0".to_vec();
    all.extend([if described { 8 } else { 0 }, 0, if deflated { 8 } else { 0 }, 0, 0, 0, 0, 0]);
    all.extend(if described { vec![0; 12] } else { sizes.clone() });
    all.extend((name.len() as u16).to_le_bytes());
    all.extend([0, 0]);
    all.extend(name.as_bytes());
    all.extend(packed);
    if described {
        all.extend(b"PK\x07\x08");
        all.extend(sizes);
    }
    all
}

const TEXT: &[u8] = b"some lines\nof text\n";
const END: &[u8] = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

#[test]
fn every_layer_is_taken_off() {
    let archive = [tar("folder/", b'5', b""), tar("folder/a", b'0', TEXT), vec![0; 1024]].concat();
    for packed in [
        TEXT.to_vec(),
        gzip(TEXT),
        [gzip(&TEXT[..5]), gzip(&TEXT[5..])].concat(),
        [gzip(TEXT), vec![0; 700]].concat(),
        bzip2(TEXT),
        [bzip2(&TEXT[..5]), bzip2(&TEXT[5..])].concat(),
        lz4(TEXT),
        [lz4(&TEXT[..5]), lz4(&TEXT[5..])].concat(),
        zstd::encode_all(TEXT, 1).unwrap(),
        archive.clone(),
        gzip(&archive),
        bzip2(&gzip(&lz4(TEXT))),
        [tar("._a", b'0', b"junk"), tar("a", 0, TEXT)].concat(),
        [zip("a", TEXT, true, false), END.to_vec()].concat(),
        [zip("a", TEXT, false, false), END.to_vec()].concat(),
        [zip("a", TEXT, true, true), zip("__MACOSX/._a", b"junk", true, true), END.to_vec()]
            .concat(),
        [
            zip("folder/", b"", false, false),
            zip("folder/a", &gzip(TEXT), true, false),
            END.to_vec(),
        ]
        .concat(),
        [&b"\xef\xbb\xbf"[..], TEXT].concat(),
    ] {
        assert_eq!(read(&packed).as_deref(), Ok(TEXT), "{:?}", &packed[..packed.len().min(8)]);
    }
}

#[test]
fn utf_16_becomes_utf_8() {
    let text = "a,1\n\u{e4},\u{1f600},2\r\n".repeat(9000);
    let units: Vec<u16> = text.encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    assert_eq!(read(&[&[0xff, 0xfe], &little[..]].concat()).as_deref(), Ok(text.as_bytes()));
    assert_eq!(read(&[&[0xfe, 0xff], &big[..]].concat()).as_deref(), Ok(text.as_bytes()));
    // Half of a surrogate pair is not a character.
    let lone = [&[0xff, 0xfe, b'a', 0], &[0x3d, 0xd8][..]].concat();
    assert_eq!(read(&lone).as_deref(), Ok("a\u{fffd}".as_bytes()));
}

#[test]
fn what_cannot_be_read_is_named() {
    let several = [tar("a.csv", b'0', TEXT), tar("b.csv", b'0', TEXT)].concat();
    let encrypted = {
        let mut bytes = zip("a", TEXT, true, false);
        bytes[6] |= 1;
        bytes
    };
    let several_cpus = [
        tar("run/sdb.blktrace.0", b'0', TEXT),
        tar("run/sdb.blktrace.1", b'0', TEXT),
        vec![0; 1024],
    ]
    .concat();
    let method = {
        let mut bytes = zip("a", TEXT, false, false);
        bytes[8] = 14;
        bytes
    };
    let wrong_sum = {
        let mut bytes = [zip("a", TEXT, false, false), END.to_vec()].concat();
        bytes[14] ^= 1;
        bytes
    };
    for (packed, expected) in [
        (several, "an archive of several files (the first two are a.csv and b.csv)"),
        (
            several_cpus,
            "unpack it: tar -xf FILE; then read each recording by its name: ssdlab trace info run/sdb",
        ),
        (END.to_vec(), "without files"),
        ([tar("folder/", b'5', b""), vec![0; 1024]].concat(), "without files"),
        (encrypted, "is encrypted"),
        (method, "packed with LZMA (method 14 of zip)"),
        (wrong_sum, "checksum"),
        (
            [zip("[Content_Types].xml", TEXT, true, false), END.to_vec()].concat(),
            "save the sheet as CSV",
        ),
        ([gzip(TEXT), b"tail".to_vec()].concat(), "neither gzip nor zeros"),
        (gzip(&gzip(&gzip(&gzip(&gzip(TEXT))))), "packed more than 4 times"),
    ] {
        let error = read(&packed).expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = gzip(&vec![0; 100 << 20]);
    // Requests that are valid, 100 MB of the same line.
    let lines = b"128166372003061629,hm,0,Write,1073741824,4096,100\n".repeat(2_000_000);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&lines).unwrap();
    let packed = encoder.finish().unwrap();
    let ratio = lines.len() / packed.len();
    assert!((251..1000).contains(&ratio), "{ratio}");
    for (bomb, command) in [
        (zeros.clone(), "gzip -dc FILE | ssdlab trace info -"),
        (zstd::encode_all(&vec![0; 100 << 20][..], 1).unwrap(), "zstd -dc FILE"),
        (gzip(&zeros), "gzip -dc FILE"),
        (packed, "gzip -dc FILE"),
        (
            [zip("a", &vec![0; 100 << 20], true, false), END.to_vec()].concat(),
            "file: unzip -p FILE | ssdlab",
        ),
    ] {
        let error = read(&bomb).unwrap_err();
        assert!(error.contains("an archive bomb") && error.contains(command), "{error}");
    }
}

/// Consecutive requests at equal intervals: no recorded trace compresses better.
#[test]
fn the_most_regular_trace_is_no_bomb() {
    let line = |at: u64| {
        format!("{},hm,0,Write,{},4096,100\n", 128_166_372_000_000_000 + at * 10_000, at * 4096)
    };
    let lines: String = (0..1_500_000).map(line).collect();
    for packed in [gzip(lines.as_bytes()), zstd::encode_all(lines.as_bytes(), 3).unwrap()] {
        assert_eq!(read(&packed).map(|text| text.len()), Ok(lines.len()), "of {}", packed.len());
    }
}

/// Truncated and damaged files end or fail, without panic.
#[test]
fn damaged_layers_come_to_an_end() {
    let packed = [
        gzip(TEXT),
        bzip2(TEXT),
        lz4(TEXT),
        zstd::encode_all(TEXT, 1).unwrap(),
        [tar("a", b'0', TEXT), vec![0; 1024]].concat(),
        [zip("a", TEXT, true, true), END.to_vec()].concat(),
    ];
    for bytes in packed {
        for at in 0..bytes.len() {
            drop(read(&bytes[..at]));
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= value;
                drop(read(&damaged));
            }
        }
    }
}
