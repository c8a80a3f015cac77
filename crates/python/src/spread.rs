//! A Python function can spread runs over other processes.

use crate::attend::attend;
use crate::error::exception;
use crate::routing::{Definition, registry};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use raddle_lab::Error;
use raddle_lab::sweep::{self, Elsewhere, Files};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A generator function of Python, such as `raddle.cluster.spread`. `spread(tasks)` yields the index of each task that
/// has ended without an error, with the files of its run as a dict of bytes. Between these values, it yields `None`
/// several times a second. After the generator is closed, it begins no further task.
pub(crate) struct Spread {
    spread: Py<PyAny>,
    /// The exception that ended the generator.
    raised: Mutex<Option<PyErr>>,
}

impl Spread {
    pub(crate) fn new(spread: Py<PyAny>) -> Self {
        Self { spread, raised: Mutex::default() }
    }

    /// The exception that ended the generator, or the exception for `error`.
    pub(crate) fn exception(spread: Option<&Self>, py: Python<'_>, error: &Error) -> PyErr {
        let raised =
            spread.and_then(|spread| spread.raised.lock().unwrap_or_else(PoisonError::into_inner).take());
        raised.unwrap_or_else(|| exception(py, error))
    }
}

/// A value that the generator yields.
type News = Option<(usize, BTreeMap<String, PyBackedBytes>)>;

impl Elsewhere for Spread {
    fn run(
        &self,
        tasks: &[String],
        is_over: &(dyn Fn() -> bool + Sync),
        done: &mut (dyn FnMut(usize, Files) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let raised = |error: PyErr| {
            let told = Error::Run(error.to_string());
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            told
        };
        Python::attach(|py| {
            let generator = self.spread.bind(py).call1((tasks.to_vec(),)).map_err(raised)?;
            let mut values = generator.try_iter().map_err(raised)?;
            while !is_over() {
                let Some(value) = values.next() else { return Ok(()) };
                let news: News = value.and_then(|value| value.extract()).map_err(raised)?;
                if let Some((task, files)) = news {
                    let files = files.into_iter().map(|(name, content)| (name, content.to_vec())).collect();
                    py.detach(|| done(task, files))?;
                }
            }
            generator.call_method0("close").map(drop).map_err(raised)
        })
    }
}

/// Does a task in this process, and writes its files into a new directory. The task can select `routings` by their
/// names. The task ends early at a signal whose handler raises an exception, such as the signal that a cancelled task
/// gets.
#[pyfunction]
pub(crate) fn do_task(
    py: Python<'_>,
    task: &str,
    directory: PathBuf,
    routings: Vec<Definition>,
) -> PyResult<()> {
    let registry = registry(py, routings)?.into();
    let (done, interrupted) = attend(py, None, |stop, _| sweep::do_task(task, &registry, &directory, stop))?;
    if interrupted {
        return Err(PyKeyboardInterrupt::new_err("the task was cancelled"));
    }
    done.map_err(|error| exception(py, &error))
}
