//! The worlds of guests, each as its generated bindings.

use futures_util::future::BoxFuture;
use wasmtime::{Engine, Store, component::InstancePre};

use super::{
    bindings::{
        model::{ModelProvider, ModelProviderPre},
        scan::{ScannerConnector, ScannerConnectorPre},
        sql::{SqlConnector, SqlConnectorPre},
    },
    state::State,
};

/// The future of one call into a guest.
pub type GuestFuture<'a, R> = BoxFuture<'a, wasmtime::Result<R>>;

/// The pre-linked component of one world, which can be instantiated.
pub trait World: Clone + Send + Sync + 'static {
    /// The typed exports.
    type Guest: Send + Sync + 'static;
    /// The typed exports of a linked component.
    ///
    /// # Errors
    /// When it lacks one.
    fn of(linked: InstancePre<State>) -> wasmtime::Result<Self>;
    /// The engine that compiled the component; a store of its instances must have the same.
    fn engine(&self) -> &Engine;
    /// Calls the export `describe`.
    fn describe<'a>(store: &'a mut Store<State>, guest: &'a Self::Guest)
    -> GuestFuture<'a, String>;
    /// Instantiates it in a store.
    fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, Self::Guest>;
}

macro_rules! world {
    ($linked:ident, $guest:ident, $interface:ident) => {
        impl World for $linked<State> {
            type Guest = $guest;

            fn of(linked: InstancePre<State>) -> wasmtime::Result<Self> {
                Self::new(linked)
            }

            fn engine(&self) -> &Engine {
                self.engine()
            }

            fn describe<'a>(
                store: &'a mut Store<State>,
                guest: &'a $guest,
            ) -> GuestFuture<'a, String> {
                let exports = guest.$interface();
                Box::pin(async move { exports.call_describe(store).await })
            }

            fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, $guest> {
                Box::pin(self.instantiate_async(store))
            }
        }
    };
}

world!(SqlConnectorPre, SqlConnector, mindhost_plugin_connector);
world!(
    ScannerConnectorPre,
    ScannerConnector,
    mindhost_plugin_scanner
);
world!(ModelProviderPre, ModelProvider, mindhost_plugin_model);
