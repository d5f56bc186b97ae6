//! Names of columns without an alias. An engine names such a column after the text of its expression, and the guard
//! writes that text anew. So the name that the engine would give for the caller's text is made here: as an alias in the
//! text, which the statement itself may refer to, and for the columns of the result.

mod items;
mod texts;

use std::ops::ControlFlow;

use sqlparser::{
    ast::{
        Expr, Ident, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
        UnaryOperator, Value, Values, VisitMut as _, VisitorMut,
    },
    tokenizer::TokenWithSpan,
};

use self::items::{Item, Words, cast_types, function_names};
use super::{
    column_names::{ColumnNames, Heading},
    lexical::{self, Source},
    rules::Rules,
    walk::prints_exactly,
};
use mindhost_plugin_api::Dialect;

/// Bytes of a name of a column in MariaDB and MySQL; they cut a longer one.
const MYSQL_BYTES: usize = 255;

/// Bytes of an alias for a column of the result. The host puts in longer names, so that the text stays readable.
const MAX_ALIAS_BYTES: usize = 255;

/// How the caller wrote the columns, for an engine that names them after that.
pub(super) struct Headings<'a> {
    rules: &'static Rules,
    words: Option<Words<'a>>,
}

/// What keeps the names of the caller.
#[derive(Default)]
pub(super) struct Kept {
    /// The aliases that were added to the statement.
    pub aliases: Vec<String>,
    /// The names of the columns of its result.
    pub names: ColumnNames,
}

/// Whose columns a SELECT names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Those of the result.
    Result,
    /// Those of a subquery in FROM or WITH, to which the statement may refer.
    Table,
    /// None: it stands behind UNION, or its columns have other names.
    Unnamed,
}

impl<'a> Headings<'a> {
    /// Reads the words of a statement; none if the engine of this dialect does not name columns after its text.
    pub fn of(source: &Source<'a>, tokens: &[TokenWithSpan], rules: &'static Rules) -> Self {
        let is_named_by_text = matches!(
            rules.dialect,
            Dialect::Sqlite | Dialect::Mysql | Dialect::Datafusion | Dialect::Clickhouse
        );
        // The parser does not say where the words in such a comment stand.
        let has_code = rules.dialect == Dialect::Mysql && source.text().contains("/*!");
        Self {
            rules,
            words: (is_named_by_text && !has_code).then(|| Words::of(source, tokens)),
        }
    }

    /// Adds an alias where the name can be one and the statement may need it, and gives the names for the result.
    pub fn keep_in(&self, query: &mut Query) -> Kept {
        let mut kept = Kept::default();
        if let Some(words) = &self.words {
            let naming = Naming {
                rules: self.rules,
                words,
            };
            let headings = naming.query(query, Role::Result, &mut kept.aliases);
            kept.names = ColumnNames::new(headings);
            let _ = query.visit(&mut Subqueries {
                naming,
                aliases: &mut kept.aliases,
            });
        }
        kept
    }
}

/// Names what the subqueries in expressions read. It meets those in FROM again, which have their aliases already.
struct Subqueries<'a> {
    naming: Naming<'a>,
    aliases: &'a mut Vec<String>,
}

impl VisitorMut for Subqueries<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.naming.query(query, Role::Unnamed, self.aliases);
        ControlFlow::Continue(())
    }
}

struct Naming<'a> {
    rules: &'static Rules,
    words: &'a Words<'a>,
}

impl Naming<'_> {
    fn query(&self, query: &mut Query, role: Role, aliases: &mut Vec<String>) -> Vec<Heading> {
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let role = table_role(cte.alias.columns.is_empty());
            self.query(&mut cte.query, role, aliases);
        }
        self.body(&mut query.body, role, aliases)
    }

    /// The headings of a body; those of a set operation are of its first SELECT.
    fn body(&self, body: &mut SetExpr, role: Role, aliases: &mut Vec<String>) -> Vec<Heading> {
        match body {
            SetExpr::Select(select) => self.select(select, role, aliases),
            SetExpr::Query(query) => self.query(query, role, aliases),
            SetExpr::SetOperation { left, right, .. } => {
                let headings = self.body(left, role, aliases);
                self.body(right, Role::Unnamed, aliases);
                headings
            }
            SetExpr::Values(values) if role == Role::Result => self.values(values),
            _ => Vec::new(),
        }
    }

    fn select(&self, select: &mut Select, role: Role, aliases: &mut Vec<String>) -> Vec<Heading> {
        for table in &mut select.from {
            self.tables(table, aliases);
        }
        if role == Role::Unnamed {
            return Vec::new();
        }
        let items = self.words.of_select(select.select_token.0.span.start);
        if items.len() != select.projection.len() {
            return Vec::new();
        }
        let named = select.projection.iter_mut().zip(&items);
        named
            .map(|(item, written)| {
                let heading = self.heading(item, written, role);
                if let Some(alias) = self.alias(item, &heading, role) {
                    aliases.push(alias);
                }
                heading
            })
            .collect()
    }

    fn tables(&self, table: &mut TableWithJoins, aliases: &mut Vec<String>) {
        let joined = table.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut table.relation).chain(joined) {
            match factor {
                TableFactor::Derived {
                    subquery, alias, ..
                } => {
                    let is_named = alias.as_ref().is_none_or(|alias| alias.columns.is_empty());
                    self.query(subquery, table_role(is_named), aliases);
                }
                TableFactor::NestedJoin {
                    table_with_joins, ..
                } => self.tables(table_with_joins, aliases),
                _ => {}
            }
        }
    }

    /// MariaDB names the columns of VALUES after the first row; SQLite and DataFusion number them.
    fn values(&self, values: &Values) -> Vec<Heading> {
        let Some(row) = values.rows.first() else {
            return Vec::new();
        };
        let items = self.words.of_values();
        if self.rules.dialect != Dialect::Mysql || items.len() != row.content.len() {
            return Vec::new();
        }
        let named = row.content.iter().zip(&items);
        named
            .map(|(expr, written)| self.of_expr(expr, written, Role::Result))
            .collect()
    }

    fn heading(&self, item: &SelectItem, written: &Item<'_>, role: Role) -> Heading {
        match item {
            SelectItem::UnnamedExpr(expr) => self.of_expr(expr, written, role),
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                Heading::Star(item.to_string())
            }
            _ => Heading::OfEngine,
        }
    }

    fn of_expr(&self, expr: &Expr, written: &Item<'_>, role: Role) -> Heading {
        if self.rules.dialect == Dialect::Clickhouse {
            return self.spellings(expr, written);
        }
        if self.has_own_name(expr, role) {
            return Heading::OfEngine;
        }
        let text = match self.rules.dialect {
            Dialect::Sqlite => written.text_and_comments,
            _ => written.text,
        };
        Heading::Text {
            text: self.as_name(text),
            sent: self.as_name(&expr.to_string()),
        }
    }

    /// Whether the engine gives an expression a name that is not its text: that of a column, also in brackets.
    fn has_own_name(&self, mut expr: &Expr, role: Role) -> bool {
        let dialect = self.rules.dialect;
        loop {
            expr = match expr {
                Expr::Nested(inner) => inner,
                Expr::UnaryOp {
                    op: UnaryOperator::Plus,
                    expr,
                } if dialect == Dialect::Mysql => expr,
                Expr::Collate { expr, .. } if dialect == Dialect::Sqlite && role == Role::Table => {
                    expr
                }
                _ => break,
            };
        }
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
            // A text is named by its value, TRUE and NULL in capitals; a hexadecimal number has no name of its own.
            Expr::Value(value) if dialect == Dialect::Mysql => match &value.value {
                Value::Number(digits, _) => !digits.starts_with("0x"),
                Value::SingleQuotedString(_) | Value::Boolean(_) | Value::Null => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// The name that the engine makes of a text.
    fn as_name(&self, text: &str) -> String {
        if self.rules.dialect != Dialect::Mysql {
            return text.to_owned();
        }
        // Names are in three bytes a character at most.
        let three_bytes = |letter: char| match letter > '\u{FFFF}' {
            true => '?',
            false => letter,
        };
        let mut name: String = text.chars().map(three_bytes).collect();
        let mut end = name.len().min(MYSQL_BYTES);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
        name
    }

    /// ClickHouse names a column after what it has read: `plus(1, 1)`. In that name types and functions are as they
    /// were written.
    fn spellings(&self, expr: &Expr, written: &Item<'_>) -> Heading {
        let printed = lexical::tokenise(&expr.to_string(), self.rules).unwrap_or_default();
        let type_in_name = |name: String| format!(", '{}')", name.replace('\'', r"\'"));
        let types = |tokens: &[TokenWithSpan]| -> Vec<String> {
            cast_types(tokens).into_iter().map(type_in_name).collect()
        };
        let functions = |tokens: &[TokenWithSpan]| -> Vec<String> {
            let names = function_names(tokens).into_iter();
            names.map(|name| format!("{name}(")).collect()
        };
        let mut spellings = changes(types(&printed), types(written.tokens));
        spellings.extend(changes(functions(&printed), functions(written.tokens)));
        // A piece of a text that reads the same cannot be told from it.
        let is_in_text = |token: &TokenWithSpan| {
            let text = token.to_string();
            text.starts_with('\'') && spellings.iter().any(|(sent, _)| is_part(sent, &text))
        };
        match spellings.is_empty() || written.tokens.iter().any(is_in_text) {
            true => Heading::OfEngine,
            false => Heading::Spellings(spellings),
        }
    }

    /// Gives an item its name as an alias, if something may refer to it. Returns the alias.
    fn alias(&self, item: &mut SelectItem, heading: &Heading, role: Role) -> Option<String> {
        let (Heading::Text { text, sent }, SelectItem::UnnamedExpr(expr)) = (heading, &*item)
        else {
            return None;
        };
        let quote = self.rules.quote();
        // DataFusion's own name for an expression in FROM is none that a caller would write.
        let is_other =
            text != sent || (self.rules.dialect == Dialect::Datafusion && role == Role::Table);
        let can_be = match role {
            // The host puts in what is no plain alias.
            Role::Result => is_plain(text),
            _ => !text.is_empty() && prints_exactly(text, quote),
        };
        if !is_other || !can_be {
            return None;
        }
        let (expr, alias) = (expr.clone(), Ident::with_quote(quote, text.as_str()));
        *item = SelectItem::ExprWithAlias { expr, alias };
        Some(text.clone())
    }
}

/// Pieces as the engine writes them, for those of the caller: what is another one, where each piece stands for one
/// other. None if the two lists do not go together.
fn changes(sent: Vec<String>, by_caller: Vec<String>) -> Vec<(String, String)> {
    let is_same_length = sent.len() == by_caller.len();
    let mut pairs: Vec<(String, String)> = sent.into_iter().zip(by_caller).collect();
    pairs.sort();
    pairs.dedup();
    let is_one_to_one = pairs.windows(2).all(|pair| pair[0].0 != pair[1].0);
    pairs.retain(|(sent, by_caller)| sent != by_caller);
    match is_same_length && is_one_to_one {
        true => pairs,
        false => Vec::new(),
    }
}

/// Whether a literal of the caller may have a piece of a name in it.
fn is_part(sent: &str, literal: &str) -> bool {
    let piece = sent.trim_start_matches(", '").trim_end_matches("')");
    literal.contains(piece)
}

fn table_role(is_named: bool) -> Role {
    match is_named {
        true => Role::Table,
        false => Role::Unnamed,
    }
}

/// Whether a text can be an alias that is easy to read.
fn is_plain(text: &str) -> bool {
    let plain = |letter: char| !letter.is_control() && !['"', '`', '\\', '#'].contains(&letter);
    !text.is_empty()
        && text.len() <= MAX_ALIAS_BYTES
        && text.chars().all(plain)
        && !text.contains("--")
        && !text.contains("/*")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{guard, tests::shop};
    use mindhost_plugin_api::{Column, DataType, Dialect};

    fn text(sql: &str, dialect: Dialect) -> String {
        guard(sql, &shop(dialect)).unwrap().text().to_owned()
    }

    /// The names of a result to which the engine gives these.
    fn names(sql: &str, dialect: Dialect, engine: &[&str]) -> Vec<String> {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            data_type: DataType::Text,
            native_type: "text".to_owned(),
            nullable: true,
        };
        let columns: Arc<[Column]> = engine.iter().map(column).collect();
        let named = guard(sql, &shop(dialect)).unwrap().named(&columns);
        named.iter().map(|column| column.name.clone()).collect()
    }

    #[test]
    fn expression_keeps_the_text_that_the_engine_takes_for_its_name() {
        let check = |sql: &str, expected: &str| assert_eq!(text(sql, Dialect::Sqlite), expected);
        check("SELECT 1 + 1", "SELECT 1 + 1");
        check("SELECT 1+1", r#"SELECT 1 + 1 AS "1+1""#);
        check(
            "SELECT 1+1, 'a,b', (2), max( 1,2 ) m, 0x1F",
            r#"SELECT 1 + 1 AS "1+1", 'a,b', (2), max(1, 2) AS m, 31 AS "0x1F""#,
        );
        check(
            "(SELECT DISTINCT  1+1) UNION SELECT 2+2",
            r#"(SELECT DISTINCT 1 + 1 AS "1+1") UNION SELECT 2 + 2"#,
        );
        check(
            "WITH x AS (SELECT 1+2 AS n) SELECT 1 IS DISTINCT FROM  2, n FROM x",
            r#"WITH x AS (SELECT 1 + 2 AS n) SELECT 1 IS DISTINCT FROM 2 AS "1 IS DISTINCT FROM  2", n FROM x"#,
        );
        assert_eq!(
            text("SELECT 1+1", Dialect::Datafusion),
            r#"SELECT 1 + 1 AS "1+1""#
        );
        assert_eq!(text("SELECT 1+1", Dialect::Mysql), "SELECT 1 + 1 AS `1+1`");
        assert_eq!(text("SELECT 1+1", Dialect::Postgresql), "SELECT 1 + 1");
    }

    #[test]
    fn list_ends_at_no_word_that_is_part_of_it() {
        for (sql, dialect, expected) in [
            (
                "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total), 1+1 FROM orders",
                Dialect::Datafusion,
                "percentile_cont(0.5) WITHIN GROUP (ORDER BY total)|1+1",
            ),
            (
                "SELECT DISTINCT ON (city, (id)) upper( city ), id+1 FROM customers",
                Dialect::Datafusion,
                "upper( city )|id+1",
            ),
            (
                "SELECT ALL 1+1, (1), 1+2 FROM customers",
                Dialect::Sqlite,
                "1+1|(1)|1+2",
            ),
            ("SELECT x'41' LIMIT 1", Dialect::Sqlite, "x'41'"),
            ("SELECT x'41' LIMIT 1", Dialect::Mysql, "x'41'"),
        ] {
            let expected: Vec<&str> = expected.split('|').collect();
            let engine = vec!["?"; expected.len()];
            assert_eq!(names(sql, dialect, &engine), expected, "{sql}");
        }
    }

    #[test]
    fn subquery_of_an_expression_may_refer_to_a_name_that_is_a_text() {
        let sql = r#"SELECT id FROM customers WHERE id IN (SELECT "id+1" FROM (SELECT id+1 FROM customers) AS s)"#;
        let expected = r#"(SELECT id + 1 AS "id+1" FROM"#;
        let text = text(sql, Dialect::Sqlite);
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn text_that_is_no_plain_alias_is_a_name_of_the_host() {
        for (sql, name) in [
            ("SELECT 1+1 /* \" */ +2", "1+1 /* \" */ +2"),
            ("SELECT 1+\n1", "1+\n1"),
            ("SELECT 1+1 -- x\n+2", "1+1 -- x\n+2"),
            ("SELECT 'a\"'||'b'", "'a\"'||'b'"),
            ("SELECT '\\'||'b'", "'\\'||'b'"),
            (
                "SELECT\n 1+1 /* behind */\nFROM customers",
                "1+1 /* behind */",
            ),
            (
                "WITH x AS (SELECT 1) (SELECT 1+'\"') UNION SELECT 1*1",
                "1+'\"'",
            ),
        ] {
            let text = text(sql, Dialect::Sqlite);
            assert!(!text.contains(" AS \""), "{text}");
            assert_eq!(names(sql, Dialect::Sqlite, &["?"]), [name]);
        }
        let long = format!("SELECT 1{}", "+1".repeat(200));
        assert!(!text(&long, Dialect::Sqlite).contains(" AS "));
        assert_eq!(names(&long, Dialect::Sqlite, &["?"]), [&long[7..]]);
        // SQLite numbers the columns of VALUES.
        assert_eq!(
            names("VALUES (1+1)", Dialect::Sqlite, &["column1"]),
            ["column1"]
        );
    }

    #[test]
    fn names_are_those_that_mariadb_makes_of_the_text() {
        let check = |sql: &str, expected: &[&str]| {
            let engine = vec!["?"; expected.len()];
            assert_eq!(names(sql, Dialect::Mysql, &engine), expected, "{sql}");
        };
        // What it does not name after the text is the engine's.
        check(
            "SELECT 'a', (2), +3, null, TRUE, (id), +id, `id`, name FROM customers",
            &["?"; 9],
        );
        check(
            "SELECT 1+1 /* behind */, concat('\"'), (1+ 1), -1, x'41' # ,3\n, id+1",
            &["1+1", "concat('\"')", "(1+ 1)", "-1", "x'41'", "id+1"],
        );
        check("SELECT concat('\u{1F600}#')", &["concat('?#')"]);
        check("VALUES (1+1, '\"'), (3, 4)", &["1+1", "?"]);
        let long = format!("SELECT concat('{}')", "\u{65E5}".repeat(100));
        let [name] = names(&long, Dialect::Mysql, &["?"]).try_into().unwrap();
        assert_eq!(name.len(), 254);
        assert!(long[7..].starts_with(&name));
    }

    #[test]
    fn expression_in_from_has_the_name_by_which_it_is_called() {
        let check = |sql: &str, dialect, expected: &str| assert_eq!(text(sql, dialect), expected);
        check(
            "SELECT * FROM (SELECT 1+1, (id), count( * ) FROM customers) x",
            Dialect::Sqlite,
            r#"SELECT * FROM (SELECT 1 + 1 AS "1+1", (id), count(*) AS "count( * )" FROM "main"."customers") x"#,
        );
        check(
            "WITH x AS (SELECT 1+1), y(n) AS (SELECT 2+2) SELECT `1+1`, n FROM x, y",
            Dialect::Mysql,
            "WITH x AS (SELECT 1 + 1 AS `1+1`), y (n) AS (SELECT 2 + 2) SELECT `1+1`, n FROM x, y",
        );
        check(
            "SELECT * FROM (SELECT 1 + 1) AS x",
            Dialect::Datafusion,
            r#"SELECT * FROM (SELECT 1 + 1 AS "1 + 1") AS x"#,
        );
        // Quotes are doubled where the alias is needed.
        check(
            "SELECT * FROM (SELECT 'a\"'||'b') x",
            Dialect::Sqlite,
            r#"SELECT * FROM (SELECT 'a"' || 'b' AS "'a""'||'b'") x"#,
        );
    }

    #[test]
    fn names_are_counted_around_stars() {
        assert_eq!(
            names(
                "SELECT 1+'\"', c.*, 2+'\"' FROM customers c",
                Dialect::Sqlite,
                &["?", "id", "name", "?"]
            ),
            ["1+'\"'", "id", "name", "2+'\"'"]
        );
    }

    #[test]
    fn words_that_may_be_names_end_no_item() {
        assert_eq!(
            text(
                "SELECT id+ offset, 1+1 FROM customers LIMIT 1",
                Dialect::Sqlite
            ),
            r#"SELECT id + offset AS "id+ offset", 1 + 1 AS "1+1" FROM "main"."customers" LIMIT 1"#
        );
        assert_eq!(
            text(
                "SELECT case when offset > 1 then 2 end LIMIT 1",
                Dialect::Sqlite
            ),
            r#"SELECT CASE WHEN offset > 1 THEN 2 END AS "case when offset > 1 then 2 end" LIMIT 1"#
        );
    }

    #[test]
    fn spellings_in_names_of_clickhouse_are_those_of_the_caller() {
        let check = |sql: &str, engine: &str, expected: &str| {
            assert_eq!(names(sql, Dialect::Clickhouse, &[engine]), [expected]);
        };
        check(
            "SELECT cast(id as String) FROM customers",
            "CAST(id, 'TEXT')",
            "CAST(id, 'String')",
        );
        check(
            "SELECT plus(id::Int8, 1) FROM customers",
            "plus(CAST(id, 'TINYINT'), 1)",
            "plus(CAST(id, 'Int8'), 1)",
        );
        check(
            "SELECT ceil(id / substr('ab', 1)) FROM customers",
            "CEIL(divide(id, SUBSTR('ab', 1)))",
            "ceil(divide(id, substr('ab', 1)))",
        );
        check(
            "SELECT concat(toString(ceil(id)), 'CEIL(') FROM customers",
            "concat(toString(CEIL(id)), 'CEIL(')",
            "concat(toString(CEIL(id)), 'CEIL(')",
        );
        // Nothing says which of them was written how.
        check(
            "SELECT concat(CAST(id AS String), CAST(id AS Text)) FROM customers",
            "concat(CAST(id, 'TEXT'), CAST(id, 'TEXT'))",
            "concat(CAST(id, 'TEXT'), CAST(id, 'TEXT'))",
        );
        check("SELECT 1+1", "plus(1, 1)", "plus(1, 1)");
    }

    #[test]
    fn name_is_no_literal_of_the_statement() {
        let scope = shop(Dialect::Sqlite);
        let guarded = guard("SELECT upper('Rome')||'x'", &scope).unwrap();
        assert!(guarded.text().contains(" AS "), "{}", guarded.text());
        assert_eq!(guarded.literals(&scope), ["Rome", "x"]);
    }
}
