//! Aggregates that a join makes too large, because it repeats the rows that they are over.

use std::collections::{HashMap, HashSet, VecDeque};

use super::warnings::Warning;
use mindhost_catalog::TableDetail;
use mindhost_sql::outline::{Aggregate, Block, Column};

/// The tables of one SELECT. A number is the position of a table in `described`.
pub struct Joined<'a, F> {
    /// What the SELECT names.
    pub block: &'a Block,
    /// What the catalog has of the tables of the statement.
    pub described: &'a [TableDetail],
    /// Those in its FROM, one of them twice if it is there twice.
    pub tables: Vec<usize>,
    /// Those of which the statement compares a column with a constant by `=`: the filter may select one of their rows
    /// for each row that they are joined to.
    pub narrowed: &'a HashSet<usize>,
    /// Finds the table of a column.
    pub owner: F,
}

/// A join as one of its tables sees the other.
struct Edge<'a> {
    from: usize,
    to: usize,
    /// The column of `to`.
    column: &'a str,
}

impl<F: Fn(&Column) -> Option<usize>> Joined<'_, F> {
    /// What is wrong with the aggregates, each once.
    pub fn warnings(&self) -> Vec<Warning> {
        let edges = self.edges();
        let mut found: Vec<Warning> = Vec::new();
        // Many aggregates may ask the same.
        let (mut multipliers, mut combined) = (HashMap::new(), None);
        for aggregate in &self.block.aggregates {
            let text = match summed(aggregate) {
                Some(column) => self.repeated(aggregate, column, |of| {
                    let known = multipliers.entry(of);
                    *known.or_insert_with(|| self.multiplier(of, &edges))
                }),
                None if counts_rows(aggregate) => {
                    let combined = combined.get_or_insert_with(|| self.combined(&edges));
                    combined.clone()
                }
                None => None,
            };
            let warning = text.map(Warning::plain);
            found.extend(warning.filter(|warning| !found.contains(warning)));
        }
        found
    }

    /// The joins, those of one table beside one another.
    fn edges(&self) -> Vec<Edge<'_>> {
        let mut edges = Vec::new();
        for (left, right) in &self.block.equal {
            if let (Some(a), Some(b)) = ((self.owner)(left), (self.owner)(right))
                && a != b
            {
                let edge = |from, to, column| Edge { from, to, column };
                edges.push(edge(a, b, right.name.text.as_str()));
                edges.push(edge(b, a, left.name.text.as_str()));
            }
        }
        edges.sort_by_key(|edge| edge.from);
        edges
    }

    fn name(&self, table: usize) -> &str {
        self.described
            .get(table)
            .map_or("", |table| table.name.as_str())
    }

    /// An aggregate of a column whose rows the join repeats.
    fn repeated(
        &self,
        aggregate: &Aggregate,
        column: &Column,
        multiplier: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<String> {
        let of = (self.owner)(column)?;
        let by = multiplier(of)?;
        Some(format!(
            "{} over {} counts its rows once for each row of {}, which the join repeats; aggregate in a subquery \
             before the join, or count DISTINCT keys",
            aggregate.function,
            self.name(of),
            self.name(by)
        ))
    }

    /// A table that repeats the rows of `of`: one that is joined by columns that are not its primary key.
    fn multiplier(&self, of: usize, edges: &[Edge<'_>]) -> Option<usize> {
        let mut seen = HashSet::from([of]);
        let mut queue = VecDeque::from([of]);
        while let Some(table) = queue.pop_front() {
            for edge in edges_of(table, edges) {
                if seen.contains(&edge.to) {
                    continue;
                }
                // Without a known key nothing can be said.
                if self.finds_one(table, edge.to, edges) == Some(false) {
                    return Some(edge.to);
                }
                seen.insert(edge.to);
                queue.push_back(edge.to);
            }
        }
        None
    }

    /// A count of rows where two tables have several rows for one row of a third, so that each of the one comes with
    /// each of the other. Counting the rows of one of them is right and common.
    fn combined(&self, edges: &[Edge<'_>]) -> Option<String> {
        let shown: HashSet<usize> = self.block.shown.iter().filter_map(&self.owner).collect();
        let tables = self.single_tables();
        for third in tables.iter().copied() {
            let sides = tables.iter().copied();
            let sides: Vec<usize> = sides
                .filter(|side| self.has_several(*side, third, edges))
                .collect();
            for (index, one) in sides.iter().enumerate() {
                for other in sides.iter().skip(index + 1) {
                    if shown.contains(one) || shown.contains(other) {
                        continue;
                    }
                    let are_joined = reached(*one, &[third], edges).contains(other);
                    // A statement that shows columns of these tables may want their combinations.
                    let beside = reached(third, &[*one, *other], edges);
                    if !are_joined && shown.iter().all(|table| beside.contains(table)) {
                        return Some(format!(
                            "count(*) counts each combination of a row of {} with a row of {}, because the joins \
                             find several of both for one row of {}; aggregate in a subquery before the join, or \
                             count DISTINCT keys",
                            self.name(*one),
                            self.name(*other),
                            self.name(third)
                        ));
                    }
                }
            }
        }
        None
    }

    /// The tables that are there once. Of the others it is not known which row a column is of.
    fn single_tables(&self) -> Vec<usize> {
        let mut times: HashMap<usize, usize> = HashMap::new();
        for table in &self.tables {
            *times.entry(*table).or_default() += 1;
        }
        let tables = self.tables.iter().copied();
        tables
            .filter(|table| times.get(table) == Some(&1))
            .collect()
    }

    /// Whether the join finds several rows of a table for one row of another, as far as the catalog knows.
    fn has_several(&self, side: usize, of: usize, edges: &[Edge<'_>]) -> bool {
        let lacks = |column: &Column| (self.owner)(column) == Some(side);
        self.finds_one(of, side, edges) == Some(false)
            && self.finds_one(side, of, edges) == Some(true)
            && !self.narrowed.contains(&side)
            && !self.block.null.iter().any(lacks)
            && !self.is_unique(of, side, edges)
    }

    /// Whether a join from one table to another is by the primary key there. `None` if that has no known key.
    fn finds_one(&self, from: usize, to: usize, edges: &[Edge<'_>]) -> Option<bool> {
        let key = &self.described.get(to)?.primary_key;
        let is_joined = |column: &String| {
            edges_between(from, to, edges).any(|edge| edge.column.eq_ignore_ascii_case(column))
        };
        (!key.is_empty()).then(|| key.iter().all(is_joined))
    }

    /// Whether a join from one table to another is by a column without equal values there, also if it is no key.
    fn is_unique(&self, from: usize, to: usize, edges: &[Edge<'_>]) -> bool {
        let Some(table) = self.described.get(to) else {
            return false;
        };
        edges_between(from, to, edges).any(|edge| {
            table.columns.iter().any(|column| {
                let counts = column.distinct_count.zip(table.row_count);
                column.name.eq_ignore_ascii_case(edge.column)
                    && counts.is_some_and(|(distinct, rows)| distinct >= rows)
            })
        })
    }
}

fn edges_between<'a>(
    from: usize,
    to: usize,
    edges: &'a [Edge<'a>],
) -> impl Iterator<Item = &'a Edge<'a>> {
    edges_of(from, edges)
        .iter()
        .filter(move |edge| edge.to == to)
}

/// The joins as one table sees them.
fn edges_of<'a>(from: usize, edges: &'a [Edge<'a>]) -> &'a [Edge<'a>] {
    let start = edges.partition_point(|edge| edge.from < from);
    let end = edges.partition_point(|edge| edge.from <= from);
    edges.get(start..end).unwrap_or_default()
}

/// The tables that joins lead to from one table, itself included, without a way through these.
fn reached(from: usize, without: &[usize], edges: &[Edge<'_>]) -> HashSet<usize> {
    let mut seen = HashSet::from([from]);
    let mut queue = VecDeque::from([from]);
    while let Some(table) = queue.pop_front() {
        for edge in edges_of(table, edges) {
            if !without.contains(&edge.to) && seen.insert(edge.to) {
                queue.push_back(edge.to);
            }
        }
    }
    seen
}

/// The column of an aggregate whose value changes with repeated rows.
pub fn summed(aggregate: &Aggregate) -> Option<&Column> {
    let changes = ["sum", "avg", "count", "total"].contains(&aggregate.function.as_str());
    aggregate
        .columns
        .first()
        .filter(|_| changes && !aggregate.distinct)
}

/// Whether it is `count(*)`, or the count of a constant.
pub fn counts_rows(aggregate: &Aggregate) -> bool {
    aggregate.function == "count" && aggregate.columns.is_empty() && !aggregate.distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_catalog::ColumnDetail;
    use mindhost_plugin_api::Dialect;
    use mindhost_sql::outline;

    /// Tables with their primary keys, and the column by which each of them refers to another.
    const TABLES: [(&str, &str, &str); 6] = [
        ("customers", "id", "region_id"),
        ("regions", "id", ""),
        ("orders", "id", "customer_id"),
        ("tickets", "id", "customer_id"),
        ("order_items", "id", "order_id"),
        ("profiles", "id", "customer_id"),
    ];

    fn described() -> Vec<TableDetail> {
        let column = |name: &str, distinct: u64| ColumnDetail {
            name: name.to_owned(),
            data_type: "INTEGER".to_owned(),
            nullable: true,
            description: None,
            common_values: None,
            min: None,
            max: None,
            distinct_count: Some(distinct),
            distinct_below: None,
            null_percentage: Some(0.0),
        };
        let table = |&(name, key, reference): &(&str, &str, &str)| TableDetail {
            datasource: "shop".to_owned(),
            name: name.to_owned(),
            kind: "TABLE".to_owned(),
            description: None,
            row_count: Some(100),
            rows_below: None,
            // Each customer has one profile.
            columns: vec![
                column(key, 100),
                column(reference, if name == "profiles" { 100 } else { 30 }),
            ],
            primary_key: vec![key.to_owned()],
            foreign_keys: Vec::new(),
        };
        TABLES.iter().map(table).collect()
    }

    fn warned(sql: &str) -> Vec<String> {
        let outline = outline::outline(sql, Dialect::Sqlite).unwrap();
        let described = described();
        let block = &outline.blocks[0];
        let place = |name: &str| described.iter().position(|table| table.name == name);
        let owner = |column: &Column| {
            let alias = column.qualifier.as_ref()?.text.as_str();
            let is_called = |table: &&outline::Table| table.alias.as_deref() == Some(alias);
            let table = block.tables.iter().find(is_called)?;
            place(&table.name.text)
        };
        let narrowed = outline.comparisons.iter().filter(|one| one.operator == "=");
        let narrowed: HashSet<usize> = narrowed.filter_map(|one| owner(&one.column)).collect();
        let joined = Joined {
            block,
            described: &described,
            tables: block
                .tables
                .iter()
                .filter_map(|table| place(&table.name.text))
                .collect(),
            narrowed: &narrowed,
            owner,
        };
        let warnings = joined.warnings().into_iter();
        warnings.map(|warning| warning.text).collect()
    }

    /// Customers with their orders and tickets.
    const BOTH: &str = "FROM customers c JOIN orders o ON o.customer_id = c.id \
                        JOIN tickets t ON t.customer_id = c.id";

    #[test]
    fn count_of_rows_is_told_where_two_tables_hang_on_one() {
        for sql in [
            format!("SELECT c.name, count(*) {BOTH} GROUP BY c.name"),
            format!("SELECT count(1), count(*) {BOTH} WHERE c.id > 3"),
            format!("SELECT c.name AS who, count(*) {BOTH} GROUP BY who ORDER BY 2 DESC"),
            format!(
                "SELECT r.name, count(*) {BOTH} JOIN regions r ON r.id = c.region_id GROUP BY r.name"
            ),
            "SELECT count(*) FROM customers c, orders o, tickets t \
             WHERE o.customer_id = c.id AND t.customer_id = c.id"
                .to_owned(),
        ] {
            let warned = warned(&sql);
            let [text] = &warned[..] else {
                panic!("{sql}: {warned:?}");
            };
            for name in ["count(*)", "of orders", "of tickets", "of customers"] {
                assert!(text.contains(name), "{sql}: {text}");
            }
        }
    }

    #[test]
    fn count_of_rows_that_may_be_meant_is_not_told() {
        for sql in [
            // It counts orders.
            "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name",
            // It counts items.
            "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id \
             JOIN order_items i ON i.order_id = o.id GROUP BY c.name",
            "SELECT r.name, count(*) FROM orders o JOIN customers c ON c.id = o.customer_id \
             JOIN regions r ON r.id = c.region_id GROUP BY r.name",
            // It counts distinct keys.
            &format!("SELECT c.name, count(DISTINCT 1) {BOTH} GROUP BY c.name"),
            // It asks for the combinations.
            &format!("SELECT o.status, t.priority, count(*) {BOTH} GROUP BY o.status, t.priority"),
            // Orders of customers without tickets.
            "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id \
             LEFT JOIN tickets t ON t.customer_id = c.id WHERE t.id IS NULL GROUP BY c.name",
            // One row of a table for each customer, by a filter or by the values.
            &format!("SELECT c.name, count(*) {BOTH} AND t.kind = 'first' GROUP BY c.name"),
            "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id \
             JOIN profiles p ON p.customer_id = c.id GROUP BY c.name",
            // The two are joined with each other.
            &format!("SELECT c.name, count(*) {BOTH} AND t.order_id = o.id GROUP BY c.name"),
            // Pairs of orders.
            "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id \
             JOIN orders p ON p.customer_id = c.id GROUP BY c.name",
        ] {
            assert_eq!(warned(sql), [""; 0], "{sql}");
        }
    }

    #[test]
    fn aggregate_of_a_column_is_told_with_the_table_that_repeats_its_rows() {
        let sql = "SELECT sum(o.total), sum(o.total) FROM orders o JOIN order_items i ON i.order_id = o.id";
        let warned = warned(sql);
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(
            warned[0]
                .starts_with("sum over orders counts its rows once for each row of order_items"),
            "{warned:?}"
        );
    }
}
