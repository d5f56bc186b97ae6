//! What a caller may do, judged before anything of the body is read: first who asks, then what is asked.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts as _, MatchedPath, RawPathParams},
    http::{Method, request::Parts},
};

use super::below;
use crate::{AppState, ask, openapi};
use mindhost_answers::{
    answering::Answering,
    conversations::{self, Conversations},
};
use mindhost_base::error::{Code, Result};
use mindhost_core::{
    auth::{Auth, Caller},
    datasources::Datasources,
    minds::Minds,
    providers::Providers,
};

/// The rules of the operations, and what finds the things that paths name.
#[derive(Clone)]
pub(super) struct Rights {
    answering: Answering,
    auth: Arc<Auth>,
    conversations: Conversations,
    datasources: Arc<Datasources>,
    minds: Arc<Minds>,
    providers: Arc<Providers>,
}

impl FromRef<AppState> for Rights {
    fn from_ref(state: &AppState) -> Self {
        Self {
            answering: state.answering.clone(),
            auth: state.auth.clone(),
            conversations: state.conversations.clone(),
            datasources: state.datasources.clone(),
            minds: state.minds.clone(),
            providers: state.providers.clone(),
        }
    }
}

impl Rights {
    /// Refuses a role that is too small. Where a body is to come, what it is to change must be there for the caller too;
    /// without one the handler finds out as soon.
    ///
    /// # Errors
    /// `forbidden`, or that there is no such thing.
    pub async fn check(&self, caller: &Caller, head: &mut Parts, is_empty: bool) -> Result<()> {
        let Some(path) = head.extensions.get::<MatchedPath>().cloned() else {
            return Ok(());
        };
        let template = below(path.as_str());
        // A method that the route does not take has none.
        let Some(operation) = openapi::operation(&head.method, template) else {
            return Ok(());
        };
        if let Some(role) = operation.role {
            caller.require(role)?;
        }
        if is_empty {
            return Ok(());
        }
        self.find(caller, template, head).await?;
        match operation.beyond_minds {
            Some(what) => caller.require_all_minds(what),
            None => Ok(()),
        }
    }

    /// Finds what the first parameter of the path names, if it can be somebody else's.
    async fn find(&self, caller: &Caller, template: &str, head: &mut Parts) -> Result<()> {
        // A parameter that is no text is told by the handler.
        let Ok(named) = RawPathParams::from_request_parts(head, &()).await else {
            return Ok(());
        };
        let first = named.iter().next().map(|(_, named)| named);
        let Some(named) = first.filter(|named| !named.contains('\0')) else {
            return Ok(());
        };
        match template.split('/').nth(1) {
            Some("datasources") => self.datasources.get(caller, named).await.map(drop),
            Some("providers") => self.providers.get(caller, named).await.map(drop),
            Some("minds") => self.minds.get(caller, named).await.map(drop),
            Some("keys") => self.auth.find_key(caller, named).await.map(drop),
            Some("responses") => {
                let id = ask::id(named, "resp_", "response_id", Code::ResponseNotFound)?;
                self.answering.get(caller, id).await.map(drop)
            }
            Some("conversations") => {
                let code = Code::ConversationNotFound;
                let id = ask::id(named, "conv_", "conversation_id", code)?;
                let found = self.conversations.get(caller, id).await?;
                match head.method {
                    Method::POST => conversations::require_owner(caller, &found.key_id),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
