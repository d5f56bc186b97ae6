//! Names of tables and columns that do not exist, and the nearest that do.

use super::{
    Advice, MAX_ADVICES, MAX_UNKNOWN, Replace,
    joins::Missing,
    nearest::{composed, is_misspelt, likeness, nearest},
    qualifiers::{Meaning, Qualifier},
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{Column, Name, Outline, Table, spelled};

/// Tables that an unknown one may be by its columns, and columns that a misspelt one may be.
const MAX_LIKE: usize = 3;
/// Quotes that only a text can have.
const CURLY: [char; 4] = ['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'];

/// Adds what to write in place of unknown names. Returns the tables that the statement needs but does not read.
pub fn advise<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    advice: &mut Advice,
) -> Vec<Missing<'a>> {
    let is_cte = |table: &Table| {
        table.parts.len() == 1 && outline.defined.contains(&table.name.text.to_lowercase())
    };
    let found = |table| known.find(table).map(|found| (table, found));
    for (table, found) in outline.tables().filter_map(found) {
        if advice.replace.len() < MAX_ADVICES && is_in_wrong_case(known, table, &found) {
            let name = &table.name;
            let instead = vec![spelled(known.dialect, found.name)];
            let (written, position) = (quoted(name), name.position);
            advice
                .replace
                .push(Replace::new(written, position, instead));
        }
    }
    let is_unknown = |table: &&Table| !is_cte(table) && known.find(table).is_none();
    let mut unknown_tables = outline
        .tables()
        .filter(is_unknown)
        .take(MAX_UNKNOWN)
        .peekable();
    // A column of an unknown table is unknown too, and says nothing.
    let says_nothing = !advice.replace.is_empty() || unknown_tables.peek().is_some();
    for table in unknown_tables {
        if advice.replace.len() >= MAX_ADVICES {
            break;
        }
        let instead = in_place_of_table(known, outline, table);
        if !instead.is_empty() {
            let written = table.parts.join(".");
            advice.replace.push(Replace::new(written, 0, instead));
        }
    }
    if says_nothing {
        return Vec::new();
    }
    let used = known.used(outline);
    let is_unknown = |column: &&Column| !is_known(known, outline, &used, column);
    let unknown: Vec<&Column> = outline
        .columns
        .iter()
        .filter(is_unknown)
        .take(MAX_UNKNOWN)
        .collect();
    let mut missing: Vec<Missing<'a>> = Vec::new();
    for column in &unknown {
        if advice.replace.len() >= MAX_ADVICES {
            break;
        }
        let Some((table, alias)) = in_place_of(known, outline, &used, column, &unknown, advice)
        else {
            continue;
        };
        let position = column.qualifier.as_ref().unwrap_or(&column.name).position;
        // A column without a qualifier may be of any reading of its table.
        let is_same = |one: &&mut Missing<'a>| {
            let is_free = one.alias.is_none() || alias.is_none();
            one.table == table && (is_free || one.alias == alias)
        };
        match missing.iter_mut().find(is_same) {
            Some(one) => {
                one.positions.push(position);
                one.alias = one.alias.take().or(alias);
            }
            None => missing.push(Missing {
                table,
                alias,
                positions: vec![position],
            }),
        }
    }
    missing
}

/// Whether a name in quotes is that of a table in another case, where the engine compares such a name exactly.
fn is_in_wrong_case(known: &StatementScope<'_>, table: &Table, found: &KnownTable<'_>) -> bool {
    let is_exact = matches!(known.dialect, Dialect::Postgresql | Dialect::Datafusion);
    let name = &table.name;
    is_exact
        && name.quote.is_some()
        && name.text != found.name
        && known.tables.iter().all(|one| one.name != name.text)
}

/// The tables that an unknown one may be: those with a like name, or else those with all columns that the statement
/// names of it.
fn in_place_of_table(known: &StatementScope<'_>, outline: &Outline, table: &Table) -> Vec<String> {
    let candidates = known.tables.iter().map(|one| (one.name.to_owned(), one));
    let mut found = nearest(&table.name.text, candidates);
    let called = table.alias.as_deref().unwrap_or(&table.name.text);
    let is_of = |column: &&Column| {
        let qualifier = column.qualifier.as_ref();
        qualifier.is_some_and(|one| one.text.eq_ignore_ascii_case(called))
    };
    let columns: Vec<&Column> = outline
        .columns
        .iter()
        .filter(is_of)
        .take(MAX_UNKNOWN)
        .collect();
    let has_all = |one: &KnownTable<'_>| columns.iter().all(|column| one.has(&column.name));
    if found.is_empty() && !columns.is_empty() {
        found = known
            .tables
            .iter()
            .filter(|one| has_all(one))
            .take(MAX_LIKE)
            .collect();
    }
    found.sort_by_key(|one| !has_all(one));
    found.into_iter().map(|one| known.written(one)).collect()
}

/// Whether a column may be one of the tables that the statement reads.
fn is_known<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
) -> bool {
    let may_have = |table: &KnownTable<'_>| table.columns.is_empty() || table.has(&column.name);
    let is_defined = |name: &Name| outline.defined.contains(&name.text.to_lowercase());
    match &column.qualifier {
        Some(qualifier) => match known.qualified(qualifier, outline) {
            Some(table) => may_have(&table),
            None => is_defined(qualifier),
        },
        None => is_defined(&column.name) || used.is_empty() || used.iter().any(may_have),
    }
}

/// Advises on one unknown column. Returns a table that it needs, with what the statement calls that.
fn in_place_of<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
    unknown: &[&Column],
    advice: &mut Advice,
) -> Option<(KnownTable<'a>, Option<String>)> {
    let Some(qualifier) = &column.qualifier else {
        let table = in_place_of_bare(known, outline, column, used, advice)?;
        return Some((table, None));
    };
    if let Some(table) = known.qualified(qualifier, outline) {
        let table = in_place_of_qualified(known, outline, used, column, &table, advice)?;
        return Some((table, None));
    }
    let unknown_qualifier = Qualifier {
        known,
        outline,
        used,
        name: qualifier,
    };
    match unknown_qualifier.meaning(column, unknown) {
        Meaning::Missing(table) => {
            let name = spelled(known.dialect, table.name);
            let is_name = name.eq_ignore_ascii_case(&qualifier.text) || qualifier.quote.is_some();
            Some((table, (!is_name).then(|| qualifier.text.clone())))
        }
        Meaning::Columns(instead) => {
            if !instead.is_empty() {
                choose(column, &instead, advice);
                advice.replace.push(written(column, instead));
            }
            None
        }
        Meaning::Uncertain(columns) => {
            if !columns.is_empty() {
                advice.hint(format!(
                    "the statement reads no table as {0}; write {1} if that is meant, or else join the table that {0} is",
                    quoted(qualifier),
                    columns.join(" or ")
                ));
            }
            None
        }
    }
}

/// A column that the table behind its qualifier does not have.
fn in_place_of_qualified<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
    table: &KnownTable<'a>,
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let qualifier = column
        .qualifier
        .as_ref()
        .map_or("", |name| name.text.as_str());
    let own = |name: &String| format!("{qualifier}.{}", spelled(known.dialect, name));
    if let Some(name) = composed(&column.name.text, table.name, table.columns) {
        advice.replace.push(written(column, vec![own(name)]));
        return None;
    }
    let elsewhere = used
        .iter()
        .filter(|other| *other != table && other.has(&column.name));
    let elsewhere: Vec<&KnownTable<'a>> = elsewhere
        .filter(|other| !is_compared_with(known, outline, column, other))
        .collect();
    let needed = match elsewhere.is_empty() {
        true => table_with(known, used, &column.name),
        false => None,
    };
    if let Some(needed) = needed {
        return Some(in_needed(known, column, needed, &column.name.text, advice));
    }
    let mut instead: Vec<String> = Vec::new();
    for other in elsewhere {
        let name = spelled_column(known, other, &column.name);
        let aliases = known.qualifiers(other, outline).into_iter();
        instead.extend(aliases.map(|alias| format!("{alias}.{name}")));
    }
    instead.truncate(MAX_ADVICES);
    choose(column, &instead, advice);
    instead.extend(misspelt(&[*table], &column.name).map(|(_, name)| own(name)));
    if !instead.is_empty() {
        advice.replace.push(written(column, instead));
        return None;
    }
    in_place_of_unlike(known, outline, used, column, &[*table], advice)
}

/// A column that no table of the statement has.
fn in_place_of_bare<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    column: &Column,
    used: &[KnownTable<'a>],
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let whole = used.iter().filter_map(|table| {
        let name = composed(&column.name.text, table.name, table.columns)?;
        Some((*table, name))
    });
    let mut found: Vec<(KnownTable<'a>, &String)> = whole.collect();
    if found.is_empty() {
        if let Some(table) = table_with(known, used, &column.name) {
            return Some(table);
        }
        found.extend(misspelt(used, &column.name));
    }
    let qualifies = used.len() > 1;
    let texts = |(table, name): (KnownTable<'a>, &String)| {
        let spelled = spelled(known.dialect, name);
        let aliases = known.qualifiers(&table, outline);
        match qualifies || aliases.len() > 1 {
            true => {
                let texts = aliases.iter().map(|alias| format!("{alias}.{spelled}"));
                texts.collect()
            }
            false => vec![spelled],
        }
    };
    let found = found.into_iter().flat_map(texts);
    let mut instead: Vec<String> = found.take(MAX_ADVICES).collect();
    choose(column, &instead, advice);
    let name = column.name.text.trim_matches(CURLY);
    if column.name.quote == Some('"')
        || name.len() < column.name.text.len()
        || is_beside_known(known, outline, used, column)
    {
        instead.push(format!("'{}'", name.replace('\'', "''")));
        advice.hint("texts stand in single quotes: 'text'; double quotes are for names");
    }
    if !instead.is_empty() {
        advice.replace.push(written(column, instead));
        return None;
    }
    in_place_of_unlike(known, outline, used, column, used, advice)
}

/// A column that is none of these tables misspelt: the table that the statement lacks and whose name it has in front.
/// Else only a hint, because a column that is merely like it means something else.
fn in_place_of_unlike<'a>(
    known: &StatementScope<'a>,
    outline: &Outline,
    used: &[KnownTable<'a>],
    column: &Column,
    of: &[KnownTable<'a>],
    advice: &mut Advice,
) -> Option<KnownTable<'a>> {
    let name = &column.name;
    let all = || known.tables.iter();
    let with: Vec<&KnownTable<'a>> = all().filter(|table| table.has(name)).collect();
    let whole = |table: &KnownTable<'a>| {
        let found = composed(&name.text, table.name, table.columns)?;
        Some((*table, found))
    };
    let found: Vec<(KnownTable<'a>, &String)> = match with.is_empty() {
        true => all().filter_map(whole).collect(),
        false => Vec::new(),
    };
    if let [(table, found)] = found[..] {
        let is_itself = is_compared_with(known, outline, column, &table);
        if used.contains(&table) && !is_itself {
            let found = spelled(known.dialect, found);
            let aliases = known.qualifiers(&table, outline).into_iter();
            let instead: Vec<String> = aliases.map(|alias| format!("{alias}.{found}")).collect();
            choose(column, &instead, advice);
            advice.replace.push(written(column, instead));
            return None;
        }
        if !is_itself {
            return Some(in_needed(known, column, table, found, advice));
        }
    }
    let columns = of.iter().flat_map(|table| {
        let columns = table.columns.iter();
        columns.map(|name| (name.clone(), spelled(known.dialect, name)))
    });
    let mut like = nearest(&name.text, columns);
    like.dedup();
    let lacking = with.into_iter().filter(|table| !used.contains(table));
    let tables: Vec<String> = lacking
        .take(MAX_ADVICES)
        .map(|one| known.written(one))
        .collect();
    if !tables.is_empty() {
        advice.hint(format!(
            "{} is a column of {}; join the one that is meant",
            name.text,
            tables.join(" and of ")
        ));
    } else if !like.is_empty() {
        advice.hint(format!(
            "there is no column {}; {} is like it, but may mean something else",
            name.text,
            like.join(" or ")
        ));
    }
    None
}

/// Advises on a column that is in a table that the statement lacks, under this name. Returns the table.
fn in_needed<'a>(
    known: &StatementScope<'a>,
    column: &Column,
    table: KnownTable<'a>,
    name: &str,
    advice: &mut Advice,
) -> KnownTable<'a> {
    let name = Name {
        text: name.to_owned(),
        ..column.name.clone()
    };
    let of = spelled(known.dialect, table.name);
    let instead = format!("{of}.{}", spelled_column(known, &table, &name));
    advice.replace.push(written(column, vec![instead]));
    table
}

/// The columns of these tables that a written one is misspelt of, best first.
fn misspelt<'a>(
    tables: &[KnownTable<'a>],
    written: &Name,
) -> impl Iterator<Item = (KnownTable<'a>, &'a String)> {
    let written = &written.text;
    let columns = tables.iter().flat_map(|table| {
        let table = *table;
        table.columns.iter().map(move |name| (table, name))
    });
    let mut found: Vec<_> = columns
        .filter(|(_, name)| is_misspelt(written, name))
        .collect();
    found.sort_by(|(_, a), (_, b)| likeness(written, b).total_cmp(&likeness(written, a)));
    found.into_iter().take(MAX_LIKE)
}

/// Whether a name without a table is compared with a known column by `=`, as a text is.
fn is_beside_known(
    known: &StatementScope<'_>,
    outline: &Outline,
    used: &[KnownTable<'_>],
    column: &Column,
) -> bool {
    let is_owned = |other: &Column| known.owner(other, outline, used).is_some();
    let mut equal = outline.blocks.iter().flat_map(|block| &block.equal);
    equal.any(|(left, right)| {
        (left == column && is_owned(right)) || (right == column && is_owned(left))
    })
}

/// Whether the statement compares a column by `=` with the column of this name of a table. In place of the one, the
/// other would be compared with itself, so that each row is joined with every row.
pub fn is_compared_with(
    known: &StatementScope<'_>,
    outline: &Outline,
    column: &Column,
    table: &KnownTable<'_>,
) -> bool {
    let is_its = |other: &Column| {
        let qualifier = other.qualifier.as_ref();
        let of = qualifier.and_then(|qualifier| known.qualified(qualifier, outline));
        other.name.text.eq_ignore_ascii_case(&column.name.text) && of.as_ref() == Some(table)
    };
    let mut equal = outline.blocks.iter().flat_map(|block| &block.equal);
    equal
        .any(|(left, right)| (left == column && is_its(right)) || (right == column && is_its(left)))
}

/// A table that the statement does not read, with this very column.
fn table_with<'a>(
    known: &StatementScope<'a>,
    used: &[KnownTable<'a>],
    name: &Name,
) -> Option<KnownTable<'a>> {
    let mut with = known
        .tables
        .iter()
        .filter(|table| !used.contains(table) && table.has(name));
    match (with.next(), with.next()) {
        (Some(only), None) => Some(*only),
        _ => None,
    }
}

/// A column of a table with the spelling of the catalog.
pub fn spelled_column(
    known: &StatementScope<'_>,
    table: &KnownTable<'_>,
    written: &Name,
) -> String {
    let stored = table
        .columns
        .iter()
        .find(|column| column.eq_ignore_ascii_case(&written.text));
    spelled(
        known.dialect,
        stored.map_or(written.text.as_str(), String::as_str),
    )
}

/// Says that one of several columns is to be chosen: each gives other rows.
fn choose(column: &Column, columns: &[String], advice: &mut Advice) {
    if columns.len() > 1 {
        advice.hint(format!(
            "{} may be {}; choose the one that is meant",
            column.name.text,
            columns.join(" or ")
        ));
    }
}

/// A name as the statement has it.
fn quoted(name: &Name) -> String {
    match name.quote {
        Some('[') => format!("[{}]", name.text),
        Some(quote) => format!("{quote}{}{quote}", name.text),
        None => name.text.clone(),
    }
}

/// A column as the statement has it.
fn written(column: &Column, instead: Vec<String>) -> Replace {
    let (text, first) = match &column.qualifier {
        Some(qualifier) => (
            format!("{}.{}", quoted(qualifier), quoted(&column.name)),
            qualifier,
        ),
        None => (quoted(&column.name), &column.name),
    };
    Replace::new(text, first.position, instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Access;
    use mindhost_plugin_api::TableRef;
    use mindhost_sql::{ScopeDatasource, ScopeTable, outline};

    /// 400 tables of 30 columns.
    fn warehouse() -> Access {
        let table = |number: usize| ScopeTable {
            columns: (0..30).map(|column| format!("measure_{column}")).collect(),
            ..ScopeTable::new(TableRef::new("main", format!("fact_{number}")), &[])
        };
        let tables = (0..400).map(table).collect();
        Access::of(ScopeDatasource::new("shop", Dialect::Postgresql, tables).into())
    }

    fn advised(sql: &str) -> Vec<Replace> {
        let access = warehouse();
        let known = StatementScope::new(&access, Dialect::Postgresql);
        let outline = outline::outline(sql, Dialect::Postgresql).unwrap();
        let mut advice = Advice::default();
        assert_eq!(advise(&known, &outline, &mut advice), []);
        advice.replace
    }

    #[test]
    fn few_of_many_unknown_names_are_compared_with_the_catalog() {
        let tables: Vec<String> = (0..40).map(|one| format!("fact_{one} AS t{one}")).collect();
        let from = tables.join(", ");
        let columns = "measur_1, ".repeat(20_000);
        let found = advised(&format!("SELECT {columns}1 FROM {from}"));
        assert_eq!(found.len(), MAX_ADVICES);
        assert_eq!(found[0].written, "measur_1");
        assert!(found[0].instead[0].starts_with("t0.measure_1"), "{found:?}");
        let columns = "zzqqwwkk, ".repeat(20_000);
        assert_eq!(advised(&format!("SELECT {columns}1 FROM {from}")), []);
        let columns = "t39.measure_29, ".repeat(15_000);
        assert_eq!(advised(&format!("SELECT {columns}1 FROM {from}")), []);
        let others = "fact_1x, ".repeat(20_000);
        let found = advised(&format!("SELECT 1 FROM {others}fact_1"));
        assert_eq!(found.len(), MAX_ADVICES);
    }
}
