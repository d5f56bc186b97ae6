//! Bounds on the fields of knowledge.

use super::kinds::Knowledge;
use mindhost_base::error::{Error, Result};

const NAME: usize = 200;
const TEXT: usize = 10_000;
const SHORT_TEXT: usize = 2000;
const SQL_PART: usize = 4000;
const SQL: usize = 20_000;
const TABLE: usize = 500;
const SYNONYMS: usize = 20;
const COLUMNS: usize = 16;

/// Checks every field by itself.
///
/// # Errors
/// `invalid_parameter`, which names the field.
pub fn check(knowledge: &Knowledge) -> Result<()> {
    match knowledge {
        Knowledge::Instruction(one) => {
            line("name", &one.name, NAME)?;
            text("text", &one.text, TEXT)
        }
        Knowledge::Term(one) => {
            line("name", &one.name, NAME)?;
            synonyms(&one.synonyms)?;
            text("meaning", &one.meaning, SHORT_TEXT)?;
            maybe(one.table.as_deref(), |name| line("table", name, TABLE))?;
            maybe(one.column.as_deref(), |name| line("column", name, TABLE))?;
            match one.column.is_some() && one.table.is_none() {
                true => Err(Error::invalid(
                    "table",
                    "send `table` together with `column`",
                )),
                false => Ok(()),
            }
        }
        Knowledge::Metric(one) => {
            line("name", &one.name, NAME)?;
            synonyms(&one.synonyms)?;
            maybe(one.description.as_deref(), |it| {
                text("description", it, SHORT_TEXT)
            })?;
            text("expression", &one.expression, SQL_PART)?;
            text("from", &one.from, SQL_PART)?;
            maybe(one.filter.as_deref(), |filter| {
                text("filter", filter, SQL_PART)
            })
        }
        Knowledge::Relationship(one) => {
            line("name", &one.name, NAME)?;
            maybe(one.description.as_deref(), |it| {
                text("description", it, SHORT_TEXT)
            })?;
            line("from_table", &one.from_table, TABLE)?;
            line("to_table", &one.to_table, TABLE)?;
            columns("from_columns", &one.from_columns)?;
            columns("to_columns", &one.to_columns)?;
            match one.from_columns.len() == one.to_columns.len() {
                true => Ok(()),
                false => Err(Error::invalid(
                    "to_columns",
                    "`from_columns` and `to_columns` must have the same number of columns",
                )),
            }
        }
        Knowledge::VerifiedQuery(one) => {
            text("question", &one.question, SHORT_TEXT)?;
            text("sql", &one.sql, SQL)?;
            maybe(one.notes.as_deref(), |notes| {
                text("notes", notes, SHORT_TEXT)
            })
        }
    }
}

fn maybe(value: Option<&str>, check: impl Fn(&str) -> Result<()>) -> Result<()> {
    value.map_or(Ok(()), check)
}

fn synonyms(synonyms: &[String]) -> Result<()> {
    if synonyms.len() > SYNONYMS {
        let message = format!("`synonyms` may have at most {SYNONYMS} entries");
        return Err(Error::invalid("synonyms", message));
    }
    synonyms
        .iter()
        .try_for_each(|one| line("synonyms", one, NAME))
}

fn columns(param: &str, columns: &[String]) -> Result<()> {
    if !(1..=COLUMNS).contains(&columns.len()) {
        let message = format!("`{param}` must have 1 to {COLUMNS} columns");
        return Err(Error::invalid(param, message));
    }
    columns.iter().try_for_each(|one| line(param, one, TABLE))
}

/// Several lines are allowed.
pub fn text(param: &str, text: &str, longest: usize) -> Result<()> {
    bounded(param, text, longest, |char| {
        char.is_control() && !matches!(char, '\n' | '\t')
    })
}

fn line(param: &str, text: &str, longest: usize) -> Result<()> {
    bounded(param, text, longest, char::is_control)
}

fn bounded(param: &str, text: &str, longest: usize, refused: fn(char) -> bool) -> Result<()> {
    let message = match text.find(refused) {
        _ if text.trim().is_empty() => format!("`{param}` must not be empty"),
        _ if text.trim() != text => format!("`{param}` must not begin or end with white space"),
        _ if text.chars().count() > longest => {
            format!("`{param}` may have at most {longest} characters")
        }
        Some(at) => {
            let char = text[at..].chars().next().map_or(0, u32::from);
            format!("`{param}` has the control character U+{char:04X}; leave it out")
        }
        None => return Ok(()),
    };
    Err(Error::invalid(param, message))
}
