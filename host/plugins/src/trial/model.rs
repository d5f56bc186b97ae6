//! Calls to a model on trial, with the stable one as fallback.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    DrawnVersion, Side, Watch,
    connector::{blame, is_fault, is_worth_another_try},
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{
    Completion, Model, ModelRequest, Plugin, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation},
};

impl Intercept for DrawnVersion<dyn Model> {
    type Interceptor = CompletionWatch;

    fn begin(&self, _: &dyn Plugin, target: &Target) -> Result<CompletionWatch> {
        let fallback = self.fallback.as_ref();
        self.watch.serves(self.side(), &target.workspace);
        Ok(CompletionWatch {
            side: self.side(),
            workspace: target.workspace.clone(),
            watch: Arc::clone(&self.watch),
            fallback: fallback.map(|stable| (Arc::clone(stable), target.clone())),
            request: None,
            standing: CompletionState::Waited(Instant::now()),
        })
    }
}

/// The watched state of one completion.
pub struct CompletionWatch {
    side: Side,
    workspace: String,
    watch: Arc<Watch>,
    /// The fallback, until the first event.
    fallback: Option<(Arc<dyn Model>, Target)>,
    /// The request, while it may be repeated.
    request: Option<ModelRequest>,
    standing: CompletionState,
}

/// The state of a completion. It is counted once, at its first event: the time to the first word can be compared, the
/// length of an answer differs each time.
enum CompletionState {
    /// No event since then.
    Waited(Instant),
    /// It failed on the version on trial, with this error, and runs on the stable one, which may fail too.
    Again(String),
    /// It was counted.
    Counted,
}

impl CompletionWatch {
    fn came(&mut self) {
        self.fallback = None;
        self.request = None;
        match std::mem::replace(&mut self.standing, CompletionState::Counted) {
            CompletionState::Waited(since) => self.watch.succeeded(self.side, since.elapsed()),
            CompletionState::Again(why) => self.watch.failed(&why),
            CompletionState::Counted => {}
        }
    }
}

impl Interceptor<Arc<dyn Model>> for CompletionWatch {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<Arc<dyn Model>, T>,
        on: &mut Arc<dyn Model>,
    ) -> Result<T> {
        let Operation::Start(request) = invocation.operation() else {
            // Only completions are compared.
            if let Some((stable, _)) = self.fallback.take() {
                *on = stable;
            }
            return invocation.make(on).await;
        };
        let error = match invocation.make(on).await {
            Ok(begun) => {
                self.request = self.fallback.is_some().then(|| request.clone());
                return Ok(begun);
            }
            Err(error) => error,
        };
        let fallback = self.fallback.take();
        let Some((stable, _)) = fallback.filter(|_| is_worth_another_try(&error)) else {
            blame(&self.watch, self.side, &self.workspace, &error);
            return Err(error);
        };
        *on = stable;
        self.side = Side::Stable;
        self.standing = CompletionState::Again(error.message().to_owned());
        invocation.make(on).await
    }
}

impl Interceptor<Box<dyn Completion>> for CompletionWatch {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<Box<dyn Completion>, T>,
        on: &mut Box<dyn Completion>,
    ) -> Result<T> {
        let error = match invocation.make(on).await {
            Ok(events) => {
                self.came();
                return Ok(events);
            }
            Err(error) => error,
        };
        match std::mem::replace(&mut self.standing, CompletionState::Counted) {
            // The caller has text that another version would not repeat.
            CompletionState::Counted if is_fault(&error) => {
                self.watch
                    .may_have_failed_after_all(self.side, &self.workspace, error.message());
                return Err(error);
            }
            // It fails on both.
            CompletionState::Counted | CompletionState::Again(_) => return Err(error),
            CompletionState::Waited(_) => {}
        }
        let fallback = self.fallback.take().zip(self.request.take());
        let fallback = fallback.filter(|_| is_worth_another_try(&error));
        let Some(((stable, target), request)) = fallback else {
            blame(&self.watch, self.side, &self.workspace, &error);
            return Err(error);
        };
        let Ok(completion) = stable.start(&target, request, invocation.call()).await else {
            return Err(error);
        };
        *on = completion;
        self.side = Side::Stable;
        let events = invocation.make(on).await?;
        self.standing = CompletionState::Again(error.message().to_owned());
        self.came();
        Ok(events)
    }
}
