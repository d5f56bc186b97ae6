//! The body of a request while it is received.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::super::extract::friendly;
use mindhost_base::{
    config::Server,
    error::{Code, Error, Result},
};
use mindhost_core::auth::{Auth, Caller};

/// A body that took longer may have outlived its key.
const MOMENT: Duration = Duration::from_millis(100);

/// A body with an idle timeout. If its key ends while it is received, the body fails at its end, so no handler acts on
/// it. A request to an open route has no key.
pub(super) struct RequestBody {
    body: Body,
    /// Runs while the next bytes are awaited.
    idle: Option<Pin<Box<Sleep>>>,
    since: Instant,
    times: Times,
    stage: Stage,
    key: Option<(Arc<Auth>, Caller)>,
    fault: Fault,
}

#[derive(Clone, Copy)]
struct Times {
    idle: Duration,
    whole: Duration,
}

/// Why a body failed, whatever error the handler returns for it.
#[derive(Clone, Default)]
pub(super) struct Fault(Arc<OnceLock<Error>>);

enum Stage {
    Reading,
    /// Whether the key is still valid.
    Asking(Pin<Box<dyn Future<Output = Result<()>> + Send>>),
    Ended,
}

impl RequestBody {
    pub fn new(body: Body, server: &Server, key: Option<(Arc<Auth>, Caller)>) -> Self {
        Self {
            body,
            idle: None,
            since: Instant::now(),
            times: Times {
                idle: server.body_idle_timeout,
                whole: server.body_timeout,
            },
            stage: Stage::Reading,
            key,
            fault: Fault::default(),
        }
    }

    pub fn fault(&self) -> Fault {
        self.fault.clone()
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.stage = Stage::Ended;
        // It reports the failure once.
        let _ = self.fault.0.set(error.clone());
        Poll::Ready(Some(Err(axum::Error::new(error))))
    }

    fn poll_body(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(polled) = Pin::new(&mut self.body).poll_frame(context) {
            self.idle = None;
            return Poll::Ready(polled);
        }
        let Times { idle, whole } = self.times;
        let left = whole.saturating_sub(self.since.elapsed());
        let clock = self
            .idle
            .get_or_insert_with(|| Box::pin(sleep(idle.min(left))));
        ready!(clock.as_mut().poll(context));
        let message = match self.since.elapsed() < whole {
            true => format!(
                "nothing of the body came for {} (server.body_idle_timeout); send the request again",
                friendly::text(idle)
            ),
            false => format!(
                "the body took longer than {} (server.body_timeout); send less at a time",
                friendly::text(whole)
            ),
        };
        self.fail(Error::new(Code::BodyTimeout, message))
    }
}

impl Fault {
    pub fn error(&self) -> Option<Error> {
        self.0.get().cloned()
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            match &mut self.stage {
                Stage::Reading => {
                    let polled = ready!(self.poll_body(context));
                    if polled.is_some() {
                        return Poll::Ready(polled);
                    }
                    let is_late = self.since.elapsed() >= MOMENT;
                    self.stage = match self.key.clone().filter(|_| is_late) {
                        None => Stage::Ended,
                        Some((auth, caller)) => {
                            Stage::Asking(Box::pin(async move { auth.confirm(&caller).await }))
                        }
                    };
                }
                Stage::Asking(asked) => match ready!(asked.as_mut().poll(context)) {
                    Ok(()) => self.stage = Stage::Ended,
                    Err(error) => return self.fail(error),
                },
                Stage::Ended => return Poll::Ready(None),
            }
        }
    }

    /// False until the end was polled: otherwise a reader would stop before the check of the key.
    fn is_end_stream(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
