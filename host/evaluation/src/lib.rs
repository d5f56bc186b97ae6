//! Evaluation: suites of questions with accepted answers, and how a Mind did on them.
//!
//! It asks nothing: `mindhost eval` asks a server and hands over what came back. [`suite`] is what is read, [`compare`]
//! decides whether two results are the same, [`report`] is what comes out.

pub mod cells;
pub mod compare;
pub mod difference;
pub mod figures;
pub mod import;
pub mod markdown;
pub mod numbers;
pub mod report;
pub mod statement;
pub mod suite;
pub mod told;
