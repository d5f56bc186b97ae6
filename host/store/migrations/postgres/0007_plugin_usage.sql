-- What plugins have used, by version (the digest of its file), target (datasource or provider) and day (days since 1970 in
-- UTC). Names are those of the time: the lines outlive what they tell of. Times are nanoseconds.
CREATE TABLE plugin_usage_days (
    day BIGINT NOT NULL,
    digest TEXT NOT NULL,
    target_id TEXT NOT NULL,
    plugin TEXT NOT NULL,
    version TEXT NOT NULL,
    target_name TEXT NOT NULL,
    workspace TEXT NOT NULL,
    calls BIGINT NOT NULL,
    call_ns BIGINT NOT NULL,
    cpu_ns BIGINT NOT NULL,
    upstream_ns BIGINT NOT NULL,
    plugin_errors BIGINT NOT NULL,
    upstream_errors BIGINT NOT NULL,
    host_errors BIGINT NOT NULL,
    caller_errors BIGINT NOT NULL,
    traps BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    received_bytes BIGINT NOT NULL,
    sent_bytes BIGINT NOT NULL,
    result_bytes BIGINT NOT NULL,
    result_rows BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    instances_started BIGINT NOT NULL,
    peak_memory_bytes BIGINT NOT NULL,
    PRIMARY KEY (day, digest, target_id)
);
CREATE INDEX plugin_usage_days_plugin ON plugin_usage_days (plugin, day);
