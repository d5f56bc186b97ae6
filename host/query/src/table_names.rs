//! Names of tables that DataFusion takes for columns.
//!
//! In a subquery it reads `city.name` as a field of the subquery's own column `city`, also where `city` is a table of
//! the query around it. A statement that it refuses for this is planned again, with a name of our own for each table.
//! It refuses none whose column `city` has no type at all, as of `SELECT NULL AS city`: each field of it is NULL.

use std::{borrow::Cow, collections::HashMap, ops::ControlFlow};

use datafusion::error::DataFusionError;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableAlias, TableFactor, VisitMut as _, VisitorMut,
};

use super::names::folded;

/// The names of our own, with a number behind.
const TABLE: &str = "__table_";
/// What DataFusion says of a field of a column that has none.
const REFUSAL: &str = "Cannot access field at argument";

/// Whether a statement may have been refused because a column hides a table.
pub fn are_hidden(error: &DataFusionError) -> bool {
    let root = error.find_root();
    let of_planner = !matches!(root, DataFusionError::External(_));
    of_planner && root.strip_backtrace().contains(REFUSAL)
}

/// Whether an error has names that the caller did not write.
pub fn are_in(error: &DataFusionError) -> bool {
    error.strip_backtrace().contains(TABLE)
}

/// Names of our own with those that the caller wrote.
#[derive(Default)]
pub struct Written(Vec<(String, String)>);

impl Written {
    /// Puts the caller's names into a text of the plan.
    pub fn restored<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut restored = Cow::Borrowed(text);
        // From the last one back: the name of the first one is the beginning of that of the tenth.
        for (own, written) in self.0.iter().rev() {
            if restored.contains(own) {
                restored = Cow::Owned(restored.replace(own, written));
            }
        }
        restored
    }
}

/// Gives the tables names of our own.
pub fn make(statement: &mut Statement) -> Written {
    let mut found = Found::default();
    let _ = statement.visit(&mut found);
    let own = found.own();
    let mut written: Vec<(String, String)> = own
        .iter()
        .map(|(written, (own, _))| (own.value.clone(), written.clone()))
        .collect();
    written.sort_by_key(|(own, _)| (own.len(), own.clone()));
    let _ = statement.visit(&mut Renaming(own));
    Written(written)
}

/// What one name stands for in the FROM clauses of a statement.
#[derive(Clone, Debug, PartialEq)]
enum Meaning {
    /// It is an alias.
    Alias,
    /// It is this table, without an alias.
    Table(Vec<String>),
    /// It keeps its name: it is several of these, or the alias of a function, which may be the name of its column too.
    Kept,
}

#[derive(Default)]
struct Found {
    meanings: HashMap<String, Meaning>,
    in_order: Vec<String>,
}

impl Found {
    fn add(&mut self, name: String, meaning: Meaning) {
        match self.meanings.get_mut(&name) {
            Some(known) if *known == meaning => {}
            Some(known) => *known = Meaning::Kept,
            None => {
                self.in_order.push(name.clone());
                self.meanings.insert(name, meaning);
            }
        }
    }

    fn own(self) -> HashMap<String, (Ident, Meaning)> {
        let mut numbers = 1..;
        let mut own = HashMap::new();
        for name in self.in_order {
            let free = numbers
                .by_ref()
                .map(|number| format!("{TABLE}{number}"))
                .find(|free| !self.meanings.contains_key(free));
            let meaning = self.meanings.get(&name);
            if let (Some(free), Some(meaning)) = (free, meaning.filter(|m| **m != Meaning::Kept)) {
                own.insert(name, (Ident::with_quote('"', free), meaning.clone()));
            }
        }
        own
    }
}

impl VisitorMut for Found {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match renamable(factor) {
            Some((_, Some(alias))) => self.add(folded(&alias.name), Meaning::Alias),
            Some((Some(name), None)) => {
                let parts: Vec<String> = idents(name).map(folded).collect();
                if let Some(last) = parts.last() {
                    self.add(last.clone(), Meaning::Table(parts));
                }
            }
            Some((None, None)) => {}
            None => {
                if let TableFactor::Table { alias, .. }
                | TableFactor::Function { alias, .. }
                | TableFactor::TableFunction { alias, .. }
                | TableFactor::UNNEST { alias, .. }
                | TableFactor::NestedJoin { alias, .. } = factor
                    && let Some(alias) = alias
                {
                    self.add(folded(&alias.name), Meaning::Kept);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name, if it has one, and the alias of what can get a name of our own: a table or a subquery.
fn renamable(factor: &mut TableFactor) -> Option<(Option<&ObjectName>, &mut Option<TableAlias>)> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => Some((Some(name), alias)),
        TableFactor::Derived { alias, .. } => Some((None, alias)),
        _ => None,
    }
}

/// Puts the names of our own in place of the others.
struct Renaming(HashMap<String, (Ident, Meaning)>);

impl Renaming {
    /// The name of our own for what stands before a column or `.*`.
    fn of(&self, qualifier: &[Ident]) -> Option<Ident> {
        let (own, meaning) = self.0.get(&folded(qualifier.last()?))?;
        let is_meant = match (qualifier, meaning) {
            ([_], _) => true,
            (parts, Meaning::Table(table)) => parts.iter().map(folded).eq(table.iter().cloned()),
            _ => false,
        };
        is_meant.then(|| own.clone())
    }

    fn rename_wildcard(&self, qualifier: &mut ObjectName) {
        let parts: Vec<Ident> = idents(qualifier).cloned().collect();
        if let Some(own) = self.of(&parts) {
            *qualifier = ObjectName::from(vec![own]);
        }
    }
}

impl VisitorMut for Renaming {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let Some((name, alias)) = renamable(factor) else {
            return ControlFlow::Continue(());
        };
        let written = match alias {
            Some(alias) => Some(&alias.name),
            None => name.and_then(|name| idents(name).last()),
        };
        if let Some(own) = written.and_then(|name| self.of(std::slice::from_ref(name))) {
            match alias {
                Some(alias) => alias.name = own,
                None => {
                    *alias = Some(TableAlias {
                        explicit: true,
                        name: own,
                        columns: Vec::new(),
                        at: None,
                    });
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
            {
                self.rename_wildcard(name);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundIdentifier(parts) => {
                if let Some((column, qualifier)) = parts.split_last()
                    && let Some(own) = self.of(qualifier)
                {
                    *parts = vec![own, column.clone()];
                }
            }
            // `count(city.*)`
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &mut function.args {
                    for arg in &mut list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = arg
                        {
                            self.rename_wildcard(name);
                        }
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn idents(name: &ObjectName) -> impl Iterator<Item = &Ident> {
    name.0.iter().filter_map(|part| part.as_ident())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::{dialect::GenericDialect, parser::Parser};

    #[test]
    fn each_table_gets_a_name_wherever_it_is_named() {
        for (written, expected) in [
            (
                "SELECT s.id, s.* FROM w.m.a AS s WHERE EXISTS (SELECT 1 FROM w.m.b t WHERE t.id = S.id)",
                r#"SELECT "__table_1".id, "__table_1".* FROM w.m.a AS "__table_1" WHERE EXISTS (SELECT 1 FROM w.m.b "__table_2" WHERE "__table_2".id = "__table_1".id)"#,
            ),
            (
                "SELECT city.x, w.m.city.y FROM w.m.city, (SELECT 1 AS k) d WHERE d.k = city.x",
                r#"SELECT "__table_1".x, "__table_1".y FROM w.m.city AS "__table_1", (SELECT 1 AS k) "__table_2" WHERE "__table_2".k = "__table_1".x"#,
            ),
            // A name in capitals is another name when it is in quotes.
            (
                r#"SELECT "A".x, a.x FROM w.m.b "A", w.m.c a"#,
                r#"SELECT "__table_1".x, "__table_2".x FROM w.m.b "__table_1", w.m.c "__table_2""#,
            ),
            // Two tables of one name keep it.
            (
                "SELECT v.m.a.x, w.m.a.x FROM v.m.a, w.m.a",
                "SELECT v.m.a.x, w.m.a.x FROM v.m.a, w.m.a",
            ),
            (
                "WITH s AS (SELECT 1 AS id) SELECT s.id, count(s.*) FROM s",
                r#"WITH s AS (SELECT 1 AS id) SELECT "__table_1".id, count("__table_1".*) FROM s AS "__table_1""#,
            ),
            (
                "SELECT a.x FROM w.m.a, unnest(a.y) AS __table_1",
                r#"SELECT "__table_2".x FROM w.m.a AS "__table_2", UNNEST("__table_2".y) AS __table_1"#,
            ),
        ] {
            let parsed = Parser::parse_sql(&GenericDialect {}, written).unwrap();
            let [mut statement] = <[Statement; 1]>::try_from(parsed).unwrap();
            make(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }

    #[test]
    fn the_callers_names_are_put_back() {
        let tables = (1..=10).map(|n| format!("w.m.t{n}"));
        let sql = format!("SELECT 1 FROM {}", tables.collect::<Vec<_>>().join(", "));
        let mut parsed = Parser::parse_sql(&GenericDialect {}, &sql).unwrap();
        let written = make(&mut parsed[0]);
        let plan = "max(__table_10.id) + __table_1.k";
        assert_eq!(written.restored(plan), "max(t10.id) + t1.k");
    }
}
