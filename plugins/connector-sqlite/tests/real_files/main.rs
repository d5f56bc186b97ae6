//! The connector on real files, called natively.

mod catalog;
mod files;
mod guard;
mod support;
mod values;
