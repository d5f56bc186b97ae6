//! Statements that show whether an engine can run the SQL of a rule: the check of a rule knows no types.

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

/// A part of a rule that can be tried, alone or together with others.
#[derive(Debug)]
pub struct Part {
    /// Such as `filter` or `masked.email`.
    pub name: String,
    rule: Rule,
}

/// The parts of a rule: the SQL of people before the masks that the server writes. A text fits any column.
pub fn parts(rule: &Rule) -> Vec<Part> {
    let filter = rule.filter.iter().map(|filter| Part {
        name: "filter".to_owned(),
        rule: Rule {
            filter: Some(filter.clone()),
            ..Rule::default()
        },
    });
    let masked = |(column, mask): (&String, &Mask)| Part {
        name: format!("masked.{column}"),
        rule: Rule {
            masked: [(column.clone(), mask.clone())].into(),
            ..Rule::default()
        },
    };
    let written = rule.masked.iter();
    let written = written.filter(|(_, mask)| matches!(mask, Mask::Sql(_)));
    let named = rule.masked.iter();
    let named = named.filter(|(_, mask)| matches!(mask, Mask::Null | Mask::Last4));
    filter.chain(written.chain(named).map(masked)).collect()
}

/// Statements that read all of the table under these parts of a rule alone. The parts work if the engine takes one of
/// them: they differ in the types of unknown attributes. None if the parts do not pass [`check`](super::check). Without
/// `attributes`, those of the caller are not known.
pub fn trial(
    (dialect, paging): (Dialect, Paging),
    table: &ScopeTable,
    parts: &[Part],
    attributes: Option<&Attributes>,
) -> Vec<GuardedStatement> {
    let all_callers = match attributes {
        Some(attributes) => vec![Callers::Known(attributes)],
        None => Vec::from(Sample::ALL.map(Callers::Unknown)),
    };
    let mut rule = Rule::default();
    for part in parts {
        rule.filter = rule.filter.or_else(|| part.rule.filter.clone());
        let masked = part.rule.masked.iter();
        rule.masked
            .extend(masked.map(|(column, mask)| (column.clone(), mask.clone())));
    }
    let statement = |callers: &Callers<'_>| {
        let made = CompiledRules::of(dialect, table, &[&rule], callers).ok()?;
        made.guarded(dialect, paging, table).ok()
    };
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        let mut statements: Vec<_> = all_callers.iter().filter_map(statement).collect();
        statements.dedup();
        statements
    })
}
