-- The whole store. Ids are UUID version 7 as text, times are microseconds since 1970 in UTC, JSON is text, truth values
-- are 0 and 1. Every table carries the workspace, so that no query has an excuse to forget it.
-- The same file exists for the other database; only the type names differ.

-- Facts about this store itself, of no workspace: the check value of the secret key.
CREATE TABLE host_facts (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- A key is found by the SHA-256 of its text. `minds` is a JSON array of Mind ids; null means every Mind.
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    role TEXT NOT NULL,
    minds TEXT,
    compat TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX keys_workspace ON keys (workspace_id);

-- `connection_data` holds what is not secret; `secrets` the rest, sealed.
CREATE TABLE datasources (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    engine TEXT NOT NULL,
    description TEXT NOT NULL,
    connection_data TEXT NOT NULL,
    secrets BYTEA,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    modified_at BIGINT NOT NULL,
    UNIQUE (workspace_id, name)
);

CREATE TABLE providers (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    plugin TEXT NOT NULL,
    description TEXT NOT NULL,
    connection_data TEXT NOT NULL,
    secrets BYTEA,
    is_default BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    modified_at BIGINT NOT NULL,
    UNIQUE (workspace_id, name)
);
-- One default a workspace, whatever the hosts do at the same time.
CREATE UNIQUE INDEX providers_default ON providers (workspace_id) WHERE is_default = 1;

CREATE TABLE minds (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    provider_id TEXT NOT NULL REFERENCES providers (id),
    model_name TEXT NOT NULL,
    parameters TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (workspace_id, name)
);
CREATE INDEX minds_provider ON minds (provider_id);

-- `tables` is a JSON array of {"schema": …, "name": …}; null means all tables, those that come later included.
CREATE TABLE mind_datasources (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    mind_id TEXT NOT NULL REFERENCES minds (id) ON DELETE CASCADE,
    datasource_id TEXT NOT NULL REFERENCES datasources (id),
    position BIGINT NOT NULL,
    tables TEXT,
    PRIMARY KEY (mind_id, datasource_id)
);
CREATE INDEX mind_datasources_datasource ON mind_datasources (datasource_id);

-- `description_source` is caller, source or none; with `caller` a null description is the caller's decision. `run_id` names
-- the run that took the table last: as long as that run is active, no other takes it. `loaded_at` is null without columns.
CREATE TABLE catalog_tables (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    datasource_id TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    schema_name TEXT NOT NULL,
    table_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    source_description TEXT,
    description TEXT,
    description_source TEXT NOT NULL,
    row_count BIGINT NOT NULL,
    row_count_known BIGINT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    missing BIGINT NOT NULL,
    run_id TEXT,
    loaded_at BIGINT,
    UNIQUE (datasource_id, schema_name, table_name)
);
CREATE INDEX catalog_tables_run ON catalog_tables (run_id);

CREATE TABLE catalog_columns (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    table_id TEXT NOT NULL REFERENCES catalog_tables (id) ON DELETE CASCADE,
    ordinal BIGINT NOT NULL,
    name TEXT NOT NULL,
    data_type TEXT NOT NULL,
    nullable BIGINT NOT NULL,
    default_value TEXT,
    source_description TEXT,
    description TEXT,
    description_source TEXT NOT NULL,
    statistics TEXT NOT NULL,
    PRIMARY KEY (table_id, ordinal),
    UNIQUE (table_id, name)
);

CREATE TABLE catalog_primary_keys (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    table_id TEXT NOT NULL REFERENCES catalog_tables (id) ON DELETE CASCADE,
    constraint_name TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    column_name TEXT NOT NULL,
    PRIMARY KEY (table_id, constraint_name, ordinal)
);

CREATE TABLE catalog_foreign_keys (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    table_id TEXT NOT NULL REFERENCES catalog_tables (id) ON DELETE CASCADE,
    constraint_name TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    column_name TEXT NOT NULL,
    referenced_schema TEXT NOT NULL,
    referenced_table TEXT NOT NULL,
    referenced_column TEXT NOT NULL,
    PRIMARY KEY (table_id, constraint_name, ordinal)
);

-- A run works on the tables that carry its id. With `whole` it lists the source first and takes what is new there;
-- `listed` says that this was done. `claimed_by` names the host that works on it, `heartbeat_at` says that this host lives.
CREATE TABLE catalog_runs (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    datasource_id TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    whole BIGINT NOT NULL,
    listed BIGINT NOT NULL,
    total BIGINT NOT NULL,
    done BIGINT NOT NULL,
    message TEXT NOT NULL,
    cancel_requested BIGINT NOT NULL,
    claimed_by TEXT,
    heartbeat_at BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX catalog_runs_datasource ON catalog_runs (datasource_id, created_at);
CREATE INDEX catalog_runs_status ON catalog_runs (status);

-- A conversation outlives its Mind, so `mind_id` is no foreign key: a new Mind of the same name inherits nothing.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT NOT NULL REFERENCES keys (id),
    mind_id TEXT,
    mind_name TEXT,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE INDEX conversations_key ON conversations (key_id, created_at);
CREATE INDEX conversations_workspace ON conversations (workspace_id, created_at);
CREATE INDEX conversations_mind ON conversations (mind_id);

CREATE TABLE responses (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT NOT NULL REFERENCES keys (id),
    conversation_id TEXT REFERENCES conversations (id),
    mind_id TEXT NOT NULL,
    mind_name TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    output TEXT NOT NULL,
    usage TEXT NOT NULL,
    metadata TEXT NOT NULL,
    previous_response_id TEXT,
    instructions TEXT,
    background BIGINT NOT NULL,
    host_id TEXT,
    heartbeat_at BIGINT,
    created_at BIGINT NOT NULL,
    completed_at BIGINT
);
CREATE INDEX responses_key ON responses (key_id, created_at);
CREATE INDEX responses_conversation ON responses (conversation_id);
CREATE INDEX responses_status ON responses (status);

-- `kind` is message or query_result. `sql` is the accepted statement in the words of caller or model; `sql_origin`
-- says whose: model or sql_query.
CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    response_id TEXT REFERENCES responses (id),
    position BIGINT NOT NULL,
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    content TEXT NOT NULL,
    sql TEXT,
    sql_origin TEXT,
    datasource_id TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (conversation_id, position)
);
CREATE INDEX messages_response ON messages (response_id);

-- Who did what to which resource. Never a secret, never a row of data.
CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    resource_id TEXT,
    detail TEXT NOT NULL,
    request_id TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX audit_workspace ON audit (workspace_id, created_at);
