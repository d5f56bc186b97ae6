//! The numbers of an answer that come from nothing the model has read.
//!
//! A number is known if it is in the dialogue or in a result, or follows from numbers of a result: rounded, as a sum, a
//! difference, a ratio, a share or a mean. What is left is told beside the answer. It is a hint for people, so in doubt
//! a number counts as known.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use mindhost_evaluation::{
    cells::Cell,
    numbers::{self, Sources, TextNumber},
};
use mindhost_plugin_api::{ModelMessage, Part, Role};

/// Numbers that are told of one answer.
const MAX_TOLD: usize = 20;
/// Numbers of a column, or of results of one row, that are compared each with each.
const MAX_COMPARED: usize = 12;
/// Numbers that follow from the results, at most.
const MAX_DERIVED: usize = 100_000;
/// Items of a list that may be numbered.
const MAX_ITEMS: f64 = 50.0;
/// Years need no source.
const YEARS: std::ops::RangeInclusive<f64> = 1900.0..=2100.0;
/// Where the rules of the host end in the system message; the date of today is before it.
const END_OF_RULES: &str = "Datasources:\n";

/// What the model has read so far.
#[derive(Debug, Default)]
pub struct Figures {
    /// The messages of the caller.
    asked: String,
    /// Everything else, without the rows of results.
    read: Vec<Cell>,
    results: Vec<ResultRows>,
}

/// The rows of one result, as the model got them.
#[derive(Debug)]
struct ResultRows {
    rows: Vec<Vec<Cell>>,
    total: u64,
}

/// Numbers that follow from those of the results, in order.
#[derive(Debug, Default)]
struct Derived {
    plain: Vec<f64>,
    /// In percent.
    shares: Vec<f64>,
}

impl Figures {
    /// For a dialogue that has not begun to run statements.
    pub fn new(messages: &[ModelMessage]) -> Self {
        let mut figures = Self::default();
        for message in messages {
            for part in &message.parts {
                let Part::Text(text) = part else { continue };
                match message.role {
                    Role::User => {
                        figures.asked.push_str(text);
                        figures.asked.push('\n');
                    }
                    Role::System => {
                        let rest = text.split_once(END_OF_RULES).map_or("", |(_, rest)| rest);
                        figures.read.push(Cell::Text(rest.to_owned()));
                    }
                    _ => figures.read.push(Cell::Text(text.clone())),
                }
            }
        }
        figures
    }

    /// Adds a tool call and the content of its result.
    pub fn add(&mut self, arguments: &str, content: &str) {
        self.read.push(Cell::Text(arguments.to_owned()));
        let parsed: Value = serde_json::from_str(content).unwrap_or_default();
        let (Some(rows), Some(total)) = (parsed["rows"].as_array(), parsed["row_count"].as_u64())
        else {
            return self.read.push(Cell::Text(content.to_owned()));
        };
        let cells = |row: &Value| row.as_array().into_iter().flatten().map(Cell::of).collect();
        self.results.push(ResultRows {
            rows: rows.iter().map(cells).collect(),
            total,
        });
    }

    /// Whether the model has read a result.
    pub fn has_results(&self) -> bool {
        !self.results.is_empty()
    }

    /// The numbers of a text that are not known, each once, as they are written.
    pub fn unverified(&self, text: &str) -> Vec<String> {
        let derived = self.derived();
        // Some languages write 1.234,5 for 1,234.5. The reading with fewer doubts is meant.
        let as_written = self.unknown(text, &derived);
        if as_written.is_empty() {
            return as_written;
        }
        let read_again = self.unknown(&with_points(text), &derived);
        match read_again.len() < as_written.len() {
            true => read_again,
            false => as_written,
        }
    }

    fn unknown(&self, text: &str, derived: &Derived) -> Vec<String> {
        let mut rows: Vec<Vec<Cell>> = self
            .results
            .iter()
            .flat_map(|one| one.rows.clone())
            .collect();
        rows.push(self.read.clone());
        let sources = Sources {
            rows: &rows,
            total: self.results.last().map_or(0, |one| one.total),
            question: &self.asked,
            // It was read with the arguments of its tool call.
            statement: "",
        };
        let unknown = numbers::unsupported(text, sources);
        let mut likely: HashMap<_, bool> = HashMap::new();
        for one in &unknown {
            let is_likely = likely.entry(one.text.as_str()).or_default();
            *is_likely = *is_likely || self.is_likely(one, derived);
        }
        let mut told = HashSet::new();
        let unlikely = unknown.iter().map(|one| one.text.as_str());
        let unlikely = unlikely.filter(|text| !likely[text] && told.insert(*text));
        unlikely.take(MAX_TOLD).map(str::to_owned).collect()
    }

    fn is_likely(&self, number: &TextNumber, derived: &Derived) -> bool {
        let Some(written) = Written::new(&number.text) else {
            return true;
        };
        let most_rows = self
            .results
            .iter()
            .map(|one| one.rows.len())
            .max()
            .unwrap_or(0);
        let is_count = written.is_whole() && written.value <= most_rows as f64;
        let is_total = self
            .results
            .iter()
            .any(|one| written.value == one.total as f64);
        let is_year =
            written.is_whole() && number.text.len() == 4 && YEARS.contains(&written.value);
        let is_item = written.is_whole() && written.value <= MAX_ITEMS && number.begins_line;
        let follows = |known: &[f64]| written.is_one_of(known);
        is_count
            || is_total
            || is_year
            || is_item
            || follows(&derived.plain)
            || (number.is_percent && (written.value == 100.0 || follows(&derived.shares)))
    }

    fn derived(&self) -> Derived {
        let mut derived = Derived::default();
        let mut single = Vec::new();
        for result in &self.results {
            if result.rows.len() == 1 {
                single.extend(result.rows[0].iter().filter_map(value));
            }
            for row in &result.rows {
                let numbers: Vec<f64> = row.iter().filter_map(value).collect();
                derived.plain.extend(&numbers);
                derived.compare(&numbers);
            }
            let width = result.rows.iter().map(Vec::len).max().unwrap_or(0);
            for column in 0..width {
                let cells = result.rows.iter().filter_map(|row| row.get(column));
                let numbers: Vec<f64> = cells.filter_map(value).collect();
                derived.sum_up(&numbers);
                derived.compare(&numbers);
            }
        }
        derived.compare(&single);
        // A number may be a share itself, as 0.125 or as 12.5.
        for number in &derived.plain {
            let share = 100.0 * number;
            derived
                .shares
                .extend([100.0 - number, share, 100.0 - share]);
        }
        derived.plain.sort_unstable_by(f64::total_cmp);
        derived.shares.sort_unstable_by(f64::total_cmp);
        derived
    }
}

impl Derived {
    /// Sums from either end, the mean, and the share of each number.
    fn sum_up(&mut self, numbers: &[f64]) {
        let all: f64 = numbers.iter().sum();
        let mut first = 0.0;
        for number in numbers {
            first += number;
            self.plain.extend([first, all - first]);
            self.share(*number, all);
            self.share(first, all);
        }
        self.plain.push(all / numbers.len().max(1) as f64);
    }

    /// What follows from two numbers: of a few each with each, of many those beside one another, and the ends.
    fn compare(&mut self, numbers: &[f64]) {
        let length = numbers.len();
        if self.plain.len() > MAX_DERIVED {
            return;
        }
        for (at, one) in numbers.iter().enumerate() {
            let many = length > MAX_COMPARED;
            let others = match many {
                true => at + 1..length.min(at + 2),
                false => at + 1..length,
            };
            others.for_each(|other| self.pair(*one, numbers[other]));
        }
        if let (true, [first, .., last]) = (length > MAX_COMPARED, numbers) {
            self.pair(*first, *last);
        }
    }

    fn pair(&mut self, one: f64, other: f64) {
        let difference = (one - other).abs();
        self.plain
            .extend([one + other, difference, f64::midpoint(one, other)]);
        for (part, whole) in [(one, other), (other, one)] {
            if whole != 0.0 {
                self.plain.push((part / whole).abs());
            }
            self.share(part, whole);
            self.share(difference, whole);
        }
    }

    fn share(&mut self, part: f64, whole: f64) {
        if whole != 0.0 {
            let share = (100.0 * part / whole).abs();
            self.shares.extend([share, (100.0 - share).abs()]);
        }
    }
}

fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(number) => Some(number.value.abs()),
        _ => None,
    }
}

/// A number as a text has it.
struct Written {
    value: f64,
    /// Half of the unit of its last digit that counts.
    half: f64,
}

impl Written {
    fn new(text: &str) -> Option<Self> {
        let digits: String = text
            .chars()
            .filter(|letter| letter.is_ascii_digit() || *letter == '.')
            .collect();
        let value = digits.parse().ok()?;
        let places = match digits.split_once('.') {
            Some((_, fraction)) => -i32::try_from(fraction.len()).ok()?,
            // 1,200 may be rounded, but of two digits each counts.
            None => {
                let zeros = digits.len() - digits.trim_end_matches('0').len();
                i32::try_from(zeros.min(digits.len().saturating_sub(2))).ok()?
            }
        };
        Some(Self {
            value,
            half: 0.5 * 10_f64.powi(places),
        })
    }

    fn is_whole(&self) -> bool {
        self.value.fract() == 0.0
    }

    /// Whether it is one of these numbers rounded, perhaps in thousands, millions or billions. They are in order.
    fn is_one_of(&self, known: &[f64]) -> bool {
        [1.0, 1e3, 1e6, 1e9].into_iter().any(|scale| {
            let (value, off) = (self.value * scale, self.half * scale * (1.0 + 1e-6));
            // Nothing but zero is zero.
            let least = if scale == 1.0 {
                value - off
            } else {
                scale.max(value - off)
            };
            let first = known.partition_point(|one| *one < least);
            let mut within = known[first..].iter().take_while(|one| **one <= value + off);
            match self.value > 0.0 {
                true => within.next().is_some(),
                false => within.any(|one| *one == 0.0),
            }
        })
    }
}

/// The text with 1234.5 for 1.234,5 and for 1 234,5.
fn with_points(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let is_group = |at: usize| (1..=3).all(|next| is_digit(at + next)) && !is_digit(at + 4);
    let mut changed = String::with_capacity(text.len());
    for (at, letter) in letters.iter().enumerate() {
        let is_inside = at > 0 && is_digit(at - 1) && is_digit(at + 1);
        match letter {
            '.' | ' ' if is_inside && is_group(at) => {}
            ',' if is_inside => changed.push('.'),
            other => changed.push(*other),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn figures(question: &str, results: &[Value]) -> Figures {
        let message = |role, text: &str| ModelMessage {
            role,
            parts: vec![Part::Text(text.to_owned())],
        };
        let mut figures = Figures::new(&[
            message(
                Role::System,
                "Today is 2026-11-25.\nDatasources:\n- shop\nFiscal years begin in month 7.",
            ),
            message(Role::User, question),
        ]);
        for rows in results {
            let count = rows.as_array().map_or(0, Vec::len);
            let content = json!({"rows": rows, "row_count": count + 900});
            figures.add("{\"sql\": \"SELECT 1 LIMIT 15\"}", &content.to_string());
        }
        figures
    }

    fn doubts(text: &str, results: &[Value]) -> Vec<String> {
        figures("Top 3 of the last 90 days?", results).unverified(text)
    }

    #[test]
    fn number_that_no_result_has_is_told_once() {
        let rows = [json!([[3]])];
        assert_eq!(doubts("There are 6 orders, yes 6.", &rows), ["6"]);
        assert_eq!(doubts("There are 25 orders.", &rows), ["25"]);
        assert_eq!(doubts("Revenue was 4,864,900.", &[]), ["4,864,900"]);
        let rows = [json!([["DE", 120], ["FR", 80]])];
        assert_eq!(doubts("DE has 61 %, FR 80.", &rows), ["61"]);
        assert_eq!(doubts("DE grew by 37.", &rows), ["37"]);
    }

    #[test]
    fn numbers_of_the_dialogue_and_of_rows_are_known() {
        let rows = [json!([["DE", 120.5], ["FR", 80]])];
        for text in [
            "DE has 120.5, FR 80: the top 3 of 90 days.",
            "The first 2 of 902 rows; 15 at most, from month 7 of 2019 on.",
            "1. DE\n2. FR\n3. None\n4) Also none",
            "About 121 and 120.",
        ] {
            assert_eq!(doubts(text, &rows), [""; 0], "{text}");
        }
    }

    #[test]
    fn numbers_that_follow_from_rows_are_known() {
        let rows = [json!([["DE", 120], ["FR", 80]])];
        for text in [
            "Together 200, 40 more, 100 on average.",
            "DE has 60 % of all, 50% more than FR, 1.5 times as much.",
            "FR has 33.3 percent less.",
            "All of them are 100 %.",
        ] {
            assert_eq!(doubts(text, &rows), [""; 0], "{text}");
        }
        let years = [json!([[2023, 4_000_000]]), json!([[2024, 4_864_900.75]])];
        let text = "It grew by 21.6 % to 4.9 million, by about 865,000.";
        assert_eq!(doubts(text, &years), [""; 0]);
        let share = [json!([[0.125]])];
        assert_eq!(doubts("12.5 %, and 87.5 % are not.", &share), [""; 0]);
    }

    #[test]
    fn numbers_may_be_written_in_any_language() {
        let rows = [json!([["DE", "4864900.75"], ["FR", 3.666_666]])];
        for text in [
            "4,864,900.75 and 3.67",
            "4.864.900,75 € und 3,67",
            "4 864 901 et 3,7",
            "4'864'900.75",
        ] {
            assert_eq!(doubts(text, &rows), [""; 0], "{text}");
        }
    }

    /// Work that grows with the square of the text would take minutes here.
    #[test]
    fn long_texts_of_numbers_are_looked_at_once() {
        let rows: Vec<Value> = (0..50).map(|at| json!([at, at * 7])).collect();
        let counting: String = (100_000..140_000)
            .map(|number| format!("{number} "))
            .collect();
        for text in [
            "77 ".repeat(90_000),
            "1.".repeat(130_000),
            "1. ".repeat(90_000),
            counting,
        ] {
            assert!(doubts(&text, &[json!(rows)]).len() <= MAX_TOLD);
        }
    }

    #[test]
    fn many_rows_take_little_time_and_prove_little() {
        let rows: Vec<Value> = (0..50)
            .map(|at| json!([at, at * at * 37, format!("n{at}")]))
            .collect();
        assert_eq!(doubts("It is 123456.", &[json!(rows)]), ["123456"]);
    }
}
