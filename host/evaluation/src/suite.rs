//! Suites: questions, and what is accepted as their answers.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Serialize,
    de::{self, SeqAccess, Visitor},
};
use serde_json::Value;

/// Columns that an answer may have beside those that were asked for.
pub const EXTRA_COLUMNS: usize = 2;
/// More questions are a mistake.
const MAX_QUESTIONS: usize = 100_000;

/// Questions about one or several Minds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, for reports.
    #[serde(default)]
    pub name: String,
    /// What the model costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// At least one, in the order in which they are asked.
    #[serde(default)]
    pub questions: Vec<Question>,
}

/// Prices of a million tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Of those that the model reads.
    pub input: f64,
    /// Of those that it writes.
    pub output: f64,
    /// Such as `USD`.
    #[serde(default)]
    pub currency: String,
}

/// A question, and what counts as a right answer to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Names it in reports and in later runs. Default: its number in the suite, from 1.
    #[serde(default)]
    pub id: String,
    /// What the Mind is asked.
    pub question: String,
    /// Whether an answer is expected, or that the Mind declines.
    #[serde(default, skip_serializing_if = "Expect::is_answer")]
    pub expect: Expect,
    /// Accepted statements: the first is the usual one.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_many"
    )]
    pub sql: Vec<String>,
    /// Accepted rows, in place of a statement or beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<Value>>>,
    /// Whether the order of the rows counts. Default: whether the statement has an ORDER BY; given rows have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// Columns that an answer may have beside those asked for. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_columns: Option<usize>,
    /// What the model is told beside the question, such as the evidence of BIRD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The database that it is about: `{db}` in `--mind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db: Option<String>,
}

/// What a question expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = EvaluationExpect)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// One of the accepted results.
    #[default]
    Answer,
    /// That the Mind declines: the data do not hold the answer.
    Declined,
}

impl Expect {
    fn is_answer(&self) -> bool {
        *self == Self::Answer
    }
}

/// Why a file is no suite.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

impl Suite {
    /// Reads a suite: YAML, or JSON lines if the first line is a whole JSON object. A line of JSON is a question, but
    /// for the first, which may hold `name` and `prices`.
    ///
    /// # Errors
    /// When it is malformed, with the place; or when a question lacks what it needs.
    pub fn read(text: &str) -> Result<Self, Malformed> {
        let first = text.lines().find(|line| !line.trim().is_empty());
        let is_lines = first.is_some_and(|line| {
            serde_json::from_str::<serde_json::Map<_, _>>(line)
                .is_ok_and(|fields| !fields.contains_key("questions"))
        });
        let suite = match is_lines {
            true => lines(text)?,
            false => serde_saphyr::from_str(text).map_err(|error| not_read(&error))?,
        };
        suite.checked()
    }

    /// Writes it as JSON lines.
    ///
    /// # Errors
    /// Never for a suite that was read.
    pub fn to_lines(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string(&Head {
            name: self.name.clone(),
            prices: self.prices.clone(),
        })?;
        for question in &self.questions {
            text.push('\n');
            text.push_str(&serde_json::to_string(question)?);
        }
        text.push('\n');
        Ok(text)
    }

    fn checked(mut self) -> Result<Self, Malformed> {
        let mut prices = self.prices.iter().flat_map(|one| [one.input, one.output]);
        if let Some(wrong) = prices.find(|price| !price.is_finite() || *price < 0.0) {
            return Err(Malformed(format!(
                "`prices`: {wrong} is no price of a million tokens; give 0 or more"
            )));
        }
        if self.questions.is_empty() {
            return Err(Malformed(
                "the suite has no question; give `questions`, each with a `question`".into(),
            ));
        }
        if self.questions.len() > MAX_QUESTIONS {
            return Err(Malformed(format!(
                "a suite has at most {MAX_QUESTIONS} questions"
            )));
        }
        let mut ids = HashSet::new();
        for (at, question) in self.questions.iter_mut().enumerate() {
            if question.id.is_empty() {
                question.id = (at + 1).to_string();
            }
            question.check()?;
            if !ids.insert(question.id.clone()) {
                return Err(Malformed(format!(
                    "two questions have the id `{}`; give each its own",
                    question.id
                )));
            }
        }
        Ok(self)
    }
}

impl Question {
    fn check(&self) -> Result<(), Malformed> {
        let wrong = |what: &str| Err(Malformed(format!("question `{}`: {what}", self.id)));
        let has_gold = !self.sql.is_empty() || self.rows.is_some();
        let widths = self
            .rows
            .iter()
            .flatten()
            .map(Vec::len)
            .collect::<HashSet<_>>();
        match self.expect {
            _ if self.question.trim().is_empty() => wrong("`question` is empty"),
            _ if self.sql.iter().any(|sql| sql.trim().is_empty()) => {
                wrong("a statement in `sql` is empty")
            }
            _ if widths.len() > 1 => wrong("the `rows` differ in their number of cells"),
            Expect::Answer if !has_gold => wrong(
                "give the accepted `sql` or `rows`, or `expect: declined` if the data do not hold the answer",
            ),
            Expect::Declined if has_gold => {
                wrong("a question that is to be declined has no `sql` and no `rows`")
            }
            _ => Ok(()),
        }
    }
}

/// The first line of JSON lines.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    #[serde(default)]
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<Prices>,
}

fn lines(text: &str) -> Result<Suite, Malformed> {
    let (mut suite, mut is_first) = (Suite::default(), true);
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |error: serde_json::Error| Malformed(format!("line {}: {error}", at + 1));
        if is_first && is_head(line) {
            let head: Head = serde_json::from_str(line).map_err(wrong)?;
            suite.name = head.name;
            suite.prices = head.prices;
        } else {
            suite
                .questions
                .push(serde_json::from_str(line).map_err(wrong)?);
        }
        is_first = false;
    }
    Ok(suite)
}

/// Whether a line has fields of a suite, and none that only a question has.
fn is_head(line: &str) -> bool {
    let fields = serde_json::from_str::<serde_json::Map<_, _>>(line);
    fields.is_ok_and(|fields| {
        let has = |name: &str| fields.contains_key(name);
        (has("name") || has("prices")) && !has("question") && !has("id")
    })
}

/// The error of a text that is not a suite, with its line and column, in the terms of YAML.
fn not_read(error: &serde_saphyr::Error) -> Malformed {
    let place = error
        .location()
        .map(|at| format!("line {}, column {}: ", at.line(), at.column()));
    let message = error.without_snippet().to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(words, _)| words);
    let words = match message {
        "expected mapping start" => "expected fields with a colon, such as `questions:`",
        "expected sequence start" => "expected a list, whose items begin with `- `",
        "expected string scalar" => "expected a text",
        other => other,
    };
    Malformed(format!("{}{words}", place.unwrap_or_default()))
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct OneOrMany;
    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a statement of SQL, or a list of them")
        }

        fn visit_str<E: de::Error>(self, one: &str) -> Result<Self::Value, E> {
            Ok(vec![one.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut many: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = many.next_element()? {
                all.push(one);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_any(OneOrMany)
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "
name: shop
prices: {input: 1.5, output: 6, currency: USD}
questions:
  - question: How many customers are there?
    sql: SELECT count(*) FROM customers
  - id: top
    question: Top countries?
    sql:
      - |
        SELECT country FROM customers
        ORDER BY 1
      - SELECT 1
    ordered: false
  - {question: How many?, rows: [[1, ~, a]]}
  - {question: Why?, expect: declined}
";

    #[test]
    fn yaml_and_json_lines_hold_the_same() {
        let suite = Suite::read(YAML).unwrap();
        let ids: Vec<&str> = suite.questions.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["1", "top", "3", "4"]);
        assert_eq!(suite.questions[1].sql.len(), 2);
        assert_eq!(
            suite.questions[2].rows,
            Some(vec![vec![1.into(), Value::Null, "a".into()]])
        );
        assert_eq!(suite.questions[3].expect, Expect::Declined);
        assert_eq!(Suite::read(&suite.to_lines().unwrap()).unwrap(), suite);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str, part: &str| {
            let error = Suite::read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        wrong("questions: []", "no question");
        wrong("questions: [{question: a}]", "expect: declined");
        wrong(
            "questions: [{question: a, sql: x, expect: declined}]",
            "no `sql`",
        );
        wrong("questions: [{question: a, sqll: x}]", "sqll");
        let error = Suite::read("questions:\n  - question: a\n    expect: nope").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3, column 13: unknown variant `nope`, expected one of answer, declined"
        );
        wrong(
            "how many?",
            "line 1, column 1: expected fields with a colon",
        );
        wrong("questions: 3", "column 12: expected a list");
        wrong("questions: [{question: [a]}]", "expected a text");
        wrong(
            "questions: [{id: a, question: a, sql: x}, {id: a, question: b, sql: x}]",
            "two questions",
        );
        wrong(
            "{\"question\": \"a\", \"sql\": \"x\"}\n{\"question\": 1}",
            "line 2",
        );
        wrong(
            "questions: [{question: a, rows: [[1], [1, 2]]}]",
            "number of cells",
        );
        let statements = "a statement of SQL, or a list of them";
        wrong("questions: [{question: a, sql: 5}]", statements);
        wrong("{\"question\": \"a\", \"sql\": 5}", statements);
        wrong("questions: [{question: a, sql: ' '}]", "`sql` is empty");
        wrong(
            "questions: [{question: a, sql: [x, \"\"]}]",
            "`sql` is empty",
        );
        wrong(
            "{\"name\": \"x\", \"price\": 1}\n{\"question\": \"a\"}",
            "line 1: unknown field `price`",
        );
        wrong(
            "prices: {input: -1, output: 0}\nquestions: [{question: a, sql: x}]",
            "`prices`: -1",
        );
    }
}
