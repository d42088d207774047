//! A panic is a bug of ours. Python raises it as an exception; its location is kept for the bug report instead of being
//! printed to the user's terminal.

use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Record the location of every panic of this library; print nothing.
pub(crate) fn silence() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// Source file, line and column of the last panic, if there was one.
#[pyfunction]
pub(crate) fn last_panic() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
