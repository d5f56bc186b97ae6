//! The one error type of the host.
//!
//! A [`Code`] says *what* failed. Each code has one [`Kind`], and only `error.rs` of the API maps a kind to an HTTP
//! status. A message is for the person who sent the request: what is wrong, and what to do next. Internal text (SQL of
//! the store, backtraces of a plugin, credentials) belongs in [`Error::with_source`], which is logged and never sent.

mod permanent;
#[cfg(feature = "sqlx")]
mod store;

use std::{fmt, sync::Arc, time::Duration};

/// Shorthand for results of the host.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of a failure, which decides the HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 400: the request is malformed, or a value in it is wrong.
    Invalid,
    /// 401: the key is missing or unknown.
    Unauthenticated,
    /// 403: the key's role does not allow it.
    Forbidden,
    /// 404: the path or the name says nothing that the caller may see.
    NotFound,
    /// 405: the path has no such method.
    MethodNotAllowed,
    /// 406: no form of the answer is one that the client takes.
    NotAcceptable,
    /// 408: the client did not send its request in time.
    RequestTimeout,
    /// 409: it does not fit the state of things now.
    Conflict,
    /// 413: the body is larger than the limit.
    TooLarge,
    /// 415: the body is of a type that the route does not take.
    UnsupportedMediaType,
    /// 422: understood, and not possible with these data.
    Unprocessable,
    /// 429: above a limit of the key; `Retry-After` says when to come again.
    RateLimited,
    /// 499: the caller disconnected or cancelled.
    Cancelled,
    /// 500: a bug of the host. The log has the cause.
    Internal,
    /// 502: the database, the vendor or the plugin failed.
    BadGateway,
    /// 503: overloaded, starting or ending; it may be repeated.
    Unavailable,
    /// 504: the database or the vendor was too slow.
    Timeout,
}

/// Which component caused a failure.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Blame {
    /// The plugin broke the contract, trapped or exceeded a limit.
    Plugin,
    /// The database or the model vendor.
    Upstream,
    /// This server.
    Host,
}

impl Blame {
    /// The value in responses: `plugin`, `upstream` or `host`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Upstream => "upstream",
            Self::Host => "host",
        }
    }
}

/// A right of a plugin version. A refusal lists the rights that an operator must accept.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[schema(as = PluginRight)]
pub struct Right {
    /// The name to accept it by.
    #[schema(example = "http:base_url=https://api.example.com")]
    pub name: String,
    /// What it allows.
    pub description: String,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal, $kind:ident;)*) => {
        /// The stable codes of the API. Their meaning never changes once released.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $variant,)* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The text in `error.code`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// The kind, which decides the status.
            pub fn kind(self) -> Kind {
                match self { $(Code::$variant => Kind::$kind,)* }
            }

            /// One line for the table of codes in the documentation.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$variant => concat!($($doc),+).trim_ascii(),)* }
            }
        }
    };
}

codes! {
    /// The body is not JSON, or not the JSON that this endpoint takes.
    InvalidBody = "invalid_body", Invalid;
    /// A parameter is missing, of the wrong type, or out of its range.
    InvalidParameter = "invalid_parameter", Invalid;
    /// The YAML cannot be read, or has other fields than the format.
    InvalidYaml = "invalid_yaml", Invalid;
    /// The connection data do not match the schema of the engine.
    InvalidConnectionData = "invalid_connection_data", Invalid;
    /// The datasource or provider could not be connected with what was given.
    ConnectionFailed = "connection_failed", Invalid;
    /// The host does not accept the plugin file; the message says why.
    PluginRefused = "plugin_refused", Invalid;
    /// The conversation belongs to another Mind.
    ConversationOfAnotherMind = "conversation_of_another_mind", Invalid;
    /// The message is not an answer of the assistant.
    NotAnAssistantMessage = "not_an_assistant_message", Invalid;
    /// The message holds no SQL query.
    MessageWithoutSql = "message_without_sql", Invalid;
    /// The dialogue is longer than the model may be sent.
    ContextLengthExceeded = "context_length_exceeded", Invalid;
    /// The Mind has no such datasource.
    DatasourceNotInMind = "datasource_not_in_mind", Invalid;
    /// The statement cannot be parsed in the dialect of the datasource.
    SqlSyntax = "sql_syntax", Invalid;
    /// More or less than one statement.
    SqlNotSingle = "sql_not_single_statement", Invalid;
    /// The statement does something else than reading.
    SqlNotReadOnly = "sql_not_read_only", Invalid;
    /// A table that the Mind does not have.
    SqlTableNotAllowed = "sql_table_not_allowed", Invalid;
    /// A table whose policy no longer fits it, so that it cannot be read.
    SqlTableClosed = "sql_table_closed", Invalid;
    /// A table name that fits several tables; the message lists them.
    SqlTableAmbiguous = "sql_table_ambiguous", Invalid;
    /// A function that is not on the list of allowed functions.
    SqlFunctionNotAllowed = "sql_function_not_allowed", Invalid;
    /// A construct that the guard does not know to be harmless.
    SqlNotSupported = "sql_not_supported", Invalid;
    /// The statement reads more than 16 datasources.
    SqlSeveralDatasources = "sql_several_datasources", Invalid;
    /// A value in a model's statement comes from another datasource.
    SqlLiteralNotAllowed = "sql_literal_not_allowed", Invalid;
    /// The engine rejected the statement; the message is the engine's own.
    SqlInvalid = "sql_invalid", Invalid;
    /// A model's statement whose plan costs more than the operator allows.
    SqlCostTooHigh = "sql_cost_too_high", Invalid;
    /// The engine's own rights forbid the statement.
    SqlPermissionDenied = "sql_permission_denied", Invalid;
    /// A page of the result exceeds the limit on its bytes (`sql.page_bytes`).
    ResultTooLarge = "result_too_large", Invalid;
    /// No key was sent, or it is unknown, revoked or expired.
    InvalidApiKey = "invalid_api_key", Unauthenticated;
    /// The key's role does not allow this.
    Forbidden = "forbidden", Forbidden;
    /// The Mind does not allow the `sql_query` tool.
    DirectQueriesNotAllowed = "direct_queries_not_allowed", Forbidden;
    /// There is no such route.
    RouteNotFound = "route_not_found", NotFound;
    /// There is no such plugin, or not in this version.
    PluginNotFound = "plugin_not_found", NotFound;
    /// There is no such rollout.
    RolloutNotFound = "rollout_not_found", NotFound;
    /// There is no such datasource.
    DatasourceNotFound = "datasource_not_found", NotFound;
    /// There is no such engine.
    EngineNotFound = "engine_not_found", NotFound;
    /// There is no such file in the directory of the datasource.
    FileNotFound = "file_not_found", NotFound;
    /// There is no such table in the catalog.
    TableNotFound = "table_not_found", NotFound;
    /// There is no such column in the catalog.
    ColumnNotFound = "column_not_found", NotFound;
    /// There is no such Mind.
    MindNotFound = "mind_not_found", NotFound;
    /// The Mind has no such knowledge.
    KnowledgeNotFound = "knowledge_not_found", NotFound;
    /// The Mind has no such feedback.
    FeedbackNotFound = "feedback_not_found", NotFound;
    /// The Mind has no such evaluation.
    EvaluationNotFound = "evaluation_not_found", NotFound;
    /// The Mind of this conversation was deleted, perhaps while it answered.
    MindDeleted = "mind_deleted", NotFound;
    /// There is no such conversation.
    ConversationNotFound = "conversation_not_found", NotFound;
    /// There is no such message.
    MessageNotFound = "message_not_found", NotFound;
    /// There is no such response.
    ResponseNotFound = "response_not_found", NotFound;
    /// Nothing runs under this id.
    NotRunning = "not_running", NotFound;
    /// There is no such model provider.
    ProviderNotFound = "provider_not_found", NotFound;
    /// There is no such workspace.
    WorkspaceNotFound = "workspace_not_found", NotFound;
    /// There is no such key.
    KeyNotFound = "key_not_found", NotFound;
    /// The route does not take this method.
    MethodNotAllowed = "method_not_allowed", MethodNotAllowed;
    /// The header Accept leaves out what the route answers with.
    NotAcceptable = "not_acceptable", NotAcceptable;
    /// The body came too slowly.
    BodyTimeout = "body_timeout", RequestTimeout;
    /// Another resource of the workspace has the name.
    NameTaken = "name_taken", Conflict;
    /// Something still uses it.
    InUse = "resource_in_use", Conflict;
    /// A bare table name that fits several tables; the message lists them.
    AmbiguousTable = "ambiguous_table", Conflict;
    /// The call needs a Mind that has this datasource.
    MindDatasourceRelationshipRequired = "mind_datasource_relationship_required", Conflict;
    /// A run is active that this call cannot join.
    RunActive = "run_active", Conflict;
    /// The Idempotency-Key was sent with another request.
    IdempotencyKeyReused = "idempotency_key_reused", Conflict;
    /// The resource is not in a state that allows this.
    WrongState = "wrong_state", Conflict;
    /// Several versions of the plugin fit; the message lists them.
    PluginAmbiguous = "plugin_ambiguous", Conflict;
    /// A rollout of the plugin is running.
    RolloutActive = "rollout_active", Conflict;
    /// The version may do more than the one that it would replace; `rights` lists what.
    RightsNotAccepted = "rights_not_accepted", Conflict;
    /// The body is larger than the server takes.
    BodyTooLarge = "body_too_large", TooLarge;
    /// The body is not sent as JSON, or it is compressed.
    UnsupportedMediaType = "unsupported_media_type", UnsupportedMediaType;
    /// A table in the request does not exist in the datasource.
    UnknownTable = "unknown_table", Unprocessable;
    /// A column in the request does not exist in its table.
    UnknownColumn = "unknown_column", Unprocessable;
    /// A policy does not fit its table, or has a condition that is not allowed in one.
    InvalidPolicy = "invalid_policy", Unprocessable;
    /// A datasource in the request does not exist.
    UnknownDatasource = "unknown_datasource", Unprocessable;
    /// A provider in the request does not exist.
    UnknownProvider = "unknown_provider", Unprocessable;
    /// A plugin in the request does not exist.
    UnknownPlugin = "unknown_plugin", Unprocessable;
    /// The destination changed, so the secret must be sent again.
    SecretRequired = "secret_required", Unprocessable;
    /// Too many requests, answers or connections at once.
    RateLimited = "rate_limit_exceeded", RateLimited;
    /// The key or its workspace has reached its quota; the message names the setting.
    QuotaExceeded = "quota_exceeded", RateLimited;
    /// The caller went away or cancelled.
    Cancelled = "cancelled", Cancelled;
    /// A fault of this server.
    Internal = "internal_error", Internal;
    /// The engine or vendor failed.
    UpstreamError = "upstream_error", BadGateway;
    /// The plugin failed.
    PluginError = "plugin_error", BadGateway;
    /// The model gave no usable answer within its bounds.
    AnswerFailed = "answer_failed", BadGateway;
    /// The engine or vendor cannot be reached.
    UpstreamUnreachable = "upstream_unreachable", Unavailable;
    /// The plugin failed too often and is not called for a while.
    PluginSuspended = "plugin_suspended", Unavailable;
    /// No plugin serves this engine.
    NoPlugin = "no_plugin", Unavailable;
    /// The server is at its limit or shutting down.
    Overloaded = "overloaded", Unavailable;
    /// The disk of the server is nearly full, so nothing new is stored.
    StorageFull = "storage_full", Unavailable;
    /// A time limit ran out.
    Timeout = "timeout", Timeout;
}

/// A failure, with everything that the response needs. Boxed, so that a `Result` stays small.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: Code,
    message: String,
    param: Option<String>,
    blame: Option<Blame>,
    position: Option<u32>,
    retry_after: Option<Duration>,
    engine_code: Option<String>,
    reported: Option<&'static str>,
    is_permanent: bool,
    rights: Vec<Right>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A failure with a message for the person who made the request.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            param: None,
            blame: None,
            position: None,
            retry_after: None,
            engine_code: None,
            reported: None,
            is_permanent: false,
            rights: Vec::new(),
            source: None,
        }))
    }

    /// The server cannot open another file or connection.
    pub fn out_of_files() -> Self {
        Self::new(
            Code::Overloaded,
            "the server has as many files and connections open as it may; try again, and tell the operator to raise its \
             limit of open files (ulimit -n)",
        )
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(1))
    }

    /// Whether something failed because this process, or its machine, may open no more files and connections.
    pub fn is_out_of_files(error: &std::io::Error) -> bool {
        const ENFILE: i32 = 23;
        const EMFILE: i32 = 24;
        matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
    }

    /// A fault of this server. The log gets the cause; the caller gets a general message.
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(
            Code::Internal,
            "the server failed to do this; try again, and give the operator the request id if it happens again",
        )
        .blamed(Blame::Host)
        .with_source(source)
    }

    /// The disk of the store is nearly full, so nothing new is taken.
    pub fn storage_full() -> Self {
        Self::new(
            Code::StorageFull,
            "the disk of this server is nearly full, so nothing new is stored (store.min_free_bytes); reading and deleting \
             go on; tell the operator",
        )
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(60))
    }

    /// A write failed on a full disk: also a deletion, which needs a little space for its journal.
    pub fn disk_full() -> Self {
        Self::new(
            Code::StorageFull,
            "the disk of this server is full, so nothing was changed; tell the operator to free space on it",
        )
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(60))
    }

    /// A file of this server could not be written: `storage_full` if its disk is full, else a fault of this server.
    pub fn not_written(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge => Self::disk_full().with_source(error),
            _ => Self::internal(error),
        }
    }

    /// Logs the failure and its causes. Nothing else shows the causes.
    pub fn log(&self) {
        let mut causes = Vec::new();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            causes.push(inner.to_string());
            cause = inner.source();
        }
        let (code, cause) = (self.code().as_str(), causes.join(": "));
        match self.kind() {
            Kind::Internal => tracing::error!(code, cause, "{self}"),
            Kind::BadGateway | Kind::Unavailable | Kind::Timeout => {
                tracing::warn!(code, cause, "{self}");
            }
            _ => tracing::debug!(code, cause, "{self}"),
        }
    }

    /// `invalid_parameter`, with the name of the parameter.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParameter, message).param(param)
    }

    /// Sets the path of the invalid parameter, such as `tools[0].query`.
    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// Sets the component at fault.
    #[must_use]
    pub fn blamed(mut self, blame: Blame) -> Self {
        self.0.blame = Some(blame);
        self
    }

    /// Sets the position in the SQL text, in characters from 1.
    #[must_use]
    pub fn with_position(mut self, position: impl Into<Option<u32>>) -> Self {
        self.0.position = position.into();
        self
    }

    /// Sets the delay for the header `Retry-After`.
    #[must_use]
    pub fn with_retry_after(mut self, delay: impl Into<Option<Duration>>) -> Self {
        self.0.retry_after = delay.into();
        self
    }

    /// Sets the engine's or vendor's own code, such as an SQLSTATE or an HTTP status.
    #[must_use]
    pub fn with_engine_code(mut self, code: impl Into<String>) -> Self {
        let code = code.into();
        self.0.engine_code = (!code.is_empty()).then_some(code);
        self
    }

    /// Sets the kind that a plugin reported, by its name in the contract (`auth`). For tests of plugins; the API sends
    /// the code only.
    #[must_use]
    pub fn with_reported(mut self, kind: &'static str) -> Self {
        self.0.reported = Some(kind);
        self
    }

    /// Sets the rights that an operator must accept first.
    #[must_use]
    pub fn with_rights(mut self, rights: Vec<Right>) -> Self {
        self.0.rights = rights;
        self
    }

    /// Sets the cause, for the log only.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Appends to the message what the person can do, which the part that failed did not know.
    #[must_use]
    pub fn with_advice(mut self, advice: &str) -> Self {
        self.0.message = format!("{}; {advice}", self.0.message);
        self
    }

    /// What the API sends as `code`; callers decide by it.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The kind of the code, which decides the HTTP status.
    pub fn kind(&self) -> Kind {
        self.0.code.kind()
    }

    /// A sentence for the caller, without secrets and causes.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The path of the invalid parameter.
    pub fn param_name(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// The component at fault.
    pub fn blame(&self) -> Option<Blame> {
        self.0.blame
    }

    /// The position in the SQL text, in characters from 1.
    pub fn position(&self) -> Option<u32> {
        self.0.position
    }

    /// The delay for the header `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The kind that a plugin reported, by its name in the contract; none if the host found the failure itself.
    pub fn reported(&self) -> Option<&'static str> {
        self.0.reported
    }

    /// The rights that an operator must accept first.
    pub fn rights(&self) -> &[Right] {
        &self.0.rights
    }

    /// The engine's or vendor's own code.
    pub fn engine_code(&self) -> Option<&str> {
        self.0.engine_code.as_deref()
    }
}

impl fmt::Display for Error {
    /// The message with control characters escaped. Otherwise the text of an engine could forge a log line or send
    /// escape sequences to a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, &self.0.message)
    }
}

/// Writes a text with its control characters escaped.
pub fn write_escaped(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    text.chars().try_for_each(|c| match c.is_control() {
        true => write!(f, "{}", c.escape_debug()),
        false => f.write_char(c),
    })
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_has_its_own_text_and_a_summary() {
        let texts: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| code.summary().ends_with('.')));
    }

    #[test]
    fn an_internal_error_keeps_its_cause_from_the_caller() {
        let error = Error::internal("relation minds has no column x");
        assert!(!error.message().contains("relation"));
        assert_eq!(
            std::error::Error::source(&error)
                .map(ToString::to_string)
                .as_deref(),
            Some("relation minds has no column x")
        );
    }
}
