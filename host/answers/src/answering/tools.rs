//! The tools of the model.
//!
//! The model is untrusted: its arguments are validated, and its SQL passes the same guard as that of a caller. It gets
//! error messages, so that it can try again.

mod current_rights;
mod find_values;
mod origins;
mod outages;

use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    data_marks, decline,
    facts::{self, ExecutedStatement, ResultFacts},
    provenance::Provenance,
    repair::{self, Subject},
    step::{Step, StepStatus},
};
use crate::{
    conversations::{SqlOrigin, StoredSql},
    results::{Access, Results, sample},
};
use mindhost_base::{
    error::{Code, Error, Kind, Result},
    locks::lock,
};
use mindhost_catalog::Catalog;
use mindhost_plugin_api::{Call, Tool, ToolCall};

pub use self::{current_rights::CurrentRights, outages::Outages};

/// Everything that the tools need.
pub struct Toolbox<'a> {
    /// Runs statements.
    pub results: &'a Results,
    /// Finds tables.
    pub catalog: &'a Catalog,
    /// What the Mind may see, as of the last tool call.
    pub access: Arc<Access>,
    /// Where the access is looked up again.
    pub rights: CurrentRights<'a>,
    /// What the Mind was taught about its tables.
    pub knowledge: Arc<mindhost_retrieval::Knowledge>,
    /// Most rows of a result that the model gets.
    pub max_rows: NonZeroU32,
    /// What the model has read of each datasource.
    pub provenance: Mutex<Provenance>,
    /// Whether an earlier answer may be from a datasource that the Mind does not have.
    pub has_others: bool,
    /// The highest cost of a plan; 0 means none.
    pub max_plan_cost: f64,
    /// Most bytes of the rows of one result.
    pub max_result_bytes: usize,
    /// Statements that the model was warned of, each once.
    pub warned: Mutex<HashSet<String>>,
    /// The datasources that could not be reached.
    pub outages: Mutex<Outages>,
}

/// The outcome of a tool call.
pub struct Outcome {
    /// A JSON object for the model, without the marks of data.
    pub content: String,
    /// Whether `content` is an error.
    pub is_error: bool,
    /// Whether it counts against the limit of repairs.
    pub needs_repair: bool,
    /// The number of rows, or why it failed, as a text that the model sees later may tell it.
    pub told: String,
    /// The statement, when it ran.
    pub ran: Option<ExecutedStatement>,
    /// The step for the event log.
    pub step: Step,
}

/// Rows that the model gets by default.
const USUAL_ROWS: u32 = 50;

/// What a search says where it cannot find anything.
const NO_DATASOURCE: &str = "This Mind has no datasource, so there is nothing to look at. An editor adds one to it, with \
     `PUT /minds/{name}` or in the console.";

/// The tools, with JSON schemas of their arguments.
pub fn offered(max_rows: NonZeroU32) -> Vec<Tool> {
    let tool = |name: &str, description: &str, parameters: Value| Tool {
        name: name.into(),
        description: description.into(),
        parameters: parameters.to_string(),
    };
    vec![
        tool(
            "search_catalog",
            "Finds tables by words in their names, columns and descriptions; an empty query lists all. Best matches first.",
            json!({"type": "object", "properties": {
                "query": {"type": "string", "description": "words to look for"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100}
            }, "required": ["query"], "additionalProperties": false}),
        ),
        tool(
            "describe_tables",
            "Columns, types, keys, descriptions and common values of tables.",
            json!({"type": "object", "properties": {
                "tables": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20,
                    "description": "names as search_catalog gives them"}
            }, "required": ["tables"], "additionalProperties": false}),
        ),
        tool(
            "find_values",
            "Finds the columns that have a value, and how it is written there, ignoring case. Use it before you compare with a name or word of the question that the catalog does not show.",
            json!({"type": "object", "properties": {
                "value": {"type": "string", "description": "the value or a part of it"},
                "about": {"type": "string", "description": "words for what it is, such as `city of the customer`"},
                "tables": {"type": "array", "items": {"type": "string"}, "maxItems": 20,
                    "description": "only in these tables"}
            }, "required": ["value"], "additionalProperties": false}),
        ),
        tool(
            "run_sql",
            "Runs one read-only SELECT and gives its rows. With several datasources, give `datasource` for the dialect of that one; or leave it out and write datasource.schema.table to join tables of several.",
            json!({"type": "object", "properties": {
                "datasource": {"type": "string"},
                "sql": {"type": "string"},
                "max_rows": {"type": "integer", "minimum": 1, "maximum": max_rows},
                "assumptions": {"type": "array", "items": {"type": "string"}, "maxItems": 8,
                    "description": "what you took for granted where the question leaves it open, each a short sentence"}
            }, "required": ["sql"], "additionalProperties": false}),
        ),
        decline::tool(),
    ]
}

#[derive(Deserialize)]
struct SearchCatalog {
    #[serde(default)]
    query: String,
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Deserialize)]
struct DescribeTables {
    tables: Vec<String>,
}

#[derive(Deserialize)]
struct RunSql {
    #[serde(default)]
    datasource: Option<String>,
    sql: String,
    #[serde(default)]
    max_rows: Option<u32>,
    #[serde(default)]
    assumptions: Vec<String>,
}

/// The result of a tool: JSON for the model, the statement if there was one, the text of the step.
type ToolResult = (Value, Option<ExecutedStatement>, String);

impl Toolbox<'_> {
    /// Runs one tool call of the model.
    ///
    /// # Errors
    /// Only when the answer cannot continue: it is cancelled, out of time, or the host failed. Other errors become an outcome that the model can read.
    pub async fn run(&self, tool_call: &ToolCall, call: &Call) -> Result<Outcome> {
        let began = Instant::now();
        let sql = sql_of(tool_call);
        let given = match tool_call.name.as_str() {
            "search_catalog" => self.search_catalog(tool_call).await,
            "describe_tables" => self.describe_tables(tool_call).await,
            "find_values" => self.find_values(tool_call, call).await,
            "run_sql" => self.run_sql(tool_call, call).await,
            other => Err(Error::invalid(
                "name",
                format!(
                    "there is no tool '{other}'; there are search_catalog, describe_tables, find_values and run_sql"
                ),
            )),
        };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let step = |status, message| Step {
            name: tool_call.name.clone(),
            status,
            sql,
            message,
            duration_ms,
            tables: Vec::new(),
        };
        match given {
            Ok((content, ran, message)) => Ok(Outcome {
                content: content.to_string(),
                is_error: false,
                needs_repair: false,
                told: message.clone(),
                ran,
                step: step(StepStatus::Completed, message),
            }),
            Err(error)
                if matches!(error.kind(), Kind::Cancelled | Kind::Internal)
                    || error.is_of_store()
                    || call.remaining().is_zero() =>
            {
                Err(error)
            }
            Err(error) => Ok(Outcome {
                content: self.feedback(tool_call, &error).await.to_string(),
                is_error: true,
                needs_repair: true,
                told: repair::message(&error, self.access.sends_rows()).to_owned(),
                ran: None,
                step: step(StepStatus::Failed, error.message().to_owned()),
            }),
        }
    }

    /// The outcome of a call that is not run.
    pub fn refuse(&self, tool_call: &ToolCall, fault: &str) -> Outcome {
        let content = json!({"error": {"code": "invalid_arguments", "message": fault}});
        Outcome {
            content: content.to_string(),
            is_error: true,
            needs_repair: true,
            told: fault.to_owned(),
            ran: None,
            step: Step {
                name: tool_call.name.clone(),
                status: StepStatus::Failed,
                sql: None,
                message: fault.to_owned(),
                duration_ms: 0,
                tables: Vec::new(),
            },
        }
    }

    /// What the model is told of a failed call.
    async fn feedback(&self, tool_call: &ToolCall, error: &Error) -> Value {
        let plain = || json!({"error": repair::told(error, self.access.sends_rows())});
        let Ok(arguments) = parse::<RunSql>(tool_call) else {
            return plain();
        };
        if tool_call.name != "run_sql" {
            return plain();
        }
        let Ok(access) = self.access.narrowed(arguments.datasource.as_deref()) else {
            return plain();
        };
        let subject = Subject {
            sql: &arguments.sql,
            access: &access,
            catalog: self.catalog,
        };
        // Whether the guard or the engine refused it. The guard remembers what it accepted.
        let accepted = self
            .results
            .accept(&access, &arguments.sql, SqlOrigin::Model)
            .await
            .ok();
        repair::feedback(&subject, error, accepted.as_ref()).await
    }

    /// Adds warnings to a result that looks wrong, once for each statement.
    async fn warn(&self, sql: &str, access: &Access, total: u64, content: &mut Value) {
        if !lock(&self.warned).insert(sql.to_owned()) {
            return;
        }
        let subject = Subject {
            sql,
            access,
            catalog: self.catalog,
        };
        let warnings = repair::warnings(&subject, total, content.get("rows")).await;
        for warning in &warnings {
            self.note(&warning.datasource, &json!(warning.values));
        }
        if !warnings.is_empty() {
            let texts = warnings.into_iter().map(|warning| warning.text);
            content["warnings"] = texts.collect();
        }
    }

    async fn search_catalog(&self, tool_call: &ToolCall) -> Result<ToolResult> {
        let arguments: SearchCatalog = parse(tool_call)?;
        let found = self
            .catalog
            .search(
                &self.access.view,
                &self.knowledge,
                &arguments.query,
                arguments.limit.unwrap_or(25).clamp(1, 100),
            )
            .await?;
        let message = format!("{} tables", found.tables.len());
        let mut content = serde_json::to_value(found).map_err(Error::internal)?;
        if self.access.view.sources.is_empty() {
            content["note"] = json!(NO_DATASOURCE);
        }
        self.note_tables(&content["tables"]);
        Ok((content, None, message))
    }

    async fn describe_tables(&self, tool_call: &ToolCall) -> Result<ToolResult> {
        let arguments: DescribeTables = parse(tool_call)?;
        let names: Vec<String> = arguments.tables.into_iter().take(20).collect();
        let described = self.catalog.describe(&self.access.view, &names).await;
        let mut tables =
            serde_json::to_value(described.map_err(in_words_of_tools)?).map_err(Error::internal)?;
        for table in tables.as_array_mut().into_iter().flatten() {
            let dialect = table["datasource"]
                .as_str()
                .and_then(|name| self.access.dialect_of(name));
            table["dialect"] = json!(dialect);
        }
        let message = names.join(", ");
        self.note_tables(&tables);
        Ok((json!({"tables": tables}), None, message))
    }

    async fn run_sql(&self, tool_call: &ToolCall, call: &Call) -> Result<ToolResult> {
        let arguments: RunSql = parse(tool_call)?;
        let access = self.access.narrowed(arguments.datasource.as_deref())?;
        let limit = arguments
            .max_rows
            .unwrap_or(USUAL_ROWS)
            .clamp(1, self.max_rows.get());
        let accepted = self
            .results
            .accept(&access, &arguments.sql, SqlOrigin::Model)
            .await?;
        if self.has_origins() {
            self.check_origins(&accepted, &access, &arguments.sql)
                .await?;
        }
        let accepted = accepted.with_max_cost(self.max_plan_cost);
        // What comes out of several together belongs to none of them, so it may be sent to none.
        let datasources = accepted.datasources();
        let datasource = &datasources.join(" and ");
        let note_error = |error: &Error| {
            self.note(datasource, &json!(error.message()));
            lock(&self.outages).failed(&datasources, error);
        };
        let checked = self.results.check_cost(&accepted, call);
        checked.await.inspect_err(note_error)?;
        let page = self.results.page(&accepted, limit.into(), 0, call).await;
        let page = page.inspect_err(note_error)?;
        lock(&self.outages).reached(&datasources);
        let message = format!("{} of {} rows", page.rows(), page.total);
        let mut content = sample::for_model(&page, access.sends_rows())?;
        sample::limit(&mut content, self.max_result_bytes, data_marks::bytes);
        self.note(datasource, &content["rows"]);
        self.warn(&arguments.sql, &access, page.total, &mut content)
            .await;
        let facts = ResultFacts {
            tables: accepted.tables(),
            datasources: accepted.datasource_ids(),
            row_count: page.total,
            truncated: page.rows() < page.total || content["truncated"] == true,
            assumptions: facts::assumptions(arguments.assumptions),
        };
        let sql = StoredSql {
            text: arguments.sql,
            origin: SqlOrigin::Model,
        };
        Ok((content, Some(ExecutedStatement { sql, facts }), message))
    }
}

impl Toolbox<'_> {
    /// Records that the model reads this content of a datasource.
    pub(super) fn note(&self, datasource: &str, content: &Value) {
        if self.has_origins() {
            lock(&self.provenance).read(datasource, content);
        }
    }

    /// Records that the model reads the descriptions and values of tables.
    fn note_tables(&self, tables: &Value) {
        for table in tables.as_array().into_iter().flatten() {
            let datasource = table["datasource"].as_str().unwrap_or_default();
            self.note(datasource, &table["description"]);
            for column in table["columns"].as_array().into_iter().flatten() {
                for told in ["description", "common_values", "min", "max"] {
                    self.note(datasource, &column[told]);
                }
            }
        }
    }
}

/// The catalog advises callers of the API, which a model cannot call.
fn in_words_of_tools(error: Error) -> Error {
    match (error.code(), error.message().rsplit_once("; ")) {
        (Code::UnknownTable, Some((fact, _))) => {
            let message = format!("{fact}; search_catalog finds tables");
            Error::new(Code::UnknownTable, message).param("tables")
        }
        _ => error,
    }
}

fn parse<'a, T: Deserialize<'a>>(tool_call: &'a ToolCall) -> Result<T> {
    let text = if tool_call.arguments.trim().is_empty() {
        "{}"
    } else {
        tool_call.arguments.as_str()
    };
    serde_json::from_str(text).map_err(|error| {
        Error::invalid(
            "arguments",
            format!(
                "the arguments of {} are not what it takes: {error}",
                tool_call.name
            ),
        )
    })
}

fn sql_of(tool_call: &ToolCall) -> Option<String> {
    (tool_call.name == "run_sql")
        .then(|| {
            parse::<RunSql>(tool_call)
                .ok()
                .map(|arguments| arguments.sql)
        })
        .flatten()
}
