//! Prints rows: as a table for people, as CSV, or as JSON lines.

use std::{
    io::{self, Write},
    sync::Arc,
};

use mindhost_base::config::Formulas;
use mindhost_plugin_api::{Batch, Column};
use mindhost_sql::{
    csv::CsvEncoder,
    json::{self, Rows},
};
use serde_json::{Value, json};

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Aligned columns.
    #[default]
    Table,
    /// RFC 4180, the header first.
    Csv,
    /// One array a line; the first line holds the columns.
    Json,
}

/// Longest cell that a table shows, in characters.
const WIDEST: usize = 60;

/// Writes the rows of one result, batch by batch.
pub(super) struct Printer {
    format: Format,
    columns: Arc<[Column]>,
    csv: CsvEncoder,
    /// Column widths of a table, set by its first batch so that rows can be printed as they arrive.
    widths: Vec<usize>,
}

impl Printer {
    /// A printer for a result with these columns.
    pub fn new(format: Format, columns: Arc<[Column]>) -> Self {
        Self {
            format,
            csv: CsvEncoder::new(Arc::clone(&columns), Formulas::Keep),
            columns,
            widths: Vec::new(),
        }
    }

    /// Prints the header. A table waits for its first batch, to know its widths.
    pub fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        match self.format {
            Format::Table => Ok(()),
            Format::Csv => {
                let mut line = Vec::new();
                self.csv.header(&mut line);
                out.write_all(&line)
            }
            Format::Json => {
                let columns = self.columns.iter().map(|column| {
                    json!({"name": column.name, "type": column.data_type, "native_type": column.native_type})
                });
                writeln!(out, "{}", Value::from_iter(columns))
            }
        }
    }

    /// Prints rows.
    pub fn batch(&mut self, batch: Batch, out: &mut impl Write) -> io::Result<()> {
        if self.format == Format::Csv {
            let mut lines = Vec::new();
            self.csv.batch(&batch, &mut lines);
            return out.write_all(&lines);
        }
        let rows = Rows::new(Arc::clone(&self.columns), vec![batch]);
        let Value::Array(rows) = json::values(&serde_json::to_string(&rows)?)? else {
            return Ok(());
        };
        match self.format {
            Format::Table => self.table(&rows, out),
            _ => rows.iter().try_for_each(|row| writeln!(out, "{row}")),
        }
    }

    /// Prints the end.
    pub fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        match self.format {
            Format::Table if self.widths.is_empty() => self.table(&[], out),
            _ => Ok(()),
        }
    }

    fn table(&mut self, rows: &[Value], out: &mut impl Write) -> io::Result<()> {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.as_array().into_iter().flatten().map(shown).collect())
            .collect();
        if self.widths.is_empty() {
            let names: Vec<String> = self
                .columns
                .iter()
                .map(|column| shown(&json!(column.name)))
                .collect();
            let length = |row: &Vec<String>, index: usize| {
                row.get(index).map_or(0, |cell| cell.chars().count())
            };
            self.widths = (0..names.len())
                .map(|index| {
                    let widest = rows.iter().map(|row| length(row, index)).max();
                    widest.unwrap_or(0).max(length(&names, index))
                })
                .collect();
            self.line(&names, out)?;
            let rule: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
            self.line(&rule, out)?;
        }
        rows.iter().try_for_each(|row| self.line(row, out))
    }

    fn line(&self, cells: &[String], out: &mut impl Write) -> io::Result<()> {
        let padded = cells
            .iter()
            .zip(&self.widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())
    }
}

/// A cell of a table: one line, without control characters, cut at a limit.
fn shown(cell: &Value) -> String {
    let text = match cell {
        Value::Null => return "NULL".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let plain = text
        .chars()
        .map(|sign| if sign.is_control() { '\u{fffd}' } else { sign });
    let mut cut: String = plain.take(WIDEST + 1).collect();
    if cut.chars().count() > WIDEST {
        cut = cut.chars().take(WIDEST - 1).collect();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::{DataType, Value as Cell};

    use super::*;

    fn printed(format: Format, rows: Vec<Vec<Cell>>) -> String {
        let column = |name: &str, data_type| Column {
            name: name.into(),
            data_type,
            native_type: String::new(),
            nullable: true,
        };
        let columns = [column("n", DataType::Int64), column("name", DataType::Text)];
        let mut printer = Printer::new(format, columns.into());
        let mut out = Vec::new();
        printer.begin(&mut out).unwrap();
        if !rows.is_empty() {
            printer.batch(Batch::Rows(rows), &mut out).unwrap();
        }
        printer.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            vec![Cell::Int64(1), Cell::Text("a\tb".into())],
            vec![Cell::Null, Cell::Text("x".repeat(100))],
        ]
    }

    #[test]
    fn a_table_is_aligned_and_stays_on_its_lines() {
        let text = printed(Format::Table, rows());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], "1     a\u{fffd}b");
        assert!(lines[3].starts_with("NULL  xxx") && lines[3].ends_with('…'));
        assert_eq!(printed(Format::Table, Vec::new()), "n  name\n-  ----\n");
    }

    #[test]
    fn machines_get_csv_or_a_line_of_json_for_each_row() {
        let rows = vec![vec![Cell::Int64(1), Cell::Text("a".into())]];
        assert_eq!(printed(Format::Csv, rows.clone()), "n,name\n1,a\n");
        let json = printed(Format::Json, rows);
        assert!(
            json.ends_with("\n[1,\"a\"]\n") && json.starts_with("[{\"name\":\"n\""),
            "{json}"
        );
    }
}
