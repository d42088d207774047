//! Where the fields of a request stand.

use super::Number;
use ssd_core::host::request::Op;

/// Where a value stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The column of this number, from 1; from the end if negative.
    At(i32),
    /// The column under this name.
    Named(String),
    /// A number in a binary record.
    Bytes(Number, usize),
}

impl Place {
    /// The name of the column, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Place::Named(name) => Some(name),
            Place::At(_) | Place::Bytes(..) => None,
        }
    }
}

/// A column with the size of one of its unit, nanoseconds or bytes; `None` if that is not stated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    pub(crate) place: Place,
    pub(crate) unit: Option<u64>,
}

/// Where the operation is from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Of(Place),
    Always(Op),
}

/// Where the length is from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    Of(Column),
    /// Bytes.
    Always(u64),
}

impl Size {
    /// The size of one unit of its column, in bytes; `None` if none is stated.
    pub(crate) fn unit(&self) -> Option<u64> {
        match self {
            Size::Of(column) => column.unit,
            Size::Always(_) => None,
        }
    }
}
