//! Catalogues: signed lists of published plugins, where each is fetched from, and which bytes it has.
//!
//! A catalogue is one JSON document with a signature in the format of minisign. The server that it comes from is not trusted:
//! nothing of it is read before the pinned key has signed all of it ([`SeenCatalogues::admit`]).

mod document;
mod seen_catalogues;

pub use self::{
    document::{Catalogue, FORM, ListedVersion, Listing, MAX_BYTES, MAX_DAYS},
    seen_catalogues::{Pin, SeenCatalogues, key},
};
