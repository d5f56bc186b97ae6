-- The directory of a workspace's files, below `files/` in the data directory; null means one of its name.
ALTER TABLE workspaces ADD COLUMN folder TEXT;

-- Names of workspaces that were deleted, in lower case. Their files stay, so no later workspace gets the same directory.
CREATE TABLE former_workspaces (
    name TEXT PRIMARY KEY
) STRICT;
INSERT INTO former_workspaces (name)
SELECT DISTINCT lower(substr(resource, 13)) FROM audit
WHERE resource LIKE '/workspaces/%'
    AND ((action = 'DELETE /workspaces/{name}' AND detail = '204') OR action = 'mindhost workspaces delete');

-- What a key is and may do, under a key that is derived from the secret key: a row without it is no key.
ALTER TABLE keys ADD COLUMN proof BLOB;

-- The servers that use this store, and which secret keys each of them has, while the secret key is changed.
CREATE TABLE secret_key_hosts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    key_ids TEXT NOT NULL,
    sealing TEXT NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;
