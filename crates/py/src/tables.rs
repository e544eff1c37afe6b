//! Tables as dictionaries of NumPy columns.

use metrics::{Column, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// `{name: {column: array}}`; text columns are lists, since NumPy's text is fixed in width.
pub(crate) fn to_python<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<Bound<'py, PyDict>> {
    // A signal may interrupt this import, and the crate would panic.
    py.import("numpy")?;
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
    Ok(match column {
        Column::U64(values) => values.into_pyarray(py).into_any(),
        Column::F64(values) => values.into_pyarray(py).into_any(),
        Column::Text(values) => PyList::new(py, values)?.into_any(),
    })
}
