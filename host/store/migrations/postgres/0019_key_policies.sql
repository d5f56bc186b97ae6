-- What the holder of a key sees of tables, as JSON: a list of datasource id and name, table and rule; the proof of the
-- key covers it. Null is none.
ALTER TABLE keys ADD COLUMN policies TEXT;
