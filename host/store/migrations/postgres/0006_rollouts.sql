-- How versions of plugins took the place of others. Of no workspace, like the plugins. `record` is the rollout as JSON;
-- `ended_at` is 0 while it is under way, `seen_at` is
-- when its host last said so, and `told` is what another host wants of it: `settle`, or `abort` with the reason.
CREATE TABLE rollouts (
    id TEXT PRIMARY KEY,
    plugin TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    told TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX rollouts_plugin ON rollouts (plugin, started_at);
CREATE UNIQUE INDEX rollouts_under_way ON rollouts (plugin) WHERE ended_at = 0;
