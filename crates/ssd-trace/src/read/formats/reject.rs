//! Why a line was not accepted.

use std::borrow::Cow;

/// Why a line was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reject {
    /// What was expected, as in "expected ...".
    pub expected: Cow<'static, str>,
    /// Byte of the line, from 0, at which it was expected.
    pub column: usize,
    /// The kind of flaw, on which the message and the handling of lines below depend.
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
    /// It is a record of the second of these hosts, below records of the first.
    Host([Box<str>; 2]),
}

impl Reject {
    /// Expected `expected` at byte `column`.
    pub(crate) fn new(expected: impl Into<Cow<'static, str>>, column: usize) -> Reject {
        Reject { expected: expected.into(), column, flaw: Flaw::Text }
    }
}
