//! What `ask` reads by hand so that a mistake is named by its path, described for the documentation.

#![expect(dead_code, reason = "these describe bodies and are never made")]

use serde::Deserialize;
use utoipa::{
    ToSchema,
    openapi::{
        Object,
        schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type},
    },
};

/// A message.
#[derive(ToSchema)]
pub struct Message {
    /// `message`, which can be left out.
    #[schema(pattern = "^message$", example = "message")]
    r#type: Option<String>,
    role: super::Author,
    content: Content,
}

/// A message of a chat.
#[derive(ToSchema)]
pub struct ChatMessage {
    role: super::Author,
    /// Null or absent for an assistant that only called tools; it said nothing then.
    content: Option<Content>,
}

/// A text that is not empty.
#[derive(ToSchema)]
#[schema(pattern = "\\S", example = "How many orders were there?")]
pub struct NonEmptyText(String);

/// A text, or a list of parts.
#[derive(ToSchema)]
#[schema(as = MessageContent)]
#[serde(untagged)]
pub enum Content {
    /// The text.
    Text(NonEmptyText),
    /// Its parts, each a line.
    Parts(MessageParts),
}

/// At least one part.
#[derive(ToSchema)]
#[schema(as = MessageParts, min_items = 1)]
pub struct MessageParts(Vec<Part>);

/// A part of a message: text; pictures, files and sound are not taken.
#[derive(ToSchema)]
#[schema(as = MessagePart)]
pub struct Part {
    r#type: PartType,
    text: NonEmptyText,
}

/// What a part is.
#[derive(Deserialize, ToSchema)]
#[schema(as = MessagePartType)]
#[serde(rename_all = "snake_case")]
pub enum PartType {
    /// What a person writes.
    InputText,
    /// What a Mind wrote before.
    OutputText,
    /// Either, in chats.
    Text,
}

/// The question.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum Input {
    /// One message of the user.
    Text(NonEmptyText),
    /// Messages, one of the role user among them, and references to messages that are stored.
    Items(InputItems),
}

/// At least one item.
#[derive(ToSchema)]
#[schema(min_items = 1)]
pub struct InputItems(Vec<InputItem>);

/// A message, or a reference to one.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum InputItem {
    /// A new message.
    Message(Message),
    /// A stored one.
    Reference(Reference),
}

/// A message that is stored.
#[derive(ToSchema)]
#[schema(as = ItemReference)]
pub struct Reference {
    #[schema(pattern = "^item_reference$", example = "item_reference")]
    r#type: String,
    /// Its id.
    id: String,
}

/// The id of a conversation, or an object with it.
#[derive(ToSchema)]
#[schema(as = ConversationChoice)]
#[serde(untagged)]
pub enum Conversation {
    /// Its id.
    Id(String),
    /// An object with its id.
    Object(ConversationId),
}

/// A conversation by its id.
#[derive(ToSchema)]
pub struct ConversationId {
    id: String,
}

/// Runs a statement of the caller's in place of the Mind's model.
#[derive(ToSchema)]
pub struct SqlQueryTool {
    #[schema(pattern = "^sql_query$", example = "sql_query")]
    r#type: String,
    /// One SELECT over the Mind's datasources.
    #[schema(pattern = "\\S", example = "SELECT 1")]
    query: String,
    /// Rows in the answer; further ones are read as pages.
    #[schema(minimum = 1, maximum = 10_000, default = 10_000)]
    max_inline_rows: Option<u64>,
    /// Whether the result tells its plan, what was sent to which datasource, and how much came back.
    #[schema(default = false)]
    explain: Option<bool>,
}

/// Tiers that clients know. This server has one, and serves each of them alike.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceTier {
    /// As the vendor decides.
    Auto,
    /// The usual one.
    Default,
    /// Cheaper and slower.
    Flex,
    /// Bought in advance.
    Scale,
    /// Dearer and faster.
    Priority,
}

/// How an answer is written.
#[derive(ToSchema)]
pub struct AnswerText {
    format: Option<AnswerFormat>,
}

/// The only format: text.
#[derive(ToSchema)]
pub struct AnswerFormat {
    #[schema(pattern = "^text$", example = "text")]
    r#type: Option<String>,
}

/// The caller's own notes, or null.
pub fn metadata() -> Object {
    notes(SchemaType::from_iter([Type::Object, Type::Null]))
}

/// The caller's own notes.
pub fn metadata_object() -> Object {
    notes(Type::Object.into())
}

fn notes(schema_type: SchemaType) -> Object {
    let (pairs, name, text) = super::METADATA;
    let up_to = |longest| {
        Object::builder()
            .schema_type(Type::String)
            .max_length(Some(longest))
            .build()
    };
    ObjectBuilder::new()
        .schema_type(schema_type)
        .description(Some("The caller's own notes."))
        .max_properties(Some(pairs))
        .property_names(Some(up_to(name)))
        .additional_properties(Some(AdditionalProperties::RefOr(up_to(text).into())))
        .examples([serde_json::json!({"project": "report"})])
        .build()
}
