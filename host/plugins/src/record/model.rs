//! A model whose calls are noted.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::{
    tape::{Tape, Track, shown},
    written,
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{
    Call, Completion, Life, Manifest, Model, ModelEvent, ModelRequest, Plugin, Target,
};

/// Hands every call on, and notes it.
pub struct RecordedModel {
    inner: Arc<dyn Model>,
    tape: Arc<Tape>,
}

impl RecordedModel {
    /// Over a model.
    pub fn new(inner: Arc<dyn Model>, tape: Arc<Tape>) -> Self {
        Self { inner, tape }
    }

    fn track(&self, target: &Target) -> (Track, Json) {
        let arguments = json!({"connection_data": shown(self.manifest(), &target.connection_data)});
        (Track::new(&self.tape, self.manifest(), target), arguments)
    }
}

impl Plugin for RecordedModel {
    fn manifest(&self) -> &Manifest {
        self.inner.manifest()
    }

    fn digest(&self) -> &str {
        self.inner.digest()
    }

    fn retire(&self) -> Option<Life> {
        self.inner.retire()
    }
}

#[async_trait]
impl Model for RecordedModel {
    async fn check(&self, target: &Target, call: &Call) -> Result<String> {
        let (track, arguments) = self.track(target);
        let start = Instant::now();
        let text = self.inner.check(target, call).await;
        track.note(&self.tape, "check", arguments, start, &text, |text| {
            json!(text)
        });
        text
    }

    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>> {
        let (track, arguments) = self.track(target);
        let start = Instant::now();
        let models = self.inner.models(target, call).await;
        track.note(&self.tape, "models", arguments, start, &models, |models| {
            json!(models)
        });
        models
    }

    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let (track, mut arguments) = self.track(target);
        arguments["request"] = written::request(&request);
        let start = Instant::now();
        let begun = self.inner.start(target, request, call).await;
        track.note(&self.tape, "start", arguments, start, &begun, |_| {
            Json::Null
        });
        Ok(Box::new(RecordedCompletion {
            inner: begun?,
            tape: Arc::clone(&self.tape),
            track,
        }))
    }
}

struct RecordedCompletion {
    inner: Box<dyn Completion>,
    tape: Arc<Tape>,
    track: Track,
}

#[async_trait]
impl Completion for RecordedCompletion {
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<ModelEvent>>> {
        let start = Instant::now();
        let events = self.inner.next(call).await;
        self.track.note(
            &self.tape,
            "next",
            Json::Null,
            start,
            &events,
            |events| match events {
                Some(events) => written::events(events),
                None => Json::Null,
            },
        );
        events
    }
}
