//! `/minds/{name}/policies`

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    extract::{Json, Path},
};
use mindhost_answers::results::Results;
use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Mask, Rule},
};
use mindhost_catalog::{Catalog, Source};
use mindhost_core::{
    auth::{Caller, Role},
    minds::{Mind, MindDatasource, MindPolicy, Minds},
};
use mindhost_plugin_api::TableRef;

/// The body of `PUT /minds/{name}/policies`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SetPolicies)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set {
    /// All policies of the Mind; those that it had are replaced.
    #[schema(max_items = 1_000)]
    policies: Vec<Entry>,
}

/// What the callers of a Mind see of one table.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewPolicy)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Name of a datasource of the Mind.
    #[schema(example = "shop")]
    datasource: String,
    /// `schema.table`, or the bare name where it is unique.
    #[schema(example = "public.orders")]
    table: String,
    /// A condition over the columns of the table, in the SQL of the datasource. `{{caller.NAME}}` is an attribute of
    /// the key. Rows for which it is not true do not exist for the callers of the Mind.
    #[schema(max_length = 2_000, example = "tenant_id = {{caller.tenant}}")]
    filter: Option<String>,
    /// Columns that do not exist for the callers of the Mind.
    #[serde(default)]
    hidden: Vec<String>,
    /// Columns that have other values for the callers of the Mind.
    #[serde(default)]
    masked: BTreeMap<String, Mask>,
}

/// The policies of a Mind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policies)]
pub(crate) struct PolicyBody {
    policies: Vec<ShownPolicy>,
}

/// A policy of a Mind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
struct ShownPolicy {
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

/// Gets the policies of a Mind
#[utoipa::path(get, path = "/minds/{name}/policies", operation_id = "get_policies",
    responses((status = 200, body = PolicyBody, description = "The policies, in the order in which they were sent.")))]
pub(crate) async fn get(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(results): State<Results>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<PolicyBody>> {
    caller.require(Role::Editor)?;
    let mind = minds.get(&caller, &name).await?;
    Ok(axum::Json(shown(&results, &mind).await?))
}

/// Replaces the policies of a Mind
///
/// They hold for every caller of the Mind, from the next statement on. Each is checked against the table as the catalog
/// has it.
#[utoipa::path(put, path = "/minds/{name}/policies", operation_id = "set_policies",
    responses((status = 200, body = PolicyBody, description = "The policies as they are now.")))]
pub(crate) async fn set(
    caller: Caller,
    State(minds): State<Arc<Minds>>,
    State(catalog): State<Arc<Catalog>>,
    State(results): State<Results>,
    Path(name): Path<String>,
    Json(body): Json<Set>,
) -> ApiResult<axum::Json<PolicyBody>> {
    let mind = minds.get(&caller, &name).await?;
    let mut policies = Vec::with_capacity(body.policies.len());
    for (index, entry) in body.policies.into_iter().enumerate() {
        policies.push(resolved(&catalog, &mind, index, entry).await?);
    }
    if let Some(problem) = results
        .check_policies(&mind, &policies)
        .await?
        .into_iter()
        .next()
    {
        let policy = format!("policies[{}]", problem.index);
        let param = match problem.error.param_name() {
            Some(part) => format!("{policy}.{part}"),
            None => policy,
        };
        return Err(problem.error.param(param).into());
    }
    let mind = minds.set_policies(&caller, &name, policies).await?;
    Ok(axum::Json(shown(&results, &mind).await?))
}

/// Finds the datasource and the table that an entry names, among those of the Mind.
async fn resolved(
    catalog: &Catalog,
    mind: &Mind,
    index: usize,
    entry: Entry,
) -> Result<MindPolicy> {
    let mut datasources = mind.datasources.iter();
    let Some(datasource) = datasources.find(|one| one.name == entry.datasource) else {
        let message = format!(
            "the Mind '{}' has no datasource '{}'",
            mind.name, entry.datasource
        );
        let error = Error::new(Code::UnknownDatasource, message);
        return Err(error.param(format!("policies[{index}].datasource")));
    };
    let rule = Rule {
        filter: entry.filter,
        hidden: entry.hidden,
        masked: entry.masked,
    };
    if rule == Rule::default() {
        let message = "a policy has a `filter`, `hidden` columns or `masked` columns; leave the entry out for none";
        let error = Error::new(Code::InvalidPolicy, message);
        return Err(error.param(format!("policies[{index}]")));
    }
    Ok(MindPolicy {
        table: table(catalog, mind, datasource, index, entry.table).await?,
        datasource_id: datasource.id.clone(),
        rule,
    })
}

async fn table(
    catalog: &Catalog,
    mind: &Mind,
    datasource: &MindDatasource,
    index: usize,
    name: String,
) -> Result<TableRef> {
    let source = Source {
        workspace: &mind.workspace_id,
        id: &datasource.id,
        seen: datasource.tables.as_deref(),
    };
    let found = catalog.resolve(source, &[name]).await;
    let param = format!("policies[{index}].table");
    let found = found
        .map_err(|error| error.param(&*param))?
        .into_iter()
        .next();
    found.ok_or_else(|| Error::new(Code::UnknownTable, "there is no such table").param(param))
}

async fn shown(results: &Results, mind: &Mind) -> Result<PolicyBody> {
    let mut problems = results.check_policies(mind, &mind.policies).await?;
    let policies = mind.policies.iter().enumerate().map(|(index, one)| {
        let mut datasources = mind.datasources.iter();
        let datasource = datasources.find(|datasource| datasource.id == one.datasource_id);
        let problem = problems.iter().position(|problem| problem.index == index);
        ShownPolicy {
            datasource: datasource.map(|one| one.name.clone()).unwrap_or_default(),
            table: one.table.to_string(),
            filter: one.rule.filter.clone(),
            hidden: one.rule.hidden.clone(),
            masked: one.rule.masked.clone(),
            problem: problem.map(|at| problems.remove(at).error.message().to_owned()),
        }
    });
    Ok(PolicyBody {
        policies: policies.collect(),
    })
}
