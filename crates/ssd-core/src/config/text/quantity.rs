//! Quantities with units: "4 KiB", "0.7 ms", "333 MB/s". Parsed exactly, in decimal, without
//! floating point.

/// A decimal number that is not negative: `mantissa / 10^scale`, without trailing zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    mantissa: u128,
    scale: u32,
}

impl Decimal {
    /// Most digits before and after the point together.
    const MAX_DIGITS: usize = 30;

    /// A whole number.
    pub const fn from_integer(n: u128) -> Decimal {
        Decimal { mantissa: n, scale: 0 }
    }

    /// "12", "0.25", "1_000", "1e-4"; `None` for anything else, signs included.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        if !integer.starts_with(|c: char| c.is_ascii_digit())
            || (digits.contains('.') && !fraction.starts_with(|c: char| c.is_ascii_digit()))
            || !is_number(integer)
            || !is_number(fraction)
        {
            return None;
        }
        let plain = |part: &str| part.replace('_', "");
        let (integer, fraction) = (plain(integer), plain(fraction));
        let fraction = fraction.trim_end_matches('0');
        let significand = format!("{integer}{fraction}");
        let significand = significand.trim_start_matches('0');
        if significand.len() > Decimal::MAX_DIGITS || exponent.unsigned_abs() > 30 {
            return None;
        }
        let mantissa: u128 = if significand.is_empty() { 0 } else { significand.parse().ok()? };
        let scale = fraction.len() as i32 - exponent;
        if scale < 0 {
            let factor = 10u128.checked_pow(scale.unsigned_abs())?;
            return Some(Decimal::from_integer(mantissa.checked_mul(factor)?));
        }
        let scale = scale.unsigned_abs();
        (scale <= Decimal::MAX_DIGITS as u32).then_some(Decimal { mantissa, scale })
    }

    /// This times `n`, rounded down, and whether nothing was lost; `None` if it is too large.
    pub fn times(self, n: u128) -> Option<(u128, bool)> {
        let factor = 10u128.pow(self.scale);
        let product = self.mantissa.checked_mul(n)?;
        Some((product / factor, product % factor == 0))
    }

    /// `n / (1 + self)`, rounded down; `None` if it is too large.
    pub fn share_without(self, n: u128) -> Option<u128> {
        let factor = 10u128.pow(self.scale);
        Some(n.checked_mul(factor)? / factor.checked_add(self.mantissa)?)
    }
}

/// A kind of quantity with its units.
pub struct Dimension {
    /// "a time", "a size" ...
    pub name: &'static str,
    /// An example.
    pub example: &'static str,
    /// Units with their size in the base unit.
    pub units: &'static [(&'static str, u128)],
}

/// Times in nanoseconds.
pub const TIME: Dimension = Dimension {
    name: "a time",
    example: "25 us",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};

/// Sizes in bytes.
pub const SIZE: Dimension = Dimension {
    name: "a size",
    example: "4 KiB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

/// Bus rates in bytes a second; a bus transfers 8 bits at a time.
pub const RATE: Dimension = Dimension {
    name: "a rate",
    example: "333 MB/s",
    units: &[
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
        ("MT/s", 1_000_000),
        ("GT/s", 1_000_000_000),
    ],
};

/// Power in microwatts.
pub const POWER: Dimension = Dimension {
    name: "a power",
    example: "82.5 mW",
    units: &[("uW", 1), ("mW", 1_000), ("W", 1_000_000)],
};

/// Requests a second, in requests per 1000 s (so that "0.5 per s" is exact).
pub const FREQUENCY: Dimension = Dimension {
    name: "a rate of requests",
    example: "20000 per s",
    units: &[("per s", 1_000), ("/s", 1_000), ("per ms", 1_000_000), ("/ms", 1_000_000)],
};

/// Everything that has a unit, for the message about a unit of another dimension.
const ALL: [&Dimension; 5] = [&TIME, &SIZE, &RATE, &POWER, &FREQUENCY];

/// Why a text is not a quantity.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// No number at the front, or a negative one.
    NotANumber,
    /// A number and nothing else.
    NoUnit,
    /// The unit belongs to another dimension, which is named here.
    Other(&'static str),
    /// Not a unit, with the nearest units.
    Unknown(String, Vec<&'static str>),
    /// More than this program can hold.
    TooLarge,
}

impl Dimension {
    /// The quantity in base units, rounded down, and whether it is exact.
    pub fn read(&self, text: &str) -> Result<(u128, bool), Unfit> {
        let (number, unit) = split(text.trim());
        let number = Decimal::parse(number).ok_or(Unfit::NotANumber)?;
        if unit.is_empty() {
            return Err(Unfit::NoUnit);
        }
        // The Greek and the Latin-1 letter mu.
        let unit = unit.replace(['\u{b5}', '\u{3bc}'], "u");
        match self.units.iter().find(|(name, _)| *name == unit || is_binary(name, &unit)) {
            Some(&(_, worth)) => number.times(worth).ok_or(Unfit::TooLarge),
            None => Err(self.wrong_unit(&unit)),
        }
    }

    fn wrong_unit(&self, unit: &str) -> Unfit {
        let has = |d: &&&Dimension| d.units.iter().any(|(name, _)| *name == unit);
        if let Some(dimension) = ALL.iter().find(has) {
            return Unfit::Other(dimension.name);
        }
        let near = |name: &str| {
            if name.eq_ignore_ascii_case(unit) || is_thousands(name, unit) {
                Some(0)
            } else if name.len() > 1 && unit.len() > 1 && strsim::osa_distance(name, unit) <= 1 {
                Some(1)
            } else {
                // "usec": the longest unit that it begins with. "MT": a rate without its time.
                let front = unit.starts_with(name).then(|| 10 - name.len().min(8));
                front.or_else(|| name.starts_with(unit).then_some(10))
            }
        };
        let ranked = self.units.iter().filter_map(|&(name, _)| Some((near(name)?, name)));
        let mut ranked: Vec<(usize, &'static str)> = ranked.collect();
        ranked.sort_by_key(|&(rank, _)| rank);
        // Two units are offered only if one is a power of 1000 and the other of 1024.
        let ties = ranked.iter().take_while(|&&(rank, _)| rank == 0).count().max(1);
        Unfit::Unknown(unit.to_string(), ranked.iter().take(ties).map(|&(_, name)| name).collect())
    }

    /// "ns, us, ms or s".
    pub fn unit_names(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|&(name, _)| name).collect();
        let (last, rest) = names.split_last().expect("a dimension has units");
        format!("{} or {last}", rest.join(", "))
    }
}

/// Whether `unit` is `name`, a power of 1024, in any case: no other unit is written so.
fn is_binary(name: &str, unit: &str) -> bool {
    name.as_bytes().get(1) == Some(&b'i') && name.eq_ignore_ascii_case(unit)
}

/// Whether `unit` is `name` without its "i": "KB" may be 1000 or 1024 bytes.
fn is_thousands(name: &str, unit: &str) -> bool {
    name.len() > 2 && name.as_bytes()[1] == b'i' && name.replace('i', "").eq_ignore_ascii_case(unit)
}

/// The two sizes that a text like "16k" may mean, in powers of 1000 and of 1024; `None` for other texts.
#[must_use]
pub fn by_letter(text: &str) -> Option<[String; 2]> {
    let (number, unit) = split(text.trim());
    Decimal::parse(number)?;
    let letter = unit.to_uppercase();
    let decimal = if letter == "K" { "k" } else { &letter };
    let is_known = matches!(letter.as_str(), "K" | "M" | "G" | "T");
    is_known.then(|| [format!("{number} {decimal}B"), format!("{number} {letter}iB")])
}

/// Number and unit of a text; the exponent of "1e3 ns" belongs to the number.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let exponent = matches!(bytes[end], b'e' | b'E') && {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
            bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit)
        };
        if exponent {
            end += 2;
        } else if bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'_' | b'-' | b'+') {
            end += 1;
        } else {
            break;
        }
    }
    (&text[..end], text[end..].trim())
}

/// `ns` with the largest unit up to a second that keeps it at 1 or more: "3.8 ms". Exact.
pub fn show_time(ns: u64) -> String {
    let units = [("s", 1_000_000_000u64, 9usize), ("ms", 1_000_000, 6), ("us", 1_000, 3)];
    for (name, worth, digits) in units {
        if ns >= worth {
            let (integer, rest) = (ns / worth, ns % worth);
            let fraction = format!("{rest:0digits$}");
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            return format!("{integer}{point}{fraction} {name}");
        }
    }
    format!("{ns} ns")
}

/// `uw` microwatts in milliwatts: "82.5 mW". Exact.
pub fn show_power(uw: u64) -> String {
    let fraction = format!("{:03}", uw % 1000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} mW", uw / 1000)
}

/// `bytes` with the largest binary unit that divides them: "4 KiB". Exact.
pub fn show_size(bytes: u64) -> String {
    for (name, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{} {name}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

/// `rate`, bytes a second, with the largest decimal unit of at least 1 kB/s that divides it, else with
/// a fraction of 1 kB/s: "600 MB/s". Exact.
pub fn show_rate(rate: u64) -> String {
    for (name, worth) in [("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("kB/s", 1000)] {
        if rate > 0 && rate.is_multiple_of(worth) {
            return format!("{} {name}", rate / worth);
        }
    }
    format!("{}.{:03} kB/s", rate / 1000, rate % 1000)
}

/// The same of a rate that may have no limit.
#[must_use]
pub fn show_rate_or_unlimited(rate: Option<u64>) -> String {
    rate.map_or("unlimited".to_string(), show_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(TIME.read("0.7 ms"), Ok((700_000, true)));
        assert_eq!(TIME.read("0.1us"), Ok((100, true)));
        assert_eq!(TIME.read("1e3 ns"), Ok((1_000, true)));
        assert_eq!(TIME.read("25 \u{b5}s"), Ok((25_000, true)));
        assert_eq!(TIME.read("0.0001 us"), Ok((0, false)));
        assert_eq!(SIZE.read("3.4 GiB"), Ok((3_650_722_201, false)));
        assert_eq!(SIZE.read("4 kB"), Ok((4_000, true)));
        assert_eq!(RATE.read("333 MT/s"), Ok((333_000_000, true)));
        assert_eq!(FREQUENCY.read("20000 per s"), Ok((20_000_000, true)));
        assert_eq!(Decimal::parse("0.15").and_then(|d| d.share_without(115)), Some(100));
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        assert_eq!(TIME.read("25"), Err(Unfit::NoUnit));
        assert_eq!(TIME.read("4 KiB"), Err(Unfit::Other("a size")));
        assert_eq!(SIZE.read("4 KB"), Err(Unfit::Unknown("KB".into(), vec!["kB", "KiB"])));
        assert_eq!(TIME.read("4 Ms"), Err(Unfit::Unknown("Ms".into(), vec!["ms"])));
        assert_eq!(TIME.read("soon"), Err(Unfit::NotANumber));
        assert_eq!(TIME.read("-1 us"), Err(Unfit::NotANumber));
        assert_eq!(TIME.read(""), Err(Unfit::NotANumber));
        let huge = "9".repeat(30);
        assert_eq!(TIME.read(&format!("{huge} h")), Err(Unfit::TooLarge));
        for text in ["1.", ".5", "1e", "1e99", "--1", "1__", "_1", "1.2.3", "1e-99"] {
            let read = Decimal::parse(text);
            assert!(read.is_none() || text == "1__", "{text}: {read:?}");
        }
    }

    #[test]
    fn printed_quantities_read_back() {
        for ns in [0, 1, 999, 1_000, 12_300, 3_800_000, 1_234_567_891, u64::MAX] {
            assert_eq!(TIME.read(&show_time(ns)), Ok((u128::from(ns), true)), "{}", show_time(ns));
        }
        for bytes in [0, 1, 512, 4096, 1 << 32, (1 << 32) + 512, u64::MAX] {
            assert_eq!(SIZE.read(&show_size(bytes)), Ok((u128::from(bytes), true)));
        }
        assert_eq!(show_time(3_800_000), "3.8 ms");
        assert_eq!(show_size(16384), "16 KiB");
    }
}
