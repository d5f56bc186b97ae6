//! One run: several questions at a time, written to the store as it goes.

use std::{
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Services, Status, store, subject::InProcess};
use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_core::auth::Caller;
use mindhost_evaluation::{
    judge::Judge,
    judged::Judged,
    suite::{Question, Suite},
};

/// How often what was judged is written. Another host takes a run for lost after some of these.
const BEAT: Duration = Duration::from_secs(5);
/// Most rows of a result that is compared.
const MAX_ROWS: u64 = 10_000;
/// Most characters of a text or statement that a report keeps.
const MAX_TEXT: usize = 4_000;

/// What the host that runs it knows of a run.
pub(super) struct Live {
    judged: Mutex<Vec<(usize, Judged)>>,
    /// Stops the run, with the answers that it waits for.
    pub cancel: CancellationToken,
}

/// The work of one evaluation, from its first question to its report.
pub(super) struct Run {
    pub id: Uuid,
    pub caller: Caller,
    pub mind_id: String,
    pub suite: Suite,
    pub jobs: usize,
    pub live: std::sync::Arc<Live>,
}

/// How the asking ended.
enum RunOutcome {
    /// Each question was asked.
    Done,
    /// The run was cancelled or deleted.
    Stopped,
    /// The server ends.
    Halted,
    /// It cannot go on.
    Failed(Error),
}

impl Live {
    pub fn new(cancel: CancellationToken) -> Self {
        let judged = Mutex::default();
        Self { judged, cancel }
    }

    /// The questions that were judged so far, in the order of the suite.
    pub fn judged(&self) -> Vec<Judged> {
        let mut judged = self.lock().clone();
        judged.sort_by_key(|(at, _)| *at);
        judged.into_iter().map(|(_, one)| one).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Judged)>> {
        lock(&self.judged)
    }
}

impl Run {
    /// Asks each question, and writes how the run ended.
    pub async fn until_end(&self, parts: &Services) {
        let stop = CancellationToken::new();
        let ended = {
            let mut asking = std::pin::pin!(self.ask(parts, &stop));
            tokio::select! {
                ended = &mut asking => ended,
                ended = self.beat(parts) => {
                    stop.cancel();
                    // Each question that is being asked deletes its conversation.
                    asking.await;
                    ended
                }
            }
        };
        if let Err(error) = self.write_end(parts, ended).await {
            tracing::warn!(evaluation = %self.id, cause = ?std::error::Error::source(&error), "the end of an evaluation cannot be written");
        }
    }

    /// Asks all questions, and none any more when one cannot be asked, or after `stop`. Waits for those that are being
    /// asked.
    async fn ask(&self, parts: &Services, stop: &CancellationToken) -> RunOutcome {
        let questions = self.suite.questions.iter().enumerate();
        let asking: Vec<BoxFuture<'_, _>> = questions
            .map(|(at, question)| {
                async move { (at, self.judge(parts, question, stop).await) }.boxed()
            })
            .collect();
        let mut asking = stream::iter(asking).buffer_unordered(self.jobs);
        let mut ended = RunOutcome::Done;
        while let Some(next) = asking.next().await {
            match next {
                (at, Ok(Some(judged))) => self.live.lock().push((at, short(judged))),
                (_, Ok(None)) => {}
                (_, Err(error)) => {
                    stop.cancel();
                    ended = RunOutcome::Failed(error);
                }
            }
        }
        ended
    }

    /// Asks one question, with the key and the Mind as they are now. None if it was stopped.
    async fn judge(
        &self,
        parts: &Services,
        question: &Question,
        stop: &CancellationToken,
    ) -> Result<Option<Judged>> {
        if stop.is_cancelled() {
            return Ok(None);
        }
        let confirmed = parts.auth.confirm(&self.caller).await;
        confirmed.map_err(|error| match error.code() {
            Code::InvalidApiKey => Error::new(
                error.code(),
                "the key that it asked with was revoked, or has expired",
            ),
            _ => error,
        })?;
        let (workspace, key) = (self.caller.workspace.clone(), self.caller.key_id.clone());
        let caller = self
            .caller
            .clone()
            .counted_in(parts.usage.tally(workspace, key));
        let mind = parts.minds.current_by_id(&caller, &self.mind_id).await?;
        let mind = mind.ok_or_else(|| mindhost_core::minds::deleted("that is evaluated"))?;
        let judge = Judge {
            subject: InProcess {
                answering: &parts.answering,
                stored_results: &parts.stored_results,
                caller,
                max_rows: MAX_ROWS,
                stop: stop.clone(),
            },
            mind: mind.name.clone(),
            keeps: false,
            max_rows: MAX_ROWS,
            prices: self.suite.prices.clone(),
        };
        let judged = judge.judge(question).await;
        Ok((!stop.is_cancelled()).then_some(judged))
    }

    /// Writes what was judged now and then, until the run is stopped.
    async fn beat(&self, parts: &Services) -> RunOutcome {
        loop {
            tokio::select! {
                () = self.live.cancel.cancelled() => return match parts.ending.is_cancelled() {
                    true => RunOutcome::Halted,
                    false => RunOutcome::Stopped,
                },
                () = tokio::time::sleep(BEAT) => {}
            }
            match store::beat(&parts.store, self.id, &self.live.judged()).await {
                Ok(true) => {}
                Ok(false) => return RunOutcome::Stopped,
                Err(error) => {
                    tracing::debug!(%error, "cannot store the progress of an evaluation; trying again")
                }
            }
        }
    }

    async fn write_end(&self, parts: &Services, ended: RunOutcome) -> Result<()> {
        let store = &parts.store;
        store::write(store, self.id, &self.live.judged()).await?;
        let (status, error) = match ended {
            // Its status was written by those who stopped it.
            RunOutcome::Stopped => return Ok(()),
            RunOutcome::Done => (Status::Completed, None),
            RunOutcome::Halted => (Status::Interrupted, None),
            RunOutcome::Failed(error) => {
                error.log();
                (Status::Failed, Some(error.message().to_owned()))
            }
        };
        store::end(store, self.id, status, error.as_deref()).await?;
        Ok(())
    }
}

/// Cuts long texts: a report is read as a whole.
fn short(mut judged: Judged) -> Judged {
    let cut = |text: &mut String| {
        if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
            text.truncate(end);
            text.push('…');
        }
    };
    cut(&mut judged.question);
    cut(&mut judged.why);
    cut(&mut judged.text);
    judged.sql.iter_mut().chain(&mut judged.gold).for_each(cut);
    judged.unsupported_numbers.truncate(100);
    judged
}
