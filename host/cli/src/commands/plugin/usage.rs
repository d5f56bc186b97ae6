//! `mindhost plugin usage`

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use super::{super::remote::Remote, health, names, text};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct Usage {
    /// The plugin: connector-postgres.
    name: String,
    /// The first day (UTC), such as 2026-01-01. Default: 29 days before the last one.
    #[arg(long, value_name = "DAY")]
    from: Option<jiff::civil::Date>,
    /// The last day (UTC). Default: today.
    #[arg(long, value_name = "DAY")]
    until: Option<jiff::civil::Date>,
    /// The most lines to print; a line is one day of one datasource.
    #[arg(long)]
    limit: Option<u32>,
    /// Print the server's JSON, with all figures.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(usage: &Usage) -> anyhow::Result<()> {
    let name = names::name(&usage.name)?;
    let server = usage.remote.server()?;
    let mut request = server.request(Method::GET, &["plugins", name, "usage"]);
    for (key, day) in [("from", usage.from), ("until", usage.until)] {
        if let Some(day) = day {
            request = request.query(&[(key, day.to_string())]);
        }
    }
    if let Some(limit) = usage.limit {
        request = request.query(&[("limit", limit)]);
    }
    let used = server.send(request).await?;
    if usage.json {
        say!("{used:#}");
        return Ok(());
    }
    for version in text::array(&used["since_start"]) {
        let health = health::trouble(&version["health"]).unwrap_or("ok".to_owned());
        say!("{name} {}, {health}", text::version(version));
        say!("  since the start: {}", figures(&version["figures"]));
        for target in text::array(&version["targets"]) {
            say!(
                "    {}: {}",
                place(target, "name"),
                figures(&target["figures"])
            );
        }
    }
    for line in text::array(&used["days"]) {
        let day = line["day"].as_str().unwrap_or_default();
        let version = text::version(line);
        say!(
            "{day}  {version}  {}: {}",
            place(line, "target"),
            figures(&line["figures"])
        );
    }
    if used["has_more"] == true {
        say!("there is more; raise --limit, or ask for fewer days");
    }
    Ok(())
}

fn place(target: &Value, name: &str) -> String {
    let text = |name: &str| target[name].as_str().unwrap_or("-");
    format!("{}/{}", text("workspace"), text(name))
}

/// The figures that are not zero.
fn figures(figures: &Value) -> String {
    let count = |name: &str| figures[name].as_u64().unwrap_or_default();
    let seconds = |name: &str| format!("{:.3} s", count(name) as f64 / 1e9);
    let mut told = vec![format!(
        "{} calls in {}",
        count("calls"),
        seconds("call_ns")
    )];
    told.push(format!("{} computing", seconds("cpu_ns")));
    for (name, what) in [
        ("rows", "rows"),
        ("result_bytes", "bytes of results"),
        ("input_tokens", "tokens read"),
        ("output_tokens", "tokens written"),
        ("received_bytes", "bytes received"),
        ("sent_bytes", "bytes sent"),
        ("plugin_errors", "faults of the plugin"),
        ("upstream_errors", "faults of the upstream"),
        ("host_errors", "faults of this server"),
        ("traps", "traps"),
        ("refused", "refused"),
        ("peak_memory_bytes", "bytes of memory at most"),
    ] {
        if count(name) > 0 {
            told.push(format!("{} {what}", count(name)));
        }
    }
    told.join(", ")
}
