//! The router that routes are served with: who may call a route, and what is done once, is decided in front of its
//! handler.

use axum::{Router, middleware::from_fn_with_state};

use super::{
    AppState, admission, once,
    routes::{KeyHandler, Routes},
};

/// Serves routes. Whatever a handler does: unless its entry is [`OPEN`](super::routes::OPEN), it is not reached without a
/// valid key.
pub fn of(routes: Routes, state: &AppState) -> Router<AppState> {
    routes.into_iter().fold(Router::new(), |router, route| {
        let mut methods = route.methods;
        if let Some(KeyHandler::Resource(name)) = route.rules.once {
            // Inside the admission: a repeated request is audited and counted each time, and done once.
            let parts = once::ResourceRoute::of(state, name);
            methods = methods.layer(from_fn_with_state(parts, once::resource));
        }
        methods = match route.rules.role {
            Some(_) => {
                let admission = admission::Admission::new(state.clone(), route.rules);
                methods.layer(from_fn_with_state(admission, admission::admit))
            }
            None => methods.layer(from_fn_with_state(state.clone(), admission::receive)),
        };
        router.route(&route.path, methods)
    })
}
