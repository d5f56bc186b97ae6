//! Whether an engine takes a statement, without reading its rows.

use std::time::Duration;

use super::{AcceptedStatement, Results, access::Source, page};
use mindhost_base::error::Result;
use mindhost_plugin_api::{Call, Connection};
use mindhost_plugins::serving_versions;
use mindhost_sql::guard::{GuardedStatement, PageStatement};

/// How long an engine may take. It plans the statement and reads no row.
const LONGEST: Duration = Duration::from_secs(10);

impl Results {
    /// Lets the engine plan a statement and give the number of its columns. The statement is sent with `LIMIT 0` where
    /// the engine cuts pages; else it is cancelled before its first row. One over several datasources is planned by the
    /// host.
    ///
    /// # Errors
    /// As for a page.
    pub async fn dry_run(&self, accepted: &AcceptedStatement, call: &Call) -> Result<usize> {
        let call = call.within(self.statement_timeout(accepted).min(LONGEST));
        let guarded = &accepted.guarded;
        let source = guarded.reads().one();
        let Some(source) = source.and_then(|index| accepted.access.source(index)) else {
            let mut connection = self.federated(accepted)?.connection;
            return columns(&mut *connection, guarded.text(), &call).await;
        };
        self.planned(source, guarded, &call).await
    }

    /// As [`Self::dry_run`], for a statement over one datasource.
    pub(super) async fn planned(
        &self,
        source: &Source,
        guarded: &GuardedStatement,
        call: &Call,
    ) -> Result<usize> {
        let call = call.within(LONGEST);
        let text = match guarded.page(0, 0) {
            PageStatement::Engine(text) | PageStatement::Skip { text } => text,
        };
        let mut connection = self.connect(source, &call).await?;
        let columns = columns(&mut *connection, &text, &call).await;
        serving_versions::note(&source.engine, connection.digest());
        columns
    }
}

async fn columns(connection: &mut dyn Connection, text: &str, call: &Call) -> Result<usize> {
    let columns = connection.query(&page::statement(text, call), call).await?;
    connection.close(call).await?;
    Ok(columns.len())
}
