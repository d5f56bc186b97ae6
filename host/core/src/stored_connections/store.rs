//! The queries that datasources and providers share.

use sqlx::{Any, AssertSqlSafe, any::AnyArguments, query::Query};

use super::{StoredConnection, name_taken};
use crate::connection_data::StoredData;
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{AnyRow, Row, Store, Tx, is_taken, json, placeholders, to_json};

/// A query of any number of parameters.
pub type AnyQuery<'q> = Query<'q, Any, AnyArguments>;

fn select<C: StoredConnection>(condition: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "SELECT {} FROM {} WHERE {condition}",
        columns::<C>(),
        C::TABLE
    ))
}

fn columns<C: StoredConnection>() -> String {
    format!(
        "id, workspace_id, name, {}, description, connection_data, secrets, {}, created_at, modified_at",
        C::SERVED_BY,
        C::OWN_COLUMN
    )
}

async fn all<C: StoredConnection>(store: &Store, query: AnyQuery<'_>) -> Result<Vec<C>> {
    let rows = query.fetch_all(store.pool()).await?;
    rows.iter().map(C::from_row).collect()
}

/// The rows of a workspace, by name.
pub async fn list<C: StoredConnection>(store: &Store, workspace: &str) -> Result<Vec<C>> {
    let sql = select::<C>("workspace_id = $1 ORDER BY name");
    all(store, sqlx::query(sql).bind(workspace)).await
}

pub async fn by_name<C: StoredConnection>(
    store: &Store,
    workspace: &str,
    name: &str,
) -> Result<Option<C>> {
    let sql = select::<C>("workspace_id = $1 AND name = $2");
    let rows = all(store, sqlx::query(sql).bind(workspace).bind(name)).await?;
    Ok(rows.into_iter().next())
}

pub async fn by_id<C: StoredConnection>(
    store: &Store,
    workspace: &str,
    id: &str,
) -> Result<Option<C>> {
    let sql = select::<C>("workspace_id = $1 AND id = $2");
    let rows = all(store, sqlx::query(sql).bind(workspace).bind(id)).await?;
    Ok(rows.into_iter().next())
}

/// The rows of all workspaces that these engines or plugins serve, those that changed last first.
pub async fn served_by<C: StoredConnection>(store: &Store, names: &[String]) -> Result<Vec<C>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let sql = select::<C>(&format!(
        "{} IN ({}) ORDER BY modified_at DESC, id",
        C::SERVED_BY,
        placeholders(1, names.len())
    ));
    let query = sqlx::query(sql).persistent(false);
    let query = names.iter().fold(query, |query, name| query.bind(name));
    all(store, query).await
}

/// The rows of all workspaces that have secrets.
pub async fn with_secrets<C: StoredConnection>(store: &Store) -> Result<Vec<C>> {
    let sql = select::<C>("secrets IS NOT NULL ORDER BY id");
    all(store, sqlx::query(sql)).await
}

/// Stores the same secrets sealed anew, unless they were changed since they were read.
pub async fn replace_secrets<C: StoredConnection>(
    store: &Store,
    old: &C,
    sealed: &StoredData,
) -> Result<()> {
    let old = old.shared();
    let sql = format!(
        "UPDATE {} SET secrets = $1 WHERE id = $2 AND secrets = $3 AND modified_at = $4",
        C::TABLE
    );
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(secrets(sealed))
        .bind(old.id)
        .bind(secrets(old.connection_data))
        .bind(old.modified_at.as_microsecond());
    store.change(query).await?;
    Ok(())
}

/// Inserts a row. The caller has checked in the same transaction that there is room for it.
///
/// # Errors
/// `name_taken`
pub async fn insert<C: StoredConnection>(tx: &mut Tx, new: &C) -> Result<()> {
    let shared = new.shared();
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        C::TABLE,
        columns::<C>()
    );
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(shared.id)
        .bind(shared.workspace_id)
        .bind(shared.name)
        .bind(shared.served_by)
        .bind(shared.description)
        .bind(to_json(&shared.connection_data.shown)?)
        .bind(secrets(shared.connection_data));
    let query = new
        .bind_own(query)?
        .bind(shared.created_at.as_microsecond())
        .bind(shared.modified_at.as_microsecond());
    let done = query.execute(&mut **tx).await;
    done.map_err(|error| write_error::<C>(error, shared.name))?;
    Ok(())
}

/// Stores the changed row.
///
/// # Errors
/// `name_taken`; `wrong_state` when the row was changed or deleted since `old` was read.
pub async fn update<C: StoredConnection>(tx: &mut Tx, old: &C, new: &C) -> Result<()> {
    let (old, shared) = (old.shared(), new.shared());
    // The secrets alone change when the secret key does, so the time of the last change is not enough.
    let sql = format!(
        "UPDATE {} SET name = $1, {} = $2, description = $3, connection_data = $4, secrets = $5, {} = $6, \
         modified_at = $7 WHERE id = $8 AND modified_at = $9 AND secrets IS NOT DISTINCT FROM $10",
        C::TABLE,
        C::SERVED_BY,
        C::OWN_COLUMN
    );
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(shared.name)
        .bind(shared.served_by)
        .bind(shared.description)
        .bind(to_json(&shared.connection_data.shown)?)
        .bind(secrets(shared.connection_data));
    let query = new
        .bind_own(query)?
        .bind(shared.modified_at.as_microsecond())
        .bind(shared.id)
        .bind(old.modified_at.as_microsecond())
        .bind(secrets(old.connection_data));
    let done = query.execute(&mut **tx).await;
    let done = done.map_err(|error| write_error::<C>(error, shared.name))?;
    if done.rows_affected() == 0 {
        let message = format!(
            "the {} was changed or deleted by another request; read it and try again",
            C::NOUN
        );
        return Err(Error::new(Code::WrongState, message));
    }
    Ok(())
}

fn write_error<C: StoredConnection>(error: sqlx::Error, name: &str) -> Error {
    match is_taken(&error) {
        true => name_taken::<C>(name),
        false => error.into(),
    }
}

fn secrets(data: &StoredData) -> Option<Vec<u8>> {
    data.sealed().map(<[u8]>::to_vec)
}

/// The two columns of connection data.
pub fn connection_data(row: &AnyRow) -> Result<StoredData> {
    let shown: String = row.try_get("connection_data")?;
    Ok(StoredData::new(json(&shown)?, row.try_get("secrets")?))
}
