//! The role check. It runs before the body is read: first who asks, then what is asked.

use axum::{
    extract::{FromRequestParts as _, MatchedPath, RawPathParams},
    http::{Method, request::Parts},
};

use crate::{
    AppState, ask,
    routes::{Rules, below},
};
use mindhost_answers::conversations;
use mindhost_base::error::{Code, Result};
use mindhost_core::auth::Caller;

/// Refuses a role that is too small. For a request with a body, also checks that the caller can see the resource;
/// without a body the handler finds that out as early.
///
/// # Errors
/// `forbidden`, or the error of a missing resource.
pub(super) async fn check(
    state: &AppState,
    rules: &Rules,
    caller: &Caller,
    head: &mut Parts,
    is_empty: bool,
) -> Result<()> {
    if let Some(role) = rules.role {
        caller.require(role)?;
    }
    if is_empty {
        return Ok(());
    }
    find(state, caller, head).await?;
    match rules.beyond_minds {
        Some(what) => caller.require_all_minds(what),
        None => Ok(()),
    }
}

/// Looks up the resource of the path's first parameter, if it can belong to others.
async fn find(state: &AppState, caller: &Caller, head: &mut Parts) -> Result<()> {
    let Some(path) = head.extensions.get::<MatchedPath>().cloned() else {
        return Ok(());
    };
    // The handler reports a parameter that is not valid text.
    let Ok(named) = RawPathParams::from_request_parts(head, &()).await else {
        return Ok(());
    };
    let first = named.iter().next().map(|(_, named)| named);
    let Some(named) = first.filter(|named| !named.contains('\0')) else {
        return Ok(());
    };
    match below(path.as_str()).split('/').nth(1) {
        Some("datasources") => state.datasources.get(caller, named).await.map(drop),
        Some("providers") => state.providers.get(caller, named).await.map(drop),
        Some("minds") => state.minds.get(caller, named).await.map(drop),
        Some("keys") => state.auth.find_key(caller, named).await.map(drop),
        Some("responses") => {
            let id = ask::id(named, "resp_", "response_id", Code::ResponseNotFound)?;
            state.answering.get(caller, id).await.map(drop)
        }
        Some("running") => {
            let id = ask::id(named, "resp_", "id", Code::NotRunning)?;
            state.running.find(caller, id).await.map(drop)
        }
        Some("conversations") => {
            let code = Code::ConversationNotFound;
            let id = ask::id(named, "conv_", "conversation_id", code)?;
            let found = state.conversations.get(caller, id).await?;
            match head.method {
                Method::POST => conversations::require_owner(caller, &found.key_id),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
