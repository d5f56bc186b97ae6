//! The worlds of guests, each as its generated bindings.

use futures_util::future::BoxFuture;
use wasmtime::{Engine, Store, component::InstancePre};

use super::{
    bindings::{
        embeddings::exports::mindhost::plugin::embeddings,
        model::exports::mindhost::plugin::model,
        scan::{ScannerConnector, ScannerConnectorPre},
        sql::{SqlConnector, SqlConnectorPre},
    },
    state::State,
};
use mindhost_plugin_api::Manifest;

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
    /// An export that its manifest promises and that it lacks.
    fn lacks(&self, _manifest: &Manifest) -> Option<&'static str> {
        None
    }
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

/// A linked model provider. The interface `embeddings` is optional, so it is looked up beside the world.
#[derive(Clone)]
pub struct LinkedModel {
    linked: InstancePre<State>,
    model: model::GuestIndices,
    embeddings: Option<embeddings::GuestIndices>,
}

/// What a model provider exports.
pub struct ModelExports {
    /// Of every model provider.
    pub model: model::Guest,
    /// Of one that makes vectors.
    pub embeddings: Option<embeddings::Guest>,
}

impl World for LinkedModel {
    type Guest = ModelExports;

    fn lacks(&self, manifest: &Manifest) -> Option<&'static str> {
        let is_missing = manifest.has_embeddings() && self.embeddings.is_none();
        is_missing.then_some("the interface `embeddings`")
    }

    fn of(linked: InstancePre<State>) -> wasmtime::Result<Self> {
        Ok(Self {
            model: model::GuestIndices::new(&linked)?,
            embeddings: embeddings::GuestIndices::new(&linked).ok(),
            linked,
        })
    }

    fn engine(&self) -> &Engine {
        self.linked.engine()
    }

    fn describe<'a>(
        store: &'a mut Store<State>,
        guest: &'a ModelExports,
    ) -> GuestFuture<'a, String> {
        Box::pin(async move { guest.model.call_describe(store).await })
    }

    fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, ModelExports> {
        Box::pin(async move {
            let instance = self.linked.instantiate_async(&mut *store).await?;
            let embeddings = match &self.embeddings {
                Some(indices) => Some(indices.load(&mut *store, &instance)?),
                None => None,
            };
            Ok(ModelExports {
                model: self.model.load(&mut *store, &instance)?,
                embeddings,
            })
        })
    }
}
