//! The traits `Model` and `Completion` over components of the worlds `model-provider` and
//! `model-provider-with-embeddings`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use wasmtime::{Store, component::ResourceAny};

use super::{
    bindings::{model::exports::mindhost::plugin::model as guest, types},
    code::VersionCode,
    connection_exports::GuestResult,
    engine::Runtime,
    errors::{self, Phase},
    grants::Grants,
    guest_log::GuestLog,
    host_errors::{blame_guest, cancelled, replaced, violation},
    instance::{Instance, StartOptions},
    permits::PluginQuota,
    pool::fingerprint,
    rate_limits::Retries,
    refusals::Refusal,
    state::State,
    world::{GuestFuture, LinkedModel, ModelExports},
};
use crate::meter::VersionMeter;
use mindhost_base::{
    error::{Blame, Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{
    AnswerTooLarge, Call, Completion, Manifest, Model, ModelEvent, ModelRequest, Part, Plugin,
    Retirement, Role, StopReason, Target, ToolCall,
};

/// Models that one provider may list.
const MAX_MODELS: usize = 10_000;
/// Tokens that one completion may report: more than any model uses, and small enough to sum.
const MAX_TOKENS: u64 = 1 << 40;
/// Numbers of one vector: several times those of any model.
const MAX_DIMENSIONS: usize = 16_384;
/// Events that one call may return.
const MAX_EVENTS: usize = 100_000;
/// Providers whose HTTP connections are cached.
const MAX_CACHED_GRANTS: usize = 256;

/// The grants of a provider, with the fingerprint of the configuration behind them.
type CachedGrants = ([u8; 32], Arc<Grants>);

/// A model plugin that is ready to serve.
pub struct WasmModel(Arc<Inner>);

struct Inner {
    runtime: Arc<Runtime>,
    code: Arc<VersionCode<LinkedModel>>,
    manifest: Manifest,
    digest: String,
    version: Arc<VersionMeter>,
    quota: PluginQuota,
    /// The grants of each provider, which own its HTTP connections.
    cached_grants: Mutex<HashMap<String, CachedGrants>>,
    life: Retirement,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.life.gone.cancel();
    }
}

impl WasmModel {
    /// A model over a linked component.
    pub fn new(
        runtime: &Arc<Runtime>,
        code: Arc<VersionCode<LinkedModel>>,
        manifest: Manifest,
        digest: String,
    ) -> Self {
        Self(Arc::new(Inner {
            version: runtime.version(&manifest, &digest),
            quota: runtime.quota(&manifest),
            runtime: Arc::clone(runtime),
            code,
            manifest,
            digest,
            cached_grants: Mutex::default(),
            life: Retirement::default(),
        }))
    }
}

type ModelInstance = Box<Instance<ModelExports>>;

impl Inner {
    async fn grants(&self, target: &Target, call: &Call) -> Result<Arc<Grants>> {
        let print = fingerprint(target);
        let cached = lock(&self.cached_grants).get(&target.id).cloned();
        if let Some((_, grants)) = cached.filter(|(cached, _)| *cached == print)
            && grants.is_current(&self.runtime.file_threads, call).await?
        {
            return Ok(grants);
        }
        let derive = Grants::derive(
            &self.runtime,
            &self.manifest,
            target,
            &self.quota.settings,
            call,
        );
        let grants = tokio::select! {
            biased;
            grants = derive => grants?,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => {
                return Err(call.timed_out());
            }
        };
        let mut cached_grants = lock(&self.cached_grants);
        if cached_grants.len() >= MAX_CACHED_GRANTS {
            cached_grants.clear();
        }
        cached_grants.insert(target.id.clone(), (print, Arc::clone(&grants)));
        Ok(grants)
    }

    /// Runs one function on a new instance.
    async fn call<R, F>(
        &self,
        target: &Target,
        phase: Phase,
        call: &Call,
        f: F,
    ) -> Result<(R, Option<ModelInstance>, Arc<Grants>)>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(
                &'a mut Store<State>,
                &'a ModelExports,
                types::Config,
            ) -> GuestFuture<'a, GuestResult<R>>
            + Send
            + 'static,
    {
        let (world, _) = self.code.get(call).await?;
        let grants = self.grants(target, call).await?;
        let key_permit = self.runtime.permits.acquire_for_key(call).await?;
        let mut permit = self
            .runtime
            .acquire_permit(Some((&self.quota, target)), call)
            .await?;
        permit.key_permit = key_permit;
        let log = GuestLog::new(
            &self.manifest.name,
            &target.name,
            grants.redactor().clone(),
            self.quota.settings.log_lines_per_second,
        );
        let options = StartOptions {
            grants: &grants,
            log: &log,
            permit,
            series: self.version.series(target),
            settings: &self.quota.settings,
        };
        let instance = Instance::start(&self.runtime, &world, options, call).await?;
        let config = types::Config {
            json: grants.config().to_owned(),
            extra: Vec::new(),
        };
        let refusals = instance.refusals();
        let (result, instance) = instance
            .run(call, None, move |store, guest| f(store, guest, config))
            .await;
        match result? {
            Ok(value) => Ok((value, instance, grants)),
            Err(error) => Err(self.error(error, phase, &grants, refusals.take())),
        }
    }

    fn error(
        &self,
        error: types::Error,
        phase: Phase,
        grants: &Grants,
        refused: Option<Refusal>,
    ) -> Error {
        errors::convert(
            error,
            phase,
            grants,
            refused,
            self.quota.settings.max_message_bytes,
        )
    }
}

impl Plugin for WasmModel {
    fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    fn digest(&self) -> &str {
        &self.0.digest
    }

    fn retire(&self) -> Option<Retirement> {
        lock(&self.0.cached_grants).clear();
        Some(self.0.life.clone())
    }
}

#[async_trait]
impl Model for WasmModel {
    async fn check(&self, target: &Target, call: &Call) -> Result<String> {
        let (text, _, grants) = self
            .0
            .call(target, Phase::Opening, call, |store, guest, config| {
                Box::pin(async move { guest.model.call_check(store, &config).await })
            })
            .await?;
        Ok(errors::text(
            &text,
            &grants,
            self.0.quota.settings.max_message_bytes,
        ))
    }

    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>> {
        let (models, ..) = self
            .0
            .call(target, Phase::Opening, call, |store, guest, config| {
                Box::pin(async move { guest.model.call_models(store, &config).await })
            })
            .await?;
        match models.len() <= MAX_MODELS && models.iter().all(|model| model.len() <= 1_024) {
            true => Ok(models),
            false => Err(violation("a list of models that is too long")),
        }
    }

    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let request = Arc::new(to_guest(request));
        let mut repeats = Retries::of_model();
        let (handle, instance, grants) = loop {
            let request = Arc::clone(&request);
            let started = self
                .0
                .call(target, Phase::Asking, call, |store, guest, config| {
                    Box::pin(async move { guest.model.call_start(store, &config, &request).await })
                });
            match started.await {
                Ok(started) => break started,
                Err(error) => repeats.pause(error, call).await?,
            }
        };
        Ok(Box::new(WasmCompletion {
            shared: Arc::clone(&self.0),
            instance,
            handle,
            grants,
            remaining: self.0.quota.settings.max_completion_bytes as usize,
            stopped: false,
        }))
    }

    async fn embed(
        &self,
        target: &Target,
        model: &str,
        texts: &[String],
        call: &Call,
    ) -> Result<Vec<Vec<f32>>> {
        let count = texts.len();
        let (model, texts) = (model.to_owned(), texts.to_vec());
        let (vectors, ..) = self
            .0
            .call(target, Phase::Asking, call, |store, guest, config| {
                Box::pin(async move {
                    let Some(embeddings) = &guest.embeddings else {
                        let missing = "the component does not export `embeddings`";
                        return Err(wasmtime::Error::msg(missing));
                    };
                    embeddings.call_embed(store, &config, &model, &texts).await
                })
            })
            .await?;
        checked(vectors, count)
    }

    async fn forget(&self, target_id: &str) {
        lock(&self.0.cached_grants).remove(target_id);
    }
}

/// As many vectors as texts, of one length, of numbers that can be compared.
fn checked(vectors: Vec<Vec<f32>>, count: usize) -> Result<Vec<Vec<f32>>> {
    if vectors.len() != count {
        let given = vectors.len();
        return Err(violation(format!("{given} vectors for {count} texts")));
    }
    let length = vectors.first().map_or(1, Vec::len);
    let fits = |vector: &Vec<f32>| vector.len() == length && vector.iter().all(|n| n.is_finite());
    match (1..=MAX_DIMENSIONS).contains(&length) && vectors.iter().all(fits) {
        true => Ok(vectors),
        false => Err(violation("vectors that cannot be compared")),
    }
}

/// A running completion, in an instance of its own.
struct WasmCompletion {
    shared: Arc<Inner>,
    instance: Option<ModelInstance>,
    handle: ResourceAny,
    grants: Arc<Grants>,
    /// Bytes of text that it may still produce.
    remaining: usize,
    stopped: bool,
}

#[async_trait]
impl Completion for WasmCompletion {
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<ModelEvent>>> {
        if self.stopped {
            return Ok(None);
        }
        let handle = self.handle;
        let mut is_again = false;
        loop {
            let instance = self
                .instance
                .take()
                .ok_or_else(|| Error::internal("the completion ended with an earlier call"))?;
            let refusals = instance.refusals();
            let ran = instance.run(call, None, move |store, guest| {
                let completion = guest.model.completion();
                Box::pin(async move { completion.call_next(store, handle).await })
            });
            let (result, instance) = tokio::select! {
                biased;
                ended = ran => ended,
                () = self.shared.life.cut.cancelled() => (Err(replaced()), None),
            };
            let result = result.map_err(|error| if is_again { blame_guest(error) } else { error });
            is_again = true;
            match result? {
                Ok(Some(events)) => {
                    let events = self.accept(events)?;
                    self.instance = instance;
                    if !events.is_empty() {
                        return Ok(Some(events));
                    }
                }
                Ok(None) if self.stopped => return Ok(None),
                Ok(None) => return Err(violation("a completion that ends without a stop event")),
                Err(error) => {
                    let is_large = error.kind == types::ErrorKind::TooLarge;
                    let refused = refusals.take();
                    let error = self
                        .shared
                        .error(error, Phase::Asking, &self.grants, refused);
                    // The other code says that the dialogue is too long, not the answer.
                    return Err(match is_large && error.code() == Code::UpstreamError {
                        true => error.with_source(AnswerTooLarge),
                        false => error,
                    });
                }
            }
        }
    }
}

impl WasmCompletion {
    fn accept(&mut self, events: Vec<guest::Event>) -> Result<Vec<ModelEvent>> {
        if events.len() > MAX_EVENTS {
            return Err(violation("too many events at once"));
        }
        let mut accepted = Vec::with_capacity(events.len());
        for event in events {
            if self.stopped {
                return Err(violation("an event after the stop event"));
            }
            self.remaining = self.remaining.checked_sub(size(&event)).ok_or_else(|| {
                Error::new(
                    Code::UpstreamError,
                    "the model's answer is longer than plugins.max_completion_bytes allows",
                )
                .blamed(Blame::Upstream)
                .with_source(AnswerTooLarge)
            })?;
            accepted.extend(from_guest(event)?);
            self.stopped = matches!(accepted.last(), Some(ModelEvent::Stop(..)));
        }
        Ok(accepted)
    }
}

/// The bytes of an event that count against the limit of its completion.
fn size(event: &guest::Event) -> usize {
    const EACH: usize = 16;
    EACH + match event {
        guest::Event::Text(text) => text.len(),
        guest::Event::ToolCall(call) => call.id.len() + call.name.len() + call.arguments.len(),
        guest::Event::Opaque(opaque) => opaque.kind.len() + opaque.data.len(),
        guest::Event::Usage(counts) => counts.iter().map(|(name, _)| EACH + name.len()).sum(),
        guest::Event::Stop((_, word)) => word.len(),
        guest::Event::Other((kind, data)) => kind.len() + data.len(),
    }
}

/// None for an event that this version of the host does not know.
fn from_guest(event: guest::Event) -> Result<Option<ModelEvent>> {
    Ok(Some(match event {
        guest::Event::Text(text) => ModelEvent::Text(text),
        guest::Event::ToolCall(call) if call.id.len() > 512 || call.name.len() > 512 => {
            return Err(violation("a tool call with too long a name or id"));
        }
        guest::Event::ToolCall(call) => ModelEvent::ToolCall(ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }),
        guest::Event::Opaque(opaque) => ModelEvent::Opaque {
            kind: opaque.kind,
            data: opaque.data,
        },
        guest::Event::Usage(counts) if counts.iter().any(|(_, count)| *count > MAX_TOKENS) => {
            return Err(violation("a number of tokens that cannot be"));
        }
        guest::Event::Usage(counts) => ModelEvent::Usage(counts),
        guest::Event::Stop((reason, word)) => ModelEvent::Stop(stop_reason(reason), word),
        guest::Event::Other(_) => return Ok(None),
    }))
}

fn stop_reason(reason: guest::StopReason) -> StopReason {
    match reason {
        guest::StopReason::End => StopReason::End,
        guest::StopReason::ToolCalls => StopReason::ToolCalls,
        guest::StopReason::Length => StopReason::Length,
        guest::StopReason::Refused => StopReason::Refused,
        guest::StopReason::Other => StopReason::Other,
    }
}

fn to_guest(request: ModelRequest) -> guest::Request {
    guest::Request {
        model: request.model,
        messages: request
            .messages
            .into_iter()
            .map(|message| guest::Message {
                role: match message.role {
                    Role::System => guest::Role::System,
                    Role::User => guest::Role::User,
                    Role::Assistant => guest::Role::Assistant,
                    Role::Tool => guest::Role::Tool,
                },
                parts: message.parts.into_iter().map(part).collect(),
            })
            .collect(),
        tools: request
            .tools
            .into_iter()
            .map(|tool| guest::Tool {
                name: tool.name,
                description: tool.description,
                parameters: tool.parameters,
            })
            .collect(),
        tool_choice: request.tool_choice,
        max_output_tokens: request.max_output_tokens,
        temperature: request.temperature,
        response_schema: None,
        extra: Vec::new(),
    }
}

fn part(part: Part) -> guest::Part {
    match part {
        Part::Text(text) => guest::Part::Text(text),
        Part::ToolCall(call) => guest::Part::ToolCall(guest::ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }),
        Part::ToolResult {
            call_id,
            content,
            is_error,
        } => guest::Part::ToolResult(guest::ToolResult {
            call_id,
            content,
            is_error,
        }),
        Part::Opaque { kind, data } => guest::Part::Opaque(guest::Opaque { kind, data }),
    }
}
