//! The tool `sql_query`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
        value::MapAccessDeserializer,
    },
};
use utoipa::ToSchema;

use super::shape;

/// Runs a statement of the caller's in place of the Mind's model.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlQueryTool {
    #[expect(dead_code, reason = "there is one tool")]
    #[serde(deserialize_with = "shape::word")]
    #[schema(value_type = String, pattern = "^sql_query$", example = "sql_query")]
    r#type: ToolType,
    /// One SELECT over the Mind's datasources.
    #[schema(pattern = "\\S", example = "SELECT 1")]
    pub query: String,
    /// Rows in the answer; further ones are read as pages.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 10_000, default = 10_000)]
    pub max_inline_rows: Option<i64>,
    /// Whether the result tells its plan, what was sent to which datasource, and how much came back.
    #[schema(default = false)]
    pub explain: Option<bool>,
}

const FIELDS: &[&str] = &["type", "query", "max_inline_rows", "explain"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToolType {
    SqlQuery,
}

/// A list of tools, or null. A tool of another type is refused for its type, wherever its other fields are.
///
/// # Errors
/// For anything else.
pub fn tools<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<SqlQueryTool>>, D::Error> {
    let tools = Option::<Vec<Tool>>::deserialize(deserializer)?;
    Ok(tools.map(|tools| tools.into_iter().map(|tool| tool.0).collect()))
}

struct Tool(SqlQueryTool);

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Tool;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                let fields = KnownFirst {
                    fields,
                    unknown: None,
                };
                SqlQueryTool::deserialize(MapAccessDeserializer::new(fields)).map(Tool)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// The known fields of an object; an unknown one is refused behind them.
struct KnownFirst<A> {
    fields: A,
    unknown: Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KnownFirst<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.fields.next_key::<String>()? {
            if FIELDS.contains(&&*name) {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            self.fields.next_value::<IgnoredAny>()?;
            self.unknown.get_or_insert(name);
        }
        match &self.unknown {
            Some(name) => Err(A::Error::unknown_field(name, FIELDS)),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}
