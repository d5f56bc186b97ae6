//! Lists as OpenAI's clients read them, a page at a time.

use serde::Serialize;
use utoipa::ToSchema;

use mindhost_base::error::{Error, Result};

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    #[schema(example = "list")]
    object: &'static str,
    data: Vec<T>,
    /// Id of the first entry of this page.
    #[schema(required = true)]
    first_id: Option<String>,
    /// Id of the last entry of this page: `after` for the next one.
    #[schema(required = true)]
    last_id: Option<String>,
    /// Whether there are more behind this page.
    has_more: bool,
}

impl<T> Page<T> {
    /// Some of what there is, each with an id.
    pub fn new<S>(
        some: &[S],
        id: impl Fn(&S) -> String,
        shown: impl FnMut(&S) -> T,
        has_more: bool,
    ) -> Self {
        Self {
            object: "list",
            first_id: some.first().map(&id),
            last_id: some.last().map(&id),
            data: some.iter().map(shown).collect(),
            has_more,
        }
    }
}

/// How many entries to list.
///
/// # Errors
/// `invalid_parameter` outside of 1 to `most`.
pub fn limit(asked: Option<i64>, usual: u32, most: u32) -> Result<u32> {
    let limit = asked.map_or(Ok(usual), u32::try_from);
    match limit.ok().filter(|limit| (1..=most).contains(limit)) {
        Some(limit) => Ok(limit),
        None => Err(Error::invalid(
            "limit",
            format!("`limit` must be an integer from 1 to {most}"),
        )),
    }
}
