-- Requests with an Idempotency-Key, for a day. `request` is a keyed hash of what was sent. What it came to is a response, or
-- a status and a body.
CREATE TABLE idempotency (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT NOT NULL REFERENCES keys (id),
    route TEXT NOT NULL,
    name TEXT NOT NULL,
    request BLOB NOT NULL,
    response_id TEXT,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (key_id, route, name)
) STRICT;
CREATE INDEX idempotency_created ON idempotency (created_at);
