//! `/mcp`: the caller's Minds as tools of the Model Context Protocol, over streamable HTTP.
//!
//! Stateless: each request carries its key and stands by itself, so any host behind a load balancer answers it, and a
//! key that is revoked ends at once. What a tool may see and do is what the same key may on `/api/v1`.

mod calls;
mod origin;
mod tools;

use crate::error::ApiError;
use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::to_bytes,
    extract::Request,
    http::{StatusCode, header, request::Parts},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::any,
};
use http_body::Body as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
        ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa_axum::routes;

use self::calls::{Calls, Name};
use super::{
    AppState, admission,
    error::status,
    events::SentEvent,
    extract, router,
    routes::{MCP, Routes, Tag, USER},
};
use mindhost_base::error::{Code, Error, Kind};
use mindhost_core::auth::Caller;

const INSTRUCTIONS: &str = "Minds answer questions about databases. List them first; ask one in words with `ask`, or look at \
     its tables with `describe_tables` and query them with `run_sql` where the Mind allows it.";

/// Maximum size of a refusal by the library, in bytes.
const LONGEST_REFUSAL: usize = 4096;

/// Time between two notices of progress. Usual clients give up after 60 seconds without one.
const PROGRESS: Duration = Duration::from_secs(5);

/// Offers the caller's Minds as tools of the Model Context Protocol
///
/// Streamable HTTP without sessions: each request is one self-contained JSON-RPC message. `tools/list` lists the tools;
/// a failed tool answers with `isError` and the error code. A long call with a `progressToken` is answered as a stream
/// of events, with notices of progress before the result.
#[utoipa::path(post, path = MCP, operation_id = "call_mcp",
    params(("accept" = String, Header, description = "Both `application/json` and `text/event-stream`.", example = "application/json, text/event-stream"),
        ("mcp-protocol-version" = Option<String>, Header, description = "The version of the protocol, once it is agreed on.", example = "2025-06-18")),
    request_body(content = Object, description = "A JSON-RPC 2.0 message.", example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
    responses((status = 200, description = "The answer to it.", content((Object = "application/json"), (SentEvent = "text/event-stream"))),
        (status = 202, description = "A notification was taken.")))]
async fn call(Extension(service): Extension<Service>, request: Request) -> Response {
    service.handle(request).await.into_response()
}

type Service = StreamableHttpService<Server, NeverSessionManager>;

/// `/mcp`
pub fn routes() -> Routes {
    let rules = USER
        .audited_after()
        .fails(&[Code::NotAcceptable, Code::Forbidden]);
    Routes::of(Tag::Server).route(routes!(call), rules)
}

/// The route, behind the same keys as every other.
pub fn router(state: AppState) -> Router<AppState> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Browsers are checked before (`origin`), and programs may use any name of the server.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(state.config.server.body_limit)
        .with_cancellation_token(state.shutdown.halt.clone());
    let calls = Calls::default();
    let server = Server {
        state: state.clone(),
        calls: calls.clone(),
    };
    let origins: Arc<[String]> = state.config.server.cors_origins.clone().into();
    let service = Service::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    // The library refuses other methods itself.
    let routes = routes().serve(|_| {
        any(call)
            .layer(Extension(service.clone()))
            .layer(from_fn(in_one_form))
            .layer(from_fn_with_state(calls.clone(), calls::heed))
    });
    let router = router::of(routes, &state);
    router.layer(from_fn_with_state(origins, origin::check))
}

/// Puts a plain-text refusal of the library into the error body of this API.
async fn in_one_form(request: Request, next: Next) -> Response {
    // The library would read up to its limit before it refuses the rest.
    if let Some(limit) = request.extensions().get::<extract::BodyLimit>()
        && request.body().size_hint().lower() > limit.0 as u64
    {
        return ApiError(limit.exceeded()).into_response();
    }
    let said_json = extract::says_json(&request);
    let response = next.run(request).await;
    let status = response.status();
    let content = response.headers().get(header::CONTENT_TYPE);
    let is_json =
        content.is_some_and(|content| content.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let code = match status {
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        StatusCode::NOT_ACCEPTABLE => Code::NotAcceptable,
        StatusCode::PAYLOAD_TOO_LARGE => Code::BodyTooLarge,
        // The library answers malformed JSON in the same way.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if !said_json => Code::UnsupportedMediaType,
        status if status.is_client_error() => Code::InvalidBody,
        _ => Code::Internal,
    };
    let (mut head, body) = response.into_parts();
    let said = to_bytes(body, LONGEST_REFUSAL).await.unwrap_or_default();
    let error = match code {
        Code::Internal => Error::internal(String::from_utf8_lossy(&said).into_owned()),
        code => Error::new(code, String::from_utf8_lossy(&said)),
    };
    let mut response = ApiError(error).into_response();
    if let Some(allow) = head.headers.remove(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

#[derive(Clone)]
struct Server {
    state: AppState,
    calls: Calls,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("mindhost", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = caller(parts(&context)?)?;
        let minds = self.state.minds.list(caller).await.map_err(protocol)?;
        let allows_sql = minds.iter().any(|mind| mind.allows_direct_queries());
        Ok(ListToolsResult::with_all_items(tools::offered(allows_sql)))
    }

    /// Requests that the library does not know, and those whose `params` it cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        match request.method.as_str() {
            "tools/call" => Err(unreadable::<CallToolRequestParams>(request.params)),
            "tools/list" => Err(unreadable::<PaginatedRequestParams>(request.params)),
            _ => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            )),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = parts(&context)?;
        let caller = caller(parts)?;
        let tool = parts.extensions.get::<admission::Tool>().cloned();
        let tool = tool.unwrap_or_default();
        if let Some(name) = tools::known(&request.name) {
            tool.is(name);
        }
        let named = Name::of(caller, &parts.headers, context.id.clone());
        let call = self.calls.begin(named);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        // Dropping the work, because the client left or cancelled, cancels it down to the database.
        let made = tokio::select! {
            made = tools::call(&self.state, caller, &request.name, arguments) => made,
            never = tell_progress(&context) => match never {},
            () = context.ct.cancelled() => return Err(cancelled(&tool)),
            () = call.taken_back() => return Err(cancelled(&tool)),
        };
        match &made {
            Ok(_) => {}
            Err(tools::Failure::UnknownTool) => tool.failed(StatusCode::NOT_FOUND),
            Err(tools::Failure::Of(error)) => tool.failed(status(error.kind())),
        }
        let result = match made {
            Ok(value) => CallToolResult::structured(value),
            Err(tools::Failure::UnknownTool) => {
                let message = format!("there is no tool `{}`", request.name.escape_debug());
                return Err(ErrorData::invalid_params(message, None));
            }
            // An internal error does not depend on the arguments, so a model should not try others.
            Err(tools::Failure::Of(error)) if error.kind() == Kind::Internal => {
                return Err(protocol(error));
            }
            Err(tools::Failure::Of(error)) => CallToolResult::structured_error(json!({
                "error": {"code": error.code().as_str(), "message": error.message(), "param": error.param_name()}
            })),
        };
        Ok(result.into())
    }
}

/// Tells the client of a call that it goes on, if it asked for that, as long as the call lasts. The first notice makes
/// a stream of the answer.
async fn tell_progress(context: &RequestContext<RoleServer>) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return pending().await;
    };
    let mut time = PROGRESS;
    loop {
        tokio::time::sleep(PROGRESS).await;
        let notice = ProgressNotificationParam::new(token.clone(), time.as_secs_f64());
        if context.peer.notify_progress(notice).await.is_err() {
            return pending().await;
        }
        time += PROGRESS;
    }
}

/// The error of params that are no `T`, which names the field at fault.
fn unreadable<T: DeserializeOwned>(params: Option<Value>) -> ErrorData {
    let Some(params) = params.filter(Value::is_object) else {
        return ErrorData::invalid_params("`params` must be an object", None);
    };
    let message = match extract::parse::<T>(params.to_string().as_bytes()) {
        Err(error) => error.message().to_owned(),
        Ok(_) => "`params` are not what this method takes".to_owned(),
    };
    ErrorData::invalid_params(message, None)
}

/// The head of the request that brought a message.
fn parts(context: &RequestContext<RoleServer>) -> Result<&Parts, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    parts.ok_or_else(|| ErrorData::internal_error("the message came with no request", None))
}

/// The caller, from [`admission`].
fn caller(parts: &Parts) -> Result<&Caller, ErrorData> {
    let caller = parts.extensions.get::<Caller>();
    caller.ok_or_else(|| ErrorData::internal_error("the request has no caller", None))
}

/// The answer to a notification, which clients do not read.
fn cancelled(tool: &admission::Tool) -> ErrorData {
    tool.failed(status(Kind::Cancelled));
    ErrorData::internal_error("cancelled", None)
}

fn protocol(error: Error) -> ErrorData {
    if error.kind() == Kind::Internal {
        tracing::error!(source = ?std::error::Error::source(&error), "an MCP request failed");
    }
    ErrorData::internal_error(error.message().to_owned(), None)
}
