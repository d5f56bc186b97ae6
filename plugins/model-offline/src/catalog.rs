//! The catalog as the tools of the host describe it, ready for matching.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::plain;
use crate::spans::Span;
use crate::taught::Metric;
use crate::words::split;

/// All tables that the model may use.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// In the order in which the host gave them.
    pub tables: Vec<Table>,
    /// The metrics that the Mind was taught.
    pub metrics: Vec<Metric>,
    /// The terms that it was taught: name and synonyms, and what they mean.
    pub terms: Vec<(Vec<String>, String)>,
}

/// A table or view, as `describe_tables` gives it.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name of the datasource, which a statement on it is sent to.
    pub datasource: String,
    /// How its engine writes SQL.
    pub dialect: Dialect,
    /// Empty when the engine has no schemas.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// The name without what all names of the schema start with.
    pub plain: String,
    /// `TABLE`, `VIEW`, …
    pub kind: String,
    /// The catalog's words about it.
    pub description: String,
    /// Number of rows, where the catalog knows it.
    pub row_count: Option<u64>,
    /// In the order of the table; others refer to them by index.
    pub columns: Vec<Column>,
    /// Indexes of the primary key's columns.
    pub primary_key: Vec<usize>,
    /// References to other tables of this catalog.
    pub foreign_keys: Vec<ForeignKey>,
}

/// What can be done with the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Decimals and floating-point numbers.
    Number,
    /// Words.
    Text,
    /// Dates and timestamps that compare with an ISO literal.
    Date,
    /// Times of a day, as `HH:MM:SS`.
    Time,
    /// True or false.
    Boolean,
    /// Anything else.
    Other,
}

/// A column with what the catalog knows of its values.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name in the table.
    pub name: String,
    /// The name without what all names of the table start with.
    pub plain: String,
    /// The engine's own type, which `kind` is read from.
    pub native_type: String,
    /// The catalog's words about it.
    pub description: String,
    /// What can be done with it.
    pub kind: Kind,
    /// False when the engine refuses NULL.
    pub nullable: bool,
    /// Most common values as text.
    pub common_values: Vec<String>,
    /// Largest value as text, where known.
    pub max: Option<String>,
    /// Number of different values, where known.
    pub distinct_count: Option<u64>,
    /// Set if it is no column of the table, but worked out from its dates.
    pub span: Option<Span>,
}

/// A reference to one other table, over one or more columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// Indexes of this table's columns.
    pub columns: Vec<usize>,
    /// Index of the other table.
    pub target: usize,
    /// Indexes of the other table's columns.
    pub target_columns: Vec<usize>,
    /// Whether the database does not declare it, and only names and statistics tell it.
    pub guessed: bool,
}

/// A column of the catalog: table and column index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnRef {
    /// Index into [`Catalog::tables`].
    pub table: usize,
    /// Index into [`Table::columns`] of that table.
    pub column: usize,
}

impl ColumnRef {
    /// A column of a table, both by their index.
    pub fn new(table: usize, column: usize) -> Self {
        Self { table, column }
    }
}

impl Catalog {
    /// Reads the answer of `describe_tables`. `None` when it is not that.
    pub fn parse(json: &str) -> Option<Self> {
        let described: Value = serde_json::from_str(json).ok()?;
        let sources = described["tables"].as_array()?;
        let mut tables = sources.iter().map(table).collect::<Option<Vec<_>>>()?;
        for (at, source) in sources.iter().enumerate() {
            let keys = list(source, "foreign_keys");
            tables[at].foreign_keys = keys
                .filter_map(|key| foreign_key(&tables, at, key))
                .collect();
        }
        let names: Vec<(String, Vec<String>)> = tables
            .iter()
            .map(|t| {
                (
                    t.name.clone(),
                    t.columns.iter().map(|c| c.name.clone()).collect(),
                )
            })
            .collect();
        for (table, (name, columns)) in tables.iter_mut().zip(plain::names(&names)) {
            table.plain = name;
            for (column, name) in table.columns.iter_mut().zip(columns) {
                column.plain = name;
            }
        }
        Some(Self {
            tables,
            ..Self::default()
        })
    }

    /// The table at an index that came from this catalog.
    pub fn table(&self, at: usize) -> &Table {
        &self.tables[at]
    }

    /// The one table that a name means, which may have the schema or the datasource before it.
    pub fn named(&self, name: &str) -> Option<usize> {
        let name = format!(".{name}").to_lowercase();
        let is_called = |at: &usize| {
            let table = self.table(*at);
            let (source, own) = (&table.datasource, &table.name);
            let whole = format!(".{source}.{}.{own}", table.schema);
            let names = [whole, format!(".{source}.{own}")];
            names.iter().any(|n| n.to_lowercase().ends_with(&name))
        };
        let mut found = (0..self.tables.len()).filter(is_called);
        found.next().filter(|_| found.next().is_none())
    }

    /// The column behind a reference into this catalog.
    pub fn column(&self, at: ColumnRef) -> &Column {
        &self.tables[at.table].columns[at.column]
    }

    /// Whether a column holds numbers to calculate with.
    pub fn is_figure(&self, at: ColumnRef) -> bool {
        self.column(at).is_numeric() && !self.table(at.table).is_key(at.column)
    }

    /// `table.column`, for people.
    pub fn label(&self, at: ColumnRef) -> String {
        format!("{}.{}", self.table(at.table).name, self.column(at).name)
    }

    /// The key of the same table that a column refers to, as `staff.manager_id` does.
    pub fn parent_key(&self, at: ColumnRef) -> Option<ColumnRef> {
        let mut keys = self.table(at.table).foreign_keys.iter();
        let key = keys.find(|k| k.target == at.table && k.columns == [at.column])?;
        Some(ColumnRef::new(at.table, *key.target_columns.first()?))
    }
}

impl Table {
    /// Index of the column with this name, whatever its case.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// Index of the column that is called so, with or without what all columns of the table start with; `FirstName` is
    /// called `first_name`.
    pub fn find_plain(&self, name: &str) -> Option<usize> {
        let plain = || {
            let mut columns = self.columns.iter();
            columns.position(|c| split(&c.plain).join("_") == name)
        };
        self.find(name).or_else(plain)
    }

    /// Indexes of the columns that a list of names holds.
    fn places(&self, source: &Value, key: &str) -> Vec<usize> {
        list(source, key)
            .filter_map(|name| self.find(name.as_str()?))
            .collect()
    }

    /// Views stand back where a table has the same claim to a word.
    pub fn is_view(&self) -> bool {
        self.kind.to_ascii_uppercase().contains("VIEW")
    }

    /// Whether the column is part of a key, so that sums and averages of it mean nothing.
    pub fn is_key(&self, column: usize) -> bool {
        self.primary_key.contains(&column)
            || self
                .foreign_keys
                .iter()
                .any(|k| k.columns.contains(&column))
            || self.columns[column]
                .name
                .to_ascii_lowercase()
                .ends_with("_id")
    }
}

impl Column {
    /// Whether sums and averages make sense.
    pub fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Integer | Kind::Number)
    }

    /// Whether its texts are numbers, as far as the catalog tells.
    pub fn holds_numbers(&self) -> bool {
        let number = |text: &String| text.parse::<f64>().is_ok();
        self.kind == Kind::Text
            && !self.common_values.is_empty()
            && self.common_values.iter().chain(&self.max).all(number)
    }

    /// The text for yes in a column whose only texts are yes and no.
    pub fn yes(&self) -> Option<&String> {
        const PAIRS: [(&str, &str); 4] = [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f")];
        let [a, b] = self.common_values.as_slice() else {
            return None;
        };
        let is_pair = |yes: &str, no: &str| {
            let is =
                |(y, n): &(&str, &str)| yes.eq_ignore_ascii_case(y) && no.eq_ignore_ascii_case(n);
            PAIRS.iter().any(is)
        };
        match self.kind == Kind::Text && self.distinct_count == Some(2) {
            true if is_pair(a, b) => Some(a),
            true if is_pair(b, a) => Some(b),
            _ => None,
        }
    }

    /// Whether it says yes or no of each row.
    pub fn is_flag(&self) -> bool {
        self.kind == Kind::Boolean || self.yes().is_some()
    }
}

fn text(source: &Value, key: &str) -> String {
    source[key].as_str().unwrap_or_default().to_owned()
}

fn list<'a>(source: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    source[key].as_array().into_iter().flatten()
}

/// The table without its foreign keys, which may refer to tables that are still to come.
fn table(source: &Value) -> Option<Table> {
    let qualified = source["table"].as_str()?;
    let (schema, name) = qualified.split_once('.').unwrap_or(("", qualified));
    let mut table = Table {
        datasource: text(source, "datasource"),
        dialect: Dialect::of(&text(source, "dialect")),
        schema: schema.to_owned(),
        name: name.to_owned(),
        plain: name.to_owned(),
        kind: text(source, "type"),
        description: text(source, "description"),
        row_count: source["row_count"].as_u64(),
        columns: list(source, "columns").map(column).collect(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    };
    table.primary_key = table.places(source, "primary_key");
    Some(table)
}

fn column(source: &Value) -> Column {
    let known =
        |value: &Value| Some(plain_text(value)).filter(|t| !value.is_null() && !t.is_empty());
    let (min, max) = (known(&source["min"]), known(&source["max"]));
    let native_type = text(source, "type");
    let name = text(source, "name");
    let mut kind = kind(&native_type, min.as_deref(), max.as_deref());
    let is_bit = |bound: &Option<String>| matches!(bound.as_deref(), Some("0" | "1"));
    let asks = matches!(split(&name).first().map(String::as_str), Some("is" | "has"));
    if kind == Kind::Integer && asks && is_bit(&min) && is_bit(&max) {
        kind = Kind::Boolean;
    }
    Column {
        plain: name.clone(),
        name,
        kind,
        native_type,
        description: text(source, "description"),
        nullable: source["nullable"].as_bool().unwrap_or(true),
        common_values: list(source, "common_values")
            .filter(|v| !v.is_null())
            .map(plain_text)
            .collect(),
        max,
        distinct_count: source["distinct_count"].as_u64().filter(|n| *n > 0),
        span: None,
    }
}

/// A JSON scalar as the text that it shows.
pub fn plain_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn kind(native_type: &str, min: Option<&str>, max: Option<&str>) -> Kind {
    let lower = native_type.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    let dated = |text: Option<&str>| text.is_none_or(is_iso_date);
    if lower.starts_with("date") || lower.starts_with("timestamp") {
        // SQLite keeps whatever was written; a number of seconds does not compare with an ISO literal.
        return if dated(min) && dated(max) {
            Kind::Date
        } else {
            Kind::Other
        };
    }
    if lower.starts_with("time") {
        let clock = |text: Option<&str>| text.is_none_or(is_clock);
        return if clock(min) && clock(max) {
            Kind::Time
        } else {
            Kind::Other
        };
    }
    if has(&["bool"]) {
        Kind::Boolean
    } else if has(&[
        "interval", "point", "range", "json", "blob", "bytea", "array", "[]",
    ]) {
        Kind::Other
    } else if has(&["int", "serial"]) {
        Kind::Integer
    } else if has(&[
        "numeric", "decimal", "real", "double", "float", "money", "number",
    ]) {
        Kind::Number
    } else if has(&["char", "text", "clob", "string", "enum", "uuid"]) || lower.is_empty() {
        let known = min.is_some() && max.is_some();
        if known && dated(min) && dated(max) {
            Kind::Date
        } else {
            Kind::Text
        }
    } else {
        Kind::Other
    }
}

/// Whether a text is a time of day with seconds, which sorts as it passes.
fn is_clock(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let two = |p: &&str| p.len() == 2 && p.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3 && parts[..2].iter().all(two) && parts[2].get(..2).is_some_and(|p| two(&p))
}

fn is_iso_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(i, b)| {
            if i == 4 || i == 7 {
                *b == b'-'
            } else {
                b.is_ascii_digit()
            }
        })
        && bytes.get(10).is_none_or(|b| matches!(b, b' ' | b'T'))
}

fn foreign_key(tables: &[Table], from: usize, key: &Value) -> Option<ForeignKey> {
    let references = key["references"].as_str()?;
    let (schema, name) = references.split_once('.').unwrap_or(("", references));
    let same_source = |t: &Table| t.datasource == tables[from].datasource;
    let named = |t: &Table| t.name == name && (schema.is_empty() || t.schema == schema);
    let target = tables.iter().position(|t| same_source(t) && named(t))?;
    let columns = tables[from].places(key, "columns");
    let mut target_columns = tables[target].places(key, "referenced_columns");
    if list(key, "referenced_columns").next().is_none() {
        target_columns = tables[target].primary_key.clone();
    }
    let whole =
        columns.len() == list(key, "columns").count() && columns.len() == target_columns.len();
    (whole && !columns.is_empty()).then_some(ForeignKey {
        columns,
        target,
        target_columns,
        guessed: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_from_type_and_values() {
        assert_eq!(
            kind("TEXT", Some("2024-01-01"), Some("2024-12-31 10:00:00")),
            Kind::Date
        );
        assert_eq!(kind("TEXT", Some("Anna"), Some("Zoe")), Kind::Text);
        assert_eq!(
            kind("DATETIME", Some("1700000000"), Some("1800000000")),
            Kind::Other
        );
        assert_eq!(kind("numeric(12,2)", None, None), Kind::Number);
        assert_eq!(kind("BIGINT", None, None), Kind::Integer);
        assert_eq!(kind("timestamp with time zone", None, None), Kind::Date);
    }

    #[test]
    fn what_is_no_catalog_is_refused() {
        assert!(Catalog::parse("{\"error\":{}}").is_none());
        assert!(Catalog::parse("nonsense").is_none());
    }
}
