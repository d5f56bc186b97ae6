//! What the socket calls of guests share, and name lookup. Only granted names resolve, to the addresses that the host
//! has checked. `tcp` connects.

use std::{net::IpAddr, sync::Arc, vec};

use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::{
    p2::{
        DynPollable, Network, Pollable, SocketError,
        bindings::sockets::{
            ip_name_lookup::{self, ResolveAddressStream},
            network::{self, ErrorCode, IpAddress},
        },
        subscribe,
    },
    sockets::{WasiSocketsCtxView, WasiSocketsView},
};

use super::{
    call_time::Traffic, grants::Grants, limits::Handles, refusals::Refusals, state::State,
};

/// Replaces WASI's name lookup.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    ip_name_lookup::add_to_linker::<State, Sockets>(linker, view)
}

/// The sockets of a guest, as the functions of WASI see them.
pub fn view(state: &mut State) -> SocketView<'_> {
    SocketView {
        grants: Arc::clone(&state.grants),
        refusals: Arc::clone(&state.refusals),
        handles: Arc::clone(&state.handles),
        traffic: Arc::clone(&state.traffic),
        inner: state.sockets(),
    }
}

/// Names [`SocketView`] to the linker.
pub struct Sockets;

impl HasData for Sockets {
    type Data<'a> = SocketView<'a>;
}

/// The state behind the socket calls of one guest.
pub struct SocketView<'a> {
    /// Which names resolve and which addresses may be reached.
    pub grants: Arc<Grants>,
    /// Keeps the reason why an address or a name was refused.
    pub refusals: Arc<Refusals>,
    /// The limit on its sockets.
    pub handles: Arc<Handles>,
    /// The meter of its connections.
    pub traffic: Arc<Traffic>,
    /// Resources of the guest.
    pub inner: WasiSocketsCtxView<'a>,
}

/// The answer to one lookup, complete from the start, because the host resolved the name before the call.
struct Answer(vec::IntoIter<IpAddr>);

#[wasmtime_wasi::async_trait]
impl Pollable for Answer {
    async fn ready(&mut self) {}
}

/// WASI's stream type cannot be created outside its crate. The table holds an [`Answer`]; the guest holds its handle.
fn answer(stream: &Resource<ResolveAddressStream>) -> Resource<Answer> {
    match stream.owned() {
        true => Resource::new_own(stream.rep()),
        false => Resource::new_borrow(stream.rep()),
    }
}

impl network::Host for SocketView<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        self.inner.convert_error_code(error)
    }

    fn network_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.inner.network_error_code(error)
    }
}

impl network::HostNetwork for SocketView<'_> {
    fn drop(&mut self, network: Resource<Network>) -> wasmtime::Result<()> {
        network::HostNetwork::drop(&mut self.inner, network)
    }
}

impl ip_name_lookup::Host for SocketView<'_> {
    fn resolve_addresses(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> Result<Resource<ResolveAddressStream>, SocketError> {
        self.inner.table.get(&network)?;
        let addresses = self
            .grants
            .lookup(&name, &self.refusals)
            .ok_or(SocketError::from(ErrorCode::AccessDenied))?;
        let answer = self.inner.table.push(Answer(addresses.into_iter()))?;
        Ok(Resource::new_own(answer.rep()))
    }
}

impl ip_name_lookup::HostResolveAddressStream for SocketView<'_> {
    fn resolve_next_address(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> Result<Option<IpAddress>, SocketError> {
        let next = self.inner.table.get_mut(&answer(&stream))?.0.next();
        Ok(next.map(IpAddress::from))
    }

    fn subscribe(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.inner.table, answer(&stream))
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<()> {
        self.inner.table.delete(answer(&stream))?;
        Ok(())
    }
}
