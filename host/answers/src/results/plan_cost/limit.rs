//! The most that a statement may cost, on a connection: it is planned before it runs.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::{Explain, statement_errors};
use mindhost_base::error::{Code, Error, Kind, Result};
use mindhost_plugin_api::{
    Call, Connection, Connector, Dialect, Plugin, Statement, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation},
};
use mindhost_sql::json::{self, Rows};

/// Rows of an EXPLAIN: one plan, or each table that ClickHouse reads.
const MAX_ROWS: u32 = 100;

/// The source of an error of a statement that an engine refused, or that costs too much, when it was planned. So the
/// statement, or its part for that datasource, did not run.
#[derive(Clone, Copy, Debug)]
pub struct RefusedInPlan;

impl RefusedInPlan {
    /// Whether it is the source of this error.
    pub fn is_source_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(|source| source.is::<Self>())
    }
}

impl std::fmt::Display for RefusedInPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the statement was refused when it was planned")
    }
}

impl std::error::Error for RefusedInPlan {}

/// The most that a statement of one dialect may cost. As an interceptor, it checks each statement of a connection.
#[derive(Clone)]
pub(in crate::results) struct CostLimit {
    dialect: Dialect,
    explain: Explain,
    max_cost: f64,
    /// Whether the estimate may be told.
    is_told: bool,
}

impl CostLimit {
    /// `None` for engines without an EXPLAIN, and where `max_cost` is 0.
    pub fn new(dialect: Dialect, max_cost: f64, is_told: bool) -> Option<Self> {
        let explain = Explain::of(dialect).filter(|_| max_cost > 0.0)?;
        Some(Self {
            dialect,
            explain,
            max_cost,
            is_told,
        })
    }

    /// Lets the engine plan a statement.
    ///
    /// # Errors
    /// `sql_invalid` if the engine finds it wrong, and `sql_cost_too_high`, both with [`RefusedInPlan`] as their source;
    /// when the call is cancelled or out of time.
    pub async fn check(
        &self,
        connection: &mut dyn Connection,
        sql: &str,
        call: &Call,
    ) -> Result<()> {
        let Explain { prefix, cost } = self.explain;
        let cost = match explained(connection, format!("{prefix}{sql}"), call).await {
            Ok(rows) => cost(&rows),
            Err(error) if statement_errors::is_of_statement(self.dialect, &error) => {
                let error = statement_errors::without_prefix(error, prefix);
                return Err(error.with_source(RefusedInPlan));
            }
            Err(error)
                if matches!(
                    error.kind(),
                    Kind::Cancelled | Kind::Timeout | Kind::Internal
                ) =>
            {
                return Err(error);
            }
            Err(_) => None,
        };
        match cost.filter(|cost| *cost > self.max_cost) {
            Some(cost) => Err(self.too_high(cost)),
            None => Ok(()),
        }
    }

    fn too_high(&self, cost: f64) -> Error {
        let estimate = match self.is_told {
            true => format!("a cost of {cost:.0}"),
            false => String::from("a higher cost"),
        };
        Error::new(
            Code::SqlCostTooHigh,
            format!(
                "the engine estimates {estimate} for this statement, and at most {:.0} is allowed \
                 (answering.max_plan_cost); join on keys, filter first, or read fewer tables",
                self.max_cost
            ),
        )
        .with_source(RefusedInPlan)
    }
}

/// The rows of an EXPLAIN statement.
async fn explained(connection: &mut dyn Connection, text: String, call: &Call) -> Result<Value> {
    let statement = Statement {
        text,
        id: Uuid::now_v7().to_string(),
        timeout: call.remaining(),
    };
    let columns = connection.query(&statement, call).await?;
    let read = connection.next(MAX_ROWS, call).await;
    connection.close(call).await?;
    let batches = read?.into_iter().collect::<Vec<_>>();
    let rows = serde_json::to_string(&Rows::new(columns, batches)).map_err(Error::internal)?;
    json::values(&rows).map_err(Error::internal)
}

impl Intercept for CostLimit {
    type Interceptor = Self;

    fn begin(&self, _: &dyn Plugin, _: &Target) -> Result<Self> {
        Ok(self.clone())
    }
}

impl Interceptor<Arc<dyn Connector>> for CostLimit {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<Arc<dyn Connector>, T>,
        on: &mut Arc<dyn Connector>,
    ) -> Result<T> {
        invocation.make(on).await
    }
}

impl Interceptor<Box<dyn Connection>> for CostLimit {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<Box<dyn Connection>, T>,
        on: &mut Box<dyn Connection>,
    ) -> Result<T> {
        if let Operation::Query(statement) = invocation.operation() {
            let (sql, call) = (&statement.text, invocation.call());
            self.check(&mut **on, sql, call).await?;
        }
        invocation.make(on).await
    }
}
