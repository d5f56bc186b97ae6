//! From a query to the answer: runs its statement and says the rows.

use crate::catalog::Catalog;
use crate::query::Query;
use crate::tools::{self, RUN, Rows};
use crate::turn::{Action, Turn};
use crate::{answer, tie, write};

/// What comes next. The error says why there is no answer, or asks back.
type Next = Result<Action, String>;

/// Runs a query and says its rows.
pub fn answer(turn: &Turn, catalog: &Catalog, query: &Query) -> Next {
    let run = Run {
        turn,
        catalog,
        query,
    };
    match run.result() {
        Ok(rows) if run.repeats(&rows) => Err(REPEATED.to_owned()),
        Ok(rows) => run.said(&rows),
        Err(next) => next,
    }
}

const REPEATED: &str = "Some rows of that list look the same. Please ask for the different ones, if each is wanted \
                        once, or for a column that tells them apart.";

struct Run<'a> {
    turn: &'a Turn,
    catalog: &'a Catalog,
    query: &'a Query,
}

impl Run<'_> {
    /// The rows of the query; a first place that several rows share is asked back.
    fn result(&self) -> Result<Rows, Next> {
        if let Some(column) = self.query.leads_in() {
            let more = Query {
                limit: Some(tie::SHOWN),
                ..self.query.clone()
            };
            let rows = self.rows(&more, tie::SHOWN)?;
            if let Some(text) = tie::text(column, &rows) {
                return Err(Err(text));
            }
        }
        if let Some((few, column)) = self.query.cuts_in() {
            let more = Query {
                limit: Some(few + tie::SHOWN),
                ..self.query.clone()
            };
            let rows = self.rows(&more, few + tie::SHOWN)?;
            if let Some(text) = tie::cut(few, column, &rows) {
                return Err(Err(text));
            }
        }
        self.rows(self.query, self.most())
    }

    /// Rows to fetch of the result.
    fn most(&self) -> u64 {
        self.query.limit.unwrap_or(tools::LISTED_ROWS)
    }

    /// Whether a list over several tables has the same row twice, or one of a single column often: the question may
    /// mean each once, or each time.
    fn repeats(&self, rows: &Rows) -> bool {
        let query = self.query;
        let list = query.groups.is_empty() && query.limit.is_none() && !query.distinct;
        let twice = |(at, row): &(usize, &Vec<_>)| rows.rows[..*at].contains(row);
        let again = rows.rows.iter().enumerate().filter(twice).count();
        let alone = query.outputs.len() == 1
            && query.source.conditions.is_empty()
            && query.order.is_empty()
            && 4 * again >= rows.rows.len();
        let several = !(query.source.joins.is_empty() && query.members.is_empty());
        list && again > 0 && (several || alone)
    }

    /// Says rows. The statement of an answer is the last that ran, so one that ran before others runs again.
    fn said(&self, rows: &Rows) -> Next {
        let statement = [true, false]
            .map(|q| write::write(self.catalog, self.query, q))
            .into_iter()
            .find(|s| self.turn.ran(s).is_some_and(|step| !step.failed));
        let last = self.turn.uses(RUN).last().copied();
        let is_last = |s: &str| {
            let ran = self.turn.ran(s);
            last.is_some_and(|l| ran.is_some_and(|r| std::ptr::eq(r, l)))
        };
        match statement {
            Some(statement) if self.turn.offers(RUN) && !is_last(&statement) => {
                Ok(self.call(&statement, self.most()))
            }
            _ => Ok(Action::Say(answer::write(self.catalog, self.query, rows))),
        }
    }

    fn call(&self, statement: &str, most: u64) -> Action {
        let datasource = &self.catalog.table(self.query.source.base).datasource;
        tools::run(datasource, statement, most, &self.query.notes)
    }

    /// The rows of a statement. When it is refused, it is tried once more with plain table names; the error is the call
    /// to make, or what stands in the way.
    fn rows(&self, query: &Query, most: u64) -> Result<Rows, Next> {
        let mut refusal = String::new();
        for qualified in [true, false] {
            let statement = write::write(self.catalog, query, qualified);
            let Some(step) = self.turn.ran(&statement) else {
                if self.turn.offers(RUN) {
                    return Err(Ok(self.call(&statement, most)));
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
            return read
                .map_err(|_| Err("The result of the query is not what I can read.".to_owned()));
        }
        Err(Err(refused(&refusal)))
    }
}

fn refused(reason: &str) -> String {
    format!(
        "I could not get the data: {}. I have no other way to ask for it, so I cannot answer.",
        reason.trim().trim_end_matches('.')
    )
}
