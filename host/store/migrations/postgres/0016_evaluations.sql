-- Runs of a suite of questions against a Mind. `status` is running, completed, cancelled or failed; a run whose `beat_at`
-- is old has lost its host. `figures` and `report` are JSON: sums, and the questions that were judged so far.
CREATE TABLE evaluations (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    mind_id TEXT NOT NULL REFERENCES minds (id) ON DELETE CASCADE,
    key_id TEXT NOT NULL,
    suite TEXT NOT NULL,
    currency TEXT NOT NULL,
    questions BIGINT NOT NULL,
    judged BIGINT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    figures TEXT NOT NULL,
    report TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    beat_at BIGINT NOT NULL
);
CREATE INDEX evaluations_mind ON evaluations (mind_id, id);
