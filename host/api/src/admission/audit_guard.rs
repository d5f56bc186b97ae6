//! The audit entry of a request, written whatever its outcome.

mod path;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU16, Ordering},
};

use axum::{
    extract::{MatchedPath, Request},
    http::{Method, StatusCode},
    response::Response,
};

use crate::{
    middleware::RequestId,
    routes::{MCP, Rules, below},
};
use mindhost_core::{
    audit::{Audit, Note},
    auth::Caller,
    usage::Tally,
};

/// The resource that a handler created or renamed, in the extensions of its answer.
#[derive(Clone, Debug)]
pub(crate) struct CreatedName(pub String);

/// Id of another workspace in which something was created, in the extensions of the answer. The act is audited there
/// too.
#[derive(Clone, Debug)]
pub(crate) struct CreatedIn(pub String);

/// The tool of a call to `/mcp` and its status, which neither path nor status show. It is in the extensions of the
/// request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tool(Arc<CallRecord>);

#[derive(Debug, Default)]
struct CallRecord {
    name: OnceLock<&'static str>,
    /// 0 unless it failed.
    status: AtomicU16,
}

impl Tool {
    /// The called tool.
    pub fn is(&self, name: &'static str) {
        self.0.name.get_or_init(|| name);
    }

    /// Its failure, as the status that other routes have for it.
    pub fn failed(&self, status: StatusCode) {
        self.0.status.store(status.as_u16(), Ordering::Relaxed);
    }

    fn status(&self) -> Option<u16> {
        Some(self.0.status.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }
}

/// An entry that is written when the answer is known. If the client of a question left or the handler panicked, it has
/// no status.
pub(super) struct AuditGuard {
    audit: Audit,
    note: Option<Note>,
    is_act: bool,
    tally: Option<Arc<Tally>>,
    tool: Option<Tool>,
}

impl AuditGuard {
    /// `None` for a read. `configured` is the admin key of the settings.
    pub fn of(
        request: &mut Request,
        rules: &Rules,
        caller: &Caller,
        audit: &Audit,
        configured: Option<&str>,
    ) -> Option<Self> {
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            return None;
        }
        let extensions = request.extensions();
        let template = extensions
            .get::<MatchedPath>()
            .map_or("", |path| below(path.as_str()));
        let id = extensions.get::<RequestId>();
        let note = Note {
            workspace: caller.workspace.clone(),
            key: Some(caller.key_id.clone()),
            action: format!("{} {template}", request.method()),
            resource: path::shown(template, below(request.uri().path()), configured),
            mind: None,
            made: None,
            status: None,
            request_id: id.map(|id| id.0.to_string()),
        };
        let tool = (template == MCP).then(Tool::default);
        if let Some(tool) = &tool {
            request.extensions_mut().insert(tool.clone());
        }
        Some(Self {
            audit: audit.clone(),
            note: Some(note),
            is_act: !rules.audited_after,
            tally: caller.tally.clone(),
            tool,
        })
    }

    /// Whether it is an administrative act, which is audited before it is answered.
    pub fn is_act(&self) -> bool {
        self.is_act
    }

    /// Writes the entry. An act is audited when the future completes.
    pub fn end(mut self, response: &Response) -> impl Future<Output = ()> + Send + use<> {
        let extensions = response.extensions();
        let there = extensions.get::<CreatedIn>().cloned();
        let note = self.whole().map(|mut note| {
            let status = response.status();
            note.made = extensions.get::<CreatedName>().map(|made| made.0.clone());
            note.status = note.status.or(Some(status.as_u16()));
            if matches!(status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) {
                note.resource = path::of_nothing_known(&note.resource);
            }
            note
        });
        async move {
            let Some(note) = note else {
                return;
            };
            if !self.is_act {
                return self.audit.note(note).await;
            }
            if let Some(CreatedIn(other)) = there
                && *other != *note.workspace
            {
                let there = Note {
                    workspace: other.into(),
                    ..note.clone()
                };
                self.audit.note_and_wait(there).await;
            }
            self.audit.note_and_wait(note).await;
        }
    }

    /// The entry with everything added to it. Only the first call returns it.
    fn whole(&mut self) -> Option<Note> {
        let mut note = self.note.take()?;
        note.mind = self.tally.as_ref().and_then(|tally| tally.asked());
        if let Some(tool) = &self.tool {
            if let Some(name) = tool.0.name.get() {
                note.action = format!("{} {name}", note.action);
            }
            note.status = tool.status();
        }
        Some(note)
    }
}

impl Drop for AuditGuard {
    fn drop(&mut self) {
        if let Some(note) = self.whole() {
            self.audit.try_note(note);
        }
    }
}
