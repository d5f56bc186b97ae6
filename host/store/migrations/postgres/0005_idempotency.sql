-- Requests with an Idempotency-Key, for a day. `request` is a keyed hash of what was sent. What it came to is a response, or
-- a status and a body.
CREATE TABLE idempotency (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT NOT NULL REFERENCES keys (id),
    route TEXT NOT NULL,
    name TEXT NOT NULL,
    request BYTEA NOT NULL,
    response_id TEXT,
    status BIGINT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (key_id, route, name)
);
CREATE INDEX idempotency_created ON idempotency (created_at);
