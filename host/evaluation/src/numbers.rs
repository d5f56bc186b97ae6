//! The numbers in an answer, and whether they come from its rows.

pub(crate) mod moments;

use std::collections::{HashMap, hash_map::Entry};

use crate::{
    cells::{self, Cell},
    statement::Facts,
};

/// Numbers from here on may be written without their fraction.
const LARGE: f64 = 1_000.0;
/// Different numbers of a text that are looked at. A text with more is no answer that anyone reads, and must not keep a
/// server busy.
const MAX_NUMBERS: usize = 2_000;
/// What stands behind a share.
const PERCENT: [&str; 5] = ["%", "percent", "per cent", "Prozent", "pour cent"];

/// What the numbers of an answer may come from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The rows of the result, or the first of them.
    pub rows: &'a [Vec<Cell>],
    /// All of its rows.
    pub total: u64,
    /// The question: its numbers may be repeated.
    pub question: &'a str,
    /// The statement, if there is one: its constants may be repeated.
    pub statement: &'a str,
}

/// A number in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextNumber {
    /// As it is written, without its sign.
    pub text: String,
    /// Whether `%` or a word for it stands behind it.
    pub is_percent: bool,
    /// Whether it begins a line, as the number of an item does.
    pub begins_line: bool,
    value: f64,
    /// Digits behind its point.
    digits: u32,
}

/// The numbers of a text that are neither in the rows nor derived from them in one of these ways: a cell rounded to the
/// digits that are written; a share written in percent; the count of the rows, of all or of those shown; the number of
/// an item in a list; a number that is in the question, in digits or as a word up to twelve; a constant of the
/// statement from 2 on, and of its dates the year, the month as `2024-03` and the whole date. Signs are not compared.
/// Code is not read, and nothing behind the first 2,000 different numbers.
pub fn unsupported(text: &str, sources: Sources<'_>) -> Vec<TextNumber> {
    let mut known: Vec<f64> = written(sources.question)
        .iter()
        .map(|one| one.value)
        .collect();
    known.extend(words(sources.question));
    known.extend(rows_of_table(text));
    let literals = Facts::of(sources.statement).literals();
    // 0 and 1 stand in a statement for other things, as in `CASE WHEN … THEN 1 ELSE 0 END`.
    known.extend(literals.numbers.iter().filter(|number| **number >= 2.0));
    let years = literals.moments.iter().filter_map(|moment| moment.get(..4));
    known.extend(years.filter_map(|year| year.parse::<f64>().ok()));
    let mut figures = Vec::new();
    for cell in sources.rows.iter().flatten() {
        match cell {
            Cell::Null => {}
            Cell::Number(number) => figures.push(number.value.abs()),
            Cell::Text(text) => figures.extend(written(text).iter().map(|one| one.value)),
        }
    }
    known.push(sources.total as f64);
    known.sort_unstable_by(f64::total_cmp);
    let shown = sources.rows.len() as f64;
    let is_known = |one: &TextNumber| {
        let is_item = one.begins_line && one.digits == 0 && (1.0..=shown).contains(&one.value);
        is_item
            || known
                .binary_search_by(|known| known.total_cmp(&one.value))
                .is_ok()
            || one.digits == 0 && one.value == shown
            || figures
                .iter()
                .any(|figure| one.is_of(*figure) || (one.is_percent && one.is_of(figure * 100.0)))
    };
    let mut text = moments::without_dates(text, &literals.moments);
    let is_day = |cell: &Cell| matches!(cell, Cell::Text(text) if cells::is_day(text));
    if sources.rows.iter().flatten().any(is_day)
        || literals.moments.iter().any(|one| cells::is_day(one))
    {
        text = moments::without_midnights(&text);
    }
    let mut looked_at = HashMap::new();
    let mut unknown = written(&text);
    unknown.retain(|one| {
        let is_full = looked_at.len() >= MAX_NUMBERS;
        match looked_at.entry((one.text.clone(), one.is_percent, one.begins_line)) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(_) if is_full => false,
            Entry::Vacant(new) => *new.insert(!is_known(one)),
        }
    });
    unknown
}

/// The numbers that a question has as words.
fn words(question: &str) -> impl Iterator<Item = f64> {
    const WORDS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let words = question.split(|letter: char| !letter.is_alphabetic());
    words.filter_map(|word| {
        let at = WORDS
            .iter()
            .position(|one| one.eq_ignore_ascii_case(word))?;
        Some(at as f64 + 1.0)
    })
}

/// How many rows the Markdown table of a text has, if it has one: its lines without the names and the rule.
fn rows_of_table(text: &str) -> Option<f64> {
    let lines = text
        .lines()
        .filter(|line| line.trim_start().starts_with('|'));
    lines.count().checked_sub(2).map(|rows| rows as f64)
}

impl TextNumber {
    /// Whether it is this value, rounded to its digits.
    fn is_of(&self, value: f64) -> bool {
        let difference = (self.value - value).abs();
        let exact = difference <= 1e-9 * value.max(1.0);
        let half = 0.5 * 10_f64.powi(-i32::try_from(self.digits).unwrap_or(0));
        exact || ((self.digits > 0 || value >= LARGE) && difference <= half * (1.0 + 1e-6))
    }
}

/// The numbers of a text, without their signs. Digits behind a letter, as in `A4`, are a name.
fn written(text: &str) -> Vec<TextNumber> {
    let text = without_code(text);
    let letters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let is_time = at > 1 && letters[at - 1] == 'T' && letters[at - 2].is_ascii_digit();
        let is_name =
            at > 0 && (letters[at - 1].is_alphabetic() || letters[at - 1] == '_') && !is_time;
        if !letters[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let (until, number) = number(&letters, at);
        if let (false, Ok(value)) = (is_name, number.parse()) {
            let line = letters[..at]
                .iter()
                .rev()
                .take_while(|letter| **letter != '\n');
            let rest = &letters[until..];
            found.push(TextNumber {
                text: letters[at..until].iter().collect(),
                value,
                digits: number
                    .split_once('.')
                    .map_or(0, |(_, digits)| digits.len() as u32),
                is_percent: is_percent(rest),
                begins_line: line
                    .into_iter()
                    .all(|letter| letter.is_whitespace() || "*#>".contains(*letter))
                    && matches!(rest.first(), Some('.' | ')' | ':')),
            });
        }
        at = until;
    }
    found
}

fn is_percent(behind: &[char]) -> bool {
    let mut behind = behind.iter().skip_while(|letter| letter.is_whitespace());
    let Some(first) = behind.next() else {
        return false;
    };
    PERCENT.iter().any(|word| {
        let mut letters = word.chars();
        letters.next() == Some(*first) && letters.eq(behind.clone().take(word.len() - 1).copied())
    })
}

/// The end of the number that begins here, and its digits without separators of thousands.
fn number(letters: &[char], from: usize) -> (usize, String) {
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let group = |at: usize| (1..=3).all(|next| is_digit(at + next)) && !is_digit(at + 4);
    let (mut at, mut digits, mut length) = (from, String::new(), 0);
    loop {
        match letters.get(at) {
            Some(digit) if digit.is_ascii_digit() => {
                digits.push(*digit);
                length += 1;
            }
            Some(',' | '\u{a0}' | '\u{202f}' | '\'') if (1..=3).contains(&length) && group(at) => {
                length = 0
            }
            _ => break,
        }
        at += 1;
    }
    if letters.get(at) == Some(&'.') && is_digit(at + 1) {
        digits.push('.');
        at += 1;
        while let Some(digit) = letters.get(at).filter(|letter| letter.is_ascii_digit()) {
            digits.push(*digit);
            at += 1;
        }
    }
    (at, digits)
}

/// The text without what stands between backquotes.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let prose = parts.filter(|(at, _)| at % 2 == 0).map(|(_, part)| part);
    prose.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::compare::rows;

    fn texts(text: &str, sources: Sources<'_>) -> Vec<String> {
        let unknown = unsupported(text, sources).into_iter();
        unknown.map(|one| one.text).collect()
    }

    fn check(text: &str, data: &Value, unknown: &[&str]) {
        let data: Vec<Vec<Value>> = serde_json::from_value(data.clone()).unwrap();
        let sources = Sources {
            rows: &rows(&data),
            total: 250,
            question: "Top 3 countries of 2025?",
            statement: "",
        };
        assert_eq!(texts(text, sources), unknown, "{text}");
    }

    #[test]
    fn numbers_of_the_rows_are_known_however_they_are_written() {
        check(
            "The revenue is **4,864,900.75** €.",
            &json!([["4864900.75"]]),
            &[],
        );
        check("Some 12'345 and 7.", &json!([[12345, -7]]), &[]);
        check(
            "About 4\u{202f}864\u{202f}901, -7.",
            &json!([[4_864_900.75, 7]]),
            &[],
        );
        check(
            "3.67 on average, 12.5 % of all, 12.5 percent, 12.5per cent",
            &json!([[3.666_666, 0.125]]),
            &[],
        );
        check(
            "On 2024-03-05 at 10:30",
            &json!([["2024-03-05T10:30:00"]]),
            &[],
        );
        check("1. DE\n2. FR: 9", &json!([["DE", 9], ["FR", 9]]), &[]);
    }

    #[test]
    fn rows_are_counted_and_the_question_is_repeated() {
        check(
            "The first 2 of 250 rows, top 3 of 2025.",
            &json!([["a"], ["b"]]),
            &[],
        );
    }

    #[test]
    fn rows_of_a_table_are_counted() {
        let data = json!([["a"], ["b"], ["c"], ["d"]]);
        let table = "| x |\n| --- |\n| a |\n| b |\n";
        check(&format!("{table}These are the first 2."), &data, &[]);
        check(&format!("{table}These are the first 6."), &data, &["6"]);
        check("These are the first 2.", &data, &["2"]);
    }

    #[test]
    fn numbers_of_the_question_may_be_words() {
        let sources = Sources {
            rows: &[],
            total: 0,
            question: "Which have More than Two, none of eleven or thirteen?",
            statement: "",
        };
        assert_eq!(texts("2, 11, 13, 1", sources), ["13", "1"]);
    }

    #[test]
    fn midnight_of_a_date_is_known() {
        for text in [
            "It was 2020-02-09T00:00:00.",
            "| 2020-02-09 00:00 |",
            "9 February 2020, 00:00:00",
        ] {
            check(text, &json!([["2020-02-09T00:00:00", 9, 2020]]), &[]);
        }
        check(
            "00:00:07",
            &json!([["2020-02-09T00:00:00"]]),
            &["00", "00", "07"],
        );
        check("0 orders", &json!([["2020-02-09T00:00:00"]]), &["0"]);
        check("00:00", &json!([[5]]), &["00", "00"]);
    }

    #[test]
    fn constants_of_the_statement_are_repeated() {
        let sources = Sources {
            rows: &rows(&[vec![json!("a")], vec![json!("b")]]),
            total: 20,
            question: "How many members joined after 2022?",
            statement: "SELECT sum(CASE WHEN joined >= '2023-05-01' THEN 1 ELSE 0 END) FROM members WHERE age > 17",
        };
        for (text, unknown) in [
            ("Since 2023-05-01, in 2023-05 or 2023: 20", &[][..]),
            ("Over 17, after 2022", &[]),
            ("There are 5, 1 or 0.", &["5", "1", "0"]),
            ("Since 2023-06", &["06"]),
            ("In 2024", &["2024"]),
        ] {
            assert_eq!(texts(text, sources), unknown, "{text}");
        }
    }

    #[test]
    fn other_numbers_are_not() {
        check("There are 6.", &json!([[5]]), &["6"]);
        check("There are 4 stars.", &json!([[3.7]]), &["4"]);
        check(
            "3.68 on average, 13 %",
            &json!([[3.666_666, 0.125]]),
            &["3.68", "13"],
        );
        check("3. PL", &json!([["DE"], ["FR"]]), &[]);
        check("7. PL", &json!([["DE"], ["FR"]]), &["7"]);
        check("1,23 and 1,2345", &json!([[1, 23]]), &["2345"]);
    }

    #[test]
    fn names_and_code_are_no_numbers() {
        check("A4 and `SELECT 77`: 5", &json!([[5]]), &[]);
    }
}
