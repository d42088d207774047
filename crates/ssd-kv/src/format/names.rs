//! Names of the files of a store. All numbers come from one counter.

/// Points to the manifest in use.
pub(crate) const CURRENT: &str = "CURRENT";
/// Held while the store is open.
pub(crate) const LOCK: &str = "LOCK";

/// The largest file number; the number after it still exists.
pub(super) const MAX_NUMBER: u64 = u64::MAX >> 1;

/// The kind of a file of a store, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Current,
    Lock,
    /// LevelDB's text log; our store writes none.
    InfoLog,
    Log(u64),
    Manifest(u64),
    Table(u64),
    Temp(u64),
}

pub(crate) fn log(number: u64) -> String {
    let name = format!("{number:06}.log");
    let is_read = number > MAX_NUMBER || parse(&name) == Some(FileKind::Log(number));
    debug_assert!(is_read, "{name} is taken for another file");
    name
}

pub(crate) fn table(number: u64) -> String {
    let name = format!("{number:06}.ldb");
    let is_read = number > MAX_NUMBER || parse(&name) == Some(FileKind::Table(number));
    debug_assert!(is_read, "{name} is taken for another file");
    name
}

/// The name of tables before LevelDB 1.14.
pub(crate) fn old_table(number: u64) -> String {
    let name = format!("{number:06}.sst");
    let is_read = number > MAX_NUMBER || parse(&name) == Some(FileKind::Table(number));
    debug_assert!(is_read, "{name} is taken for another file");
    name
}

pub(crate) fn manifest(number: u64) -> String {
    let name = format!("MANIFEST-{number:06}");
    let is_read = number > MAX_NUMBER || parse(&name) == Some(FileKind::Manifest(number));
    debug_assert!(is_read, "{name} is taken for another file");
    name
}

pub(crate) fn temp(number: u64) -> String {
    let name = format!("{number:06}.dbtmp");
    let is_read = number > MAX_NUMBER || parse(&name) == Some(FileKind::Temp(number));
    debug_assert!(is_read, "{name} is taken for another file");
    name
}

/// The new name of a file that was only partly recovered. It does not belong to the store.
pub(crate) fn lost_name(name: &str) -> String {
    debug_assert!(parse(name).is_some(), "{name}: files of others keep their names");
    let new_name = format!("{name}.lost");
    debug_assert!(parse(&new_name).is_none(), "{new_name} would belong to the store");
    new_name
}

/// The kind of a file with this name; None if it is not a store's file.
pub(crate) fn parse(name: &str) -> Option<FileKind> {
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_number { digits.parse().ok().filter(|&n: &u64| n <= MAX_NUMBER) } else { None }
    };
    match name {
        CURRENT => return Some(FileKind::Current),
        LOCK => return Some(FileKind::Lock),
        "LOG" | "LOG.old" => return Some(FileKind::InfoLog),
        _ => {}
    }
    if let Some(digits) = name.strip_prefix("MANIFEST-") {
        return number(digits).map(FileKind::Manifest);
    }
    let (digits, suffix) = name.split_once('.')?;
    let number = number(digits)?;
    match suffix {
        "log" => Some(FileKind::Log(number)),
        "ldb" | "sst" => Some(FileKind::Table(number)),
        "dbtmp" => Some(FileKind::Temp(number)),
        _ => None,
    }
}
