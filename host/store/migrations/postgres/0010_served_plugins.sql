-- Versions of plugins that have served: what each was allowed, when it was switched to last, and when it was taken back
-- since then, which is 0 if it was not. Of no workspace, like the plugins.
CREATE TABLE served_plugins (
    digest TEXT PRIMARY KEY,
    rights TEXT NOT NULL,
    served_at BIGINT NOT NULL,
    rolled_back_at BIGINT NOT NULL
);
