//! Statements over several datasources: what the host's query engine reads from.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;

use super::{AcceptedStatement, Results, access::Source, plan_cost::CostLimit};
use crate::conversations::SqlOrigin;
use mindhost_base::{
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, ColumnStatistics, Connection, Dialect, TableRef};
use mindhost_plugins::serving_versions;
use mindhost_query::federation::{Keys, Recorder, SqlSource};
use mindhost_sql::guard::{Scope, ScopeDatasource, ScopeTable, guard};

/// The digests of the versions that serve a statement.
pub type Digests = Arc<Mutex<BTreeSet<String>>>;

/// A connection for a statement over several datasources, and what it tells of itself.
pub struct Federated {
    /// Runs the statement.
    pub connection: Box<dyn Connection>,
    /// What went to which datasource.
    pub recorder: Arc<Recorder>,
    /// The versions that served.
    pub digests: Digests,
}

/// The digests in order, separated by commas.
pub fn listed(digests: &Digests) -> String {
    let digests = lock(digests);
    digests
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// One datasource of the statement, with the tables that the statement reads and no others.
struct Member {
    results: Results,
    source: Source,
    scope: Scope,
    digests: Digests,
    /// The most that one statement for it may cost.
    limit: Option<CostLimit>,
}

impl Results {
    /// Connects to the datasources of a statement when it runs.
    pub(super) fn federated(&self, accepted: &AcceptedStatement) -> Result<Federated> {
        let (recorder, digests) = (Arc::new(Recorder::default()), Digests::default());
        let indices = accepted.guarded.reads().datasources().iter();
        let members = indices.filter_map(|index| {
            let (source, scope) = (accepted.access.source(*index)?, scope(accepted, *index)?);
            let dialect = scope.datasources.first()?.dialect;
            let is_told = !accepted.guarded.is_policed() && source.send_rows;
            Some(Arc::new(Member {
                results: self.clone(),
                source: source.clone(),
                scope,
                digests: Arc::clone(&digests),
                limit: CostLimit::new(dialect, accepted.max_cost, is_told),
            }) as Arc<dyn SqlSource>)
        });
        // A model that obeys a planted text could write a join to carry the rows of one datasource to another.
        let keys = match accepted.origin {
            SqlOrigin::Model => Keys::Private,
            SqlOrigin::SqlQuery => Keys::Shared,
        };
        let connection =
            self.registry
                .queries()?
                .federated(members.collect(), Arc::clone(&recorder), keys);
        Ok(Federated {
            connection,
            recorder,
            digests,
        })
    }
}

/// What the statements for a datasource may name: the tables that the caller's statement reads there.
fn scope(accepted: &AcceptedStatement, index: usize) -> Option<Scope> {
    let datasource = accepted.access.scope.datasources.get(index)?;
    let is_read = |table: &&ScopeTable| {
        let mut read = accepted.guarded.tables().iter();
        read.any(|read| read.datasource == index && read.table == table.table)
    };
    Some(Scope {
        datasources: vec![ScopeDatasource {
            tables: datasource.tables.iter().filter(is_read).cloned().collect(),
            function_schemas: Vec::new(),
            id: datasource.id.clone(),
            name: datasource.name.clone(),
            dialect: datasource.dialect,
            paging: datasource.paging,
        }],
    })
}

impl Member {
    fn datasource(&self) -> Option<&ScopeDatasource> {
        self.scope.datasources.first()
    }

    fn table(&self, table: &TableRef) -> Option<&ScopeTable> {
        self.datasource()?
            .tables
            .iter()
            .find(|one| one.table == *table)
    }
}

#[async_trait]
impl SqlSource for Member {
    fn id(&self) -> &str {
        &self.source.target.id
    }

    fn name(&self) -> &str {
        self.datasource().map_or("", |datasource| &datasource.name)
    }

    fn dialect(&self) -> Dialect {
        self.datasource()
            .map_or(Dialect::Generic, |datasource| datasource.dialect)
    }

    fn columns(&self, table: &TableRef) -> Vec<String> {
        self.table(table)
            .map(|table| table.columns.clone())
            .unwrap_or_default()
    }

    fn fingerprint(&self, table: &TableRef) -> u64 {
        let policy = self.table(table).and_then(|table| table.policy.as_ref());
        policy.map_or(0, |policy| policy.fingerprint())
    }

    fn is_policed(&self) -> bool {
        let mut tables = self.datasource().into_iter().flat_map(|one| &one.tables);
        tables.any(|table| table.policy.is_some())
    }

    fn row_count(&self, table: &TableRef) -> Option<u64> {
        self.table(table)?.row_count
    }

    fn statistics(&self, table: &TableRef) -> &[ColumnStatistics] {
        self.table(table).map_or(&[], |table| &table.statistics)
    }

    fn guard(&self, sql: &str) -> Result<String> {
        let guarded = guard(sql, &self.scope)?;
        match guarded.reads().one() {
            Some(_) => Ok(guarded.text().to_owned()),
            None => Err(Error::internal(
                "a part of a statement reads several datasources",
            )),
        }
    }

    async fn open(&self, call: &Call) -> Result<Box<dyn Connection>> {
        let limit = self.limit.clone();
        let connection = self.results.connect_within(&self.source, limit, call);
        let connection = connection.await?;
        serving_versions::note(&self.source.engine, connection.digest());
        lock(&self.digests).insert(connection.digest().to_owned());
        Ok(connection)
    }
}
