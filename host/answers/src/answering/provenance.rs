//! The provenance of values that a model writes into SQL.
//!
//! A text in one database may instruct the model to copy rows from another one. So a model may not write a value that
//! it read from one datasource into a statement for another, unless the caller wrote that value. This stops literal
//! copies; an encoded value is not detected.
//!
//! One number, date or decimal identifies its origin; of a text, the complete text or two of its words do. Values that
//! are common in SQL are ignored: parts of dates, date patterns, first and last days of months, and round numbers.

mod values;

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use serde_json::Value;

use self::values::ExactValue;

use mindhost_base::error::{Code, Error, Result};

/// Letters of a word that identifies its origin. Shorter words are too common.
const MIN_WORD: usize = 4;
/// Letters of a complete value.
const MIN_VALUE: usize = 3;
/// Smaller numbers are too common.
const MIN_NUMBER: u64 = 100;
/// Years are too common.
const YEARS: std::ops::RangeInclusive<u64> = 1900..=2100;

/// Common numbers: degrees, bytes and units of time.
const MEASURES: &[u64] = &[
    120, 144, 168, 180, 240, 300, 336, 360, 364, 365, 366, 720, 1_024, 1_440, 3_600, 86_400,
    604_800,
];
/// Parts of dates and of date patterns.
const TIMES: &[&str] = &[
    "century",
    "date",
    "datetime",
    "days",
    "decade",
    "epoch",
    "fmday",
    "fmmonth",
    "friday",
    "hh12",
    "hh24",
    "hour",
    "hours",
    "isodow",
    "isoyear",
    "iyyy",
    "microseconds",
    "millennium",
    "milliseconds",
    "minute",
    "minutes",
    "monday",
    "month",
    "months",
    "quarter",
    "saturday",
    "second",
    "seconds",
    "sunday",
    "thursday",
    "timestamp",
    "tuesday",
    "wednesday",
    "week",
    "weeks",
    "year",
    "years",
    "yyyy",
    "yyyymm",
    "yyyymmdd",
];

/// The origin of what an earlier answer says if that is not based on one datasource. No datasource has this name.
pub const EARLIER_ANSWER: &str = "an earlier answer";

/// What the model has read, by origin.
#[derive(Debug)]
pub struct Provenance {
    /// In UTC; days that are counted from it are common.
    today: Date,
    /// By the caller and the author of the Mind.
    said: Content,
    /// By name of the datasource.
    read: HashMap<String, Content>,
}

/// What identifies the origin of a text.
#[derive(Debug, Default)]
struct Content {
    /// In lower case, with complete texts.
    words: HashSet<String>,
    values: HashSet<ExactValue>,
}

impl Provenance {
    /// For an answer to these words.
    pub fn new(words: &str, today: Date) -> Self {
        let mut provenance = Self {
            today,
            said: Content::default(),
            read: HashMap::new(),
        };
        provenance.say(words);
        provenance
    }

    /// Adds words of the caller.
    pub fn say(&mut self, words: &str) {
        let mut said = Content::default();
        said.add(words, 1);
        // Large numbers with separators: 73,421 and 73 421.
        let joined = words.replace([',', '\'', '_', '\u{a0}', '\u{202f}'], "");
        said.add(&joined, 1);
        // Decimals with a comma: 12,34.
        let (decimals, _) = values::take(&words.to_lowercase().replace(',', "."));
        said.values.extend(decimals);
        said.values
            .extend(values::short_dates(&words.to_lowercase()));
        let beside = said.values.iter().flat_map(ExactValue::neighbours);
        self.said.values.extend(beside);
        self.said.words.extend(said.words);
        self.said.values.extend(said.values);
    }

    /// Records that the model reads this content of a datasource.
    pub fn read(&mut self, datasource: &str, content: &Value) {
        let read = self.read.entry(datasource.to_owned()).or_default();
        leaves(content, &mut |leaf| {
            read.add(leaf, MIN_WORD);
            read.add(&without_separators(leaf), MIN_WORD);
        });
    }

    /// Checks the literals of a statement for a datasource.
    ///
    /// # Errors
    /// `sql_literal_not_allowed` when one of them comes from another datasource.
    pub fn check(&self, datasource: &str, literals: &[String]) -> Result<()> {
        for literal in literals {
            let mut written = Content::default();
            let whole = written.add(literal, MIN_WORD);
            let meant = written.values.into_iter().map(ExactValue::of_literal);
            written.values = meant.collect();
            // The complete text is one of its words.
            let spelled = written.words.iter().filter(|word| **word != whole).count();
            self.remove_known(datasource, &mut written);
            let brought = self
                .read
                .iter()
                .find(|(name, read)| *name != datasource && written.is_from(read, &whole, spelled));
            if let Some((from, _)) = brought {
                return Err(not_allowed(datasource, from));
            }
        }
        Ok(())
    }

    /// Removes what may be written for a datasource wherever else it was read.
    fn remove_known(&self, datasource: &str, written: &mut Content) {
        let own = self.read.get(datasource);
        let known = || std::iter::once(&self.said).chain(own);
        let is_known = |value: &ExactValue| {
            let forms = [Some(value.clone()), value.less_exact()];
            let mut forms = forms.iter().flatten();
            forms.any(|form| known().any(|one| one.values.contains(form)))
        };
        written.words.retain(|word| {
            let is_known_date = values::compact_date(word).is_some_and(|date| is_known(&date));
            !is_known_date && !known().any(|one| one.words.contains(word))
        });
        let today = self.today;
        written
            .values
            .retain(|value| !value.is_usual(today) && !is_known(value));
    }
}

impl Content {
    /// Adds what a text has, and returns the complete text without its dates, in lower case.
    fn add(&mut self, text: &str, min_word: usize) -> String {
        let (values, text) = values::take(&text.to_lowercase());
        self.values.extend(values);
        let whole = text.trim();
        let is_value = whole.chars().count() >= MIN_VALUE && whole.chars().any(char::is_alphabetic);
        if is_value && !TIMES.contains(&whole) {
            self.words.insert(whole.to_owned());
        }
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            // A number like 20240301 may also be that of a customer, so it is a word too.
            self.values.extend(values::compact_date(word));
            let tells = match word.parse::<u64>() {
                Ok(number) => number >= MIN_NUMBER && !is_usual(number),
                Err(_) => word.chars().count() >= min_word && !TIMES.contains(&word),
            };
            if tells {
                self.words.insert(word.to_owned());
            }
        }
        whole.to_owned()
    }

    /// Whether this, of a literal with so many words besides the complete text, was copied from what was read.
    fn is_from(&self, read: &Self, whole: &str, spelled: usize) -> bool {
        let brought = self.words.iter().filter(|word| read.words.contains(*word));
        let tells = |word: &String| word == whole || word.parse::<u64>().is_ok();
        self.values.iter().any(|value| read.values.contains(value))
            || brought.clone().any(tells)
            || brought.count() >= spelled.clamp(1, 2)
    }
}

fn not_allowed(datasource: &str, from: &str) -> Error {
    let (origin, advice) = match from == EARLIER_ANSWER {
        true => (
            from.to_owned(),
            "Write the statement without it, or first find it in this datasource with find_values",
        ),
        false => (
            format!("`{from}`"),
            "Write the statement without it, or answer from what each datasource gives by itself",
        ),
    };
    Error::new(
        Code::SqlLiteralNotAllowed,
        format!(
            "a value in this statement for `{datasource}` comes from {origin}, and the question does not have it; \
             what is read in one datasource may not be sent to another. {advice}"
        ),
    )
}

/// The text with large numbers in one piece: 73421 for 73,421, 73.421 and 73 421.
fn without_separators(text: &str) -> String {
    const SEPARATORS: [char; 7] = [',', '.', '\'', '_', ' ', '\u{a0}', '\u{202f}'];
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let separates = |at: usize| {
        SEPARATORS.contains(&letters[at])
            && at > 0
            && is_digit(at - 1)
            && (1..=3).all(|next| is_digit(at + next))
            && !is_digit(at + 4)
    };
    let kept = (0..letters.len()).filter(|at| !separates(*at));
    kept.map(|at| letters[at]).collect()
}

/// Whether a number is common in SQL: 1, 2, 2.5 and 5 times a power of ten, years, and units.
fn is_usual(number: u64) -> bool {
    let mut first = number;
    while first >= 100 && first.is_multiple_of(10) {
        first /= 10;
    }
    matches!(first, 10 | 20 | 25 | 50) || YEARS.contains(&number) || MEASURES.contains(&number)
}

fn leaves(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Number(number) => each(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, each)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(words: &str) -> Provenance {
        Provenance::new(words, Date::constant(2026, 11, 27))
    }

    fn refused(provenance: &Provenance, datasource: &str, literal: &str) -> bool {
        let checked = provenance.check(datasource, &[literal.to_owned()]);
        checked.is_err_and(|error| error.code() == Code::SqlLiteralNotAllowed)
    }

    #[test]
    fn value_of_one_datasource_is_refused_for_another() {
        let mut provenance = asked("What did Bob buy for 73,421 in 2024?");
        provenance.read(
            "hr",
            &json!([["Ann Miller", 98765, 73421, "Bob", 7, "2024-05-31"]]),
        );
        for brought in ["Ann Miller", "x|ann miller|98765", "98765", "Miller%"] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
            assert!(!refused(&provenance, "hr", brought), "{brought}");
        }
        for said in ["bob", "73421", "2024-05-31", "7", "DE", "shipped"] {
            assert!(!refused(&provenance, "crm", said), "{said}");
        }
    }

    #[test]
    fn value_of_an_earlier_answer_is_refused_where_it_was_not_read() {
        let mut provenance = asked("And how many visits?");
        provenance.say("SELECT 1 FROM crm.visits WHERE name = 'Quinn'");
        provenance.read("hr", &json!("Miller earns 73,421."));
        provenance.read(EARLIER_ANSWER, &json!("Harper earns 51,981."));
        for brought in ["Miller", "73421", "Harper", "51981"] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
        }
        assert!(!refused(&provenance, "hr", "Miller") && !refused(&provenance, "crm", "Quinn"));
        let told = provenance.check("hr", &["Harper".to_owned()]).unwrap_err();
        assert!(told.message().contains("from an earlier answer"), "{told}");
    }

    #[test]
    fn usual_sql_is_nobodys_value() {
        let mut provenance = asked("Compare the two.");
        let comment = "orders per month, with the total of each customer";
        provenance.read("hr", &json!([[100, 1000, 365, 250, "month", comment]]));
        for usual in [
            "100.0",
            "100",
            "1000",
            "365",
            "250",
            "month",
            "Month YYYY",
            "1 year 6 months",
            "100 days",
            "%Y-%m-%d",
            "Total revenue",
            "revenue of a customer",
        ] {
            assert!(!refused(&provenance, "crm", usual), "{usual}");
        }
        for brought in ["customer", "%customer%", "total orders", comment] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
        }
    }

    #[test]
    fn number_is_refused_in_whatever_text_it_stands() {
        let mut provenance = asked("Compare the two.");
        provenance.read("hr", &json!([["Miller", 51981, 73421, 123]]));
        for brought in [
            "51981",
            "73421.0",
            "salary is 73421",
            "id_73421",
            "LIMIT 123",
        ] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
        }
    }

    #[test]
    fn value_that_the_datasource_has_itself_may_be_written() {
        let mut provenance = asked("How many?");
        provenance.read(
            "hr",
            &json!({"description": "status is shipped or returned"}),
        );
        assert!(refused(&provenance, "crm", "shipped"));
        provenance.read("crm", &json!({"common_values": ["shipped"]}));
        assert!(!refused(&provenance, "crm", "shipped"));
    }

    #[test]
    fn date_is_refused_as_a_whole() {
        let mut provenance = asked("Who was born in June?");
        provenance.read(
            "hr",
            &json!([["1987-06-23", "2024-03-05T10:15:23Z"], ["12.09.1990"]]),
        );
        provenance.read("hr", &json!({"max": 20_080_415}));
        for brought in [
            "1987-06-23",
            "1987-06-23 00:00:00",
            "x|1987-06-23",
            "19870623",
            "23.06.1987",
            "June 23, 1987",
            "2024-03-05",
            "2024-03-05 10:15:23",
            "1990-09-12",
            "2008-04-15",
        ] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
            assert!(!refused(&provenance, "hr", brought), "{brought}");
        }
        for other in [
            "1987-06-24",
            "1988-06-23",
            "1987-06-01",
            "1987-06-30",
            "2024-03-06",
        ] {
            assert!(!refused(&provenance, "crm", other), "{other}");
        }
    }

    #[test]
    fn date_that_was_said_or_is_usual_may_be_written() {
        let question = "How many since 1987-06-23, on 5 March 2024, after 4/17/2019, and by 9 May?";
        let mut provenance = asked(question);
        provenance.say("The fiscal year begins on 2023-07-06.");
        let may_be_written = [
            "1987-06-23",
            "1987-06-23T00:00:00",
            "2024-03-05",
            "2019-04-17",
            "2025-05-09",
            "2023-07-06",
            // Where a half-open range ends.
            "2024-03-06",
            "2024-01-01",
            "2024-12-31",
            "2024-02-29",
            "2024-03-01T00:00:00Z",
            "2024-03-31 23:59:59",
            // The last week, 30 days and three months.
            "2026-11-20",
            "2026-10-28",
            "2026-08-27",
        ];
        provenance.read("hr", &json!(may_be_written));
        for usual in may_be_written {
            assert!(!refused(&provenance, "crm", usual), "{usual}");
        }
    }

    #[test]
    fn day_that_was_said_may_be_written_with_the_days_beside_it() {
        let mut provenance = asked("How many visits on 9 May, and how many after 6/23/87?");
        let may_be_written = [
            "2025-05-08",
            "2025-05-09",
            "2025-05-10",
            "20250510",
            "1987-06-22",
            "1987-06-23",
            "1987-06-24",
        ];
        provenance.read("hr", &json!(may_be_written));
        provenance.read("hr", &json!(["2025-05-11", "1987-06-25"]));
        for said in may_be_written {
            assert!(!refused(&provenance, "crm", said), "{said}");
        }
        for brought in ["2025-05-11", "1987-06-25"] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
        }
    }

    #[test]
    fn number_that_reads_like_a_usual_date_is_still_a_number() {
        let mut provenance = asked("Who came on 1 April 2024, and who is 20240501?");
        provenance.read(
            "hr",
            &json!([[20_240_301, "20240401", 20_240_501, 20_240_601]]),
        );
        for brought in ["20240301", "x|20240301", "20240601"] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
            assert!(!refused(&provenance, "hr", brought), "{brought}");
        }
        for other in ["20240401", "20240501", "20240701", "2024-03-01"] {
            assert!(!refused(&provenance, "crm", other), "{other}");
        }
        provenance.read("crm", &json!("2024-06-01"));
        assert!(!refused(&provenance, "crm", "20240601"));
    }

    #[test]
    fn decimal_without_its_last_zero_is_refused() {
        let mut provenance = asked("Is 13.5 or 14,5 too much?");
        provenance.read("hr", &json!([["12.50", "13.50", "14.50", "15.50", 16.5]]));
        provenance.read("crm", &json!([[15.5]]));
        for brought in ["12.5", "12.50", "x|12.5"] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
            assert!(!refused(&provenance, "hr", brought), "{brought}");
        }
        for other in ["13.5", "13.50", "14.5", "15.5", "15.50", "16.5", "12.6"] {
            assert!(!refused(&provenance, "crm", other), "{other}");
        }
    }

    #[test]
    fn decimal_is_refused_as_a_whole() {
        let mut provenance = asked("Is 7.77 or 8,88 too much?");
        let prices = json!([[
            12.34, "99.95", "1,250.75", 7.77, "8.88", 0.05, 1.19, 12.5, 12.0
        ]]);
        provenance.read("hr", &prices);
        for brought in [
            "12.34",
            "12.340",
            "99.95",
            "x|99.95",
            "99.95 EUR",
            "1250.75",
        ] {
            assert!(refused(&provenance, "crm", brought), "{brought}");
            assert!(!refused(&provenance, "hr", brought), "{brought}");
        }
        for other in [
            "12.35", "7.77", "8.88", "0.05", "1.19", "12.5", "12", "12.00", "99",
        ] {
            assert!(!refused(&provenance, "crm", other), "{other}");
        }
        provenance.read("crm", &json!({"common_values": ["99.95"]}));
        assert!(!refused(&provenance, "crm", "99.95"));
    }
}
