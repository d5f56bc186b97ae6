//! What `wit-bindgen` makes of the WIT packages. Authors use the types through the modules of this crate; the
//! export macros name this module in a plugin's own crate, hence it is public.
//!
//! The worlds share one set of types: those of [`connector`] serve the others. `wit` beside this crate's manifest
//! links to the repository's `wit`, so that a packaged crate carries the files it was built from.

/// The world `sql-connector`.
pub mod connector {
    wit_bindgen::generate!({
        path: "wit",
        world: "sql-connector",
        pub_export_macro: true,
        default_bindings_module: "mindhost_sdk::bindings::connector",
        additional_derives: [PartialEq],
        with: { "wasi:io/poll@0.2.6": wasip2::io::poll },
    });
}

/// The world `model-provider`.
pub mod model {
    wit_bindgen::generate!({
        path: "wit",
        world: "model-provider",
        pub_export_macro: true,
        default_bindings_module: "mindhost_sdk::bindings::model",
        additional_derives: [PartialEq],
        with: {
            "wasi:io/poll@0.2.6": wasip2::io::poll,
            "mindhost:plugin/types@0.1.0": crate::bindings::connector::mindhost::plugin::types,
            "mindhost:plugin/control@0.1.0": crate::bindings::connector::mindhost::plugin::control,
            "mindhost:plugin/log@0.1.0": crate::bindings::connector::mindhost::plugin::log,
        },
    });
}

/// The world `scanner-connector`.
pub mod scanner {
    wit_bindgen::generate!({
        path: "wit",
        world: "scanner-connector",
        pub_export_macro: true,
        default_bindings_module: "mindhost_sdk::bindings::scanner",
        additional_derives: [PartialEq],
        with: {
            "wasi:io/poll@0.2.6": wasip2::io::poll,
            "mindhost:plugin/types@0.1.0": crate::bindings::connector::mindhost::plugin::types,
            "mindhost:plugin/catalog-types@0.1.0": crate::bindings::connector::mindhost::plugin::catalog_types,
            "mindhost:plugin/control@0.1.0": crate::bindings::connector::mindhost::plugin::control,
            "mindhost:plugin/log@0.1.0": crate::bindings::connector::mindhost::plugin::log,
        },
    });
}

/// The interface `embeddings` alone. Its export macro and that of [`model`] together make the world
/// `model-provider-with-embeddings`; one `generate!` of that world would define the macro of `model` twice.
pub mod embeddings {
    wit_bindgen::generate!({
        path: "wit",
        inline: r#"
            package mindhost:sdk;
            world embeddings-alone {
                export mindhost:plugin/embeddings@0.1.0;
            }
        "#,
        world: "mindhost:sdk/embeddings-alone",
        pub_export_macro: true,
        default_bindings_module: "mindhost_sdk::bindings::embeddings",
        additional_derives: [PartialEq],
        with: {
            "mindhost:plugin/types@0.1.0": crate::bindings::connector::mindhost::plugin::types,
        },
    });
}
