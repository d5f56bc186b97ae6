//! The statement of a metric, taken apart so that its figure can be grouped, filtered and ranked.

use crate::catalog::{Catalog, ColumnRef};
use crate::ranked::Graph;
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
    /// Whether it is this function over its rows, rounded or not, and nothing is worked out from that.
    pub fn is_over(&self, function: &str) -> bool {
        let text = self.formula.as_ref().map_or("", |f| &f.expression);
        let mut all = pieces(text).unwrap_or_default();
        all.retain(|piece| !is_blank(piece));
        let mut found = call(&all);
        while let Some((name, inner)) = found
            && holds("round coalesce", &name.to_lowercase())
        {
            found = call(cut(inner, ",").map_or(inner, |(first, _)| first));
        }
        found.is_some_and(|(name, _)| name.eq_ignore_ascii_case(function))
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
        let graph = Graph::of(catalog);
        let mut tables: Vec<(usize, String)> = Vec::new();
        let mut rest = Some(from);
        while let Some(step) = rest {
            let (step, behind) = match cut(step, "join") {
                Some((step, behind)) => (step, Some(behind)),
                None => (step, None),
            };
            rest = behind;
            let (named, on) = match cut(step, "on") {
                Some((named, on)) => (named, Some(on)),
                None => (step, None),
            };
            let one = table(catalog, named)?;
            let source = |at: usize| &catalog.table(at).datasource;
            let clash = |(at, _): &(usize, String)| *at == one.0 || source(*at) != source(one.0);
            if tables.iter().any(clash) || catalog.table(one.0).columns.is_empty() {
                return None;
            }
            tables.push(one);
            // Only a key says which row of the one table belongs to which of the other.
            let is_key = |on| Some(graph.is_key(&pairs(catalog, &tables, on)?));
            match on {
                None if tables.len() == 1 => {}
                Some(on) if is_key(on)? => {}
                _ => return None,
            }
        }
        Some(Self {
            expression: qualified(catalog, &tables, expression),
            from: from.concat().trim().to_owned(),
            filter: filter.map(|filter| qualified(catalog, &tables, filter)),
            tables,
        })
    }
}

fn is_blank(piece: &str) -> bool {
    piece.trim().is_empty()
}

/// The function of a call that is all of a text without blanks, and what is in its brackets.
fn call<'p, 's>(pieces: &'p [&'s str]) -> Option<(&'s str, &'p [&'s str])> {
    let [name, "(", inner @ .., ")"] = pieces else {
        return None;
    };
    let mut depth = 0;
    let closes = inner.iter().any(|piece| {
        depth += bracket(piece);
        depth < 0
    });
    (!closes).then_some((*name, inner))
}

/// What a bracket adds to the depth.
fn bracket(piece: &str) -> i32 {
    match piece {
        "(" => 1,
        ")" => -1,
        _ => 0,
    }
}

/// The pairs of columns that ON takes for equal, if it says nothing else, and the last table is in each of them.
fn pairs(
    catalog: &Catalog,
    tables: &[(usize, String)],
    on: &[&str],
) -> Option<Vec<(ColumnRef, ColumnRef)>> {
    let is_said = |piece: &&str| !is_blank(piece) && bracket(piece) == 0;
    let said: Vec<&str> = on.iter().copied().filter(is_said).collect();
    let (last, _) = tables.last()?;
    let pair = |pair: &[&str]| {
        let at = pair.iter().position(|piece| *piece == "=")?;
        let one = column(catalog, tables, &pair[..at])?;
        let other = column(catalog, tables, &pair[at + 1..])?;
        [one, other]
            .iter()
            .any(|c| c.table == *last)
            .then_some((one, other))
    };
    said.split(|piece| piece.eq_ignore_ascii_case("and"))
        .map(pair)
        .collect()
}

/// The one column that a name means, which may have what the statement calls its table before it.
fn column(catalog: &Catalog, tables: &[(usize, String)], path: &[&str]) -> Option<ColumnRef> {
    let plain = |name: &str| name.trim_matches(['"', '`', '[', ']']).to_lowercase();
    let (owner, name) = match path {
        [name] => (None, plain(name)),
        [owner, ".", name] => (Some(plain(owner)), plain(name)),
        _ => return None,
    };
    let named = tables
        .iter()
        .filter(|(_, alias)| owner.as_ref().is_none_or(|o| *o == plain(alias)));
    let mut found = named.filter_map(|(table, _)| {
        let column = catalog.table(*table).find(&name)?;
        Some(ColumnRef::new(*table, column))
    });
    found.next().filter(|_| found.next().is_none())
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
        depth += bracket(piece);
        depth == 0 && piece.eq_ignore_ascii_case(word)
    })?;
    Some((&pieces[..at], &pieces[at + 1..]))
}

/// A table of FROM, with what the statement calls it.
fn table(catalog: &Catalog, pieces: &[&str]) -> Option<(usize, String)> {
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

/// The text with each column that stands alone behind the name of its table, so that other tables can be joined. Behind
/// AS and `::` stands a type, and before FROM in brackets a part of a date.
fn qualified(catalog: &Catalog, tables: &[(usize, String)], pieces: &[&str]) -> String {
    let mut text = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces[at + 1..].iter().find(|p| !is_blank(p));
        let next = next.copied().unwrap_or_default();
        let is_other = matches!(next, "." | "(") || next.starts_with('\'');
        let before = pieces[..at].iter().rfind(|p| !is_blank(p));
        let before = before.copied().unwrap_or_default();
        let is_free = !is_other
            && !matches!(before, "." | ":")
            && !before.eq_ignore_ascii_case("as")
            && !next.eq_ignore_ascii_case("from");
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
    fn words_of_the_language_are_no_columns() {
        let host = Host::over("CREATE TABLE sales (date DATE, year INTEGER, amount REAL)");
        let catalog = Catalog::parse(&host.catalog().to_string()).unwrap();
        let select = "sum(CAST(amount AS year) + amount::year) FROM sales \
            WHERE extract(year FROM date) = 2024 AND (year > 1 OR year = 0)";
        let formula = Formula::of(&catalog, select).unwrap();
        let expression = "sum(CAST(sales.\"amount\" AS year) + sales.\"amount\"::year)";
        assert_eq!(formula.expression, expression);
        let filter = "extract(year FROM sales.\"date\") = 2024 AND (sales.\"year\" > 1 OR sales.\"year\" = 0)";
        assert_eq!(formula.filter.as_deref(), Some(filter));
    }

    #[test]
    fn total_of_a_metric_is_that_of_one_call() {
        for (expression, is_sum) in [
            ("sum(total)", true),
            ("round(coalesce(SUM (total), 0), 2)", true),
            ("sum(total) - avg(total)", false),
            ("sum(total) / count(*)", false),
            ("round(avg(total), 2)", false),
        ] {
            let metric = Metric {
                name: String::new(),
                names: Vec::new(),
                note: String::new(),
                formula: formula(&format!("{expression} FROM orders")),
            };
            assert_eq!(metric.is_over("sum"), is_sum, "{expression}");
        }
    }

    #[test]
    fn statement_of_another_shape_is_refused() {
        for select in [
            "sum(total) FROM nowhere",
            "sum(o.total) FROM orders o LEFT JOIN customers c ON c.id = o.customer_id",
            "sum(o.total) FROM orders o, customers c",
            "sum(o.total) FROM orders o JOIN orders p ON p.id = o.id",
            "sum(o.total) FROM orders o JOIN customers c ON c.id = o.id",
            "sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id OR c.id = 1",
            "sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id AND c.segment = 'business'",
            "sum(o.total) FROM order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON o.id = i.order_id",
            "sum(total) FROM orders WHERE customer_id IN (SELECT id FROM customers)",
            "sum(total) FROM (SELECT total FROM orders) AS o",
            "sum(total) FROM orders -- all\n",
            "sum(total",
        ] {
            assert!(formula(select).is_none(), "{select}");
        }
    }
}
