//! Names of the files that blktrace writes, one per CPU.

use std::path::Path;

/// Compression suffixes of the names of blktrace's files.
pub(crate) const SUFFIXES: [&str; 6] = ["", ".gz", ".zst", ".bz2", ".xz", ".lz4"];

/// Returns whether the trace at `path` may be read with others, those of the other CPUs.
pub(crate) fn is_cpu_file(path: &str) -> bool {
    Path::new(path).file_name().and_then(|name| name.to_str()).and_then(parse_cpu_file).is_some()
}

/// Returns the parts of the name of such a file: `NAME.blktrace.`, the CPU, and the suffix of the compression.
pub(crate) fn parse_cpu_file(name: &str) -> Option<(&str, u32, &str)> {
    let (base, rest) = name.split_at(name.rfind(".blktrace.")? + ".blktrace.".len());
    let (digits, suffix) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let cpu = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    SUFFIXES.contains(&suffix).then_some((base, cpu, suffix))
}
