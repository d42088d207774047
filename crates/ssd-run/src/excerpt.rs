//! The logs of a run, read back: as a stream of bytes, or as an excerpt for a picture.

use ssd_trace::decompressed;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use zstd::Decoder;

/// A log that is being read, decompressed: CSV.
pub type LogText = Decoder<'static, BufReader<File>>;

/// The log at `path` from its beginning.
///
/// # Errors
/// The file cannot be read. A file that is not zstd is detected when it is read.
pub fn text(path: &Path) -> io::Result<LogText> {
    Decoder::new(File::open(path)?)
}

/// The header of the log at `path` and at most `most` lines of its operations that start at `from_ns` or later. The log
/// is in order of start, so later lines are not read.
///
/// # Errors
/// The file cannot be read, or is not such a log.
pub fn operations(path: &Path, from_ns: u64, most: usize) -> io::Result<String> {
    let mut lines = BufReader::new(decompressed(File::open(path)?)?);
    let mut text = String::new();
    lines.read_line(&mut text)?;
    let start = text.trim_end().split(',').position(|name| name == "start");
    let start = start.ok_or_else(|| io::Error::other("its header has no column `start`"))?;
    let mut line = String::new();
    let mut count = 0;
    while count < most {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            break;
        }
        let value = line.split(',').nth(start).and_then(|value| value.parse::<u64>().ok());
        let value = value.ok_or_else(|| io::Error::other("a line without a start time"))?;
        if value >= from_ns {
            text.push_str(&line);
            count += 1;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_a_window_of_the_log() {
        let path = std::env::temp_dir().join(format!("ssdlab-excerpt-{}", std::process::id()));
        std::fs::write(&path, "op,start,end\nread,1,5\nread,7,9\nerase,8,9\nread,9,9\n").unwrap();
        let part = operations(&path, 2, 2).unwrap();
        assert_eq!(part, "op,start,end\nread,7,9\nerase,8,9\n");
        std::fs::write(&path, "a,b\n").unwrap();
        assert!(operations(&path, 0, 1).is_err());
        std::fs::remove_file(path).unwrap();
    }
}
