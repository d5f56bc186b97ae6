//! A reading of a question that is ready to run, and the way from there to the answer.

use crate::catalog::Catalog;
use crate::plan::{Plan, Shape};
use crate::ranked::{self, Query};
use crate::tools::{self, RUN, Rows};
use crate::turn::{Action, Turn};
use crate::{agreement, answer, sql, tie};

/// What one of the two sets of rules made of a question.
pub enum Reading<'a> {
    /// Every word has a role.
    Strict(&'a Catalog, &'a Plan),
    /// The best of several ranked meanings.
    Ranked(&'a Catalog, &'a Query),
}

/// What comes next. The error says why there is no answer, or asks back.
type Next = Result<Action, String>;

impl Reading<'_> {
    fn datasource(&self) -> &str {
        match self {
            Self::Strict(catalog, plan) => &catalog.table(plan.base).datasource,
            Self::Ranked(catalog, query) => &catalog.table(query.source.base).datasource,
        }
    }

    fn limit(&self) -> Option<u64> {
        match self {
            Self::Strict(_, plan) => plan.limit,
            Self::Ranked(_, query) => query.limit,
        }
    }

    /// Rows to fetch of the result.
    fn most(&self) -> u64 {
        self.limit().unwrap_or(tools::LISTED_ROWS)
    }

    /// How words were read, where that is not plain.
    fn notes(&self) -> &[String] {
        match self {
            Self::Strict(_, plan) => &plan.notes,
            Self::Ranked(_, query) => &query.notes,
        }
    }

    /// The statement, with the schemas of the tables or without.
    pub fn write(&self, qualified: bool) -> String {
        match self {
            Self::Strict(catalog, plan) => sql::write(catalog, plan, qualified),
            Self::Ranked(catalog, query) => ranked::write(catalog, query, qualified),
        }
    }

    /// Whether this is a ranked reading without a test of keys, where the strict rules err more often.
    fn is_safe(&self) -> bool {
        matches!(self, Self::Ranked(_, query) if query.members.is_empty() && !query.distinct)
    }

    /// Whether this is the strict reading of one figure.
    fn is_figure(&self) -> bool {
        matches!(self, Self::Strict(_, plan) if plan.shape == Shape::Single)
    }

    fn say(&self, rows: &Rows) -> String {
        match self {
            Self::Strict(catalog, plan) => answer::write(catalog, plan, rows),
            Self::Ranked(catalog, query) => ranked::say(catalog, query, rows),
        }
    }

    /// Where one row wins: the name of the column that it leads in.
    fn leads_in(&self) -> Option<String> {
        match self {
            Self::Strict(_, plan) => {
                let (expr, _) = plan.order.first().filter(|_| plan.limit == Some(1))?;
                plan.outputs
                    .iter()
                    .find(|o| o.expr == *expr)
                    .map(|o| o.name.clone())
            }
            Self::Ranked(catalog, query) => ranked::leads_in(catalog, query),
        }
    }

    /// The statement for some rows more than the winner.
    fn write_more(&self, qualified: bool) -> String {
        match self {
            Self::Strict(catalog, plan) => {
                let limit = Some(tie::SHOWN);
                sql::write(
                    catalog,
                    &Plan {
                        limit,
                        ..(*plan).clone()
                    },
                    qualified,
                )
            }
            Self::Ranked(catalog, query) => {
                let limit = Some(tie::SHOWN);
                ranked::write(
                    catalog,
                    &Query {
                        limit,
                        ..(*query).clone()
                    },
                    qualified,
                )
            }
        }
    }
}

/// Runs a reading and says its rows.
pub fn answer(turn: &Turn, reading: &Reading<'_>) -> Next {
    let found = match reading {
        // The order of a strict reading names the row that comes first among equals.
        Reading::Strict(..) => rows(turn, reading, reading.most(), |q| reading.write(q)),
        Reading::Ranked(..) => result(turn, reading),
    };
    match found {
        Ok(rows) if repeats(reading, &rows) => Err(REPEATED.to_owned()),
        Ok(rows) => said(turn, reading, &rows),
        Err(next) => next,
    }
}

/// Whether a list over several tables has the same row twice, or one of a single column often: the question may mean
/// each once, or each time.
fn repeats(reading: &Reading<'_>, rows: &Rows) -> bool {
    let Reading::Ranked(_, query) = reading else {
        return false;
    };
    let list = query.groups.is_empty() && query.limit.is_none() && !query.distinct;
    let twice = |(at, row): &(usize, &Vec<_>)| rows.rows[..*at].contains(row);
    let again = rows.rows.iter().enumerate().filter(twice).count();
    let alone = query.select.len() == 1
        && query.source.conditions.is_empty()
        && query.order.is_empty()
        && 4 * again >= rows.rows.len();
    let several = !(query.source.joins.is_empty() && query.members.is_empty());
    list && again > 0 && (several || alone)
}

const REPEATED: &str = "Some rows of that list look the same. Please ask for the different ones, if each is wanted \
                        once, or for a column that tells them apart.";

/// Runs both readings of a question and says the rows of the first. Where they give different rows, the ranked one is
/// said if it is the safer one, else it is asked back.
pub fn answer_of_two(turn: &Turn, first: &Reading<'_>, second: &Reading<'_>) -> Next {
    let other = match rows(turn, second, tools::MOST_ROWS, |q| second.write(q)) {
        Err(Ok(call)) => return Ok(call),
        // A statement that is refused says nothing against the other.
        Err(Err(_)) => None,
        Ok(rows) => Some(rows),
    };
    let found = match (first, second.leads_in()) {
        (Reading::Strict(..), None) => rows(turn, first, first.most(), |q| first.write(q)),
        _ => result(turn, first),
    };
    match found {
        Ok(rows) if other.is_some_and(|other| !agree(first, second, &rows, &other)) => {
            match [first, second].into_iter().find(|r| r.is_safe()) {
                Some(ranked) if !first.is_figure() && !second.is_figure() => answer(turn, ranked),
                _ => Err(TWO_WAYS.to_owned()),
            }
        }
        Ok(rows) if repeats(first, &rows) => Err(REPEATED.to_owned()),
        // The ranked reading says that it found none, which is not taken for the answer.
        Ok(rows) if rows.rows.is_empty() && !rows.rows_withheld => {
            let ranked = matches!(first, Reading::Ranked(..));
            Ok(Action::Say(if ranked { first } else { second }.say(&rows)))
        }
        Ok(rows) => said(turn, first, &rows),
        Err(next) => next,
    }
}

/// Whether the rows of two readings are the same, or the first few of the same order, where equals were cut off.
fn agree(first: &Reading<'_>, second: &Reading<'_>, rows: &Rows, other: &Rows) -> bool {
    let figures = |rows: &Rows| -> Vec<_> {
        let last = rows.rows.iter().map(|row| row.last().cloned());
        last.collect()
    };
    let ranks = first.limit().is_some_and(|n| n > 1) && first.limit() == second.limit();
    agreement::same_rows(rows, other) || (ranks && figures(rows) == figures(other))
}

/// Says rows. The statement of an answer is the last that ran, so one that ran before others runs again.
fn said(turn: &Turn, reading: &Reading<'_>, rows: &Rows) -> Next {
    let statement = [true, false]
        .map(|q| reading.write(q))
        .into_iter()
        .find(|s| turn.ran(s).is_some_and(|step| !step.failed));
    let last = turn.uses(RUN).last().copied();
    match statement {
        Some(statement)
            if turn.offers(RUN)
                && !last
                    .is_some_and(|l| turn.ran(&statement).is_some_and(|s| std::ptr::eq(s, l))) =>
        {
            let notes = reading.notes();
            Ok(tools::run(
                reading.datasource(),
                &statement,
                reading.most(),
                notes,
            ))
        }
        _ => Ok(Action::Say(reading.say(rows))),
    }
}

const TWO_WAYS: &str = "I can read that question in two ways, and they give different results, so I do not choose. \
                        Please ask it in other words, with the names of the tables and columns.";

/// The rows of a reading; a first place that several rows share is asked back.
fn result(turn: &Turn, reading: &Reading<'_>) -> Result<Rows, Next> {
    leader(turn, reading)?;
    rows(turn, reading, reading.most(), |q| reading.write(q))
}

/// Asks back where several rows share the first place of a reading.
fn leader(turn: &Turn, reading: &Reading<'_>) -> Result<(), Next> {
    let Some(column) = reading.leads_in() else {
        return Ok(());
    };
    let rows = rows(turn, reading, tie::SHOWN, |q| reading.write_more(q))?;
    tie::text(&column, &rows).map_or(Ok(()), |text| Err(Err(text)))
}

/// The rows of a statement. When it is refused, it is tried once more with plain table names; the error is the call to
/// make, or what stands in the way.
fn rows(
    turn: &Turn,
    reading: &Reading<'_>,
    most: u64,
    write: impl Fn(bool) -> String,
) -> Result<Rows, Next> {
    let mut refusal = String::new();
    for qualified in [true, false] {
        let statement = write(qualified);
        let Some(step) = turn.ran(&statement) else {
            if turn.offers(RUN) {
                return Err(Ok(tools::run(
                    reading.datasource(),
                    &statement,
                    most,
                    reading.notes(),
                )));
            }
            let text = if refusal.is_empty() {
                tools::not_offered(RUN)
            } else {
                refused(&refusal)
            };
            return Err(Err(text));
        };
        if step.failed {
            refusal = tools::error_message(&step.content);
            continue;
        }
        let read = serde_json::from_str(&step.content);
        return read.map_err(|_| Err("The result of the query is not what I can read.".to_owned()));
    }
    Err(Err(refused(&refusal)))
}

fn refused(reason: &str) -> String {
    format!(
        "I could not get the data: {}. I have no other way to ask for it, so I cannot answer.",
        reason.trim().trim_end_matches('.')
    )
}
