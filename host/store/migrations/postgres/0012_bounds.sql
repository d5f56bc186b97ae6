-- What keys have stored of conversations, their messages, responses and what is kept for an Idempotency-Key, in bytes: their
-- text, and a little for each row.
CREATE TABLE stored_bytes (
    key_id TEXT PRIMARY KEY REFERENCES keys (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    bytes BIGINT NOT NULL
);
CREATE INDEX stored_bytes_workspace ON stored_bytes (workspace_id);
INSERT INTO stored_bytes (key_id, workspace_id, bytes)
SELECT key_id, MIN(workspace_id), CAST(SUM(bytes) AS BIGINT) FROM (
    SELECT key_id, workspace_id, octet_length(metadata) + 256 AS bytes FROM conversations
    UNION ALL
    SELECT c.key_id, c.workspace_id, octet_length(m.content) + COALESCE(octet_length(m.sql), 0) + 256
    FROM messages m JOIN conversations c ON c.id = m.conversation_id
    UNION ALL
    SELECT key_id, workspace_id, octet_length(output) + octet_length(metadata) + COALESCE(octet_length(instructions), 0)
        + COALESCE(octet_length(error), 0) + 256
    FROM responses
    UNION ALL
    SELECT key_id, workspace_id, octet_length(name) + octet_length(body) + 256 FROM idempotency
) AS stored GROUP BY key_id;
-- A list of tables that is being stored, a piece at a time. Tables that it adds carry its id, and are not shown before the
-- list is whole and its row is gone.
CREATE TABLE catalog_listings (
    datasource_id TEXT PRIMARY KEY REFERENCES datasources (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    id TEXT NOT NULL UNIQUE
);
ALTER TABLE catalog_tables ADD COLUMN listing_id TEXT;
