//! Streams of operations on keys, in batches of arrays.

use crate::traces::refused;
use numpy::PyArray1;
use pyo3::prelude::*;
use ssd_trace::keys::{Stream, StreamParameters, stream, ycsb::Keys};
use std::sync::Mutex;

/// Operation (index into read, insert, update, read-modify-write, scan, delete), key, bytes of the value
/// written, keys scanned.
type Batch<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
);

/// A stream of operations on keys.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct KeyStream(Mutex<Stream>);

#[pymethods]
impl KeyStream {
    /// The stream called `name`. Raises `WorkloadError` if there is none, or not with these numbers.
    #[new]
    #[pyo3(signature = (name, *, records, operations, value_bytes=None, keys=None, seed=1))]
    fn new(
        name: &str,
        records: u64,
        operations: u64,
        value_bytes: Option<u32>,
        keys: Option<&str>,
        seed: u64,
    ) -> PyResult<KeyStream> {
        let keys = keys.map(Keys::named).transpose().map_err(|error| refused(&error))?;
        let parameters = StreamParameters { records, operations, value_bytes, keys, seed };
        let stream = stream(name, &parameters).map_err(|error| refused(&error))?;
        Ok(KeyStream(Mutex::new(stream)))
    }

    /// The next operations, at most `most`: arrays of operation, key, bytes of the value, keys scanned;
    /// empty ones at the end.
    fn next_batch<'py>(&self, py: Python<'py>, most: usize) -> Batch<'py> {
        let (mut op, mut key, mut value, mut scan) = (vec![], vec![], vec![], vec![]);
        py.detach(|| {
            let mut stream = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for operation in stream.by_ref().take(most) {
                // Six operations.
                op.push(operation.op as u8);
                key.push(operation.key);
                value.push(operation.value_bytes);
                scan.push(operation.scan);
            }
        });
        (
            PyArray1::from_vec(py, op),
            PyArray1::from_vec(py, key),
            PyArray1::from_vec(py, value),
            PyArray1::from_vec(py, scan),
        )
    }
}
