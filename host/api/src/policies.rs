//! Policies of Minds and of keys, in requests and replies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use mindhost_answers::results::policies::Problem;
use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Mask, Rule},
};
use mindhost_catalog::{Catalog, Source};
use mindhost_plugin_api::TableRef;

/// Failures of new policies.
pub(crate) const POLICIES: &[Code] = &[
    Code::UnknownDatasource,
    Code::UnknownTable,
    Code::AmbiguousTable,
    Code::InvalidPolicy,
    Code::NoPlugin,
];

/// What the callers of a Mind, or the holder of a key, see of one table.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewPolicy)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyEntry {
    /// Name of the datasource: for a Mind, one of its own.
    #[schema(example = "shop")]
    pub datasource: String,
    /// `schema.table`, or the bare name where it is unique.
    #[schema(example = "public.orders")]
    pub table: String,
    /// A condition over the columns of the table, in the SQL of the datasource. `{{caller.NAME}}` is an attribute of
    /// the key. Rows for which it is not true do not exist for those who are bound.
    #[schema(max_length = 2_000, example = "tenant_id = {{caller.tenant}}")]
    filter: Option<String>,
    /// Columns that do not exist for those who are bound.
    #[serde(default)]
    hidden: Vec<String>,
    /// Columns that have other values for those who are bound.
    #[serde(default)]
    masked: BTreeMap<String, Mask>,
}

impl PolicyEntry {
    /// What it says. `index` is its place in the list.
    ///
    /// # Errors
    /// `invalid_policy` if it says nothing.
    pub fn rule(&self, index: usize) -> Result<Rule> {
        let rule = Rule {
            filter: self.filter.clone(),
            hidden: self.hidden.clone(),
            masked: self.masked.clone(),
        };
        if rule == Rule::default() {
            let message = "a policy has a `filter`, `hidden` columns or `masked` columns; leave the entry out for none";
            let error = Error::new(Code::InvalidPolicy, message);
            return Err(error.param(format!("policies[{index}]")));
        }
        Ok(rule)
    }
}

/// A policy of a Mind or of a key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
pub(crate) struct ShownPolicy {
    /// Name of the datasource.
    datasource: String,
    /// `schema.table`
    table: String,
    /// The condition; null without one.
    #[schema(required = true)]
    filter: Option<String>,
    /// Columns that do not exist.
    hidden: Vec<String>,
    /// Columns with other values.
    masked: BTreeMap<String, Mask>,
    /// Why the policy does not fit its table, which closes the table; null if it fits.
    #[schema(required = true)]
    problem: Option<String>,
}

impl ShownPolicy {
    pub fn new(datasource: String, table: &TableRef, rule: &Rule, problem: Option<String>) -> Self {
        Self {
            datasource,
            table: table.to_string(),
            filter: rule.filter.clone(),
            hidden: rule.hidden.clone(),
            masked: rule.masked.clone(),
            problem,
        }
    }
}

/// Finds the table that a request names in `param`.
///
/// # Errors
/// `unknown_table`, `ambiguous_table`
pub(crate) async fn find_table(
    catalog: &Catalog,
    source: Source<'_>,
    name: String,
    param: &str,
) -> Result<TableRef> {
    let found = catalog.resolve(source, &[name]).await;
    let found = found
        .map_err(|error| error.param(param.to_owned()))?
        .into_iter()
        .next();
    found.ok_or_else(|| {
        Error::new(Code::UnknownTable, "there is no such table").param(param.to_owned())
    })
}

/// Refuses policies of a request that do not fit, by the first problem.
///
/// # Errors
/// `invalid_policy` with the place in its parameter.
pub(crate) fn refuse(problems: Vec<Problem>) -> Result<()> {
    let Some(problem) = problems.into_iter().next() else {
        return Ok(());
    };
    let policy = format!("policies[{}]", problem.index);
    let param = match problem.error.param_name() {
        Some(part) => format!("{policy}.{part}"),
        None => policy,
    };
    Err(problem.error.param(param))
}
