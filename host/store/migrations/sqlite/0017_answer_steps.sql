-- Tool calls of the model, as a JSON list; null for a statement of the caller, and for older answers.
ALTER TABLE responses ADD COLUMN steps TEXT;
