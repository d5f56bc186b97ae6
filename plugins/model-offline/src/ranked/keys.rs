//! Keys that a catalog does not declare, as its names and statistics tell them.

use super::forms::written_out;
use crate::catalog::{Catalog, Column, ColumnRef, ForeignKey, Kind, Table};
use crate::vocabulary::holds;
use crate::words::{split, stem};

/// What stands before "name" where it is the name of a person or a place of its own: many share it by chance.
const PARTS: &str =
    "first last middle full nick given family maiden sur short long display user file street model";
/// Columns that many tables have, each for itself.
const OWN: &str = "id key uid code number name title type status description date time year month";

/// Adds what the tables of a catalog do not declare: the key of a table without one, and what a column refers to.
pub fn infer(catalog: &mut Catalog) {
    let names: Vec<Vec<String>> = catalog.tables.iter().map(|t| words(&t.plain)).collect();
    for at in 0..catalog.tables.len() {
        let table = &catalog.tables[at];
        if table.primary_key.is_empty() && !table.is_view() {
            let key = own_key(table, at, &names);
            catalog.tables[at].primary_key.extend(key);
        }
    }
    let tables = catalog.tables.iter().enumerate();
    let columns = tables.flat_map(|(t, table)| (0..table.columns.len()).map(move |c| (t, c)));
    let columns: Vec<ColumnRef> = columns.map(|(t, c)| ColumnRef::new(t, c)).collect();
    for at in &columns {
        let found = references(catalog, *at, &names);
        catalog.tables[at.table].foreign_keys.extend(found);
    }
    let parts = parts(catalog);
    for at in &columns {
        let found = natural(catalog, *at, &parts);
        catalog.tables[at.table].foreign_keys.extend(found);
    }
    for table in &mut catalog.tables {
        // One row at most for each row of another table.
        let only = match table.foreign_keys.as_slice() {
            [key] if table.primary_key.is_empty() && !table.is_view() => key.columns.clone(),
            _ => continue,
        };
        if matches!(only[..], [column] if is_unique(table, column) == Some(true)) {
            table.primary_key = only;
        }
    }
}

fn words(name: &str) -> Vec<String> {
    // `custid` is the id of a customer.
    let words = written_out(&written_out(&split(name)));
    words.iter().map(|w| stem(w)).collect()
}

/// Whether no two rows have the same value, as far as the catalog tells.
fn is_unique(table: &Table, column: usize) -> Option<bool> {
    let counts = table.columns[column].distinct_count.zip(table.row_count);
    counts.map(|(values, rows)| values == rows)
}

/// The column that tells the rows of a table apart.
fn own_key(table: &Table, at: usize, names: &[Vec<String>]) -> Option<usize> {
    let rank = |column: &usize| {
        let named = names_own(&words(&table.columns[*column].plain), at, names)?;
        let unique = is_unique(table, *column);
        // What is called an id is one where nothing is known; a code, a number or a name must be known to be unique.
        let is_key = unique.unwrap_or(named < 2);
        is_key.then_some((named, *column))
    };
    let ranked = (0..table.columns.len()).filter_map(|c| rank(&c));
    ranked.min().map(|(_, column)| column)
}

/// How surely a column is the key of its table by its name, the surest first: `order_id` or `id` of `orders`,
/// `offering_id` or `doc_id` of `course_offering` or `doctors`, `oid` of `orders`, then codes and names.
fn names_own(column: &[String], at: usize, names: &[Vec<String>]) -> Option<u8> {
    let table = &names[at];
    let (last, rest) = column.split_last()?;
    let owner = rest.concat();
    let is_id = matches!(last.as_str(), "id" | "key" | "uid");
    if rest.is_empty() {
        let initials: String = table.iter().filter_map(|w| w.chars().next()).collect();
        return match last.as_str() {
            "id" => Some(1),
            own if *own == format!("{initials}id") => Some(3),
            "code" => Some(4),
            own if own == table.concat() => Some(6),
            _ => None,
        };
    }
    let whole = owner == table.concat();
    let is_other = || names.iter().any(|t| t.concat() == owner);
    let short = owner.len() > 2 && table.concat().starts_with(&owner);
    let part = || (table.contains(&owner) || short) && !is_other();
    match last.as_str() {
        _ if is_id && whole => Some(0),
        _ if is_id && part() => Some(2),
        "code" | "number" if whole => Some(4),
        "name" if whole => Some(5),
        _ => None,
    }
}

fn is_alike(a: &Column, b: &Column) -> bool {
    a.kind == b.kind
        && matches!(
            a.kind,
            Kind::Integer | Kind::Number | Kind::Text | Kind::Other
        )
}

/// Whether the values of a column may all be among those of a key, as far as the catalog tells: there are no more of
/// them, none is larger, and none is another one where all values of the key are known.
fn fits_in(column: &Column, key: &Column) -> bool {
    let counts = column.distinct_count.zip(key.distinct_count);
    let number = |c: &Column| c.max.as_ref().and_then(|m| m.parse::<f64>().ok());
    let largest = number(column)
        .zip(number(key))
        .filter(|_| column.is_numeric());
    let known = &key.common_values;
    let is_whole = key.distinct_count == Some(known.len() as u64);
    is_alike(column, key)
        && counts.is_none_or(|(values, keys)| values <= keys)
        && largest.is_none_or(|(value, key)| value <= key)
        && (!is_whole || column.common_values.iter().all(|v| known.contains(v)))
}

/// What a column refers to by its name, if that is one table. Where several tables have the same declared key, all.
fn references(catalog: &Catalog, at: ColumnRef, names: &[Vec<String>]) -> Vec<ForeignKey> {
    let (table, column) = (catalog.table(at.table), catalog.column(at));
    let said = words(&column.plain);
    if table
        .foreign_keys
        .iter()
        .any(|k| k.columns.contains(&at.column))
    {
        return Vec::new();
    }
    let is_key = table.primary_key == [at.column];
    if is_key && names_own(&said, at.table, names).is_some() {
        return Vec::new();
    }
    let mut found: Vec<(u8, usize, usize)> = Vec::new();
    for (to, target) in catalog.tables.iter().enumerate() {
        let [key] = target.primary_key[..] else {
            continue;
        };
        let source = &target.columns[key];
        // Two columns that are guessed to refer to the same table have a role each, and none of them is the way to it.
        let known = table
            .foreign_keys
            .iter()
            .any(|k| k.target == to && !k.guessed);
        if to == at.table
            || known
            || target.datasource != table.datasource
            || !fits_in(column, source)
        {
            continue;
        }
        let is_same = column.name.eq_ignore_ascii_case(&source.name);
        let own = names_own(&words(&source.plain), to, names);
        let rank = match refers(&said, &names[to]) {
            _ if is_same && is_key && own != Some(0) => None,
            _ if is_same && !holds(OWN, &said.concat()) => Some(u8::from(own.is_none())),
            Some(rank) if own.is_some_and(|o| o < 4) && !is_key => Some(rank),
            _ => None,
        };
        found.extend(rank.map(|rank| (rank, to, key)));
    }
    let best = found.iter().map(|f| f.0).min();
    found.retain(|f| Some(f.0) == best);
    if found.len() > 1 && best != Some(1) {
        return Vec::new();
    }
    let key = |(_, to, key): (u8, usize, usize)| reference(at.column, to, key);
    found.into_iter().map(key).collect()
}

/// How surely a column refers to a table by its name: `customer_id`, a bare `customer`, `paying_customer_id`.
fn refers(column: &[String], table: &[String]) -> Option<u8> {
    let (last, rest) = column.split_last()?;
    let is_id = holds("id key uid", last) && !rest.is_empty();
    match () {
        () if is_id && rest.concat() == table.concat() => Some(2),
        () if column.concat() == table.concat() => Some(3),
        () if is_id && rest.ends_with(table) => Some(4),
        () => None,
    }
}

fn reference(column: usize, target: usize, key: usize) -> ForeignKey {
    ForeignKey {
        columns: vec![column],
        target,
        target_columns: vec![key],
        guessed: true,
    }
}

/// The tables that keys connect: each table with the number of its part.
fn parts(catalog: &Catalog) -> Vec<usize> {
    let mut parts: Vec<usize> = (0..catalog.tables.len()).collect();
    for (from, table) in catalog.tables.iter().enumerate() {
        for key in &table.foreign_keys {
            let (a, b) = (parts[from], parts[key.target]);
            parts.iter_mut().filter(|p| **p == b).for_each(|p| *p = a);
        }
    }
    parts
}

/// The one table, connected by no key, whose rows a column of the same name tells apart.
fn natural(catalog: &Catalog, at: ColumnRef, parts: &[usize]) -> Option<ForeignKey> {
    let (table, column) = (catalog.table(at.table), catalog.column(at));
    let said = words(&column.plain);
    let is_name = match said.as_slice() {
        [.., of, last] => (last == "name" && !holds(PARTS, of)) || holds("id key uid code", last),
        _ => false,
    };
    if !is_name || is_unique(table, at.column) != Some(false) {
        return None;
    }
    let mut found = Vec::new();
    for (to, target) in catalog.tables.iter().enumerate() {
        let same = target.find(&column.name).filter(|_| {
            parts[to] != parts[at.table]
                && target.datasource == table.datasource
                && !target.is_view()
        });
        let is_told =
            |c: &usize| is_unique(target, *c) == Some(true) && fits_in(column, &target.columns[*c]);
        found.extend(same.filter(is_told).map(|c| reference(at.column, to, c)));
    }
    // The table that is called so, where several tell their rows apart by it.
    let mut own = found
        .iter()
        .filter(|k| catalog.table(k.target).primary_key == k.target_columns);
    match (found.as_slice(), own.next(), own.next()) {
        ([only], ..) | (_, Some(only), None) => Some(only.clone()),
        _ => None,
    }
}
