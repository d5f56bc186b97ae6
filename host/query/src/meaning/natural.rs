//! `SELECT *` over `NATURAL JOIN`: as over USING with the columns that both sides have, so that they come first, as in
//! PostgreSQL. The statement alone does not say which columns those are, so the tables are planned to find out.

use std::collections::HashSet;

use datafusion::{execution::SessionState, sql::parser::Statement};
use sqlparser::ast::{
    self, Cte, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SetExpr, TableFactor,
    TableWithJoins, With, helpers::attached_token::AttachedToken,
};

use super::{merged_columns::only_part, templates, using_wildcard};
use crate::names::folded;

/// Most tables of such joins. Each is planned once more, with all WITH around it, and nothing can interrupt that.
const MAX_TABLES: usize = 16;

/// Writes inner NATURAL joins below a `*` as USING. Those in subqueries of expressions are refused elsewhere, and what
/// cannot be planned alone stays as it is.
pub async fn as_using(query: &mut Query, state: &SessionState) {
    let mut count = 0;
    in_query(query, &mut Vec::new(), &mut |select, _| {
        count += natural_tables(select).len();
    });
    if count == 0 || count > MAX_TABLES {
        return;
    }
    let mut probes = Vec::with_capacity(count);
    in_query(query, &mut Vec::new(), &mut |select, ctes| {
        let tables = natural_tables(select).into_iter();
        probes.extend(tables.map(|table| probe(table, ctes)));
    });
    let mut found = Vec::with_capacity(probes.len());
    for probe in probes {
        found.push(columns(probe, state).await);
    }
    let mut found = found.into_iter();
    in_query(query, &mut Vec::new(), &mut |select, _| {
        let count = natural_tables(select).len();
        let tables: Vec<Option<Vec<String>>> = found.by_ref().take(count).collect();
        if let Some(tables) = tables.into_iter().collect::<Option<Vec<_>>>() {
            join_by_names(select, &tables);
        }
    });
}

/// What is done with each SELECT outside of expressions, and the WITH that it sees.
type Change<'a> = dyn FnMut(&mut Select, &[Cte]) + 'a;

fn in_query(query: &mut Query, ctes: &mut Vec<Cte>, change: &mut Change<'_>) {
    let outer = ctes.len();
    if let Some(with) = &mut query.with {
        for cte in &mut with.cte_tables {
            in_query(&mut cte.query, ctes, change);
            ctes.push(cte.clone());
        }
    }
    in_body(&mut query.body, ctes, change);
    ctes.truncate(outer);
}

fn in_body(body: &mut SetExpr, ctes: &mut Vec<Cte>, change: &mut Change<'_>) {
    match body {
        SetExpr::Select(select) => {
            for table in &mut select.from {
                in_tables(table, ctes, change);
            }
            change(select, ctes);
        }
        SetExpr::SetOperation { left, right, .. } => {
            in_body(left, ctes, change);
            in_body(right, ctes, change);
        }
        SetExpr::Query(query) => in_query(query, ctes, change),
        _ => {}
    }
}

fn in_tables(tables: &mut TableWithJoins, ctes: &mut Vec<Cte>, change: &mut Change<'_>) {
    let joined = tables.joins.iter_mut().map(|join| &mut join.relation);
    for table in std::iter::once(&mut tables.relation).chain(joined) {
        match table {
            TableFactor::Derived { subquery, .. } => in_query(subquery, ctes, change),
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => in_tables(table_with_joins, ctes, change),
            _ => {}
        }
    }
}

/// The tables of a SELECT with such joins, of which none is an outer one. Without them, none.
fn natural_tables(select: &Select) -> Vec<&TableFactor> {
    use JoinOperator::{CrossJoin, Inner, Join as Plain};
    let [from] = select.from.as_slice() else {
        return Vec::new();
    };
    let is_natural = |join: &Join| {
        matches!(
            join.join_operator,
            Plain(JoinConstraint::Natural) | Inner(JoinConstraint::Natural)
        )
    };
    let is_inner = |join: &Join| matches!(join.join_operator, Plain(_) | Inner(_) | CrossJoin(_));
    let has_wildcard = using_wildcard::is_in(&select.projection);
    if !has_wildcard || !from.joins.iter().all(is_inner) || !from.joins.iter().any(is_natural) {
        return Vec::new();
    }
    let joined = from.joins.iter().map(|join| &join.relation);
    std::iter::once(&from.relation).chain(joined).collect()
}

/// A statement with the columns of a table. `None` where two WITH around it have one name.
fn probe(table: &TableFactor, ctes: &[Cte]) -> Option<Query> {
    let mut query = templates::query("SELECT * FROM t")?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    select.from.first_mut()?.relation = table.clone();
    let mut names = HashSet::new();
    if !ctes.iter().all(|cte| names.insert(folded(&cte.alias.name))) {
        return None;
    }
    query.with = (!ctes.is_empty()).then(|| With {
        with_token: AttachedToken::empty(),
        recursive: false,
        cte_tables: ctes.to_vec(),
    });
    Some(*query)
}

/// The names of its columns, if it can be planned.
async fn columns(probe: Option<Query>, state: &SessionState) -> Option<Vec<String>> {
    let statement = ast::Statement::Query(Box::new(probe?));
    let statement = Statement::Statement(Box::new(statement));
    let plan = state.statement_to_plan(statement).await.ok()?;
    let fields = plan.schema().fields().iter();
    Some(fields.map(|field| field.name().clone()).collect())
}

/// Writes the joins of a SELECT, whose tables have these columns.
fn join_by_names(select: &mut Select, tables: &[Vec<String>]) {
    let ([from], Some((first, others))) = (select.from.as_mut_slice(), tables.split_first()) else {
        return;
    };
    let mut known: Vec<&String> = first.iter().collect();
    for (join, columns) in from.joins.iter_mut().zip(others) {
        let (JoinOperator::Join(by) | JoinOperator::Inner(by) | JoinOperator::CrossJoin(by)) =
            &mut join.join_operator
        else {
            return;
        };
        let is_natural = matches!(by, JoinConstraint::Natural);
        let shared: Vec<&String> = match &*by {
            JoinConstraint::Natural => {
                let both = known.iter().filter(|name| columns.contains(**name));
                both.copied().collect()
            }
            JoinConstraint::Using(names) => {
                let names: Vec<_> = names.iter().filter_map(only_part).map(folded).collect();
                columns
                    .iter()
                    .filter(|name| names.contains(*name))
                    .collect()
            }
            JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
        };
        let distinct: HashSet<&String> = shared.iter().copied().collect();
        if distinct.len() != shared.len() {
            // It is ambiguous, which DataFusion says.
            return;
        }
        if is_natural && !shared.is_empty() {
            let quoted = |name: &&String| vec![Ident::with_quote('"', name.as_str())].into();
            *by = JoinConstraint::Using(shared.iter().map(quoted).collect());
        }
        known.extend(columns.iter().filter(|name| !distinct.contains(*name)));
    }
}
