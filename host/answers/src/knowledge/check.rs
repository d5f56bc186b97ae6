//! Whether knowledge works with the database as it is.

use std::sync::Arc;

use super::names::{self, ScopedTable, quoted};
use crate::{
    conversations::SqlOrigin,
    results::{Access, Results},
};
use mindhost_base::error::{Code, Error, Kind, Result};
use mindhost_core::knowledge::{self, Knowledge, Metric, Relationship, Term, VerifiedQuery};
use mindhost_plugin_api::{Call, Dialect};
use mindhost_sql::metric;

/// What a check needs.
pub(super) struct Checker<'a> {
    pub results: &'a Results,
    pub access: &'a Arc<Access>,
    pub call: &'a Call,
}

impl Checker<'_> {
    /// Checks the fields, then the names, then lets the engine plan the statement.
    ///
    /// # Errors
    /// `invalid_parameter`, `unknown_table`, `unknown_column`, `ambiguous_table`, a `sql_*` code; those of the engine
    /// when it cannot be asked. `param` names the field.
    pub async fn check(&self, knowledge: &Knowledge) -> Result<()> {
        knowledge::check(knowledge)?;
        match knowledge {
            Knowledge::Instruction(_) => Ok(()),
            Knowledge::Term(term) => self.term(term),
            Knowledge::Metric(metric) => self.metric(metric).await,
            Knowledge::Relationship(relationship) => self.relationship(relationship).await,
            Knowledge::VerifiedQuery(query) => self.verified_query(query).await,
        }
    }

    fn term(&self, term: &Term) -> Result<()> {
        let Some(table) = &term.table else {
            return Ok(());
        };
        let place = names::table(self.access, "table", table)?;
        match &term.column {
            Some(column) => names::column(place, "column", column).map(drop),
            None => Ok(()),
        }
    }

    /// Each part passes the guard by itself too, and must not begin or end something that another one ends or begins.
    async fn metric(&self, metric: &Metric) -> Result<()> {
        let from = &metric.from;
        let is_true = |part: &str| format!("SELECT 1 FROM {from}\nWHERE ({part}\n) IS NULL");
        let dialect = self
            .guarded("from", &format!("SELECT 1 FROM {from}\n"))
            .await?;
        self.guarded("expression", &is_true(&metric.expression))
            .await?;
        if let Some(filter) = &metric.filter {
            self.guarded("filter", &is_true(filter)).await?;
        }
        let filter = metric.filter.as_deref();
        metric::check(dialect, &metric.expression, from, filter)?;
        match self.dry_run("expression", &metric.statement()).await? {
            1 => Ok(()),
            columns => Err(Error::invalid(
                "expression",
                format!("`expression` must make one value, but makes {columns}"),
            )),
        }
    }

    async fn relationship(&self, relationship: &Relationship) -> Result<()> {
        let from = names::table(self.access, "from_table", &relationship.from_table)?;
        let to = names::table(self.access, "to_table", &relationship.to_table)?;
        let mut pairs = Vec::new();
        for (left, right) in relationship
            .from_columns
            .iter()
            .zip(&relationship.to_columns)
        {
            let left = names::column(from, "from_columns", left)?;
            pairs.push((left, names::column(to, "to_columns", right)?));
        }
        self.dry_run("from_columns", &join(from, to, &pairs))
            .await
            .map(drop)
    }

    async fn verified_query(&self, query: &VerifiedQuery) -> Result<()> {
        self.dry_run("sql", &query.sql).await.map(drop)
    }

    /// Passes a statement through the guard, and gives the dialect that it was read in.
    async fn guarded(&self, param: &str, sql: &str) -> Result<Dialect> {
        let accepted = self
            .results
            .accept(self.access, sql, SqlOrigin::SqlQuery)
            .await;
        accepted
            .map(|accepted| accepted.dialect())
            .map_err(|error| self.to_blame(param, &error))
    }

    async fn dry_run(&self, param: &str, sql: &str) -> Result<usize> {
        let columns = async {
            let accepted = self
                .results
                .accept(self.access, sql, SqlOrigin::SqlQuery)
                .await?;
            self.results.dry_run(&accepted, self.call).await
        };
        columns.await.map_err(|error| self.to_blame(param, &error))
    }

    /// Names the field in an error of its statement, and the nearest names where the engine knows one not. The position
    /// is left out: it is one in a statement that the caller did not write.
    fn to_blame(&self, param: &str, error: &Error) -> Error {
        if error.kind() != Kind::Invalid {
            return error.clone();
        }
        let hint = match error.code() {
            Code::SqlInvalid => names::hint(self.access, error.message()),
            _ => String::new(),
        };
        let message = format!("`{param}`: {}{hint}", error.message());
        let blamed = Error::new(error.code(), message).param(param);
        match error.blame() {
            Some(blame) => blamed.blamed(blame),
            None => blamed,
        }
    }
}

/// A statement that joins two tables. Over two datasources it is in the dialect of the host.
fn join(from: ScopedTable<'_>, to: ScopedTable<'_>, pairs: &[(String, String)]) -> String {
    let dialect = match from.datasource.id == to.datasource.id {
        true => from.datasource.dialect,
        false => Dialect::Datafusion,
    };
    let equals = |(left, right): &(String, String)| {
        format!("l.{} = r.{}", quoted(dialect, left), quoted(dialect, right))
    };
    let on: Vec<_> = pairs.iter().map(equals).collect();
    format!(
        "SELECT 1 FROM {} AS l JOIN {} AS r ON {}",
        from.quoted(dialect),
        to.quoted(dialect),
        on.join(" AND ")
    )
}
