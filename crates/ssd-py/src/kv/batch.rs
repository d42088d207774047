//! Changes that are made together.

use super::Store;
use super::arguments::{bytes, flag};
use super::errors::KvAppliedError;
use super::open_store::{Shared, check_open, write};
use pyo3::prelude::*;
use ssd_kv::WriteBatch;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Changes that are applied to a store together. Threads hold them only for short work.
#[pyclass(frozen)]
pub(crate) struct KvBatch {
    changes: Mutex<WriteBatch>,
    store: Shared,
    under: Vec<u8>,
}

impl KvBatch {
    fn lock_changes(&self) -> PyResult<MutexGuard<'_, WriteBatch>> {
        check_open(&self.store)?;
        Ok(self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn full_key(&self, key: &[u8]) -> Vec<u8> {
        [&self.under, key].concat()
    }
}

#[pymethods]
impl KvBatch {
    #[new]
    fn new(store: &Store) -> PyResult<KvBatch> {
        check_open(&store.shared)?;
        let (changes, under) = (Mutex::default(), store.under.clone());
        Ok(KvBatch { changes, store: store.shared.clone(), under })
    }

    fn put(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key, value) = (bytes("key", key)?, bytes("value", value)?);
        self.lock_changes()?.put(&self.full_key(&key), &value);
        Ok(())
    }

    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = bytes("key", key)?;
        self.lock_changes()?.delete(&self.full_key(&key));
        Ok(())
    }

    fn clear(&self) -> PyResult<()> {
        self.lock_changes()?.clear();
        Ok(())
    }

    /// Add the changes of another batch, or its own again.
    fn append(&self, other: &KvBatch) -> PyResult<()> {
        let changes = other.lock_changes()?.clone();
        self.lock_changes()?.extend(&changes);
        Ok(())
    }

    /// Apply the changes, and start an empty batch. Changes that another thread adds meanwhile are left for the next
    /// time; if the changes cannot be applied, they precede those.
    fn write(&self, py: Python<'_>, sync: &Bound<'_, PyAny>) -> PyResult<()> {
        let sync = flag("sync", sync)?;
        let mut changes = std::mem::take(&mut *self.lock_changes()?);
        let written = write(py, &self.store, |db| db.write(&changes, sync));
        if written.as_ref().is_err_and(|error| !error.is_instance_of::<KvAppliedError>(py)) {
            let mut pending = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            changes.extend(&pending);
            *pending = changes;
        }
        written
    }

    /// Its size in the log in bytes.
    fn size(&self) -> PyResult<usize> {
        Ok(self.lock_changes()?.size())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lock_changes()?.count() as usize)
    }
}
