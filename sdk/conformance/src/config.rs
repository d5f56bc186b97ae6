//! What a test run is configured with: connection data, and hints on what the engine has.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use mindhost_base::spelling::{explain_unknown, nearest};
use mindhost_plugin_api::Target;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, value::RawValue};

/// Connection data: an object of JSON.
pub type Data = Map<String, Value>;

const SCHEMA: &str = "$schema";
const CONNECTION_DATA: &str = "connection_data";
const TESTS: &str = "tests";

/// A target of its own, so that no connection of another one serves it.
pub fn target(data: Data) -> Target {
    Target {
        id: uuid::Uuid::new_v4().to_string(),
        workspace: "default".into(),
        folder: "default".into(),
        name: "this run".into(),
        connection_data: Arc::new(data),
        max_connections: 8,
    }
}

/// The content of `--config`: connection data alone, or an object with `connection_data` and `tests`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// For editors: `sdk/test.schema.json` describes this.
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
    /// What the plugin is configured with, as a datasource or provider would be.
    #[serde(default)]
    pub connection_data: Data,
    /// Hints for the kit.
    #[serde(default)]
    pub tests: Hints,
    /// Where this is from.
    #[serde(skip)]
    origin: Origin,
}

/// The name of a file, or `--config`, and the lines of the connection data in it.
#[derive(Clone, Debug, Default)]
struct Origin {
    name: String,
    lines: BTreeMap<String, usize>,
}

/// What the kit cannot find out by itself. Every statement has a default where the dialect allows one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hints {
    /// The table to look at, as `schema.name`, or several in a list; else the first ones of `tables`.
    #[serde(deserialize_with = "one_or_more")]
    pub table: Vec<String>,
    /// Gives one row with one column.
    pub one: Option<String>,
    /// Gives no row.
    pub empty: Option<String>,
    /// Gives one column with the integers from 1 to `{rows}`, in order.
    pub numbers: Option<String>,
    /// Gives one row with one text of `{bytes}` bytes.
    pub wide: Option<String>,
    /// Gives more bytes than an instance may have memory (128 MiB).
    pub huge: Option<String>,
    /// Runs for a minute or more.
    pub slow: Option<String>,
    /// Counts how many statements like `slow` the engine runs now, without itself.
    pub running: Option<String>,
    /// Statements that would write; the plugin must refuse each by itself.
    pub writes: Option<Vec<String>>,
    /// Directories into which the engine can write files; nothing in them may change while `writes` are tried. Relative
    /// paths are meant from the configuration file on.
    pub watch: Vec<PathBuf>,
    /// The character around a name, or the one before it and the one behind it: "`" or "[]".
    pub quote: Option<Quote>,
    /// Cuts a page of `{limit}` rows out of `{sql}`, `{offset}` rows after its beginning.
    pub page: Option<String>,
    /// Gives one row with the text `{text}`, which stands there with its quotes doubled.
    pub text: Option<String>,
    /// Statements with the one value that each gives.
    pub values: Vec<Expected>,
    /// A program that changes what `observe` gives: its name and arguments.
    pub change: Option<Vec<String>>,
    /// Gives something else after `change` than before.
    pub observe: Option<String>,
    /// Connection data that replace some of the right ones and must be refused as `auth`.
    pub wrong_credentials: Option<Data>,
    /// For models: a question to which the model answers by calling the tool `lookup` with the argument `key`.
    pub tool_prompt: Option<String>,
    /// For models: the question that is asked.
    pub prompt: Option<String>,
}

/// What stands before and behind a name in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Quote(pub char, pub char);

impl TryFrom<String> for Quote {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut characters = text.chars();
        match (characters.next(), characters.next(), characters.next()) {
            (Some(both), None, _) => Ok(Self(both, both)),
            (Some(open), Some(close), None) => Ok(Self(open, close)),
            _ => Err(
                "`tests.quote` is one character, or the one before a name and the one behind it",
            ),
        }
    }
}

/// A statement and the one value that it gives.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Gives one row with one column.
    pub sql: String,
    /// The column's type: `timestamp-utc`.
    pub r#type: String,
    /// The value: JSON for what JSON has, text in the form of the contract for the rest; left out for NULL.
    pub value: Option<Value>,
}

/// Why a configuration cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads the file of that name (TOML where it ends in `.toml`, else JSON), or the text itself when it is a JSON object.
    ///
    /// # Errors
    /// When there is no such file, or it holds something else. A value is never repeated: it may be a secret.
    pub fn read(file_or_json: &str) -> Result<Self, ConfigError> {
        if file_or_json.trim_start().starts_with('{') {
            return Self::parse_json("--config", file_or_json);
        }
        let path = Path::new(file_or_json);
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError(format!("{}: {error}", path.display())))?;
        let mut config = match path.extension().is_some_and(|end| end == "toml") {
            true => Self::parse_toml(file_or_json, &text),
            false => Self::parse_json(file_or_json, &text),
        }?;
        for directory in &mut config.tests.watch {
            *directory = path.parent().unwrap_or(Path::new("")).join(&*directory);
        }
        Ok(config)
    }

    fn parse_json(name: &str, text: &str) -> Result<Self, ConfigError> {
        let data: Data = serde_json::from_str(text).map_err(|error| {
            ConfigError(format!(
                "{name}: not a JSON object (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        let mut config = match is_whole(name, &data)? {
            false => Self::short(data),
            true => serde_json::from_str(text)
                .map_err(|error| wrong(name, line_of(text, &error), &error.to_string()))?,
        };
        config.origin = Origin::of_json(name, text);
        Ok(config)
    }

    fn parse_toml(name: &str, text: &str) -> Result<Self, ConfigError> {
        let line = |error: &toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            line_at(text, start)
        };
        let data: Data = toml::from_str(text).map_err(|error| {
            let line = line(&error);
            ConfigError(format!("{name}: not TOML (line {line})"))
        })?;
        let mut config = match is_whole(name, &data)? {
            false => Self::short(data),
            true => {
                toml::from_str(text).map_err(|error| wrong(name, line(&error), error.message()))?
            }
        };
        config.origin = Origin::of_toml(name, text);
        Ok(config)
    }

    /// Connection data alone; `$schema` is for editors.
    fn short(mut data: Data) -> Self {
        data.remove(SCHEMA);
        Self {
            connection_data: data,
            ..Self::default()
        }
    }

    /// Where a property of the connection data is: `test.json, line 3`.
    pub fn place(&self, property: &str) -> String {
        let Origin { name, lines } = &self.origin;
        match lines.get(property) {
            Some(line) => format!("{name}, line {line}"),
            None => name.clone(),
        }
    }
}

/// Whether an object has `connection_data` or `tests`, and is not connection data alone.
fn is_whole(name: &str, data: &Data) -> Result<bool, ConfigError> {
    let is_whole = data.contains_key(CONNECTION_DATA) || data.contains_key(TESTS);
    // Of about the same length: a plugin may have connection data called `connection`.
    let is_near = |key: &&str| key.len().abs_diff(CONNECTION_DATA.len()) <= 2;
    let keys = data.keys().map(String::as_str).filter(is_near);
    match nearest(CONNECTION_DATA, keys) {
        Some(misspelt) if !is_whole && data[misspelt].is_object() => Err(ConfigError(format!(
            "{name}: there is no property `{misspelt}`; did you mean `{CONNECTION_DATA}`?"
        ))),
        _ => Ok(is_whole),
    }
}

/// What is wrong with a property. Never the value, which may be a secret.
fn wrong(name: &str, line: usize, message: &str) -> ConfigError {
    let message = message
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .trim_end();
    let message = match explain_unknown(message) {
        Some(unknown) => unknown,
        // Serde shows the value before the word.
        None if message.starts_with("invalid ") => match message.rsplit_once(", expected ") {
            Some((_, expected)) => format!("expected {expected}"),
            None => "a value of another type is expected".to_owned(),
        },
        None => message.to_owned(),
    };
    ConfigError(format!("{name}, line {line}: {message}"))
}

/// The line of what an error is about. Serde notices a wrong value when it has read the white space behind it.
fn line_of(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let read = text.get(..(before + error.column()).saturating_sub(1));
    line_at(text, read.unwrap_or(text).trim_end().len())
}

/// The number of the line with this byte, from 1.
fn line_at(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or_default();
    before.matches('\n').count() + 1
}

impl Origin {
    fn of_json(name: &str, text: &str) -> Self {
        #[derive(Deserialize)]
        struct Whole<'a> {
            #[serde(borrow)]
            connection_data: BTreeMap<String, &'a RawValue>,
        }
        let values = serde_json::from_str(text)
            .map(|Whole { connection_data }| connection_data)
            .or_else(|_| serde_json::from_str::<BTreeMap<String, &RawValue>>(text));
        // A raw value is a part of the text.
        let start = text.as_ptr() as usize;
        let line = |value: &RawValue| {
            let byte = (value.get().as_ptr() as usize).saturating_sub(start);
            line_at(text, byte)
        };
        let lines = values.unwrap_or_default().into_iter();
        Self {
            name: name.to_owned(),
            lines: lines.map(|(key, value)| (key, line(value))).collect(),
        }
    }

    fn of_toml(name: &str, text: &str) -> Self {
        type Values = BTreeMap<String, toml::Spanned<toml::Value>>;
        #[derive(Deserialize)]
        struct Whole {
            connection_data: Values,
        }
        let values = toml::from_str(text)
            .map(|Whole { connection_data }| connection_data)
            .or_else(|_| toml::from_str::<Values>(text));
        let lines = values.unwrap_or_default().into_iter();
        Self {
            name: name.to_owned(),
            lines: lines
                .map(|(key, value)| (key, line_at(text, value.span().start)))
                .collect(),
        }
    }
}

fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected the name of a table, or a list of names"
    )]
    enum Names {
        One(String),
        More(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_connection_data_and_a_whole_file_are_told_apart() {
        let bare = Config::parse_json("c", r#"{"path": "shop.db"}"#).unwrap();
        assert_eq!(bare.connection_data["path"], "shop.db");
        let whole = "[connection_data]\npath = \"shop.db\"\n[tests]\ntable = \"main.item\"\n";
        let whole = Config::parse_toml("c", whole).unwrap();
        assert_eq!(whole.connection_data["path"], "shop.db");
        assert_eq!(whole.tests.table, ["main.item"]);
    }

    #[test]
    fn the_schema_for_editors_has_every_hint() {
        let schema: Value = serde_json::from_str(include_str!("../../test.schema.json")).unwrap();
        let hints = schema["$defs"]["tests"]["properties"].as_object().unwrap();
        let error = serde_json::from_value::<Hints>(serde_json::json!({"?": 0})).unwrap_err();
        let error = error.to_string();
        // serde names all fields when one is unknown.
        let (_, known) = error.split_once("expected one of").unwrap();
        let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let mut described: Vec<&str> = hints.keys().map(String::as_str).collect();
        known.sort_unstable();
        described.sort_unstable();
        assert_eq!(described, known);
        let with = r#"{"$schema": "./test.schema.json", "connection_data": {}}"#;
        Config::parse_json("c", with).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_named_and_never_repeated() {
        let broken = Config::parse_json("c.json", "{\"password\": hunter2}").unwrap_err();
        assert_eq!(
            broken.to_string(),
            "c.json: not a JSON object (line 1, column 14)"
        );
        let refused = |tests: &str| {
            let text = format!("{{\n  \"tests\": {{\n    {tests}\n  }}\n}}");
            Config::parse_json("c.json", &text).unwrap_err().to_string()
        };
        let long = refused(r#""quote": "<<>""#);
        assert!(
            long.starts_with("c.json, line 3: `tests.quote` is one"),
            "{long}"
        );
        assert_eq!(
            refused(r#""wrong_credentials": "hunter2, expected""#),
            "c.json, line 3: expected a map"
        );
    }

    #[test]
    fn a_misspelt_property_is_told_with_its_line_and_the_one_that_was_meant() {
        let json = "{\n  \"connection_data\": {},\n  \"tests\": {\n    \"tabel\": \"x\"\n  }\n}";
        let told = Config::parse_json("c.json", json).unwrap_err();
        assert_eq!(
            told.to_string(),
            "c.json, line 4: there is no property `tabel`; did you mean `table`?"
        );
        let toml = "[connection_data]\n[test]\n";
        let told = Config::parse_toml("c.toml", toml).unwrap_err();
        assert_eq!(
            told.to_string(),
            "c.toml, line 2: there is no property `test`; did you mean `tests`?"
        );
        let alone = r#"{"conection_data": {"path": "x"}}"#;
        let told = Config::parse_json("c.json", alone).unwrap_err();
        assert!(
            told.to_string()
                .ends_with("did you mean `connection_data`?"),
            "{told}"
        );
    }

    #[test]
    fn connection_data_alone_may_name_the_schema_for_editors() {
        let text = "{\n  \"$schema\": \"./test.schema.json\",\n  \"path\": \"shop.db\"\n}";
        let short = Config::parse_json("test.json", text).unwrap();
        assert_eq!(
            Value::from(short.connection_data.clone()),
            serde_json::json!({"path": "shop.db"})
        );
        assert_eq!(short.place("path"), "test.json, line 3");
        let toml = "[connection_data]\nhost = \"a\"\npath = \"shop.db\"\n";
        let whole = Config::parse_toml("test.toml", toml).unwrap();
        assert_eq!(whole.place("path"), "test.toml, line 3");
        assert_eq!(whole.place("none"), "test.toml");
    }
}
