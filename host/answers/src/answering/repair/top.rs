//! TOP, which SQL Server has in place of LIMIT.

use super::{Advice, MAX_ADVICES, Replace, row_limits::is_count};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::Word;

/// Adds the LIMIT that stands in place of each TOP, where the dialect has no TOP.
pub fn advise(words: &[Word], dialect: Dialect, advice: &mut Advice) {
    if dialect == Dialect::Mssql {
        return;
    }
    // The TOP of each open bracket, and of the statement itself.
    let mut open: Vec<Top<'_>> = vec![Top::default()];
    for (index, word) in words.iter().enumerate() {
        match word.text.to_uppercase().as_str() {
            "(" => open.push(Top::default()),
            ")" if open.len() > 1 => {
                let limit = open.pop().and_then(|inner| inner.limit(advice));
                if let Some((top, limit)) = limit {
                    advice.replace.push(top);
                    let instead = format!(" {limit})");
                    advice
                        .replace
                        .push(Replace::new(")", word.position, vec![instead]));
                }
            }
            "UNION" | "INTERSECT" | "EXCEPT" => {
                if let Some(inner) = open.last_mut() {
                    inner.is_one_of_several = true;
                }
            }
            "TOP" => {
                let before = index.checked_sub(1).and_then(|before| words.get(before));
                let is_of_select = before.is_some_and(|before| {
                    let before = before.text.to_uppercase();
                    ["SELECT", "DISTINCT", "ALL"].contains(&before.as_str())
                });
                let (true, Some((count, last)), Some(inner)) =
                    (is_of_select, count(words, index), open.last_mut())
                else {
                    continue;
                };
                let next = words.get(last + 1);
                let next = next.map_or_else(String::new, |next| next.text.to_uppercase());
                inner.is_one_of_several |=
                    inner.written.is_some() || next == "PERCENT" || next == "WITH";
                inner.written = words.get(index..=last).map(|top| (top, count));
            }
            _ => {}
        }
    }
    if open.len() > 1 {
        // Where the brackets end is not certain.
        if open.iter().any(|inner| inner.written.is_some()) {
            advice.hint(NO_TOP);
        }
        return;
    }
    if let Some((top, limit)) = open.pop().and_then(|whole| whole.limit(advice)) {
        advice.replace.push(top);
        advice.add_at_end = Some(limit);
    }
}

/// The number of the TOP at an index, in brackets or not, and the index of its last word.
fn count(words: &[Word], top: usize) -> Option<(&Word, usize)> {
    match words.get(top + 1..)? {
        [count, ..] if is_count(count) => Some((count, top + 1)),
        [open, count, close, ..] if open.text == "(" && is_count(count) && close.text == ")" => {
            Some((count, top + 3))
        }
        _ => None,
    }
}

/// For a TOP that is not written anew.
const NO_TOP: &str = "there is no TOP; write LIMIT with the number at the end of the SELECT that has it, in its own brackets";

/// The TOP of one SELECT.
#[derive(Default)]
struct Top<'a> {
    /// Its words, and the number among them.
    written: Option<(&'a [Word], &'a Word)>,
    /// Whether a LIMIT would be of several SELECTs, or the TOP is more than a number.
    is_one_of_several: bool,
}

impl Top<'_> {
    /// What to leave out, and the LIMIT in its place. Both or none of them have room among the advices.
    fn limit(&self, advice: &mut Advice) -> Option<(Replace, String)> {
        let (words, count) = self.written?;
        let top = words.first()?;
        if self.is_one_of_several || advice.replace.len() + 2 > MAX_ADVICES {
            advice.hint(NO_TOP);
            return None;
        }
        let written = as_written(words);
        let replace = Replace::new(written, top.position, vec![String::new()]);
        Some((replace, format!("LIMIT {}", count.text)))
    }
}

/// Words as the text has them, with one space where it has any.
fn as_written(words: &[Word]) -> String {
    let mut written = String::new();
    let mut end = None;
    for word in words {
        if end.is_some_and(|end| end < word.position) {
            written.push(' ');
        }
        written.push_str(&word.text);
        end = Some(word.position + u32::try_from(word.text.chars().count()).unwrap_or(0));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sql::outline;

    #[test]
    fn each_top_becomes_the_limit_of_its_own_select() {
        for (sql, expected, at_end) in [
            (
                "SELECT TOP 1 a FROM (SELECT TOP 2 a FROM t) u",
                &[("TOP 2", ""), (")", " LIMIT 2)"), ("TOP 1", "")][..],
                Some("LIMIT 1"),
            ),
            (
                "SELECT a FROM t WHERE a IN (SELECT TOP 2 max(b) FROM u)",
                &[("TOP 2", ""), (")", " LIMIT 2)")],
                None,
            ),
            // These would be of the whole UNION, or of a share of the rows.
            (
                "SELECT TOP 1 a FROM t UNION SELECT TOP 2 a FROM t",
                &[],
                None,
            ),
            ("SELECT TOP 10 PERCENT a FROM t", &[], None),
            ("SELECT TOP (10) PERCENT a FROM t", &[], None),
            (
                "SELECT TOP (5) a FROM t",
                &[("TOP (5)", "")],
                Some("LIMIT 5"),
            ),
            (
                "SELECT DISTINCT TOP(5) a FROM t",
                &[("TOP(5)", "")],
                Some("LIMIT 5"),
            ),
        ] {
            let mut advice = Advice::default();
            advise(
                &outline::words(sql, Dialect::Sqlite),
                Dialect::Sqlite,
                &mut advice,
            );
            let replaced: Vec<_> = advice
                .replace
                .iter()
                .map(|one| (one.written.as_str(), one.instead[0].as_str()))
                .collect();
            assert_eq!(replaced, expected, "{sql}");
            assert_eq!(advice.add_at_end.as_deref(), at_end, "{sql}");
            assert_eq!(advice.hints.is_empty(), !expected.is_empty(), "{sql}");
        }
    }
}
