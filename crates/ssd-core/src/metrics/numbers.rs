//! How numbers are printed, in the terminal and on pages: three significant digits, and one unit
//! for each kind of quantity (ns to s, B to TiB, B/s to TiB/s).
//!
//! Numbers are rounded before their unit is chosen, so that 999.6 us is 1.00 ms and 1023.9 KiB is
//! 1.00 MiB. Zero is `0`, what is not a number is a dash, and there is never an exponent.

const ABSENT: &str = "-";
const TIMES: [&str; 4] = [" ns", " us", " ms", " s"];
const SIZES: [&str; 5] = [" B", " KiB", " MiB", " GiB", " TiB"];
const RATES: [&str; 5] = [" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"];
const ENERGIES: [&str; 6] = [" pJ", " nJ", " uJ", " mJ", " J", " kJ"];
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
    let is_integer = unit == 0 && value.fract() == 0.0;
    let text = if is_integer { format!("{value:.0}") } else { significant(value) };
    text + units[unit]
}

/// A time in nanoseconds.
#[must_use]
pub fn duration(ns: f64) -> String {
    scaled(ns, 1000.0, &TIMES)
}

/// An energy in picojoules.
#[must_use]
pub fn energy(pj: f64) -> String {
    scaled(pj, 1000.0, &ENERGIES)
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
mod tests;
