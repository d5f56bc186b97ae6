//! Range checks. A server that could serve no request does not start.

use std::time::Duration;

use super::{Config, ConfigError, PluginLimits};

/// Characters of the admin key. A shorter one could be guessed.
const MIN_ADMIN_KEY: usize = 24;

/// Refuses the first setting that is out of range.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    for (name, value) in counts(config) {
        at_least_one(name, value)?;
    }
    for (name, time) in times(config) {
        longer_than_zero(name, time)?;
    }
    for (plugin, limits) in &config.plugins.limits.by_plugin {
        of_plugin(plugin, limits)?;
    }
    let admin_key = config.admin_key.get();
    require(
        "admin_key",
        admin_key.is_none_or(|key| key.len() >= MIN_ADMIN_KEY),
        "must be 24 characters or more",
    )?;
    require(
        "server.cors_origins",
        config.server.cors_origins.iter().all(|one| is_origin(one)),
        "must be origins without a path, such as \"https://app.example.com\"; `*` is none",
    )?;
    let rollouts = &config.rollouts;
    let is_share = (0.0..=1.0).contains(&rollouts.fault_share);
    require(
        "rollouts.fault_share",
        is_share,
        "must be between 0.0 and 1.0",
    )?;
    let is_factor = rollouts.slower.is_finite() && rollouts.slower >= 1.0;
    require("rollouts.slower", is_factor, "must be 1.0 or more")?;
    let percent = config.telemetry.sample_percent;
    require(
        "telemetry.sample_percent",
        percent <= 100,
        "must be between 0 and 100",
    )
}

/// Settings that must be greater than 0.
fn counts(config: &Config) -> Vec<(&'static str, u64)> {
    let plugins = &config.plugins.limits;
    let (sql, catalog, answering) = (&config.sql, &config.catalog, &config.answering);
    vec![
        ("server.body_limit", config.server.body_limit as u64),
        (
            "server.max_connections",
            config.server.max_connections as u64,
        ),
        ("store.max_connections", config.store.max_connections.into()),
        ("files.max_upload_bytes", config.files.max_upload_bytes),
        (
            "files.max_workspace_bytes",
            config.files.max_workspace_bytes,
        ),
        ("plugins.max_memory_bytes", plugins.max_memory_bytes),
        (
            "plugins.max_total_memory_bytes",
            plugins.max_total_memory_bytes,
        ),
        (
            "plugins.max_workspace_memory_bytes",
            plugins.max_workspace_memory_bytes,
        ),
        (
            "plugins.max_target_memory_bytes",
            plugins.max_target_memory_bytes,
        ),
        ("plugins.max_instances", plugins.max_instances.into()),
        (
            "plugins.max_workspace_instances",
            plugins.max_workspace_instances.into(),
        ),
        (
            "plugins.max_key_instances",
            plugins.max_key_instances.into(),
        ),
        ("plugins.batch_bytes", plugins.batch_bytes.into()),
        ("plugins.max_batch_bytes", plugins.max_batch_bytes.into()),
        ("plugins.max_cell_bytes", plugins.max_cell_bytes.into()),
        ("plugins.max_columns", plugins.max_columns.into()),
        ("plugins.max_tables", plugins.max_tables.into()),
        (
            "plugins.max_message_bytes",
            plugins.max_message_bytes.into(),
        ),
        (
            "plugins.max_completion_bytes",
            plugins.max_completion_bytes.into(),
        ),
        ("plugins.query_memory_bytes", plugins.query_memory_bytes),
        (
            "plugins.max_total_query_memory_bytes",
            plugins.max_total_query_memory_bytes,
        ),
        (
            "plugins.max_total_query_spill_bytes",
            plugins.max_total_query_spill_bytes,
        ),
        ("plugins.query_moved_rows", plugins.query_moved_rows),
        ("plugins.query_moved_bytes", plugins.query_moved_bytes),
        ("plugins.max_package_bytes", plugins.max_package_bytes),
        ("plugins.faults.budget", plugins.faults.budget.into()),
        ("sql.max_connections", sql.max_connections.into()),
        (
            "sql.max_connections_ceiling",
            sql.max_connections_ceiling.into(),
        ),
        ("sql.statement_bytes", sql.statement_bytes as u64),
        ("sql.page_bytes", sql.page_bytes as u64),
        ("catalog.concurrency", catalog.concurrency as u64),
        ("answering.tokens", answering.tokens),
        ("answering.answer_bytes", answering.answer_bytes as u64),
        (
            "answering.concurrent_per_key",
            answering.concurrent_per_key as u64,
        ),
    ]
}

/// Durations that must be longer than zero.
fn times(config: &Config) -> Vec<(&'static str, Duration)> {
    let plugins = &config.plugins.limits;
    let (sql, catalog, answering) = (&config.sql, &config.catalog, &config.answering);
    vec![
        ("server.body_idle_timeout", config.server.body_idle_timeout),
        ("server.body_timeout", config.server.body_timeout),
        (
            "server.first_request_timeout",
            config.server.first_request_timeout,
        ),
        ("server.idle_timeout", config.server.idle_timeout),
        ("store.acquire_timeout", config.store.acquire_timeout),
        // Unlike `store.retention` it has no value that keeps everything, and zero would delete the whole trail.
        ("audit.retention", config.audit.retention),
        ("plugins.max_call_time", plugins.max_call_time),
        ("plugins.connect_timeout", plugins.connect_timeout),
        ("plugins.http_idle_timeout", plugins.http_idle_timeout),
        ("rollouts.check_timeout", config.rollouts.check_timeout),
        ("sql.statement_timeout", sql.statement_timeout),
        (
            "sql.statement_timeout_ceiling",
            sql.statement_timeout_ceiling,
        ),
        ("sql.export_timeout", sql.export_timeout),
        ("sql.export_idle_timeout", sql.export_idle_timeout),
        ("catalog.check_timeout", catalog.check_timeout),
        ("catalog.table_timeout", catalog.table_timeout),
        ("answering.wall_clock", answering.wall_clock),
        ("answering.keep_alive", answering.keep_alive),
    ]
}

/// Whether a browser can send it as `Origin`.
fn is_origin(text: &str) -> bool {
    let is_authority = |rest: &str| {
        let is_part = |byte: u8| byte.is_ascii_graphic() && !b"/*?#@,".contains(&byte);
        !rest.is_empty() && rest.bytes().all(is_part)
    };
    matches!(text, "null" | "file://")
        || text
            .split_once("://")
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && is_authority(rest))
}

fn of_plugin(plugin: &str, limits: &PluginLimits) -> Result<(), ConfigError> {
    let of = |limit: &str| format!("plugins.limits.{plugin}.{limit}");
    for (limit, value) in [
        ("max_memory_bytes", limits.max_memory_bytes),
        ("max_total_memory_bytes", limits.max_total_memory_bytes),
        ("max_target_memory_bytes", limits.max_target_memory_bytes),
        ("max_connections", limits.max_connections.map(u64::from)),
        ("batch_bytes", limits.batch_bytes.map(u64::from)),
        ("max_batch_bytes", limits.max_batch_bytes.map(u64::from)),
        ("max_cell_bytes", limits.max_cell_bytes.map(u64::from)),
    ] {
        at_least_one(&of(limit), value.unwrap_or(1))?;
    }
    longer_than_zero(
        &of("max_call_time"),
        limits.max_call_time.unwrap_or(Duration::MAX),
    )
}

fn at_least_one(name: &str, value: u64) -> Result<(), ConfigError> {
    require(name, value > 0, "must be greater than 0")
}

fn longer_than_zero(name: &str, time: Duration) -> Result<(), ConfigError> {
    require(name, !time.is_zero(), "must be longer than \"0s\"")
}

fn require(name: &str, in_range: bool, problem: &str) -> Result<(), ConfigError> {
    match in_range {
        true => Ok(()),
        false => Err(ConfigError::OutOfRange {
            name: name.to_owned(),
            problem: problem.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_out_of_range_is_refused_by_name() {
        for (name, value) in [
            ("plugins.max_instances", "0"),
            ("plugins.batch_bytes", "0"),
            ("plugins.max_call_time", "0s"),
            ("plugins.limits.connector-x.max_memory_bytes", "0"),
            ("plugins.limits.connector-x.max_connections", "0"),
            ("plugins.limits.connector-x.max_call_time", "0s"),
            ("rollouts.fault_share", "-1"),
            ("rollouts.fault_share", "2"),
            ("rollouts.slower", "0"),
            ("rollouts.check_timeout", "0s"),
            ("answering.keep_alive", "0s"),
            ("audit.retention", "0s"),
            ("server.cors_origins", "*"),
            ("server.cors_origins", "app.example.com"),
            ("server.cors_origins", "https://app.example.com/"),
            ("admin_key", "mh_12345678901234567890"),
        ] {
            let variable = name.replace('.', "__").replace('-', "_").to_uppercase();
            let set = [(format!("MINDHOST_{variable}"), value.to_owned())];
            let error = Config::from_env(set).unwrap_err().to_string();
            let expected = format!("the setting `{name}` must be ");
            assert!(error.starts_with(&expected), "{error}");
        }
        for (name, value) in [
            ("ROLLOUTS__TARGETS", "0"),
            ("ROLLOUTS__PROBATION", "0s"),
            (
                "SERVER__CORS_ORIGINS",
                "https://app.example.com,http://[::1]:3000",
            ),
        ] {
            let set = [(format!("MINDHOST_{name}"), value.to_owned())];
            assert!(Config::from_env(set).is_ok(), "{name}");
        }
    }
}
