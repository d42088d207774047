//! How numbers are printed, in the terminal and on pages: three significant digits, and one unit
//! for each kind of quantity (ns to s, B to TiB, B/s to TiB/s).
//!
//! Numbers are rounded before their unit is chosen, so that 999.6 us is 1.00 ms and 1023.9 KiB is
//! 1.00 MiB. Zero is `0`, what is not a number is a dash, and there is never an exponent.

const ABSENT: &str = "-";
const TIMES: [&str; 4] = [" ns", " us", " ms", " s"];
const SIZES: [&str; 5] = [" B", " KiB", " MiB", " GiB", " TiB"];
const RATES: [&str; 5] = [" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"];
const COUNTS: [&str; 5] = ["", " k", " M", " G", " T"];

/// `1234567` as `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits; whole numbers from 1000 on.
#[must_use]
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if size == 0.0 {
        return "0".to_owned();
    }
    if size < 0.001 {
        return if value < 0.0 { ">-0.001" } else { "<0.001" }.to_owned();
    }
    if size >= 999.5 {
        return sign.to_owned() + &grouped(&format!("{size:.0}"));
    }
    let limits = [100.0, 10.0, 1.0, 0.1, 0.01];
    let decimals = limits.iter().position(|&limit| size >= limit).unwrap_or(limits.len());
    let text = format!("{size:.decimals$}");
    // 9.996 is 10.0: what is carried takes the place of a decimal.
    let carried = decimals > 0 && text.parse().is_ok_and(|v: f64| v >= limits[decimals - 1]);
    let decimals = decimals - usize::from(carried);
    format!("{sign}{size:.decimals$}")
}

/// In the largest of `units`, each `step` times the one before, that leaves at least 1.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let (mut value, mut unit) = (value, 0);
    while value.abs().round() >= step && unit + 1 < units.len() {
        // 999.6 is 1.00 of the next unit, not 0.9996.
        value = (value.abs() / step).max(1.0).copysign(value);
        unit += 1;
    }
    // The smallest unit is not divided: a whole number of them has no decimals.
    let whole = unit == 0 && value.fract() == 0.0;
    let text = if whole { format!("{value:.0}") } else { significant(value) };
    text + units[unit]
}

/// A time in nanoseconds.
#[must_use]
pub fn duration(ns: f64) -> String {
    scaled(ns, 1000.0, &TIMES)
}

/// A number of bytes; a whole number of a unit has no decimals: `4 KiB`.
#[must_use]
pub fn size(bytes: f64) -> String {
    let text = scaled(bytes, 1024.0, &SIZES);
    match text.split_once(' ') {
        Some((number, unit)) if exact(bytes, unit) => {
            format!("{} {unit}", number.split('.').next().unwrap_or(number))
        }
        _ => text,
    }
}

/// Whether `bytes` is a whole number of `unit`.
fn exact(bytes: f64, unit: &str) -> bool {
    let power = SIZES.iter().position(|name| name.trim_start() == unit).unwrap_or(0);
    (bytes / 1024_f64.powi(i32::try_from(power).unwrap_or(0))).fract() == 0.0
}

/// Bytes a second.
#[must_use]
pub fn bandwidth(bytes_per_s: f64) -> String {
    scaled(bytes_per_s, 1024.0, &RATES)
}

/// Things a second, without their name: `1.60 M`.
#[must_use]
pub fn rate(per_second: f64) -> String {
    scaled(per_second, 1000.0, &COUNTS)
}

/// A share, 0 to 1.
#[must_use]
pub fn percent(share: f64) -> String {
    if share.is_finite() { significant(100.0 * share) + " %" } else { ABSENT.to_owned() }
}

/// A pure number that is compared with 1, such as write amplification: three decimals.
#[must_use]
pub fn ratio(value: f64) -> String {
    match value {
        v if !v.is_finite() => ABSENT.to_owned(),
        v if v > 0.0 && v < 0.0005 => "<0.001".to_owned(),
        v if v >= 999.9995 => significant(v),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_without_an_exponent() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.0004, "<0.001"),
            (-0.0004, ">-0.001"),
            (0.001, "0.00100"),
            (0.012_345, "0.0123"),
            (0.099_96, "0.100"),
            (0.999_6, "1.00"),
            (1.0, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.94, "99.9"),
            (99.96, "100"),
            (999.4, "999"),
            (999.5, "1,000"),
            (-1234.6, "-1,235"),
            (1e15, "1,000,000,000,000,000"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn times_are_rounded_before_their_unit_is_chosen() {
        let cases = [
            (0.0, "0 ns"),
            (7.0, "7 ns"),
            (7.25, "7.25 ns"),
            (999.0, "999 ns"),
            (999.4, "999 ns"),
            (999.5, "1.00 us"),
            (1000.0, "1.00 us"),
            (84_120.0, "84.1 us"),
            (700_000.0, "700 us"),
            (999_499.0, "999 us"),
            (999_500.0, "1.00 ms"),
            (3.5e9, "3.50 s"),
            (1.25e13, "12,500 s"),
            (-1500.0, "-1.50 us"),
            (f64::NAN, "-"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn bytes_have_binary_units_only() {
        const KIB: f64 = 1024.0;
        let cases = [
            (0.0, "0 B", "0 B/s"),
            (781.0, "781 B", "781 B/s"),
            (1023.0, "1023 B", "1023 B/s"),
            (1023.5, "1.00 KiB", "1.00 KiB/s"),
            (4.0 * KIB, "4 KiB", "4.00 KiB/s"),
            (1000.4 * KIB, "1,000 KiB", "1,000 KiB/s"),
            (1023.4 * KIB, "1,023 KiB", "1,023 KiB/s"),
            (1023.9 * KIB, "1.00 MiB", "1.00 MiB/s"),
            (158.2 * KIB * KIB, "158 MiB", "158 MiB/s"),
            (1.5 * KIB * KIB * KIB, "1.50 GiB", "1.50 GiB/s"),
            (f64::NAN, "-", "-"),
        ];
        for (bytes, told, a_second) in cases {
            assert_eq!(size(bytes), told, "{bytes}");
            assert_eq!(bandwidth(bytes), a_second, "{bytes}");
        }
    }

    #[test]
    fn shares_rates_counts_and_ratios() {
        let shares = [
            (0.0, "0 %"),
            (0.000_004, "<0.001 %"),
            (0.000_123_4, "0.0123 %"),
            (0.016, "1.60 %"),
            (0.9994, "99.9 %"),
            (0.9995, "100 %"),
            (1.0, "100 %"),
            (f64::NAN, "-"),
        ];
        for (share, text) in shares {
            assert_eq!(percent(share), text, "{share}");
        }
        assert_eq!(rate(0.5), "0.500");
        assert_eq!(rate(12.0), "12");
        assert_eq!(rate(999.5), "1.00 k");
        assert_eq!(rate(1_600_000.0), "1.60 M");
        assert_eq!([count(0), count(999), count(1_234_567)], ["0", "999", "1,234,567"]);
        let ratios = [(1.0, "1.000"), (0.0, "0.000"), (0.0004, "<0.001"), (1234.5, "1,234")];
        for (value, text) in ratios {
            assert_eq!(ratio(value), text, "{value}");
        }
        assert_eq!(ratio(f64::INFINITY), "-");
    }
}
