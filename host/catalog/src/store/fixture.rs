//! Rows that the catalog refers to, for its tests.

use mindhost_store::{Store, new_id, now};

/// A datasource; gives its id.
pub async fn datasource(store: &Store, workspace: &str) -> String {
    let id = new_id();
    sqlx::query(
        "INSERT INTO datasources (id, workspace_id, name, engine, description, connection_data, settings, \
         created_at, modified_at) VALUES ($1, $2, $3, 'scripted', '', '{}', '{}', $4, $4)",
    )
    .bind(&id)
    .bind(workspace)
    .bind(format!("d{}", id.replace('-', "")))
    .bind(now())
    .execute(store.pool())
    .await
    .unwrap();
    id
}

/// A Mind that has all tables of the datasource.
pub async fn mind(store: &Store, workspace: &str, datasource_id: &str) {
    let (provider, mind) = (new_id(), new_id());
    for sql in [
        "INSERT INTO providers (id, workspace_id, name, plugin, description, connection_data, is_default, \
         created_at, modified_at) VALUES ($1, $2, $1, 'scripted', '', '{}', 0, 0, 0)",
        "INSERT INTO minds (id, workspace_id, name, provider_id, model_name, parameters, created_at, updated_at) \
         VALUES ($3, $2, $3, $1, '', '{}', 0, 0)",
        "INSERT INTO mind_datasources (workspace_id, mind_id, datasource_id, position) VALUES ($2, $3, $4, 0)",
    ] {
        let query = sqlx::query(sql)
            .bind(provider.clone())
            .bind(workspace.to_owned());
        let query = if sql.contains("$3") {
            query.bind(mind.clone())
        } else {
            query
        };
        let query = if sql.contains("$4") {
            query.bind(datasource_id.to_owned())
        } else {
            query
        };
        query.execute(store.pool()).await.unwrap();
    }
}
