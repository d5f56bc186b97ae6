//! Finds the tables and columns that a question needs, without a model: a lexical index over the names, descriptions
//! and common values of a catalog, the ways to join its tables, and a packer that fits the best of it into a budget of
//! tokens. It knows no store, no engine and no Mind. Where a caller has vectors of the tables and the question, their
//! order is a second one ([`nearest`]).
//!
//! [`Index::new`] is slow (up to 0.2 ms a table) and runs once a catalog version; [`Index::search`] and [`Index::pack`]
//! are fast and run once a question.
//!
//! The index is our own: a few hundred lines, and the libraries do not fit. `tantivy` 0.27 without its features brings
//! 118 crates, and a writer with threads and at least 15 MB for each index, of which there is one a Mind. `bm25` 2.3
//! has no fields, so that a word in a description counts like one in the name of a table, and depends on a crate that
//! is no longer maintained. Neither expands a word to the abbreviations and compounds that names consist of. The
//! stemmer is a library: `frostem`, of the Snowball project, as in `tantivy`.

mod expand;
mod index;
mod joins;
mod meaning;
mod pack;
mod rank;
mod render;
mod schema;
mod text;
mod tokens;
mod words;

pub use index::Index;
pub use meaning::nearest;
pub use pack::{PackedCatalog, PackedTable};
pub use rank::WeightedText;
pub use schema::{Column, Document, ForeignKey, Knowledge, Table, TableName};
pub use text::{plain, shown_name};
pub use tokens::tokens;
