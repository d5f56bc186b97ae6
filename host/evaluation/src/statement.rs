//! What an accepted statement says about its result: its order, its rounding, the tables and columns that it needs.

mod aggregates;

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::{
    ast::{
        Expr, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
        Value, Visit, Visitor,
    },
    dialect::{self, Dialect},
    parser::Parser,
};

use crate::{cells::Rounding, compare::Order, table_name::TableName};

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
                Statement::Query(query) => Some(query),
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

    /// The digits that the statement rounds to.
    pub fn rounding(&self) -> Rounding {
        let mut found = Rounds::default();
        if let Some(query) = &self.query {
            let _ = query.visit(&mut found);
        }
        found.digits.map_or(Rounding::None, Rounding::To)
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

/// The column of the result that a term of ORDER BY names: by its number, its name, or its expression.
fn place(term: &Expr, columns: &[String], items: &[String]) -> Option<usize> {
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
    /// Tables, each with its alias.
    tables: BTreeSet<(TableName, Option<String>)>,
    /// The parts of each name of a column, its own name last.
    columns: BTreeSet<Vec<String>>,
    /// Tables that the statement itself makes.
    ctes: BTreeSet<String>,
    /// Columns that the statement itself makes.
    aliases: BTreeSet<String>,
}

impl Names {
    /// The tables of the database, each with its alias.
    fn known(&self) -> impl Iterator<Item = &(TableName, Option<String>)> {
        self.tables
            .iter()
            .filter(|(table, _)| !(table.within.is_empty() && self.ctes.contains(&table.name)))
    }

    fn tables(&self) -> BTreeSet<TableName> {
        self.known().map(|(table, _)| table.clone()).collect()
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
    fn column(&self, path: &[String]) -> Option<Column> {
        let (name, qualifier) = path.split_last()?;
        let named = self
            .known()
            .filter(|(table, alias)| is_called(table, alias.as_deref(), qualifier));
        let tables: BTreeSet<TableName> = named.map(|(table, _)| table.clone()).collect();
        let name = name.clone();
        if !tables.is_empty() {
            return Some(Column { name, tables });
        }
        let is_own = self.aliases.contains(&name) || self.ctes.contains(&name);
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
            self.ctes.insert(table.alias.name.value.to_lowercase());
        }
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

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
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
        let path = path.iter().map(|name| name.value.to_lowercase());
        self.columns.insert(path.collect());
        ControlFlow::Continue(())
    }
}

/// The most digits of `round(…, digits)`.
#[derive(Default)]
struct Rounds {
    digits: Option<u32>,
}

impl Visitor for Rounds {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && function.name.to_string().eq_ignore_ascii_case("round")
        {
            let text = function.args.to_string();
            let last = text
                .trim_end_matches(')')
                .rsplit(',')
                .next()
                .filter(|_| text.contains(','));
            let digits = last.and_then(|last| last.trim().parse().ok()).unwrap_or(0);
            self.digits = self.digits.max(Some(digits));
        }
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
        let facts = Facts::of(
            "SELECT o.total AS orders, public.customers.name, city, x.n FROM archive.orders o \
             JOIN public.customers ON public.customers.id = o.customer_id \
             JOIN (SELECT count(*) AS n FROM generate_series(1, 3)) x ON true",
        );
        assert_eq!(tables(&facts.tables), "archive.orders public.customers");
        let columns = facts.columns.iter();
        let columns = columns.map(|one| format!("{}: {}", one.name, tables(&one.tables)));
        let columns: Vec<String> = columns.collect();
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

    #[test]
    fn rounding_is_that_of_the_statement() {
        assert_eq!(
            Facts::of("SELECT round(avg(a), 2) FROM t").rounding(),
            Rounding::To(2)
        );
        assert_eq!(
            Facts::of("SELECT ROUND(a) FROM t").rounding(),
            Rounding::To(0)
        );
        assert_eq!(Facts::of("SELECT a FROM t").rounding(), Rounding::None);
    }
}
