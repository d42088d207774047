//! Values of the simple kinds: integers, numbers, quantities, words. Anything else is reported as
//! "found ...; expected ...".

use super::error::{did_you_mean, one_of};
use super::parse::{Node, Said};
use super::quantity::{Decimal, Dimension, RATE, SIZE, TIME, Unfit, show_size, show_time};

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
    format!("found {}; expected {expected}", node.found())
}

/// A whole number.
///
/// # Errors
/// What was found and what is expected; so do the others.
pub fn int(node: &Node, min: u64, max: u64) -> Result<u64, String> {
    let n = match &node.said {
        Said::Int(Some(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    n.filter(|n| (min..=max).contains(n))
        .ok_or_else(|| unfit(node, &format!("a whole number from {min} to {max}")))
}

/// A number.
pub fn real(node: &Node, span: Span) -> Result<f64, String> {
    let x = match &node.said {
        Said::Int(Some(n)) => Some(*n as f64),
        Said::Float(text) => text.parse().ok(),
        _ => None,
    };
    x.filter(|x: &f64| span.contains(*x))
        .map(|x| x + 0.0) // -0.0 becomes 0.0
        .ok_or_else(|| unfit(node, &format!("a number {}", span.words())))
}

/// As `real`, in exact decimals.
pub fn decimal(node: &Node, span: Span) -> Result<Decimal, String> {
    let x = real(node, span)?;
    let text = match &node.said {
        Said::Float(text) => text.clone(),
        _ => format!("{x}"),
    };
    Decimal::parse(text.trim_start_matches('+'))
        .ok_or_else(|| unfit(node, &format!("a number {} with at most 30 digits", span.words())))
}

/// true or false.
pub fn flag(node: &Node) -> Result<bool, String> {
    match node.said {
        Said::Flag(flag) => Ok(flag),
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
        Some(said) if words.clone().any(|word| word == said) => Ok(said),
        Some(said) => Err(format!("{}{}", expected(), did_you_mean(said, words.clone()))),
        None => Err(expected()),
    }
}

/// A quantity in base units, rounded down, and whether it is exact.
pub fn quantity(node: &Node, dimension: &Dimension) -> Result<(u128, bool), String> {
    let Dimension { name, example, .. } = dimension;
    let expected = format!("expected {name} with its unit, such as {example:?}");
    let units = dimension.unit_names();
    let found = node.found();
    let Some(text) = node.text() else {
        return Err(format!("found {found}; {expected} (units: {units})"));
    };
    dimension.read(text).map_err(|why| match why {
        Unfit::NotANumber | Unfit::NoUnit => {
            format!("found {found}; {expected} (units: {units})")
        }
        Unfit::Other(other) => format!("found {found}, which is {other}; {expected}"),
        Unfit::Unknown(unit, near) => {
            let meant = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            format!("found {found}: there is no unit {unit:?}; expected one of {units}{meant}")
        }
        Unfit::TooLarge => format!("found {found}, which is too large; {expected}"),
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

/// A size in bytes, rounded down if it has a fraction: a string with unit or an integer of bytes.
pub fn bytes(node: &Node) -> Result<(u128, bool), String> {
    match &node.said {
        Said::Int(Some(n)) if *n >= 0 => Ok((n.unsigned_abs(), true)),
        Said::Text(_) => quantity(node, &SIZE),
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
