//! The reason why a line was not accepted.

use std::borrow::Cow;

/// The reason why a line was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reject {
    /// What was expected, as in "expected ...".
    pub expected: Cow<'static, str>,
    /// Byte of the line, from 0, at which it was expected.
    pub column: usize,
    /// The kind of flaw, which determines the message and the handling of later lines.
    pub flaw: Flaw,
}

/// A flaw of a line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Flaw {
    /// The line cannot be read.
    #[default]
    Text,
    /// Only the time is wrong: it is before that of an earlier line.
    Late,
    /// This word for the operation has no meaning in the columns.
    Operation(Box<str>),
    /// The addresses are beyond the device.
    OutOfRange,
    /// A record of the second of these hosts, after records of the first.
    Host([Box<str>; 2]),
}

impl Reject {
    /// Creates a rejection: `expected` was expected at byte `column`.
    pub(crate) fn new(expected: impl Into<Cow<'static, str>>, column: usize) -> Reject {
        Reject { expected: expected.into(), column, flaw: Flaw::Text }
    }
}
