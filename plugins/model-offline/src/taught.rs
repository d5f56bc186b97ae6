//! What the editors of a Mind taught it: a statement for the very question, or a metric that is all it asks for.

use crate::answer;
use crate::tools::{self, MOST_ROWS, RUN, Rows};
use crate::turn::{Action, Turn};
use crate::vocabulary::holds;
use crate::words::tokenize;

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

/// Finds the statement for a question in the host's own system message.
pub fn find(system: &str, question: &str) -> Option<Taught> {
    let knowledge = knowledge(system)?;
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

/// The name of a metric that the question says beside other words: what the editors define has no other meaning.
pub fn beside(system: &str, question: &str) -> Option<String> {
    let asked = said(question);
    let is_said = |name: &str| {
        let name = said(name);
        !name.is_empty() && asked.windows(name.len()).any(|part| part == name)
    };
    entries(knowledge(system)?).find_map(|entry| {
        let (name, names) = names(&entry)?;
        names.iter().any(|n| is_said(n)).then_some(name)
    })
}

/// What the editors taught, in the host's own system message.
fn knowledge(system: &str) -> Option<&str> {
    let ours = BEHIND.iter().fold(system, |text, behind| {
        text.split_once(behind).map_or(text, |(before, _)| before)
    });
    ours.rsplit_once(KNOWLEDGE).map(|(_, knowledge)| knowledge)
}

/// The one metric whose name or synonym is all that the question says.
fn metric(knowledge: &str, question: &str) -> Option<Taught> {
    let asked = said(question);
    let mut found = entries(knowledge).filter_map(|entry| {
        let (name, sql) = named(&entry, &asked)?;
        Some(Taught {
            sql,
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

/// Name and statement of a metric that is called so.
fn named(entry: &str, asked: &[String]) -> Option<(String, String)> {
    let (_, sql) = entry.split_once("\n  SELECT ")?;
    let (name, names) = names(entry)?;
    let is_asked = |one: &&str| !asked.is_empty() && said(one) == asked;
    let sql = format!("SELECT {}", sql.trim_end());
    names.iter().any(is_asked).then_some((name, sql))
}

/// The name of a metric, and that with its synonyms.
fn names(entry: &str) -> Option<(String, Vec<&str>)> {
    let (head, _) = entry.split_once("\n  SELECT ")?;
    let (name, rest) = head.strip_prefix("Metric \"")?.split_once('"')?;
    let also = rest
        .strip_prefix(" (also: ")
        .and_then(|r| r.split_once(')'));
    let synonyms = also.map_or("", |(synonyms, _)| synonyms).split(", ");
    let names = [name].into_iter().chain(synonyms).collect();
    Some((name.to_owned(), names))
}

/// The stems of a text without the words that only ask.
fn said(text: &str) -> Vec<String> {
    const ASKING: &str = "a an the what is was are were how much our my we have do us me please show tell give \
        compute calculate display report now currently";
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
        find(system, question).map(|taught| taught.sql)
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
    fn metric_beside_other_words_is_named() {
        for (question, name) in [
            ("revenue in May", Some("revenue")),
            ("total net turnover per customer", Some("revenue")),
            ("What is our margin?", Some("margin")),
            ("turnover", None),
            ("How many orders?", None),
        ] {
            assert_eq!(beside(METRICS, question).as_deref(), name, "{question}");
        }
        assert_eq!(beside("You are sales.", "revenue in May"), None);
        let turn = Turn {
            question: "revenue in May".to_owned(),
            metric: beside(METRICS, "revenue in May"),
            ..Turn::default()
        };
        let Action::Decline(text) = crate::decide::decide(&turn) else {
            panic!("{turn:?}");
        };
        assert!(text.contains("bare name: \"revenue\""), "{text}");
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
