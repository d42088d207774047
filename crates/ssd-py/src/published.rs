//! The published numbers of papers and drives, as data.

use pyo3::prelude::*;
use serde_json::Value;

/// Name of a paper and the file of its numbers.
const PAPERS: [(&str, &str); 5] = [
    ("adaptive-channel", include_str!("../../../papers/adaptive-channel.toml")),
    ("deferred-gc-raid", include_str!("../../../papers/deferred-gc-raid.toml")),
    ("invalidation-rate", include_str!("../../../papers/invalidation-rate.toml")),
    ("noc-copyback", include_str!("../../../papers/noc-copyback.toml")),
    ("remapcom", include_str!("../../../papers/remapcom.toml")),
];

/// The numbers of `paper` as JSON; null where the paper gives none.
#[pyfunction]
pub(crate) fn published(paper: &str) -> PyResult<String> {
    let Some((_, text)) = PAPERS.iter().find(|(name, _)| *name == paper) else {
        let names = PAPERS.map(|(name, _)| name).join(", ");
        return Err(crate::ConfigError::new_err(format!(
            "{paper}: no such paper; there are: {names}"
        )));
    };
    let numbers: Value = toml::from_str(text).expect("the file of the paper's numbers is TOML");
    Ok(numbers.to_string())
}

/// A TOML text as JSON. Raises `ConfigError` with the place and the reason if it is invalid.
#[pyfunction]
pub(crate) fn toml_json(text: &str) -> PyResult<String> {
    let value: Value = toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count());
        crate::ConfigError::new_err(format!("line {}: {}", line + 1, error.message()))
    })?;
    Ok(value.to_string())
}

/// The published figures of a drive.
pub(crate) fn table(text: &str) -> Value {
    toml::from_str(text).expect("the published figures of a drive are TOML")
}
