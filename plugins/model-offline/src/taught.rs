//! The statement that the editors of a Mind verified for the very question.

use crate::answer;
use crate::tools::{self, MOST_ROWS, RUN, Rows};
use crate::turn::{Action, Turn};

/// The host's words before what a Mind was taught.
const KNOWLEDGE: &str = "\nKnowledge of this Mind, written by its editors.";
/// How the first entry begins if it is of the very question.
const SAME: &str = "Verified query for this very question.";
/// What the caller adds comes behind this, and is not of the editors.
const CALLER: &str = "\nInstructions for this answer:\n";

/// Finds the statement in the host's own system message.
pub fn statement(system: &str) -> Option<String> {
    let ours = system
        .split_once(CALLER)
        .map_or(system, |(before, _)| before);
    let (_, knowledge) = ours.rsplit_once(KNOWLEDGE)?;
    let (_, first) = knowledge.split_once("\n- ")?;
    let (_, sql) = first.strip_prefix(SAME)?.split_once("\n```sql\n")?;
    let (sql, _) = sql.split_once("\n```\n")?;
    Some(sql.to_owned())
}

/// Runs the statement, then says what it gave. None without one, or if it failed: then the question is read.
pub fn next(turn: &Turn) -> Option<Action> {
    let sql = turn.verified.as_deref()?;
    let Some(step) = turn.ran(sql) else {
        return turn.offers(RUN).then(|| tools::run("", sql, MOST_ROWS));
    };
    let rows: Option<Rows> = (!step.failed)
        .then(|| serde_json::from_str(&step.content).ok())
        .flatten();
    rows.map(|rows| Action::Say(answer::verified(&rows)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Step;

    const SYSTEM: &str = "You are sales.\nRules:\n\nKnowledge of this Mind, written by its editors. Use it.\n\
        - Verified query for this very question. Run it first:\n```sql\nSELECT count(*)\nFROM orders\n```\n- Term \"x\": y\n";
    const SQL: &str = "SELECT count(*)\nFROM orders";

    #[test]
    fn statement_is_found_in_the_knowledge_and_nowhere_else() {
        assert_eq!(statement(SYSTEM).as_deref(), Some(SQL));
        assert_eq!(statement("You are sales."), None);
        let similar = SYSTEM.replace(SAME, "Verified query for the question \"x\":");
        assert_eq!(statement(&similar), None);
        let of_caller = format!("You are sales.\n{CALLER}{SYSTEM}");
        assert_eq!(statement(&of_caller), None);
    }

    #[test]
    fn verified_statement_is_run_and_its_rows_are_the_answer() {
        let mut turn = Turn {
            question: "How many orders?".to_owned(),
            verified: statement(SYSTEM),
            tools: vec![RUN.to_owned()],
            ..Turn::default()
        };
        assert_eq!(next(&turn), Some(tools::run("", SQL, MOST_ROWS)));
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
