//! The offline model as what the judge asks.

use std::{
    collections::BTreeMap,
    future::{Future, ready},
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use mindhost_evaluation::{
    answer::{Answer, Table},
    compare,
    judge::{Failure, Subject},
    suite::Question,
};

use crate::{database::Database, dialogue};

/// Most rows of a result that are compared.
pub const MOST_ROWS: usize = 100_000;
/// A database with fewer rows tells nothing: most questions have the same empty result.
const LEAST_ROWS: u64 = 10;

/// The model, with the databases that it may be asked about.
pub struct Offline {
    /// By name: why a database cannot be used.
    pub unavailable: BTreeMap<String, &'static str>,
    /// The day that questions are asked on.
    today: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    databases: BTreeMap<String, Database>,
    times: Vec<Duration>,
}

impl Offline {
    /// Over the databases of a folder.
    pub fn new(folder: &Path, names: &[&str], today: &str) -> Self {
        let (mut unavailable, mut state) = (BTreeMap::new(), State::default());
        for name in names {
            let path = folder.join(format!("database/{name}/{name}.sqlite"));
            if !path.exists() {
                unavailable.insert((*name).to_owned(), "have no file");
                continue;
            }
            let database = Database::open(&path);
            match database.rows() < LEAST_ROWS {
                true => {
                    unavailable.insert((*name).to_owned(), "have fewer than ten rows");
                }
                false => {
                    state.databases.insert((*name).to_owned(), database);
                }
            }
        }
        Self {
            unavailable,
            today: today.to_owned(),
            state: Mutex::new(state),
        }
    }

    /// What the model took for each question.
    pub fn into_times(self) -> Vec<Duration> {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).times
    }

    fn with<T>(&self, name: &str, work: impl FnOnce(&Database, &mut Vec<Duration>) -> T) -> T {
        let mut state = self.state.lock().unwrap();
        let State { databases, times } = &mut *state;
        work(&databases[name], times)
    }

    fn rows(&self, name: &str, sql: &str) -> Result<Table, Failure> {
        let rows = self.with(name, |database, _| database.query(sql, MOST_ROWS));
        match rows {
            Ok(found) => Ok(Table {
                columns: found.columns,
                rows: compare::rows(&found.rows),
                total: found.total,
            }),
            Err(message) => Err(Failure {
                code: "sql_invalid".to_owned(),
                message,
            }),
        }
    }
}

impl Subject for Offline {
    fn ask(
        &self,
        mind: &str,
        question: &Question,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send {
        let outcome = self.with(mind, |database, times| {
            let outcome = dialogue::ask(database, &question.question, &self.today);
            times.push(outcome.time);
            outcome
        });
        let ending = match (outcome.is_declined, outcome.is_endless) {
            (true, _) => Some("cannot_answer"),
            (_, true) => Some("tool_limit"),
            _ => None,
        };
        ready(Ok(Answer {
            text: outcome.text,
            sql: outcome.sql,
            ending: ending.map(str::to_owned),
            ..Answer::default()
        }))
    }

    fn result(
        &self,
        mind: &str,
        answer: &Answer,
    ) -> impl Future<Output = Result<Table, Failure>> + Send {
        let sql = answer.sql.as_deref().unwrap_or_default();
        ready(self.rows(mind, sql))
    }

    fn gold(&self, mind: &str, sql: &str) -> impl Future<Output = Result<Table, Failure>> + Send {
        ready(self.rows(mind, sql))
    }

    fn forget(&self, _: &str) -> impl Future<Output = ()> + Send {
        ready(())
    }
}
