//! The names that experiments accept, the explanations of these names, and the JSON Schema of experiments.

use crate::error::exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raddle_lab::catalogue;
use raddle_lab::experiment::keys;
use raddle_schemes::registry::Registry;

/// The names of the kind `what`, such as `schemes`, as a JSON text. The text is an object. Its keys are the titles of
/// lists, and its values are the entries of these lists.
#[pyfunction]
pub(crate) fn names(py: Python<'_>, what: &str) -> PyResult<String> {
    let registry = Registry::builtin();
    let parts = match what {
        "schemes" => catalogue::schemes(&registry),
        "topologies" => vec![catalogue::topologies(&registry)],
        "workloads" => vec![catalogue::workloads()],
        "keys" => vec![catalogue::keys()],
        "figures" => {
            let figures = catalogue::figures().map_err(|error| exception(py, &error))?;
            return Ok(catalogue::figures_json(&figures).to_string());
        }
        _ => {
            let why = format!(
                "`what` must be 'schemes', 'topologies', 'workloads', 'keys' or 'figures' (got '{what}')"
            );
            return Err(PyValueError::new_err(why));
        }
    };
    Ok(catalogue::json(&parts).to_string())
}

/// The explanation of a name: as text, and as a JSON text.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, name: &str) -> PyResult<(String, String)> {
    let explained = catalogue::explain(name, &Registry::builtin());
    let (text, json) = explained.map_err(|error| exception(py, &error))?;
    Ok((text, json.to_string()))
}

/// The JSON Schema of experiments, as a text.
#[pyfunction]
pub(crate) fn schema() -> String {
    keys::schema(&Registry::builtin()).to_string()
}
