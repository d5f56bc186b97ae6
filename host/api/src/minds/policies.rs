//! `/minds/{name}/policies`

use std::sync::Arc;

use axum::extract::{FromRef, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AppState,
    error::ApiResult,
    extract::{Json, Path, exact},
    keys,
    list::limit,
    policies::{PolicyEntry, ShownPolicy, find_table, refuse},
};
use mindhost_answers::results::{Results, policies::Checked, stored::StoredResults};
use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Attributes, check_attributes},
};
use mindhost_catalog::{Catalog, Source};
use mindhost_core::{
    auth::{Caller, Role},
    minds::{Mind, MindDatasource, MindPolicy, Minds, policies::check_count},
};
use mindhost_plugin_api::TableRef;
use mindhost_sql::{json::Rows, schema};

/// Rows of a preview, by default and at most.
const PREVIEW_ROWS: (u32, u32) = (20, 100);

/// The body of `PUT /minds/{name}/policies`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SetPolicies)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set {
    /// All policies of the Mind; those that it had are replaced.
    #[schema(max_items = 1_000)]
    policies: Vec<PolicyEntry>,
}

/// The policies of a Mind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policies)]
pub(crate) struct PolicyBody {
    policies: Vec<ShownPolicy>,
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
/// has it, and the engine plans its SQL without reading a row.
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
    caller.require(Role::Editor)?;
    let policies = checked(&catalog, &results, &caller, &mind, body.policies).await?;
    let mind = minds.set_policies(&caller, &name, policies).await?;
    Ok(axum::Json(shown(&results, &mind).await?))
}

/// The policies of a request.
///
/// # Errors
/// When one names no table of the Mind, or does not fit its table.
async fn checked(
    catalog: &Catalog,
    results: &Results,
    caller: &Caller,
    mind: &Mind,
    entries: Vec<PolicyEntry>,
) -> Result<Vec<MindPolicy>> {
    check_count(entries.len())?;
    let mut policies = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        policies.push(resolved(catalog, mind, index, entry).await?);
    }
    let checked: Vec<_> = policies.iter().map(Checked::from).collect();
    let problems = results.check_policies(&mind.workspace_id, &checked);
    refuse(problems.await?)?;
    refuse(results.try_policies(caller, &checked, None).await?)?;
    Ok(policies)
}

/// The body of `POST /minds/{name}/policies/preview`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PreviewPolicies)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preview {
    /// Name of a datasource of the Mind.
    #[schema(example = "shop")]
    datasource: String,
    /// `schema.table`, or the bare name where it is unique.
    #[schema(example = "public.orders")]
    table: String,
    /// The attributes of a key that would ask; none unless given.
    #[serde(default, deserialize_with = "exact::attributes")]
    #[schema(required = false, value_type = HashMap<String, mindhost_base::policy::Attribute>)]
    attributes: Attributes,
    /// All policies of the Mind as they would be; unless given, as they are.
    #[schema(max_items = 1_000)]
    policies: Option<Vec<PolicyEntry>>,
    /// The policies of that key, which hold besides those of the Mind; none unless given.
    #[serde(default)]
    #[schema(required = false, max_items = 100)]
    key_policies: Vec<PolicyEntry>,
    /// How many rows. Default: 20.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 100)]
    limit: Option<i64>,
}

/// A table as a caller sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyPreview)]
pub(crate) struct PreviewBody {
    #[schema(example = "policy.preview")]
    object: &'static str,
    #[schema(example = json!(["id", "tenant"]))]
    column_names: Vec<String>,
    column_types: Vec<schema::ColumnType>,
    /// The first rows, each in the order of the columns.
    #[schema(value_type = Vec<Vec<serde_json::Value>>, example = json!([[1, "acme"]]))]
    data: Rows,
    /// Rows that the caller sees of the table.
    total: u64,
}

/// Shows a table as a caller would see it
///
/// With the policies as they are or as they would be, for a key with these attributes and policies. Nothing is saved. It
/// works for Minds that take no SQL too.
#[utoipa::path(post, path = "/minds/{name}/policies/preview", operation_id = "preview_policies",
    responses((status = 200, body = PreviewBody, description = "The first rows of the table.")))]
pub(crate) async fn preview(
    caller: Caller,
    State(state): State<AppState>,
    Path(name): Path<String>,
    Json(body): Json<Preview>,
) -> ApiResult<axum::Json<PreviewBody>> {
    let mind = state.minds.get(&caller, &name).await?;
    let limit = limit(body.limit, PREVIEW_ROWS.0, PREVIEW_ROWS.1)?;
    check_attributes(&body.attributes)?;
    let datasource = datasource(&mind, &body.datasource, "datasource")?;
    let source = source(&mind, datasource);
    let table = find_table(&state.catalog, source, body.table, "table").await?;
    let policies = match body.policies {
        None => mind.policies.clone(),
        Some(entries) => checked(&state.catalog, &state.results, &caller, &mind, entries).await?,
    };
    let of_keys = keys::policies::Policies::from_ref(&state);
    let of_key = of_keys.checked(&caller, body.key_policies, &body.attributes);
    let shown = Arc::new(Mind {
        policies,
        of_key: of_key.await.map_err(of_key_policies)?,
        ..mind.clone()
    });
    let at = (datasource.name.as_str(), &table);
    let stored = StoredResults::from_ref(&state);
    let page = stored
        .preview(&caller, shown.clone(), at, &body.attributes, limit.into())
        .await;
    let page = match page {
        Ok(page) => page,
        Err(error) => {
            // The error withholds the words of the engine; those who write policies may see them.
            if error.code() == Code::SqlInvalid {
                let tried = tried(&state.results, &caller, &shown, &table, &body.attributes);
                tried.await?;
            }
            return Err(error.into());
        }
    };
    Ok(axum::Json(PreviewBody {
        object: "policy.preview",
        column_names: schema::column_names(&page.columns),
        column_types: schema::column_types(&page.columns),
        total: page.total,
        data: Rows::new(page.columns, page.batches),
    }))
}

/// Lets the engine plan the policies of a table, as they are for a caller with these attributes.
///
/// # Errors
/// `invalid_policy` with the engine's reason, where one of them cannot run.
async fn tried(
    results: &Results,
    caller: &Caller,
    mind: &Mind,
    table: &TableRef,
    attributes: &Attributes,
) -> Result<()> {
    let checked: Vec<_> = mind.policies.iter().map(Checked::from).collect();
    let problems = results.try_policies(caller, &checked, Some(attributes));
    let mut problems = problems.await?;
    problems.retain(|problem| {
        let policy = mind.policies.get(problem.index);
        policy.is_some_and(|policy| policy.table == *table)
    });
    refuse(problems)
}

/// An error about the `policies` of a key, where the request has them as `key_policies`.
fn of_key_policies(error: Error) -> Error {
    match error.param_name().map(|param| format!("key_{param}")) {
        Some(param) => error.param(param),
        None => error,
    }
}

fn datasource<'a>(mind: &'a Mind, name: &str, param: &str) -> Result<&'a MindDatasource> {
    let found = mind.datasources.iter().find(|one| one.name == name);
    found.ok_or_else(|| {
        let message = format!("the Mind '{}' has no datasource '{name}'", mind.name);
        Error::new(Code::UnknownDatasource, message).param(param.to_owned())
    })
}

/// Finds the datasource and the table that an entry names, among those of the Mind.
async fn resolved(
    catalog: &Catalog,
    mind: &Mind,
    index: usize,
    entry: PolicyEntry,
) -> Result<MindPolicy> {
    let param = format!("policies[{index}].datasource");
    let datasource = datasource(mind, &entry.datasource, &param)?;
    let rule = entry.rule(index)?;
    let param = format!("policies[{index}].table");
    let source = source(mind, datasource);
    Ok(MindPolicy {
        table: find_table(catalog, source, entry.table, &param).await?,
        datasource_id: datasource.id.clone(),
        rule,
    })
}

fn source<'a>(mind: &'a Mind, datasource: &'a MindDatasource) -> Source<'a> {
    Source {
        workspace: &mind.workspace_id,
        id: &datasource.id,
        seen: datasource.tables.as_deref(),
        request_id: None,
    }
}

async fn shown(results: &Results, mind: &Mind) -> Result<PolicyBody> {
    let checked: Vec<_> = mind.policies.iter().map(Checked::from).collect();
    let problems = results.check_policies(&mind.workspace_id, &checked);
    let mut problems = problems.await?;
    let policies = mind.policies.iter().enumerate().map(|(index, one)| {
        let mut datasources = mind.datasources.iter();
        let datasource = datasources.find(|datasource| datasource.id == one.datasource_id);
        let name = datasource.map(|one| one.name.clone()).unwrap_or_default();
        let problem = problems.iter().position(|problem| problem.index == index);
        let problem = problem.map(|at| problems.remove(at).error.message().to_owned());
        ShownPolicy::new(name, &one.table, &one.rule, problem)
    });
    Ok(PolicyBody {
        policies: policies.collect(),
    })
}
