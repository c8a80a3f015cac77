//! The native half of the Python package. `python/raddle` holds the other half: the other classes that users see, and
//! the type hints of this module.
//!
//! The functions that check or run experiments, reproduce figures, or read tables release Python's lock while they
//! work. Most results are JSON texts or [`table::Table`]s.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes owned arguments")]

mod attend;
mod catalogue;
mod document;
mod error;
mod figures;
mod notes;
mod routing;
mod spread;
mod table;

use pyo3::prelude::*;

#[pymodule]
fn _raddle(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", raddle_lab::VERSION)?;
    module.add_class::<document::Document>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<routing::Node>()?;
    module.add_class::<routing::Packet>()?;
    module.add_class::<routing::Candidate>()?;
    for function in [
        wrap_pyfunction!(loaded_from, module)?,
        wrap_pyfunction!(document::toml_text, module)?,
        wrap_pyfunction!(document::toml_value, module)?,
        wrap_pyfunction!(document::check_run, module)?,
        wrap_pyfunction!(document::read_text, module)?,
        wrap_pyfunction!(document::write_text, module)?,
        wrap_pyfunction!(table::read_table, module)?,
        wrap_pyfunction!(figures::reproduce, module)?,
        wrap_pyfunction!(spread::do_task, module)?,
        wrap_pyfunction!(catalogue::names, module)?,
        wrap_pyfunction!(catalogue::explain, module)?,
        wrap_pyfunction!(catalogue::schema, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

/// Tells `raddle_lab` the path of this module's file. The file's bytes identify the program in the manifests of
/// results.
#[pyfunction]
fn loaded_from(path: std::path::PathBuf) {
    raddle_lab::loaded_from(path);
}
