-- What keys have used, by day (days since 1970 in UTC) and Mind; `mind_id` is empty for what is of no Mind, and outlives it.
CREATE TABLE usage_days (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT NOT NULL REFERENCES keys (id),
    mind_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    result_rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    PRIMARY KEY (key_id, mind_id, day)
) STRICT;
CREATE INDEX usage_days_workspace ON usage_days (workspace_id, day);
