//! Where the values come from that a model writes into its SQL.
//!
//! A text in one database may tell the model to ask another one for rows and to bring them along. So what a model has read
//! of one datasource it may not write into a statement for another, unless the caller has said it. This stops values that
//! are brought along as they are; a model that spells them out in another way is not noticed.
//! A number tells by itself where it comes from; of a text, the whole or two of its words do. What stands in SQL of any kind
//! tells nothing: parts of dates, patterns for them, and round numbers.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use mindhost_base::error::{Code, Error, Result};

/// Letters of a word that tells where it comes from. Shorter ones are everywhere.
const MIN_WORD: usize = 4;
/// Letters of a whole value.
const MIN_VALUE: usize = 3;
/// Numbers below are everywhere.
const MIN_NUMBER: u64 = 100;
/// Years are in every question about time.
const YEARS: std::ops::RangeInclusive<u64> = 1900..=2100;

/// Degrees, bytes, and what time is counted in.
const MEASURES: &[u64] = &[
    120, 144, 168, 180, 240, 300, 336, 360, 364, 365, 366, 720, 1_024, 1_440, 3_600, 86_400,
    604_800,
];
/// Parts of dates, and what patterns for dates are made of.
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

/// What the model was told, and by whom.
#[derive(Debug, Default)]
pub struct Provenance {
    /// Words of the caller and of who set up the Mind.
    said: HashSet<String>,
    /// Words of each datasource, by name.
    read: HashMap<String, HashSet<String>>,
}

impl Provenance {
    /// Of an answer to these words.
    pub fn new(words: &str) -> Self {
        let mut said = HashSet::new();
        add(words, 1, &mut said);
        // As people write large numbers: 73,421 and 73 421.
        let joined = words.replace([',', '\'', '_', '\u{a0}', '\u{202f}'], "");
        add(&joined, 1, &mut said);
        Self {
            said,
            read: HashMap::new(),
        }
    }

    /// The model reads something of a datasource: every text and number in it.
    pub fn read(&mut self, datasource: &str, content: &Value) {
        let words = self.read.entry(datasource.to_owned()).or_default();
        leaves(content, &mut |leaf| add(leaf, MIN_WORD, words));
    }

    /// Looks at what a statement for a datasource holds.
    ///
    /// # Errors
    /// `sql_literal_not_allowed` when something in it comes from another datasource.
    pub fn check(&self, datasource: &str, literals: &[String]) -> Result<()> {
        let own = self.read.get(datasource);
        let is_known =
            |word: &String| self.said.contains(word) || own.is_some_and(|own| own.contains(word));
        for literal in literals {
            let mut words = HashSet::new();
            add(literal, MIN_WORD, &mut words);
            let whole = literal.trim().to_lowercase();
            // The text as a whole is among its words.
            let spelled = words.iter().filter(|word| **word != whole).count();
            let brought = self.read.iter().find(|(name, read)| {
                let brought = words
                    .iter()
                    .filter(|word| read.contains(*word) && !is_known(word));
                let tells = |word: &String| *word == whole || word.parse::<u64>().is_ok();
                *name != datasource
                    && (brought.clone().any(tells) || brought.count() >= spelled.clamp(1, 2))
            });
            if let Some((from, _)) = brought {
                return Err(Error::new(
                    Code::SqlLiteralNotAllowed,
                    format!(
                        "a value in this statement for `{datasource}` comes from `{from}`, and the question does not \
                         have it; what is read in one datasource may not be sent to another. Write the statement \
                         without it, or answer from what each datasource gives by itself"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The words of a text that tell where it comes from, in lower case, and the text as a whole.
fn add(text: &str, min_word: usize, words: &mut HashSet<String>) {
    let text = text.to_lowercase();
    let whole = text.trim();
    let is_value = whole.chars().count() >= MIN_VALUE && whole.chars().any(char::is_alphabetic);
    if is_value && !TIMES.contains(&whole) {
        words.insert(whole.to_owned());
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let tells = match word.parse::<u64>() {
            Ok(number) => number >= MIN_NUMBER && !is_usual(number),
            Err(_) => word.chars().count() >= min_word && !TIMES.contains(&word),
        };
        if tells {
            words.insert(word.to_owned());
        }
    }
}

/// Whether a number is in SQL of any kind: 1, 2, 2.5 and 5 of hundreds, thousands and so on, years, and measures.
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

    fn refused(provenance: &Provenance, datasource: &str, literal: &str) -> bool {
        let checked = provenance.check(datasource, &[literal.to_owned()]);
        checked.is_err_and(|error| error.code() == Code::SqlLiteralNotAllowed)
    }

    #[test]
    fn value_of_one_datasource_is_refused_for_another() {
        let mut provenance = Provenance::new("What did Bob buy for 73,421 in 2024?");
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
    fn usual_sql_is_nobodys_value() {
        let mut provenance = Provenance::new("Compare the two.");
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
        let mut provenance = Provenance::new("Compare the two.");
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
        let mut provenance = Provenance::new("How many?");
        provenance.read(
            "hr",
            &json!({"description": "status is shipped or returned"}),
        );
        assert!(refused(&provenance, "crm", "shipped"));
        provenance.read("crm", &json!({"common_values": ["shipped"]}));
        assert!(!refused(&provenance, "crm", "shipped"));
    }
}
