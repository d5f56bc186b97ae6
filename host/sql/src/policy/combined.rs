//! Several rules of one table, of a Mind and of a key: all of them hold.
//!
//! Rows pass every filter, and a column that one rule hides does not exist. A mask is written for all that its own rule
//! knows of the table. So it counts only if no other rule withholds what it shows; else the column is NULL.

use std::collections::BTreeSet;

use sqlparser::ast::{BinaryOperator, Expr};

use super::{RuleRefusal, expression::Columns, relation::own, values::Callers};
use crate::scope::ScopeTable;
use mindhost_base::policy::{Mask, Rule};

/// The parts of one rule, over the columns of its table.
pub(super) struct CompiledRule<'a> {
    hidden: &'a [String],
    filter: Option<Expr>,
    masks: Vec<(String, Expr)>,
}

impl<'a> CompiledRule<'a> {
    /// Parses a rule whose columns were checked.
    pub fn of(
        columns: &Columns<'_>,
        rule: &'a Rule,
        callers: &Callers<'_>,
    ) -> Result<Self, RuleRefusal> {
        let filter = match &rule.filter {
            Some(text) => Some(columns.filter(text, callers)?),
            None => None,
        };
        let mut masks = Vec::with_capacity(rule.masked.len());
        for (column, mask) in &rule.masked {
            masks.push((column.clone(), columns.mask(column, mask, callers)?));
        }
        Ok(Self {
            hidden: &rule.hidden,
            filter,
            masks,
        })
    }

    fn mask(&self, column: &str) -> Option<&Expr> {
        let mut masks = self.masks.iter();
        masks.find(|(of, _)| of == column).map(|(_, mask)| mask)
    }

    /// The columns whose values it does not show.
    fn withheld(&self) -> impl Iterator<Item = &String> {
        let masked = self.masks.iter().map(|(column, _)| column);
        self.hidden.iter().chain(masked)
    }
}

/// The columns that no rule hides, in the order of the table.
pub(super) fn visible(
    table: &ScopeTable,
    rules: &[CompiledRule<'_>],
) -> Result<Vec<String>, RuleRefusal> {
    let is_hidden = |column: &String| rules.iter().any(|rule| rule.hidden.contains(column));
    let columns = table.columns.iter();
    let visible: Vec<String> = columns
        .filter(|column| !is_hidden(column))
        .cloned()
        .collect();
    match visible.is_empty() {
        true => Err(RuleRefusal::of(
            "hidden",
            "all columns are hidden; leave one, or take the table out of the Mind",
        )),
        false => Ok(visible),
    }
}

/// What stands in place of each masked column that exists.
pub(super) fn masks(
    columns: &Columns<'_>,
    rules: &[CompiledRule<'_>],
    callers: &Callers<'_>,
) -> Result<Vec<(String, Expr)>, RuleRefusal> {
    let masked: BTreeSet<&String> = rules
        .iter()
        .flat_map(|rule| rule.masks.iter().map(|(column, _)| column))
        .filter(|column| !rules.iter().any(|rule| rule.hidden.contains(column)))
        .collect();
    let mask = |column: &String| {
        let mask = match of_all(columns, rules, column) {
            Some(mask) => mask.clone(),
            None => columns.mask(column, &Mask::Null, callers)?,
        };
        Ok((column.clone(), mask))
    };
    masked.into_iter().map(mask).collect()
}

/// The mask of a column that holds by all rules: those that mask it have the same one, and it reads nothing that the
/// others withhold.
fn of_all<'a>(
    columns: &Columns<'_>,
    rules: &'a [CompiledRule<'_>],
    column: &str,
) -> Option<&'a Expr> {
    let mut masks = rules.iter().filter_map(|rule| rule.mask(column));
    let mask = masks.next()?;
    let written = mask.to_string();
    let are_same = masks.all(|other| other.to_string() == written);
    let others = rules.iter().filter(|rule| rule.mask(column).is_none());
    let mut withheld = others.flat_map(CompiledRule::withheld);
    let reads = |other: &String| written.contains(&own(columns.rules, other).to_string());
    (are_same && !withheld.any(reads)).then_some(mask)
}

/// The condition that all filters make.
pub(super) fn filter(rules: Vec<CompiledRule<'_>>) -> Option<Expr> {
    let filters = rules.into_iter().filter_map(|rule| rule.filter);
    filters.reduce(|left, right| Expr::BinaryOp {
        left: Box::new(in_brackets(left)),
        op: BinaryOperator::And,
        right: Box::new(in_brackets(right)),
    })
}

fn in_brackets(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}
