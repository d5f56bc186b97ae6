//! `wasi:http/outgoing-handler`, which replaces that of the library.
//!
//! The library's `handle` reads the options of a request and leaves them in the table of the instance, although the
//! guest gave them away and cannot drop them any more: after about a thousand requests the table is full.

use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource},
};
use wasmtime_wasi_http::{
    RequestOptions, WasiHttpCtxView, WasiHttpView,
    p2::{
        bindings::http::{
            outgoing_handler::Host as _,
            types::{ErrorCode, Host as _},
        },
        types::{HostFutureIncomingResponse, HostOutgoingRequest},
    },
};

use crate::state::State;

/// The interface in the version that the library links. Any other string would be a second interface.
const INTERFACE: &str = "wasi:http/outgoing-handler@0.2.12";

type Request = Resource<HostOutgoingRequest>;
type Options = Resource<RequestOptions>;
type HandleResult = Result<Resource<HostFutureIncomingResponse>, ErrorCode>;

/// Replaces the library's function. The linker must allow shadowing.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let send = |mut store: StoreContextMut<'_, State>, (request, options)| {
        Ok((handle(store.data_mut().http(), request, options)?,))
    };
    linker.instance(INTERFACE)?.func_wrap("handle", send)
}

/// Sends a request and removes its options, even if it fails.
fn handle(
    mut http: WasiHttpCtxView<'_>,
    request: Request,
    options: Option<Options>,
) -> wasmtime::Result<HandleResult> {
    let given = options
        .as_ref()
        .map(|options| Options::new_own(options.rep()));
    let sent = http.handle(request, options);
    if let Some(options) = given {
        http.table.delete(options)?;
    }
    match sent {
        Ok(response) => Ok(Ok(response)),
        Err(error) => http.convert_error_code(error).map(Err),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime::Engine;

    #[test]
    fn the_function_that_is_replaced_is_the_librarys() {
        let mut linker: Linker<State> = Linker::new(&Engine::default());
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).unwrap();
        assert!(
            add_to_linker(&mut linker).is_err(),
            "not known as {INTERFACE}"
        );
        linker.allow_shadowing(true);
        add_to_linker(&mut linker).unwrap();
    }
}
