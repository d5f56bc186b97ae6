//! What an accepted statement says about its result: its order, its rounding, the tables and columns that it needs.

mod aggregates;
mod limit;
mod literals;
mod roundings;

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::{
    ast::{
        Cte, Expr, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Statement, TableAlias,
        TableFactor, Value, Visit, Visitor, visit_relations,
    },
    dialect::{self, Dialect},
    parser::Parser,
};

use crate::{compare::Order, table_name::TableName};

/// A statement, as far as it can be read.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The tables of the database that it reads.
    pub tables: BTreeSet<TableName>,
    /// Their columns that it reads.
    pub columns: BTreeSet<Column>,
    query: Option<Box<Query>>,
}

/// A column that a statement reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// Its name, in lower case.
    pub name: String,
    /// The table that it is of. Where the statement does not say which, all tables of the statement.
    pub tables: BTreeSet<TableName>,
}

impl Facts {
    /// Reads a statement in any dialect. Of one that cannot be read, nothing is known.
    pub fn of(sql: &str) -> Self {
        let Some(statement) = parsed(sql) else {
            return Self::default();
        };
        let mut names = Names::default();
        let _ = statement.visit(&mut names);
        Self {
            tables: names.tables(),
            columns: names.columns(),
            query: match statement {
                Statement::Query(query) => Some(without_brackets(query)),
                _ => None,
            },
        }
    }

    /// Whether the order of its rows counts. `columns` are the names of its result.
    pub fn order(&self, columns: &[String]) -> Order {
        let order = self
            .query
            .as_ref()
            .and_then(|query| query.order_by.as_ref());
        let Some(OrderBy { kind, .. }) = order else {
            return Order::Any;
        };
        let OrderByKind::Expressions(terms) = kind else {
            return Order::Exact;
        };
        let items = self.items();
        let place = |term: &Expr| place(term, columns, &items);
        let keys: Option<Vec<usize>> = terms.iter().map(|term| place(&term.expr)).collect();
        keys.map_or(Order::Exact, Order::By)
    }

    /// Its SELECT; `None` if it has several.
    fn select(&self) -> Option<&Select> {
        match self.query.as_ref().map(|query| &*query.body) {
            Some(SetExpr::Select(select)) => Some(select),
            _ => None,
        }
    }

    /// The expressions of its result, as text in lower case.
    fn items(&self) -> Vec<String> {
        let Some(select) = self.select() else {
            return Vec::new();
        };
        let text = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                expr.to_string().to_lowercase()
            }
            other => other.to_string(),
        };
        select.projection.iter().map(text).collect()
    }
}

/// The query that stands in brackets, if a statement is no more than that.
fn without_brackets(mut query: Box<Query>) -> Box<Query> {
    while let Some(inner) = bracketed(&query) {
        query = Box::new(inner.clone());
    }
    query
}

fn bracketed(query: &Query) -> Option<&Query> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        SetExpr::Query(inner) if is_plain => Some(inner),
        _ => None,
    }
}

/// The column of the result that a term of ORDER BY names: by its number, its name, or its expression.
fn place(term: &Expr, columns: &[String], items: &[String]) -> Option<usize> {
    if let Expr::Nested(inner) = term {
        return place(inner, columns, items);
    }
    if let Expr::Value(value) = term
        && let Value::Number(number, _) = &value.value
    {
        let number: usize = number.to_string().parse().ok()?;
        return number.checked_sub(1).filter(|place| *place < columns.len());
    }
    let text = term.to_string().to_lowercase();
    let by_expression = items.iter().position(|item| *item == text);
    let by_name = || {
        let last = text.rsplit('.').next()?.trim_matches(['"', '`', '[', ']']);
        columns
            .iter()
            .position(|column| column.to_lowercase() == last)
    };
    // Places among the expressions are those of the columns unless one of them is `*`.
    let by_expression = by_expression.filter(|_| items.len() == columns.len());
    by_expression.or_else(by_name)
}

fn parsed(sql: &str) -> Option<Statement> {
    let dialects: [&dyn Dialect; 6] = [
        &dialect::GenericDialect {},
        &dialect::SQLiteDialect {},
        &dialect::PostgreSqlDialect {},
        &dialect::MySqlDialect {},
        &dialect::MsSqlDialect {},
        &dialect::ClickHouseDialect {},
    ];
    dialects.iter().find_map(|dialect| {
        let mut statements = Parser::parse_sql(*dialect, sql).ok()?;
        (statements.len() == 1).then(|| statements.pop())?
    })
}

/// Names in a statement, all in lower case.
#[derive(Default)]
struct Names {
    /// Tables of the database, each with its alias.
    tables: BTreeSet<(TableName, Option<String>)>,
    /// Names of columns.
    columns: BTreeSet<Path>,
    /// Columns that the statement itself makes.
    aliases: BTreeSet<String>,
    /// Tables that the statement itself makes, of each query around the place that is visited.
    ctes: Vec<Ctes>,
}

/// A name of a column, as the statement writes it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    /// Its parts, the column's own name last.
    parts: Vec<String>,
    /// Whether its first part is the name of a table that the statement itself makes.
    is_of_cte: bool,
}

/// The tables that the WITH of a query makes.
struct Ctes {
    /// Each with the number of queries of the WITH after which its name stands for it. Before that, as in its own
    /// query, the name stands for a table of the database.
    names: Vec<(String, usize)>,
    /// How many of these queries were visited.
    visited: usize,
}

impl Ctes {
    fn of(query: &Query) -> Self {
        let with = query.with.iter();
        let names = with.flat_map(|with| {
            let ctes = with.cte_tables.iter().enumerate();
            ctes.map(move |(at, cte)| {
                let from = match with.recursive {
                    true => 0,
                    false => at + usize::from(!may_read_itself(cte)),
                };
                (cte.alias.name.value.to_lowercase(), from)
            })
        });
        Self {
            names: names.collect(),
            visited: 0,
        }
    }

    fn has(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|(cte, from)| cte == name && *from <= self.visited)
    }
}

/// Whether the query of a WITH may be recursive without RECURSIVE, as SQLite and SQL Server allow: it is a UNION, and
/// its first part does not read its own name.
fn may_read_itself(cte: &Cte) -> bool {
    let mut first: &SetExpr = &cte.query.body;
    if !matches!(first, SetExpr::SetOperation { .. }) {
        return false;
    }
    while let SetExpr::SetOperation { left, .. } = first {
        first = left;
    }
    let name = &cte.alias.name.value;
    let read = visit_relations(first, |table| {
        let parts = table.0.iter().filter_map(|part| part.as_ident());
        let parts: Vec<&str> = parts.map(|part| part.value.as_str()).collect();
        match parts[..] {
            [one] if one.eq_ignore_ascii_case(name) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    read.is_continue()
}

impl Names {
    /// Whether a name stands here for a table that the statement itself makes.
    fn is_cte(&self, name: &str) -> bool {
        self.ctes.iter().any(|ctes| ctes.has(name))
    }

    /// Notes the columns that the alias of a table names, as in `WITH t(a, b)`.
    fn alias(&mut self, alias: &TableAlias) {
        let columns = alias.columns.iter();
        let columns = columns.map(|column| column.name.value.to_lowercase());
        self.aliases.extend(columns);
    }

    fn tables(&self) -> BTreeSet<TableName> {
        self.tables.iter().map(|(table, _)| table.clone()).collect()
    }

    fn columns(&self) -> BTreeSet<Column> {
        let all = self.columns.iter().filter_map(|path| self.column(path));
        let all: BTreeSet<Column> = all.collect();
        // A name without a table is not counted again if the statement also says which table it is of.
        let is_repeated = |one: &Column| {
            let mut others = all.iter().filter(|other| other.name == one.name);
            others.any(|other| *other != *one && other.tables.is_subset(&one.tables))
        };
        all.iter()
            .filter(|one| !is_repeated(one))
            .cloned()
            .collect()
    }

    /// The column that a name stands for; `None` if the statement itself makes it.
    fn column(&self, path: &Path) -> Option<Column> {
        let (name, qualifier) = path.parts.split_last()?;
        // The name of a table that the statement makes is that of another table only as its alias.
        let named = self.tables.iter().filter(|(table, alias)| {
            (alias.is_some() || !path.is_of_cte) && is_called(table, alias.as_deref(), qualifier)
        });
        let tables: BTreeSet<TableName> = named.map(|(table, _)| table.clone()).collect();
        let name = name.clone();
        if !tables.is_empty() {
            return Some(Column { name, tables });
        }
        let is_row = path.is_of_cte && qualifier.is_empty();
        let is_own = self.aliases.contains(&name) || is_row;
        (!is_own).then(|| Column {
            name,
            tables: self.tables(),
        })
    }
}

/// Whether columns of a table are written with these parts before them.
fn is_called(table: &TableName, alias: Option<&str>, qualifier: &[String]) -> bool {
    match (alias, qualifier) {
        (_, []) => false,
        (Some(alias), [one]) => alias == one,
        (Some(_), _) => false,
        (None, parts) => {
            let called = TableName::of(parts.iter().map(String::as_str));
            called.is_some_and(|called| called.agrees(table))
        }
    }
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.alias(&table.alias);
        }
        self.ctes.push(Ctes::of(query));
        if let SetExpr::Select(select) = &*query.body {
            for item in &select.projection {
                if let SelectItem::ExprWithAlias { expr, alias } = item
                    && !matches!(expr, Expr::Identifier(name) if name.value.eq_ignore_ascii_case(&alias.value))
                {
                    self.aliases.insert(alias.value.to_lowercase());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.ctes.pop();
        // The queries of a WITH are visited before all others of the query around them.
        if let Some(around) = self.ctes.last_mut() {
            around.visited += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::UNNEST { alias, .. } = table
            && let Some(alias) = alias
        {
            self.alias(alias);
        }
        // With arguments it is a function.
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = table
        {
            let parts = name.0.iter().filter_map(|part| part.as_ident());
            let name = TableName::of(parts.map(|part| part.value.as_str()));
            let name = name.filter(|name| !(name.within.is_empty() && self.is_cte(&name.name)));
            let alias = alias.as_ref().map(|alias| alias.name.value.to_lowercase());
            self.tables.extend(name.map(|name| (name, alias)));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let path = match expr {
            Expr::Identifier(name) => std::slice::from_ref(name),
            Expr::CompoundIdentifier(names) => names.as_slice(),
            _ => return ControlFlow::Continue(()),
        };
        let parts = path.iter().map(|name| name.value.to_lowercase());
        let parts: Vec<String> = parts.collect();
        // With more parts the first one is a schema.
        let is_of_cte = matches!(&parts[..], [first] | [first, _] if self.is_cte(first));
        self.columns.insert(Path { parts, is_of_cte });
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sql: &str, columns: &[&str]) -> Order {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        Facts::of(sql).order(&columns)
    }

    #[test]
    fn order_counts_where_the_statement_itself_has_one() {
        assert_eq!(order("SELECT a FROM t", &["a"]), Order::Any);
        assert_eq!(
            order("SELECT a FROM (SELECT a FROM t ORDER BY a) x", &["a"]),
            Order::Any
        );
        assert_eq!(
            order("SELECT a, b FROM t ORDER BY 2 DESC, A", &["a", "b"]),
            Order::By(vec![1, 0])
        );
        assert_eq!(
            order(
                "SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT(*)",
                &["a", "count(*)"]
            ),
            Order::By(vec![1])
        );
        assert_eq!(
            order("SELECT t.a FROM t ORDER BY t.b", &["a"]),
            Order::Exact
        );
        assert_eq!(order("not SQL", &["a"]), Order::Any);
    }

    #[test]
    fn brackets_do_not_hide_the_order() {
        for sql in [
            "(SELECT a FROM t ORDER BY a)",
            "((SELECT a FROM t ORDER BY a))",
            "SELECT a FROM t ORDER BY (a)",
            "SELECT a FROM t ORDER BY (t.a) DESC",
        ] {
            assert_eq!(order(sql, &["a"]), Order::By(vec![0]), "{sql}");
        }
    }

    #[test]
    fn names_are_those_of_the_database() {
        let facts = Facts::of(
            "WITH best AS (SELECT c.Country, count(*) AS n FROM shop.Customers c GROUP BY 1) \
             SELECT country, n, o.total FROM best JOIN orders o ON o.id = n ORDER BY n",
        );
        assert_eq!(tables(&facts.tables), "orders shop.customers");
        let columns: Vec<&str> = facts.columns.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(columns, ["country", "id", "total"]);
    }

    /// Names of tables with what they are in.
    fn tables(tables: &BTreeSet<TableName>) -> String {
        let name = |one: &TableName| {
            [&one.within[..], std::slice::from_ref(&one.name)]
                .concat()
                .join(".")
        };
        tables.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn columns_are_of_the_tables_that_the_statement_names() {
        let (tables, columns) = read(
            "SELECT o.total AS orders, public.customers.name, city, x.n FROM archive.orders o \
             JOIN public.customers ON public.customers.id = o.customer_id \
             JOIN (SELECT count(*) AS n FROM generate_series(1, 3)) x ON true",
        );
        assert_eq!(tables, "archive.orders public.customers");
        assert_eq!(
            columns,
            [
                "city: archive.orders public.customers",
                "customer_id: archive.orders",
                "id: public.customers",
                "name: public.customers",
                "total: archive.orders",
            ]
        );
    }

    /// Tables of a statement, and its columns with the tables that each may be of.
    fn read(sql: &str) -> (String, Vec<String>) {
        let facts = Facts::of(sql);
        let columns = facts.columns.iter();
        let columns = columns.map(|one| format!("{}: {}", one.name, tables(&one.tables)));
        (tables(&facts.tables), columns.collect())
    }

    #[test]
    fn cte_with_the_name_of_a_table_reads_this_table() {
        let (tables, columns) = read(
            "WITH orders AS (SELECT * FROM orders WHERE paid) \
             SELECT o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id",
        );
        assert_eq!(tables, "customers orders");
        assert_eq!(
            columns,
            [
                "customer_id: customers orders",
                "id: customers",
                "name: customers",
                "paid: customers orders",
                "total: customers orders",
            ]
        );
        // What it computes is no column of the table.
        let (tables, columns) = read(
            "WITH orders AS (SELECT sum(orders.price) AS total FROM orders) \
             SELECT orders.total FROM orders",
        );
        assert_eq!(tables, "orders");
        assert_eq!(columns, ["price: orders"]);
    }

    #[test]
    fn cte_is_read_after_its_query_only() {
        let tables = |sql: &str| read(sql).0;
        let chain = "WITH a AS (SELECT x FROM t), b AS (SELECT x FROM a) SELECT x FROM b";
        assert_eq!(tables(chain), "t");
        let inner = "SELECT x FROM (WITH t AS (SELECT x FROM u) SELECT x FROM t) s JOIN t ON true";
        assert_eq!(tables(inner), "t u");
        let nested = "WITH t AS (SELECT x FROM u) SELECT x FROM v WHERE x IN (SELECT x FROM t)";
        assert_eq!(tables(nested), "u v");
        let again = "WITH t AS (SELECT x FROM u) SELECT x FROM (WITH t AS (SELECT x FROM t) SELECT x FROM t) s";
        assert_eq!(tables(again), "u");
    }

    #[test]
    fn recursive_cte_reads_itself() {
        let union = "boss AS (SELECT id FROM staff UNION ALL SELECT s.id FROM staff s JOIN boss b ON s.boss = b.id) \
                     SELECT id FROM boss";
        assert_eq!(read(&format!("WITH RECURSIVE {union}")).0, "staff");
        assert_eq!(read(&format!("WITH {union}")).0, "staff");
        let thrice = "WITH t AS (SELECT x FROM u UNION SELECT x FROM t UNION SELECT x FROM t) SELECT x FROM t";
        assert_eq!(read(thrice).0, "u");
        let table = "WITH t AS (SELECT x FROM t UNION SELECT x FROM u) SELECT x FROM t";
        assert_eq!(read(table).0, "t u");
    }

    #[test]
    fn alias_columns_are_not_those_of_the_database() {
        let (tables, columns) = read(
            "WITH t(cid, n) AS (SELECT customer_id, count(*) FROM orders GROUP BY 1) \
             SELECT c.name, t.n, m FROM t JOIN customers c ON c.id = t.cid \
             JOIN (SELECT max(total) FROM orders) AS x(m) ON n < m",
        );
        assert_eq!(tables, "customers orders");
        assert_eq!(
            columns,
            [
                "customer_id: customers orders",
                "id: customers",
                "name: customers",
                "total: customers orders",
            ]
        );
    }
}
