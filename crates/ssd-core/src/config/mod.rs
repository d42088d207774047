//! The configuration, from text to checked values.
//!
//! The stages, each of which knows only those before it:
//!
//! - `text`: TOML and `--set` with their source positions, quantities with units, error messages.
//! - `draft`: a configuration while its layers are applied.
//! - `keys`: what a key is: types, ranges, and how a value is read and printed.
//! - `tables`: the resolved configuration, a file for each table, and `presets`.
//! - `checks`: what must hold between keys.
//! - `terms`: words of other tools.
//! - `composed`: the kernel's tables together with those that another crate declares.
//! - `load`: layer by layer (default, preset, file, `--set`) to a configuration, or to all errors together;
//!   `print`: a configuration as text; `schema`: JSON Schema; `reference`: the page of all keys.

pub mod checks;
pub mod composed;
pub mod draft;
pub mod keys;
mod load;
pub mod presets;
mod print;
mod reference;
mod schema;
mod tables;
pub mod terms;
pub mod text;
pub mod words;

pub use composed::{Composed, Kernel};
pub use load::{Input, load};
pub use print::{digest, key_paths, shown, to_toml};
pub use reference::reference_markdown;
pub use schema::schema;
pub use tables::*;
pub use text::error::{ConfigError, nearest};
pub use words::Word;
