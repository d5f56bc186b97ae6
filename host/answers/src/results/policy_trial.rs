//! The trial of policies: the engine plans their SQL, without reading a row.

use std::{collections::HashMap, time::Duration};

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{
    Results,
    access::Source,
    policies::{Checked, Problem, tables_of},
};
use mindhost_base::{
    error::{Code, Error, Kind, Result},
    policy::Attributes,
};
use mindhost_catalog::ScopeStatistics;
use mindhost_core::auth::Caller;
use mindhost_plugin_api::{Call, Dialect, Paging, TableRef};
use mindhost_sql::{
    guard::{GuardedStatement, ScopeTable},
    policy::{self, Part},
};

/// How long the trials of a request may take. What was not tried by then passes.
const LONGEST: Duration = Duration::from_secs(20);
/// Policies that are tried at the same time.
const TRIALS_AT_ONCE: usize = 4;
/// Parts of a policy that are tried in one statement. Each statement reads all columns of the table.
const PARTS_AT_ONCE: usize = 64;

/// A datasource whose policies are tried, and those of its tables that they are for.
struct TriedSource {
    source: Source,
    dialect: Dialect,
    paging: Paging,
    tables: Vec<ScopeTable>,
}

impl Results {
    /// The policies whose SQL the engine refuses, such as for a condition that is no truth value. For those who write
    /// policies: the reason is the engine's own. Without `attributes`, each may be of any type. An engine that cannot
    /// be asked refuses nothing, and [`Self::check_policies`] says what does not fit the catalog.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn try_policies(
        &self,
        caller: &Caller,
        policies: &[Checked<'_>],
        attributes: Option<&Attributes>,
    ) -> Result<Vec<Problem>> {
        let mut sources = HashMap::new();
        for (id, tables) in tables_of(policies) {
            if let Some(source) = self.tried_source(&caller.workspace, id, &tables).await? {
                sources.insert(id, source);
            }
        }
        let call = Call::new(LONGEST, CancellationToken::new()).for_key(caller.key_id.clone());
        let (call, sources) = (&call, &sources);
        let numbered: Vec<(usize, &Checked<'_>)> = policies.iter().enumerate().collect();
        let mut problems = Vec::new();
        for some in numbered.chunks(TRIALS_AT_ONCE) {
            let mut trials = Vec::with_capacity(some.len());
            for (_, one) in some {
                let on = sources.get(one.datasource_id);
                trials.push(self.refusal_of(on, one, attributes, call));
            }
            for ((index, _), refusal) in some.iter().zip(join_all(trials).await) {
                let index = *index;
                problems.extend(refusal.map(|error| Problem { index, error }));
            }
        }
        Ok(problems)
    }

    /// `None` if the datasource is gone or no plugin serves it.
    async fn tried_source(
        &self,
        workspace: &str,
        id: &str,
        tables: &[TableRef],
    ) -> Result<Option<TriedSource>> {
        let Some(datasource) = self.datasources.get_by_id(workspace, id).await? else {
            return Ok(None);
        };
        let pin = datasource.settings.plugin_digest.as_deref();
        let Ok(connector) = self.registry.connector(&datasource.engine, pin).await else {
            return Ok(None);
        };
        let manifest = connector.manifest();
        let found = self
            .catalog
            .scope_tables(id, Some(tables), ScopeStatistics::None);
        Ok(Some(TriedSource {
            dialect: manifest.dialect.unwrap_or(Dialect::Generic),
            paging: manifest.capabilities.paging,
            tables: found.await?.tables,
            source: Source::of(datasource, &self.datasources).await?,
        }))
    }

    /// Why the engine refuses a policy, by the first part that it refuses.
    async fn refusal_of(
        &self,
        on: Option<&TriedSource>,
        one: &Checked<'_>,
        attributes: Option<&Attributes>,
        call: &Call,
    ) -> Option<Error> {
        let on = on?;
        let table = on.tables.iter().find(|table| table.table == *one.table)?;
        let tried = async |parts: &[Part]| {
            let trial = policy::trial((on.dialect, on.paging), table, parts, attributes);
            self.tried(on, &trial, call).await
        };
        for some in policy::parts(one.rule).chunks(PARTS_AT_ONCE) {
            if matches!(tried(some).await, Ok(true)) {
                continue;
            }
            for part in some.chunks(1) {
                let (Err(reason), [part]) = (tried(part).await, part) else {
                    continue;
                };
                let message = format!(
                    "the engine cannot run this part of the policy: {}",
                    reason.message()
                );
                return Some(Error::new(Code::InvalidPolicy, message).param(part.name.clone()));
            }
        }
        None
    }

    /// Whether there are statements and the engine refuses not all of them.
    ///
    /// # Errors
    /// The first refusal, if it refuses all.
    async fn tried(
        &self,
        on: &TriedSource,
        statements: &[GuardedStatement],
        call: &Call,
    ) -> Result<bool> {
        let mut first = None;
        for statement in statements {
            match self.planned(&on.source, statement, call).await {
                Err(error) if error.kind() == Kind::Invalid => first = first.or(Some(error)),
                // It works, or the engine could not be asked, which says nothing of the policy.
                Ok(_) | Err(_) => return Ok(true),
            }
        }
        first.map_or(Ok(false), Err)
    }
}
