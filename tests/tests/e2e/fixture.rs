//! The fixture's own tests: one that leans on a broken fixture says nothing.

mod model;
mod postgres;
