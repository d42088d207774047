//! Why a run does not start.

/// Why a run did not start. Each message names the key or the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The workload cannot be opened.
    #[error("{0}")]
    Workload(String),
    /// The starting state does not fit the configuration.
    #[error("{0}")]
    Config(String),
    /// A log cannot be created.
    #[error("{0}")]
    Log(String),
    /// The caller ended it.
    #[error("interrupted before the run started")]
    Interrupted,
}
