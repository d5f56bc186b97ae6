//! Names of tables that DataFusion takes for columns.
//!
//! In a subquery it reads `city.name` as a field of the subquery's own column `city`, also where `city` is a table of
//! the query around it. A statement that it refuses for this is planned again, with a name of our own for each table.

use std::{collections::HashMap, ops::ControlFlow};

use datafusion::error::DataFusionError;
use sqlparser::ast::{
    Expr, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement,
    TableAlias, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

/// The names of our own, with a number behind.
const TABLE: &str = "__table_";
/// What DataFusion says of a field of a value that has none.
const REFUSAL: &str = "Cannot access field at argument";

/// Whether a statement may have been refused because a column hides a table.
pub fn are_hidden(error: &DataFusionError) -> bool {
    let root = error.find_root();
    let of_planner = !matches!(root, DataFusionError::External(_));
    of_planner && root.strip_backtrace().contains(REFUSAL)
}

/// Gives the tables names that no column has.
pub fn make(statement: &mut Statement) {
    let mut found = Found::default();
    let _ = Visit::visit(statement, &mut found);
    let _ = VisitMut::visit(statement, &mut Renaming(found.own()));
}

/// What one name stands for in the FROM clauses of a statement.
#[derive(Clone, Debug, PartialEq)]
enum Meaning {
    /// What has it as an alias.
    Alias,
    /// This table, without an alias.
    Table(Vec<String>),
    /// Several of these, which are not told apart here.
    Several,
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
            Some(known) => *known = Meaning::Several,
            None => {
                self.in_order.push(name.clone());
                self.meanings.insert(name, meaning);
            }
        }
    }

    fn own(mut self) -> HashMap<String, (Ident, Meaning)> {
        let mut own = HashMap::new();
        for (index, name) in self.in_order.into_iter().enumerate() {
            let meaning = self.meanings.remove(&name);
            if let Some(meaning @ (Meaning::Alias | Meaning::Table(_))) = meaning {
                let ident = Ident::with_quote('"', format!("{TABLE}{}", index + 1));
                own.insert(name, (ident, meaning));
            }
        }
        own
    }
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                alias: Some(alias),
                args: None,
                ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            } => self.add(folded(&alias.name), Meaning::Alias),
            TableFactor::Table {
                name, args: None, ..
            } => {
                let parts = parts(name);
                if let Some(last) = parts.last() {
                    self.add(last.clone(), Meaning::Table(parts));
                }
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => {
                if let Some(alias) = alias {
                    self.add(folded(&alias.name), Meaning::Several);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
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

    fn rename(&self, alias: &mut TableAlias) {
        if let Some(own) = self.of(std::slice::from_ref(&alias.name)) {
            alias.name = own;
        }
    }
}

impl VisitorMut for Renaming {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                alias: Some(alias),
                args: None,
                ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            } => self.rename(alias),
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                *alias = last
                    .and_then(|last| self.of(std::slice::from_ref(last)))
                    .map(|name| TableAlias {
                        explicit: true,
                        name,
                        columns: Vec::new(),
                        at: None,
                    });
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
                && let parts = name.0.iter().filter_map(|part| part.as_ident().cloned())
                && let Some(own) = self.of(&parts.collect::<Vec<_>>())
            {
                *name = ObjectName::from(vec![own]);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some((column, qualifier)) = parts.split_last()
            && let Some(own) = self.of(qualifier)
        {
            *parts = vec![own, column.clone()];
        }
        ControlFlow::Continue(())
    }
}

fn parts(name: &ObjectName) -> Vec<String> {
    let idents = name.0.iter().filter_map(|part| part.as_ident());
    idents.map(folded).collect()
}

/// A name as DataFusion compares it.
fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
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
                "WITH s AS (SELECT 1 AS id) SELECT s.id FROM s",
                r#"WITH s AS (SELECT 1 AS id) SELECT "__table_1".id FROM s AS "__table_1""#,
            ),
        ] {
            let parsed = Parser::parse_sql(&GenericDialect {}, written).unwrap();
            let [mut statement] = <[Statement; 1]>::try_from(parsed).unwrap();
            make(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
