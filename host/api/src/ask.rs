//! The body of `POST /responses`, read into what the Mind is asked.

pub mod request_schema;
mod settings;

use std::num::NonZeroU32;

use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error as UnknownWord},
};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use mindhost_answers::{
    answering::{Ask, Input, MAX_INLINE_ROWS, SqlQuery, record::Truncation},
    conversations::{Author, Message},
};
use mindhost_base::error::{Code, Error, Result};

/// The fields that matter here. Others of OpenAI's API are accepted and have no effect.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewResponse)]
pub struct CreateResponse {
    /// Name of the Mind to ask.
    #[schema(value_type = String, min_length = 1, example = "sales")]
    model: Option<String>,
    /// The question. Can be left out with `conversation` or `previous_response_id`, whose last message of the user is
    /// answered again then, and with the tool `sql_query`.
    #[serde(default)]
    #[schema(value_type = Option<request_schema::Input>)]
    input: Value,
    /// The conversation that it belongs to; a new one is begun unless given.
    #[serde(default)]
    #[schema(value_type = Option<request_schema::Conversation>)]
    conversation: Value,
    /// The response that it continues, in place of `conversation`.
    previous_response_id: Option<String>,
    /// Whether to answer with a stream.
    #[serde(default)]
    pub stream: Option<bool>,
    /// At most the tool `sql_query`.
    #[serde(default)]
    #[schema(value_type = Option<Vec<request_schema::SqlQueryTool>>, max_items = 1)]
    tools: Option<Vec<Value>>,
    /// Added to what guides the Mind.
    instructions: Option<String>,
    #[schema(schema_with = request_schema::metadata)]
    metadata: Option<Map<String, Value>>,
    /// Tokens that the model may write.
    #[schema(value_type = Option<u32>, minimum = 1)]
    max_output_tokens: Option<NonZeroU32>,
    /// How freely the model chooses its words.
    #[schema(minimum = 0.0, maximum = 2.0)]
    temperature: Option<f64>,
    /// Kept and shown; it has no effect.
    #[schema(minimum = 0.0, maximum = 1.0)]
    top_p: Option<f64>,
    /// Kept and shown; it has no effect.
    #[schema(minimum = -2.0, maximum = 2.0)]
    presence_penalty: Option<f64>,
    /// Kept and shown; it has no effect.
    #[schema(minimum = -2.0, maximum = 2.0)]
    frequency_penalty: Option<f64>,
    /// Kept and shown; no answer has log probabilities.
    #[schema(minimum = 0, maximum = 20)]
    top_logprobs: Option<u32>,
    /// Tool calls that the model may make; what it asks for beyond them is not done.
    #[schema(value_type = Option<u32>, minimum = 1)]
    max_tool_calls: Option<NonZeroU32>,
    /// Kept and shown; there is one tier.
    #[schema(value_type = Option<request_schema::ServiceTier>)]
    service_tier: Option<String>,
    /// The caller's own name of its user; kept and shown.
    #[schema(max_length = 64)]
    safety_identifier: Option<String>,
    /// Kept and shown; it has no effect.
    #[schema(max_length = 64)]
    prompt_cache_key: Option<String>,
    /// What to do with a dialogue that is longer than the model may be sent: `auto` leaves out the oldest messages,
    /// `disabled` refuses it with `context_length_exceeded`.
    #[schema(value_type = Option<Truncation>)]
    truncation: Option<String>,
    /// How the answer is written: as text.
    #[serde(default)]
    #[schema(value_type = Option<request_schema::AnswerText>)]
    text: Value,
    /// Whether anything of the answer is kept; it is unless this says no.
    store: Option<bool>,
    /// Whether to answer at once and go on without the client. Such an answer is stored.
    pub background: Option<bool>,
    /// `steps` adds events that tell how the answer is found; `chart` adds a chart of the result to the item.
    #[serde(default)]
    #[schema(example = json!(["steps", "chart"]))]
    include: Option<Vec<String>>,
}

impl CreateResponse {
    /// Checks the fields by themselves.
    ///
    /// # Errors
    /// `invalid_parameter`, with the path of the field.
    pub fn into_ask(self) -> Result<Ask> {
        let settings = self.settings()?;
        let model = model(self.model)?;
        let conversation = conversation(&self.conversation)?;
        let previous_response_id = self
            .previous_response_id
            .map(|text| {
                id(
                    &text,
                    "resp_",
                    "previous_response_id",
                    Code::ResponseNotFound,
                )
            })
            .transpose()?;
        if conversation.is_some() && previous_response_id.is_some() {
            return Err(Error::invalid(
                "previous_response_id",
                "send `conversation` or `previous_response_id`, not both",
            ));
        }
        in_words(
            self.text.get("format").unwrap_or(&Value::Null),
            "text.format.type",
        )?;
        let query = self.tools.as_deref().map(sql_query).transpose()?;
        let input = input(&self.input)?;
        let (store, background) = (self.store.unwrap_or(true), self.background.unwrap_or(false));
        if background && !store {
            return Err(Error::invalid(
                "background",
                "an answer in the background must be stored to be read later; leave `store` out",
            ));
        }
        if input.is_empty()
            && query.is_none()
            && conversation.is_none()
            && previous_response_id.is_none()
        {
            return Err(Error::invalid(
                "input",
                "`input` is missing: the question; it can be left out with `conversation`, with `previous_response_id` and with the tool sql_query",
            ));
        }
        Ok(Ask {
            model,
            input,
            conversation,
            previous_response_id,
            query,
            instructions: self.instructions,
            metadata: metadata(self.metadata)?,
            max_output_tokens: self.max_output_tokens.map(NonZeroU32::get),
            settings,
            store,
            background,
            shows_steps: self.include.iter().flatten().any(|name| name == "steps"),
            wants_chart: self.include.iter().flatten().any(|name| name == "chart"),
        })
    }
}

/// Refuses a format that the answer would not have.
///
/// # Errors
/// `invalid_parameter`
pub fn in_words(format: &Value, param: &str) -> Result<()> {
    match format.get("type").and_then(Value::as_str) {
        None | Some("text") => Ok(()),
        Some(other) => Err(Error::invalid(
            param,
            format!(
                "a Mind answers in words, not as '{}'; leave the format out and ask for one in `instructions`",
                short(other)
            ),
        )),
    }
}

/// The name of the Mind, which must be there.
///
/// # Errors
/// `invalid_parameter`
pub fn model(given: Option<String>) -> Result<String> {
    given.filter(|name| !name.is_empty()).ok_or_else(|| {
        Error::invalid(
            "model",
            "`model` is missing: the name of the Mind to ask; GET /minds lists them",
        )
    })
}

/// The messages of a chat, the question among them. An assistant that only called tools said nothing.
///
/// # Errors
/// `invalid_parameter`, with the path of what is wrong.
pub fn chat(given: &Value) -> Result<Vec<Input>> {
    let is_silent = |item: &Value| {
        item.get("role").and_then(Value::as_str) == Some("assistant")
            && match item.get("content") {
                None | Some(Value::Null) => true,
                Some(content) => content.as_str().is_some_and(str::is_empty),
            }
    };
    let items: Vec<Value> = match given {
        Value::Array(items) => items
            .iter()
            .filter(|item| !is_silent(item))
            .cloned()
            .collect(),
        _ => {
            return Err(Error::invalid(
                "messages",
                "`messages` must be a list of messages",
            ));
        }
    };
    let messages = messages(&Value::Array(items), "messages")?;
    if !messages
        .iter()
        .any(|message| message.author == Author::User)
    {
        return Err(Error::invalid(
            "messages",
            "`messages` has no message of the role user",
        ));
    }
    Ok(messages.into_iter().map(Input::Message).collect())
}

/// Pairs, characters of a name and of a text that metadata may have, as in OpenAI's API.
const METADATA: (usize, usize, usize) = (16, 64, 512);

/// A text as one of the words of `T`.
fn word<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, UnknownWord> {
    T::deserialize(text.into_deserializer())
}

/// The caller's own notes: a few short texts by name.
///
/// # Errors
/// `invalid_parameter`
pub fn metadata(given: Option<Map<String, Value>>) -> Result<Map<String, Value>> {
    let given = given.unwrap_or_default();
    let (pairs, name, text) = METADATA;
    let is_short = |key: &str, value: &Value| {
        key.chars().count() <= name
            && value
                .as_str()
                .is_some_and(|value| value.chars().count() <= text)
    };
    if given.len() > pairs || !given.iter().all(|(key, value)| is_short(key, value)) {
        return Err(Error::invalid(
            "metadata",
            format!(
                "`metadata` has at most {pairs} pairs of a name of at most {name} characters and a text of at most {text}"
            ),
        ));
    }
    Ok(given)
}

/// A UUID, with or without its prefix.
///
/// # Errors
/// `not_found` when it is none: nothing can have such an id.
pub fn id(text: &str, prefix: &str, param: &str, not_found: Code) -> Result<Uuid> {
    text.strip_prefix(prefix)
        .unwrap_or(text)
        .parse()
        .map_err(|_| {
            Error::new(
                not_found,
                format!("'{}' is no id: ids are UUIDs", short(text)),
            )
            .param(param)
        })
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

fn conversation(value: &Value) -> Result<Option<Uuid>> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => Some(text.as_str()),
        Value::Object(fields) => fields.get("id").and_then(Value::as_str),
        _ => None,
    };
    let text = text.ok_or_else(|| {
        Error::invalid(
            "conversation",
            "`conversation` must be a conversation's id, or an object {\"id\": …}",
        )
    })?;
    id(text, "conv_", "conversation", Code::ConversationNotFound).map(Some)
}

fn sql_query(tools: &[Value]) -> Result<SqlQuery> {
    let tool = match tools {
        [tool] => tool,
        _ => {
            return Err(Error::invalid(
                "tools",
                "`tools` takes exactly one tool, sql_query",
            ));
        }
    };
    let field = |name: &str| tool.get(name).unwrap_or(&Value::Null);
    if field("type").as_str() != Some("sql_query") {
        return Err(Error::invalid(
            "tools[0].type",
            "the only tool is sql_query: {\"type\": \"sql_query\", \"query\": \"SELECT …\"}",
        ));
    }
    let sql = field("query")
        .as_str()
        .filter(|sql| !sql.trim().is_empty())
        .ok_or_else(|| Error::invalid("tools[0].query", "`query` is missing: the SELECT to run"))?;
    let max_inline_rows = match field("max_inline_rows") {
        Value::Null => MAX_INLINE_ROWS,
        value => value
            .as_u64()
            .filter(|rows| (1..=MAX_INLINE_ROWS).contains(rows))
            .ok_or_else(|| {
                Error::invalid(
                    "tools[0].max_inline_rows",
                    format!("`max_inline_rows` must be an integer from 1 to {MAX_INLINE_ROWS}"),
                )
            })?,
    };
    let explain = match field("explain") {
        Value::Null => false,
        value => value
            .as_bool()
            .ok_or_else(|| Error::invalid("tools[0].explain", "`explain` must be true or false"))?,
    };
    Ok(SqlQuery {
        sql: sql.to_owned(),
        max_inline_rows,
        explain,
        param: "tools[0].query",
    })
}

fn input(value: &Value) -> Result<Vec<Input>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Input::Message(message(Author::User, text, "input")?)]),
        Value::Array(items) if items.is_empty() => Err(Error::invalid(
            "input",
            "`input` is an empty list; send the question",
        )),
        Value::Array(items) => {
            let input = inputs(items, "input")?;
            let may_ask = |one: &Input| match one {
                Input::Message(message) => message.author == Author::User,
                Input::Reference(..) => true,
            };
            match input.iter().any(may_ask) {
                true => Ok(input),
                false => Err(Error::invalid(
                    "input",
                    "`input` has no message of the role user",
                )),
            }
        }
        _ => Err(Error::invalid(
            "input",
            "`input` must be a text or a list of messages",
        )),
    }
}

fn inputs(items: &[Value], path: &str) -> Result<Vec<Input>> {
    let items = items.iter().enumerate();
    items
        .map(|(index, item)| input_item(item, &format!("{path}[{index}]")))
        .collect()
}

/// A list of new messages; none when it is absent.
///
/// # Errors
/// `invalid_parameter`, with the path of what is wrong.
pub fn messages(value: &Value, path: &str) -> Result<Vec<Message>> {
    let items = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        _ => {
            return Err(Error::invalid(
                path,
                format!("`{path}` is a list of messages"),
            ));
        }
    };
    let new = |input| match input {
        Input::Message(message) => Ok(message),
        Input::Reference(_, param) => Err(Error::invalid(
            param,
            "send messages here; a reference names one that is there already",
        )),
    };
    inputs(items, path)?.into_iter().map(new).collect()
}

/// A message, or a reference to one.
fn input_item(item: &Value, path: &str) -> Result<Input> {
    let kind = match item.get("type") {
        None | Some(Value::Null) => "message",
        Some(Value::String(kind)) => kind,
        Some(_) => {
            return Err(Error::invalid(
                format!("{path}.type"),
                "`type` must be a text, such as message",
            ));
        }
    };
    match kind {
        "message" => {}
        "item_reference" => {
            let param = format!("{path}.id");
            let text = item.get("id").and_then(Value::as_str).ok_or_else(|| {
                Error::invalid(param.as_str(), "`id` is missing: the id of the message")
            })?;
            let id = id(text, "msg_", &param, Code::MessageNotFound)?;
            return Ok(Input::Reference(id, param));
        }
        other => {
            return Err(Error::invalid(
                format!("{path}.type"),
                format!("unsupported item type '{}'; send messages", short(other)),
            ));
        }
    }
    if !item.is_object() {
        return Err(Error::invalid(
            path,
            "an item is an object, such as a message",
        ));
    }
    let role = item.get("role").and_then(Value::as_str);
    let author: Author = role.and_then(|role| word(role).ok()).ok_or_else(|| {
        Error::invalid(
            format!("{path}.role"),
            "`role` must be user, assistant, system or developer",
        )
    })?;
    let path = format!("{path}.content");
    let text = match item.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts_text(parts, &path)?,
        _ => {
            return Err(Error::invalid(
                path,
                "`content` must be a text or a list of parts",
            ));
        }
    };
    message(author, &text, &path).map(Input::Message)
}

fn parts_text(parts: &[Value], path: &str) -> Result<String> {
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let kind = word::<request_schema::PartType>(kind);
        match (kind, part.get("text").and_then(Value::as_str)) {
            (Ok(_), Some(text)) => texts.push(text),
            _ => {
                return Err(Error::invalid(
                    format!("{path}[{index}]"),
                    "a part is {\"type\": \"input_text\", \"text\": …}; pictures, files and sound are not taken",
                ));
            }
        }
    }
    Ok(texts.join("\n"))
}

fn message(author: Author, text: &str, path: &str) -> Result<Message> {
    // An answer that was cut before its first word is sent back as it was.
    if text.trim().is_empty() && author != Author::Assistant {
        return Err(Error::invalid(path, "the text is empty"));
    }
    Ok(Message::new(author, text))
}

#[cfg(test)]
mod tests;
