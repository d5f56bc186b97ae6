//! Which run owns which tables, and which host owns a run.

use super::query;
use crate::types::{Mode, Run};
use mindhost_base::error::Result;
use mindhost_store::{CHUNK, Tx, placeholders};

/// Updates the run if it is active and claimed by this host; else returns false. The row stays locked until the end of
/// the transaction, so no other host can claim it.
pub(super) async fn fence(tx: &mut Tx, run: &Run, host: &str, change: &str) -> Result<bool> {
    let sql = format!(
        "UPDATE catalog_runs SET {change} WHERE id = $1 AND claimed_by = $2 AND status IN ('PENDING', 'LOADING')"
    );
    let changed = query(sql)
        .bind(run.id.clone())
        .bind(host.to_owned())
        .execute(&mut **tx)
        .await?;
    Ok(changed.rows_affected() > 0)
}

/// Gives tables to a run. `force` deletes their stored columns and keys.
pub(super) async fn take(
    tx: &mut Tx,
    run_id: &str,
    mode: Mode,
    table_ids: &[String],
) -> Result<()> {
    if mode == Mode::Force {
        delete_children(tx, table_ids).await?;
    }
    let wiped = match mode {
        Mode::Force => {
            ", source_description = NULL, description = NULL, description_source = 'none', row_count = 0, \
             row_count_known = 0, loaded_at = NULL"
        }
        Mode::All | Mode::MissingOnly => "",
    };
    for ids in table_ids.chunks(CHUNK) {
        let sql = format!(
            "UPDATE catalog_tables SET status = 'PENDING', error = NULL, run_id = $1{wiped} WHERE id IN ({})",
            placeholders(2, ids.len())
        );
        let query = query(sql).bind(run_id.to_owned());
        let query = ids.iter().fold(query, |query, id| query.bind(id.clone()));
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// Deletes columns and keys of tables.
pub(super) async fn delete_children(tx: &mut Tx, table_ids: &[String]) -> Result<()> {
    for ids in table_ids.chunks(CHUNK) {
        for child in [
            "catalog_columns",
            "catalog_primary_keys",
            "catalog_foreign_keys",
        ] {
            let sql = format!(
                "DELETE FROM {child} WHERE table_id IN ({})",
                placeholders(1, ids.len())
            );
            let query = ids
                .iter()
                .fold(query(sql), |query, id| query.bind(id.clone()));
            query.execute(&mut **tx).await?;
        }
    }
    Ok(())
}
