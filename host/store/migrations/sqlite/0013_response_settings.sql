-- What the caller set for a response besides its bounds, as JSON.
ALTER TABLE responses ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
