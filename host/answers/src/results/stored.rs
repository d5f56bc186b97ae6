//! The results of stored SQL, which is checked again and run again.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    AcceptedStatement, Access, Export, Page, Results,
    chart::{self, Chart},
};
use crate::{
    conversations::{Author, Conversations, SqlOrigin},
    jobs::{Kind, Registration, RunningStatements},
};
use mindhost_base::{
    config::Formulas,
    error::{Code, Error, Result},
    policy::Attributes,
};
use mindhost_core::{
    auth::Caller,
    minds::{self, Mind, Minds},
};
use mindhost_plugin_api::{Call, Dialect, TableRef};
use mindhost_sql::outline::spelled;

/// How often an export checks whether it may continue.
const POLL: Duration = Duration::from_secs(1);

/// Finds the SQL of messages and runs it.
#[derive(Clone)]
pub struct StoredResults {
    results: Results,
    conversations: Conversations,
    minds: Arc<Minds>,
    halt: CancellationToken,
    running: RunningStatements,
}

/// The SQL of a message that the caller may run, with the current access of its Mind.
pub struct StoredStatement {
    /// UUID of the message that holds the statement.
    pub message_id: Uuid,
    sql: String,
    origin: SqlOrigin,
    mind: Arc<Mind>,
    access: Arc<Access>,
    caller: Caller,
}

impl StoredResults {
    /// Over its parts.
    pub fn new(
        results: Results,
        conversations: Conversations,
        minds: Arc<Minds>,
        halt: CancellationToken,
    ) -> Self {
        Self {
            results,
            conversations,
            minds,
            halt,
            running: RunningStatements::default(),
        }
    }

    /// The pages and exports that run.
    pub fn running(&self) -> &RunningStatements {
        &self.running
    }

    /// Begins to run a statement. The call ends with the request: when its client disconnects, or when it is stopped.
    fn begin(&self, kind: Kind, statement: &StoredStatement) -> (Call, Registration) {
        let StoredStatement {
            caller, mind, sql, ..
        } = statement;
        self.begin_of(kind, caller, mind, sql)
    }

    fn begin_of(
        &self,
        kind: Kind,
        caller: &Caller,
        mind: &Arc<Mind>,
        sql: &str,
    ) -> (Call, Registration) {
        let cancel = self.halt.child_token();
        let running = self.running.begin(kind, caller, mind, sql, &cancel);
        let call = Call::new(self.results.longest(), cancel);
        (call.for_key(caller.key_id.clone()), running)
    }

    /// The SQL of a message, if it may still be run.
    ///
    /// # Errors
    /// When the conversation or message does not exist, the message has no SQL, its Mind was deleted, or the SQL came from `sql_query`, which the Mind no longer allows.
    pub async fn find(
        &self,
        caller: &Caller,
        conversation: Uuid,
        message: Uuid,
    ) -> Result<StoredStatement> {
        let conversation = self.conversations.get(caller, conversation).await?;
        let message = self.conversations.message(&conversation, message).await?;
        if message.author != Author::Assistant {
            return Err(Error::new(
                Code::NotAnAssistantMessage,
                "this is not a message of the assistant; only its answers have results",
            ));
        }
        let Some(sql) = message.sql else {
            return Err(Error::new(
                Code::MessageWithoutSql,
                "this answer was not based on a query, so it has no result",
            ));
        };
        let mind = match &conversation.mind_id {
            Some(id) => self.minds.current_by_id(caller, id).await?,
            None => None,
        };
        let mind = mind
            .ok_or_else(|| minds::deleted(conversation.mind_name.as_deref().unwrap_or_default()))?;
        caller.count(|tally| tally.mind(&mind.id));
        Ok(StoredStatement {
            message_id: message.id,
            access: self.allowed(caller, &mind, sql.origin).await?,
            sql: sql.text,
            origin: sql.origin,
            mind,
            caller: caller.clone(),
        })
    }

    /// The current access of a caller to a Mind for its stored SQL, no matter who stored it.
    async fn allowed(
        &self,
        caller: &Caller,
        mind: &Arc<Mind>,
        origin: SqlOrigin,
    ) -> Result<Arc<Access>> {
        check_origin(mind, origin)?;
        self.results.access(mind, &caller.attributes).await
    }

    /// One page of its result.
    ///
    /// # Errors
    /// As for any statement; `invalid_parameter` for an offset that no result reaches.
    pub async fn page(&self, statement: &StoredStatement, limit: u64, offset: u64) -> Result<Page> {
        if i64::try_from(offset).is_err() {
            return Err(Error::invalid(
                "offset",
                "`offset` is larger than any result",
            ));
        }
        let (call, running) = self.begin(Kind::Page, statement);
        let accepted = self
            .results
            .accept(&statement.access, &statement.sql, statement.origin)
            .await?;
        let page = self.results.page(&accepted, limit, offset, &call).await;
        let page = page.map_err(|error| running.explained(error))?;
        statement.caller.count(|tally| tally.rows(page.rows()));
        Ok(page)
    }

    /// The first rows of a table as a caller with these attributes sees them through this Mind, which may have policies
    /// that are not saved.
    ///
    /// # Errors
    /// As for any statement.
    pub async fn preview(
        &self,
        caller: &Caller,
        mind: Arc<Mind>,
        (datasource, table): (&str, &TableRef),
        attributes: &Attributes,
        limit: u64,
    ) -> Result<Page> {
        caller.count(|tally| tally.mind(&mind.id));
        let access = self.results.unsaved_access(&mind, attributes).await?;
        let dialect = access.dialect_of(datasource).unwrap_or(Dialect::Generic);
        let sql = first_rows(dialect, datasource, table, limit);
        let (call, running) = self.begin_of(Kind::Page, caller, &mind, &sql);
        let accepted = self.results.accept(&access, &sql, SqlOrigin::Model).await?;
        let page = self.results.page(&accepted, limit, 0, &call).await;
        let page = page.map_err(|error| running.explained(error))?;
        caller.count(|tally| tally.rows(page.rows()));
        Ok(page)
    }

    /// The chart of its result, of which this is a page.
    ///
    /// # Errors
    /// As for any statement.
    pub async fn chart(&self, statement: &StoredStatement, page: &Page) -> Result<Chart> {
        let (call, running) = self.begin(Kind::Page, statement);
        let (access, sql) = (&statement.access, &statement.sql);
        let accepted = self.results.accept(access, sql, statement.origin).await?;
        let chart = chart::of_page(&self.results, &accepted, page, &call).await;
        let chart = chart.map_err(|error| running.explained(error))?;
        if page.rows() < page.total {
            statement.caller.count(|tally| tally.rows(chart.rows));
        }
        Ok(chart)
    }

    /// Its whole result as CSV.
    ///
    /// # Errors
    /// As for any statement, until the stream starts.
    pub async fn export(
        &self,
        statement: StoredStatement,
        formulas: Option<Formulas>,
    ) -> Result<Export> {
        let (call, running) = self.begin(Kind::Export, &statement);
        let running = Arc::new(running);
        let caller = statement.caller.clone();
        let accepted = self
            .results
            .accept(&statement.access, &statement.sql, statement.origin)
            .await?;
        let accepted = Arc::new(accepted);
        let until_withdrawn = self.clone().until_withdrawn(statement, accepted.clone());
        let registration = running.clone();
        let withdrawn = async move {
            // The export is listed until its file has ended.
            let _registration = registration;
            until_withdrawn.await
        };
        let export = self
            .results
            .export(&accepted, formulas, call, caller.tally, withdrawn);
        export.await.map_err(|error| running.explained(error))
    }

    /// Waits until a statement is no longer allowed, and returns the reason. Failures of the check are ignored: the
    /// store may be busy, or the plugin may be being replaced.
    async fn until_withdrawn(
        self,
        statement: StoredStatement,
        accepted: Arc<AcceptedStatement>,
    ) -> Error {
        loop {
            tokio::time::sleep(POLL).await;
            match self.withdrawn(&statement, &accepted).await {
                Ok(None) => {}
                Ok(Some(reason)) => return reason,
                Err(error) => {
                    tracing::debug!(%error, "cannot check whether an export may continue")
                }
            }
        }
    }

    /// Why a statement is no longer allowed: its key is invalid, or its Mind no longer has what it reads.
    async fn withdrawn(
        &self,
        statement: &StoredStatement,
        accepted: &AcceptedStatement,
    ) -> Result<Option<Error>> {
        let caller = &statement.caller;
        if self.conversations.key_has_ended(caller).await? {
            let message = "the key of the export is revoked, rotated or expired";
            return Ok(Some(Error::new(Code::InvalidApiKey, message)));
        }
        let mind = self.minds.current_by_id(caller, &statement.mind.id).await?;
        let Some(mind) = mind else {
            return Ok(Some(minds::deleted(&statement.mind.name)));
        };
        if let Err(error) = check_origin(&mind, statement.origin) {
            return Ok(Some(error));
        }
        let access = self.results.access(&mind, &caller.attributes).await?;
        if Arc::ptr_eq(&access, &statement.access) {
            return Ok(None);
        }
        let reason = accepted.withdrawn(&access);
        Ok(reason.map(|reason| Error::new(Code::WrongState, reason)))
    }
}

fn check_origin(mind: &Mind, origin: SqlOrigin) -> Result<()> {
    match origin == SqlOrigin::SqlQuery && !mind.allows_direct_queries() {
        true => Err(minds::direct_queries_not_allowed(mind)),
        false => Ok(()),
    }
}

/// A statement for the first rows of a table. SQL Server is told how many: its pages are read whole.
fn first_rows(dialect: Dialect, datasource: &str, table: &TableRef, limit: u64) -> String {
    let mut name = spelled(dialect, datasource);
    for part in [&table.schema, &table.name] {
        if !part.is_empty() {
            name.push('.');
            name.push_str(&spelled(dialect, part));
        }
    }
    match dialect {
        Dialect::Mssql => format!("SELECT TOP {limit} * FROM {name}"),
        _ => format!("SELECT * FROM {name}"),
    }
}
