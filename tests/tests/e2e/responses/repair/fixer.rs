//! The correcting half of the model: it changes its statement only by what the last tool result says.

use mindhost_tests::Turn;
use serde_json::{Value, json};

/// The next turn for a request: the statement of the question at first, then as the results say.
pub fn react(body: &Value) -> Turn {
    let messages = body["messages"].as_array().expect("messages");
    let question = messages
        .iter()
        .rposition(|message| message["role"] == "user")
        .expect("a question");
    let mut sql = messages[question]["content"]
        .as_str()
        .expect("a text")
        .to_owned();
    for message in &messages[question + 1..] {
        if message["role"] != "tool" {
            continue;
        }
        let result: Value =
            serde_json::from_str(message["content"].as_str().unwrap_or_default()).expect("JSON");
        match result.get("error") {
            None => return Turn::text("Done."),
            Some(error) => sql = fixed(&sql, error),
        }
    }
    Turn::call("run_sql", json!({ "sql": sql }))
}

/// The statement with the changes of an error.
fn fixed(sql: &str, error: &Value) -> String {
    let mut sql = sql.trim().trim_end_matches(';').to_owned();
    let list = |name: &str| error[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut parts = list("replace");
    // From the end, so that the positions of the others stay.
    parts.sort_by_key(|part| std::cmp::Reverse(part["position"].as_u64().unwrap_or(0)));
    for part in parts {
        let (written, instead) = (text(&part["written"]), text(&part["use"][0]));
        sql = match part["position"].as_u64() {
            Some(position) => replace_at(&sql, position as usize - 1, &written, &instead),
            None => replace_word(&sql, &written, &instead),
        };
    }
    for join in list("add_join") {
        sql = with_join(&sql, &text(&join));
    }
    if let Some(group_by) = error["group_by"].as_str() {
        sql = with_group_by(&sql, group_by);
    }
    if let Some(more) = error["add_at_end"].as_str() {
        sql = format!("{sql} {more}");
    }
    sql
}

fn replace_at(sql: &str, at: usize, written: &str, instead: &str) -> String {
    let letters: Vec<char> = sql.chars().collect();
    let before: String = letters.iter().take(at).collect();
    let rest: String = letters.iter().skip(at).collect();
    match rest.strip_prefix(written) {
        Some(after) => format!("{before}{instead}{after}"),
        // A comma and a word with white space between them.
        None => match written.split_once(' ') {
            Some((first, _)) if instead.is_empty() || written.ends_with(instead) => {
                format!("{before}{}", rest.strip_prefix(first).unwrap_or(&rest))
            }
            _ => sql.to_owned(),
        },
    }
}

/// Replaces every whole occurrence.
fn replace_word(sql: &str, written: &str, instead: &str) -> String {
    let is_word = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let mut fixed = String::new();
    let mut rest = sql;
    while let Some(at) = rest.find(written) {
        let after = &rest[at + written.len()..];
        let is_whole = !is_word(rest[..at].chars().next_back()) && !is_word(after.chars().next());
        fixed.push_str(&rest[..at]);
        fixed.push_str(if is_whole { instead } else { written });
        rest = after;
    }
    fixed + rest
}

/// Adds a join behind FROM and the joins that are there.
fn with_join(sql: &str, join: &str) -> String {
    before_clause(
        sql,
        &[" WHERE ", " GROUP BY ", " HAVING ", " ORDER BY ", " LIMIT "],
        join,
    )
}

fn with_group_by(sql: &str, group_by: &str) -> String {
    let sql = match sql.find(" GROUP BY ") {
        None => sql.to_owned(),
        Some(from) => {
            let ends = [" HAVING ", " ORDER BY ", " LIMIT "];
            let end = ends.iter().filter_map(|end| sql[from..].find(end)).min();
            format!(
                "{}{}",
                &sql[..from],
                end.map_or("", |end| &sql[from + end..])
            )
        }
    };
    before_clause(&sql, &[" HAVING ", " ORDER BY ", " LIMIT "], group_by)
}

fn before_clause(sql: &str, clauses: &[&str], text: &str) -> String {
    let at = clauses
        .iter()
        .filter_map(|clause| sql.find(clause))
        .min()
        .unwrap_or(sql.len());
    format!("{} {text}{}", &sql[..at], &sql[at..])
}
