//! Types that wasmtime generates from `wit/`, one module a world. Shared types are generated once.

/// World `sql-connector`.
#[allow(missing_docs, reason = "generated from documented WIT")]
pub mod sql {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "sql-connector",
        imports: { default: trappable },
        exports: { default: async },
        with: { "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll },
        require_store_data_send: true,
    });
}

/// World `scanner-connector`.
#[allow(missing_docs, reason = "generated from documented WIT")]
pub mod scan {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "scanner-connector",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll,
            "mindhost:plugin/types": super::sql::mindhost::plugin::types,
            "mindhost:plugin/catalog-types": super::sql::mindhost::plugin::catalog_types,
            "mindhost:plugin/log": super::sql::mindhost::plugin::log,
            "mindhost:plugin/control": super::sql::mindhost::plugin::control,
        },
        require_store_data_send: true,
    });
}

/// World `model-provider`.
#[allow(missing_docs, reason = "generated from documented WIT")]
pub mod model {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "model-provider",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll,
            "mindhost:plugin/types": super::sql::mindhost::plugin::types,
            "mindhost:plugin/log": super::sql::mindhost::plugin::log,
            "mindhost:plugin/control": super::sql::mindhost::plugin::control,
        },
        require_store_data_send: true,
    });
}

/// World `model-provider-with-embeddings`, of which only the second interface is used: the first is that of [`model`].
#[allow(missing_docs, reason = "generated from documented WIT")]
pub mod embeddings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "model-provider-with-embeddings",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll,
            "mindhost:plugin/types": super::sql::mindhost::plugin::types,
            "mindhost:plugin/log": super::sql::mindhost::plugin::log,
            "mindhost:plugin/control": super::sql::mindhost::plugin::control,
        },
        require_store_data_send: true,
    });
}

pub use scan::exports::mindhost::plugin::scanner;
pub use sql::{
    exports::mindhost::plugin::connector,
    mindhost::plugin::{catalog_types, control, log, types},
};
