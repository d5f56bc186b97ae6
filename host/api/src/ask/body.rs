//! The parts of the bodies that ask: their shapes as Serde reads them and as the documentation describes them.
//!
//! A wrong shape is `invalid_body`, named by its path. What a shape cannot say, such as a question that must not be
//! empty, `ask` checks afterwards.

use std::{fmt, marker::PhantomData};

use super::shape::{self, ObjectOf};
use mindhost_answers::conversations::Author;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use utoipa::{
    ToSchema,
    openapi::{
        Object,
        schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type},
    },
};

/// The question.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub enum Input {
    /// One message of the user.
    Text(NonEmptyText),
    /// Messages, one of the role user among them, and references to messages that are stored. What only the model that
    /// made it can use is skipped.
    Items(InputItems),
}

impl Input {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(NonEmptyText(text)) => text.trim().is_empty(),
            Self::Items(InputItems(items)) => items.is_empty(),
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list(deserializer)? {
            TextOrList::Text(text) => Self::Text(NonEmptyText(text)),
            TextOrList::List(items) => Self::Items(InputItems(items)),
        })
    }
}

/// At least one item.
#[derive(Debug, ToSchema)]
#[schema(min_items = 1)]
pub struct InputItems(pub Vec<InputItem>);

/// A message, or a reference to one.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub enum InputItem {
    /// A new message.
    Message(Message),
    /// A stored one.
    Reference(Reference),
    /// Nothing that anyone said.
    Skipped(Skipped),
}

/// An item's fields, whichever it is. Serde's own enums would lose the path of a mistake below them.
#[derive(Deserialize)]
struct ItemFields {
    #[serde(default, deserialize_with = "shape::optional_word")]
    r#type: Option<ItemType>,
    #[serde(default, deserialize_with = "shape::optional_word")]
    role: Option<Author>,
    content: Option<Content>,
    /// Of a reference. That of a message is not read, so it may be anything.
    id: Option<serde_json::Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ItemType {
    Message,
    ItemReference,
    /// An item of an answer that is sent back whole. What it says is stored under its id.
    QueryResult,
    Reasoning,
    FunctionCall,
    FunctionCallOutput,
}

/// OpenAI's prefixes of the ids of items that are skipped.
const SKIPPED: [&str; 2] = ["rs_", "fc_"];

impl<'de> Deserialize<'de> for InputItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ObjectOf(fields) = ObjectOf::<ItemFields>::deserialize(deserializer)?;
        let missing = D::Error::missing_field;
        Ok(match fields.r#type.unwrap_or(ItemType::Message) {
            ItemType::Message => Self::Message(Message {
                r#type: None,
                role: fields.role.ok_or_else(|| missing("role"))?,
                content: fields.content.ok_or_else(|| missing("content"))?,
            }),
            ItemType::ItemReference | ItemType::QueryResult => {
                let Some(serde_json::Value::String(id)) = fields.id else {
                    return Err(missing("id"));
                };
                match SKIPPED.iter().any(|prefix| id.starts_with(prefix)) {
                    true => Self::Skipped(Skipped { r#type: None }),
                    false => Self::Reference(Reference { r#type: None, id }),
                }
            }
            ItemType::Reasoning | ItemType::FunctionCall | ItemType::FunctionCallOutput => {
                Self::Skipped(Skipped { r#type: None })
            }
        })
    }
}

/// A message.
#[derive(Debug, ToSchema)]
pub struct Message {
    /// `message`, which can be left out.
    #[expect(dead_code, reason = "`ItemFields` reads it")]
    #[schema(pattern = "^message$", example = "message")]
    r#type: Option<String>,
    pub role: Author,
    pub content: Content,
}

/// A message that is stored.
#[derive(Debug, ToSchema)]
#[schema(as = ItemReference)]
pub struct Reference {
    #[expect(dead_code, reason = "`ItemFields` reads it")]
    #[schema(value_type = String, pattern = "^item_reference$", example = "item_reference")]
    r#type: Option<String>,
    /// Its id.
    pub id: String,
}

/// An item of another model's answer that only that model can use: what it thought, and its calls of functions with
/// what they gave.
#[derive(Debug, ToSchema)]
#[schema(as = SkippedItem)]
pub struct Skipped {
    #[expect(dead_code, reason = "`ItemFields` reads it")]
    #[schema(value_type = String, pattern = "^(reasoning|function_call|function_call_output)$", example = "reasoning")]
    r#type: Option<String>,
}

/// A message of a chat.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ChatMessage {
    #[serde(deserialize_with = "shape::word")]
    pub role: Author,
    /// Null or absent for an assistant that only called tools; it said nothing then.
    pub content: Option<Content>,
}

/// A text that is not empty.
#[derive(Debug, ToSchema)]
#[schema(pattern = "\\S", example = "How many orders were there?")]
pub struct NonEmptyText(pub String);

/// A text, or a list of parts.
#[derive(Debug, ToSchema)]
#[schema(as = MessageContent)]
#[serde(untagged)]
pub enum Content {
    /// The text.
    Text(NonEmptyText),
    /// Its parts, each a line.
    Parts(MessageParts),
}

impl Content {
    /// The whole text, which can be empty.
    pub fn text(self) -> String {
        match self {
            Self::Text(NonEmptyText(text)) => text,
            Self::Parts(MessageParts(parts)) => {
                let lines: Vec<String> = parts.into_iter().map(|part| part.text).collect();
                lines.join("\n")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list::<ObjectOf<Part>, _>(deserializer)? {
            TextOrList::Text(text) => Self::Text(NonEmptyText(text)),
            TextOrList::List(parts) => {
                let parts = parts.into_iter().map(|ObjectOf(part)| part);
                Self::Parts(MessageParts(parts.collect()))
            }
        })
    }
}

/// At least one part.
#[derive(Debug, ToSchema)]
#[schema(as = MessageParts, min_items = 1)]
pub struct MessageParts(pub Vec<Part>);

/// A part of a message: text; pictures, files and sound are not taken.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessagePart)]
pub struct Part {
    #[expect(dead_code, reason = "every kind of part is a text")]
    #[serde(deserialize_with = "shape::word")]
    r#type: PartType,
    #[schema(value_type = NonEmptyText)]
    text: String,
}

/// What a part is.
#[derive(Debug, Deserialize, ToSchema)]
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

enum TextOrList<T> {
    Text(String),
    List(Vec<T>),
}

/// Keeps the path of a mistake inside the list.
fn text_or_list<'de, T, D>(deserializer: D) -> Result<TextOrList<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Choice<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Choice<T> {
        type Value = TextOrList<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a text or a list")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(TextOrList::Text(text.to_owned()))
        }

        fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
            Ok(TextOrList::Text(text))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list)).map(TextOrList::List)
        }
    }

    deserializer.deserialize_any(Choice(PhantomData))
}

/// The id of a conversation, or an object with it.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ConversationChoice)]
#[serde(
    untagged,
    expecting = "expected a conversation's id, or an object {\"id\": …}"
)]
pub enum Conversation {
    /// Its id.
    Id(String),
    /// An object with its id.
    #[serde(deserialize_with = "shape::object")]
    Object(ConversationId),
}

impl Conversation {
    /// The id, whichever way it came.
    pub fn id(&self) -> &str {
        match self {
            Self::Id(id) | Self::Object(ConversationId { id }) => id,
        }
    }
}

/// A conversation by its id.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ConversationId {
    id: String,
}

/// Tiers that clients know. This server has one, and serves each of them alike.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
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

impl ServiceTier {
    /// Its name in bodies.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Default => "default",
            Self::Flex => "flex",
            Self::Scale => "scale",
            Self::Priority => "priority",
        }
    }
}

/// How an answer is written.
#[derive(Debug, Deserialize, ToSchema)]
pub struct AnswerText {
    #[serde(default, deserialize_with = "shape::optional_object")]
    pub format: Option<AnswerFormat>,
}

/// The only format: text.
#[derive(Debug, Deserialize, ToSchema)]
pub struct AnswerFormat {
    #[schema(pattern = "^text$", example = "text")]
    pub r#type: Option<String>,
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
