//! Questions that can be asked next. Each is made with a statement that answers it, which must pass the guard.

use std::collections::HashSet;

use super::{
    repair::{Kind, Subject, kind},
    tools::Toolbox,
};
use crate::conversations::SqlOrigin;
use mindhost_catalog::{ColumnDetail, TableDetail};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{self, spelled};

/// Questions that one answer suggests at most.
const MAX_QUESTIONS: usize = 3;
/// Tables that they are made of.
const MAX_TABLES: usize = 3;
/// Values of a column that is worth a row each.
const CATEGORIES: std::ops::RangeInclusive<u64> = 2..=30;

/// A question, and the statement that answers it.
struct Candidate {
    question: String,
    sql: String,
}

/// Two or three questions about the tables of a statement that ran, or about the largest ones without it. Fewer where
/// the tables have nothing to ask for. `ran` has the statement and its tables as `datasource.schema.table`. `asked` was
/// asked just now, so it is not suggested.
pub async fn questions(
    toolbox: &Toolbox<'_>,
    ran: Option<(&str, &[String])>,
    asked: &str,
) -> Vec<String> {
    let (sql, read) = ran.unwrap_or_default();
    let subject = Subject {
        sql,
        access: &toolbox.access,
        catalog: toolbox.catalog,
    };
    let mut names = subject.tables();
    if names.iter().any(|name| !read.contains(name)) || names.is_empty() {
        // A statement for one datasource does not name it, and another one may have a table of the same name.
        names = read.to_vec();
        names.retain(|name| is_allowed(toolbox, name));
    }
    if names.is_empty() {
        names = largest(toolbox);
    }
    names.truncate(MAX_TABLES);
    let said = subject.sql.to_lowercase();
    let asked = in_words(asked);
    let mut suggested = Vec::new();
    let described = subject.described(&names).await;
    // One question a table, then the next, so that they differ.
    let mut of_tables: Vec<_> = described
        .iter()
        .map(|table| candidates(table, toolbox, &said).into_iter())
        .collect();
    while suggested.len() < MAX_QUESTIONS {
        let round: Vec<Candidate> = of_tables.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            break;
        }
        for candidate in round {
            if suggested.len() == MAX_QUESTIONS
                || suggested.contains(&candidate.question)
                || in_words(&candidate.question) == asked
            {
                continue;
            }
            let accepted = toolbox
                .results
                .accept(&toolbox.access, &candidate.sql, SqlOrigin::Model)
                .await;
            if accepted.is_ok() {
                suggested.push(candidate.question);
            }
        }
    }
    suggested
}

/// The words of a question without case, marks and blanks, so that two spellings of one question are equal.
fn in_words(question: &str) -> Vec<String> {
    question
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Whether the Mind still has a table.
fn is_allowed(toolbox: &Toolbox<'_>, name: &str) -> bool {
    let mut datasources = toolbox.access.scope.datasources.iter();
    datasources.any(|datasource| {
        let mut tables = datasource.tables.iter();
        tables.any(|table| format!("{}.{}", datasource.name, table.table) == name)
    })
}

/// The tables with the most rows.
fn largest(toolbox: &Toolbox<'_>) -> Vec<String> {
    let datasources = toolbox.access.scope.datasources.iter();
    let mut tables: Vec<(u64, String)> = datasources
        .flat_map(|datasource| {
            datasource
                .tables
                .iter()
                .filter(|table| !table.columns.is_empty())
                .map(|table| {
                    let name = format!("{}.{}", datasource.name, table.table);
                    (table.row_count.unwrap_or(0), name)
                })
        })
        .collect();
    tables.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    tables.into_iter().map(|(_, name)| name).collect()
}

fn candidates(table: &TableDetail, toolbox: &Toolbox<'_>, said: &str) -> Vec<Candidate> {
    let dialect = toolbox
        .access
        .dialect_of(&table.datasource)
        .unwrap_or(Dialect::Generic);
    let several = toolbox.access.scope.datasources.len() > 1;
    let from = from(table, dialect, several);
    let (_, name) = table.name.rsplit_once('.').unwrap_or(("", &table.name));
    let rows = plural(&words(name));
    let mut found = Vec::new();
    let columns = table.columns.iter();
    let mut times = columns.filter(|column| kind(&column.data_type) == Kind::Time);
    // With several dates the question does not say which one is meant. Months of birth say little.
    if let (Some(time), None) = (times.next(), times.next())
        && !time.name.to_lowercase().contains("birth")
        && !(said.contains("month") || said.contains("%m") || said.contains("yyyy-mm"))
    {
        let month = month(&spelled(dialect, &time.name), dialect);
        found.push(Candidate {
            // Without the name of the column, which a model may read as one more group.
            question: format!("How many {rows} are there per month?"),
            sql: format!("SELECT {month}, count(*) FROM {from} GROUP BY {month}"),
        });
    }
    let names = Names::of(toolbox);
    for category in table
        .columns
        .iter()
        .filter(|column| is_category(column, table))
    {
        if said.contains(&format!("group by {}", category.name.to_lowercase()))
            || names.is_table(&category.name)
            || is_period(&category.name)
        {
            continue;
        }
        let column = spelled(dialect, &category.name);
        found.push(Candidate {
            question: format!(
                "How many {rows} are there for each {}?",
                words(&category.name)
            ),
            sql: format!("SELECT {column}, count(*) FROM {from} GROUP BY {column}"),
        });
        break;
    }
    found.extend(each(table, &rows, &from, dialect, &names));
    if let Some(number) = table.columns.iter().find(|column| is_figure(column, table))
        && !said.contains(&format!("sum({}", number.name.to_lowercase()))
    {
        let column = spelled(dialect, &number.name);
        found.push(Candidate {
            question: format!("What is the average {} of the {rows}?", words(&number.name)),
            sql: format!("SELECT avg({column}) FROM {from}"),
        });
    }
    found.push(Candidate {
        question: format!("How many {rows} are there?"),
        sql: format!("SELECT count(*) FROM {from}"),
    });
    found
}

/// How many rows belong to each row of a referenced table; not which have the most, because several may have as many.
/// `None` if the question does not say what is meant: if several keys refer to that table, if its name is a part of
/// this table's name, or if a column has the same name.
fn each(
    table: &TableDetail,
    rows: &str,
    from: &str,
    dialect: Dialect,
    names: &Names,
) -> Option<Candidate> {
    let key = table
        .foreign_keys
        .iter()
        .find(|key| key.columns.len() == 1 && key.references != table.name)?;
    let keys = table.foreign_keys.iter();
    let same = keys.filter(|other| other.references == key.references);
    if same.count() > 1 {
        return None;
    }
    let (_, other) = key.references.rsplit_once('.')?;
    let one = singular(&words(other));
    let is_part = rows.split(' ').any(|word| singular(word) == one);
    if is_part || names.is_column(other) {
        return None;
    }
    let column = spelled(dialect, &key.columns[0]);
    Some(Candidate {
        question: format!("How many {rows} are there for each {one}?"),
        sql: format!("SELECT {column}, count(*) FROM {from} GROUP BY {column}"),
    })
}

/// The names of all tables and columns of the Mind, as questions say them. One that is both says neither clearly.
struct Names {
    tables: HashSet<String>,
    columns: HashSet<String>,
}

impl Names {
    fn of(toolbox: &Toolbox<'_>) -> Self {
        let datasources = toolbox.access.scope.datasources.iter();
        let (mut tables, mut columns) = (HashSet::new(), HashSet::new());
        for table in datasources.flat_map(|one| &one.tables) {
            tables.insert(said_as(&table.table.name));
            columns.extend(table.columns.iter().map(|column| said_as(column)));
        }
        Self { tables, columns }
    }

    fn is_table(&self, column: &str) -> bool {
        self.tables.contains(&said_as(column))
    }

    fn is_column(&self, table: &str) -> bool {
        self.columns.contains(&said_as(table))
    }
}

/// A name without its schema, in words and as one of its kind.
fn said_as(name: &str) -> String {
    let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
    singular(&words(name))
}

/// The table in a FROM of its dialect, with its datasource where there are several.
fn from(table: &TableDetail, dialect: Dialect, several: bool) -> String {
    let parts: Vec<String> = table
        .name
        .split('.')
        .map(|part| spelled(dialect, part))
        .collect();
    match several {
        true => format!("{}.{}", table.datasource, parts.join(".")),
        false => parts.join("."),
    }
}

fn month(column: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => format!("strftime('%Y-%m', {column})"),
        Dialect::Mysql => format!("DATE_FORMAT({column}, '%Y-%m')"),
        Dialect::Mssql => format!("FORMAT({column}, 'yyyy-MM')"),
        Dialect::Clickhouse => format!("toStartOfMonth({column})"),
        Dialect::Postgresql | Dialect::Trino | Dialect::Generic | Dialect::Datafusion => {
            format!("date_trunc('month', {column})")
        }
    }
}

/// Whether it names rows: by the keys of the table, or by its own name, which is all that views have.
fn is_key(column: &ColumnDetail, table: &TableDetail) -> bool {
    table.primary_key.contains(&column.name)
        || table
            .foreign_keys
            .iter()
            .any(|key| key.columns.contains(&column.name))
        || last_word(&column.name) == "id"
}

fn last_word(name: &str) -> String {
    let name = words(name);
    name.rsplit(' ').next().unwrap_or(&name).to_owned()
}

/// A column with few values: by its statistics, or by its name where those may not be read.
fn is_category(column: &ColumnDetail, table: &TableDetail) -> bool {
    const NAMES: [&str; 8] = [
        "status", "type", "category", "country", "kind", "state", "region", "currency",
    ];
    if is_key(column, table) || kind(&column.data_type) != Kind::Text {
        return false;
    }
    let is_named = || {
        NAMES
            .iter()
            .any(|name| column.name.to_lowercase().contains(name))
    };
    column.distinct_count.map_or_else(is_named, |count| {
        let repeats = table.row_count.is_none_or(|rows| count * 2 <= rows);
        CATEGORIES.contains(&count) && repeats
    })
}

/// Whether a question with this name in it asks for dates: a text that is named so is none.
fn is_period(name: &str) -> bool {
    const PERIODS: [&str; 8] = [
        "year", "quarter", "month", "week", "day", "date", "hour", "time",
    ];
    PERIODS.contains(&last_word(name).as_str())
}

/// A number that is worth a mean: neither a key nor a label such as `room_number` or `year_of_founding`.
fn is_figure(column: &ColumnDetail, table: &TableDetail) -> bool {
    const LABELS: [&str; 4] = ["code", "id", "year", "zip"];
    const LAST_WORDS: [&str; 4] = ["key", "month", "no", "number"];
    let is_number = matches!(kind(&column.data_type), Kind::Number | Kind::Integer);
    let name = words(&column.name);
    let is_label = name.split(' ').any(|word| LABELS.contains(&word))
        || LAST_WORDS.contains(&last_word(&name).as_str());
    is_number && !is_label && !is_key(column, table)
}

/// `order_items` and `orderItems` as words.
fn words(name: &str) -> String {
    let mut text = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && was_lower {
            text.push(' ');
        }
        was_lower = letter.is_lowercase();
        match letter {
            '_' | '-' => text.push(' '),
            _ => text.extend(letter.to_lowercase()),
        }
    }
    text
}

/// The plural of an English noun; words that look like a plural, or have none, stay.
fn plural(noun: &str) -> String {
    const WITHOUT: [&str; 6] = ["data", "staff", "info", "information", "history", "people"];
    let last = noun.rsplit(' ').next().unwrap_or(noun);
    let is_letter = |letter: char| letter.is_ascii_lowercase();
    if last.ends_with('s') || !last.ends_with(is_letter) || WITHOUT.contains(&last) {
        return noun.to_owned();
    }
    let consonant = |stem: &str| !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y').filter(|stem| consonant(stem)) {
        Some(stem) => format!("{stem}ies"),
        None if last.ends_with(['x', 'z']) || last.ends_with("ch") || last.ends_with("sh") => {
            format!("{noun}es")
        }
        None => format!("{noun}s"),
    }
}

/// The singular of an English noun; words that look like one stay.
fn singular(noun: &str) -> String {
    const SAME: [&str; 3] = ["series", "species", "news"];
    const ON_IE: [&str; 3] = ["movies", "cookies", "calories"];
    let last = noun.rsplit(' ').next().unwrap_or(noun);
    if SAME.contains(&last) || last.ends_with("ss") || last.ends_with("us") || last.ends_with("is")
    {
        return noun.to_owned();
    }
    if let Some(stem) = noun.strip_suffix("ies")
        && !ON_IE.contains(&last)
    {
        return format!("{stem}y");
    }
    let with_es = noun.strip_suffix("es").filter(|stem| {
        let ends = ["ss", "x", "ch", "sh", "atus"];
        ends.iter().any(|end| stem.ends_with(end))
    });
    let stem = with_es.or_else(|| noun.strip_suffix('s'));
    stem.unwrap_or(noun).to_owned()
}

impl Subject<'_> {
    /// The tables that the statement reads, as the catalog names them.
    pub fn tables(&self) -> Vec<String> {
        let dialect = self.dialect();
        let Some(outline) = outline::outline(self.sql, dialect) else {
            return Vec::new();
        };
        self.used(&outline, dialect)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nouns_have_their_plurals() {
        for (noun, plural) in [
            ("concert", "concerts"),
            ("order items", "order items"),
            ("category", "categories"),
            ("essay", "essays"),
            ("tax", "taxes"),
            ("match", "matches"),
            ("medical history", "medical history"),
            ("t1", "t1"),
            ("straße", "straßes"),
            ("", ""),
        ] {
            assert_eq!(super::plural(noun), plural);
        }
    }

    #[test]
    fn one_of_a_kind_is_a_singular() {
        for (noun, singular) in [
            ("customers", "customer"),
            ("order details", "order detail"),
            ("categories", "category"),
            ("address", "address"),
            ("addresses", "address"),
            ("boxes", "box"),
            ("houses", "house"),
            ("movies", "movie"),
            ("statuses", "status"),
            ("status", "status"),
            ("series", "series"),
            ("sheep", "sheep"),
            ("", ""),
        ] {
            assert_eq!(super::singular(noun), singular);
        }
    }

    #[test]
    fn question_is_the_same_in_another_spelling() {
        let asked = super::in_words("how many ORDERS are there per month ");
        let suggested = super::in_words("How many orders are there per month?");
        assert_eq!(asked, suggested);
        assert_ne!(asked, super::in_words("How many orders are there?"));
    }
}
