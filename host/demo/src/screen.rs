//! What the demo looks like.

use std::{
    cell::Cell,
    fmt::Arguments,
    io::{IsTerminal, Write},
};

use serde_json::Value;

/// Writes to standard output at once. A reader that has closed it, as `head` does, is no failure and no panic: the
/// server goes on.
pub(crate) fn print(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_fmt(text).and_then(|()| out.flush());
}

/// Writes to standard output, in colour where a person reads it.
pub(crate) struct Screen {
    colour: bool,
    step: Cell<u32>,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const CYAN: &str = "36";

impl Screen {
    pub(crate) fn new() -> Self {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            colour,
            step: Cell::new(0),
        }
    }

    pub(crate) fn title(&self, text: &str) {
        print(format_args!("\n{}\n\n", self.paint(BOLD, text)));
    }

    /// A numbered step.
    pub(crate) fn step(&self, text: &str) {
        self.step.set(self.step.get() + 1);
        print(format_args!(
            "\n{} {}\n",
            self.paint(CYAN, &format!("{:>2}.", self.step.get())),
            self.paint(BOLD, text)
        ));
    }

    /// A line that was run, as the reader can run it.
    pub(crate) fn command(&self, line: &str) {
        let mut prompt = "$ ";
        for part in line.lines() {
            let line = self.paint(DIM, &format!("{prompt}{part}"));
            print(format_args!("    {line}\n"));
            prompt = "  ";
        }
    }

    /// Lines for the reader to run.
    pub(crate) fn shell(&self, lines: &[&str]) {
        lines.iter().for_each(|line| self.command(line));
    }

    /// What came of a command.
    pub(crate) fn result(&self, text: &str) {
        for line in text.lines() {
            print(format_args!("    {line}\n"));
        }
    }

    pub(crate) fn fact(&self, text: &str) {
        print(format_args!("  {text}\n"));
    }

    pub(crate) fn success(&self, text: &str) {
        print(format_args!(
            "\n{}\n",
            self.paint(GREEN, &format!("✓ {text}"))
        ));
    }

    /// How far something is, from 0 to 1; draws over itself.
    pub(crate) fn progress(&self, fraction: f64, text: &str) {
        let filled = (0..30)
            .filter(|place| f64::from(*place) < fraction * 30.0)
            .count();
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(30 - filled));
        let line = format!("    {bar} {:>3.0} %  {text}", fraction * 100.0);
        match self.colour {
            true => print(format_args!("\r\x1b[2K{line}")),
            false => print(format_args!("{line}\n")),
        }
    }

    pub(crate) fn end_progress(&self) {
        if self.colour {
            print(format_args!("\n"));
        }
    }

    /// Words of an answer, as they come.
    pub(crate) fn words(&self, text: &str) {
        print(format_args!("{}", text.replace('\n', "\n    ")));
    }

    pub(crate) fn dim(&self, text: &str) {
        text.lines()
            .for_each(|line| self.result(&self.paint(DIM, line)));
    }

    /// Rows below their names, in columns.
    pub(crate) fn table(&self, names: &[String], rows: &[Vec<Value>]) {
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(text).collect())
            .collect();
        let width = |column: usize| {
            let of = |row: &Vec<String>| row.get(column).map_or(0, |cell| cell.chars().count());
            cells
                .iter()
                .map(of)
                .chain([names[column].chars().count()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        let line = |cells: &[String]| {
            let padded = cells
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.result(&self.paint(BOLD, &line(names)));
        for row in &cells {
            self.result(&line(row));
        }
    }

    fn paint(&self, style: &str, text: &str) -> String {
        match self.colour {
            true => format!("\x1b[{style}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "∅".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `288,894`
pub(crate) fn thousands(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
