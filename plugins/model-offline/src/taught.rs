//! What the editors of a Mind taught it: a statement for the very question, a metric that is all it asks for, and what
//! the catalog does not say of itself: metrics, terms and joins.

mod metric;

use crate::answer;
use crate::catalog::{Catalog, ForeignKey};
use crate::tools::{self, MOST_ROWS, RUN, Rows};
use crate::turn::{Action, Turn};
use crate::vocabulary::holds;
use crate::words::{stems, tokenize};

pub use metric::{Formula, Metric};

/// The host's words before what a Mind was taught.
const KNOWLEDGE: &str = "\nKnowledge of this Mind, written by its editors.";
/// What each entry begins with.
const KINDS: &[&str] = &[
    "Verified query ",
    "Instruction (",
    "Metric \"",
    "Term \"",
    "Join (",
];
/// How the first entry begins if it is of the very question.
const SAME: &str = "Verified query for this very question.";
/// What the caller adds comes behind this, and is not of the editors. The catalog comes last.
const BEHIND: &[&str] = &[
    "\nInstructions for this answer:\n",
    "\nThe catalog, one table a line:",
];

/// A statement that answers the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taught {
    sql: String,
    /// What it is, for the answer.
    origin: String,
    /// How the question was read, where that is not plain.
    notes: Vec<String>,
}

/// Finds the statement for a question in what was taught.
pub fn find(knowledge: &str, question: &str) -> Option<Taught> {
    verified(knowledge).or_else(|| metric(knowledge, question))
}

fn verified(knowledge: &str) -> Option<Taught> {
    let (_, first) = knowledge.split_once("\n- ")?;
    let (_, sql) = first.strip_prefix(SAME)?.split_once("\n```sql\n")?;
    let (sql, _) = sql.split_once("\n```\n")?;
    Some(Taught {
        sql: sql.to_owned(),
        origin: "the query that was verified for this question".to_owned(),
        notes: Vec::new(),
    })
}

/// What the editors taught, in the host's own system message.
pub fn knowledge(system: &str) -> Option<&str> {
    let ours = BEHIND.iter().fold(system, |text, behind| {
        text.split_once(behind).map_or(text, |(before, _)| before)
    });
    ours.rsplit_once(KNOWLEDGE).map(|(_, knowledge)| knowledge)
}

/// The metrics and terms that a text names, as they are told: they name tables that the question may not name.
pub fn definitions(knowledge: &str, text: &str) -> String {
    let text = stems(text);
    let is_said = |name: &String| {
        let name = stems(name);
        text.windows(name.len().max(1)).any(|said| said == name)
    };
    let is_named = |entry: &String| {
        let entry = entry
            .strip_prefix("Metric ")
            .or(entry.strip_prefix("Term "));
        let names = entry.and_then(called).map(|(names, _)| names);
        names.is_some_and(|names| names.iter().any(is_said))
    };
    let definitions: Vec<String> = entries(knowledge).filter(is_named).collect();
    definitions.join("\n")
}

/// Adds what was taught to a catalog: joins as its foreign keys, then terms, and metrics, whose joins must be keys.
pub fn teach(knowledge: &str, catalog: &mut Catalog) {
    for entry in entries(knowledge) {
        if let Some((from, key)) = join(catalog, &entry) {
            let keys = &mut catalog.tables[from].foreign_keys;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    for entry in entries(knowledge) {
        catalog.terms.extend(term(&entry));
        let metric = defined(catalog, &entry);
        catalog.metrics.extend(metric);
    }
}

/// A join as the foreign key that it is, with the table that has it. A row of that has one row of the other table.
fn join(catalog: &Catalog, entry: &str) -> Option<(usize, ForeignKey)> {
    let (_, said) = entry.strip_prefix("Join (")?.split_once("): ")?;
    let (said, _) = said.split_once(';').unwrap_or((said, ""));
    let (pairs, cardinality) = said.split_once(", ").unwrap_or((said, ""));
    let mut ends = [(0, Vec::new()), (0, Vec::new())];
    for pair in pairs.split(" AND ") {
        let (left, right) = pair.split_once(" = ")?;
        for (side, end) in [left, right].into_iter().zip(&mut ends) {
            let (table, column) = side.trim().rsplit_once('.')?;
            end.0 = catalog.named(table)?;
            end.1.push(catalog.table(end.0).find(column)?);
        }
    }
    let [one, other] = ends;
    let is_key = |(table, columns): &(usize, Vec<usize>)| {
        let key = &catalog.table(*table).primary_key;
        !key.is_empty() && key.iter().all(|k| columns.contains(k))
    };
    let (from, to) = match cardinality.trim() {
        "many to one" | "one to one" => (one, other),
        "one to many" => (other, one),
        "" if is_key(&other) => (one, other),
        "" if is_key(&one) => (other, one),
        _ => return None,
    };
    let is_within = catalog.table(from.0).datasource == catalog.table(to.0).datasource;
    let key = ForeignKey {
        columns: from.1,
        target: to.0,
        target_columns: to.1,
        guessed: false,
    };
    is_within.then_some((from.0, key))
}

/// The names of a term, and what it means: its text, and the names of its column and table.
fn term(entry: &str) -> Option<(Vec<String>, String)> {
    let (names, rest) = called(entry.strip_prefix("Term ")?)?;
    let (place, meaning) = rest.split_once(": ")?;
    let place = place.trim_matches([' ', '(', ')']).split_once(' ');
    let place = place.map_or("", |(_, names)| names).split(" of ");
    // Of `main.orders` only the name counts.
    let place: Vec<&str> = place.filter_map(|name| name.rsplit('.').next()).collect();
    Some((names, format!("{meaning}, {}", place.join(", "))))
}

/// A metric, with its statement taken apart. Of two with one name, the second has no meaning.
fn defined(catalog: &Catalog, entry: &str) -> Option<Metric> {
    let (called, select) = statement(entry)?;
    let mut names: Vec<Vec<String>> = called.iter().map(|name| stems(name)).collect();
    names.retain(|name| !name.is_empty());
    let mut known = catalog.metrics.iter().flat_map(|m| &m.names);
    let is_taken = known.any(|name| names.contains(name));
    let name = called.into_iter().next()?;
    let line: Vec<&str> = select.split_whitespace().collect();
    Some(Metric {
        note: format!("{name} as taught: `{}`", line.join(" ")),
        formula: Formula::of(catalog, select).filter(|_| !is_taken),
        names,
        name,
    })
}

/// The one metric whose name or synonym is all that the question says.
fn metric(knowledge: &str, question: &str) -> Option<Taught> {
    let asked = said(question);
    let mut found = entries(knowledge).filter_map(|entry| {
        let (names, select) = statement(&entry)?;
        let is_asked = |one: &String| !asked.is_empty() && said(one) == asked;
        let name = names.first().filter(|_| names.iter().any(is_asked))?;
        Some(Taught {
            sql: format!("SELECT {select}"),
            origin: format!("the metric \"{name}\" as the editors of this Mind define it"),
            notes: vec![format!(
                "{name} is what the editors of this Mind define it to be"
            )],
        })
    });
    found.next().filter(|_| found.next().is_none())
}

/// The entries without their dash. A line of a statement may begin with a dash too.
fn entries(knowledge: &str) -> impl Iterator<Item = String> {
    let mut entries: Vec<String> = Vec::new();
    for line in knowledge.lines() {
        let entry = line
            .strip_prefix("- ")
            .filter(|l| KINDS.iter().any(|k| l.starts_with(k)));
        match (entry, entries.last_mut()) {
            (Some(entry), _) => entries.push(entry.to_owned()),
            (None, Some(last)) => *last += &format!("\n{line}"),
            (None, None) => {}
        }
    }
    entries.into_iter()
}

/// The names of a metric, and its statement behind SELECT.
fn statement(entry: &str) -> Option<(Vec<String>, &str)> {
    let (head, select) = entry.split_once("\n  SELECT ")?;
    let (names, _) = called(head.strip_prefix("Metric ")?)?;
    Some((names, select.trim_end()))
}

/// A name with its synonyms, and what stands behind them.
fn called(text: &str) -> Option<(Vec<String>, &str)> {
    let (name, rest) = text.strip_prefix('"')?.split_once('"')?;
    let also = rest.strip_prefix(" (also: ");
    let (synonyms, rest) = also.and_then(|r| r.split_once(')')).unwrap_or(("", rest));
    let all = [name].into_iter().chain(synonyms.split(", "));
    let names = all.filter(|n| !n.is_empty()).map(str::to_owned).collect();
    Some((names, rest))
}

/// The stems of a text without the words that only ask for a figure, as "show" does not.
fn said(text: &str) -> Vec<String> {
    const ASKING: &str = "a an the what is was are were how much our my we have do us me please tell compute \
        calculate report now currently";
    let tokens = tokenize(text).into_iter();
    let kept = tokens.filter(|t| !holds(ASKING, &t.norm));
    kept.map(|t| t.stem).collect()
}

/// Runs the statement, then says what it gave. None without one, or if it failed: then the question is read.
pub fn next(turn: &Turn) -> Option<Action> {
    let taught = turn.taught.as_ref()?;
    let Some(step) = turn.ran(&taught.sql) else {
        let call = || tools::run("", &taught.sql, MOST_ROWS, &taught.notes);
        return turn.offers(RUN).then(call);
    };
    let rows: Option<Rows> = (!step.failed)
        .then(|| serde_json::from_str(&step.content).ok())
        .flatten();
    rows.map(|rows| Action::Say(answer::taught(&rows, &taught.origin)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Step;

    const SYSTEM: &str = "You are sales.\nRules:\n\nKnowledge of this Mind, written by its editors. Use it.\n\
        - Verified query for this very question. Run it first:\n```sql\nSELECT count(*)\nFROM orders\n```\n- Term \"x\": y\n";
    const SQL: &str = "SELECT count(*)\nFROM orders";
    const METRICS: &str = "You are sales.\n\nKnowledge of this Mind, written by its editors. Use it.\n\
        - Metric \"revenue\" (also: net turnover, sales): Sold.\n  SELECT sum(a)\n- sum(b) FROM t WHERE c > 0\n\
        - Metric \"margin\"\n  SELECT avg(d) FROM t\n- Term \"x\": y\n\nThe catalog, one table a line: t\n";

    fn statement(system: &str, question: &str) -> Option<String> {
        find(knowledge(system)?, question).map(|taught| taught.sql)
    }

    #[test]
    fn statement_is_found_in_the_knowledge_and_nowhere_else() {
        assert_eq!(statement(SYSTEM, "").as_deref(), Some(SQL));
        assert_eq!(statement("You are sales.", ""), None);
        let similar = SYSTEM.replace(SAME, "Verified query for the question \"x\":");
        assert_eq!(statement(&similar, ""), None);
        let of_caller = format!("You are sales.\n{}{SYSTEM}", BEHIND[0]);
        assert_eq!(statement(&of_caller, ""), None);
    }

    #[test]
    fn question_that_is_only_a_metric_gets_its_statement() {
        let revenue = "SELECT sum(a)\n- sum(b) FROM t WHERE c > 0";
        for question in [
            "What is our revenue?",
            "net turnover",
            "How much sales do we have?",
            "Sale",
        ] {
            assert_eq!(
                statement(METRICS, question).as_deref(),
                Some(revenue),
                "{question}"
            );
        }
        assert_eq!(
            statement(METRICS, "margin").as_deref(),
            Some("SELECT avg(d) FROM t")
        );
        for question in [
            "revenue in May",
            "revenue per customer",
            "turnover",
            "",
            "What is it?",
            "revenue margin",
        ] {
            assert_eq!(statement(METRICS, question), None, "{question}");
        }
        let of_caller = format!("You are sales.\n{}{METRICS}", BEHIND[0]);
        assert_eq!(statement(&of_caller, "revenue"), None);
    }

    #[test]
    fn metric_of_two_definitions_is_left_alone() {
        let twice = METRICS.replace("\"margin\"", "\"margin\" (also: revenue)");
        assert_eq!(statement(&twice, "revenue"), None);
    }

    #[test]
    fn verified_statement_is_run_and_its_rows_are_the_answer() {
        let mut turn = Turn {
            question: "How many orders?".to_owned(),
            taught: find(SYSTEM, ""),
            tools: vec![RUN.to_owned()],
            ..Turn::default()
        };
        assert_eq!(next(&turn), Some(tools::run("", SQL, MOST_ROWS, &[])));
        let step = |content: &str, failed| Step {
            tool: RUN.to_owned(),
            arguments: serde_json::json!({"sql": SQL}).to_string(),
            content: content.to_owned(),
            failed,
        };
        let rows = r#"{"columns": [{"name": "count"}], "rows": [[7]], "row_count": 1}"#;
        turn.steps = vec![step(rows, false)];
        let Some(Action::Say(text)) = next(&turn) else {
            panic!("{turn:?}");
        };
        assert!(text.contains("**7**"), "{text}");
        turn.steps = vec![step("{}", true)];
        assert_eq!(next(&turn), None);
    }
}
