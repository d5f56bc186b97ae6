-- Ids of the requests that began what goes on in the background: under them the log has how it ended. Null of what began
-- before, or without a request.
ALTER TABLE catalog_runs ADD COLUMN request_id TEXT;
ALTER TABLE evaluations ADD COLUMN request_id TEXT;
