//! Values of options: sizes, times and numbers in fio's notation.

/// A size in bytes, or a share of the device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Amount {
    Bytes(u64),
    /// Percent.
    Percent(f64),
}

impl Amount {
    /// Returns the bytes on a device of `device_bytes`.
    pub(super) fn of(self, device_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (device_bytes as f64 * percent / 100.0) as u64,
        }
    }
}

/// Meaning of the letters after a number: fio's `kb_base`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Units {
    /// k is 1024 and kib is 1000: fio's default.
    Binary,
    /// k is 1000 and kib is 1024, as in the standards.
    Standard,
}

impl Units {
    /// Parses "4k", "1MiB", "512", "0x200".
    pub(super) fn size(self, text: &str) -> Option<u64> {
        let (number, unit) = parts(text)?;
        let power = match unit.bytes().next() {
            None | Some(b'b') => 0,
            Some(b'k') => 1,
            Some(b'm') => 2,
            Some(b'g') => 3,
            Some(b't') => 4,
            Some(b'p') => 5,
            _ => return None,
        };
        let base: u64 = match (unit.get(1..).unwrap_or_default(), self) {
            ("", _) if power == 0 => 1,
            ("" | "b", Units::Binary) | ("ib", Units::Standard) if power > 0 => 1024,
            ("" | "b", Units::Standard) | ("ib", Units::Binary) if power > 0 => 1000,
            _ => return None,
        };
        number.checked_mul(base.pow(power))
    }

    /// Parses a size, or "40%".
    pub(super) fn amount(self, text: &str) -> Option<Amount> {
        match text.strip_suffix('%') {
            Some(percent) => share(percent).map(|share| Amount::Percent(share * 100.0)),
            None => self.size(text).map(Amount::Bytes),
        }
    }

    /// Parses the bytes of a request: a multiple of 512 up to 1 GiB.
    pub(super) fn request(self, text: &str) -> Option<u64> {
        let fits = |&bytes: &u64| bytes > 0 && bytes.is_multiple_of(512) && bytes <= 1 << 30;
        self.size(text).filter(fits)
    }

    /// Parses "4k-16k" or "4k:16k"; the two sizes may be in either order.
    pub(super) fn range(self, text: &str) -> Option<(u64, u64)> {
        let (from, to) = text.split_once(['-', ':'])?;
        let (from, to) = (self.request(from.trim())?, self.request(to.trim())?);
        Some((from.min(to), from.max(to))).filter(|range| range.0.is_power_of_two())
    }

    /// Parses "4k/60:16k/40": sizes with their shares, which sum to 1. Sizes without a percentage divide the rest
    /// equally. A rest that remains goes to the most frequent size, as in fio.
    pub(super) fn split(self, text: &str) -> Option<Vec<(u64, f64)>> {
        let part = |part: &str| {
            let (bytes, percent) = part.split_once('/').unwrap_or((part, ""));
            let weight = if percent.is_empty() { None } else { Some(share(percent)?) };
            Some((self.request(bytes.trim())?, weight))
        };
        let parts: Vec<(u64, Option<f64>)> = text.split(':').map(part).collect::<Option<_>>()?;
        let mut sizes = shared_out(&parts).filter(|_| parts.len() <= 64)?;
        let rest = 1.0 - sizes.iter().map(|size| size.1).sum::<f64>();
        let most = (0..sizes.len()).max_by(|&a, &b| sizes[a].1.total_cmp(&sizes[b].1))?;
        sizes[most].1 += rest;
        sizes.retain(|size| size.1 > 0.0);
        Some(sizes)
    }
}

/// Divides what `parts` leave of 1 among those without a share; `None` if they exceed 1.
pub(super) fn shared_out<T: Copy>(parts: &[(T, Option<f64>)]) -> Option<Vec<(T, f64)>> {
    let stated: f64 = parts.iter().filter_map(|part| part.1).sum();
    let open = parts.iter().filter(|part| part.1.is_none()).count();
    let share_of_open = (1.0 - stated).max(0.0) / open.max(1) as f64;
    let shares =
        parts.iter().map(|&(item, share)| (item, share.unwrap_or(share_of_open))).collect();
    (stated < 1.0 + 1e-9).then_some(shares)
}

/// Splits a decimal or hexadecimal number and its unit in lower case.
fn parts(text: &str) -> Option<(u64, String)> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| (number, String::new()));
    }
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number = lower[..digits].parse().ok()?;
    Some((number, lower[digits..].trim().to_owned()))
}

/// Parses "100", "10ms", "1s" to nanoseconds; a number without a unit is in microseconds.
pub(super) fn time_ns(text: &str) -> Option<u64> {
    let (number, unit) = parts(text)?;
    let factor = match unit.as_str() {
        "ns" | "nsec" => 1,
        "" | "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor).filter(|&ns| ns <= 1 << 60)
}

/// Like [`time_ns`], but a number without a unit is in seconds.
pub(super) fn seconds_ns(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return time_ns(&format!("{text}s"));
    }
    time_ns(text)
}

/// Parses "10s", or a range such as "10s-20s".
pub(super) fn seconds_range_ns(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (from, to) = (seconds_ns(from.trim())?, seconds_ns(to.trim())?);
    Some((from.min(to), from.max(to)))
}

/// Parses "0" or "1".
pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Returns the value of the word `text` among `words`.
pub(super) fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|word| word.0 == text).map(|word| word.1)
}

/// Parses a number from 0 to 100 as a share from 0 to 1.
pub(super) fn share(text: &str) -> Option<f64> {
    let percent = real(text.trim())?;
    (percent <= 100.0).then_some(percent / 100.0)
}

/// Parses a number that is not negative.
pub(super) fn real(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Parses a whole number of at least 1.
pub(super) fn count(text: &str) -> Option<u64> {
    Units::Binary.size(text).filter(|&count| count > 0)
}

/// Sets the values for reads, writes and trims from `text`, which separates them by commas. Values left out repeat the
/// last one; one that is empty, or left out after a comma at the end, is unchanged.
pub(super) fn set_three<T: Clone>(
    values: &mut [T; 3],
    text: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<()> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 4 || (parts.len() == 4 && !parts[3].is_empty()) {
        return None;
    }
    let mut set = values.clone();
    for (op, value) in set.iter_mut().enumerate() {
        let part = parts[op.min(parts.len() - 1)];
        if !part.is_empty() {
            *value = read(part)?;
        }
    }
    *values = set;
    parts.iter().any(|part| !part.is_empty()).then_some(())
}
