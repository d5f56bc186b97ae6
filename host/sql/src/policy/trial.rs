//! Statements that show whether an engine can run the SQL of a rule: the check of a rule knows no types.

use std::collections::BTreeMap;

use super::{
    CompiledRules,
    values::{Callers, Sample},
};
use crate::{
    guard::{GuardedStatement, STACK_BYTES},
    scope::ScopeTable,
};
use mindhost_base::policy::{Attributes, Mask, Rule};
use mindhost_plugin_api::{Dialect, Paging};

/// The trial of one part of a rule.
#[derive(Debug)]
pub struct Trial {
    /// The part, such as `filter` or `masked.email`.
    pub part: String,
    /// Statements that read all of the table under this part alone. The part works if the engine takes one of them:
    /// they differ in the types of unknown attributes. None if the part does not pass [`check`](super::check).
    pub statements: Vec<GuardedStatement>,
}

/// The trials of the parts of a rule. Without `attributes`, those of the caller are not known.
pub fn trials(
    (dialect, paging): (Dialect, Paging),
    table: &ScopeTable,
    rule: &Rule,
    attributes: Option<&Attributes>,
) -> Vec<Trial> {
    let all_callers = match attributes {
        Some(attributes) => vec![Callers::Known(attributes)],
        None => Vec::from(Sample::ALL.map(Callers::Unknown)),
    };
    let statement = |rule: &Rule, callers: &Callers<'_>| {
        let made = CompiledRules::of(dialect, table, &[rule], callers).ok()?;
        made.guarded(dialect, paging, table).ok()
    };
    let trial = |(part, rule): (String, Rule)| {
        let statements = all_callers.iter();
        let statements = statements.filter_map(|callers| statement(&rule, callers));
        let mut statements: Vec<_> = statements.collect();
        statements.dedup();
        Trial { part, statements }
    };
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        parts(rule).into_iter().map(trial).collect()
    })
}

/// A rule for each part of a rule: the SQL of people before the masks that the server writes. A text fits any column.
fn parts(rule: &Rule) -> Vec<(String, Rule)> {
    let filter = rule.filter.iter().map(|filter| {
        let only = Rule {
            filter: Some(filter.clone()),
            ..Rule::default()
        };
        ("filter".to_owned(), only)
    });
    let masked = |(column, mask): (&String, &Mask)| {
        let only = Rule {
            masked: BTreeMap::from([(column.clone(), mask.clone())]),
            ..Rule::default()
        };
        (format!("masked.{column}"), only)
    };
    let written = rule.masked.iter();
    let written = written.filter(|(_, mask)| matches!(mask, Mask::Sql(_)));
    let named = rule.masked.iter();
    let named = named.filter(|(_, mask)| matches!(mask, Mask::Null | Mask::Last4));
    filter.chain(written.chain(named).map(masked)).collect()
}
