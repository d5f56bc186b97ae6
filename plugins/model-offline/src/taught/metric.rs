//! The statement of a metric, taken apart so that its figure can be grouped, filtered and ranked.

use crate::catalog::Catalog;
use crate::vocabulary::holds;

/// A metric as the editors define it.
#[derive(Debug, Clone)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// Its name and synonyms, each as its stems.
    pub names: Vec<Vec<String>>,
    /// How it is worked out, for the answer.
    pub note: String,
    /// None where its statement is more than an expression over plain joins of tables.
    pub formula: Option<Formula>,
}

/// The parts of the statement of a metric.
#[derive(Debug, Clone)]
pub struct Formula {
    /// The tables of its FROM, with what it calls them.
    pub tables: Vec<(usize, String)>,
    /// What is selected.
    pub expression: String,
    /// What stands behind FROM.
    pub from: String,
    /// What stands behind WHERE.
    pub filter: Option<String>,
}

/// Words of FROM that are no plain join: rows may stay without a partner, or do not come from one table each.
const JOINS: &str = "left right full outer cross natural lateral using straight_join apply array asof semi anti any \
    all final paste tablesample";

impl Metric {
    /// Whether it is a sum or count over its rows, and no ratio of them.
    pub fn is_over(&self, function: &str) -> bool {
        let text = self.formula.as_ref().map(|f| f.expression.to_lowercase());
        text.is_some_and(|t| t.starts_with(function) && !t.contains('/'))
    }
}

impl Formula {
    /// Takes apart what stands behind SELECT.
    pub fn of(catalog: &Catalog, select: &str) -> Option<Self> {
        let all = pieces(select)?;
        let says = |pieces: &[&str], words: &str| {
            let mut lower = pieces.iter().map(|p| p.to_lowercase());
            lower.any(|piece| holds(words, &piece))
        };
        let (expression, behind) = cut(&all, "from")?;
        let (from, filter) = match cut(behind, "where") {
            Some((from, filter)) => (from, Some(filter)),
            None => (behind, None),
        };
        if says(&all, "select over") || says(from, JOINS) || cut(from, ",").is_some() {
            return None;
        }
        let mut tables: Vec<(usize, String)> = Vec::new();
        let mut rest = Some(from);
        while let Some(step) = rest {
            let (step, behind) = match cut(step, "join") {
                Some((step, behind)) => (step, Some(behind)),
                None => (step, None),
            };
            rest = behind;
            let named = match cut(step, "on") {
                Some((named, _)) => named,
                None if tables.is_empty() => step,
                None => return None,
            };
            let one = table(catalog, named)?;
            let source = |at: usize| &catalog.table(at).datasource;
            let clash = |(at, _): &(usize, String)| *at == one.0 || source(*at) != source(one.0);
            if tables.iter().any(clash) || catalog.table(one.0).columns.is_empty() {
                return None;
            }
            tables.push(one);
        }
        Some(Self {
            expression: qualified(catalog, &tables, expression),
            from: from.concat().trim().to_owned(),
            filter: filter.map(|filter| qualified(catalog, &tables, filter)),
            tables,
        })
    }
}

/// Words, quoted names and texts, blanks and signs as they are written. None where something may hide what follows.
fn pieces(sql: &str) -> Option<Vec<&str>> {
    if ["--", "/*", "#", "\\", "$"]
        .iter()
        .any(|m| sql.contains(*m))
    {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut rest) = (Vec::new(), sql);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' | '`' => rest[1..].find(first)? + 2,
            '[' => rest.find(']')? + 1,
            c if is_word(c) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            c if c.is_whitespace() => {
                let end = rest.find(|c: char| !c.is_whitespace());
                end.unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let (piece, behind) = rest.split_at(end);
        found.push(piece);
        rest = behind;
    }
    Some(found)
}

/// What stands before and behind the first such word outside of brackets.
fn cut<'p, 's>(pieces: &'p [&'s str], word: &str) -> Option<(&'p [&'s str], &'p [&'s str])> {
    let mut depth = 0;
    let at = pieces.iter().position(|piece| {
        depth += match *piece {
            "(" => 1,
            ")" => -1,
            _ => 0,
        };
        depth == 0 && piece.eq_ignore_ascii_case(word)
    })?;
    Some((&pieces[..at], &pieces[at + 1..]))
}

/// A table of FROM, with what the statement calls it.
fn table(catalog: &Catalog, pieces: &[&str]) -> Option<(usize, String)> {
    let is_blank = |piece: &&str| piece.trim().is_empty();
    let mut words: Vec<&str> = pieces.iter().copied().filter(|p| !is_blank(p)).collect();
    words.pop_if(|last| last.eq_ignore_ascii_case("inner"));
    let mut end = 1;
    while words.get(end) == Some(&".") {
        end += 2;
    }
    let path = words.get(..end)?.concat();
    let table = catalog.named(&path.replace(['"', '`', '[', ']'], ""))?;
    let alias = match &words[end..] {
        [] => words[end - 1],
        [alias] => *alias,
        [word, alias] if word.eq_ignore_ascii_case("as") => *alias,
        _ => return None,
    };
    Some((table, alias.to_owned()))
}

/// The text with each column that stands alone behind the name of its table, so that other tables can be joined.
fn qualified(catalog: &Catalog, tables: &[(usize, String)], pieces: &[&str]) -> String {
    let mut text = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces[at + 1..].iter().find(|p| !p.trim().is_empty());
        let is_other = next.is_some_and(|n| matches!(*n, "." | "(") || n.starts_with('\''));
        let is_free = !is_other && !text.trim_end().ends_with('.');
        let column = |(table, alias): &(usize, String)| {
            let table = catalog.table(*table);
            let column = &table.columns[table.find(piece)?];
            Some(format!("{alias}.{}", table.dialect.name(&column.name)))
        };
        let mut owners = tables.iter().filter_map(column).filter(|_| is_free);
        match (owners.next(), owners.next()) {
            (Some(column), None) => text.push_str(&column),
            _ => text.push_str(piece),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::host::Host;

    fn shop() -> Catalog {
        Catalog::parse(&Host::shop().catalog().to_string()).unwrap()
    }

    fn formula(select: &str) -> Option<Formula> {
        Formula::of(&shop(), select)
    }

    #[test]
    fn statement_is_taken_apart() {
        let plain = "sum(quantity * unit_price) FROM order_items WHERE quantity IN (1, 2)";
        let plain = formula(plain).unwrap();
        assert_eq!(
            plain.expression,
            "sum(order_items.\"quantity\" * order_items.\"unit_price\")"
        );
        assert_eq!(plain.from, "order_items");
        let filter = "order_items.\"quantity\" IN (1, 2)";
        assert_eq!(plain.filter.as_deref(), Some(filter));
        let joined = "count(DISTINCT o.id) from main.orders AS o INNER JOIN customers c ON (c.id = o.customer_id)";
        let joined = formula(joined).unwrap();
        let aliases: Vec<&str> = joined.tables.iter().map(|t| t.1.as_str()).collect();
        assert_eq!((aliases, joined.filter), (vec!["o", "c"], None));
    }

    #[test]
    fn statement_of_another_shape_is_refused() {
        for select in [
            "sum(total) FROM nowhere",
            "sum(o.total) FROM orders o LEFT JOIN customers c ON c.id = o.customer_id",
            "sum(o.total) FROM orders o, customers c",
            "sum(o.total) FROM orders o JOIN orders p ON p.id = o.id",
            "sum(total) FROM orders WHERE customer_id IN (SELECT id FROM customers)",
            "sum(total) FROM (SELECT total FROM orders) AS o",
            "sum(total) FROM orders -- all\n",
            "sum(total",
        ] {
            assert!(formula(select).is_none(), "{select}");
        }
    }
}
