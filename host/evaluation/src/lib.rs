//! Evaluation: suites of questions with accepted answers, and how a Mind did on them.
//!
//! It knows no server: what is asked is a [`judge::Subject`], which `mindhost eval` makes of a server over HTTP and the
//! server of itself. [`suite`] is what is read, [`compare`] decides whether two results are the same, [`report`] is what
//! comes out.

pub mod answer;
pub mod cells;
pub mod compare;
pub mod difference;
pub mod figures;
pub mod import;
pub mod judge;
pub mod judged;
pub mod markdown;
pub mod named_items;
pub mod numbers;
pub mod report;
pub mod statement;
pub mod suite;
pub mod table_name;
