//! Routes, each described once.
//!
//! A handler says its method, path, parameters and schemas (`utoipa::path`). The entry that lists the handler says who
//! may call it and how it fails. The router, the admission and the OpenAPI document are all made from these entries.

use std::sync::Arc;

use axum::routing::MethodRouter;
use utoipa::openapi::{PathItem, RefOr, Schema};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::AppState;
use mindhost_base::error::Code;
use mindhost_core::auth::Role;

/// A path, its methods, and what holds for them.
#[derive(Clone)]
pub struct Route {
    /// As in the document: `/api/v1/minds/{name}`
    pub path: String,
    /// Section of the document.
    pub tag: Tag,
    /// What the entry says.
    pub rules: Arc<Rules>,
    /// What the handler's attribute says.
    pub item: PathItem,
    /// The types that `item` refers to, by name.
    pub schemas: Vec<(String, RefOr<Schema>)>,
    /// The handlers, by method.
    pub methods: MethodRouter<AppState>,
}

/// Routes, in the order of the document.
#[derive(Clone)]
pub struct Routes {
    tag: Tag,
    routes: Vec<Route>,
}

impl Routes {
    /// None yet; those that are added are shown under `tag`.
    pub const fn of(tag: Tag) -> Self {
        Self {
            tag,
            routes: Vec::new(),
        }
    }

    /// Adds a handler: `routes!(handler)`.
    pub fn route(mut self, handler: UtoipaMethodRouter<AppState>, rules: Rules) -> Self {
        let (schemas, paths, methods) = handler;
        let rules = Arc::new(rules);
        let tag = self.tag;
        let routes = paths.paths.into_iter().map(|(path, item)| Route {
            path,
            tag,
            rules: rules.clone(),
            item,
            schemas: schemas.clone(),
            methods: methods.clone(),
        });
        self.routes.extend(routes);
        self
    }

    /// Adds other routes, which keep their tags.
    pub fn and(mut self, others: Self) -> Self {
        self.routes.extend(others.routes);
        self
    }

    /// Puts `prefix` before every path.
    pub fn below(mut self, prefix: &str) -> Self {
        for route in &mut self.routes {
            route.path.insert_str(0, prefix);
        }
        self
    }

    /// Changes how every route is served, for what a handler's attribute cannot say.
    pub fn serve(
        mut self,
        change: impl Fn(MethodRouter<AppState>) -> MethodRouter<AppState>,
    ) -> Self {
        for route in &mut self.routes {
            route.methods = change(std::mem::take(&mut route.methods));
        }
        self
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }
}

impl IntoIterator for Routes {
    type Item = Route;
    type IntoIter = std::vec::IntoIter<Route>;

    fn into_iter(self) -> Self::IntoIter {
        self.routes.into_iter()
    }
}

/// The path where clients of the Model Context Protocol post.
pub const MCP: &str = "/mcp";

/// A path without the prefix of the API.
pub fn below(path: &str) -> &str {
    let path = path.strip_prefix("/api").unwrap_or(path);
    path.strip_prefix("/v1").unwrap_or(path)
}

/// Who heeds the `Idempotency-Key` of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHandler {
    /// The middleware [`once::resource`](crate::once::resource), under this name of the route.
    Resource(&'static str),
    /// The handler, with [`once::answer`](crate::once::answer).
    Answer,
}

/// A section of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Engines,
    Datasources,
    Providers,
    Minds,
    Responses,
    Conversations,
    Keys,
    Workspaces,
    Plugins,
    Records,
    Server,
}

impl Tag {
    /// The sections in their order, with what each is about.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Engines, "What can be connected."),
        (
            Self::Datasources,
            "Databases that are connected, and what is known of their tables.",
        ),
        (Self::Providers, "Vendors of language models."),
        (
            Self::Minds,
            "What is asked: some tables, a language model, instructions.",
        ),
        (Self::Responses, "Questions and answers."),
        (
            Self::Conversations,
            "What was said, and the results behind it.",
        ),
        (Self::Keys, "Who may do what."),
        (Self::Workspaces, "Each sees nothing of another."),
        (
            Self::Plugins,
            "Versions of plugins, and how one takes the place of another.",
        ),
        (Self::Records, "Who did what, and what was used."),
        (Self::Server, "The server itself."),
    ];

    /// Its heading.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// Who may call a route, how it fails, and where its answer leads.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The least role of a key; `None` needs no key.
    pub role: Option<Role>,
    /// If the route reaches beyond the caller's Minds: completes "your key cannot" for a key that is limited to some.
    pub beyond_minds: Option<&'static str>,
    /// Whether it takes `Idempotency-Key`, and who heeds it.
    pub once: Option<KeyHandler>,
    /// Whether the answer is sent before its audit entry is stored.
    pub audited_after: bool,
    /// Failures besides those that every key, body and parameter can have.
    pub failures: Vec<Code>,
    /// What can be called next with what is in the answer.
    pub links: Vec<Link>,
}

/// Operations that can follow, and where each of their parameters comes from.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Ids of operations.
    pub operations: &'static [&'static str],
    /// Names, each with a runtime expression of OpenAPI.
    pub parameters: &'static [(&'static str, &'static str)],
}

/// For everybody, without a key.
pub const OPEN: Rules = Rules::of(None);
/// For every key.
pub const USER: Rules = Rules::of(Some(Role::User));
/// For editors and above.
pub const EDITOR: Rules = Rules::of(Some(Role::Editor));
/// For admins and operators.
pub const ADMIN: Rules = Rules::of(Some(Role::Admin));
/// For keys of the role `operator` alone.
pub const OPERATOR: Rules = Rules::of(Some(Role::Operator));

impl Rules {
    const fn of(role: Option<Role>) -> Self {
        Self {
            role,
            beyond_minds: None,
            once: None,
            audited_after: false,
            failures: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Refuses keys that are limited to some Minds; `what` completes "your key cannot".
    pub const fn beyond_minds(mut self, what: &'static str) -> Self {
        self.beyond_minds = Some(what);
        self
    }

    /// Takes `Idempotency-Key`.
    pub fn once(mut self, once: KeyHandler) -> Self {
        self.once = Some(once);
        self.fails(&[Code::IdempotencyKeyReused])
    }

    /// Answers before the audit entry is stored: for questions, which are many and change no settings.
    pub const fn audited_after(mut self) -> Self {
        self.audited_after = true;
        self
    }

    /// Adds failures.
    pub fn fails(mut self, codes: &[Code]) -> Self {
        self.failures.extend_from_slice(codes);
        self
    }

    /// Adds operations that can follow, all with the same parameters.
    pub fn leads_to(
        mut self,
        parameters: &'static [(&'static str, &'static str)],
        operations: &'static [&'static str],
    ) -> Self {
        self.links.push(Link {
            operations,
            parameters,
        });
        self
    }
}

/// The parameter of a link: the id of what was made.
pub const ID: &[(&str, &str)] = &[("id", "$response.body#/id")];
/// The parameter of a link: the name of what was made.
pub const NAME: &[(&str, &str)] = &[("name", "$response.body#/name")];

/// Failures of an engine, a vendor or a plugin that is asked.
pub const ASKED: &[Code] = &[
    Code::UpstreamError,
    Code::PluginError,
    Code::UpstreamUnreachable,
    Code::PluginSuspended,
    Code::NoPlugin,
    Code::Timeout,
];
/// Failures of connection data, with which an engine or vendor is [`ASKED`] too.
pub const CONNECTED: &[Code] = &[
    Code::InvalidConnectionData,
    Code::ConnectionFailed,
    Code::SecretRequired,
];
/// Failures of a statement.
pub const SQL: &[Code] = &[
    Code::SqlSyntax,
    Code::SqlNotSingle,
    Code::SqlNotReadOnly,
    Code::SqlTableNotAllowed,
    Code::SqlTableAmbiguous,
    Code::SqlTableClosed,
    Code::SqlFunctionNotAllowed,
    Code::SqlNotSupported,
    Code::SqlSeveralDatasources,
    Code::SqlInvalid,
    Code::SqlPermissionDenied,
    Code::ResultTooLarge,
    Code::DatasourceNotInMind,
];
/// Failures of a question.
pub const ASKING: &[Code] = &[
    Code::MindNotFound,
    Code::ConversationNotFound,
    Code::ResponseNotFound,
    Code::MessageNotFound,
    Code::ConversationOfAnotherMind,
    Code::ContextLengthExceeded,
    Code::AnswerFailed,
    Code::Cancelled,
];
/// Failures of what stores something new.
pub const STORING: &[Code] = &[Code::QuotaExceeded, Code::StorageFull];
