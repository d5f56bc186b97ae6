//! The kinds of knowledge and their fields.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One thing that a Mind was taught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Knowledge {
    /// What the Mind shall always heed.
    Instruction(Instruction),
    /// A word of the business.
    Term(Term),
    /// A figure, and how it is computed.
    Metric(Metric),
    /// How two tables are joined.
    Relationship(Relationship),
    /// A question with a statement that answers it.
    VerifiedQuery(VerifiedQuery),
}

/// What the Mind shall always heed. Goes to the model with every question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KnowledgeInstruction)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// One line.
    #[schema(min_length = 1, max_length = 200, example = "fiscal year")]
    pub name: String,
    /// What to heed.
    #[schema(
        min_length = 1,
        max_length = 10_000,
        example = "The fiscal year begins in April."
    )]
    pub text: String,
}

/// A word of the business. Goes to the model with questions that have it or a synonym.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KnowledgeTerm)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The word or phrase.
    #[schema(min_length = 1, max_length = 200, example = "regular")]
    pub name: String,
    /// Other words for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20, required = false)]
    pub synonyms: Vec<String>,
    /// What it means.
    #[schema(
        min_length = 1,
        max_length = 2000,
        example = "A customer with three orders or more."
    )]
    pub meaning: String,
    /// The table that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub table: Option<String>,
    /// The column of the table that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub column: Option<String>,
}

/// A figure: `SELECT <expression> FROM <from> WHERE <filter>`. Goes to the model with questions that have its name or
/// a synonym.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KnowledgeMetric)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// The word or phrase.
    #[schema(min_length = 1, max_length = 200, example = "revenue")]
    pub name: String,
    /// Other words for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20, required = false)]
    pub synonyms: Vec<String>,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub description: Option<String>,
    /// An expression of SQL that makes one value, without a comment.
    #[schema(
        min_length = 1,
        max_length = 4000,
        example = "sum(quantity * unit_price)"
    )]
    pub expression: String,
    /// What follows FROM: a table, or joined tables, without a comment.
    #[schema(min_length = 1, max_length = 4000, example = "order_items")]
    pub from: String,
    /// What follows WHERE, without a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4000)]
    pub filter: Option<String>,
}

impl Metric {
    /// The statement that computes it.
    pub fn statement(&self) -> String {
        let mut sql = format!("SELECT ({}\n) FROM {}\n", self.expression, self.from);
        if let Some(filter) = &self.filter {
            sql.push_str(&format!("WHERE ({filter}\n)"));
        }
        sql
    }

    /// Its name and synonyms, each with the field that has it.
    pub fn words(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let synonyms = self.synonyms.iter().map(|one| ("synonyms", one.as_str()));
        std::iter::once(("name", self.name.as_str())).chain(synonyms)
    }
}

/// How many rows of one table belong to how many of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cardinality {
    /// One to one.
    OneToOne,
    /// One to many.
    OneToMany,
    /// Many to one, as from the side of a foreign key.
    ManyToOne,
    /// Many to many.
    ManyToMany,
}

impl Cardinality {
    /// As the model is told: `many to one`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::OneToOne => "one to one",
            Self::OneToMany => "one to many",
            Self::ManyToOne => "many to one",
            Self::ManyToMany => "many to many",
        }
    }
}

/// How two tables are joined: the columns of one equal those of the other, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KnowledgeRelationship)]
#[serde(deny_unknown_fields)]
pub struct Relationship {
    /// One line.
    #[schema(min_length = 1, max_length = 200, example = "items of an order")]
    pub name: String,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub description: Option<String>,
    /// `table`, `schema.table`, `datasource.table` or `datasource.schema.table`.
    #[schema(min_length = 1, max_length = 500, example = "order_items")]
    pub from_table: String,
    /// Its columns.
    #[schema(min_items = 1, max_items = 16)]
    pub from_columns: Vec<String>,
    /// As `from_table`.
    #[schema(min_length = 1, max_length = 500, example = "orders")]
    pub to_table: String,
    /// Its columns, as many.
    #[schema(min_items = 1, max_items = 16)]
    pub to_columns: Vec<String>,
    /// From the first table to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cardinality: Option<Cardinality>,
}

/// A question with a statement that answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KnowledgeVerifiedQuery)]
#[serde(deny_unknown_fields)]
pub struct VerifiedQuery {
    /// The question, in words.
    #[schema(
        min_length = 1,
        max_length = 2000,
        example = "How many orders were cancelled?"
    )]
    pub question: String,
    /// The statement.
    #[schema(
        min_length = 1,
        max_length = 20_000,
        example = "SELECT count(*) FROM orders WHERE status = 'cancelled'"
    )]
    pub sql: String,
    /// What to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 2000)]
    pub notes: Option<String>,
}

/// A kind of knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = KnowledgeKind)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What the Mind shall always heed.
    Instruction,
    /// A word of the business.
    Term,
    /// A figure.
    Metric,
    /// How two tables are joined.
    Relationship,
    /// A question with its statement.
    VerifiedQuery,
}

impl Kind {
    /// As in the API: `verified_query`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Term => "term",
            Self::Metric => "metric",
            Self::Relationship => "relationship",
            Self::VerifiedQuery => "verified_query",
        }
    }

    /// In a sentence: `verified query`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::VerifiedQuery => "verified query",
            other => other.as_str(),
        }
    }
}

impl Knowledge {
    /// What it tells: a term, an instruction, a join, an example.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Instruction(_) => Kind::Instruction,
            Self::Term(_) => Kind::Term,
            Self::Metric(_) => Kind::Metric,
            Self::Relationship(_) => Kind::Relationship,
            Self::VerifiedQuery(_) => Kind::VerifiedQuery,
        }
    }

    /// What it is called; of a verified query, the question.
    pub fn name(&self) -> &str {
        match self {
            Self::Instruction(instruction) => &instruction.name,
            Self::Term(term) => &term.name,
            Self::Metric(metric) => &metric.name,
            Self::Relationship(relationship) => &relationship.name,
            Self::VerifiedQuery(query) => &query.question,
        }
    }

    /// The name as it must be unique among those of its kind: without regard to case and to the width of spaces.
    pub fn name_key(&self) -> String {
        word_key(self.name())
    }

    /// How a message names it: `the metric 'revenue'`.
    pub fn in_a_message(&self) -> String {
        let name: String = self.name().chars().take(80).collect();
        format!("the {} '{name}'", self.kind().in_words())
    }
}

/// A name or synonym without regard to case and to the width of spaces.
pub fn word_key(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}
