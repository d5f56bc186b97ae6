-- The Mind that a question was for; its path does not name it.
ALTER TABLE audit ADD COLUMN mind_id TEXT;
