//! The statement for a part of a plan, as it grows from a table upwards.
//!
//! Its columns are values over the tables in its FROM, so that a filter, a projection or an inner join above adds to
//! the same SELECT. Only what stands above groups or limits wraps it into a subquery: engines and the guard bound the
//! depth of those.

mod aggregates;
mod checked;
mod clauses;
mod keys;
mod scalars;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use datafusion::{
    common::DFSchema,
    logical_expr::{Aggregate, Expr, JoinType, Operator, expr::Sort},
};

use aggregates::{aggregated, in_bytes, is_groupable};
use clauses::{Condition, Entry, EqualValues};
pub use scalars::Scalars;

use super::{
    dialects::{NullOrder, Rules, rules},
    estimates::Estimate,
    expressions::{Scope, Value},
    kinds::Kind,
};
use mindhost_plugin_api::{Column, Dialect, TableRef};

/// Tables of one statement: planners of engines take long for more.
const MAX_TABLES: usize = 12;

/// A statement in the making.
#[derive(Clone, Debug)]
pub struct Select {
    /// Index of the datasource.
    pub source: usize,
    /// What it speaks.
    pub dialect: Dialect,
    /// The values of its columns.
    pub columns: Vec<Value>,
    /// Roughly how many rows it gives. It is set from the estimate of the plan that it is made from.
    pub estimate: Estimate,
    /// Distinct values of its columns, of which the catalog knows. They are set with the estimate.
    pub distinct: Vec<Option<f64>>,
    /// Whether it gives one row at most.
    is_single_row: bool,
    /// The name of its first table, which no other statement within the whole has.
    label: String,
    from: Vec<Entry>,
    /// Values that inner joins made equal.
    equal: EqualValues,
    /// Whether its only entry in FROM is an outer join.
    has_join: bool,
    tables: usize,
    conditions: Vec<Condition>,
    /// What is true of a row with a cell of another type than its column, among those that the conditions read.
    misfits: Vec<String>,
    groups: Option<Vec<String>>,
    order: Vec<String>,
    limit: Option<u64>,
}

/// Makes names for tables.
#[derive(Debug, Default)]
pub struct Names(usize);

impl Names {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("t{}", self.0)
    }
}

impl Select {
    /// A table, with some of its columns.
    pub fn table(
        (source, dialect): (usize, Dialect),
        table: &TableRef,
        columns: &[&Column],
        rows: Option<u64>,
        names: &mut Names,
    ) -> Self {
        let (rules, name) = (rules(dialect), names.next());
        let (schema, bare) = (rules.quoted(&table.schema), rules.quoted(&table.name));
        let column = |column: &&Column| Value {
            sql: format!("{name}.{}", rules.quoted(&column.name)),
            kind: Kind::of(column, dialect),
        };
        Self {
            source,
            dialect,
            columns: columns.iter().map(column).collect(),
            estimate: Estimate::table(rows),
            distinct: Vec::new(),
            is_single_row: false,
            has_join: false,
            from: vec![Entry::Text(format!("{schema}.{bare} AS {name}"))],
            equal: Vec::new(),
            label: name,
            tables: 1,
            conditions: Vec::new(),
            misfits: Vec::new(),
            groups: None,
            order: Vec::new(),
            limit: None,
        }
    }

    fn rules(&self) -> &'static Rules {
        rules(self.dialect)
    }

    /// Whether groups and limits go to its datasource.
    pub fn takes_groups(&self) -> bool {
        self.rules().groups
    }

    /// Whether joins and subqueries go to its datasource.
    pub fn takes_joins(&self) -> bool {
        self.rules().joins
    }

    /// Whether filters go to its datasource.
    pub fn takes_filters(&self) -> bool {
        self.rules().filters
    }

    /// The statement.
    pub fn text(&self) -> String {
        let columns = self.columns.iter().enumerate();
        let columns: Vec<_> = columns
            .map(|(index, value)| format!("{} AS {}", value.sql, self.alias(index)))
            .collect();
        let columns = match columns.is_empty() {
            true => format!("1 AS {}", self.alias(0)),
            false => columns.join(", "),
        };
        let has_top = self.rules().has_top;
        let top = self.limit.filter(|_| has_top);
        let top = top.map_or_else(String::new, |rows| format!("TOP ({rows}) "));
        let mut text = format!("SELECT {top}{columns} FROM {}", self.entries(", "));
        if !self.conditions.is_empty() {
            text += &format!(" WHERE {}", clauses::all_of(&self.conditions));
        }
        if let Some(groups) = self.groups.as_ref().filter(|groups| !groups.is_empty()) {
            text += &format!(" GROUP BY {}", groups.join(", "));
        }
        if !self.order.is_empty() {
            text += &format!(" ORDER BY {}", self.order.join(", "));
        }
        if let Some(limit) = self.limit.filter(|_| !has_top) {
            text += &format!(" LIMIT {limit}");
        }
        text
    }

    /// The entries of FROM.
    fn entries(&self, separator: &str) -> String {
        let entries: Vec<String> = self.from.iter().map(Entry::text).collect();
        entries.join(separator)
    }

    /// The name of a column.
    fn alias(&self, index: usize) -> String {
        match self.rules().names_everywhere {
            true => format!("mindhost_{}_{index}", self.label),
            false => format!("c{index}"),
        }
    }

    /// The same as a table of a new statement, where a clause above cannot go into this one.
    fn wrapped(self, names: &mut Names) -> Self {
        let name = names.next();
        let columns = self.columns.iter().enumerate().map(|(index, value)| Value {
            sql: format!("{name}.{}", self.alias(index)),
            kind: value.kind,
        });
        let columns = columns.collect();
        let inner = match self.limit {
            None if self.groups.is_some() => Entry::Groups(Box::new(self.clone()), name.clone()),
            _ => Entry::Text(format!("({}) AS {name}", self.text())),
        };
        Self {
            columns,
            from: vec![inner],
            equal: Vec::new(),
            label: name,
            has_join: false,
            conditions: Vec::new(),
            misfits: Vec::new(),
            groups: None,
            order: Vec::new(),
            limit: None,
            ..self
        }
    }

    /// The same, open for conditions and joins.
    pub fn open(self, names: &mut Names) -> Self {
        match self.groups.is_some() || self.limit.is_some() {
            true => self.wrapped(names),
            false => self,
        }
    }

    /// The same as one table without conditions, for outer joins. What is computed from its columns has to be a column of
    /// that table: above the join a constant would also stand where a row has no match.
    fn single(self, names: &mut Names) -> Self {
        let is_single = self.from.len() == 1 && self.conditions.is_empty();
        let is_plain = self.columns.iter().all(|value| is_column(&value.sql));
        match is_single && is_plain && self.groups.is_none() && self.limit.is_none() {
            true => self,
            false => self.wrapped(names),
        }
    }

    /// With a condition on its columns, whose fields are `schema`. The engine may keep more rows where the host tests them
    /// again.
    pub fn filtered(self, condition: &Expr, schema: &DFSchema, names: &mut Names) -> Option<Self> {
        self.with_condition(condition, schema, &Scalars::default(), true, names)
    }

    /// With a condition that the engine alone tests, and which may name the results of subqueries.
    pub fn filtered_with(
        self,
        condition: &Expr,
        schema: &DFSchema,
        scalars: &Scalars,
        names: &mut Names,
    ) -> Option<Self> {
        self.with_condition(condition, schema, scalars, false, names)
    }

    fn with_condition(
        self,
        condition: &Expr,
        schema: &DFSchema,
        scalars: &Scalars,
        widens: bool,
        names: &mut Names,
    ) -> Option<Self> {
        let mut open = self.open(names);
        open.tables += scalars.tables;
        if open.tables > MAX_TABLES {
            return None;
        }
        let inputs = [
            (schema, open.columns.as_slice()),
            (&scalars.schema, scalars.values.as_slice()),
        ];
        let scope = Scope {
            widens,
            ..Scope::exact(open.dialect, &inputs)
        };
        let condition = scope.condition(condition)?;
        open.conditions.push(Condition::Text(condition));
        Some(open)
    }

    /// With other columns.
    pub fn projected(self, exprs: &[Expr], schema: &DFSchema, names: &mut Names) -> Option<Self> {
        // A value above a group would be computed from what is grouped by text, so it stands above.
        let is_plain = |expr: &Expr| matches!(expr.clone().unalias(), Expr::Column(_));
        let mut open = match exprs.iter().all(is_plain) {
            true => self,
            false => self.open(names),
        };
        let inputs = [(schema, open.columns.as_slice())];
        let scope = Scope::exact(open.dialect, &inputs);
        let columns: Option<Vec<Value>> = exprs.iter().map(|expr| scope.value(expr)).collect();
        open.columns = columns?;
        Some(open)
    }

    /// With at most so many rows.
    pub fn limited(mut self, rows: u64) -> Option<Self> {
        if !self.rules().filters {
            return None;
        }
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        self.estimate = self.estimate.at_most(rows as f64);
        Some(self)
    }

    /// With the first rows of an order. The host sorts them again, so only which rows come matters.
    pub fn top(
        self,
        keys: &[Sort],
        rows: u64,
        schema: &DFSchema,
        names: &mut Names,
    ) -> Option<Self> {
        let nulls = self.rules().nulls;
        if nulls == NullOrder::Unknown || !self.takes_groups() {
            return None;
        }
        let mut open = match self.limit {
            Some(_) => self.wrapped(names),
            None => self,
        };
        let inputs = [(schema, open.columns.as_slice())];
        let scope = Scope::exact(open.dialect, &inputs);
        let rules = open.rules();
        let key = |key: &Sort| {
            let value = scope
                .value(&key.expr)
                .filter(|value| value.kind.is_ordered())?;
            // A constant would be read as the number of a column.
            if is_constant(&value.sql) {
                return None;
            }
            let bytes = rules.bytes("");
            let sql = match value.kind {
                // What is grouped by its bytes has that form already.
                Kind::Text if !value.sql.ends_with(bytes.as_str()) => rules.bytes(&value.sql),
                _ => value.sql,
            };
            let direction = if key.asc { "ASC" } else { "DESC" };
            let text = match (nulls, key.nulls_first) {
                (NullOrder::OwnKey, true) => format!("{sql} IS NULL DESC, {sql} {direction}"),
                (NullOrder::OwnKey, false) => format!("{sql} IS NULL, {sql} {direction}"),
                (NullOrder::CaseKey, true) => {
                    format!("CASE WHEN {sql} IS NULL THEN 0 ELSE 1 END, {sql} {direction}")
                }
                (NullOrder::CaseKey, false) => {
                    format!("CASE WHEN {sql} IS NULL THEN 1 ELSE 0 END, {sql} {direction}")
                }
                (_, true) => format!("{sql} {direction} NULLS FIRST"),
                (_, false) => format!("{sql} {direction} NULLS LAST"),
            };
            Some((sql, text))
        };
        let order: Option<Vec<(String, String)>> = keys.iter().map(key).collect();
        // SQL Server refuses a column that is twice in an order, and the second one decides nothing.
        let mut seen = HashSet::new();
        let mut order = order?;
        order.retain(|(sql, _)| seen.insert(sql.clone()));
        open.order = order.into_iter().map(|(_, text)| text).collect();
        open.limited(rows)
    }

    /// Whether two of its groups may be one in the host: the engine groups what it stores, and two stored texts may be
    /// the same text.
    pub fn has_finer_groups(&self) -> bool {
        let mut keys = self
            .columns
            .iter()
            .take(self.groups.as_ref().map_or(0, Vec::len));
        // The cells of a decimal column of SQLite may be floats and texts.
        let is_finer = |key: &Value| {
            let is_mixed = key.kind == Kind::Decimal && self.dialect == Dialect::Sqlite;
            key.kind.is_text() || key.kind.is_stored_text() || is_mixed
        };
        self.rules().groups_stored_texts && keys.any(is_finer)
    }

    /// Has no condition on what stands behind so many keys: it is of a part of a group.
    pub fn hide_computed(&mut self, keys: usize) {
        for value in self.columns.iter_mut().skip(keys) {
            value.kind = Kind::Opaque;
        }
    }

    /// With the groups and aggregates of a plan; `None` if the dialect computes one of them otherwise.
    pub fn grouped(self, aggregate: &Aggregate, names: &mut Names) -> Option<Self> {
        let schema = aggregate.input.schema();
        let mut open = self.open(names);
        let inputs = [(schema.as_ref(), open.columns.as_slice())];
        let scope = Scope::exact(open.dialect, &inputs);
        let rules = open.rules();
        let group = |expr: &Expr| {
            let is_plain = matches!(expr, Expr::Column(_));
            let value = scope
                .value(expr)
                .filter(|value| is_plain && is_groupable(value.kind) && !is_constant(&value.sql))?;
            let by = in_bytes(value.clone(), rules);
            // All texts of a group have the same bytes, so any of them is the text.
            let is_changed = value.kind == Kind::Text || value.kind.is_stored_text();
            let shown = match is_changed && rules.bytes_are_binary {
                true => format!("min({})", value.sql),
                false => by.sql.clone(),
            };
            Some((
                Value {
                    sql: shown,
                    ..value
                },
                by.sql,
            ))
        };
        let groups: Option<Vec<(Value, String)>> = aggregate.group_expr.iter().map(group).collect();
        let (mut columns, texts): (Vec<_>, Vec<_>) = groups?.into_iter().unzip();
        let fields = aggregate.schema.fields().iter().skip(columns.len());
        for (expr, field) in aggregate.aggr_expr.iter().zip(fields) {
            let is_grouped = !aggregate.group_expr.is_empty();
            columns.push(aggregated(expr, field.data_type(), &scope, is_grouped)?);
        }
        open.is_single_row |= aggregate.group_expr.is_empty();
        open.columns = columns;
        open.groups = Some(texts);
        Some(open)
    }

    /// Joined with another of the same datasource. `on` are pairs of equal values, of this and of the other.
    pub fn joined(
        self,
        other: Self,
        (left, right): (&DFSchema, &DFSchema),
        on: &[(Expr, Expr)],
        filter: Option<&Expr>,
        join_type: JoinType,
        names: &mut Names,
    ) -> Option<Self> {
        if on.is_empty() || self.tables + other.tables > MAX_TABLES {
            return None;
        }
        if join_type == JoinType::Full && !self.rules().full_joins {
            return None;
        }
        let (a, b) = match join_type {
            JoinType::Inner => (self.open(names), other.open(names)),
            JoinType::LeftSemi | JoinType::LeftAnti => (self.open(names), other.open(names)),
            JoinType::Left | JoinType::Right | JoinType::Full => {
                (self.single(names), other.single(names))
            }
            _ => return None,
        };
        let (equal, matches) = matching(&a, &b, (left, right), on, filter)?;
        let is_exists = matches!(join_type, JoinType::LeftSemi | JoinType::LeftAnti);
        if is_exists && !a.rules().exists_with_texts && a.compares_texts(left, on, filter) {
            return None;
        }
        Some(match join_type {
            JoinType::Inner => a.merged(b, equal, matches),
            JoinType::LeftSemi => a.existing(b, equal, matches, false),
            JoinType::LeftAnti => a.existing(b, equal, matches, true),
            JoinType::Left => a.outer(b, &matches, "LEFT"),
            JoinType::Right => a.outer(b, &matches, "RIGHT"),
            _ => a.outer(b, &matches, "FULL"),
        })
    }

    /// Whether the conditions of a join are about texts of this side, whose fields are `schema`.
    fn compares_texts(
        &self,
        schema: &DFSchema,
        on: &[(Expr, Expr)],
        filter: Option<&Expr>,
    ) -> bool {
        let own = on.iter().map(|(own, _)| own).chain(filter);
        own.flat_map(Expr::column_refs)
            .filter_map(|column| schema.maybe_index_of_column(column))
            .filter_map(|index| self.columns.get(index))
            .any(|value| value.kind.is_text())
    }

    fn merged(mut self, other: Self, equal: EqualValues, matches: Vec<String>) -> Self {
        self.from.extend(other.from);
        self.equal.extend(other.equal.into_iter().chain(equal));
        self.conditions.extend(other.conditions);
        let matches = matches.into_iter().map(Condition::Text);
        self.conditions.extend(matches);
        self.columns.extend(other.columns);
        self.tables += other.tables;
        self.is_single_row &= other.is_single_row;
        self
    }

    fn existing(
        mut self,
        other: Self,
        equal: EqualValues,
        matches: Vec<String>,
        is_negated: bool,
    ) -> Self {
        self.tables += other.tables;
        self.conditions.push(Condition::Exists {
            is_negated,
            select: Box::new(other),
            equal,
            matches,
        });
        self
    }

    fn outer(mut self, other: Self, matches: &[String], side: &str) -> Self {
        let (left, right) = (self.entries(""), other.entries(""));
        // A join on the right of a join needs brackets.
        let right = match other.has_join {
            true => format!("({right})"),
            false => right,
        };
        self.has_join = true;
        self.from = vec![Entry::Text(format!(
            "{left} {side} JOIN {right} ON {}",
            matches.join(" AND ")
        ))];
        self.columns.extend(other.columns);
        self.tables += other.tables;
        self.is_single_row &= other.is_single_row;
        self
    }
}

/// Whether a value is a column of a table in FROM, as it is: `t1."a"`.
fn is_column(sql: &str) -> bool {
    let rest = sql.strip_prefix('t');
    let rest = rest.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let Some(name) = rest.and_then(|rest| rest.strip_prefix('.')) else {
        return false;
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let quoted = name
        .strip_prefix(['"', '`', '['])
        .and_then(|name| name.strip_suffix(['"', '`', ']']));
    match quoted {
        Some(name) => !name.contains(['"', '`', '[', ']']),
        None => name.chars().all(is_plain),
    }
}

/// Whether a value is a constant: it names no column of a table in FROM (`t1.`).
fn is_constant(sql: &str) -> bool {
    let is_name = |rest: &str| {
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        name.len() < rest.len() && name.starts_with('.')
    };
    let is_text = sql.starts_with('\'') || sql.starts_with("N'");
    // `count(*)` names none, and is none.
    let has_name = sql.ends_with("(*)") || sql.split('t').skip(1).any(is_name);
    is_text || !has_name
}

/// The values that a join makes equal, and its conditions.
fn matching(
    a: &Select,
    b: &Select,
    (left, right): (&DFSchema, &DFSchema),
    on: &[(Expr, Expr)],
    filter: Option<&Expr>,
) -> Option<(EqualValues, Vec<String>)> {
    let dialect = a.dialect;
    let one = [(left, a.columns.as_slice())];
    let two = [(right, b.columns.as_slice())];
    let (one, two) = (Scope::exact(dialect, &one), Scope::exact(dialect, &two));
    let (mut equal, mut matches) = (Vec::new(), Vec::new());
    for (x, y) in on {
        let (x, y) = (one.value(x)?, two.value(y)?);
        if x.kind == Kind::Float {
            return None;
        }
        matches.push(one.compared(&x, Operator::Eq, &y)?);
        equal.push((x, y));
    }
    if let Some(filter) = filter {
        let both = [(left, a.columns.as_slice()), (right, b.columns.as_slice())];
        matches.push(Scope::exact(dialect, &both).condition(filter)?);
    }
    Some((equal, matches))
}
