//! The HTTP requests of guests: each goes through the grants of its instance, is metered and may be logged.

mod exchange_log;
mod metered_body;

use std::{future::Future, sync::Arc};

use http::Request;
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error as HttpError, ForbiddenHeaderFilter, RequestOptions, WasiBody,
    WasiHttpHooks,
};

use self::{
    exchange_log::{Direction, ExchangeLog},
    metered_body::MeteredBody,
};
use super::{
    call_time::Traffic,
    grants::Grants,
    http::{Exchange, Failure, HttpResult},
    refusals::Refusals,
};

/// Concurrent exchanges of one instance. Each may hold a connection.
const MAX_EXCHANGES: usize = 8;

/// The hooks of one store.
pub struct Sender {
    grants: Arc<Grants>,
    refusals: Arc<Refusals>,
    /// Permits for concurrent exchanges.
    slots: Arc<Semaphore>,
    traffic: Arc<Traffic>,
}

impl Sender {
    /// The hooks for these grants.
    pub fn new(grants: Arc<Grants>, refusals: Arc<Refusals>, traffic: Arc<Traffic>) -> Self {
        Self {
            grants,
            refusals,
            slots: Arc::new(Semaphore::new(MAX_EXCHANGES)),
            traffic,
        }
    }
}

fn note(logged: &Option<Arc<ExchangeLog>>, how: impl std::fmt::Display) {
    if let Some(logged) = logged {
        logged.answered(how);
    }
}

impl WasiHttpHooks for Sender {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        match self.grants.http() {
            Some(http) => {
                let forbidden = http.forbidden_headers();
                Arc::new(move |name| forbidden.contains(name))
            }
            None => Arc::new(|name| DEFAULT_FORBIDDEN_HEADERS.contains(name)),
        }
    }

    fn set_host_header(&mut self) -> bool {
        // The client derives it from the checked URL.
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _sent: Box<dyn Future<Output = HttpResult<()>> + Send>,
    ) -> Box<dyn Future<Output = HttpResult<Exchange>> + Send> {
        let grants = Arc::clone(&self.grants);
        let refusals = Arc::clone(&self.refusals);
        let slots = Arc::clone(&self.slots);
        let traffic = Arc::clone(&self.traffic);
        let logged = ExchangeLog::begin(self.refusals.log(), &request);
        // The future runs in a task of its own. The guest may pause before that begins, and waits for the network even then.
        let waiting = self.traffic.wait();
        Box::new(async move {
            let Some(http) = grants.http() else {
                refusals.note("the plugin sent an HTTP request, and its manifest has no `http` that names a URL of the configuration");
                return Err(HttpError::HttpRequestDenied);
            };
            // The wait ends with the call: the instance owns the future.
            let slot = slots.acquire_owned().await;
            let slot = slot.map_err(|_| HttpError::ConnectionLimitReached)?;
            let watched = |body, direction| {
                MeteredBody::new(body, direction, &traffic, logged.as_ref()).boxed_unsync()
            };
            let request = request.map(|body| watched(body, Direction::Out));
            let answer = http.send(request, options, slot).await;
            drop(waiting);
            match answer {
                Ok((response, sent)) => {
                    note(&logged, response.status().as_u16());
                    Ok((response.map(|body| watched(body, Direction::In)), sent))
                }
                Err(Failure::Http(error)) => {
                    note(&logged, format_args!("failed ({error})"));
                    Err(error)
                }
                Err(Failure::NotOpened(error)) => {
                    note(&logged, format_args!("failed ({error})"));
                    refusals.note_out_of_files(&error);
                    Err(HttpError::DestinationUnavailable)
                }
                Err(Failure::NoToken(why)) => {
                    note(&logged, "no access token");
                    refusals.note_no_token(&why);
                    Err(HttpError::HttpRequestDenied)
                }
                Err(Failure::Refused(why)) => {
                    note(&logged, "refused");
                    refusals.note(&why);
                    Err(HttpError::HttpRequestDenied)
                }
            }
        })
    }

    fn p2_error_from_hyper(
        &mut self,
        error: &hyper::Error,
    ) -> wasmtime_wasi_http::p2::bindings::http::types::ErrorCode {
        use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
        match error.is_incomplete_message() {
            true => ErrorCode::HttpResponseIncomplete,
            false => ErrorCode::HttpProtocolError,
        }
    }
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::redact::Redactor;

    use super::*;
    use crate::{call_time::traffic, guest_log::GuestLog};

    #[test]
    fn request_counts_as_a_wait_before_its_task_begins() {
        let traffic = traffic();
        let log = GuestLog::new("plugin", "target", Redactor::default(), 10);
        let refusals = Refusals::new(log);
        let mut sender = Sender::new(Grants::none(), refusals, Arc::clone(&traffic));
        let body = http_body_util::Empty::new()
            .map_err(|never: std::convert::Infallible| match never {})
            .boxed_unsync();
        let sent = Box::new(std::future::ready(Ok(())));
        let request = sender.send_request(Request::new(body), None, sent);
        assert!(traffic.is_waited_for());
        drop(request);
        assert!(!traffic.is_waited_for());
    }
}
