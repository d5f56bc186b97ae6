-- What a Mind was taught. `kind` is instruction, term, metric, relationship or verified_query; `body` holds its fields.
-- `name_key` is the name as it must be unique. `status` is valid, or stale with a reason.
CREATE TABLE knowledge (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    mind_id TEXT NOT NULL REFERENCES minds (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    stale_reason TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    checked_at BIGINT NOT NULL,
    UNIQUE (mind_id, kind, name_key)
);
CREATE INDEX knowledge_mind ON knowledge (mind_id, id);

-- The state of a Mind, its datasources and their catalogs that its knowledge was last checked against.
CREATE TABLE knowledge_checks (
    mind_id TEXT PRIMARY KEY REFERENCES minds (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    state TEXT NOT NULL,
    checked_at BIGINT NOT NULL
);

-- What a key says of a response. `knowledge_id` is the verified query that was made of it; that may be deleted, so it is
-- no foreign key, and neither is `mind_id`, as in responses.
CREATE TABLE feedback (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    mind_id TEXT NOT NULL,
    response_id TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
    key_id TEXT NOT NULL REFERENCES keys (id),
    rating TEXT NOT NULL,
    comment TEXT,
    corrected_sql TEXT,
    knowledge_id TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (response_id, key_id)
);
CREATE INDEX feedback_mind ON feedback (mind_id, id);
