//! Row and column policies: the rules of a Mind and of a key, and the attributes of a caller, become the relation that
//! stands in place of the table in every statement of that caller.
//!
//! A rule is parsed here and restricted to a small grammar (`expression`); attributes become values of the tree,
//! never text (`values`). The relation passes the walk of each statement like the caller's own SQL.

mod combined;
mod expression;
mod masks;
mod relation;
#[cfg(test)]
mod tests;
mod trial;
mod values;

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use sqlparser::ast::Query;

pub use self::trial::{Part, parts, trial};
use self::{
    combined::CompiledRule,
    expression::Columns,
    values::{Callers, Sample},
};
pub use super::table_policy::TablePolicy;
use super::{
    guard::{self, GuardedStatement, STACK_BYTES},
    rules::Rules,
    scope::{Scope, ScopeDatasource, ScopeTable},
    table_policy::State,
};
use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Attributes, Mask, Rule},
};
use mindhost_plugin_api::{Dialect, Paging};

impl TablePolicy {
    /// The policy of a table that has these columns, where all of these rules hold. One that does not fit closes the
    /// table. A caller without an attribute that a filter names sees no rows.
    pub fn new(
        dialect: Dialect,
        table: &ScopeTable,
        rules: &[&Rule],
        attributes: &Attributes,
    ) -> Self {
        let made = stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
            CompiledRules::of(dialect, table, rules, &Callers::Known(attributes))
        });
        Self(match made {
            Ok(made) => made.into_state(),
            Err(refused) => State::Closed(refused.reason),
        })
    }
}

/// Checks a rule before it is stored.
///
/// # Errors
/// `invalid_policy`; its parameter is the part of the rule, such as `filter` or `masked.email`.
pub fn check(dialect: Dialect, table: &ScopeTable, rule: &Rule) -> Result<()> {
    let made = stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        CompiledRules::of(dialect, table, &[rule], &Callers::Unknown(Sample::Text))
    });
    let refused = match made {
        Ok(made) => match made.guarded(dialect, Paging::Sql, table) {
            Ok(_) => return Ok(()),
            Err(error) => {
                let reason = format!(
                    "the guard refuses the SQL of this policy: {}",
                    error.message()
                );
                RuleRefusal::of("", reason)
            }
        },
        Err(refused) => refused,
    };
    let error = Error::new(Code::InvalidPolicy, refused.reason);
    Err(match refused.param.is_empty() {
        true => error,
        false => error.param(refused.param),
    })
}

/// Why a rule does not fit, and the part of it.
#[derive(Debug)]
struct RuleRefusal {
    param: String,
    reason: String,
}

impl RuleRefusal {
    fn of(param: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            param: param.into(),
            reason: reason.into(),
        }
    }
}

/// The rules of a table, which fit it.
struct CompiledRules {
    relation: Query,
    visible: Vec<String>,
}

impl CompiledRules {
    fn of(
        dialect: Dialect,
        table: &ScopeTable,
        given: &[&Rule],
        callers: &Callers<'_>,
    ) -> Result<Self, RuleRefusal> {
        let rules = Rules::of(dialect);
        if !relation::has_barrier(dialect) {
            let reason = format!("policies are not supported for {}", rules.title());
            return Err(RuleRefusal::of("", reason));
        }
        if table.columns.is_empty() {
            let reason = "the columns of the table are not known yet; load the catalog of the datasource first";
            return Err(RuleRefusal::of("table", reason));
        }
        let columns = Columns {
            rules,
            all: &table.columns,
        };
        let mut compiled = Vec::with_capacity(given.len());
        for rule in given {
            check_columns(table, rule)?;
            compiled.push(CompiledRule::of(&columns, rule, callers)?);
        }
        let visible = combined::visible(table, &compiled)?;
        let masks = combined::masks(&columns, &compiled, callers)?;
        let filter = combined::filter(compiled);
        let relation = relation::of(rules, table, &visible, filter, masks)?;
        Ok(Self { relation, visible })
    }

    fn into_state(self) -> State {
        let mut hasher = DefaultHasher::new();
        self.relation.to_string().hash(&mut hasher);
        State::Open {
            fingerprint: hasher.finish(),
            relation: Box::new(self.relation),
            visible: self.visible,
        }
    }

    /// Guards a statement that reads all of the table.
    fn guarded(
        self,
        dialect: Dialect,
        paging: Paging,
        table: &ScopeTable,
    ) -> Result<GuardedStatement> {
        let rules = Rules::of(dialect);
        let (schema, name) = (
            rules.spelled(&table.table.schema),
            rules.spelled(&table.table.name),
        );
        let table = ScopeTable {
            policy: Some(TablePolicy(self.into_state()).into()),
            ..table.clone()
        };
        let scope = Scope::from(ScopeDatasource {
            paging,
            ..ScopeDatasource::new("datasource", dialect, vec![table])
        });
        guard::guard(&format!("SELECT * FROM {schema}.{name}"), &scope)
    }
}

/// Refuses a rule that names columns which the table does not have, or one twice.
fn check_columns(table: &ScopeTable, rule: &Rule) -> Result<(), RuleRefusal> {
    let all: HashSet<&String> = table.columns.iter().collect();
    let unknown = |column: &String| {
        format!(
            "the table `{}` has no column `{column}`; write it as the catalog does",
            table.table
        )
    };
    for (index, column) in rule.hidden.iter().enumerate() {
        if !all.contains(column) {
            return Err(RuleRefusal::of(format!("hidden[{index}]"), unknown(column)));
        }
    }
    for column in rule.masked.keys() {
        let param = format!("masked.{column}");
        if !all.contains(column) {
            return Err(RuleRefusal::of(param, unknown(column)));
        }
        if rule.hidden.contains(column) {
            let reason = format!("`{column}` is hidden, so it cannot be masked as well");
            return Err(RuleRefusal::of(param, reason));
        }
    }
    Ok(())
}

/// The names of the attributes that a rule needs.
pub fn attributes(rule: &Rule) -> Vec<String> {
    let mut names: Vec<String> = texts(rule).flat_map(|(_, text)| named(text)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Refuses a rule for one caller that names an attribute which the caller does not have: such a filter leaves no rows,
/// and such a mask is always NULL.
///
/// # Errors
/// `invalid_policy`; its parameter is the part of the rule, such as `filter` or `masked.email`.
pub fn check_attributes(rule: &Rule, attributes: &Attributes) -> Result<()> {
    for (part, text) in texts(rule) {
        let names = named(text);
        let mut missing = names.iter().filter(|name| !attributes.contains_key(*name));
        if let Some(name) = missing.next() {
            let message = format!(
                "there is no attribute `{name}` for `{{{{caller.{name}}}}}`; give the key this attribute, since neither \
                 can be changed later"
            );
            return Err(Error::new(Code::InvalidPolicy, message).param(part));
        }
    }
    Ok(())
}

/// The SQL texts of a rule, each with the part that it is.
fn texts(rule: &Rule) -> impl Iterator<Item = (String, &String)> {
    let filter = rule.filter.iter().map(|text| ("filter".to_owned(), text));
    let masks = rule.masked.iter().filter_map(|(column, mask)| match mask {
        Mask::Sql(text) => Some((format!("masked.{column}"), text)),
        Mask::Null | Mask::Last4 | Mask::Text(_) => None,
    });
    filter.chain(masks)
}

/// The names of the attributes in a text; none where its placeholders cannot be read.
fn named(text: &str) -> Vec<String> {
    let marked = values::placeholders(text);
    marked.map(|marked| marked.names).unwrap_or_default()
}
