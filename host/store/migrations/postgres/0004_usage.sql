-- What keys have used, by day (days since 1970 in UTC) and Mind; `mind_id` is empty for what is of no Mind, and outlives it.
CREATE TABLE usage_days (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_id TEXT NOT NULL REFERENCES keys (id),
    mind_id TEXT NOT NULL,
    day BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    result_rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    PRIMARY KEY (key_id, mind_id, day)
);
CREATE INDEX usage_days_workspace ON usage_days (workspace_id, day);
