//! Values of the simple kinds: integers, numbers, quantities, words. Anything else is reported as
//! "found ...; expected ...".

use super::error::{did_you_mean, one_of};
use super::parse::{Node, RawValue};
use super::quantity::{
    Decimal, Dimension, POWER, RATE, SIZE, TIME, Unfit, by_letter, show_power, show_size, show_time,
};
use std::borrow::Cow;

/// Allowed numbers.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// `min` itself is not allowed.
    pub above: bool,
    /// `max` itself is not allowed.
    pub below: bool,
}

impl Span {
    /// From `min` to `max`.
    pub const fn closed(min: f64, max: f64) -> Span {
        Span { min, max, above: false, below: false }
    }
    /// Above `min` and up to `max`.
    pub const fn above(min: f64, max: f64) -> Span {
        Span { min, max, above: true, below: false }
    }
    /// Above `min` and below `max`.
    pub const fn inside(min: f64, max: f64) -> Span {
        Span { min, max, above: true, below: true }
    }

    /// Whether `x` is allowed.
    pub fn contains(&self, x: f64) -> bool {
        (if self.above { x > self.min } else { x >= self.min })
            && (if self.below { x < self.max } else { x <= self.max })
    }

    /// "above 0 and up to 1".
    pub fn words(&self) -> String {
        let Span { min, max, .. } = self;
        match (self.above, self.below) {
            (false, false) => format!("from {min} to {max}"),
            (true, false) => format!("above {min} and up to {max}"),
            (false, true) => format!("from {min} and below {max}"),
            (true, true) => format!("above {min} and below {max}"),
        }
    }
}

fn unfit(node: &Node, expected: &str) -> String {
    format!("found {}; expected {expected}", node.describe())
}

/// A whole number.
///
/// # Errors
/// What was found and what is expected; so do the others.
pub fn int(node: &Node, min: u64, max: u64) -> Result<u64, String> {
    let n = match &node.literal {
        RawValue::Int(Some(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    n.filter(|n| (min..=max).contains(n)).ok_or_else(|| {
        let numbers = whole_numbers_of(node).into_iter().filter(|n| (min..=max).contains(n));
        let suggestions: Vec<String> = numbers.map(|n| n.to_string()).collect();
        let expected = format!("a whole number from {min} to {max}");
        unfit(node, &expected) + &suggest(&suggestions)
    })
}

/// The whole numbers that "64k", "1M" or 8.0 may mean, with 1000 or 1024 for a thousand.
fn whole_numbers_of(node: &Node) -> Vec<u64> {
    let (digits, power) = match &node.literal {
        RawValue::Float(text) => (text.as_str(), 0),
        RawValue::Text(text) => {
            let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let suffixes = [("k", 1), ("m", 2), ("g", 3), ("t", 4)];
            let suffix = text[number.len()..].to_lowercase();
            match suffixes.iter().find(|(name, _)| *name == suffix) {
                Some((_, power)) => (number.trim_end(), *power),
                None => return Vec::new(),
            }
        }
        _ => return Vec::new(),
    };
    let factors = if power == 0 { vec![1] } else { vec![1000u128, 1024] };
    let number = Decimal::parse(digits);
    let times = |factor: u128| match number?.times(factor.pow(power))? {
        (n, true) => u64::try_from(n).ok(),
        _ => None,
    };
    factors.into_iter().filter_map(times).collect()
}

/// `; did you mean 64000 or 65536?`, or nothing.
fn suggest(suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", suggestions.join(" or "))
    }
}

/// A number as it is written; "28%" is 28e-2.
fn digits(node: &Node) -> Option<Cow<'_, str>> {
    match &node.literal {
        RawValue::Int(Some(n)) => Some(n.to_string().into()),
        RawValue::Float(text) => Some(text.into()),
        RawValue::Text(text) => {
            let percent = text.trim().strip_suffix('%')?.trim_end();
            let plain = !percent.contains(['e', 'E']) && Decimal::parse(percent).is_some();
            plain.then(|| format!("{}e-2", percent.replace('_', "")).into())
        }
        _ => None,
    }
}

/// A number, or a percentage in a string.
pub fn real(node: &Node, span: Span) -> Result<f64, String> {
    let x: Option<f64> = digits(node).and_then(|text| text.parse().ok());
    x.filter(|x| span.contains(*x))
        .map(|x| x + 0.0) // -0.0 becomes 0.0
        .ok_or_else(|| {
            // A share of 70 is likely meant as 70 %.
            let percent = x.filter(|&x| x >= 2.0 && span.max <= 1.0 && span.contains(x / 100.0));
            let suggestions: Vec<String> =
                percent.map(|x| format!("\"{x}%\"")).into_iter().collect();
            unfit(node, &format!("a number {}", span.words())) + &suggest(&suggestions)
        })
}

/// As `real`, in exact decimals.
pub fn decimal(node: &Node, span: Span) -> Result<Decimal, String> {
    real(node, span)?;
    let text = digits(node).unwrap_or_default();
    Decimal::parse(text.trim_start_matches('+'))
        .ok_or_else(|| unfit(node, &format!("a number {} with at most 30 digits", span.words())))
}

/// true or false.
pub fn flag(node: &Node) -> Result<bool, String> {
    match node.literal {
        RawValue::Flag(flag) => Ok(flag),
        _ => Err(unfit(node, "true or false")),
    }
}

/// A string.
pub fn text(node: &Node) -> Result<&str, String> {
    node.text().ok_or_else(|| unfit(node, "a string in quotes"))
}

/// One of `words`.
pub fn word(
    node: &Node,
    words: impl Iterator<Item = &'static str> + Clone,
) -> Result<&str, String> {
    let expected = || unfit(node, &one_of(words.clone()));
    match node.text() {
        Some(text) if words.clone().any(|word| word == text) => Ok(text),
        Some(text) => Err(format!("{}{}", expected(), did_you_mean(text, words.clone()))),
        None => Err(expected()),
    }
}

/// A quantity in base units, rounded down, and whether it is exact.
pub fn quantity(node: &Node, dimension: &Dimension) -> Result<(u128, bool), String> {
    let Dimension { name, example, .. } = dimension;
    let expected = format!("expected {name} with its unit, such as {example:?}");
    let units = dimension.unit_names();
    let value = node.describe();
    let Some(text) = node.text() else {
        return Err(format!("found {value}; {expected} (units: {units})"));
    };
    dimension.read(text).map_err(|reason| match reason {
        Unfit::NotANumber | Unfit::NoUnit => {
            format!("found {value}; {expected} (units: {units})")
        }
        Unfit::Other(dimension_name) => {
            format!("found {value}, which is {dimension_name}; {expected}")
        }
        Unfit::Unknown(unit, near) => {
            let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
            let suggestion = suggest(&near);
            format!("found {value}: there is no unit {unit:?}; expected one of {units}{suggestion}")
        }
        Unfit::TooLarge => format!("found {value}, which is too large; {expected}"),
    })
}

/// A time in whole nanoseconds, at most `max`.
pub fn time(node: &Node, max: u64) -> Result<u64, String> {
    let (ns, exact) = quantity(node, &TIME)?;
    if !exact {
        return Err(unfit(node, "a whole number of nanoseconds"));
    }
    u64::try_from(ns)
        .ok()
        .filter(|&ns| ns <= max)
        .ok_or_else(|| unfit(node, &format!("a time of at most {}", show_time(max))))
}

/// A power in whole microwatts, at most `max`.
pub fn power(node: &Node, max: u64) -> Result<u64, String> {
    let (uw, exact) = quantity(node, &POWER)?;
    if !exact {
        return Err(unfit(node, "a whole number of microwatts"));
    }
    u64::try_from(uw)
        .ok()
        .filter(|&uw| uw <= max)
        .ok_or_else(|| unfit(node, &format!("a power of at most {}", show_power(max))))
}

/// A size in bytes, rounded down if it has a fraction: a string with unit or an integer of bytes.
pub fn bytes(node: &Node) -> Result<(u128, bool), String> {
    match &node.literal {
        RawValue::Int(Some(n)) if *n >= 0 => Ok((n.unsigned_abs(), true)),
        RawValue::Text(text) => match by_letter(text) {
            // A capacity may be meant in powers of 1000 or of 1024.
            Some(sizes) => {
                let suggestions = sizes.map(|size| format!("{size:?}"));
                Err(unfit(node, "a size with its unit") + &suggest(&suggestions))
            }
            None => quantity(node, &SIZE),
        },
        _ => Err(unfit(node, r#"a size such as "4 KiB", or a whole number of bytes"#)),
    }
}

/// A size in whole bytes within bounds.
pub fn size(node: &Node, min: u64, max: u64) -> Result<u64, String> {
    let (n, exact) = bytes(node)?;
    let n = u64::try_from(n).ok().filter(|n| (min..=max).contains(n));
    n.filter(|_| exact).ok_or_else(|| {
        let (min, max) = (show_size(min), show_size(max));
        unfit(node, &format!("a size in whole bytes from {min} to {max}"))
    })
}

/// The size of a page or a request within bounds: "16k" is "16 KiB", as fio, dd and qemu read it.
pub fn block_size(node: &Node, min: u64, max: u64) -> Result<u64, String> {
    match node.text().and_then(by_letter) {
        Some([_, binary]) => {
            let read = size(&Node { place: node.place, literal: RawValue::Text(binary) }, min, max);
            read.map_err(|message| {
                format!(
                    "found {}, which is {}",
                    node.describe(),
                    message.trim_start_matches("found ")
                )
            })
        }
        None => size(node, min, max),
    }
}

/// A bus rate in whole bytes a second.
pub fn rate(node: &Node) -> Result<u64, String> {
    let (n, exact) = quantity(node, &RATE)?;
    u64::try_from(n)
        .ok()
        .filter(|n| exact && (1_000..=1_000_000_000_000).contains(n))
        .ok_or_else(|| unfit(node, "a rate in whole bytes per second from 1 kB/s to 1000 GB/s"))
}

/// The same, or "unlimited".
pub fn rate_or_unlimited(node: &Node) -> Result<Option<u64>, String> {
    match node.text() {
        Some("unlimited") => Ok(None),
        _ => rate(node).map(Some),
    }
}
