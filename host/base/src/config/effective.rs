//! The settings of this process as they are, each with where its value comes from.

use std::fmt::{self, Write as _};

use figment::value::{Num, Value};

use super::{ConfigError, load::Layers};

/// The settings whose values are never shown.
const SECRETS: [&str; 3] = ["database_url", "admin_key", "secrets.key"];

/// What stands in the place of a secret.
const MASKED: &str = "(set, not shown)";

/// A setting with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// With its section: `sql.page_bytes`.
    pub name: String,
    /// The value as TOML. Secrets are masked.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Where the value of a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is not set.
    Default,
    /// The file or the environment variable, with its name.
    Set(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Set(origin) => origin,
        })
    }
}

/// All settings, in the order of `mindhost.default.toml`; then the limits of single plugins.
pub(super) fn effective(layers: &Layers) -> Result<Vec<EffectiveSetting>, ConfigError> {
    // A setting that `serve` refuses has no effect to show.
    layers.config()?;
    let mut names = layers.in_file_order();
    for assignment in &layers.assigned {
        if !names.contains(&assignment.name) {
            names.push(assignment.name.clone());
        }
    }
    let all = names.into_iter().map(|name| {
        let (value, origin) = layers.value(&name)?;
        Some(EffectiveSetting {
            value: shown(&name, value),
            origin: origin.map_or(Origin::Default, |origin| Origin::Set(origin.to_owned())),
            name,
        })
    });
    Ok(all.flatten().collect())
}

fn shown(name: &str, value: &Value) -> String {
    let is_empty = value.as_str().is_some_and(str::is_empty);
    match SECRETS.contains(&name) && !is_empty {
        true => quoted(MASKED),
        false => toml(value),
    }
}

/// A value in the syntax of the file. An address with a password is shown without it.
fn toml(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(_, text) => quoted(&without_password(text)),
        Value::Char(_, sign) => quoted(&sign.to_string()),
        Value::Bool(_, value) => value.to_string(),
        Value::Num(_, number) => number_text(*number),
        Value::Empty(..) => quoted(""),
        Value::Array(_, items) => {
            let items = items.iter().map(toml).collect();
            format!("[{}]", joined(items))
        }
        Value::Dict(_, fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| format!("{key} = {}", toml(value)));
            format!("{{ {} }}", joined(fields.collect()))
        }
    }
}

fn number_text(number: Num) -> String {
    match number.to_f64() {
        Some(number) => format!("{number:?}"),
        None => match (number.to_i128(), number.to_u128()) {
            (Some(number), _) => number.to_string(),
            (None, Some(number)) => number.to_string(),
            (None, None) => String::new(),
        },
    }
}

/// `https://user:password@host` with the password masked.
fn without_password(text: &str) -> String {
    let masked = || {
        let (scheme, rest) = text.split_once("://")?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (user, _) = rest.get(..end)?.rsplit_once('@')?;
        let name = user.split(':').next()?;
        let host = rest.get(user.len()..)?;
        (name.len() < user.len()).then(|| format!("{scheme}://{name}:{MASKED}{host}"))
    };
    masked().unwrap_or_else(|| text.to_owned())
}

/// Text as a TOML string.
fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => written.extend(['\\', sign]),
            sign if sign.is_control() => {
                let _ = write!(written, "\\u{:04X}", u32::from(sign));
            }
            sign => written.push(sign),
        }
    }
    written.push('"');
    written
}

#[cfg(test)]
mod tests {
    use super::super::load::layers;
    use super::*;

    fn all(vars: &[(&str, &str)]) -> Vec<EffectiveSetting> {
        let vars = vars.iter();
        let vars = vars.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        effective(&layers(vars).unwrap()).unwrap()
    }

    fn line(all: &[EffectiveSetting], name: &str) -> String {
        let one = all.iter().find(|one| one.name == name).unwrap();
        format!("{} # {}", one.value, one.origin)
    }

    #[test]
    fn each_setting_has_its_value_and_its_origin() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mindhost.toml");
        let text = "[sql]\nmax_connections = 3\nstatement_timeout = \"5s\"\n\
                    [plugins]\ntrusted_keys = [{ key = \"RWQ\", plugins = [\"a\"] }]\n";
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let all = all(&[
            ("MINDHOST_CONFIG", path),
            ("MINDHOST_SQL__STATEMENT_TIMEOUT", "7s"),
            ("MINDHOST_FILES__ROOTS", "/a, /b\"\\"),
            ("MINDHOST_ROLLOUTS__SLOWER", "2"),
            ("MINDHOST_LISTEN", ""),
            (
                "MINDHOST_PLUGINS__LIMITS__CONNECTOR_X__MAX_CONNECTIONS",
                "2",
            ),
        ]);
        let origin = |variable: &str| format!("the environment variable MINDHOST_{variable}");
        let expected = [
            ("listen", "\"127.0.0.1:8080\" # default".to_owned()),
            ("sql.max_connections", format!("3 # the file {path}")),
            (
                "sql.statement_timeout",
                format!("\"7s\" # {}", origin("SQL__STATEMENT_TIMEOUT")),
            ),
            (
                "files.roots",
                format!("[\"/a\", \"/b\\\"\\\\\"] # {}", origin("FILES__ROOTS")),
            ),
            (
                "rollouts.slower",
                format!("2.0 # {}", origin("ROLLOUTS__SLOWER")),
            ),
            (
                "plugins.trusted_keys",
                format!("[{{ key = \"RWQ\", plugins = [\"a\"] }}] # the file {path}"),
            ),
            (
                "plugins.limits.connector-x.max_connections",
                format!(
                    "2 # {}",
                    origin("PLUGINS__LIMITS__CONNECTOR_X__MAX_CONNECTIONS")
                ),
            ),
            ("plugins.require_signature", "false # default".to_owned()),
        ];
        for (name, expected) in expected {
            assert_eq!(line(&all, name), expected, "{name}");
        }
        assert_eq!(all[0].name, "listen", "the order of the file");
    }

    #[test]
    fn no_secret_is_shown() {
        let secret = "31415926535897932384626";
        let text = format!("postgres://u:{secret}@host/d");
        let all = all(&[
            ("MINDHOST_DATABASE_URL", &text),
            ("MINDHOST_ADMIN_KEY", &format!("mh_{secret}")),
            ("MINDHOST_SECRETS__KEY", secret),
            (
                "MINDHOST_TELEMETRY__OTLP_ENDPOINT",
                &format!("http://me:{secret}@collector:4318/v1"),
            ),
        ]);
        assert!(!format!("{all:?}").contains(secret));
        let masked = "\"(set, not shown)\" # the environment variable MINDHOST_ADMIN_KEY";
        assert_eq!(line(&all, "admin_key"), masked);
        let endpoint = line(&all, "telemetry.otlp_endpoint");
        assert!(
            endpoint.starts_with("\"http://me:(set, not shown)@collector:4318/v1\""),
            "{endpoint}"
        );
        // Every field of this type is masked.
        let fields = include_str!("../config.rs").matches(": Secret,").count();
        assert_eq!(fields, SECRETS.len());
        assert_eq!(line(&self::all(&[]), "admin_key"), "\"\" # default");
    }
}
