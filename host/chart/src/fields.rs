//! What a column is for a chart: a time, a category, a measure, a key, or nothing to draw.

use std::collections::HashSet;

use jiff::civil;
use mindhost_plugin_api::{Column, DataType};
use serde_json::{Number, Value};

/// Categories with longer names are texts to read, not to draw.
const LABEL_CHARACTERS: usize = 80;
/// Longer titles are cut.
const TITLE_CHARACTERS: usize = 80;
/// What has a number as its name.
const NUMBERED: &[&str] = &[
    "account", "card", "customer", "flight", "house", "invoice", "line", "order", "page", "phone",
    "room", "row", "serial", "ticket", "track", "tracking",
];
/// The name of NULL among categories.
const NO_VALUE: &str = "(no value)";

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Moments.
    Time(Grain),
    /// Names.
    Category,
    /// Parts of dates in their order: months from 1 to 12, quarters such as `2024-Q1`.
    Ordinal,
    /// Numbers to compare.
    Measure,
    /// Numbers that name something.
    Key,
    /// Not drawn: documents, bytes, long texts.
    Other,
}

/// The shortest unit that a column of moments tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// `2024`
    Year,
    /// `2024-03`
    Month,
    /// `2024-03-05`, or with a time.
    Finer,
}

/// A column and its values, as a chart has them.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in the data of the chart.
    pub name: String,
    /// Its title: the name in the result, cut and without control characters.
    pub title: String,
    /// What it is.
    pub role: Role,
    /// One for each row: moments as ISO 8601 in UTC, categories as texts, measures as numbers or null.
    pub values: Vec<Value>,
    /// Different values.
    pub distinct: usize,
    /// Characters of the longest category.
    pub longest: usize,
}

impl Field {
    /// Reads the column at `index`.
    pub fn of(index: usize, column: &Column, rows: &[Vec<Value>]) -> Self {
        let cells: Vec<&Value> = rows
            .iter()
            .map(|row| row.get(index).unwrap_or(&Value::Null))
            .collect();
        let role = role(column, &cells);
        let values: Vec<Value> = cells.iter().map(|cell| value(role, cell)).collect();
        let texts = values.iter().map(label).collect::<HashSet<_>>();
        Self {
            name: format!("column_{}", index + 1),
            title: title(&column.name, index),
            role,
            distinct: texts.len(),
            longest: texts
                .iter()
                .map(|text| text.chars().count())
                .max()
                .unwrap_or(0),
            values,
        }
    }

    /// Whether it has more than one value, none of them missing.
    pub fn is_complete(&self) -> bool {
        !self.values.iter().any(Value::is_null)
    }

    /// The least and the greatest number; `None` without any.
    pub fn range(&self) -> Option<(f64, f64)> {
        let mut numbers = self.values.iter().filter_map(Value::as_f64);
        let first = numbers.next()?;
        Some(numbers.fold((first, first), |(least, most), one| {
            (least.min(one), most.max(one))
        }))
    }
}

/// A value as text, to count and compare.
pub fn label(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Properties of all objects in JavaScript. Tooltips are objects by title, and Vega refuses a chart with one of these.
const OF_ALL_OBJECTS: &[&str] = &[
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "prototype",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Vega-Lite writes titles into expressions, for tooltips and screen readers. It escapes quotes there, but neither
/// backslashes nor line ends, so a title with `\"` would end the text and go on as an expression.
fn harmless(letter: char) -> char {
    match letter {
        '\\' => '⧵',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        letter if letter.is_control() || letter.is_whitespace() => ' ',
        letter => letter,
    }
}

fn title(name: &str, index: usize) -> String {
    let clean: String = name.chars().map(harmless).collect();
    let clean = clean.trim();
    match clean.char_indices().nth(TITLE_CHARACTERS) {
        _ if clean.is_empty() => format!("column {}", index + 1),
        _ if OF_ALL_OBJECTS.contains(&clean) => format!("column {clean}"),
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean.to_owned(),
    }
}

fn role(column: &Column, cells: &[&Value]) -> Role {
    let present: Vec<&Value> = cells
        .iter()
        .copied()
        .filter(|cell| !cell.is_null())
        .collect();
    if present.is_empty() {
        return Role::Other;
    }
    match column.data_type {
        DataType::Boolean | DataType::Time => Role::Category,
        DataType::Int64 | DataType::Uint64 | DataType::Float64 | DataType::Decimal => {
            numeric(&column.name, &present)
        }
        DataType::Date | DataType::Timestamp | DataType::TimestampUtc | DataType::Text => {
            textual(&column.name, &present)
        }
        DataType::Any if present.iter().all(|cell| cell.is_number()) => {
            numeric(&column.name, &present)
        }
        DataType::Any if present.iter().all(|cell| cell.is_string()) => {
            textual(&column.name, &present)
        }
        DataType::Any if present.iter().all(|cell| cell.is_boolean()) => Role::Category,
        DataType::Bytes | DataType::Json | DataType::Any => Role::Other,
    }
}

fn numeric(name: &str, cells: &[&Value]) -> Role {
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    let is_whole = |least: f64, most: f64| {
        let is_in = |cell: &&Value| {
            number(cell).is_some_and(|one| one.fract() == 0.0 && (least..=most).contains(&one))
        };
        cells.iter().all(is_in)
    };
    let before = words.iter().rev().nth(1).map_or("", String::as_str);
    match last {
        // The count of keys, and orders per day, are figures, whatever their last word is.
        _ if counts(&words) => measure(cells),
        "year" if is_whole(1000.0, 2999.0) => Role::Time(Grain::Year),
        "quarter" | "month" | "week" | "weekday" | "dow" | "doy" | "day" | "hour" | "minute"
            if is_whole(0.0, 366.0) =>
        {
            Role::Ordinal
        }
        "id" | "ids" | "key" | "no" | "nr" | "code" | "zip" | "zipcode" | "isbn" | "phone"
        | "rank"
            if is_whole(f64::MIN, f64::MAX) =>
        {
            Role::Key
        }
        "number" if NUMBERED.contains(&before) && is_whole(f64::MIN, f64::MAX) => Role::Key,
        _ => measure(cells),
    }
}

fn measure(cells: &[&Value]) -> Role {
    match cells.iter().any(|cell| number(cell).is_some()) {
        true => Role::Measure,
        false => Role::Other,
    }
}

/// Whether the words of a name say that something was counted.
fn counts(words: &[String]) -> bool {
    let mut single = words.iter().map(String::as_str);
    single.any(|word| matches!(word, "count" | "cnt" | "per"))
        || words.windows(2).any(|two| two == ["number", "of"])
}

fn textual(name: &str, cells: &[&Value]) -> Role {
    let texts = || cells.iter().filter_map(|cell| cell.as_str());
    let grains: Option<Vec<Grain>> = texts().map(|text| Some(moment(text)?.0)).collect();
    if let Some(grains) = grains
        && let Some(first) = grains.first()
        && grains.iter().all(|grain| grain == first)
        && (*first != Grain::Year || words(name).last().is_some_and(|last| last == "year"))
    {
        return Role::Time(*first);
    }
    if texts().all(is_part_of_year) {
        return Role::Ordinal;
    }
    match texts().all(|text| text.chars().count() <= LABEL_CHARACTERS) {
        true => Role::Category,
        false => Role::Other,
    }
}

/// Whether it is a quarter or week with its year in front: `2024-Q1`, `2024 W07`. Sorted as texts, these are in order.
fn is_part_of_year(text: &str) -> bool {
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let Some((_, part)) = text.split_at_checked(4).filter(|(year, _)| is_digits(year)) else {
        return false;
    };
    let part = part.trim_start_matches(['-', ' ']).to_ascii_uppercase();
    let quarter = part.strip_prefix('Q').filter(|number| number.len() == 1);
    let week = part.strip_prefix('W').filter(|number| number.len() == 2);
    quarter.or(week).is_some_and(is_digits)
}

/// The words of a name, in lower case: those of `customerId` are `customer` and `id`.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || (was_lower && letter.is_uppercase());
        if begins {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A value as a chart has it.
fn value(role: Role, cell: &Value) -> Value {
    match role {
        Role::Time(_) => {
            // A year may come as `2024.0`.
            let year = || moment(&format!("{:.0}", number(cell)?));
            let moment = moment(&label(cell)).or_else(year);
            moment.map_or(Value::Null, |(_, iso)| Value::String(iso))
        }
        Role::Ordinal if cell.as_str().is_some_and(is_part_of_year) => cell.clone(),
        Role::Measure | Role::Ordinal => match cell {
            Value::Number(_) => cell.clone(),
            other => {
                let number = number(other).and_then(Number::from_f64);
                number.map_or(Value::Null, Value::Number)
            }
        },
        Role::Category | Role::Key if cell.is_null() => Value::String(NO_VALUE.to_owned()),
        Role::Category | Role::Key => Value::String(label(cell)),
        Role::Other => Value::Null,
    }
}

/// A finite number, also where it stands as text for its digits.
fn number(cell: &Value) -> Option<f64> {
    let number = match cell {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// A moment in UTC, of the years 0 to 9999. A moment without a time zone is taken as UTC.
fn moment(text: &str) -> Option<(Grain, String)> {
    if !text.is_ascii() || !text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    match (text.len(), text.as_bytes().get(4)) {
        (4, _) if is_digits(text) => Some((Grain::Year, format!("{text}-01-01T00:00:00Z"))),
        (7, Some(b'-')) => {
            let first: civil::Date = format!("{text}-01").parse().ok()?;
            Some((Grain::Month, format!("{first}T00:00:00Z")))
        }
        (10, Some(b'-')) => {
            let day: civil::Date = text.parse().ok()?;
            Some((Grain::Finer, format!("{day}T00:00:00Z")))
        }
        (19.., Some(b'-')) => {
            let time = match text.parse::<jiff::Timestamp>() {
                Ok(moment) => moment.to_zoned(jiff::tz::TimeZone::UTC).datetime(),
                Err(_) => text.parse::<civil::DateTime>().ok()?,
            };
            (0..=9999)
                .contains(&time.year())
                .then(|| (Grain::Finer, format!("{time}Z")))
        }
        _ => None,
    }
}
