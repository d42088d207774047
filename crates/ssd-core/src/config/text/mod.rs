//! Input as it was written: TOML and `--set` as trees with source positions (`parse`), values of the simple
//! kinds (`read`, `quantity`), and what is wrong with them (`error`).

pub(crate) mod error;
pub(crate) mod parse;
pub(crate) mod quantity;
pub(crate) mod read;
