//! A model on trial, and the stable one beside it.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    connector::{blame, is_fault, is_worth_another_try},
    watch::{Side, Watch},
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{
    Call, Completion, Manifest, Model, ModelEvent, ModelRequest, Plugin, Target,
};

/// The stable version while another is on trial.
pub struct Observed {
    stable: Arc<dyn Model>,
    watch: Arc<Watch>,
}

impl Observed {
    pub fn new(stable: Arc<dyn Model>, watch: Arc<Watch>) -> Self {
        Self { stable, watch }
    }
}

impl Plugin for Observed {
    fn manifest(&self) -> &Manifest {
        self.stable.manifest()
    }

    fn digest(&self) -> &str {
        self.stable.digest()
    }
}

#[async_trait]
impl Model for Observed {
    async fn check(&self, target: &Target, call: &Call) -> Result<String> {
        self.stable.check(target, call).await
    }

    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>> {
        self.stable.models(target, call).await
    }

    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let begun = Instant::now();
        let completion = self.stable.start(target, request, call).await;
        let completion = completion.inspect_err(|error| blame(&self.watch, Side::Stable, error))?;
        Ok(Box::new(Watched {
            completion,
            side: Side::Stable,
            watch: Arc::clone(&self.watch),
            fallback: None,
            standing: Standing::Waited(begun),
        }))
    }
}

/// The version on trial, with the stable one behind it.
pub struct OnTrial {
    candidate: Arc<dyn Model>,
    stable: Arc<dyn Model>,
    watch: Arc<Watch>,
}

impl OnTrial {
    pub fn new(candidate: Arc<dyn Model>, stable: Arc<dyn Model>, watch: Arc<Watch>) -> Self {
        Self {
            candidate,
            stable,
            watch,
        }
    }
}

impl Plugin for OnTrial {
    fn manifest(&self) -> &Manifest {
        self.candidate.manifest()
    }

    fn digest(&self) -> &str {
        self.candidate.digest()
    }
}

#[async_trait]
impl Model for OnTrial {
    async fn check(&self, target: &Target, call: &Call) -> Result<String> {
        self.stable.check(target, call).await
    }

    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>> {
        self.stable.models(target, call).await
    }

    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let begun = Instant::now();
        match self.candidate.start(target, request.clone(), call).await {
            Ok(completion) => Ok(Box::new(Watched {
                completion,
                side: Side::Candidate,
                watch: Arc::clone(&self.watch),
                fallback: Some((Arc::clone(&self.stable), target.clone(), request)),
                standing: Standing::Waited(begun),
            })),
            Err(error) if !is_worth_another_try(&error) => {
                blame(&self.watch, Side::Candidate, &error);
                Err(error)
            }
            Err(error) => Ok(Box::new(Watched {
                completion: self.stable.start(target, request, call).await?,
                side: Side::Stable,
                watch: Arc::clone(&self.watch),
                fallback: None,
                standing: Standing::Again(error.message().to_owned()),
            })),
        }
    }
}

/// A completion that is watched.
struct Watched {
    completion: Box<dyn Completion>,
    side: Side,
    watch: Arc<Watch>,
    /// Where to ask again, until the first event.
    fallback: Option<(Arc<dyn Model>, Target, ModelRequest)>,
    standing: Standing,
}

/// How a completion stands. It is counted once, at its first event: a model is as fast as its vendor, whose first word is
/// compared; how many follow is another thing each time.
enum Standing {
    /// Nothing came since then.
    Waited(Instant),
    /// It failed on the version on trial, for this reason, and was begun again on the stable one, which has still to do
    /// better.
    Again(String),
    /// It was counted.
    Counted,
}

impl Watched {
    fn came(&mut self) {
        self.fallback = None;
        match std::mem::replace(&mut self.standing, Standing::Counted) {
            Standing::Waited(since) => self.watch.succeeded(self.side, since.elapsed()),
            Standing::Again(why) => self.watch.failed(Side::Candidate, &why),
            Standing::Counted => {}
        }
    }
}

#[async_trait]
impl Completion for Watched {
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<ModelEvent>>> {
        let error = match self.completion.next(call).await {
            Ok(events) => {
                self.came();
                return Ok(events);
            }
            Err(error) => error,
        };
        match std::mem::replace(&mut self.standing, Standing::Counted) {
            // Words were heard that another version would not say again.
            Standing::Counted if is_fault(&error) => {
                self.watch.failed_after_all(self.side, error.message());
                return Err(error);
            }
            // It fails on both.
            Standing::Counted | Standing::Again(_) => return Err(error),
            Standing::Waited(_) => {}
        }
        let fallback = self.fallback.take();
        let Some((stable, target, request)) = fallback.filter(|_| is_worth_another_try(&error))
        else {
            blame(&self.watch, self.side, &error);
            return Err(error);
        };
        let Ok(completion) = stable.start(&target, request, call).await else {
            return Err(error);
        };
        self.completion = completion;
        self.side = Side::Stable;
        let events = self.completion.next(call).await?;
        self.standing = Standing::Again(error.message().to_owned());
        self.came();
        Ok(events)
    }
}
