-- What plugins have used, by version (the digest of its file), target (datasource or provider) and day (days since 1970 in
-- UTC). Names are those of the time: the lines outlive what they tell of. Times are nanoseconds.
CREATE TABLE plugin_usage_days (
    day INTEGER NOT NULL,
    digest TEXT NOT NULL,
    target_id TEXT NOT NULL,
    plugin TEXT NOT NULL,
    version TEXT NOT NULL,
    target_name TEXT NOT NULL,
    workspace TEXT NOT NULL,
    calls INTEGER NOT NULL,
    call_ns INTEGER NOT NULL,
    cpu_ns INTEGER NOT NULL,
    upstream_ns INTEGER NOT NULL,
    plugin_errors INTEGER NOT NULL,
    upstream_errors INTEGER NOT NULL,
    host_errors INTEGER NOT NULL,
    caller_errors INTEGER NOT NULL,
    traps INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    result_bytes INTEGER NOT NULL,
    result_rows INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    instances_started INTEGER NOT NULL,
    peak_memory_bytes INTEGER NOT NULL,
    PRIMARY KEY (day, digest, target_id)
) STRICT;
CREATE INDEX plugin_usage_days_plugin ON plugin_usage_days (plugin, day);
