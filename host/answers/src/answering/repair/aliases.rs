//! Names that SELECT gives to expressions, in clauses that do not know them.

use super::{
    Advice, MAX_ADVICES, Replace,
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{AliasUse, Clause, Outline};

/// Adds what to write in place of such names.
pub fn advise(
    known: &StatementScope<'_>,
    outline: &Outline,
    used: &[KnownTable<'_>],
    advice: &mut Advice,
) {
    for one in &outline.alias_uses {
        if advice.replace.len() >= MAX_ADVICES {
            return;
        }
        let may_have = |table: &KnownTable<'_>| table.columns.is_empty() || table.has(&one.name);
        // In HAVING a column that is not grouped has no value, so the aggregate is meant.
        let is_meant = one.clause == Clause::Having && one.has_aggregate;
        if is_known(one, known.dialect) || (!is_meant && used.iter().any(may_have)) {
            continue;
        }
        let (name, clause) = (&one.name.text, written(one.clause));
        let is_before_groups = matches!(one.clause, Clause::Where | Clause::GroupBy);
        let is_before_windows = is_before_groups || one.clause == Clause::Having;
        if one.has_window && is_before_windows {
            advice.hint(format!(
                "{name} is computed by a window, after {clause}; put the SELECT into FROM as a subquery, and use {name} around it"
            ));
        } else if one.has_aggregate && is_before_groups {
            let aggregate = one.expression.as_deref().unwrap_or("the aggregate");
            advice.hint(match one.clause {
                Clause::Where => format!(
                    "{name} is computed of groups, after WHERE; write the condition in HAVING, with {aggregate}"
                ),
                _ => format!("{name} is computed of groups; leave it out of GROUP BY"),
            });
        } else {
            advice.hint(format!(
                "{clause} does not know {name}, which SELECT gives; repeat its expression there"
            ));
            if let Some(expression) = &one.expression {
                let instead = vec![expression.clone()];
                advice
                    .replace
                    .push(Replace::new(name.clone(), one.name.position, instead));
            }
        }
    }
}

/// Whether a clause of this dialect knows such a name.
fn is_known(one: &AliasUse, dialect: Dialect) -> bool {
    use Dialect::{Clickhouse, Datafusion, Mssql, Mysql, Postgresql, Sqlite, Trino};
    let is_of_rows = !one.has_aggregate && !one.has_window;
    match (one.clause, one.is_whole) {
        (Clause::Select, _) => dialect == Clickhouse,
        (Clause::Where, _) => is_of_rows && matches!(dialect, Sqlite | Clickhouse),
        (Clause::GroupBy, true) => is_of_rows && !matches!(dialect, Mssql | Trino),
        (Clause::GroupBy, false) => {
            is_of_rows && matches!(dialect, Sqlite | Mysql | Clickhouse | Datafusion)
        }
        (Clause::Having, _) => !one.has_window && matches!(dialect, Sqlite | Mysql | Clickhouse),
        (Clause::OrderBy, true) => true,
        (Clause::OrderBy, false) => match dialect {
            Postgresql | Mssql => false,
            Mysql => !one.has_aggregate,
            _ => true,
        },
    }
}

/// A clause as SQL writes it.
fn written(clause: Clause) -> &'static str {
    match clause {
        Clause::Select => "another expression of SELECT",
        Clause::Where => "WHERE",
        Clause::GroupBy => "GROUP BY",
        Clause::Having => "HAVING",
        Clause::OrderBy => "an expression of ORDER BY",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Access;
    use mindhost_plugin_api::TableRef;
    use mindhost_sql::{ScopeDatasource, ScopeTable, outline};

    fn advised(sql: &str, dialect: Dialect) -> Advice {
        let orders = TableRef::new("main", "orders");
        let table = ScopeTable::new(orders, &["id", "total", "status"]);
        let access = Access::of(ScopeDatasource::new("shop", dialect, vec![table]).into());
        let known = StatementScope::new(&access, dialect);
        let outline = outline::outline(sql, dialect).unwrap();
        let mut advice = Advice::default();
        advise(&known, &outline, &known.used(&outline), &mut advice);
        advice
    }

    #[test]
    fn expression_is_repeated_where_its_name_is_not_known() {
        use Dialect::{Clickhouse, Datafusion, Mssql, Mysql, Postgresql, Sqlite, Trino};
        let groups = "SELECT status AS s, sum(total) AS n FROM orders GROUP BY status HAVING n > 1";
        let rows = "SELECT total + 1 AS n FROM orders WHERE n > 1";
        let by = "SELECT upper(status) AS n FROM orders GROUP BY n";
        let order = "SELECT total + 1 AS n FROM orders ORDER BY n + 1";
        let list = "SELECT total + 1 AS m, m + 1 FROM orders";
        let counts = "SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY n + 1";
        for (sql, name, instead, knowing) in [
            (groups, "n", "sum(total)", &[Sqlite, Mysql, Clickhouse][..]),
            (rows, "n", "(total + 1)", &[Sqlite, Clickhouse]),
            (
                by,
                "n",
                "upper(status)",
                &[Sqlite, Mysql, Clickhouse, Postgresql, Datafusion],
            ),
            (
                order,
                "n",
                "(total + 1)",
                &[Sqlite, Mysql, Clickhouse, Trino, Datafusion],
            ),
            (list, "m", "(total + 1)", &[Clickhouse]),
            (
                counts,
                "n",
                "count(*)",
                &[Sqlite, Clickhouse, Trino, Datafusion],
            ),
        ] {
            for dialect in [
                Sqlite, Postgresql, Mysql, Mssql, Clickhouse, Trino, Datafusion,
            ] {
                let advice = advised(sql, dialect);
                let found = advice.replace.first();
                let found = found.map(|one| (one.written.as_str(), one.instead[0].as_str()));
                let is_known = knowing.contains(&dialect);
                let expected = (!is_known).then_some((name, instead));
                assert_eq!(found, expected, "{dialect:?}: {sql}");
                assert_eq!(advice.hints.is_empty(), is_known, "{dialect:?}: {sql}");
            }
        }
    }

    #[test]
    fn clause_that_cannot_repeat_the_expression_is_told_another_one() {
        for (sql, hint) in [
            (
                "SELECT status, count(*) AS n FROM orders WHERE n > 1 GROUP BY status",
                "write the condition in HAVING, with count(*)",
            ),
            (
                "SELECT id, row_number() OVER (ORDER BY id) AS n FROM orders WHERE n = 1",
                "put the SELECT into FROM as a subquery",
            ),
            (
                "SELECT count(*) AS n FROM orders GROUP BY n",
                "leave it out of GROUP BY",
            ),
        ] {
            for dialect in [Dialect::Postgresql, Dialect::Sqlite, Dialect::Mysql] {
                let advice = advised(sql, dialect);
                assert_eq!(advice.replace, [], "{sql}");
                assert!(advice.hints[0].contains(hint), "{sql}: {advice:?}");
            }
        }
    }

    #[test]
    fn name_that_is_also_a_column_means_the_column() {
        let rows = "SELECT total * 2 AS total FROM orders WHERE total > 1";
        assert_eq!(advised(rows, Dialect::Postgresql), Advice::default());
        let groups =
            "SELECT status, sum(total) AS total FROM orders GROUP BY status HAVING total > 1";
        let advice = advised(groups, Dialect::Postgresql);
        assert_eq!(advice.replace[0].instead, ["sum(total)"]);
    }
}
