//! Asks one question and judges the answer.

mod refusal;

use std::future::Future;

use crate::{
    answer::{Answer, Table},
    cells::Rounding,
    compare::{self, Gold, Order},
    judged::{Judged, Mark},
    numbers::{self, Sources, TextNumber},
    statement::Facts,
    suite::{EXTRA_COLUMNS, Expect, Prices, Question},
};

/// Years need no source.
const YEARS: std::ops::RangeInclusive<u32> = 1900..=2100;
/// Largest number that needs no source in a text that declines: "none of the 3 tables", "ask for the top 10".
const MAX_ASIDE: u32 = 12;

/// Why something asked of a server failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The server's code; empty if it did not answer.
    pub code: String,
    /// For a person.
    pub message: String,
}

/// Who is asked: a server over HTTP, or the server itself.
pub trait Subject: Sync {
    /// Asks a question of a Mind.
    fn ask(
        &self,
        mind: &str,
        question: &Question,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send;

    /// The rows of an answer that has a statement.
    fn result(
        &self,
        mind: &str,
        answer: &Answer,
    ) -> impl Future<Output = Result<Table, Failure>> + Send;

    /// The rows of an accepted statement.
    fn gold(&self, mind: &str, sql: &str) -> impl Future<Output = Result<Table, Failure>> + Send;

    /// Removes a conversation. It may stay if that fails: nothing depends on it.
    fn forget(&self, conversation: &str) -> impl Future<Output = ()> + Send;
}

/// What questions are judged with.
pub struct Judge<S> {
    /// Who is asked.
    pub subject: S,
    /// The Mind; `{db}` stands for the database of a question.
    pub mind: String,
    /// Whether conversations stay on the server.
    pub keeps: bool,
    /// Most rows of a result that is compared.
    pub max_rows: u64,
    /// What tokens cost.
    pub prices: Option<Prices>,
}

/// A mark and why it is not right.
type Verdict = (Mark, String);

/// The rows of an answer, if it has a statement, or why they cannot be read.
type AnswerRows<'a> = Result<Option<&'a Table>, &'a String>;

impl<S: Subject> Judge<S> {
    /// Asks and judges.
    pub async fn judge(&self, question: &Question) -> Judged {
        let mind = self
            .mind
            .replace("{db}", question.db.as_deref().unwrap_or_default());
        let mut judged = Judged {
            id: question.id.clone(),
            question: question.question.clone(),
            expect: question.expect,
            gold: question.sql.first().cloned(),
            ..Judged::default()
        };
        match self.subject.ask(&mind, question).await {
            Err(failure) => judged.why = failure.message,
            Ok(answer) => {
                let table = match answer.sql {
                    Some(_) => Some(self.subject.result(&mind, &answer).await),
                    None => None,
                };
                let table = table.transpose().map_err(|failure| failure.message);
                let table = table.as_ref().map(Option::as_ref);
                (judged.mark, judged.why) = self.verdict(&mind, question, &answer, table).await;
                // Without an answer there are no rows that its text could be checked against.
                if !answer.is_declined() {
                    judged.unsupported_numbers = unsupported(question, &answer, table);
                }
                self.note(&mut judged, question, &answer);
                if !self.keeps && !answer.conversation.is_empty() {
                    self.subject.forget(&answer.conversation).await;
                }
            }
        }
        judged
    }

    fn note(&self, judged: &mut Judged, question: &Question, answer: &Answer) {
        let recall = question
            .sql
            .first()
            .map(|sql| answer.told.recall(&Facts::of(sql)));
        let recall = recall.unwrap_or_default();
        judged.recall_tables = recall.tables;
        judged.recall_columns = recall.columns;
        judged.sql.clone_from(&answer.sql);
        judged.text.clone_from(&answer.text);
        judged.repairs = answer.told.repairs;
        judged.input_tokens = answer.input_tokens;
        judged.output_tokens = answer.output_tokens;
        judged.latency_ms = u64::try_from(answer.latency.as_millis()).unwrap_or(u64::MAX);
        let millions = |tokens: u64| tokens as f64 / 1e6;
        judged.cost = self.prices.as_ref().map(|prices| {
            millions(answer.input_tokens) * prices.input
                + millions(answer.output_tokens) * prices.output
        });
    }

    async fn verdict(
        &self,
        mind: &str,
        question: &Question,
        answer: &Answer,
        table: AnswerRows<'_>,
    ) -> Verdict {
        if let Some(why) = answer.failure() {
            return (Mark::Failed, why);
        }
        if let Err(why) = table {
            return (Mark::Failed, format!("its rows cannot be read: {why}"));
        }
        let invented = invented(question, answer);
        let is_declined =
            invented.is_empty() && (answer.is_declined() || says_nothing(question, answer, table));
        if question.expect == Expect::Declined {
            return match is_declined {
                true => (Mark::Right, String::new()),
                false if invented.is_empty() => {
                    (Mark::Wrong, "answered what the data do not hold".to_owned())
                }
                false => (Mark::Wrong, without_statement(&invented)),
            };
        }
        // A question whose accepted statement fails is found even if it was not answered.
        let golds = match self.golds(mind, question).await {
            Ok(golds) => golds,
            Err(why) => return (Mark::Invalid, why),
        };
        let compared = match table {
            Ok(Some(table)) if !answer.is_declined() => {
                let sql = answer.sql.as_deref().unwrap_or_default();
                let compared = compared(question, &golds, table, sql);
                match compared.is_err() && self.is_level(mind, question, table, sql).await {
                    true => Ok(()),
                    false => compared,
                }
            }
            _ if invented.is_empty() => Err("no statement".to_owned()),
            _ => Err(without_statement(&invented)),
        };
        match compared {
            Ok(()) => (Mark::Right, String::new()),
            Err(why) if is_declined => (Mark::Declined, why),
            Err(why) => (Mark::Wrong, why),
        }
    }

    /// The accepted results.
    ///
    /// # Errors
    /// Why there is none, for the author of the suite.
    async fn golds(&self, mind: &str, question: &Question) -> Result<Vec<Gold>, String> {
        let mut golds = Vec::new();
        if let Some(data) = &question.rows {
            golds.push(Gold {
                columns: data.first().map_or(0, Vec::len),
                rows: compare::rows(data),
                order: if question.ordered == Some(true) {
                    Order::Exact
                } else {
                    Order::Any
                },
                roundings: vec![Rounding::AsWritten; data.first().map_or(0, Vec::len)],
            });
        }
        let mut why = "the question has neither `sql` nor `rows`".to_owned();
        for sql in &question.sql {
            match self.subject.gold(mind, sql).await {
                Ok(table) => match self.gold(question, sql, table) {
                    Ok(gold) => golds.push(gold),
                    Err(error) => why = error,
                },
                Err(failure) if failure.code == "direct_queries_not_allowed" => {
                    why = "the Mind does not allow direct queries, so the accepted `sql` cannot run; set \
                           `allow_direct_queries`, or give `rows`"
                        .to_owned();
                }
                Err(failure) => why = format!("the accepted statement fails: {}", failure.message),
            }
        }
        match golds.is_empty() {
            true => Err(why),
            false => Ok(golds),
        }
    }

    /// Whether the rows of an answer are those of an accepted statement that keeps the first rows of its order, and
    /// might as well have kept these: its order puts them level with the last one.
    async fn is_level(&self, mind: &str, question: &Question, table: &Table, sql: &str) -> bool {
        for accepted in &question.sql {
            if !Facts::of(accepted).has_limit() {
                continue;
            }
            let Ok(first) = self.subject.gold(mind, accepted).await else {
                continue;
            };
            let Some(raised) = Facts::of(accepted).raised(&first.columns) else {
                continue;
            };
            let Ok(found) = self.subject.gold(mind, &raised.sql).await else {
                continue;
            };
            let others = raised.other_results(&found.rows).into_iter();
            let others = others.filter_map(|rows| {
                let total = rows.len() as u64;
                let columns = first.columns.clone();
                let other = Table {
                    columns,
                    rows,
                    total,
                };
                self.gold(question, accepted, other).ok()
            });
            let others: Vec<Gold> = others.collect();
            if !others.is_empty() && compared(question, &others, table, sql).is_ok() {
                return true;
            }
        }
        false
    }

    fn gold(&self, question: &Question, sql: &str, table: Table) -> Result<Gold, String> {
        if table.total > table.rows.len() as u64 {
            return Err(format!(
                "the accepted statement gives {} rows, and at most {} are compared",
                table.total, self.max_rows
            ));
        }
        let facts = Facts::of(sql);
        let order = match question.ordered {
            Some(false) => Order::Any,
            Some(true) if facts.order(&table.columns) == Order::Any => Order::Exact,
            _ => facts.order(&table.columns),
        };
        Ok(Gold {
            order,
            roundings: facts.roundings(&table.columns),
            columns: table.columns.len(),
            rows: table.rows,
        })
    }
}

/// The numbers of an answer that come from nowhere.
fn unsupported(question: &Question, answer: &Answer, table: AnswerRows<'_>) -> Vec<String> {
    let Ok(table) = table else {
        return Vec::new();
    };
    let sources = Sources {
        rows: table.map_or(&[][..], |table| &table.rows[..]),
        total: table.map_or(0, |table| table.total),
        question: &question.question,
        statement: answer.sql.as_deref().unwrap_or_default(),
    };
    let unsupported = numbers::unsupported(&answer.text, sources).into_iter();
    unsupported.map(|one| one.text).collect()
}

/// Compares the rows of an answer with each accepted result. `sql` is the statement of the answer.
///
/// # Errors
/// How they differ from the first.
fn compared(question: &Question, golds: &[Gold], table: &Table, sql: &str) -> Result<(), String> {
    let extra = question.extra_columns.unwrap_or(EXTRA_COLUMNS);
    let figures = Facts::of(sql).lone_aggregates(&table.columns);
    let is_whole = table.total == table.rows.len() as u64;
    let compare = |gold: &Gold| match is_whole {
        true => compare::compare(gold, &table.rows, extra, &figures),
        false => Err(format!("{} rows, not {}", table.total, gold.rows.len())),
    };
    let mut first = Ok(());
    for gold in golds {
        match compare(gold) {
            Ok(()) => return Ok(()),
            Err(why) if first.is_ok() => first = Err(why),
            Err(_) => {}
        }
    }
    first
}

/// The numbers of an answer in words that come from no statement. A date, a year and the number of an item need no
/// source, nor does a small number in a text that declines.
fn invented(question: &Question, answer: &Answer) -> Vec<String> {
    let has_source = answer.sql.is_some() || answer.error.is_some() || answer.ending.is_some();
    if has_source {
        return Vec::new();
    }
    let declines = refusal::has_word(&answer.text);
    let needs_source = |one: &TextNumber| {
        let is_free = |number: u32| YEARS.contains(&number) || declines && number <= MAX_ASIDE;
        !one.begins_line && (one.is_percent || !one.text.parse().is_ok_and(is_free))
    };
    let sources = Sources {
        rows: &[],
        total: 0,
        question: &question.question,
        statement: "",
    };
    let text = refusal::without_dates(&answer.text);
    let unsupported = numbers::unsupported(&text, sources).into_iter();
    let invented = unsupported.filter(needs_source);
    invented.map(|one| one.text).collect()
}

fn without_statement(invented: &[String]) -> String {
    let numbers = invented.join(", ");
    format!("no statement, and numbers that come from none: {numbers}")
}

/// Whether an answer has no row and no number: the model looked, and tells nothing of the data. Models decline so that
/// do not end with `cannot_answer`.
fn says_nothing(question: &Question, answer: &Answer, table: AnswerRows<'_>) -> bool {
    let is_empty = matches!(table, Ok(Some(table)) if table.total == 0);
    let sources = Sources {
        rows: &[],
        total: 0,
        question: &question.question,
        statement: "",
    };
    is_empty && numbers::unsupported(&answer.text, sources).is_empty()
}

#[cfg(test)]
mod tests;
