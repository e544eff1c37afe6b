//! Tables as dictionaries of columns.

use metrics::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyList, PyMemoryView};

/// `{name: {column: values}}`: numbers are memory views of 64-bit words (`Q`, `d`), which Python makes arrays of when they are asked for.
/// Text columns are lists, since NumPy's text is fixed in width.
pub(crate) fn to_python<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for table in tables {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            columns.set_item(name, to_column(py, column)?)?;
        }
        result.set_item(table.name, columns)?;
    }
    Ok(result)
}

fn to_column<'py>(py: Python<'py>, column: Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Column::U64(values) => from_bytes(py, "Q", values.into_iter().map(u64::to_ne_bytes)),
        Column::F64(values) => from_bytes(py, "d", values.into_iter().map(f64::to_ne_bytes)),
        Column::Text(values) => Ok(PyList::new(py, values)?.into_any()),
    }
}

/// A view that owns its values.
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
    PyMemoryView::from(&bytes)?.call_method1("cast", (kind,))
}
