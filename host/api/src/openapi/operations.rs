//! Who may call an operation, and what it can fail with besides what every one can.

use mindhost_base::error::Code::{self, *};
use mindhost_core::auth::Role;

/// What is said of one operation.
pub struct Operation {
    /// `operationId`
    pub id: &'static str,
    /// The least role of a key; `None` needs no key.
    pub role: Option<Role>,
    /// What reaches beyond some Minds: a key that is limited to some cannot do it. It completes "your key cannot".
    pub beyond_minds: Option<&'static str>,
    /// Codes of its failures.
    pub codes: &'static [&'static [Code]],
}

impl Operation {
    const fn beyond_minds(self, what: &'static str) -> Self {
        Self {
            beyond_minds: Some(what),
            ..self
        }
    }
}

/// Of an operation, if the table has it.
pub fn of(id: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|one| one.id == id)
}

/// The operations that the table has.
#[cfg(test)]
pub fn ids() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|one| one.id)
}

const fn op(id: &'static str, role: Role, codes: &'static [&'static [Code]]) -> Operation {
    Operation {
        id,
        role: Some(role),
        beyond_minds: None,
        codes,
    }
}

const fn open(id: &'static str, codes: &'static [&'static [Code]]) -> Operation {
    Operation {
        id,
        role: None,
        beyond_minds: None,
        codes,
    }
}

/// Of a body.
pub const BODY: &[Code] = &[
    InvalidBody,
    InvalidParameter,
    BodyTimeout,
    BodyTooLarge,
    UnsupportedMediaType,
];
/// Of a request with a key.
pub const KEY: &[Code] = &[InvalidApiKey, RateLimited, Internal, Overloaded];

/// Of an engine, a vendor or a plugin that is asked.
const ASKED: &[Code] = &[
    UpstreamError,
    PluginError,
    UpstreamUnreachable,
    PluginSuspended,
    NoPlugin,
    Timeout,
];
/// Of connection data.
const CONNECTED: &[Code] = &[
    InvalidConnectionData,
    ConnectionFailed,
    SecretRequired,
    UpstreamError,
    PluginError,
    UpstreamUnreachable,
    PluginSuspended,
    NoPlugin,
    Timeout,
];
/// Of a statement.
const SQL: &[Code] = &[
    SqlSyntax,
    SqlNotSingle,
    SqlNotReadOnly,
    SqlTableNotAllowed,
    SqlTableAmbiguous,
    SqlFunctionNotAllowed,
    SqlNotSupported,
    SqlSeveralDatasources,
    SqlInvalid,
    SqlPermissionDenied,
    ResultTooLarge,
    DatasourceNotInMind,
];
/// Of a question.
const ASKING: &[Code] = &[
    MindNotFound,
    ConversationNotFound,
    ResponseNotFound,
    MessageNotFound,
    ConversationOfAnotherMind,
    IdempotencyKeyReused,
    AnswerFailed,
    Cancelled,
];
/// Of what stores something new.
const STORING: &[Code] = &[QuotaExceeded, StorageFull];
/// Of the entries of `datasources` of a Mind.
const ENTRIES: &[Code] = &[
    UnknownDatasource,
    UnknownTable,
    AmbiguousTable,
    UnknownProvider,
    NameTaken,
];
/// Of a run that loads tables.
const RUN: &[Code] = &[
    DatasourceNotFound,
    UnknownTable,
    AmbiguousTable,
    MindDatasourceRelationshipRequired,
    RunActive,
    StorageFull,
];
/// Of the result behind a message.
const RESULT: &[Code] = &[
    ConversationNotFound,
    MessageNotFound,
    MindDeleted,
    NotAnAssistantMessage,
    MessageWithoutSql,
    DirectQueriesNotAllowed,
];

const USER: Role = Role::User;
const EDITOR: Role = Role::Editor;
const ADMIN: Role = Role::Admin;
const OPERATOR: Role = Role::Operator;

const OPERATIONS: &[Operation] = &[
    open("get_health", &[]),
    open("get_readiness", &[&[Overloaded]]),
    open("get_openapi", &[]),
    open("get_docs", &[]),
    op("call_mcp", USER, &[&[NotAcceptable, Forbidden]]),
    op("get_metrics", OPERATOR, &[]),
    op("list_engines", USER, &[]),
    op("get_engine", USER, &[&[EngineNotFound]]),
    op("list_datasources", USER, &[]),
    op(
        "create_datasource",
        EDITOR,
        &[
            CONNECTED,
            STORING,
            &[EngineNotFound, NameTaken, IdempotencyKeyReused],
        ],
    )
    .beyond_minds("connect another datasource"),
    op("get_datasource", USER, &[&[DatasourceNotFound]]),
    op(
        "update_datasource",
        EDITOR,
        &[CONNECTED, &[DatasourceNotFound, NameTaken, WrongState]],
    )
    .beyond_minds("change a datasource: other Minds may use it too"),
    op(
        "patch_datasource",
        EDITOR,
        &[CONNECTED, &[DatasourceNotFound, NameTaken, WrongState]],
    )
    .beyond_minds("change a datasource: other Minds may use it too"),
    op("delete_datasource", EDITOR, &[&[DatasourceNotFound, InUse]]),
    op(
        "get_catalog",
        USER,
        &[&[DatasourceNotFound, MindNotFound, DatasourceNotInMind]],
    ),
    op("delete_catalog", EDITOR, &[&[DatasourceNotFound]]),
    op("refresh_catalog", EDITOR, &[RUN]),
    op("load_tables", EDITOR, &[RUN]),
    op("cancel_catalog", EDITOR, &[&[DatasourceNotFound]]),
    op(
        "describe_table",
        EDITOR,
        &[&[DatasourceNotFound, TableNotFound, AmbiguousTable]],
    ),
    op(
        "delete_table",
        EDITOR,
        &[&[DatasourceNotFound, TableNotFound, AmbiguousTable]],
    ),
    op(
        "describe_column",
        EDITOR,
        &[&[
            DatasourceNotFound,
            TableNotFound,
            ColumnNotFound,
            AmbiguousTable,
        ]],
    ),
    op("list_providers", USER, &[]),
    op(
        "create_provider",
        ADMIN,
        &[CONNECTED, STORING, &[NameTaken, UnknownPlugin]],
    )
    .beyond_minds("make a provider"),
    op("get_provider", USER, &[&[ProviderNotFound]]),
    op(
        "update_provider",
        ADMIN,
        &[
            CONNECTED,
            &[ProviderNotFound, NameTaken, UnknownPlugin, WrongState],
        ],
    )
    .beyond_minds("change a provider: other Minds may use it too"),
    op(
        "patch_provider",
        ADMIN,
        &[
            CONNECTED,
            &[ProviderNotFound, NameTaken, UnknownPlugin, WrongState],
        ],
    )
    .beyond_minds("change a provider: other Minds may use it too"),
    op(
        "delete_provider",
        ADMIN,
        &[&[ProviderNotFound, InUse, WrongState]],
    ),
    op("list_minds", USER, &[]),
    op(
        "create_mind",
        EDITOR,
        &[ENTRIES, STORING, &[IdempotencyKeyReused]],
    )
    .beyond_minds("make another Mind"),
    op("get_mind", USER, &[&[MindNotFound]]),
    op("update_mind", EDITOR, &[ENTRIES, &[MindNotFound]]),
    op("delete_mind", EDITOR, &[&[MindNotFound]]),
    op("list_models", USER, &[]),
    op("get_model", USER, &[&[MindNotFound]]),
    op("create_chat", USER, &[ASKING, ASKED, STORING]),
    op(
        "create_response",
        USER,
        &[
            ASKING,
            ASKED,
            SQL,
            STORING,
            &[DirectQueriesNotAllowed, MindDeleted, Forbidden],
        ],
    ),
    op("get_response", USER, &[&[ResponseNotFound, WrongState]]),
    op(
        "delete_response",
        USER,
        &[&[ResponseNotFound, WrongState, Forbidden]],
    ),
    op(
        "cancel_response",
        USER,
        &[&[ResponseNotFound, WrongState, Forbidden]],
    ),
    op("list_conversations", USER, &[&[ConversationNotFound]]),
    op(
        "create_conversation",
        USER,
        &[STORING, &[IdempotencyKeyReused]],
    ),
    op("get_conversation", USER, &[&[ConversationNotFound]]),
    op(
        "update_conversation",
        USER,
        &[STORING, &[ConversationNotFound, Forbidden]],
    ),
    op(
        "delete_conversation",
        USER,
        &[&[ConversationNotFound, Forbidden]],
    ),
    op(
        "list_items",
        USER,
        &[&[ConversationNotFound, MessageNotFound]],
    ),
    op(
        "add_items",
        USER,
        &[STORING, &[ConversationNotFound, Forbidden]],
    ),
    op(
        "get_item",
        USER,
        &[&[ConversationNotFound, MessageNotFound]],
    ),
    op(
        "delete_item",
        USER,
        &[&[ConversationNotFound, MessageNotFound, Forbidden]],
    ),
    op("get_result", USER, &[RESULT, ASKED, SQL]),
    op("export_result", USER, &[RESULT, ASKED, SQL]),
    op("list_keys", ADMIN, &[]),
    op("create_key", ADMIN, &[STORING, &[MindNotFound]]),
    op("revoke_key", ADMIN, &[&[KeyNotFound, InUse, WrongState]]),
    op("rotate_key", ADMIN, &[&[KeyNotFound, InUse, WrongState]]),
    op("list_workspaces", OPERATOR, &[]),
    op("create_workspace", OPERATOR, &[&[NameTaken]]).beyond_minds("make a workspace"),
    op("get_workspace", OPERATOR, &[&[WorkspaceNotFound]]),
    op(
        "delete_workspace",
        OPERATOR,
        &[&[WorkspaceNotFound, InUse, WrongState]],
    ),
    op(
        "create_workspace_key",
        OPERATOR,
        &[STORING, &[WorkspaceNotFound]],
    )
    .beyond_minds("make keys of other workspaces"),
    op("list_plugins", ADMIN, &[]),
    op(
        "install_plugin",
        OPERATOR,
        &[&[
            PluginRefused,
            InvalidBody,
            BodyTooLarge,
            UnsupportedMediaType,
        ]],
    )
    .beyond_minds("install plugins"),
    op("get_plugin", ADMIN, &[&[PluginNotFound]]),
    op(
        "activate_plugin",
        OPERATOR,
        &[&[
            PluginNotFound,
            PluginAmbiguous,
            WrongState,
            RolloutActive,
            RightsNotAccepted,
        ]],
    )
    .beyond_minds("activate plugins"),
    op(
        "roll_back_plugin",
        OPERATOR,
        &[&[PluginNotFound, WrongState]],
    )
    .beyond_minds("roll plugins back"),
    op(
        "get_rollout",
        OPERATOR,
        &[&[PluginNotFound, RolloutNotFound]],
    ),
    op(
        "remove_plugin_version",
        OPERATOR,
        &[&[PluginNotFound, PluginAmbiguous, InUse]],
    ),
    op("list_audit", ADMIN, &[]),
    op("list_usage", USER, &[]),
    op("get_plugin_usage", OPERATOR, &[&[PluginNotFound]]),
    op("release_plugin", ADMIN, &[&[PluginNotFound]]),
];
