//! What a statement names: tables, columns, calls, comparisons, joins. For advice on statements that failed or gave a
//! suspicious result; nothing here decides what may run.
//!
//! An outline is flat: it does not tell which subquery a name belongs to, apart from the joins and aggregates of one
//! SELECT. So advice that is made from it may be wrong, and is worded as advice.

mod aliases;
mod read;
mod sums;
mod words;

use std::collections::HashSet;

use mindhost_plugin_api::Dialect;

use super::rules::Rules;

pub use read::outline;
pub use sums::unsummable;
pub use words::{Word, words};

/// A name as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Without quotes.
    pub text: String,
    /// The opening quote, such as `"` or `[`; `None` if it stands without.
    pub quote: Option<char>,
    /// In characters from 1; 0 where the parser does not know it.
    pub position: u32,
}

/// A column as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table or alias in front of it.
    pub qualifier: Option<Name>,
    /// The name behind the qualifier.
    pub name: Name,
}

/// A table behind FROM or JOIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name in parts, the table last.
    pub parts: Vec<String>,
    /// The last part.
    pub name: Name,
    /// Its other name in the statement.
    pub alias: Option<String>,
}

/// A call of `sum`, `avg`, `count` or `total`, which a join can make too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// In lower case.
    pub function: String,
    /// Columns of its argument; empty for `*`.
    pub columns: Vec<Column>,
    /// Whether it counts each value once.
    pub distinct: bool,
}

/// What one SELECT names: its tables, aggregates and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Those of its FROM and joins; of a subquery in FROM, none.
    pub tables: Vec<Table>,
    /// Pairs of columns that its joins and filters compare with `=`.
    pub equal: Vec<(Column, Column)>,
    /// The columns of each condition of its joins and filters that has several; parts between AND are conditions.
    pub conditions: Vec<Vec<Column>>,
    /// Numbers of the `tables` that are joined in another way than by ON or a comma: by USING, or by CROSS JOIN.
    pub joined: Vec<usize>,
    /// Its aggregates, without those of windows.
    pub aggregates: Vec<Aggregate>,
    /// Expressions of the result without an aggregate, as text.
    pub plain: Vec<String>,
    /// The expressions of its GROUP BY, as text.
    pub grouped: Vec<String>,
    /// Those of `plain` that its GROUP BY does not have: neither the expression, its number, nor all of its columns.
    pub ungrouped: Vec<String>,
    /// The columns in `plain` and `grouped`.
    pub shown: Vec<Column>,
    /// Columns that its joins and filters want to be NULL, as those of a table without a matching row are.
    pub null: Vec<Column>,
    /// Whether it has WHERE or HAVING.
    pub is_filtered: bool,
}

/// A function with what it is called with; aggregates too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    /// Its name; the last part of it.
    pub name: Name,
    /// As text, in order; without `*` and named arguments.
    pub arguments: Vec<String>,
    /// Those arguments that are a column and nothing else.
    pub columns: Vec<Column>,
}

/// A constant in a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A text, without quotes.
    Text(String),
    /// A number as it is written, with its minus sign.
    Number(String),
}

/// A column that is compared with a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The side without the constant.
    pub column: Column,
    /// `=`, `<`, `LIKE`, `IN`, …, as if the column stood on the left. BETWEEN is `>=` and `<=`.
    pub operator: String,
    /// The side with the constant.
    pub literal: Literal,
    /// The whole comparison, as text.
    pub text: String,
}

/// A clause that not every engine lets use the names that SELECT gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// Another expression of the same SELECT.
    Select,
    /// WHERE
    Where,
    /// GROUP BY
    GroupBy,
    /// HAVING
    Having,
    /// ORDER BY
    OrderBy,
}

/// A name that a SELECT gives to an expression, where its statement uses it once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasUse {
    /// As it stands in the clause.
    pub name: Name,
    /// The clause.
    pub clause: Clause,
    /// Whether the clause, or an item of it, is the name and nothing else.
    pub is_whole: bool,
    /// The expression as it can stand in place of the name; `None` where it is long.
    pub expression: Option<String>,
    /// Whether the expression has an aggregate, not in a subquery.
    pub has_aggregate: bool,
    /// Whether the expression has a function with OVER.
    pub has_window: bool,
}

/// A side of a division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A whole number, or a count.
    Integer,
    /// A column, or a sum, least or greatest value of one.
    Column(Column),
    /// Anything else.
    Other,
}

/// A `/` between two operands, neither of them [`Operand::Other`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// What is divided.
    pub left: Operand,
    /// What it is divided by.
    pub right: Operand,
    /// The whole division, as text.
    pub text: String,
}

/// What a statement names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Each SELECT, those of subqueries included.
    pub blocks: Vec<Block>,
    /// Each column, in order.
    pub columns: Vec<Column>,
    /// Names that the statement itself defines: CTEs, aliases of columns and of subqueries. In lower case.
    pub defined: HashSet<String>,
    /// Each call of a function, aggregates and nested ones included.
    pub calls: Vec<FunctionCall>,
    /// Each comparison of a column with a constant; of an IN, those with the first sixteen.
    pub comparisons: Vec<Comparison>,
    /// Each `/` between two columns or whole numbers, so that a division of whole numbers can be found.
    pub divisions: Vec<Division>,
    /// Where names that a SELECT gives are used; of each SELECT, the first 32.
    pub alias_uses: Vec<AliasUse>,
}

impl Outline {
    /// All tables of all SELECTs.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.blocks.iter().flat_map(|block| &block.tables)
    }
}

/// A stored name as a statement of this dialect writes it: quoted only if necessary.
pub fn spelled(dialect: Dialect, stored: &str) -> String {
    Rules::of(dialect).spelled(stored)
}

/// The quote of names in a dialect.
pub fn quote(dialect: Dialect) -> char {
    Rules::of(dialect).quote()
}

/// Whether a written column means this stored one, as the engine compares names.
pub fn same_column(dialect: Dialect, written: &Name, stored: &str) -> bool {
    match dialect {
        Dialect::Postgresql | Dialect::Datafusion if written.quote.is_some() => {
            written.text == stored
        }
        Dialect::Postgresql | Dialect::Datafusion => written.text.to_lowercase() == stored,
        Dialect::Clickhouse => written.text == stored,
        _ => written.text.eq_ignore_ascii_case(stored),
    }
}

/// The functions that a statement of this dialect may call.
pub fn functions(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    Rules::of(dialect).functions.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outline_names_tables_columns_and_joins() {
        let sql = "SELECT c.name, sum(o.total) / count(*) AS mean FROM shop.orders o \
                   JOIN customers AS c ON o.customer_id = c.id WHERE c.country = 'DE' AND o.total > 5 GROUP BY c.name";
        let outline = outline(sql, Dialect::Postgresql).unwrap();
        let block = &outline.blocks[0];
        let tables: Vec<_> = outline.tables().map(|one| one.parts.join(".")).collect();
        assert_eq!(tables, ["shop.orders", "customers"]);
        assert_eq!(block.tables[0].alias.as_deref(), Some("o"));
        assert_eq!(block.equal[0].0.name.text, "customer_id");
        assert_eq!(block.aggregates[0].function, "sum");
        assert_eq!(block.aggregates[0].columns[0].name.text, "total");
        assert_eq!(
            (&block.plain[..], &block.grouped[..]),
            (&["c.name".to_owned()][..], &["c.name".to_owned()][..])
        );
        let shown: Vec<_> = block.shown.iter().map(|one| &one.name.text).collect();
        assert_eq!(shown, ["name", "name"]);
        assert!(outline.defined.contains("mean"));
        let compared: Vec<_> = outline
            .comparisons
            .iter()
            .map(|one| one.text.as_str())
            .collect();
        assert_eq!(compared, ["c.country = 'DE'", "o.total > 5"]);
        assert_eq!(outline.comparisons[1].literal, Literal::Number("5".into()));
        let division = &outline.divisions[0];
        assert!(matches!(&division.left, Operand::Column(column) if column.name.text == "total"));
        assert_eq!(division.right, Operand::Integer);
        let written = outline
            .columns
            .iter()
            .find(|one| one.name.text == "country")
            .unwrap();
        let at = written.name.position as usize - 1;
        assert_eq!(&sql[at..at + 7], "country");
    }

    #[test]
    fn aggregate_of_a_subquery_is_of_its_own_select() {
        let sql = "SELECT c.name, (SELECT sum(o.total) FROM orders o WHERE o.customer_id = c.id), count(*) \
                   FROM customers c, airports a GROUP BY c.name";
        let outline = outline(sql, Dialect::Sqlite).unwrap();
        let of = |block: &Block| -> Vec<String> {
            let aggregates = block.aggregates.iter();
            aggregates.map(|one| one.function.clone()).collect()
        };
        let found: Vec<_> = outline.blocks.iter().map(of).collect();
        assert_eq!(found, [["count"], ["sum"]]);
        assert_eq!(outline.blocks[0].ungrouped, Vec::<String>::new());
    }

    #[test]
    fn expression_over_grouped_columns_is_grouped() {
        for (sql, expected) in [
            (
                "SELECT a.x || a.y, count(*) FROM a GROUP BY a.id, a.x, a.y",
                &[][..],
            ),
            ("SELECT a.x, count(*) FROM a GROUP BY x", &[]),
            ("SELECT a.x, a.y, count(*) FROM a GROUP BY 1", &["a.y"]),
            ("SELECT a.x AS z, count(*) FROM a GROUP BY z", &[]),
            (
                "SELECT a.x, a.y, count(*) FROM a GROUP BY b.x",
                &["a.x", "a.y"],
            ),
            ("SELECT upper(x), count(*) FROM a", &["upper(x)"]),
        ] {
            let outline = outline(sql, Dialect::Sqlite).unwrap();
            assert_eq!(outline.blocks[0].ungrouped, expected, "{sql}");
        }
    }

    #[test]
    fn comparison_is_told_from_the_side_of_its_column() {
        let sql = "SELECT 1 FROM t WHERE 5 < a AND b BETWEEN 1 AND 2 AND c NOT BETWEEN 3 AND 4 \
                   AND d > DATE '2024-05-01'";
        let outline = outline(sql, Dialect::Postgresql).unwrap();
        let compared: Vec<_> = outline
            .comparisons
            .iter()
            .map(|one| {
                let (Literal::Text(literal) | Literal::Number(literal)) = &one.literal;
                format!("{} {} {literal}", one.column.name.text, one.operator)
            })
            .collect();
        assert_eq!(compared, ["a > 5", "b >= 1", "b <= 2", "d > 2024-05-01"]);
    }

    #[test]
    fn constants_of_a_long_list_do_not_all_have_its_text() {
        let list = "1, ".repeat(80_000);
        let sql = format!("SELECT x / y, x / y / z FROM t WHERE a IN ({list}1) AND b = 2");
        let outline = outline(&sql, Dialect::Postgresql).unwrap();
        let of = |name: &str| {
            let is_of = |one: &&Comparison| one.column.name.text == name;
            outline.comparisons.iter().filter(is_of).count()
        };
        assert_eq!((of("a"), of("b")), (16, 1));
        let texts: Vec<_> = outline.divisions.iter().map(|one| &one.text).collect();
        assert_eq!(texts, ["x / y", "x / y"]);
    }

    #[test]
    fn names_of_select_are_told_where_they_are_used() {
        let sql = "SELECT a + 1 AS n, sum(b) AS total, total / 2 AS half, rank() OVER (ORDER BY a) AS place, c AS c \
                   FROM t WHERE n > 1 AND c = 2 AND a IN (SELECT half FROM u) GROUP BY n HAVING total > 5 AND place < 3 \
                   ORDER BY total, half + 1";
        let outline = outline(sql, Dialect::Postgresql).unwrap();
        let uses: Vec<_> = outline
            .alias_uses
            .iter()
            .map(|one| {
                let at = one.name.position as usize - 1;
                assert!(sql[at..].starts_with(&one.name.text), "{one:?}");
                let of = (one.is_whole, one.has_aggregate, one.has_window);
                (one.clause, one.expression.as_deref().unwrap(), of)
            })
            .collect();
        let sum = "sum(b)";
        assert_eq!(
            uses,
            [
                (Clause::OrderBy, sum, (true, true, false)),
                (Clause::OrderBy, "(total / 2)", (false, false, false)),
                (Clause::Select, sum, (false, true, false)),
                (Clause::Where, "(a + 1)", (false, false, false)),
                (Clause::GroupBy, "(a + 1)", (true, false, false)),
                (Clause::Having, sum, (false, true, false)),
                (
                    Clause::Having,
                    "rank() OVER (ORDER BY a)",
                    (false, false, true)
                ),
            ]
        );
        let long = format!(
            "SELECT a + {} AS n FROM t WHERE n = 1",
            "1 + ".repeat(300) + "1"
        );
        let outline = super::outline(&long, Dialect::Postgresql).unwrap();
        assert_eq!(outline.alias_uses[0].expression, None);
        let many = format!(
            "SELECT a AS n FROM t WHERE {} 1 = 1",
            "n = 1 AND ".repeat(300)
        );
        let outline = super::outline(&many, Dialect::Sqlite).map(|one| one.alias_uses.len());
        assert!(outline.is_none_or(|uses| uses == 32), "{outline:?}");
    }

    #[test]
    fn columns_that_must_be_null_are_told() {
        let sql = "SELECT upper(a.x) FROM a LEFT JOIN b ON b.a = a.id \
                   WHERE (b.id IS NULL AND a.y > 2) AND (a.z IS NULL OR a.z = 1) GROUP BY a.x || a.y";
        let outline = outline(sql, Dialect::Sqlite).unwrap();
        let block = &outline.blocks[0];
        let names = |columns: &[Column]| -> Vec<String> {
            columns.iter().map(|one| one.name.text.clone()).collect()
        };
        assert_eq!(names(&block.null), ["id"]);
        assert_eq!(names(&block.shown), ["x", "x", "y"]);
    }

    #[test]
    fn outline_of_text_that_is_no_select_is_none() {
        for sql in [
            "DROP TABLE t",
            "SELECT FROM WHERE",
            "",
            "SELECT 1; SELECT 2",
        ] {
            assert_eq!(outline(sql, Dialect::Sqlite), None, "{sql}");
        }
        let deep = "(".repeat(100_000);
        assert_eq!(outline(&format!("SELECT {deep}1"), Dialect::Sqlite), None);
    }

    #[test]
    fn names_of_ctes_and_subqueries_are_defined() {
        let sql = "WITH big AS (SELECT id AS key FROM orders) SELECT x.n FROM (SELECT count(*) AS n FROM big) x";
        let outline = outline(sql, Dialect::Sqlite).unwrap();
        for name in ["big", "key", "n", "x"] {
            assert!(outline.defined.contains(name), "{name}");
        }
    }
}
