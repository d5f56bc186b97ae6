//! Model providers, as the kit calls them.

use std::sync::Arc;

use async_trait::async_trait;
use mindhost_conformance::subject::{
    Call, Cause, Completion, Data, Failure, Limits, Model, Result,
};
use mindhost_plugin_api as plugins;
use mindhost_plugin_api::{ModelEvent, ModelMessage, ModelRequest};
use mindhost_runtime::standalone::Loaded;
use mindhost_sdk::model as sdk;

use super::{super::configured::target, Adapter, Notes, call, refused};

impl Adapter {
    async fn model(&self) -> Result<Arc<dyn plugins::Model>> {
        let alone = self
            .with(Limits::USUAL)
            .await
            .map_err(|refusal| refused(&refusal))?;
        match &alone.loaded {
            Loaded::Model(model) => Ok(Arc::clone(model)),
            Loaded::Connector(_) => Err(Failure {
                cause: Cause::Host,
                message: "this is no model provider".into(),
                code: String::new(),
                position: None,
            }),
        }
    }
}

#[async_trait]
impl Model for Adapter {
    async fn check(&self, data: &Data, bounds: &Call) -> Result<String> {
        let model = self.model().await?;
        let checked = model.check(&target(data.clone()), &call(bounds)).await;
        checked.map_err(|error| self.noticed.failure(&error))
    }

    async fn models(&self, data: &Data, bounds: &Call) -> Result<Vec<String>> {
        let model = self.model().await?;
        let models = model.models(&target(data.clone()), &call(bounds)).await;
        models.map_err(|error| self.noticed.failure(&error))
    }

    async fn start(
        &self,
        data: &Data,
        request: sdk::Request,
        bounds: &Call,
    ) -> Result<Box<dyn Completion>> {
        let model = self.model().await?;
        let target = target(data.clone());
        let begun = model
            .start(&target, to_request(request), &call(bounds))
            .await;
        let inner = begun.map_err(|error| self.noticed.failure(&error))?;
        Ok(Box::new(Begun {
            inner,
            notes: Arc::clone(&self.noticed),
        }))
    }
}

struct Begun {
    inner: Box<dyn plugins::Completion>,
    notes: Arc<Notes>,
}

#[async_trait]
impl Completion for Begun {
    async fn next(&mut self, bounds: &Call) -> Result<Option<Vec<sdk::Event>>> {
        let events = self.inner.next(&call(bounds)).await;
        let events = events.map_err(|error| self.notes.failure(&error))?;
        Ok(events.map(|events| events.into_iter().map(event).collect()))
    }
}

fn to_request(request: sdk::Request) -> ModelRequest {
    let tools = request.tools.into_iter().map(|tool| plugins::Tool {
        name: tool.name,
        description: tool.description,
        parameters: tool.parameters,
    });
    ModelRequest {
        model: request.model,
        messages: request.messages.into_iter().map(to_message).collect(),
        tools: tools.collect(),
        tool_choice: request.tool_choice,
        max_output_tokens: request.max_output_tokens,
        temperature: request.temperature,
    }
}

fn to_message(message: sdk::Message) -> ModelMessage {
    ModelMessage {
        role: match message.role {
            sdk::Role::System => plugins::Role::System,
            sdk::Role::User => plugins::Role::User,
            sdk::Role::Assistant => plugins::Role::Assistant,
            sdk::Role::Tool => plugins::Role::Tool,
        },
        parts: message.parts.into_iter().filter_map(to_part).collect(),
    }
}

/// None for what this host does not send.
fn to_part(part: sdk::Part) -> Option<plugins::Part> {
    Some(match part {
        sdk::Part::Text(text) => plugins::Part::Text(text),
        sdk::Part::ToolCall(call) => plugins::Part::ToolCall(plugins::ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }),
        sdk::Part::ToolResult(result) => plugins::Part::ToolResult {
            call_id: result.call_id,
            content: result.content,
            is_error: result.is_error,
        },
        sdk::Part::Opaque(opaque) => plugins::Part::Opaque {
            kind: opaque.kind,
            data: opaque.data,
        },
        sdk::Part::Media(_) => return None,
    })
}

fn event(event: ModelEvent) -> sdk::Event {
    match event {
        ModelEvent::Text(text) => sdk::Event::Text(text),
        ModelEvent::ToolCall(call) => sdk::Event::ToolCall(sdk::ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }),
        ModelEvent::Opaque { kind, data } => sdk::Event::Opaque(sdk::Opaque { kind, data }),
        ModelEvent::Usage(counts) => sdk::Event::Usage(counts),
        ModelEvent::Stop(reason, word) => sdk::Event::Stop((stop_reason(reason), word)),
    }
}

fn stop_reason(reason: plugins::StopReason) -> sdk::StopReason {
    match reason {
        plugins::StopReason::End => sdk::StopReason::End,
        plugins::StopReason::ToolCalls => sdk::StopReason::ToolCalls,
        plugins::StopReason::Length => sdk::StopReason::Length,
        plugins::StopReason::Refused => sdk::StopReason::Refused,
        plugins::StopReason::Other => sdk::StopReason::Other,
    }
}
