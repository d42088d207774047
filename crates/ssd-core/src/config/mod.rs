//! The configuration, from text to checked values.
//!
//! The stages, each of which knows only those before it:
//!
//! - `text`: TOML and `--set` with their source positions, quantities with units, error messages.
//! - `resolved`: the resolved configuration, its words and defaults; then `presets`.
//! - `draft`: a configuration while its layers are applied.
//! - `keys`: the table of keys: types, ranges, and how a value is read and printed.
//! - `checks`: what must hold between keys.
//! - `load`: layer by layer (default, preset, file, `--set`) to a configuration, or to all errors together;
//!   `print`: a configuration as text; `schema`: JSON Schema and the page of all keys.

mod checks;
mod draft;
mod keys;
mod load;
pub mod presets;
mod print;
mod resolved;
mod schema;
mod text;

pub use load::{Input, load};
pub use print::{digest, key_paths, shown, to_toml};
pub use resolved::*;
pub use schema::{reference_markdown, schema};
pub use text::error::{ConfigError, nearest};
