//! The results of SQL that a message holds: found, allowed anew, run again.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Access, Export, Page, Results};
use crate::{
    auth::Caller,
    config::Formulas,
    conversations::{Author, Conversations, SqlOrigin},
    error::{Code, Error, Result},
    minds::{self, Minds},
    plugins::Call,
    usage::Tally,
};

/// Finds the SQL of messages and runs it.
#[derive(Clone)]
pub struct StoredResults {
    results: Results,
    conversations: Conversations,
    minds: Arc<Minds>,
    halt: CancellationToken,
}

/// SQL of a message that its caller may run, with what its Mind may see now.
pub struct StoredStatement {
    /// The message.
    pub message_id: Uuid,
    sql: String,
    access: Arc<Access>,
    tally: Option<Arc<Tally>>,
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
        }
    }

    /// The SQL of a message, if it may still be run.
    ///
    /// # Errors
    /// When conversation or message are not there, the message has no SQL, its Mind was deleted, or the SQL came
    /// from `sql_query` and the Mind no longer allows that.
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
                "this message is not of the assistant; only its answers have results",
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
        if sql.origin == SqlOrigin::SqlQuery && !mind.allows_direct_queries() {
            return Err(minds::direct_queries_not_allowed(&mind));
        }
        let access = self.results.access(&mind).await?;
        caller.count(|tally| tally.mind(&mind.id));
        Ok(StoredStatement {
            message_id: message.id,
            sql: sql.text,
            access,
            tally: caller.tally.clone(),
        })
    }

    /// One page of its result.
    ///
    /// # Errors
    /// As for any statement.
    pub async fn page(&self, statement: &StoredStatement, limit: u64, offset: u64) -> Result<Page> {
        // Dropped with the request when the client leaves, which cancels the statement.
        let cancel = self.halt.child_token();
        let call = Call::new(self.results.longest(), cancel);
        let accepted = self.results.accept(&statement.access, &statement.sql)?;
        let page = self.results.page(&accepted, limit, offset, &call).await?;
        if let Some(tally) = &statement.tally {
            tally.rows(page.rows());
        }
        Ok(page)
    }

    /// Its whole result as CSV.
    ///
    /// # Errors
    /// As for any statement, until the stream begins.
    pub async fn export(
        &self,
        statement: &StoredStatement,
        formulas: Option<Formulas>,
    ) -> Result<Export> {
        let (halt, tally) = (self.halt.child_token(), statement.tally.clone());
        let accepted = self.results.accept(&statement.access, &statement.sql)?;
        self.results.export(&accepted, formulas, halt, tally).await
    }
}
