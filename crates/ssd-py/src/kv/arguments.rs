//! Checks what Python passes: errors name the argument, the value and what is expected.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};
use std::convert::Infallible;

#[cold]
fn wrong(name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name();
    let kind = kind.map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{name}: expected {expected}, not {kind}"))
}

/// Bytes, or the bytes of a bytearray or a memoryview. Those are copied, because they may change.
pub(crate) fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(PyBackedBytes::from(bytes.clone()));
    }
    if let Ok(array) = value.cast::<PyByteArray>() {
        return Ok(PyBackedBytes::from(array.clone()));
    }
    let shown = PyMemoryView::from(value).and_then(|view| view.call_method0("tobytes"));
    match shown.map(|bytes| bytes.cast_into::<PyBytes>()) {
        Ok(Ok(bytes)) => Ok(PyBackedBytes::from(bytes)),
        _ => Err(wrong(name, "bytes, a bytearray or a memoryview", value)),
    }
}

/// As [`bytes`], or none for None.
pub(crate) fn bytes_or_none(
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<PyBackedBytes>> {
    if value.is_none() { Ok(None) } else { bytes(name, value).map(Some) }
}

/// An argument whose default is not None.
pub(crate) struct Given<'py>(pub(crate) Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = Infallible;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> Result<Given<'py>, Infallible> {
        Ok(Given(Some(value.to_owned())))
    }
}

/// True or False; None is False.
pub(crate) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match value.extract::<Option<bool>>() {
        Ok(flag) => Ok(flag.unwrap_or(false)),
        Err(_) => Err(wrong(name, "True or False", value)),
    }
}
