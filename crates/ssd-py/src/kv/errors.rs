//! What a store raises.

use pyo3::exceptions::{PyException, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyTuple, PyType};
use ssd_kv::Error;

pyo3::create_exception!(
    ssdlab._core,
    KvError,
    PyException,
    "A store that cannot do what was asked."
);
pyo3::create_exception!(ssdlab._core, KvCorruptionError, KvError, "A damaged file of a store.");
pyo3::create_exception!(
    ssdlab._core,
    KvAppliedError,
    KvError,
    "A write that is made, though background work after it failed."
);

/// Errors that are also one of Python's own kinds.
pub(crate) struct Kinds {
    pub(crate) closed: Py<PyType>,
    pub(crate) io: Py<PyType>,
    pub(crate) locked: Py<PyType>,
    pub(crate) uncertain: Py<PyType>,
}

impl Kinds {
    pub(crate) fn of(py: Python<'_>) -> PyResult<&Kinds> {
        static KINDS: PyOnceLock<Kinds> = PyOnceLock::new();
        KINDS.get_or_try_init(py, || Kinds::new(py))
    }

    fn new<'py>(py: Python<'py>) -> PyResult<Kinds> {
        let base = py.get_type::<KvError>();
        let (runtime, os) = (py.get_type::<PyRuntimeError>(), py.get_type::<PyOSError>());
        let kind = |name: &str, doc: &str, bases: &[&Bound<'py, PyType>]| {
            let dict = [("__module__", "ssdlab._core"), ("__doc__", doc)].into_py_dict(py)?;
            let of_types = py.get_type::<PyType>();
            let class = of_types.call1((name, PyTuple::new(py, bases)?, dict))?;
            class.cast_into::<PyType>().map_err(PyErr::from)
        };
        let io = kind("KvIoError", "A file of a store that cannot be used.", &[&base, &os])?;
        let locked = kind("KvLockedError", "A store that is open elsewhere.", &[&io])?;
        let text = "A store, or something of one, that is used after it was closed.";
        let closed = kind("KvClosedError", text, &[&base, &runtime])?;
        let text = "A write that may be found when the store is opened again, or not at all.";
        let uncertain = kind("KvUncertainError", text, &[&io])?;
        let [closed, io, locked, uncertain] = [closed, io, locked, uncertain].map(Bound::unbind);
        Ok(Kinds { closed, io, locked, uncertain })
    }
}

fn of_kind(text: String, kind: impl FnOnce(&Kinds) -> &Py<PyType>) -> PyErr {
    Python::attach(|py| match Kinds::of(py) {
        Ok(kinds) => PyErr::from_type(kind(kinds).bind(py).clone(), (text,)),
        Err(error) => error,
    })
}

/// The error that `subject`, such as "the store", is used after it was closed.
#[cold]
pub(crate) fn closed(subject: &str) -> PyErr {
    of_kind(format!("{subject} is closed"), |kinds| &kinds.closed)
}

/// The error of a write, caused by another one.
fn caused(error: PyErr, cause: Error) -> PyErr {
    Python::attach(|py| error.set_cause(py, Some(kv_error(cause))));
    error
}

#[cold]
pub(crate) fn kv_error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Applied(cause) => caused(KvAppliedError::new_err(text), *cause),
        Error::Uncertain(cause) => caused(of_kind(text, |kinds| &kinds.uncertain), *cause),
        Error::Poisoned(cause) if cause.is_corruption() => KvCorruptionError::new_err(text),
        Error::Poisoned(cause) if matches!(*cause, Error::Io { .. }) => {
            of_kind(text, |kinds| &kinds.io)
        }
        Error::Corruption { .. } => KvCorruptionError::new_err(text),
        Error::Io { .. } => of_kind(text, |kinds| &kinds.io),
        Error::Stopped(inner) => {
            match inner.get_ref().and_then(|source| source.downcast_ref::<PyErr>()) {
                Some(raised) => Python::attach(|py| raised.clone_ref(py)),
                None => KvError::new_err(text),
            }
        }
        Error::Locked(_) => of_kind(text, |kinds| &kinds.locked),
        Error::Invalid(_) | Error::Poisoned(_) => KvError::new_err(text),
    }
}
