//! Why a line was not accepted.

use std::borrow::Cow;

/// Why a line was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reject {
    /// What was expected, as in "expected ...".
    pub expected: Cow<'static, str>,
    /// Byte of the line, from 0, at which it was expected.
    pub column: usize,
    /// What messages and the order of events have to know of it.
    pub flaw: Flaw,
}

/// A flaw of a line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Flaw {
    /// The line cannot be read.
    #[default]
    Text,
    /// Only its time is wrong: it is before one above it.
    Late,
    /// This word for its operation has no meaning in the columns.
    Operation(Box<str>),
    /// Its addresses are not on the device.
    Beyond,
    /// It is of the second of these hosts, those above of the first.
    Host([Box<str>; 2]),
}

impl Reject {
    /// Expected `expected` at byte `column`.
    pub(crate) fn new(expected: impl Into<Cow<'static, str>>, column: usize) -> Reject {
        Reject { expected: expected.into(), column, flaw: Flaw::Text }
    }
}
