//! Every case, in the order in which they run: from what everything else needs to what is left over at the end.

mod answers;
mod catalog;
mod claims;
mod concurrency;
mod limits;
mod losing;
mod model;
mod opening;
mod scans;
mod statements;
mod stopping;
mod values;

pub(crate) use self::scans::Sample;
use crate::case::Case;

/// The cases of a SQL connector.
pub(crate) fn of_connectors() -> impl Iterator<Item = &'static Case> {
    [
        opening::CASES,
        catalog::CASES,
        answers::CASES,
        values::CASES,
        limits::CASES,
        statements::CASES,
        claims::CASES,
        stopping::CASES,
        losing::CASES,
        concurrency::CASES,
        concurrency::LAST,
    ]
    .into_iter()
    .flatten()
}

/// The cases of a scanner: its SQL is the host's own and needs no proof here.
pub(crate) fn of_scanners() -> impl Iterator<Item = &'static Case> {
    [
        opening::CASES,
        catalog::CASES,
        answers::OF_SCANNERS,
        values::CASES,
        scans::CASES,
        losing::OF_SCANNERS,
        concurrency::CASES,
        concurrency::LAST,
    ]
    .into_iter()
    .flatten()
}

/// The cases of a model provider.
pub(crate) fn of_models() -> impl Iterator<Item = &'static Case> {
    model::CASES.iter()
}
