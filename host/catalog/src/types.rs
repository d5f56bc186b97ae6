//! What a catalog consists of.

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, Type},
    },
};

use super::StoredStatistics;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::TableRef;

/// Words that travel as text: through the store and through the API alike.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $variant_doc:literal])+ $variant:ident = $text:literal,)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[doc = $variant_doc])+ #[serde(rename = $text)] $variant,)* }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .enum_values(Some([$($text),*]))
                    .description(Some(concat!($($doc),+).trim_ascii()))
                    .into()
            }
        }

        impl ToSchema for $name {}

        impl $name {
            /// The word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Reads the word back.
            ///
            /// # Errors
            /// A word that is none of these: the store was changed by another hand.
            pub fn parse(text: &str) -> Result<Self> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    other => Err(Error::internal(format!(concat!(stringify!($name), " is stored as '{}'"), other))),
                }
            }
        }
    };
}

words! {
    /// How far the catalog has got with one table.
    TableStatus {
        /// Exists in the datasource, was never loaded.
        NotCataloged = "NOT_CATALOGED",
        /// A run will load it.
        Pending = "PENDING",
        /// A run is loading it.
        Loading = "LOADING",
        /// Loaded.
        Completed = "COMPLETED",
        /// The last run that took it could not load it.
        Failed = "FAILED",
        /// The last run that took it was cancelled before it was loaded.
        Cancelled = "CANCELLED",
    }
}

words! {
    /// How far a run has got, and with it the datasource.
    RunStatus {
        /// No run yet. Never stored.
        NotStarted = "NOT_STARTED",
        /// Waits for a place.
        Pending = "PENDING",
        /// Works.
        Loading = "LOADING",
        /// Loaded every table that it took.
        Completed = "COMPLETED",
        /// At least one table could not be loaded.
        Failed = "FAILED",
        /// Stopped on request.
        Cancelled = "CANCELLED",
    }
}

impl RunStatus {
    /// Whether the run is not over.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::Loading)
    }
}

words! {
    /// Which tables a run takes, and what it keeps.
    Mode {
        /// Tables without columns only. Safe to repeat.
        MissingOnly = "missing_only",
        /// Every table asked for; keeps what the caller wrote.
        All = "all",
        /// As `All`, but everything stored is deleted first, the caller's texts included.
        Force = "force",
    }
}

words! {
    /// Who wrote a description.
    DescriptionSource {
        /// The caller, also when he cleared it.
        Caller = "caller",
        /// The comment in the source.
        Source = "source",
        /// There is no description.
        Unset = "none",
    }
}

/// What a table or column is said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The caller's text, else the source's comment.
    pub text: Option<String>,
    /// Whose text it is.
    pub source: DescriptionSource,
    /// The comment in the source, whatever the caller wrote.
    pub in_source: Option<String>,
}

impl Description {
    /// Of something that the caller said nothing about.
    pub fn from_source(comment: Option<String>) -> Self {
        let comment = comment.filter(|text| !text.is_empty());
        Self {
            source: if comment.is_some() {
                DescriptionSource::Source
            } else {
                DescriptionSource::Unset
            },
            text: comment.clone(),
            in_source: comment,
        }
    }

    /// The same with the caller's decision, which is kept even when it is to have none.
    #[must_use]
    pub fn decided(self, text: Option<String>) -> Self {
        Self {
            text,
            source: DescriptionSource::Caller,
            in_source: self.in_source,
        }
    }
}

/// A table as the catalog holds it.
#[derive(Clone, Debug)]
pub struct Table {
    /// UUID, given when the source first listed the table.
    pub id: String,
    /// Schema and name.
    pub table: TableRef,
    /// `TABLE`, `VIEW`, …; `UNKNOWN` until loaded.
    pub kind: String,
    /// What the table is said to be, and who said it.
    pub description: Description,
    /// `None` when neither the engine nor the scan could tell.
    pub row_count: Option<u64>,
    /// How far the catalog has got with it.
    pub status: TableStatus,
    /// Why the last load failed; or, of a table that is loaded, of which columns there are no statistics, and why.
    pub error: Option<String>,
    /// Id of the request that began the load that failed, while that run is known.
    pub error_request_id: Option<String>,
    /// Whether it vanished from the source.
    pub missing: bool,
    /// The run that took it last.
    pub run_id: Option<String>,
    /// When its columns were loaded, microseconds since 1970; `None` without columns.
    pub loaded_at: Option<i64>,
    /// In the order of the table; empty unless asked for.
    pub columns: Vec<Column>,
    /// One entry a key column, in order.
    pub primary_key: Vec<PrimaryKeyColumn>,
    /// One entry a key column, in order.
    pub foreign_keys: Vec<ForeignKey>,
}

/// A column as the catalog holds it.
#[derive(Clone, Debug)]
pub struct Column {
    /// As the engine spells it.
    pub name: String,
    /// The engine's own type.
    pub data_type: String,
    /// What the column is said to be, and who said it.
    pub description: Description,
    /// The default, as SQL text.
    pub default_value: Option<String>,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// What its values are like.
    pub statistics: StoredStatistics,
}

/// One column of a primary key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PrimaryKeyColumn {
    /// Column.
    pub column_name: String,
    /// From 1.
    pub ordinal_position: u32,
    /// Name of the constraint.
    pub constraint_name: String,
}

/// One column of a foreign key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub constraint_name: String,
    /// From 1.
    pub ordinal_position: u32,
    /// Column.
    pub column_name: String,
    /// Schema of the table that it points to.
    pub referenced_schema: String,
    /// The table that it points to.
    pub referenced_table: String,
    /// The column there.
    pub referenced_column: String,
}

/// How far the catalog of a datasource has got.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CatalogStatus)]
pub struct Status {
    /// That of the newest active run, else of the one that ended last.
    pub overall_status: RunStatus,
    /// 0.0 to 1.0, of the same run.
    pub progress: f64,
    /// For a person.
    pub message: String,
    /// Runs that are not over.
    pub active_flow_runs: u32,
    /// The `X-Request-ID` of the request that began that run, under which the server's log has it. Null without a
    /// run, and where it was not kept.
    #[schema(required = true)]
    pub request_id: Option<String>,
}

impl Status {
    /// The same for someone who does not see all tables: what names tables is said without them.
    #[must_use]
    pub fn without_names(self) -> Self {
        let message = match self.overall_status {
            RunStatus::Failed => {
                "the last run did not load everything; tables that failed say why".into()
            }
            _ => self.message,
        };
        Self { message, ..self }
    }
}

/// A run as the store holds it.
#[derive(Clone, Debug)]
pub struct Run {
    /// Id; later runs sort after earlier ones.
    pub id: String,
    /// Id of the workspace of the datasource.
    pub workspace: String,
    /// UUID of the datasource.
    pub datasource_id: String,
    /// Which tables it takes.
    pub mode: Mode,
    /// How far it has got.
    pub status: RunStatus,
    /// Whether it lists the source first and takes what is new there.
    pub whole: bool,
    /// Whether that was done.
    pub listed: bool,
    /// Tables that it took.
    pub total: u64,
    /// Those that are done, failed ones included.
    pub done: u64,
    /// For a person.
    pub message: String,
    /// Whether somebody wants it to stop.
    pub cancel_requested: bool,
    /// Id of the request that began it.
    pub request_id: Option<String>,
}

impl Run {
    /// The share of its tables that is done; 1.0 only when the run is over and went to its end.
    pub fn progress(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "a share for people")]
        let share = match self.total {
            0 => 0.0,
            total => self.done.min(total) as f64 / total as f64,
        };
        match self.status {
            RunStatus::Completed => 1.0,
            RunStatus::Pending | RunStatus::Loading => share.min(0.99),
            _ => share,
        }
    }
}

/// Names of tables that fit nothing, or too much.
pub(super) fn ambiguous(name: &str, candidates: &[&TableRef]) -> Error {
    let names: Vec<_> = candidates.iter().map(ToString::to_string).collect();
    Error::new(
        Code::AmbiguousTable,
        format!(
            "'{name}' fits several tables: {}; name one of them in full",
            names.join(", ")
        ),
    )
}
