//! Texts in double quotes. SQLite takes `"Rome"` for a text where no column has that name. Its connector does not, so
//! that a misspelt column is an error and not a constant. So a name becomes a text only where a value is compared with,
//! and only if neither the statement nor one of its tables has that name.

use std::{collections::HashSet, ops::ControlFlow};

use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, ObjectName, ObjectNamePart, Query, Select, SelectItem, Value,
    Visit, VisitMut, Visitor, VisitorMut,
};

use super::{Headings, items::Words};
use crate::scope::Scope;
use mindhost_plugin_api::Dialect;

/// Columns that no catalog lists: the number of a row, by three names, and that of a full text search.
const HIDDEN: [&str; 4] = ["_rowid_", "oid", "rank", "rowid"];

impl Headings<'_> {
    /// Turns names in double quotes into texts, in a statement for SQLite.
    pub fn read_texts(&self, query: &mut Query, scope: &Scope) {
        let is_quoted = |words: &&Words<'_>| words.text().contains('"');
        let words = self.words.as_ref().filter(is_quoted);
        let (Some(words), Dialect::Sqlite) = (words, self.rules.dialect) else {
            return;
        };
        let mut found = FoundNames {
            words,
            names: HashSet::new(),
            ctes: HashSet::new(),
            relations: HashSet::new(),
        };
        if Visit::visit(&*query, &mut found).is_continue()
            && let Some(names) = found.with_columns(scope)
        {
            let _ = VisitMut::visit(query, &mut Texts { names });
        }
    }
}

/// What a statement names, in lower case.
struct FoundNames<'a> {
    words: &'a Words<'a>,
    /// Names that it gives to columns; a column without an alias is named by its text.
    names: HashSet<String>,
    ctes: HashSet<String>,
    /// The last parts of the names in FROM.
    relations: HashSet<String>,
}

impl FoundNames<'_> {
    /// The names of columns that the statement may mean; `None` if a relation is not known well enough to tell.
    fn with_columns(self, scope: &Scope) -> Option<HashSet<String>> {
        let Self {
            mut names,
            ctes: mut known,
            relations,
            words: _,
        } = self;
        let of_sqlite = scope
            .datasources
            .iter()
            .filter(|datasource| datasource.dialect == Dialect::Sqlite);
        for table in of_sqlite.flat_map(|datasource| &datasource.tables) {
            let name = table.table.name.to_ascii_lowercase();
            if !relations.contains(&name) {
                continue;
            }
            if table.columns.is_empty() {
                return None;
            }
            let columns = table.columns.iter();
            names.extend(columns.map(|column| column.to_ascii_lowercase()));
            known.insert(name);
        }
        relations.is_subset(&known).then_some(names)
    }
}

impl Visitor for FoundNames<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.ctes.insert(cte.alias.name.value.to_ascii_lowercase());
            let columns = cte.alias.columns.iter();
            self.names
                .extend(columns.map(|column| column.name.value.to_ascii_lowercase()));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.names.insert(alias.value.to_ascii_lowercase());
            }
        }
        let items = self.words.of_select(select.select_token.0.span.start);
        let texts = items
            .iter()
            .map(|item| item.text_and_comments.to_ascii_lowercase());
        self.names.extend(texts);
        ControlFlow::Continue(())
    }

    /// A function has no name in the scope, so that its columns are not known.
    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        match relation.0.last().and_then(ObjectNamePart::as_ident) {
            Some(name) => {
                self.relations.insert(name.value.to_ascii_lowercase());
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }
}

/// Puts the texts in place.
struct Texts {
    /// The names of columns that the statement may mean, in lower case.
    names: HashSet<String>,
}

impl Texts {
    fn compared(&self, operand: &mut Expr) {
        match operand {
            Expr::Nested(inner) => self.compared(inner),
            Expr::Identifier(name)
                if name.quote_style == Some('"') && !self.is_name(&name.value) =>
            {
                let text = Value::SingleQuotedString(name.value.clone());
                *operand = Expr::Value(text.with_span(name.span));
            }
            _ => {}
        }
    }

    fn is_name(&self, written: &str) -> bool {
        let name = written.to_ascii_lowercase();
        // The second column `id` of a subquery is called `id:1`.
        let first = match name.rsplit_once(':') {
            Some((first, number)) if is_number(number) => first,
            _ => name.as_str(),
        };
        // SQLite numbers the columns of VALUES.
        let is_numbered = name.strip_prefix("column").is_some_and(is_number);
        self.names.contains(&name)
            || self.names.contains(first)
            || is_numbered
            || HIDDEN.contains(&name.as_str())
    }
}

impl VisitorMut for Texts {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { op, right, .. } if compares(op) => self.compared(right),
            Expr::Like { pattern, .. } => self.compared(pattern),
            Expr::InList { list, .. } => list.iter_mut().for_each(|one| self.compared(one)),
            Expr::Between { low, high, .. } => {
                self.compared(low);
                self.compared(high);
            }
            Expr::Case {
                operand: Some(_),
                conditions,
                ..
            } => {
                for CaseWhen { condition, .. } in conditions {
                    self.compared(condition);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether an operator compares two values; those that SQLite alone has are words such as GLOB, and all do.
fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Custom(_)
    )
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::{
        guard,
        scope::Scope,
        tests::{shop, table},
    };
    use mindhost_plugin_api::Dialect;

    /// A shop whose columns are known.
    fn known() -> Scope {
        let mut scope = shop(Dialect::Sqlite);
        for table in &mut scope.datasources[0].tables {
            table.columns = ["id", "Name", "city", "vip"].map(str::to_owned).into();
        }
        scope
    }

    /// What follows WHERE in the text for the engine, which must pass again as it is.
    fn filter(condition: &str) -> String {
        let scope = known();
        let sql = format!("SELECT id FROM customers WHERE {condition}");
        let text = guard(&sql, &scope).unwrap().text().to_owned();
        assert_eq!(guard(&text, &scope).unwrap().text(), text);
        let start = r#"SELECT id FROM "main"."customers" WHERE "#;
        text.strip_prefix(start).unwrap().to_owned()
    }

    #[test]
    fn text_in_double_quotes_is_compared_as_a_text() {
        for (written, sent) in [
            (r#"name = "Robert""#, "name = 'Robert'"),
            (r#"name <> ("O'Hara")"#, "name <> ('O''Hara')"),
            (r#"name = """#, "name = ''"),
            (r#"city = "a ""b""""#, r#"city = 'a "b"'"#),
            (
                r#""city" = "Rome" AND id > 1"#,
                r#""city" = 'Rome' AND id > 1"#,
            ),
            (r#"name NOT LIKE "%a%""#, "name NOT LIKE '%a%'"),
            (r#"name GLOB "*a""#, "name GLOB '*a'"),
            (r#"name IS NOT "a""#, "name IS NOT 'a'"),
            (r#"name IN ("a", 'b', "c")"#, "name IN ('a', 'b', 'c')"),
            (r#"name BETWEEN "a" AND "b""#, "name BETWEEN 'a' AND 'b'"),
            (
                r#"CASE city WHEN "Rome" THEN 1 ELSE 0 END = 1"#,
                "CASE city WHEN 'Rome' THEN 1 ELSE 0 END = 1",
            ),
            (
                r#"id IN (SELECT id FROM orders WHERE name = "x")"#,
                r#"id IN (SELECT id FROM "main"."orders" WHERE name = 'x')"#,
            ),
        ] {
            assert_eq!(filter(written), sent);
        }
    }

    #[test]
    fn name_in_double_quotes_stays_a_name() {
        for condition in [
            r#"name = "city""#,
            r#"name = "NAME""#,
            r#""nme" = 'Robert'"#,
            r#"upper("nme") = 'A'"#,
            r#"id = "rowid""#,
            r#"name = customers."nme""#,
            "name = `Robert`",
            "name = [Robert]",
        ] {
            assert_eq!(filter(condition), condition);
        }
    }

    #[test]
    fn name_that_the_statement_gives_stays_a_name() {
        let scope = known();
        for (sql, kept) in [
            (
                r#"SELECT * FROM (SELECT id AS "total" FROM orders) AS o WHERE 1 < "Total""#,
                r#"1 < "Total""#,
            ),
            (
                r#"SELECT * FROM (SELECT id total FROM orders) AS o WHERE 1 < "total""#,
                r#"1 < "total""#,
            ),
            (
                r#"SELECT * FROM (SELECT id+1 FROM orders) AS o WHERE 1 < "id+1""#,
                r#"1 < "id+1""#,
            ),
            (
                r#"SELECT * FROM (SELECT a.id, b.id FROM orders a, orders b) AS o WHERE 1 < "id:1""#,
                r#"1 < "id:1""#,
            ),
            (
                r#"SELECT * FROM (VALUES (1)) AS v WHERE 1 < "column1""#,
                r#"1 < "column1""#,
            ),
            (
                r#"WITH a AS (SELECT 1 FROM b WHERE 1 < "y"), b("y") AS (SELECT 2) SELECT 1 FROM a"#,
                r#"1 < "y""#,
            ),
            (
                r#"SELECT count(*) AS n FROM orders GROUP BY city HAVING 1 < "n""#,
                r#"1 < "n""#,
            ),
            (
                r#"SELECT 1 FROM customers c, json_each(c.city) WHERE 'a' = "value""#,
                r#"'a' = "value""#,
            ),
        ] {
            let text = guard(sql, &scope).unwrap().text().to_owned();
            assert!(text.contains(kept), "{text}");
        }
    }

    #[test]
    fn without_a_catalog_nothing_is_a_text() {
        let sql = r#"SELECT id FROM customers WHERE name = "Robert""#;
        let text = guard(sql, &shop(Dialect::Sqlite))
            .unwrap()
            .text()
            .to_owned();
        assert!(text.ends_with(r#"name = "Robert""#), "{text}");
        // One table with unknown columns is enough.
        let mut scope = known();
        scope.datasources[0].tables.push(table("main", "extra"));
        let sql = r#"SELECT 1 FROM customers c, extra e WHERE name = "Robert""#;
        let text = guard(sql, &scope).unwrap().text().to_owned();
        assert!(text.ends_with(r#"name = "Robert""#), "{text}");
    }
}
