//! Tables as dictionaries of NumPy columns.

use metrics::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyList};

/// `{name: {column: array}}`; text columns are lists, since NumPy's text is fixed in width.
pub(crate) fn to_python<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for table in tables {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            columns.set_item(name, array(py, column)?)?;
        }
        result.set_item(table.name, columns)?;
    }
    Ok(result)
}

fn array<'py>(py: Python<'py>, column: Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Column::U64(values) => from_bytes(py, "uint64", values.into_iter().map(u64::to_ne_bytes)),
        Column::F64(values) => from_bytes(py, "float64", values.into_iter().map(f64::to_ne_bytes)),
        Column::Text(values) => Ok(PyList::new(py, values)?.into_any()),
    }
}

/// An array that owns its values. By calls of Python, each of which a signal may interrupt: NumPy's C interface has no
/// way to say so.
fn from_bytes<'py>(
    py: Python<'py>,
    kind: &str,
    values: impl ExactSizeIterator<Item = [u8; 8]>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, 8 * values.len(), |bytes| {
        for (place, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *place = value;
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, kind))
}
