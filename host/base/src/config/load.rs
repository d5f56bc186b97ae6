//! Puts the layers together and refuses what does not exist.

use std::ffi::OsString;

use figment::{
    Figment, Profile, Provider,
    error::Kind,
    providers::{Format, Serialized, Toml},
    value::{Dict, Num, Value},
};
use serde::de::DeserializeOwned;

use super::{Config, PluginLimits, bounds};

/// The commented default file.
pub const DEFAULTS: &str = include_str!("../../mindhost.default.toml");

const PREFIX: &str = "MINDHOST_";
const FILE: &str = "MINDHOST_CONFIG";

/// Why the settings cannot be used; says which one, where it came from and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A name that is no setting.
    #[error("{origin}: there is no setting `{name}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// The file or the environment variable.
        origin: String,
        /// As it was written.
        name: String,
        /// The setting whose name is most like it.
        nearest: Option<String>,
    },
    /// A variable that is no text.
    #[error("the environment variable {0} is not valid UTF-8; write it in UTF-8")]
    NotText(String),
    /// A value of the wrong type.
    #[error("{origin}: `{name}` {problem}")]
    Wrong {
        /// The file or the environment variable.
        origin: String,
        /// The setting.
        name: String,
        /// What it must be. Never what it is: it may be a secret.
        problem: String,
    },
    /// A value with which nothing could work.
    #[error("the setting `{name}` {problem}")]
    Senseless {
        /// The setting.
        name: String,
        /// What it must be.
        problem: String,
    },
    /// A file that cannot be read.
    #[error("{}", told(.0))]
    Value(Box<figment::Error>),
}

/// An error without the places of the source that it passed through.
fn told(error: &figment::Error) -> String {
    error.kind.to_string()
}

impl From<figment::Error> for ConfigError {
    fn from(error: figment::Error) -> Self {
        Self::Value(Box::new(error))
    }
}

/// TOML whose errors say where and what, but not the line itself: it may hold a secret.
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

/// The variables that may be settings. What other variables hold is not our business.
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
    let defaults = layer(&Toml::string(DEFAULTS))?;
    let known = names(&defaults);
    let mut figment = Figment::from(Serialized::defaults(&defaults));
    let mut given = Vec::new();
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
                given.push(Given {
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
        // Of a plugin's limits no default says what they are: all but the times are numbers.
        let number = Value::from(0);
        let like = match limit_of_plugin(&name) {
            Some(limit) => (!limit.ends_with("_time")).then_some(&number),
            None => value_at(&defaults, &name),
        };
        let value = typed(text, like);
        figment = figment.merge(Serialized::default(&name, value.clone()));
        given.push(Given {
            origin: format!("the environment variable {variable}"),
            name,
            value,
        });
    }
    let config: Config = match figment.extract() {
        Ok(config) => config,
        Err(error) => return Err(culprit(&defaults, given).unwrap_or_else(|| error.into())),
    };
    bounds::check(&config)?;
    Ok(config)
}

/// A value that somebody set.
struct Given {
    origin: String,
    name: String,
    value: Value,
}

/// The first value that is wrong by itself. Sections that lie in one flatten away where an error happened.
fn culprit(defaults: &Dict, given: Vec<Given>) -> Option<ConfigError> {
    given.into_iter().find_map(|given| {
        let alone = Figment::from(Serialized::defaults(defaults))
            .merge(Serialized::default(&given.name, given.value.clone()));
        let error = alone.extract::<Config>().err()?;
        let like = match limit_of_plugin(&given.name) {
            Some(limit) if limit.ends_with("_time") => Some(Value::from("24h")),
            Some(_) => Some(Value::from(0)),
            None => value_at(defaults, &given.name).cloned(),
        };
        Some(ConfigError::Wrong {
            problem: problem(error, &given.value, like.as_ref()),
            origin: given.origin,
            name: given.name,
        })
    })
}

/// What a value must be.
fn problem(error: figment::Error, value: &Value, like: Option<&Value>) -> String {
    let is_time = |text: &str| text.parse::<jiff::SignedDuration>().is_ok();
    let kind = match like {
        // Our own kinds of values say it themselves.
        _ if matches!(error.kind, Kind::Message(_)) => return format!("is wrong: {}", error.kind),
        Some(Value::Bool(..)) => "true or false",
        Some(Value::Num(_, Num::F32(_) | Num::F64(_))) => "a number",
        Some(Value::Num(..)) if matches!(value, Value::Num(..)) => {
            return "must be a whole number, not below 0, and not as large".to_owned();
        }
        Some(Value::Num(..)) => "a whole number, not below 0",
        Some(Value::Array(..)) => "a list of texts in quotes: [\"one\", \"two\"]",
        Some(Value::String(_, text)) if is_time(text) => "a time in quotes, like \"30s\" or \"5m\"",
        _ => match error.kind {
            Kind::UnknownVariant(_, of) => {
                return format!("must be one of \"{}\"", of.join("\", \""));
            }
            _ => "a text in quotes",
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

/// The dotted names of all leaves.
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

/// Where the limits of single plugins are: a section for each, which no default names.
const LIMITS: &str = "plugins.limits.";

/// The name of a variable as that of a setting. Names of plugins have hyphens, those of variables cannot.
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

/// The limit, in the name of one plugin's.
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
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.clone());
    Err(ConfigError::Unknown {
        origin: origin(),
        name: name.to_owned(),
        nearest,
    })
}

/// The text of a variable as the type that the default has. A key of digits stays text.
fn typed(text: &str, default: Option<&Value>) -> Value {
    let as_text = || Value::from(text);
    match default {
        Some(Value::Bool(..)) => text.parse::<bool>().map_or_else(|_| as_text(), Value::from),
        Some(Value::Num(_, Num::F32(_) | Num::F64(_))) => {
            text.parse::<f64>().map_or_else(|_| as_text(), Value::from)
        }
        Some(Value::Num(..)) => text.parse::<i64>().map_or_else(|_| as_text(), Value::from),
        // Tables are written as in the file.
        Some(Value::Array(..)) if text.contains('{') => {
            let written = layer(&Toml::string(&format!("value = {text}")));
            let value = written.ok().and_then(|mut all| all.remove("value"));
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
    fn the_default_file_names_every_setting_and_nothing_else() {
        // Every field is required and unknown ones are refused, so extraction proves both directions.
        let config = config(&[]).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.server.shutdown_grace, Duration::from_secs(20));
    }

    #[test]
    fn every_setting_has_a_comment_right_above_it() {
        let lines: Vec<_> = DEFAULTS.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if line.contains(" = ") && !line.starts_with('#') {
                assert!(lines[index - 1].starts_with('#'), "no reason for: {line}");
            }
        }
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_the_defaults() {
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
    fn a_plugin_has_limits_of_its_own_from_the_file_and_the_environment() {
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
    fn an_unknown_limit_of_a_plugin_is_refused_with_the_nearest_name() {
        let name = "MINDHOST_PLUGINS__LIMITS__CONNECTOR_X__MAX_MEMORY";
        let error = config(&[(name, "1")]).unwrap_err().to_string();
        let nearest = "did you mean `plugins.limits.connector-x.max_memory_bytes`?";
        assert!(error.ends_with(nearest), "{error}");
    }

    #[test]
    fn an_unknown_setting_is_refused_with_the_nearest_name() {
        let error = config(&[("MINDHOST_SQL__STATEMENT_TIMOUT", "7s")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the environment variable MINDHOST_SQL__STATEMENT_TIMOUT: there is no setting `sql.statement_timout`; \
             did you mean `sql.statement_timeout`?"
        );
    }

    #[test]
    fn a_secret_in_the_file_is_not_repeated_when_it_is_wrong() {
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
        check("admin_key = 314159265358979", "a text in quotes");
        check("admin_key = [\"31415\"]", "a text in quotes");
        check("database_url = 31415.5", "a text in quotes");
        check("# a comment\nadmin_key = mh_31415\n", "line 2: ");
        check("admin_key = \"31415", "line 1: ");
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_is_refused_only_where_it_is_a_setting() {
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
    fn a_wrong_value_says_whose_it_is_and_what_would_be_right() {
        for (name, value, expected) in [
            (
                "SQL__STATEMENT_TIMEOUT",
                "soon",
                "`sql.statement_timeout` is wrong: `soon` is not a time like \"30s\" or \"5m\"",
            ),
            (
                "PLUGINS__MAX_INSTANCES",
                "many",
                "`plugins.max_instances` must be a whole number, not below 0",
            ),
            (
                "PLUGINS__MAX_INSTANCES",
                "-1",
                "`plugins.max_instances` must be a whole number, not below 0, and not as large",
            ),
            (
                "PLUGINS__BATCH_BYTES",
                "9999999999",
                "`plugins.batch_bytes` must be a whole number, not below 0, and not as large",
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
                "`plugins.limits.x.max_connections` must be a whole number, not below 0",
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
    fn a_share_can_be_set_in_the_environment() {
        let config = config(&[("MINDHOST_ROLLOUTS__SLOWER", "2.5")]).unwrap();
        assert!((config.rollouts.slower - 2.5).abs() < f64::EPSILON);
    }
}
