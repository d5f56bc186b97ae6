//! SELECT: its columns and rows as tokens, and what goes wrong in the server's words.

use rusqlite::types::Value;

use super::{Session, Stop, failed, syntax};
use crate::inference;
use crate::tokens;
use crate::translate::{self, Translated};
use crate::types::SqlType;

/// Rows between two looks at the client.
const ROWS_BETWEEN_LOOKS: u64 = 64;

impl Session {
    pub(super) fn select(&mut self, sql: &str) -> Result<u64, Stop> {
        let sql = sql
            .replace("@@SPID", &self.id.to_string())
            .replace("@@TRANCOUNT", &u64::from(self.transaction != 0).to_string())
            .replace("@@spid", &self.id.to_string())
            .replace("@@VERSION", "'Microsoft SQL Server 2022 (a double)'")
            .replace("@@version", "'Microsoft SQL Server 2022 (a double)'");
        if sql.contains("dm_exec_requests") {
            self.show_running();
        }
        let translated =
            translate::select(&sql).map_err(|error| syntax(&error.root_cause().to_string()))?;
        let id = self.id;
        self.shared
            .running
            .lock()
            .expect("no panic")
            .push((id, sql));
        let rows = self.rows(&translated);
        self.shared
            .running
            .lock()
            .expect("no panic")
            .retain(|(session, _)| *session != id);
        rows
    }

    fn show_running(&self) {
        let running = self.shared.running.lock().expect("no panic").clone();
        let _ = self
            .sqlite
            .execute_batch("DELETE FROM main.dm_exec_requests");
        for (session, text) in running {
            let insert = "INSERT INTO main.dm_exec_requests VALUES (?1, 'SELECT', ?2)";
            let _ = self.sqlite.execute(insert, (session, text));
        }
    }

    fn rows(&self, translated: &Translated) -> Result<u64, Stop> {
        let failure = |error: rusqlite::Error| self.error(&error);
        let mut statement = self.sqlite.prepare(&translated.text).map_err(failure)?;
        let inferred = inference::types(&translated.query, &|table, column| {
            let probe = format!("SELECT [{column}] FROM {table}");
            let probe = self.sqlite.prepare(&probe).ok()?;
            SqlType::parse(probe.columns().first()?.decl_type()?)
        });
        let declared: Vec<(String, Option<SqlType>)> = statement
            .columns()
            .iter()
            .map(|column| {
                (
                    column.name().to_owned(),
                    column.decl_type().and_then(SqlType::parse),
                )
            })
            .collect();
        let mut rows = statement.query([]).map_err(failure)?;
        let mut row = rows.next().map_err(failure)?;
        let columns: Vec<(String, SqlType)> = declared
            .into_iter()
            .enumerate()
            .map(|(index, (name, declared))| {
                let said = inferred.get(index).cloned().flatten();
                let value = row.and_then(|row| row.get::<_, Value>(index).ok());
                let kind = said
                    .or(declared)
                    .unwrap_or_else(|| SqlType::of_value(value.as_ref()));
                (shown_name(&name, translated), kind)
            })
            .collect();
        self.channel().write(&tokens::columns(&columns))?;
        let mut sent = 0;
        while let Some(current) = row {
            self.channel().write(&encoded(current, &columns)?)?;
            sent += 1;
            if sent % ROWS_BETWEEN_LOOKS == 0 && self.channel().poll() {
                return Err(Stop::Attention);
            }
            if sent == self.row_count {
                break;
            }
            row = rows.next().map_err(failure)?;
        }
        Ok(sent)
    }

    /// The server's words for an error of SQLite.
    pub(super) fn error(&self, error: &rusqlite::Error) -> Stop {
        let channel = self.channel();
        if channel.attention || channel.closed {
            return Stop::Attention;
        }
        let text = error.to_string();
        let named = |after: &str| {
            let rest = text.split_once(after)?.1;
            rest.split([' ', '\n']).next().map(str::to_owned)
        };
        if let Some(name) = named("no such table: ") {
            return failed(208, &format!("Invalid object name '{name}'."));
        }
        if let Some(name) = named("no such column: ") {
            return failed(207, &format!("Invalid column name '{name}'."));
        }
        if let Some(name) = named("no such function: ") {
            return failed(
                195,
                &format!("'{name}' is not a recognized built-in function name."),
            );
        }
        if text.contains("syntax error") {
            return syntax(&named("near ").unwrap_or_default());
        }
        failed(8114, &text)
    }
}

/// SQLite names a column without an alias after its text; SQL Server gives it no name.
fn shown_name(name: &str, translated: &Translated) -> String {
    let is_name = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '$' | '#'));
    let aliased = translated.text.contains(&format!("AS {name}"))
        || translated.text.contains(&format!("AS [{name}]"))
        || translated.text.contains(&format!("AS \"{name}\""));
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    match aliased || (is_name && !is_number && name != "NULL") {
        true => name.to_owned(),
        false => String::new(),
    }
}

/// ROW, or NBCROW where a value is NULL.
fn encoded(row: &rusqlite::Row<'_>, columns: &[(String, SqlType)]) -> Result<Vec<u8>, Stop> {
    let values: Vec<Value> = (0..columns.len())
        .map(|index| row.get(index))
        .collect::<Result<_, _>>()
        .map_err(|error| failed(8114, &error.to_string()))?;
    let nulls = values.contains(&Value::Null);
    let mut token = vec![if nulls { 0xD2 } else { 0xD1 }];
    if nulls {
        let mut bits = vec![0; columns.len().div_ceil(8)];
        for (index, _) in values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value == Value::Null)
        {
            bits[index / 8] |= 1 << (index % 8);
        }
        token.extend(bits);
    }
    for (value, (name, kind)) in values.iter().zip(columns) {
        if let (Value::Integer(number), SqlType::Int(4)) = (value, kind)
            && i32::try_from(*number).is_err()
        {
            return Err(failed(
                8115,
                "Arithmetic overflow error converting expression to data type int.",
            ));
        }
        if *value != Value::Null && !kind.write(value, &mut token) {
            return Err(failed(
                8114,
                &format!("Error converting the value of '{name}' to {kind:?}."),
            ));
        }
    }
    Ok(token)
}
