//! Merges the layers and refuses unknown settings.

use std::{collections::HashMap, ffi::OsString};

use figment::{
    Figment, Profile, Provider,
    error::Kind,
    providers::{Format, Serialized, Toml},
    value::{Dict, Num, Value},
};
use serde::de::DeserializeOwned;

use super::{Config, PluginLimits, bounds};
use crate::spelling;

/// The commented default file.
pub const DEFAULTS: &str = include_str!("../../mindhost.default.toml");

const PREFIX: &str = "MINDHOST_";
const FILE: &str = "MINDHOST_CONFIG";

/// Why the settings cannot be used: which one, where it is set, and what to write.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A setting that does not exist.
    #[error("{origin}: there is no setting `{name}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// The file or the environment variable.
        origin: String,
        /// The unknown name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A variable that is not UTF-8.
    #[error("the environment variable {0} is not valid UTF-8; write it in UTF-8")]
    NotText(String),
    /// A value of the wrong type.
    #[error("{origin}: `{name}` {problem}")]
    Invalid {
        /// The file or the environment variable.
        origin: String,
        /// The setting, with its section.
        name: String,
        /// What it must be. Never the value, which may be a secret.
        problem: String,
    },
    /// A value of the right type that is too small, too large, or does not fit other settings.
    #[error("the setting `{name}` {problem}")]
    OutOfRange {
        /// The setting, with its section.
        name: String,
        /// What it must be.
        problem: String,
    },
    /// A file that cannot be read.
    #[error("{}", .0.kind)] // Only the kind: the rest names places in the source.
    Value(Box<figment::Error>),
}

impl From<figment::Error> for ConfigError {
    fn from(error: figment::Error) -> Self {
        Self::Value(Box::new(error))
    }
}

/// TOML whose errors give the line number but not the line, which may hold a secret.
struct File;

impl Format for File {
    type Error = figment::Error;

    const NAME: &'static str = "TOML";

    fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Self::Error> {
        Toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.unwrap_or_default().matches('\n').count() + 1;
            format!("line {line}: {}", error.message()).into()
        })
    }
}

/// The variables that begin with the prefix. Others may hold anything.
pub(super) fn texts(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, ConfigError> {
    vars.into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .map(|(name, value)| match value.into_string() {
            Ok(value) => Ok((name, value)),
            Err(_) => Err(ConfigError::NotText(name)),
        })
        .collect()
}

/// The settings from the defaults, the file that `MINDHOST_CONFIG` names, and `MINDHOST_…` variables.
pub(super) fn load(
    vars: impl IntoIterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    layers(vars)?.config()
}

/// The layers of the settings, before they are checked.
pub(super) struct Layers {
    defaults: Dict,
    merged: Figment,
    /// What the file sets, then what the environment sets.
    pub(super) assigned: Vec<Assignment>,
}

/// Reads the layers.
pub(super) fn layers(
    vars: impl IntoIterator<Item = (String, String)>,
) -> Result<Layers, ConfigError> {
    let defaults = layer(&Toml::string(DEFAULTS))?;
    let known = names(&defaults);
    let mut figment = Figment::from(Serialized::defaults(&defaults));
    let mut assigned = Vec::new();
    let vars: Vec<_> = vars
        .into_iter()
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty())
        .collect();
    if let Some((_, path)) = vars.iter().find(|(name, _)| name == FILE) {
        let file = File::file_exact(path);
        let found = layer(&file)
            .map_err(|error| figment::Error::from(format!("the file {path}: {error}")))?;
        for name in names(&found) {
            let origin = format!("the file {path}");
            check(&name, &known, || origin.clone())?;
            if let Some(value) = value_at(&found, &name) {
                let value = value.clone();
                assigned.push(Assignment {
                    origin,
                    name,
                    value,
                });
            }
        }
        figment = figment.merge(file);
    }
    for (variable, text) in vars.iter().filter(|(name, _)| name != FILE) {
        let name = dotted(&variable[PREFIX.len()..]);
        check(&name, &known, || {
            format!("the environment variable {variable}")
        })?;
        // The limits of single plugins have no default to take the type from: all but the times are numbers.
        let number = Value::from(0);
        let like = match limit_of_plugin(&name) {
            Some(limit) => (!limit.ends_with("_time")).then_some(&number),
            None => value_at(&defaults, &name),
        };
        let value = parse_as(text, like);
        figment = figment.merge(Serialized::default(&name, value.clone()));
        assigned.push(Assignment {
            origin: format!("the environment variable {variable}"),
            name,
            value,
        });
    }
    Ok(Layers {
        defaults,
        merged: figment,
        assigned,
    })
}

impl Layers {
    /// The merged settings.
    pub(super) fn config(&self) -> Result<Config, ConfigError> {
        let config: Config = self.merged.extract().map_err(|error| {
            let first = first_invalid(&self.defaults, &self.assigned);
            first.unwrap_or_else(|| error.into())
        })?;
        bounds::check(&config)?;
        Ok(config)
    }

    /// The value that has effect, and its origin unless it is the default.
    pub(super) fn value(&self, name: &str) -> Option<(&Value, Option<&str>)> {
        let assigned = self.assigned.iter().rfind(|one| one.name == name);
        match assigned {
            Some(one) => Some((&one.value, Some(&one.origin))),
            None => Some((value_at(&self.defaults, name)?, None)),
        }
    }

    /// The names of all settings with a default, as the commented file orders them.
    pub(super) fn in_file_order(&self) -> Vec<String> {
        let mut section = String::new();
        let mut all = names(&self.defaults);
        let mut place = HashMap::new();
        for (number, line) in DEFAULTS.lines().enumerate() {
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'))
            {
                section = format!("{name}.");
            } else if let Some((name, _)) = line.split_once(" = ") {
                place.insert(format!("{section}{name}"), number);
            }
        }
        all.sort_by_key(|name| place.get(name).copied().unwrap_or(usize::MAX));
        all
    }
}

/// A value from the file or the environment.
pub(super) struct Assignment {
    origin: String,
    pub(super) name: String,
    value: Value,
}

/// The first value that is invalid by itself. The error of all values together does not say which one: flattened
/// sections lose the path.
fn first_invalid(defaults: &Dict, assigned: &[Assignment]) -> Option<ConfigError> {
    assigned.iter().find_map(|assignment| {
        let single = Figment::from(Serialized::defaults(defaults)).merge(Serialized::default(
            &assignment.name,
            assignment.value.clone(),
        ));
        let error = single.extract::<Config>().err()?;
        let like = match limit_of_plugin(&assignment.name) {
            Some(limit) if limit.ends_with("_time") => Some(Value::from("24h")),
            Some(_) => Some(Value::from(0)),
            None => value_at(defaults, &assignment.name).cloned(),
        };
        Some(ConfigError::Invalid {
            problem: problem(error, &assignment.value, like.as_ref()),
            origin: assignment.origin.clone(),
            name: assignment.name.clone(),
        })
    })
}

/// What a value must be.
fn problem(error: figment::Error, value: &Value, like: Option<&Value>) -> String {
    let is_time = |text: &str| text.parse::<jiff::SignedDuration>().is_ok();
    let kind = match like {
        // The types of this crate word their own errors.
        _ if matches!(error.kind, Kind::Message(_)) => return format!("is wrong: {}", error.kind),
        Some(Value::Bool(..)) => "true or false",
        Some(Value::Num(_, Num::F32(_) | Num::F64(_))) => "a number",
        Some(Value::Num(..)) if matches!(value, Value::Num(..)) => {
            return "must be an integer from 0 up; this value is negative or too large".to_owned();
        }
        Some(Value::Num(..)) => "an integer from 0 up",
        Some(Value::Array(..)) => "a list of strings: [\"one\", \"two\"]",
        Some(Value::String(_, text)) if is_time(text) => "a time in quotes, like \"30s\" or \"5m\"",
        _ => match error.kind {
            Kind::UnknownVariant(_, of) => {
                return format!("must be one of \"{}\"", of.join("\", \""));
            }
            _ => "text in quotes",
        },
    };
    format!("must be {kind}")
}

fn layer(provider: &impl Provider) -> Result<Dict, ConfigError> {
    Ok(provider
        .data()?
        .remove(&Profile::Default)
        .unwrap_or_default())
}

/// The dotted names of all settings in a table.
fn names(dict: &Dict) -> Vec<String> {
    dict.iter()
        .flat_map(|(key, value)| match value {
            Value::Dict(_, inner) => names(inner)
                .into_iter()
                .map(|name| format!("{key}.{name}"))
                .collect(),
            _ => vec![key.clone()],
        })
        .collect()
}

fn value_at<'a>(dict: &'a Dict, name: &str) -> Option<&'a Value> {
    let mut parts = name.split('.');
    let first = dict.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.as_dict()?.get(part))
}

/// The sections with the limits of single plugins, which have no defaults.
const LIMITS: &str = "plugins.limits.";

/// The setting that a variable names. Variables cannot hold the hyphens of plugin names, so `_` stands for them.
fn dotted(variable: &str) -> String {
    let name = variable.to_ascii_lowercase().replace("__", ".");
    let of_plugin = name
        .strip_prefix(LIMITS)
        .and_then(|rest| rest.rsplit_once('.'));
    match of_plugin {
        Some((plugin, limit)) => format!("{LIMITS}{}.{limit}", plugin.replace('_', "-")),
        None => name,
    }
}

/// The last part of a setting in `plugins.limits`.
fn limit_of_plugin(name: &str) -> Option<&str> {
    let (_, limit) = name.strip_prefix(LIMITS)?.rsplit_once('.')?;
    Some(limit)
}

fn check(name: &str, known: &[String], origin: impl FnOnce() -> String) -> Result<(), ConfigError> {
    if known.iter().any(|candidate| candidate == name) {
        return Ok(());
    }
    let of_plugin = name
        .starts_with(LIMITS)
        .then(|| name.rsplit_once('.'))
        .flatten();
    let known: Vec<String> = match of_plugin {
        Some((_, limit)) if PluginLimits::NAMES.contains(&limit) => return Ok(()),
        Some((plugin, _)) => PluginLimits::NAMES
            .iter()
            .map(|limit| format!("{plugin}.{limit}"))
            .collect(),
        None => known.to_vec(),
    };
    let nearest = spelling::nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
    Err(ConfigError::Unknown {
        origin: origin(),
        name: name.to_owned(),
        nearest,
    })
}

/// Parses a variable as the type of the default. A key of digits stays text.
fn parse_as(text: &str, default: Option<&Value>) -> Value {
    let as_text = || Value::from(text);
    match default {
        Some(Value::Bool(..)) => text.parse::<bool>().map_or_else(|_| as_text(), Value::from),
        Some(Value::Num(_, Num::F32(_) | Num::F64(_))) => {
            text.parse::<f64>().map_or_else(|_| as_text(), Value::from)
        }
        Some(Value::Num(..)) => text.parse::<i64>().map_or_else(|_| as_text(), Value::from),
        // An array of tables has the syntax of the file.
        Some(Value::Array(..)) if text.contains('{') => {
            let table = layer(&Toml::string(&format!("value = {text}")));
            let value = table.ok().and_then(|mut all| all.remove("value"));
            value.unwrap_or_else(as_text)
        }
        Some(Value::Array(..)) => {
            let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
            inner
                .split(',')
                .map(|item| item.trim().trim_matches('"'))
                .filter(|item| !item.is_empty())
                .collect::<Vec<_>>()
                .into()
        }
        _ => as_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn config(vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
        load(
            vars.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn default_file_has_exactly_the_known_settings() {
        // Every field is required and unknown ones are refused, so extraction proves both directions.
        let config = config(&[]).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.server.shutdown_grace, Duration::from_secs(20));
    }

    #[test]
    fn every_default_has_a_comment_above_it() {
        let lines: Vec<_> = DEFAULTS.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if line.contains(" = ") && !line.starts_with('#') {
                assert!(lines[index - 1].starts_with('#'), "no reason for: {line}");
            }
        }
    }

    #[test]
    fn environment_overrides_file_and_file_overrides_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mindhost.toml");
        std::fs::write(
            &file,
            "[sql]\nmax_connections = 3\nstatement_timeout = \"5s\"\n",
        )
        .unwrap();
        let config = config(&[
            ("MINDHOST_CONFIG", file.to_str().unwrap()),
            ("MINDHOST_SQL__STATEMENT_TIMEOUT", "7s"),
            ("MINDHOST_LISTEN", "0.0.0.0:0"),
            ("MINDHOST_ADMIN_KEY", "123456789012345678901234"),
            ("MINDHOST_EGRESS__ALLOW_LOOPBACK", "true"),
            ("MINDHOST_FILES__ROOTS", "/a, /b"),
        ])
        .unwrap();
        assert_eq!(config.sql.max_connections, 3);
        assert_eq!(config.sql.statement_timeout, Duration::from_secs(7));
        assert_eq!(config.listen.to_string(), "0.0.0.0:0");
        assert_eq!(config.admin_key.get(), Some("123456789012345678901234"));
        assert_eq!(config.egress.allow_loopback, super::super::Switch::On);
        assert_eq!(config.files.roots.len(), 2);
    }

    #[test]
    fn limits_of_one_plugin_come_from_file_and_environment() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mindhost.toml");
        let text =
            "[plugins.limits.connector-x]\nmax_memory_bytes = 1048576\nmax_call_time = \"5s\"\n";
        std::fs::write(&file, text).unwrap();
        let config = config(&[
            ("MINDHOST_CONFIG", file.to_str().unwrap()),
            (
                "MINDHOST_PLUGINS__LIMITS__CONNECTOR_X__MAX_CONNECTIONS",
                "2",
            ),
            ("MINDHOST_PLUGINS__LIMITS__MODEL_Y__MAX_CALL_TIME", "7s"),
        ])
        .unwrap();
        let all = config.plugins.limits;
        let own = all.of("connector-x");
        assert_eq!(own.max_memory_bytes, 1 << 20);
        assert_eq!(own.max_call_time, Duration::from_secs(5));
        assert_eq!(own.batch_bytes, all.batch_bytes);
        assert_eq!(all.by_plugin["connector-x"].max_connections, Some(2));
        assert_eq!(all.of("model-y").max_call_time, Duration::from_secs(7));
        assert_eq!(all.of("other").max_memory_bytes, all.max_memory_bytes);
    }

    #[test]
    fn unknown_plugin_limit_is_refused_with_a_suggestion() {
        let name = "MINDHOST_PLUGINS__LIMITS__CONNECTOR_X__MAX_MEMORY";
        let error = config(&[(name, "1")]).unwrap_err().to_string();
        let nearest = "did you mean `plugins.limits.connector-x.max_memory_bytes`?";
        assert!(error.ends_with(nearest), "{error}");
    }

    #[test]
    fn unknown_setting_is_refused_with_a_suggestion() {
        let error = config(&[("MINDHOST_SQL__STATEMENT_TIMOUT", "7s")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the environment variable MINDHOST_SQL__STATEMENT_TIMOUT: there is no setting `sql.statement_timout`; \
             did you mean `sql.statement_timeout`?"
        );
    }

    #[test]
    fn error_never_repeats_a_secret() {
        let check = |content: &str, expected: &str| {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("mindhost.toml");
            std::fs::write(&file, content).unwrap();
            let error = config(&[("MINDHOST_CONFIG", file.to_str().unwrap())]).unwrap_err();
            for error in [error.to_string(), format!("{error:?}")] {
                assert!(!error.contains("31415"), "{error}");
                assert!(error.contains(expected), "{error}");
            }
        };
        check("admin_key = 314159265358979", "text in quotes");
        check("admin_key = [\"31415\"]", "text in quotes");
        check("database_url = 31415.5", "text in quotes");
        check("# a comment\nadmin_key = mh_31415\n", "line 2: ");
        check("admin_key = \"31415", "line 1: ");
    }

    #[cfg(unix)]
    #[test]
    fn variable_must_be_utf8_only_with_the_prefix() {
        use std::os::unix::ffi::OsStringExt;
        let wrong = |name: &str| (OsString::from(name), OsString::from_vec(vec![0xff]));
        let odd_name = (OsString::from_vec(vec![0xfe]), OsString::from("x"));
        assert_eq!(texts([wrong("LS_COLORS"), odd_name]).unwrap(), []);
        let error = texts([wrong("MINDHOST_DATA_DIR")]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("MINDHOST_DATA_DIR is not valid UTF-8"),
            "{error}"
        );
    }

    #[test]
    fn invalid_value_is_refused_with_its_origin_and_type() {
        for (name, value, expected) in [
            (
                "SQL__STATEMENT_TIMEOUT",
                "soon",
                "`sql.statement_timeout` is wrong: `soon` is not a time like \"30s\", \"5m\", \"2h\" or \"30d\"",
            ),
            (
                "PLUGINS__MAX_INSTANCES",
                "many",
                "`plugins.max_instances` must be an integer from 0 up",
            ),
            (
                "PLUGINS__MAX_INSTANCES",
                "-1",
                "`plugins.max_instances` must be an integer from 0 up; this value is negative or too large",
            ),
            (
                "PLUGINS__BATCH_BYTES",
                "9999999999",
                "`plugins.batch_bytes` must be an integer from 0 up; this value is negative or too large",
            ),
            (
                "PLUGINS__REQUIRE_SIGNATURE",
                "perhaps",
                "`plugins.require_signature` must be true or false",
            ),
            (
                "PLUGINS__COMPILER",
                "gcc",
                "`plugins.compiler` must be one of \"cranelift\", \"winch\"",
            ),
            (
                "PLUGINS__LIMITS__X__MAX_CONNECTIONS",
                "few",
                "`plugins.limits.x.max_connections` must be an integer from 0 up",
            ),
            (
                "ROLLOUTS__SLOWER",
                "very",
                "`rollouts.slower` must be a number",
            ),
        ] {
            let name = format!("MINDHOST_{name}");
            let error = config(&[(&name, value)]).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("the environment variable {name}: {expected}")
            );
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mindhost.toml");
        std::fs::write(&file, "[plugins]\ndrain_timeout = 5\n").unwrap();
        let path = file.to_str().unwrap();
        let error = config(&[("MINDHOST_CONFIG", path)])
            .unwrap_err()
            .to_string();
        let expected = "`plugins.drain_timeout` must be a time in quotes, like \"30s\" or \"5m\"";
        assert_eq!(error, format!("the file {path}: {expected}"));
    }

    #[test]
    fn empty_variable_counts_as_not_set() {
        let names = [
            "CONFIG",
            "LISTEN",
            "ADMIN_KEY",
            "FILES__ROOTS",
            "SERVER__BODY_LIMIT",
        ];
        let names = names.map(|name| format!("MINDHOST_{name}"));
        let vars: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
        let (empty, unset) = (config(&vars).unwrap(), config(&[]).unwrap());
        assert_eq!(format!("{empty:?}"), format!("{unset:?}"));
    }

    #[test]
    fn environment_can_set_a_fraction() {
        let config = config(&[("MINDHOST_ROLLOUTS__SLOWER", "2.5")]).unwrap();
        assert!((config.rollouts.slower - 2.5).abs() < f64::EPSILON);
    }
}
