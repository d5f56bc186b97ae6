//! Evaluations: runs of a suite of questions against a Mind, made by the server in the background.
//!
//! A run asks as its caller: with the caller's policies, limits and usage. Its key is looked up again before each
//! question. What was judged is kept in memory by the host that runs it, and written to the store every few seconds.

mod run;
mod store;
mod subject;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use serde::Serialize;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;
use utoipa::ToSchema;
use uuid::Uuid;

use self::run::{Live, Run};
use crate::{answering::Answering, results::stored::StoredResults};
use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_core::{
    auth::{Auth, Caller, Role},
    minds::{Mind, Minds},
    usage::Usage,
};
use mindhost_evaluation::{figures::Figures, judged::Judged, suite::Suite};
use mindhost_store::Store;

/// Most questions of a run.
pub const MAX_QUESTIONS: usize = 1_000;
/// Most bytes of a suite.
pub const MAX_SUITE: usize = 2 << 20;
/// Most questions at the same time.
pub const MAX_JOBS: usize = 16;
/// Runs of a Mind that are kept; older ones are deleted when another begins.
const KEPT: usize = 50;
/// Runs of a workspace at the same time.
const RUNNING: usize = 4;

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EvaluationStatus)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It asks.
    Running,
    /// Each question was asked.
    Completed,
    /// It was stopped.
    Cancelled,
    /// It could not go on: its key or its Mind is gone.
    Failed,
    /// Its host ended before the run did.
    Interrupted,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "running" => Self::Running,
            "completed" => Self::Completed,
            "cancelled" => Self::Cancelled,
            "failed" => Self::Failed,
            _ => Self::Interrupted,
        }
    }
}

/// A run, without its questions.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Its id; later ones sort after earlier ones.
    pub id: Uuid,
    /// Id of the key that started it: it asks the questions, and its limits apply.
    pub key_id: String,
    /// The `name` in the suite; may be empty.
    pub suite: String,
    /// What the prices of the suite are in; empty without prices.
    pub currency: String,
    /// How many questions it has, and how many were judged.
    pub questions: usize,
    /// How many of them were judged.
    pub judged: usize,
    /// How it stands.
    pub status: Status,
    /// Why it failed.
    pub error: Option<String>,
    /// Id of the request that started it; `None` where it was not kept.
    pub request_id: Option<String>,
    /// Figures over the questions that were judged.
    pub figures: Figures,
    /// When it began.
    pub started_at: Timestamp,
    /// `None` while it runs. Of an interrupted run it is the last heartbeat.
    pub ended_at: Option<Timestamp>,
}

/// What a caller wants to have run.
#[derive(Debug)]
pub struct NewEvaluation {
    /// The suite, as [`Suite::read`] reads it.
    pub suite: String,
    /// Questions at the same time.
    pub jobs: usize,
    /// Only the first so many questions.
    pub limit: Option<usize>,
}

/// The parts that runs use.
pub struct Services {
    /// Holds the runs.
    pub store: Store,
    /// Asks the questions, and runs the expected statements.
    pub answering: Answering,
    /// Reads the rows of answers.
    pub stored_results: StoredResults,
    /// Finds the Mind that is evaluated.
    pub minds: Arc<Minds>,
    /// Looks up keys again.
    pub auth: Arc<Auth>,
    /// Counts what runs use.
    pub usage: Usage,
    /// What runs in the background.
    pub tasks: TaskTracker,
    /// Cancelled when the server begins to end: no run holds it up.
    pub ending: CancellationToken,
}

/// The evaluations of all workspaces.
#[derive(Clone)]
pub struct Evaluations(Arc<Inner>);

struct Inner {
    parts: Services,
    /// The runs of this host.
    live: Mutex<HashMap<Uuid, Arc<Live>>>,
}

impl Evaluations {
    /// Over its parts.
    pub fn new(parts: Services) -> Self {
        let live = Mutex::default();
        Self(Arc::new(Inner { parts, live }))
    }

    /// Begins a run.
    ///
    /// # Errors
    /// `invalid_parameter` for a suite that cannot be read or is too large; `wrong_state` while another run of the Mind
    /// goes on; `quota_exceeded` while the workspace has too many.
    pub async fn start(
        &self,
        caller: &Caller,
        mind: &Mind,
        new: NewEvaluation,
    ) -> Result<Evaluation> {
        caller.require(Role::Editor)?;
        let suite = read(new.suite, new.limit).await?;
        let store = &self.0.parts.store;
        store
            .check_byte_quota(&caller.workspace, &caller.key_id)
            .await?;
        let evaluation = Evaluation {
            id: Uuid::now_v7(),
            key_id: caller.key_id.to_string(),
            suite: suite.name.clone(),
            currency: suite
                .prices
                .as_ref()
                .map(|prices| prices.currency.clone())
                .unwrap_or_default(),
            questions: suite.questions.len(),
            judged: 0,
            status: Status::Running,
            error: None,
            request_id: caller.request_id.as_deref().map(str::to_owned),
            figures: Figures::default(),
            started_at: Timestamp::now(),
            ended_at: None,
        };
        store::insert(store, mind, &evaluation).await?;
        let live = Arc::new(Live::new(self.0.parts.ending.child_token()));
        lock(&self.0.live).insert(evaluation.id, live.clone());
        let run = Run {
            id: evaluation.id,
            caller: caller.clone(),
            mind_id: mind.id.clone(),
            suite,
            jobs: new.jobs.clamp(1, MAX_JOBS),
            live,
        };
        let this = self.0.clone();
        // The log lines of its answers name the request that started it.
        let request_id = caller.request_id.as_deref();
        let span = tracing::info_span!(parent: None, "evaluation", id = %run.id, request_id);
        let asking = async move {
            let id = run.id;
            run.until_end(&this.parts).await;
            lock(&this.live).remove(&id);
        };
        self.0.parts.tasks.spawn(asking.instrument(span));
        Ok(evaluation)
    }

    /// The newest runs of a Mind, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, mind: &Mind) -> Result<Vec<Evaluation>> {
        let mut all = store::list(&self.0.parts.store, &mind.id).await?;
        for one in &mut all {
            self.refresh(one);
        }
        Ok(all)
    }

    /// A run with the questions that were judged so far, in the order of the suite.
    ///
    /// # Errors
    /// `evaluation_not_found`
    pub async fn get(&self, mind: &Mind, id: Uuid) -> Result<(Evaluation, Vec<Judged>)> {
        let found = store::find(&self.0.parts.store, &mind.id, id).await?;
        let (mut evaluation, mut questions) = found.ok_or_else(|| not_found(mind, id))?;
        if let Some(live) = self.refresh(&mut evaluation) {
            questions = live.judged();
        }
        Ok((evaluation, questions))
    }

    /// Stops a run. What it asks at that moment is cancelled, down to the database.
    ///
    /// # Errors
    /// `evaluation_not_found`; `wrong_state` if it has ended.
    pub async fn cancel(&self, mind: &Mind, id: Uuid) -> Result<Evaluation> {
        let (evaluation, _) = self.get(mind, id).await?;
        let store = &self.0.parts.store;
        if evaluation.status != Status::Running
            || !store::end(store, id, Status::Cancelled, None).await?
        {
            let message = "this evaluation has ended, so there is nothing to stop";
            return Err(Error::new(Code::WrongState, message));
        }
        self.stop(id);
        Ok(self.get(mind, id).await?.0)
    }

    /// Deletes a run, which ends first.
    ///
    /// # Errors
    /// `evaluation_not_found`
    pub async fn delete(&self, mind: &Mind, id: Uuid) -> Result<()> {
        if !store::delete(&self.0.parts.store, &mind.id, id).await? {
            return Err(not_found(mind, id));
        }
        self.stop(id);
        Ok(())
    }

    fn stop(&self, id: Uuid) {
        if let Some(live) = lock(&self.0.live).get(&id) {
            live.cancel.cancel();
        }
    }

    /// Brings what the store has up to date with what this host has judged since.
    fn refresh(&self, evaluation: &mut Evaluation) -> Option<Arc<Live>> {
        let live = lock(&self.0.live).get(&evaluation.id).cloned()?;
        let judged = live.judged();
        evaluation.judged = judged.len();
        evaluation.figures = Figures::of(&judged);
        Some(live)
    }
}

/// Reads a suite. Outside of the threads that serve: a large one takes a while.
async fn read(text: String, limit: Option<usize>) -> Result<Suite> {
    if text.len() > MAX_SUITE {
        let message = format!("the suite is larger than {MAX_SUITE} bytes; split it");
        return Err(Error::invalid("suite", message));
    }
    let read = tokio::task::spawn_blocking(move || Suite::read(&text));
    let read = read.await.map_err(Error::internal)?;
    let mut suite = read.map_err(|error| Error::invalid("suite", error.to_string()))?;
    suite.questions.truncate(limit.unwrap_or(usize::MAX));
    if suite.questions.len() > MAX_QUESTIONS {
        let message = format!(
            "a run has at most {MAX_QUESTIONS} questions; split the suite, send `limit`, or use `mindhost eval`"
        );
        return Err(Error::invalid("suite", message));
    }
    Ok(suite)
}

fn not_found(mind: &Mind, id: Uuid) -> Error {
    let message = format!(
        "the Mind '{}' has no evaluation '{id}'; `GET /minds/{}/evaluations` lists them",
        mind.name, mind.name
    );
    Error::new(Code::EvaluationNotFound, message)
}
