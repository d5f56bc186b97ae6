//! The tools: their arguments, and their results as JSON.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use uuid::Uuid;

use super::super::{AppState, ask, extract};
use mindhost_answers::{
    answering::{
        Ask, Input, SqlQuery,
        record::{ResponseRecord, Settings, Truncation},
    },
    conversations::{Author, Message},
};
use mindhost_base::error::{Code, Error};
use mindhost_core::auth::Caller;
use mindhost_sql::{
    json::{self, Rows},
    schema,
};

/// Default and maximum number of rows of `run_sql` and `read_page`. A model reads them all.
const USUAL_ROWS: u64 = 100;
const MAX_ROWS: u64 = 1000;
/// Maximum number of tables of a search.
const FOUND_TABLES: u32 = 50;

/// The names of all tools.
const NAMES: [&str; 5] = [
    "list_minds",
    "describe_tables",
    "ask",
    "run_sql",
    "read_page",
];

/// The server's own text of a tool's name; a caller's could be anything.
pub fn known(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// Why a call failed.
pub enum Failure {
    /// There is no tool of that name.
    UnknownTool,
    /// The tool failed.
    Of(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Of(error)
    }
}

/// The tools with JSON schemas of their arguments.
pub fn offered(allows_sql: bool) -> Vec<Tool> {
    let mut tools = vec![
        tool("list_minds", "The Minds that you may ask.", json!({}), &[]),
        tool(
            "describe_tables",
            "The tables of a Mind: those named in `tables` in detail (columns, types, keys, common values), else those that fit `search`.",
            json!({
                "mind": {"type": "string", "description": "name of the Mind"},
                "tables": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "names as a search gives them"},
                "search": {"type": "string", "description": "words to look for; none lists all"},
            }),
            &["mind"],
        ),
        tool(
            "ask",
            "Asks a Mind a question in words. Gives the answer and the SQL it is based on. With `incomplete_details`, the answer was cut; `unverified_numbers` are in nothing that the Mind has read.",
            json!({
                "mind": {"type": "string", "description": "name of the Mind"},
                "question": {"type": "string"},
                "conversation": {"type": "string", "description": "id of a conversation to go on with"},
            }),
            &["mind", "question"],
        ),
        tool(
            "read_page",
            "A page of the result behind an answer of `ask` or `run_sql`.",
            json!({
                "conversation": {"type": "string"},
                "message": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": USUAL_ROWS},
                "offset": {"type": "integer", "minimum": 0, "default": 0},
            }),
            &["conversation", "message"],
        ),
    ];
    if allows_sql {
        tools.push(tool(
            "run_sql",
            "Runs one read-only SELECT over the tables of a Mind that allows it.",
            json!({
                "mind": {"type": "string", "description": "name of the Mind"},
                "sql": {"type": "string"},
                "max_rows": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": USUAL_ROWS},
            }),
            &["mind", "sql"],
        ));
    }
    tools
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
) -> Tool {
    let schema: JsonObject = [
        ("type", json!("object")),
        ("properties", properties),
        ("required", json!(required)),
        ("additionalProperties", json!(false)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect();
    Tool::new(name, description, schema).annotate(ToolAnnotations::new().read_only(true))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeTables {
    mind: String,
    #[serde(default)]
    tables: Vec<String>,
    #[serde(default)]
    search: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskMind {
    mind: String,
    question: String,
    conversation: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunSql {
    mind: String,
    sql: String,
    max_rows: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadPage {
    conversation: String,
    message: String,
    limit: Option<u64>,
    #[serde(default)]
    offset: u64,
}

/// Runs one tool.
///
/// # Errors
/// The same as on `/api/v1`.
pub async fn call(
    state: &AppState,
    caller: &Caller,
    name: &str,
    arguments: Value,
) -> Result<Value, Failure> {
    let made = match name {
        "list_minds" => list_minds(state, caller).await,
        "describe_tables" => describe_tables(state, caller, parse(arguments)?).await,
        "ask" => ask_mind(state, caller, parse(arguments)?).await,
        "run_sql" => run_sql(state, caller, parse(arguments)?).await,
        "read_page" => read_page(state, caller, parse(arguments)?).await,
        _ => return Err(Failure::UnknownTool),
    };
    made.map_err(|error| Failure::Of(in_words_of_tools(error, name)))
}

/// Rewrites messages about routes and fields for callers of tools, who know only tools and arguments.
fn in_words_of_tools(error: Error, tool: &str) -> Error {
    let advice = match (error.code(), tool) {
        (Code::MindNotFound, _) => Some("`list_minds` lists those there are"),
        (Code::UnknownTable, _) => {
            Some("`describe_tables` without `tables` lists those of the Mind")
        }
        (Code::DirectQueriesNotAllowed, "run_sql") => {
            Some("`ask` it in words, or have an editor set its parameter `allow_direct_queries`")
        }
        (Code::ConversationNotFound, "read_page") => {
            Some("`ask` and `run_sql` give the `conversation` and the `message` of their result")
        }
        _ => None,
    };
    let param = match (error.code(), error.param_name()) {
        (Code::MindNotFound, _) | (_, Some("model")) => Some("mind"),
        (_, Some("table_names")) => Some("tables"),
        (Code::DirectQueriesNotAllowed, _) if tool == "run_sql" => Some("mind"),
        (Code::DirectQueriesNotAllowed, _) => Some("message"),
        _ => None,
    };
    let error = match (advice, error.message().rsplit_once("; ")) {
        (Some(advice), Some((fact, _))) => {
            let told = Error::new(error.code(), format!("{fact}; {advice}"));
            match error.param_name() {
                Some(named) => told.param(named),
                None => told,
            }
        }
        _ => error,
    };
    match param {
        Some(param) => error.param(param),
        None => error,
    }
}

async fn list_minds(state: &AppState, caller: &Caller) -> Result<Value, Error> {
    let minds = state.minds.list(caller).await?;
    let shown = minds.iter().map(|mind| {
        let datasources: Vec<&str> = mind.datasources.iter().map(|one| one.name.as_str()).collect();
        json!({"name": mind.name, "datasources": datasources, "allows_sql": mind.allows_direct_queries()})
    });
    Ok(json!({"minds": shown.collect::<Vec<_>>()}))
}

async fn describe_tables(
    state: &AppState,
    caller: &Caller,
    wanted: DescribeTables,
) -> Result<Value, Error> {
    let mind = state.minds.current(caller, &wanted.mind).await?;
    caller.count(|tally| tally.mind(&mind.id));
    let access = state.results.access(&mind, &caller.attributes).await?;
    let view = &access.view;
    if wanted.tables.is_empty() {
        let knowledge = state.knowledge.of_tables(&mind, &access.scope).await?;
        let found = (state.catalog).search(view, &knowledge, &wanted.search, FOUND_TABLES);
        let mut found = found.await?;
        // The model can search again; tables that do not match would mislead it.
        if !found.do_fit {
            found.tables.clear();
        }
        return serde_json::to_value(found).map_err(Error::internal);
    }
    if wanted.tables.len() > 20 {
        return Err(Error::invalid("tables", "name 20 tables at most at once"));
    }
    let described = state.catalog.describe(view, &wanted.tables).await?;
    Ok(json!({"tables": described}))
}

async fn ask_mind(state: &AppState, caller: &Caller, wanted: AskMind) -> Result<Value, Error> {
    if wanted.question.trim().is_empty() {
        return Err(Error::invalid("question", "the question is empty"));
    }
    let conversation = wanted.conversation.as_deref();
    let conversation = conversation.map(conversation_id).transpose()?;
    let ask = Ask {
        model: wanted.mind,
        input: vec![Input::Message(Message::new(Author::User, &wanted.question))],
        conversation,
        settings: Settings {
            truncation: Truncation::Auto,
            ..Settings::default()
        },
        ..Ask::default()
    };
    let record = state.answering.complete(caller, ask).await?;
    let item: Value = item(&record)?;
    let cut = record.ending.filter(|ending| ending.is_cut());
    Ok(json!({
        "answer": item["content"][0]["text"],
        "sql": item["sql"],
        "row_count": item["row_count"],
        "truncated": item["truncated"],
        "assumptions": item["assumptions"],
        "unverified_numbers": item["unverified_numbers"],
        "ending": item["ending"],
        "incomplete_details": cut.map(|ending| json!({"reason": ending.as_str()})),
        "conversation": record.conversation_id,
        "message": item["id"],
    }))
}

/// An item of type `query_result`, whose rows may be nested too deeply for a value.
#[derive(Deserialize)]
struct QueryResult<'a> {
    id: Uuid,
    column_types: Value,
    #[serde(borrow)]
    data: &'a RawValue,
    total: u64,
    has_more: bool,
}

async fn run_sql(state: &AppState, caller: &Caller, wanted: RunSql) -> Result<Value, Error> {
    let ask = Ask {
        model: wanted.mind,
        query: Some(SqlQuery {
            sql: wanted.sql,
            explain: false,
            max_inline_rows: rows(wanted.max_rows, "max_rows")?,
            param: "sql",
        }),
        ..Ask::default()
    };
    let record = state.answering.complete(caller, ask).await?;
    let item: QueryResult<'_> = item(&record)?;
    Ok(json!({
        "columns": item.column_types,
        "rows": json::values(item.data.get()).map_err(Error::internal)?,
        "total": item.total,
        "has_more": item.has_more,
        "conversation": record.conversation_id,
        "message": item.id,
    }))
}

async fn read_page(state: &AppState, caller: &Caller, wanted: ReadPage) -> Result<Value, Error> {
    let limit = rows(wanted.limit, "limit")?;
    let conversation = conversation_id(&wanted.conversation)?;
    let message = ask::id(&wanted.message, "msg_", "message", Code::MessageNotFound)?;
    let results = &state.stored_results;
    let statement = results.find(caller, conversation, message).await?;
    let page = results.page(&statement, limit, wanted.offset).await?;
    let has_more = wanted.offset.saturating_add(page.rows()) < page.total;
    let columns = schema::column_types(&page.columns);
    let rows = serde_json::to_string(&Rows::new(page.columns, page.batches));
    let rows = rows.and_then(|rows| json::values(&rows));
    Ok(json!({
        "columns": columns,
        "rows": rows.map_err(Error::internal)?,
        "total": page.total,
        "has_more": has_more,
    }))
}

/// The only output item of a response.
fn item<'a, T: Deserialize<'a>>(record: &'a ResponseRecord) -> Result<T, Error> {
    let raw = record.output.first();
    let raw = raw.ok_or_else(|| Error::internal("a response without output"))?;
    serde_json::from_str(raw.get()).map_err(Error::internal)
}

fn conversation_id(text: &str) -> Result<Uuid, Error> {
    ask::id(text, "conv_", "conversation", Code::ConversationNotFound)
}

fn rows(wanted: Option<u64>, param: &str) -> Result<u64, Error> {
    let rows = wanted.unwrap_or(USUAL_ROWS);
    match (1..=MAX_ROWS).contains(&rows) {
        true => Ok(rows),
        false => Err(Error::invalid(
            param,
            format!("`{param}` must be an integer from 1 to {MAX_ROWS}"),
        )),
    }
}

fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, Error> {
    // As in other request bodies.
    if extract::holds_nul(arguments.to_string().as_bytes()) {
        return Err(Error::invalid("arguments", extract::NUL));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let (path, message) = (error.path().to_string(), error.inner().to_string());
        extract::refused(Code::InvalidParameter, &path, &message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_speaks_of_tools_and_their_arguments() {
        for (code, said, param, tool, expected, named) in [
            (
                Code::MindNotFound,
                "there is no Mind 'x'; `GET /minds` lists those there are",
                "model",
                "ask",
                "there is no Mind 'x'; `list_minds` lists those there are",
                "mind",
            ),
            (
                Code::UnknownTable,
                "the datasource has no table 'x'; GET the catalog for its tables",
                "table_names",
                "describe_tables",
                "the datasource has no table 'x'; `describe_tables` without `tables` lists those of the Mind",
                "tables",
            ),
            (
                Code::DirectQueriesNotAllowed,
                "the Mind 'x' does not allow direct SQL queries; ask in words",
                "tools",
                "run_sql",
                "the Mind 'x' does not allow direct SQL queries; `ask` it in words, or have an editor set its parameter \
                 `allow_direct_queries`",
                "mind",
            ),
            (
                Code::SqlInvalid,
                "no such column: x; is it there?",
                "sql",
                "run_sql",
                "no such column: x; is it there?",
                "sql",
            ),
        ] {
            let error = in_words_of_tools(Error::new(code, said).param(param), tool);
            assert_eq!(
                (error.message(), error.param_name()),
                (expected, Some(named))
            );
        }
    }
}
