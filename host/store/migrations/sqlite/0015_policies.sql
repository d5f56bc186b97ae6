-- What the callers of a Mind see of its tables, as JSON: a list of datasource id, table and rule.
ALTER TABLE minds ADD COLUMN policies TEXT NOT NULL DEFAULT '[]';
-- What a key says about its holder, as a JSON object; the proof of the key covers it. Null is none.
ALTER TABLE keys ADD COLUMN attributes TEXT;
