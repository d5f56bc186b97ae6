-- `limits` is a JSON object of the bounds that the caller set: max_output_tokens, max_inline_rows. `is_cut` says that the
-- model stopped in the middle, at a limit of tokens.
ALTER TABLE responses ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
ALTER TABLE responses ADD COLUMN is_cut INTEGER NOT NULL DEFAULT 0;
