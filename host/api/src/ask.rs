//! The body of `POST /responses`, read into what the Mind is asked.

pub mod body;
pub mod settings;
pub mod shape;
pub mod tool;

use std::num::NonZeroU32;

use body::{AnswerFormat, AnswerText, ChatMessage, Content, InputItem, NonEmptyText};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::GivenSettings;
use tool::SqlQueryTool;
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
    input: Option<body::Input>,
    /// The conversation that it belongs to; a new one is begun unless given.
    conversation: Option<body::Conversation>,
    /// The response that it continues, in place of `conversation`.
    previous_response_id: Option<String>,
    /// Whether to answer with a stream.
    pub stream: Option<bool>,
    /// At most the tool `sql_query`.
    #[serde(default, deserialize_with = "tool::tools")]
    #[schema(max_items = 1)]
    tools: Option<Vec<SqlQueryTool>>,
    /// Added to what guides the Mind.
    instructions: Option<String>,
    #[schema(schema_with = body::metadata)]
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
    #[serde(default, deserialize_with = "shape::optional_word")]
    service_tier: Option<body::ServiceTier>,
    /// The caller's own name of its user; kept and shown.
    #[schema(max_length = 64)]
    safety_identifier: Option<String>,
    /// Kept and shown; it has no effect.
    #[schema(max_length = 64)]
    prompt_cache_key: Option<String>,
    /// What to do with a dialogue that is longer than the model may be sent: `auto` leaves out the oldest messages,
    /// `disabled` refuses it with `context_length_exceeded`.
    #[serde(default, deserialize_with = "shape::optional_word")]
    truncation: Option<Truncation>,
    /// How the answer is written: as text.
    #[serde(default, deserialize_with = "shape::optional_object")]
    text: Option<AnswerText>,
    /// Whether anything of the answer is kept; it is unless this says no.
    store: Option<bool>,
    /// Whether to answer at once and go on without the client. Such an answer is stored.
    pub background: Option<bool>,
    /// `steps` adds events that tell how the answer is found; `chart` adds a chart of the result to the item. OpenAI's
    /// own values, which have a dot, are accepted and have no effect.
    #[schema(schema_with = settings::include)]
    include: Option<Vec<String>>,
}

impl CreateResponse {
    /// Checks the fields by themselves.
    ///
    /// # Errors
    /// `invalid_parameter`, with the path of the field.
    pub fn into_ask(self) -> Result<Ask> {
        let settings = GivenSettings {
            truncation: self.truncation,
            temperature: self.temperature,
            top_p: self.top_p,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            top_logprobs: self.top_logprobs,
            max_tool_calls: self.max_tool_calls,
            service_tier: self.service_tier,
            safety_identifier: self.safety_identifier,
            prompt_cache_key: self.prompt_cache_key,
        }
        .checked()?;
        let model = model(self.model)?;
        let conversation = self
            .conversation
            .map(|one| {
                id(
                    one.id(),
                    "conv_",
                    "conversation",
                    Code::ConversationNotFound,
                )
            })
            .transpose()?;
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
        let format = self.text.and_then(|text| text.format);
        in_words(format.as_ref(), "text.format.type")?;
        // An empty list is what clients send that have no tool.
        let tools = self.tools.filter(|tools| !tools.is_empty());
        let query = tools.map(sql_query).transpose()?;
        let given = self
            .input
            .filter(|input| query.is_none() || !input.is_empty());
        let input = given.map(input).transpose()?.unwrap_or_default();
        let included = included(self.include.as_deref())?;
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
            shows_steps: included.contains(&"steps"),
            wants_chart: included.contains(&"chart"),
        })
    }
}

/// The values of `include`. Those of OpenAI are paths of fields, which its clients send by themselves.
///
/// # Errors
/// `invalid_parameter`
fn included(given: Option<&[String]>) -> Result<Vec<&str>> {
    let check = |(index, name)| match String::as_str(name) {
        known @ ("steps" | "chart") => Ok(known),
        openai if openai.contains('.') => Ok(openai),
        other => Err(Error::invalid(
            format!("include[{index}]"),
            format!(
                "`include` takes `steps` and `chart`, not '{}'",
                short(other)
            ),
        )),
    };
    let names = given.unwrap_or_default().iter().enumerate();
    names.map(check).collect()
}

/// Refuses a format that the answer would not have.
///
/// # Errors
/// `invalid_parameter`
pub fn in_words(format: Option<&AnswerFormat>, param: &str) -> Result<()> {
    match format.and_then(|format| format.r#type.as_deref()) {
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
pub fn chat(given: Vec<ChatMessage>) -> Result<Vec<Input>> {
    few("messages", given.len())?;
    let mut input = Vec::with_capacity(given.len());
    let mut asks = false;
    for (index, ChatMessage { role, content }) in given.into_iter().enumerate() {
        let path = format!("messages[{index}].content");
        let text = match (content.map(Content::text), role) {
            (Some(text), Author::Assistant) if text.is_empty() => continue,
            (None, Author::Assistant) => continue,
            (Some(text), _) => text,
            (None, _) => return Err(Error::invalid(path, "the text is missing")),
        };
        asks |= role == Author::User;
        input.push(Input::Message(message(role, &text, &path)?));
    }
    match asks {
        true => Ok(input),
        false => Err(Error::invalid(
            "messages",
            "`messages` has no message of the role user",
        )),
    }
}

/// Pairs, characters of a name and of a text that metadata may have, as in OpenAI's API.
const METADATA: (usize, usize, usize) = (16, 64, 512);

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

fn sql_query(tools: Vec<SqlQueryTool>) -> Result<SqlQuery> {
    let Ok([tool]) = <[SqlQueryTool; 1]>::try_from(tools) else {
        return Err(Error::invalid("tools", "`tools` takes one tool, sql_query"));
    };
    if tool.query.trim().is_empty() {
        return Err(Error::invalid(
            "tools[0].query",
            "`query` is empty: the SELECT to run",
        ));
    }
    let asked = tool.max_inline_rows;
    let max_inline_rows = asked.map_or(Ok(MAX_INLINE_ROWS), u64::try_from).ok();
    let in_range = |rows: &u64| (1..=MAX_INLINE_ROWS).contains(rows);
    let Some(max_inline_rows) = max_inline_rows.filter(in_range) else {
        return Err(Error::invalid(
            "tools[0].max_inline_rows",
            format!("`max_inline_rows` must be an integer from 1 to {MAX_INLINE_ROWS}"),
        ));
    };
    Ok(SqlQuery {
        sql: tool.query,
        max_inline_rows,
        explain: tool.explain.unwrap_or(false),
        param: "tools[0].query",
    })
}

/// Messages of one request, at most: they are stored and counted together.
const MAX_ITEMS: usize = 1_000;

fn few(param: &'static str, items: usize) -> Result<()> {
    match items <= MAX_ITEMS {
        true => Ok(()),
        false => Err(Error::invalid(
            param,
            format!("`{param}` has more than {MAX_ITEMS} messages; send the newest of them"),
        )),
    }
}

fn input(given: body::Input) -> Result<Vec<Input>> {
    let items = match given {
        body::Input::Text(NonEmptyText(text)) => {
            return Ok(vec![Input::Message(message(Author::User, &text, "input")?)]);
        }
        body::Input::Items(items) => items.0,
    };
    if items.is_empty() {
        return Err(Error::invalid(
            "input",
            "`input` is an empty list; send the question",
        ));
    }
    few("input", items.len())?;
    let items = items.into_iter().enumerate();
    let input: Vec<Input> = items
        .filter_map(|(index, item)| input_item(item, &format!("input[{index}]")).transpose())
        .collect::<Result<_>>()?;
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

/// New messages for a conversation.
///
/// # Errors
/// `invalid_parameter`, with the path of what is wrong.
pub fn messages(items: Vec<InputItem>, path: &str) -> Result<Vec<Message>> {
    let new = |(index, item)| match input_item(item, &format!("{path}[{index}]"))? {
        Some(Input::Message(message)) => Ok(Some(message)),
        Some(Input::Reference(_, param)) => Err(Error::invalid(
            param,
            "send messages here; a reference names one that is there already",
        )),
        None => Ok(None),
    };
    let items = items.into_iter().enumerate();
    items.filter_map(|item| new(item).transpose()).collect()
}

/// `None` for an item that is skipped.
fn input_item(item: InputItem, path: &str) -> Result<Option<Input>> {
    match item {
        InputItem::Message(body::Message { role, content, .. }) => {
            let text = content.text();
            let message = message(role, &text, &format!("{path}.content"))?;
            Ok(Some(Input::Message(message)))
        }
        InputItem::Reference(reference) => {
            let param = format!("{path}.id");
            let id = id(&reference.id, "msg_", &param, Code::MessageNotFound)?;
            Ok(Some(Input::Reference(id, param)))
        }
        InputItem::Skipped(body::Skipped { .. }) => Ok(None),
    }
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
