//! Tables of records as Arrow, through the Arrow PyCapsule interface. Consumers can share the memory of these tables.

use crate::error::exception;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use raddle_lab::Error;
use raddle_records::{RecordsError, Table as Records, Values};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A table of records. It exports Arrow through the ``PyCapsule`` interface, as one batch.
///
/// ``polars.DataFrame(table)`` and ``pyarrow.table(table)`` share the memory of its numbers.
/// ``pandas.DataFrame.from_arrow(table)`` copies them into arrays of NumPy. A DuckDB query can use the name of a
/// variable that holds the table. ``table["fct_ps"]`` is a list with a copy of a column.
#[pyclass(frozen, module = "raddle")]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// Reads a Parquet file of a run or of a sweep.
#[pyfunction]
pub(crate) fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let read = py
        .detach(|| Records::read(&path))
        .map_err(|error: RecordsError| exception(py, &Error::from(error)))?;
    Ok(Table { batch: batch(read).map_err(|error| PyRuntimeError::new_err(error.to_string()))? })
}

/// The records as one batch. The definition of a column, if there is one, is metadata of the column's field.
fn batch(Records { columns, metadata, rows }: Records) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, values) in columns {
        let definition = metadata.get(&format!("raddle.definition.{name}")).cloned();
        let (kind, array): (DataType, ArrayRef) = match values {
            Values::Integer(values) => (
                DataType::Int64,
                Arc::new(values.into_iter().map(|value| value.map(u64::cast_signed)).collect::<Int64Array>()),
            ),
            Values::Float(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
            Values::Boolean(values) => (DataType::Boolean, Arc::new(BooleanArray::from(values))),
            Values::Text(values) => (DataType::Utf8, Arc::new(StringArray::from(values))),
        };
        let notes: HashMap<_, _> =
            definition.map(|words| ("definition".to_owned(), words)).into_iter().collect();
        fields.push(Field::new(name, kind, true).with_metadata(notes));
        arrays.push(array);
    }
    let notes: HashMap<_, _> = metadata.into_iter().collect();
    let schema = Schema::new_with_metadata(fields, notes);
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)
}

#[pymethods]
impl Table {
    /// The table as an Arrow stream. Consumers convert types themselves, so ``requested_schema`` is not used.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The types of the columns as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns. In the tables of a run, a name ends with the column's unit, if there is one.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column, copied into a list of numbers, booleans or texts; ``None`` where a row has none.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.batch.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let array = array.as_any();
        if let Some(values) = array.downcast_ref::<Int64Array>() {
            PyList::new(py, values.iter().collect::<Vec<_>>())
        } else if let Some(values) = array.downcast_ref::<Float64Array>() {
            PyList::new(py, values.iter().collect::<Vec<_>>())
        } else if let Some(values) = array.downcast_ref::<BooleanArray>() {
            PyList::new(py, values.iter().collect::<Vec<_>>())
        } else {
            let texts = array
                .downcast_ref::<StringArray>()
                .expect("a column must hold integers, floats, booleans or texts");
            PyList::new(py, texts.iter().collect::<Vec<_>>())
        }
    }

    fn __repr__(&self) -> String {
        format!("<raddle.Table of {} rows: {}>", self.batch.num_rows(), self.columns().join(", "))
    }
}
