//! Text that is no statement: misspelt keywords, brackets, commas, quotes, and what other dialects write.

use std::{cell::OnceCell, collections::HashSet};

use super::{
    Advice, MAX_ADVICES, Replace, casts, intervals, row_limits, statement_scope::StatementScope,
    top,
};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{Word, functions, quote, spelled};

/// Keywords that are often misspelt.
const KEYWORDS: [&str; 27] = [
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "JOIN",
    "LEFT", "RIGHT", "INNER", "OUTER", "CROSS", "UNION", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN",
    "ELSE", "DESC", "WITH", "VALUES", "EXISTS", "NULL",
];
/// Edits of a misspelt keyword.
const MAX_EDITS: usize = 2;

/// Adds what to write instead.
pub fn advise(sql: &str, words: &[Word], known: &StatementScope<'_>, advice: &mut Advice) {
    quotes(sql, known.dialect, advice);
    brackets(words, advice);
    let names = Names {
        known,
        lower: OnceCell::new(),
    };
    for (index, word) in words.iter().enumerate() {
        if advice.replace.len() >= MAX_ADVICES {
            break;
        }
        let next = words.get(index + 1).map_or("", |next| next.text.as_str());
        clause(word, next, advice);
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let before = before.map_or("", |before| before.text.as_str());
        // There it is a name.
        if !before.eq_ignore_ascii_case("as") && before != "." && next != "." {
            keyword(word, &names, advice);
        }
    }
    commas(words, advice);
    operators(words, advice);
    of_other_dialects(sql, words, known.dialect, advice);
}

/// The names of the tables and columns that a statement may read.
struct Names<'a, 'b> {
    known: &'a StatementScope<'b>,
    /// In lower case; filled when they are first asked for.
    lower: OnceCell<HashSet<String>>,
}

impl Names<'_, '_> {
    fn has(&self, name: &str) -> bool {
        let lower = self.lower.get_or_init(|| {
            let tables = self.known.tables.iter();
            let names = tables.flat_map(|table| {
                let columns = table.columns.iter().map(String::as_str);
                columns.chain([table.name])
            });
            names.map(str::to_ascii_lowercase).collect()
        });
        lower.contains(&name.to_ascii_lowercase())
    }
}

/// If the first word is almost SELECT, WITH or VALUES, advises that.
pub fn first_word(words: &[Word], advice: &mut Advice) {
    let Some(first) = words.iter().find(|word| word.is_name) else {
        return;
    };
    let like = |keyword: &&&str| {
        strsim::damerau_levenshtein(&first.text.to_uppercase(), keyword) <= MAX_EDITS
    };
    let keyword = ["SELECT", "WITH", "VALUES"].iter().find(like);
    if let Some(keyword) = keyword.filter(|one| !first.text.eq_ignore_ascii_case(one)) {
        let instead = vec![(*keyword).to_owned()];
        advice
            .replace
            .push(Replace::new(first.text.clone(), first.position, instead));
    }
}

/// Names in the quotes of another dialect, and a text that does not end.
fn quotes(sql: &str, dialect: Dialect, advice: &mut Advice) {
    let own = quote(dialect);
    let is_foreign = |open: char| match open {
        '`' => !matches!(
            dialect,
            Dialect::Mysql | Dialect::Sqlite | Dialect::Clickhouse
        ),
        _ => !matches!(dialect, Dialect::Mssql | Dialect::Sqlite),
    };
    let letters: Vec<char> = sql.chars().collect();
    for (open, close) in [('`', '`'), ('[', ']')] {
        if !is_foreign(open) {
            continue;
        }
        let mut at = 0;
        while let Some(from) = find(&letters, at, open) {
            let Some(until) = find(&letters, from + 1, close) else {
                break;
            };
            let name: String = letters[from + 1..until].iter().collect();
            if !name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || " _-".contains(letter))
            {
                let written = format!("{open}{name}{close}");
                let position = u32::try_from(from + 1).unwrap_or(0);
                let plain = spelled(dialect, &name);
                advice
                    .replace
                    .push(Replace::new(written, position, vec![plain]));
            }
            at = until + 1;
        }
    }
    if letters.iter().filter(|letter| **letter == '\'').count() % 2 == 1 {
        unclosed_text(&letters, advice);
    }
    if !advice.replace.is_empty() {
        advice.hint(format!("names are quoted with {own}, texts with '"));
    }
}

fn unclosed_text(letters: &[char], advice: &mut Advice) {
    let Some(from) = letters.iter().rposition(|letter| *letter == '\'') else {
        return;
    };
    let is_end = |letter: &char| letter.is_whitespace() || ",);".contains(*letter);
    let until = letters[from + 1..]
        .iter()
        .position(is_end)
        .map_or(letters.len(), |at| from + 1 + at);
    let written: String = letters[from..until].iter().collect();
    let instead = vec![format!("{written}'")];
    advice.replace.push(Replace::new(
        written,
        u32::try_from(from + 1).unwrap_or(0),
        instead,
    ));
    advice.hint("a text is not closed with '");
}

fn find(letters: &[char], from: usize, wanted: char) -> Option<usize> {
    letters
        .iter()
        .skip(from)
        .position(|letter| *letter == wanted)
        .map(|at| from + at)
}

fn brackets(words: &[Word], advice: &mut Advice) {
    // In front of these a call is closed.
    const ENDS: [&str; 7] = ["FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "AS"];
    let mut open: Vec<usize> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        match word.text.as_str() {
            "(" => open.push(index),
            ")" if open.pop().is_none() => {
                advice
                    .replace
                    .push(Replace::new(")", word.position, vec![String::new()]));
            }
            _ => {}
        }
    }
    if open.is_empty() {
        return;
    }
    advice.hint(format!("{} `(` not closed with `)`", open.len()));
    // Anything else is closed at the end.
    let mut last_words = Vec::new();
    let mut clause = None;
    // From the end, so that one pass knows the next clause for each of the brackets.
    for (index, word) in words.iter().enumerate().rev() {
        if open.last() == Some(&index) {
            open.pop();
            last_words.push(clause.and_then(|clause: usize| words.get(clause - 1)));
        }
        let upper = word.text.to_uppercase();
        if upper == "SELECT" {
            clause = None;
        } else if ENDS.contains(&upper.as_str()) {
            clause = Some(index);
        }
    }
    if last_words.contains(&None) {
        advice.add_at_end = Some(")".to_owned());
    }
    for last in last_words.into_iter().rev().flatten().take(MAX_ADVICES) {
        let instead = vec![format!("{})", last.text)];
        advice
            .replace
            .push(Replace::new(last.text.clone(), last.position, instead));
    }
}

/// GROUP and ORDER without BY, and a clause that is there twice.
fn clause(word: &Word, next: &str, advice: &mut Advice) {
    let upper = word.text.to_uppercase();
    let lacks_by = ["GROUP", "ORDER"].contains(&upper.as_str()) && !next.eq_ignore_ascii_case("by");
    if word.is_name && lacks_by && !next.is_empty() && next != "(" {
        advice.replace.push(Replace::new(
            word.text.clone(),
            word.position,
            vec![format!("{upper} BY")],
        ));
    }
    if word.is_name && KEYWORDS.contains(&upper.as_str()) && next.eq_ignore_ascii_case(&upper) {
        let written = format!("{} {next}", word.text);
        advice
            .replace
            .push(Replace::new(written, word.position, vec![upper]));
    }
}

/// A word that is almost a keyword, and no name that the statement could mean.
fn keyword(word: &Word, names: &Names<'_, '_>, advice: &mut Advice) {
    let upper = word.text.to_uppercase();
    if !word.is_name || word.is_keyword || upper.len() < 4 || KEYWORDS.contains(&upper.as_str()) {
        return;
    }
    // The work of counting edits grows with both lengths.
    let length = upper.chars().count();
    let is_about_as_long = |keyword: &&&str| keyword.len().abs_diff(length) <= MAX_EDITS;
    let edits = |keyword: &str| strsim::damerau_levenshtein(&upper, keyword);
    let allowed = if upper.len() < 6 { 1 } else { MAX_EDITS };
    let nearest = KEYWORDS
        .iter()
        .filter(is_about_as_long)
        .map(|keyword| (edits(keyword), *keyword))
        .min();
    if let Some((edits, keyword)) = nearest
        && edits <= allowed
        && !names.has(&word.text)
        && !is_function(&word.text, names.known.dialect)
    {
        advice.replace.push(Replace::new(
            word.text.clone(),
            word.position,
            vec![keyword.to_owned()],
        ));
    }
}

fn is_function(name: &str, dialect: Dialect) -> bool {
    functions(dialect).any(|function| function.eq_ignore_ascii_case(name))
}

/// A comma in front of a clause, a bracket or the end; two commas.
fn commas(words: &[Word], advice: &mut Advice) {
    const BEHIND: [&str; 10] = [
        "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", ")", ",", "", "AS",
    ];
    for (index, word) in words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.text == ",")
    {
        let next = words.get(index + 1).map_or("", |next| next.text.as_str());
        if BEHIND.contains(&next.to_uppercase().as_str()) {
            let written = format!(", {next}");
            advice.replace.push(Replace::new(
                written.trim(),
                word.position,
                vec![format!(" {next}").trim_end().to_owned()],
            ));
        }
    }
}

/// A statement in a fence of Markdown: advises to leave out its lines. Returns whether it is in one.
pub fn fence(sql: &str, advice: &mut Advice) -> bool {
    let text = sql.trim_start();
    let Some(inner) = text.strip_prefix("```") else {
        return false;
    };
    let place = |rest: &str| {
        let before = sql[..sql.len() - rest.len()].chars().count();
        u32::try_from(before + 1).unwrap_or(0)
    };
    let info = inner.find(|c: char| !c.is_alphanumeric()).unwrap_or(0);
    let (word, rest) = inner.split_at(info);
    let is_language = word.to_lowercase().ends_with("sql") || word.eq_ignore_ascii_case("sqlite");
    // Any other word is one of the statement, unless it has the line for itself.
    let begins = ["select", "with", "values"].contains(&word.to_lowercase().as_str());
    let is_alone = !begins && rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    let length = if is_language || is_alone { info } else { 0 };
    let begin = &text[..3 + length];
    advice
        .replace
        .push(Replace::new(begin, place(text), vec![String::new()]));
    if let Some(end) = inner.rfind("```") {
        let position = place(&inner[end..]);
        advice
            .replace
            .push(Replace::new("```", position, vec![String::new()]));
    }
    advice.hint("a statement stands without a fence of Markdown");
    true
}

/// What the parser reads in a dialect that does not have it.
pub fn of_other_dialects(sql: &str, words: &[Word], dialect: Dialect, advice: &mut Advice) {
    for word in words {
        let position = (word.position > 0).then_some(word.position);
        // Also almost a keyword.
        let is_told = advice.replace.iter().any(|one| one.position == position);
        if !word.text.eq_ignore_ascii_case("ilike") || has_ilike(dialect) || is_told {
            continue;
        }
        if dialect == Dialect::Trino {
            // Its LIKE sees case.
            advice.hint("there is no ILIKE; write lower(a) LIKE lower('x%')");
        } else {
            let instead = vec!["LIKE".to_owned()];
            advice
                .replace
                .push(Replace::new(word.text.clone(), word.position, instead));
        }
    }
    if dialect == Dialect::Mssql && words.iter().any(|word| word.text == "||") {
        advice.hint("there is no `||`; join texts with CONCAT(a, b)");
    }
    top::advise(words, dialect, advice);
    row_limits::advise(sql, words, dialect, advice);
    casts::advise(sql, words, dialect, advice);
    intervals::advise(words, dialect, advice);
}

fn has_ilike(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::Postgresql | Dialect::Clickhouse | Dialect::Datafusion
    )
}

/// Operators of other languages and dialects.
fn operators(words: &[Word], advice: &mut Advice) {
    for word in words {
        let instead = match word.text.as_str() {
            "==" => "=",
            "&&" => "AND",
            _ => continue,
        };
        let instead = vec![instead.to_owned()];
        advice
            .replace
            .push(Replace::new(word.text.clone(), word.position, instead));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Access;
    use mindhost_sql::{Scope, outline};

    fn advised(sql: &str) -> Advice {
        let access = Access::of(Scope::default());
        let known = StatementScope::new(&access, Dialect::Sqlite);
        let mut advice = Advice::default();
        let words = outline::words(sql, Dialect::Sqlite);
        assert!(!words.is_empty());
        advise(sql, &words, &known, &mut advice);
        advice
    }

    #[test]
    fn bracket_is_closed_before_the_next_clause_or_at_the_end() {
        let advice = advised("SELECT count(a, (b AS n FROM t WHERE x IN (SELECT y FROM u");
        let replaced: Vec<_> = advice
            .replace
            .iter()
            .map(|one| (one.position, one.instead[0].as_str()))
            .collect();
        assert_eq!(replaced, [(Some(18), "b)"), (Some(18), "b)")]);
        assert_eq!(advice.add_at_end.as_deref(), Some(")"));
        assert_eq!(advice.hints, ["3 `(` not closed with `)`"]);
        let advice = advised("SELECT (FROM t)), x");
        assert_eq!(advice.replace[0].written, ")");
        assert_eq!(advice.add_at_end, None);
    }

    #[test]
    fn fence_is_left_out() {
        let mut advice = Advice::default();
        assert!(fence(" ```sql\nSELECT 'ä'\n```", &mut advice));
        let replaced: Vec<_> = advice
            .replace
            .iter()
            .map(|one| (one.written.as_str(), one.position))
            .collect();
        assert_eq!(replaced, [("```sql", Some(2)), ("```", Some(20))]);
        for (sql, expected) in [
            ("```SELECT 1```", "```"),
            ("```SELECT\n1```", "```"),
            ("```sql SELECT 1```", "```sql"),
            ("```text\nSELECT 1\n```", "```text"),
        ] {
            let mut advice = Advice::default();
            assert!(fence(sql, &mut advice));
            assert_eq!(advice.replace[0].written, expected, "{sql}");
        }
        assert!(!fence("SELECT 1", &mut advice));
    }

    #[test]
    fn what_other_dialects_write_is_translated() {
        let access = Access::of(Scope::default());
        for (dialect, sql, expected) in [
            (
                Dialect::Postgresql,
                "SELECT 1 LIMIT 20,  10",
                "LIMIT 10 OFFSET 20",
            ),
            (Dialect::Sqlite, "SELECT a::date FROM t", "date(a)"),
            (Dialect::Postgresql, "SELECT d + INTERVAL 3 MONTH", "'3'"),
            (Dialect::Sqlite, "SELECT a ILIKE 'x'", "LIKE"),
            (Dialect::Sqlite, "SELECT TOP 5 a FROM t", ""),
        ] {
            let known = StatementScope::new(&access, dialect);
            let mut advice = Advice::default();
            advise(sql, &outline::words(sql, dialect), &known, &mut advice);
            assert_eq!(advice.replace.len(), 1, "{sql}: {advice:?}");
            assert_eq!(advice.replace[0].instead, [expected], "{sql}");
        }
    }

    #[test]
    fn keyword_or_function_of_the_dialect_is_no_misspelt_one() {
        let access = Access::of(Scope::default());
        let known = StatementScope::new(&access, Dialect::Postgresql);
        let sql = "SELECT CAST(a AS text), NULLIF(b, 1) AS limits, t.form FORM t WHERE a ILIKE 'x' ORDER BY a NULLS LAST";
        let mut advice = Advice::default();
        let words = outline::words(sql, Dialect::Postgresql);
        advise(sql, &words, &known, &mut advice);
        let written: Vec<_> = advice.replace.iter().map(|one| &one.written).collect();
        assert_eq!(written, ["FORM"]);
    }

    #[test]
    fn advice_on_a_long_text_is_bounded() {
        const BYTES: usize = 256 * 1024;
        let advice = advised(&"(".repeat(BYTES));
        assert_eq!(advice.add_at_end.as_deref(), Some(")"));
        assert_eq!(advice.hints, ["262144 `(` not closed with `)`"]);
        let advice = advised(&format!("{} FROM t", "(".repeat(BYTES - 7)));
        assert_eq!(advice.replace.len(), MAX_ADVICES);
        assert_eq!(advice.add_at_end, None);
        // Too long for a keyword.
        let advice = advised(&"x".repeat(BYTES));
        assert_eq!(advice, Advice::default());
    }
}
