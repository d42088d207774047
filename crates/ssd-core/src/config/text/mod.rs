//! Input as it was written: TOML and `--set` as trees with source positions (`parse`), values of the simple
//! kinds (`read`, `quantity`), and what is wrong with them (`error`).

pub mod error;
pub mod parse;
pub mod quantity;
pub mod read;
