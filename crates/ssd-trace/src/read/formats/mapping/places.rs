//! Positions of the fields of a request.

use super::Number;
use ssd_core::host::request::Op;

/// Position of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The column of this number, from 1; from the end if negative.
    Numbered(i32),
    /// The column with this name.
    Named(String),
    /// A number in a binary record.
    Bytes(Number, usize),
}

impl Place {
    /// Returns the name of the column, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Place::Named(name) => Some(name),
            Place::Numbered(_) | Place::Bytes(..) => None,
        }
    }
}

/// A column, with the nanoseconds or bytes of its unit; `None` if the unit is not stated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    pub(crate) place: Place,
    pub(crate) unit: Option<u64>,
}

/// Source of the operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Column(Place),
    Constant(Op),
}

/// Source of the length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    Column(Column),
    /// Bytes.
    Constant(u64),
}

impl Size {
    /// Returns the bytes of the unit of its column; `None` if no unit is stated.
    pub(crate) fn unit(&self) -> Option<u64> {
        match self {
            Size::Column(column) => column.unit,
            Size::Constant(_) => None,
        }
    }
}
