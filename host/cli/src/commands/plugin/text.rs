//! Plugins and rollouts as text.

use std::fmt::Write as _;

use anyhow::{Context, bail};
use serde_json::Value;

use super::health::{self, Health};
use crate::commands::say::plain;

/// The start of a digest, for people.
fn short(digest: &Value) -> &str {
    let digest = digest.as_str().unwrap_or("-");
    digest.get(..12).unwrap_or(digest)
}

fn of<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("-")
}

/// A file and its rights.
pub(super) fn asks(inspected: &Value) -> String {
    let mut text = format!(
        "{} {} ({})\n  digest     sha256:{}\n  size       {} bytes\n  signer     {}\n  contract   {} of WIT {}\n",
        of(inspected, "name"),
        of(inspected, "version"),
        of(inspected, "title"),
        of(inspected, "digest"),
        inspected["size"],
        signed_by(inspected),
        of(inspected, "world"),
        of(inspected, "wit"),
    );
    let manifest = &inspected["manifest"];
    let mut line = |what: &str, value: String| {
        // The manifest is the plugin's word: it must not look like a line of this program.
        let _ = writeln!(text, "  {what:<10} {}", plain(&value));
    };
    for engine in array(&inspected["engines"]) {
        line("serves", engine.as_str().unwrap_or_default().to_owned());
    }
    let user = match inspected["kind"].as_str() {
        Some("model") => "model provider",
        _ => "datasource",
    };
    for grant in array(&manifest["network"]) {
        let port = &grant["default_port"];
        line(
            "TCP to",
            format!(
                "the `{}` of a {user}, its `{}` or port {port}",
                of(grant, "host"),
                of(grant, "port")
            ),
        );
    }
    for grant in array(&manifest["http"]) {
        let default = grant["default"].as_str().map(|url| format!(", or {url}"));
        line(
            "HTTP to",
            format!(
                "the `{}` of a {user}{}",
                of(grant, "url"),
                default.unwrap_or_default()
            ),
        );
    }
    for grant in array(&manifest["files"]) {
        line(
            "reads",
            format!(
                "the {} named by `{}`",
                grant["kind"].as_str().unwrap_or("file"),
                of(grant, "path")
            ),
        );
    }
    for rule in array(&manifest["credentials"]) {
        let who = match rule["scheme"].as_str() {
            Some("guest-held") => "is given to the plugin itself",
            Some("oauth2-client-credentials") => {
                "stays in the host, which gets access tokens with it and adds those to requests"
            }
            _ => "stays in the host, which adds it to requests",
        };
        line("secret", format!("`{}` {who}", of(rule, "property")));
    }
    let properties = manifest["connection_data"]["properties"].as_object();
    let has_rule = |name: &String| {
        let rules = array(&manifest["credentials"]);
        rules.iter().any(|rule| rule["property"] == name.as_str())
    };
    for (name, property) in properties.into_iter().flatten() {
        if property["x-secret"] == true && !has_rule(name) {
            line("secret", format!("`{name}` is given to the plugin itself"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        let what = property["description"].as_str().unwrap_or_default();
        line("setting", format!("{name}  {what}"));
    }
    text.push_str(&wider(inspected, "  "));
    text.trim_end().to_owned()
}

/// The signer of a file, and the other plugins that the key is trusted with.
fn signed_by(inspected: &Value) -> String {
    let signer = inspected["signer"].as_str();
    let signer = signer.unwrap_or("unsigned (no trusted signature)");
    match inspected["signer_limits"].as_str() {
        Some(limits) => format!("{signer}, trusted with {limits}"),
        None => signer.to_owned(),
    }
}

/// The additional rights of a version, one per line.
fn wider(version: &Value, indent: &str) -> String {
    let right = |right: &Value| {
        let [name, what] = ["name", "description"].map(|field| plain(of(right, field)));
        format!("{indent}needs --accept-rights {name}: {what}\n")
    };
    array(&version["wider_rights"]).iter().map(right).collect()
}

/// A version: its number and the start of its digest.
pub(super) fn version(version: &Value) -> String {
    format!("{} ({})", of(version, "version"), short(&version["digest"]))
}

/// Finds the digest of a version by its number or the start of its digest.
pub(super) fn find<'a>(plugin: &'a Value, wanted: &str) -> anyhow::Result<&'a str> {
    let name = of(plugin, "name");
    let prefix = wanted.strip_prefix("sha256:").unwrap_or(wanted);
    let fits = |one: &&Value| {
        one["version"] == wanted
            || one["digest"]
                .as_str()
                .is_some_and(|own| own.starts_with(prefix))
    };
    let fitting: Vec<&Value> = array(&plugin["versions"]).iter().filter(fits).collect();
    match fitting[..] {
        [one] => one["digest"].as_str().context("the version has no digest"),
        [] => bail!(
            "{name} has no version {wanted}; `mindhost plugin show {name}` shows those there are"
        ),
        _ => bail!("several files are {name} {wanted}; name one by the beginning of its digest"),
    }
}

/// The state of a version: whether it serves, and whether it is suspended.
fn status(version: &Value, health: &Health) -> String {
    let mut text = of(version, "status").to_owned();
    if let Some(reason) = version["reason"].as_str() {
        let _ = write!(text, ": {reason}");
    }
    let digest = version["digest"].as_str().unwrap_or_default();
    if let Some(trouble) = health.get(digest).and_then(health::trouble) {
        let _ = write!(text, "; {trouble}");
    }
    text
}

/// A plugin on one line: its name, its slots, and the health of the serving version.
pub(super) fn listed(plugin: &Value, health: &Health) -> String {
    let versions = array(&plugin["versions"]);
    let active = |one: &&Value| one["status"] == "active";
    let shown = versions.iter().find(active).or(versions.last());
    let Some(shown) = shown else {
        return of(plugin, "name").to_owned();
    };
    let engines: Vec<_> = array(&shown["engines"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let serves = match engines.is_empty() {
        true => of(plugin, "kind").to_owned(),
        false => format!("{} for {}", of(plugin, "kind"), engines.join(", ")),
    };
    let others = match versions.len() {
        0 | 1 => String::new(),
        count => format!("; {count} versions are installed"),
    };
    format!(
        "{} {}  {serves}  {}  {}{others}{}",
        of(plugin, "name"),
        of(shown, "version"),
        short(&shown["digest"]),
        status(shown, health),
        missing(plugin)
    )
}

/// A line for each active version that the server does not serve.
fn missing(plugin: &Value) -> String {
    let line = |one: &Value| {
        let instead = match one["instead"].as_str() {
            Some(_) => format!("{} serves instead", short(&one["instead"])),
            None => "nothing serves instead".to_owned(),
        };
        format!(
            "\n  MISSING: the active version for {}, {}, is not on this server or cannot be used; {instead}. Install \
             the same file here (`mindhost plugin install`), or activate another version",
            of(one, "serves"),
            short(&one["digest"]),
        )
    };
    array(&plugin["missing"]).iter().map(line).collect()
}

/// A plugin with its versions and newest rollouts.
pub(super) fn plugin(plugin: &Value, health: &Health) -> String {
    let mut text = format!("{} ({})", of(plugin, "name"), of(plugin, "kind"));
    text.push_str(&missing(plugin));
    text.push('\n');
    for version in array(&plugin["versions"]) {
        let _ = writeln!(
            text,
            "  {}  {:<10} {}",
            short(&version["digest"]),
            of(version, "version"),
            status(version, health)
        );
        text.push_str(&wider(version, "                "));
    }
    for rollout in array(&plugin["rollouts"]).iter().take(5) {
        let _ = writeln!(
            text,
            "  {}  {}",
            of(rollout, "started_at"),
            self::rollout(rollout)
        );
    }
    text.trim_end().to_owned()
}

/// The state of a rollout.
pub(super) fn rollout(rollout: &Value) -> String {
    let mut text = format!(
        "{} {} ({}): {}",
        of(rollout, "plugin"),
        of(rollout, "version"),
        short(&rollout["to"]),
        of(rollout, "stage").replace('_', " ")
    );
    if let Some(reason) = rollout["reason"].as_str() {
        let _ = write!(text, ", {reason}");
    }
    let accepted = array(&rollout["accepted_rights"]).iter();
    let accepted: Vec<&str> = accepted.map(|right| of(right, "name")).collect();
    if !accepted.is_empty() {
        let _ = write!(text, "; accepted were {}", accepted.join(", "));
    }
    let checks = array(&rollout["checks"]);
    if !checks.is_empty() {
        let passed = checks.iter().filter(|check| check["outcome"] == "passed");
        let _ = write!(
            text,
            "; tried with {}, {} passed",
            checks.len(),
            passed.count()
        );
    }
    if rollout["candidate"]["calls"].as_u64().unwrap_or_default() > 0 {
        let candidate = &rollout["candidate"];
        let _ = write!(
            text,
            "; {} calls watched, {} faults",
            candidate["calls"], candidate["faults"]
        );
    }
    text
}

/// The items of an array; none for other values.
pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_of_a_manifest_makes_a_line_of_its_own() {
        let text = "x\n  signer     us\u{1b}[2K\u{202e}";
        let manifest = json!({
            "http": [{"url": "url", "default": text}],
            "credentials": [{"property": text, "scheme": "bearer"}],
            "connection_data": {"properties": {
                "path": {"description": text}, text: {"x-secret": true},
            }},
        });
        let right = json!({"name": text, "description": text});
        let shown = asks(&json!({"manifest": manifest, "wider_rights": [right]}));
        let signers: Vec<&str> = shown
            .lines()
            .filter(|line| line.starts_with("  signer"))
            .collect();
        assert_eq!(signers, ["  signer     unsigned (no trusted signature)"]);
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        assert!(
            shown.contains("  setting    path  x\u{fffd}  signer"),
            "{shown}"
        );
    }
}
