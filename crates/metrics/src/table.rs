//! Tables: what becomes a Parquet file or NumPy columns.

use serde_json::{Map, Value};

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Counts and numbers of things.
    U64(Vec<u64>),
    /// Measured figures; NaN where a figure is not defined.
    F64(Vec<f64>),
    /// Names.
    Text(Vec<&'static str>),
}

impl Column {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U64(values) => values.len(),
            Column::F64(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts the values of another column of its kind behind its own.
    ///
    /// # Panics
    /// If it is of another kind.
    pub(crate) fn append(&mut self, other: Column) {
        match (self, other) {
            (Column::U64(values), Column::U64(more)) => values.extend(more),
            (Column::F64(values), Column::F64(more)) => values.extend(more),
            (Column::Text(values), Column::Text(more)) => values.extend(more),
            _ => panic!("columns of two kinds"),
        }
    }
}

/// Named columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name, which is the name of the Parquet file.
    pub name: &'static str,
    /// The columns in order; units end their names.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(key, _)| *key == name).map(|(_, column)| column)
    }

    /// An object with an array per column; what is not defined is `null`.
    pub fn to_json(&self) -> Value {
        let array = |column: &Column| match column {
            Column::U64(values) => Value::from(values.clone()),
            // serde_json has no NaN: `Value::from(f64)` makes it null.
            Column::F64(values) => Value::from(values.clone()),
            Column::Text(values) => Value::from(values.clone()),
        };
        let columns: Map<String, Value> =
            self.columns.iter().map(|(name, column)| (name.to_string(), array(column))).collect();
        Value::Object(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn undefined_figures_are_null_in_json() {
        let table = Table {
            name: "t",
            columns: vec![
                ("b", Column::F64(vec![1.5, f64::NAN])),
                ("a", Column::U64(vec![1, u64::MAX])),
                ("c", Column::Text(vec!["x", "y"])),
            ],
        };
        assert_eq!(
            table.to_json().to_string(),
            json!({"b": [1.5, null], "a": [1, u64::MAX], "c": ["x", "y"]}).to_string()
        );
        assert_eq!(table.rows(), 2);
        assert_eq!(table.column("a").map(Column::len), Some(2));
        assert_eq!(table.column("z"), None);
    }
}
