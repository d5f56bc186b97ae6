//! LIMIT and FETCH FIRST, where the dialect writes them in another way.

use super::{Advice, MAX_ADVICES, Replace};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::Word;

/// Whether a word is a whole number.
pub fn is_count(word: &Word) -> bool {
    !word.text.is_empty() && word.text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Adds how this dialect takes the first rows.
pub fn advise(sql: &str, words: &[Word], dialect: Dialect, advice: &mut Advice) {
    if dialect == Dialect::Mssql {
        let is_limit = |word: &Word| word.is_name && word.text.eq_ignore_ascii_case("limit");
        if words
            .windows(2)
            .any(|two| matches!(two, [limit, count] if is_limit(limit) && is_count(count)))
        {
            advice.hint(
                "there is no LIMIT; write SELECT TOP (n), or OFFSET 0 ROWS FETCH NEXT n ROWS ONLY behind ORDER BY",
            );
        }
        return;
    }
    if !has_fetch(dialect) {
        fetch(sql, words, advice);
    }
    if !has_both(dialect) {
        both(sql, words, advice);
    }
}

/// MariaDB has it, MySQL has not.
fn has_fetch(dialect: Dialect) -> bool {
    use Dialect::{Clickhouse, Postgresql, Trino};
    matches!(dialect, Postgresql | Trino | Clickhouse)
}

/// Whether the dialect reads `LIMIT 20, 10`.
fn has_both(dialect: Dialect) -> bool {
    use Dialect::{Clickhouse, Mysql, Sqlite};
    matches!(dialect, Mysql | Sqlite | Clickhouse)
}

/// `OFFSET 20 ROWS FETCH NEXT 10 ROWS ONLY`, as `LIMIT 10 OFFSET 20`.
fn fetch(sql: &str, words: &[Word], advice: &mut Advice) {
    for (index, five) in words.windows(5).enumerate() {
        let [fetch, first, count, rows, only] = five else {
            continue;
        };
        let is_fetch = is(fetch, &["fetch"])
            && is(first, &["first", "next"])
            && is_count(count)
            && is(rows, &["row", "rows"])
            && is(only, &["only"]);
        if !is_fetch || advice.replace.len() + 2 > MAX_ADVICES {
            continue;
        }
        let before = index.checked_sub(3).and_then(|at| words.get(at..index));
        let mut instead = format!("LIMIT {}", count.text);
        if let Some([offset, skipped, rows]) = before
            && is(offset, &["offset"])
            && is_count(skipped)
            && is(rows, &["row", "rows"])
        {
            instead.push_str(&format!(" OFFSET {}", skipped.text));
            let written = between(sql, offset, rows);
            let nothing = vec![String::new()];
            advice
                .replace
                .push(Replace::new(written, offset.position, nothing));
        }
        let written = between(sql, fetch, only);
        advice
            .replace
            .push(Replace::new(written, fetch.position, vec![instead]));
    }
}

/// `LIMIT 20, 10` where the dialect has OFFSET.
fn both(sql: &str, words: &[Word], advice: &mut Advice) {
    for four in words.windows(4) {
        let [limit, offset, comma, count] = four else {
            continue;
        };
        if is(limit, &["limit"]) && comma.text == "," && is_count(offset) && is_count(count) {
            let instead = format!("LIMIT {} OFFSET {}", count.text, offset.text);
            let written = between(sql, limit, count);
            advice
                .replace
                .push(Replace::new(written, limit.position, vec![instead]));
        }
    }
}

fn is(word: &Word, keywords: &[&str]) -> bool {
    let mut keywords = keywords.iter();
    keywords.any(|keyword| word.text.eq_ignore_ascii_case(keyword))
}

/// The text from one word up to another, both included.
pub fn between(sql: &str, first: &Word, last: &Word) -> String {
    let length = last.position.saturating_sub(first.position) as usize + last.text.chars().count();
    let from = (first.position as usize).saturating_sub(1);
    sql.chars().skip(from).take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sql::outline;

    #[test]
    fn first_rows_are_taken_as_the_dialect_writes_it() {
        for (dialect, sql, expected) in [
            (
                Dialect::Postgresql,
                "SELECT 1 LIMIT 20,  10",
                &[("LIMIT 20,  10", "LIMIT 10 OFFSET 20")][..],
            ),
            (
                Dialect::Sqlite,
                "SELECT a FROM t ORDER BY a FETCH FIRST 5 ROWS ONLY",
                &[("FETCH FIRST 5 ROWS ONLY", "LIMIT 5")],
            ),
            (
                Dialect::Datafusion,
                "SELECT a FROM t ORDER BY a OFFSET 20 ROWS FETCH NEXT 10 ROWS ONLY",
                &[
                    ("OFFSET 20 ROWS", ""),
                    ("FETCH NEXT 10 ROWS ONLY", "LIMIT 10 OFFSET 20"),
                ],
            ),
            (Dialect::Postgresql, "SELECT 1 FETCH FIRST 5 ROWS ONLY", &[]),
            (Dialect::Mysql, "SELECT 1 LIMIT 20, 10", &[]),
        ] {
            let mut advice = Advice::default();
            advise(sql, &outline::words(sql, dialect), dialect, &mut advice);
            let replaced: Vec<_> = advice
                .replace
                .iter()
                .map(|one| (one.written.as_str(), one.instead[0].as_str()))
                .collect();
            assert_eq!(replaced, expected, "{sql}");
        }
        let mut advice = Advice::default();
        let sql = "SELECT a FROM t LIMIT 5";
        let words = outline::words(sql, Dialect::Mssql);
        advise(sql, &words, Dialect::Mssql, &mut advice);
        assert!(advice.hints[0].contains("TOP (n)"), "{advice:?}");
    }
}
