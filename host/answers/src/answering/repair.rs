//! What a model is told when a statement failed, and beside a result that looks wrong: where, why, and what to write
//! instead. Everything comes from the statement and the catalog, so it needs no word of the engine.

mod added_times;
mod aliases;
mod cartesian;
mod casts;
mod concepts;
mod excerpt;
mod fan_out;
mod functions;
mod intervals;
mod joined_texts;
mod joins;
mod mysql_words;
mod names;
mod nearest;
mod qualifiers;
mod ranges;
mod row_limits;
mod statement_scope;
mod syntax;
mod top;
mod types;
mod warnings;
mod year_constants;

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};

use self::statement_scope::StatementScope;
use crate::results::{AcceptedStatement, Access, RefusedInPlan};
use mindhost_base::error::{Blame, Code, Error};
use mindhost_catalog::{Catalog, TableDetail};
use mindhost_plugin_api::Dialect;
use mindhost_sql::{
    ScopeDatasource,
    outline::{self, Outline, Word},
};

pub use types::{Kind, kind};
pub use warnings::warnings;

/// Advices of one kind in one result.
const MAX_ADVICES: usize = 8;
/// Unknown names of one kind in one statement that others are compared with.
const MAX_UNKNOWN: usize = 16;
/// Bytes of a statement that is looked at. The work is done between two waits, so that no other question is answered
/// by its thread then, and a model may write what takes long on purpose.
const MAX_BYTES: usize = 16 * 1024;
/// A larger catalog is not read as a whole for the path between two tables.
const MAX_TABLES_FOR_PATHS: usize = 300;

/// A part of a statement, and what to write in its place, best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replace {
    /// As it is in the statement.
    pub written: String,
    /// In characters from 1, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// Empty text means to leave it out.
    #[serde(rename = "use")]
    pub instead: Vec<String>,
}

impl Replace {
    fn new(written: impl Into<String>, position: u32, instead: Vec<String>) -> Self {
        Self {
            written: written.into(),
            position: (position > 0).then_some(position),
            instead,
        }
    }
}

/// What to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Pieces of the statement that are wrong, at most eight.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replace: Vec<Replace>,
    /// Joins to add behind the last table of FROM. One that must stand in front of another is in `replace`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add_join: Vec<String>,
    /// A missing bracket, or the dialect's LIMIT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_at_end: Option<String>,
    /// The GROUP BY that the statement needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_by: Option<String>,
    /// A rule of the dialect or of SQL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Advice {
    fn hint(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.hints.contains(&text) {
            self.hints.push(text);
        }
    }
}

/// A statement of the model, and what it may read.
pub struct Subject<'a> {
    /// As the model wrote it; it need not be valid.
    pub sql: &'a str,
    /// What it may read.
    pub access: &'a Access,
    /// Knows types and keys.
    pub catalog: &'a Catalog,
}

impl Subject<'_> {
    /// The dialect that it is written in: that of the datasource whose tables it names, or that of the host if they are
    /// of several. Without a table that is known, that of the first datasource.
    pub fn dialect(&self) -> Dialect {
        let datasources = &self.access.scope.datasources;
        let first = datasources
            .first()
            .map_or(Dialect::Generic, |one| one.dialect);
        if datasources.len() < 2 {
            return first;
        }
        let known = StatementScope::new(self.access, first);
        let dialects = datasources.iter().map(|one| one.dialect);
        let mut outlines = dialects.filter_map(|dialect| outline::outline(self.sql, dialect));
        let named: HashSet<&str> = match outlines.find(|one| known.reads_any(one)) {
            Some(outline) => {
                let tables = outline.tables().filter_map(|table| known.find(table));
                tables.map(|table| table.datasource).collect()
            }
            // The text is no statement.
            None => known.qualifying(&outline::words(self.sql, Dialect::Datafusion)),
        };
        let is_named = |one: &&ScopeDatasource| named.contains(one.name.as_str());
        match named.len() {
            0 | 1 => datasources
                .iter()
                .find(is_named)
                .map_or(first, |one| one.dialect),
            _ => Dialect::Datafusion,
        }
    }

    /// The tables that an outline reads, as the catalog names them.
    pub fn used(&self, outline: &Outline, dialect: Dialect) -> Vec<String> {
        let known = StatementScope::new(self.access, dialect);
        known
            .used(outline)
            .iter()
            .map(|table| table.in_full())
            .collect()
    }

    /// Columns, types and keys of tables of the catalog; none where it cannot be read.
    pub async fn described(&self, names: &[String]) -> Vec<TableDetail> {
        let described = self.catalog.describe(&self.access.view, names).await;
        described.unwrap_or_default()
    }
}

/// The content of the tool result for a failed call. `accepted` is the statement if it passed the guard.
pub async fn feedback(
    subject: &Subject<'_>,
    error: &Error,
    accepted: Option<&AcceptedStatement>,
) -> Value {
    let advice = advise(subject, error).await;
    let mut told = told(error, subject.access.sends_rows());
    told["phase"] = json!(phase(error, accepted.is_some()));
    let first = advice.replace.iter().find_map(|one| one.position);
    let (text, position) = match (first, accepted) {
        (Some(position), _) => (subject.sql, Some(position)),
        // The engine counts in the statement that it got.
        (None, Some(accepted)) => (accepted.executed(), error.position()),
        (None, None) => (subject.sql, error.position()),
    };
    if let Some(position) = position {
        told["excerpt"] = json!(excerpt::around(text, position));
    }
    if let Ok(Value::Object(advice)) = serde_json::to_value(&advice)
        && let Some(object) = told.as_object_mut()
    {
        object.extend(advice);
    }
    json!({ "error": told })
}

/// The error for the model. The message of an engine may contain values, so it is withheld if rows are.
pub fn told(error: &Error, sends_rows: bool) -> Value {
    let code = if error.code() == Code::InvalidParameter {
        "invalid_arguments"
    } else {
        error.code().as_str()
    };
    json!({"code": code, "message": message(error, sends_rows), "position": error.position()})
}

/// The message of an error, as a model or a text that it will see may have it.
pub fn message(error: &Error, sends_rows: bool) -> &str {
    let is_ours = matches!(error.blame(), None | Some(Blame::Host));
    match sends_rows || is_ours {
        true => error.message(),
        false => {
            "the engine refused this; its message is withheld, because no data of this datasource may leave. Check names, types and functions at `position`"
        }
    }
}

fn phase(error: &Error, is_accepted: bool) -> &'static str {
    match error.code() {
        Code::SqlSyntax => "parse",
        _ if RefusedInPlan::is_source_of(error) => "dry_run",
        _ if is_accepted => "execution",
        _ => "guard",
    }
}

async fn advise(subject: &Subject<'_>, error: &Error) -> Advice {
    let mut advice = Advice::default();
    // Nothing is wrong with the names of a slow one.
    if error.code() == Code::Timeout || subject.sql.len() > MAX_BYTES {
        return advice;
    }
    if syntax::fence(subject.sql, &mut advice) {
        return advice;
    }
    let dialect = subject.dialect();
    let known = StatementScope::new(subject.access, dialect);
    let words = outline::words(subject.sql, dialect);
    functions::advise(subject.sql, &words, dialect, &mut advice);
    match outline::outline(subject.sql, dialect) {
        None => syntax::advise(subject.sql, &words, &known, &mut advice),
        Some(outline) => {
            advise_outline(subject, &known, &outline, (&words, error), &mut advice).await;
            // The parser reads these in every dialect.
            syntax::of_other_dialects(subject.sql, &words, dialect, &mut advice);
        }
    }
    if advice.replace.is_empty() && error.code() == Code::SqlNotReadOnly {
        syntax::first_word(&words, &mut advice);
    }
    out_of_comment(subject.sql, &words, &mut advice);
    advice.replace.truncate(MAX_ADVICES);
    advice.add_join.truncate(MAX_ADVICES);
    advice
}

/// Begins a line with what is added at the end of a statement that ends in a comment, so that it is not part of it.
fn out_of_comment(sql: &str, words: &[Word], advice: &mut Advice) {
    let (Some(added), Some(last)) = (advice.add_at_end.as_deref(), words.last()) else {
        return;
    };
    let rest: String = sql
        .chars()
        .skip(last.position.saturating_sub(1) as usize)
        .collect();
    let rest = rest.strip_prefix(&last.text).unwrap_or(&rest).trim();
    if rest.is_empty() {
        return;
    }
    if last.text == ";" {
        let instead = vec![format!(" {added}")];
        advice
            .replace
            .push(Replace::new(";", last.position, instead));
        advice.add_at_end = None;
    } else {
        advice.add_at_end = Some(format!("\n{added}"));
    }
}

async fn advise_outline(
    subject: &Subject<'_>,
    known: &StatementScope<'_>,
    outline: &Outline,
    (words, error): (&[Word], &Error),
    advice: &mut Advice,
) {
    let missing = names::advise(known, outline, advice);
    let used = known.used(outline);
    if !missing.is_empty() {
        let all: Vec<String> = match known.tables.len() <= MAX_TABLES_FOR_PATHS {
            true => known.tables.iter().map(|table| table.in_full()).collect(),
            false => used
                .iter()
                .copied()
                .chain(missing.iter().map(|one| one.table))
                .map(|table| table.in_full())
                .collect(),
        };
        let described = subject.described(&all).await;
        joins::advise(known, outline, words, &missing, &described, advice);
    }
    if !matches!(
        error.code(),
        Code::SqlInvalid | Code::UpstreamError | Code::SqlNotSupported
    ) {
        return;
    }
    aliases::advise(known, outline, &used, advice);
    if advice.replace.is_empty() && advice.add_join.is_empty() {
        let names: Vec<String> = used.iter().map(|table| table.in_full()).collect();
        let described = subject.described(&names).await;
        types::advise(known, outline, &described, advice);
        types::rounding(error, advice);
        if types::is_of_grouping(error) {
            types::group_by(outline, advice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_message_is_withheld_when_rows_are() {
        let engine = Error::new(
            Code::SqlInvalid,
            "invalid input syntax: \"bob@example.com\"",
        )
        .blamed(Blame::Upstream)
        .with_position(8);
        let withheld = told(&engine, false);
        assert!(!withheld.to_string().contains("bob"), "{withheld}");
        assert_eq!(withheld["code"], "sql_invalid");
        assert_eq!(withheld["position"], 8);
        assert!(told(&engine, true).to_string().contains("bob"));
        let ours = Error::new(Code::SqlTableNotAllowed, "there is no table x");
        assert!(told(&ours, false).to_string().contains("table x"));
    }

    #[test]
    fn limit_is_added_behind_a_comment() {
        for (sql, at_end, instead) in [
            ("SELECT TOP 2 a FROM t", Some("LIMIT 2"), None),
            ("SELECT TOP 2 a FROM t;", Some("LIMIT 2"), None),
            ("SELECT TOP 2 a FROM t -- two", Some("\nLIMIT 2"), None),
            ("SELECT TOP 2 a FROM t; -- two", None, Some(" LIMIT 2")),
        ] {
            let words = outline::words(sql, Dialect::Sqlite);
            let mut advice = Advice::default();
            top::advise(&words, Dialect::Sqlite, &mut advice);
            out_of_comment(sql, &words, &mut advice);
            assert_eq!(advice.add_at_end.as_deref(), at_end, "{sql}");
            let last = advice.replace.get(1).map(|one| one.instead[0].as_str());
            assert_eq!(last, instead, "{sql}");
        }
    }

    #[test]
    fn only_what_the_plan_refused_is_of_the_dry_run() {
        let wrong = || Error::new(Code::SqlInvalid, "no such column");
        let unreachable = Error::new(Code::UpstreamUnreachable, "no connection");
        for (error, is_accepted, expected) in [
            (wrong().with_source(RefusedInPlan), true, "dry_run"),
            (wrong(), true, "execution"),
            (Error::new(Code::Timeout, "too slow"), true, "execution"),
            (unreachable, true, "execution"),
            (Error::new(Code::SqlTableNotAllowed, "x"), false, "guard"),
            (Error::new(Code::SqlSyntax, "x"), false, "parse"),
        ] {
            assert_eq!(phase(&error, is_accepted), expected, "{error}");
        }
    }
}
