//! Values of options: sizes, times, numbers, as fio writes them.

/// A size in bytes, or a share of the device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Amount {
    Bytes(u64),
    /// Percent.
    Percent(f64),
}

impl Amount {
    /// Bytes, of a device of `device_bytes`.
    pub(super) fn of(self, device_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (device_bytes as f64 * percent / 100.0) as u64,
        }
    }
}

/// A number and its unit in lower case.
fn parts(text: &str) -> Option<(u64, String)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse().ok()?;
    Some((number, text[digits..].trim().to_ascii_lowercase()))
}

/// "4k", "1MiB", "512": k, m, g and t are powers of 1024, as by default in fio.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = parts(text)?;
    let power = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return None,
    };
    number.checked_mul(1024u64.pow(power))
}

/// A size, or "40%".
pub(super) fn amount(text: &str) -> Option<Amount> {
    match text.strip_suffix('%') {
        Some(percent) => share(percent).map(|share| Amount::Percent(share * 100.0)),
        None => size(text).map(Amount::Bytes),
    }
}

/// "100", "10ms", "1s" as nanoseconds; microseconds without a unit.
pub(super) fn time_ns(text: &str) -> Option<u64> {
    let (number, unit) = parts(text)?;
    let factor = match unit.as_str() {
        "ns" | "nsec" => 1,
        "" | "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// As [`time_ns`], seconds without a unit.
pub(super) fn seconds_ns(text: &str) -> Option<u64> {
    match text.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1_000_000_000),
        Err(_) => time_ns(text),
    }
}

/// "0" or "1".
pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// A number from 0 to 100, as a share from 0 to 1.
pub(super) fn share(text: &str) -> Option<f64> {
    let percent = real(text)?;
    (percent <= 100.0).then_some(percent / 100.0)
}

/// A number that is not negative.
pub(super) fn real(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A whole number from 1 on.
pub(super) fn count(text: &str) -> Option<u64> {
    size(text).filter(|&count| count > 0)
}

/// Values for reads, writes and trims, separated by commas: the last one applies to those left out.
pub(super) fn three<T: Clone>(text: &str, one: impl Fn(&str) -> Option<T>) -> Option<[T; 3]> {
    let mut said = Vec::new();
    for part in text.split(',') {
        let value = match part.trim() {
            // "4k,,8k": as before.
            "" => said.last().cloned(),
            part => one(part),
        };
        said.push(value?);
    }
    if said.len() > 3 {
        return None;
    }
    let last = said.last().cloned()?;
    said.resize(3, last);
    said.try_into().ok()
}
