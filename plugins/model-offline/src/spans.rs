//! Lengths of time between two dates of a row, which a question can ask for as if they were columns: durations, ages,
//! "the days between the order and its delivery".

use jiff::civil::Date;

use crate::catalog::{Catalog, Column, Kind, Table};
use crate::words::{Token, TokenKind, split, tokenize};

/// What a column that is worked out from dates holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The column where it starts, by its index.
    pub from: usize,
    /// Where it ends.
    pub to: End,
    /// What it is counted in.
    pub unit: Unit,
    /// Other names of the column.
    pub aliases: &'static [&'static str],
}

/// Where a length of time ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A column of the same table, by its index.
    Column(usize),
    /// The day of the question.
    Today(Date),
}

/// What lengths of time are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// In the plural.
    pub name: &'static str,
    /// None for full years, whose lengths differ.
    pub seconds: Option<u32>,
}

const UNITS: &[(&str, Unit)] = &[
    ("second", unit("seconds", 1)),
    ("minute", unit("minutes", 60)),
    ("hour", unit("hours", 3_600)),
    ("day", DAYS),
    ("week", unit("weeks", 604_800)),
    ("year", YEARS),
];
const DAYS: Unit = unit("days", 86_400);
const YEARS: Unit = Unit {
    name: "years",
    seconds: None,
};

const fn unit(name: &'static str, seconds: u32) -> Unit {
    Unit {
        name,
        seconds: Some(seconds),
    }
}

/// Words for where the rows of a table start and end; the rest of two names must be the same.
const ENDS: &[(&str, &str)] = &[
    ("start", "end"),
    ("started", "ended"),
    ("started", "finished"),
    ("started", "completed"),
    ("start", "finish"),
    ("start", "stop"),
    ("begin", "end"),
    ("began", "ended"),
    ("from", "to"),
    ("in", "out"),
    ("checkin", "checkout"),
    ("open", "close"),
    ("opened", "closed"),
    ("admission", "discharge"),
    ("admitted", "discharged"),
    ("pickup", "dropoff"),
    ("departure", "arrival"),
    ("hire", "termination"),
];

/// Dates of a table at most whose pairs can be asked for.
const MOST_DATES: usize = 6;

/// Words without which a question does not ask for a length of time.
const ASKING: &str = "age aged ages old older oldest young younger youngest long longer longest short shorter shortest \
    duration durations length last lasted lasts lasting time times second seconds minute minutes hour hours day days \
    week weeks year years difference interval gap elapsed";

/// The catalog with columns for the lengths of time that its dates give, in the unit of the question.
pub fn with_spans(catalog: &Catalog, question: &str, today: Option<Date>) -> Catalog {
    let mut catalog = catalog.clone();
    let tokens = tokenize(question);
    let asks = |t: &Token| crate::vocabulary::holds(ASKING, &t.norm);
    // Months differ in length, and the difference of two dates is not a number of them.
    if let (true, Some(unit)) = (tokens.iter().any(asks), unit_of(&tokens)) {
        for table in &mut catalog.tables {
            let columns = columns(table, unit, today);
            table.columns.extend(columns);
        }
    }
    catalog
}

/// What a question counts time in: "in weeks", "how many hours", "longer than 3 days"; days if it says nothing.
fn unit_of(tokens: &[Token]) -> Option<Unit> {
    let said = tokens.windows(2).filter_map(|w| {
        let counts = crate::vocabulary::holds("in many of integer full whole", &w[0].norm);
        (counts && w[1].norm != w[1].stem).then_some(w[1].stem.as_str())
    });
    let bound = tokens.windows(3).filter_map(|w| {
        let compares = crate::vocabulary::holds("than least most over under exceeding", &w[0].norm);
        (compares && w[1].kind == TokenKind::Number).then_some(w[2].stem.as_str())
    });
    let units = said.chain(bound).filter_map(|word| {
        let known = UNITS.iter().find(|(name, _)| *name == word);
        (known.is_some() || word == "month").then_some(known.map(|(_, unit)| *unit))
    });
    units.last().unwrap_or(Some(DAYS))
}

fn columns(table: &Table, unit: Unit, today: Option<Date>) -> Vec<Column> {
    let all = table.columns.iter().enumerate();
    let dates: Vec<usize> = all
        .filter(|(_, c)| c.kind == Kind::Date)
        .map(|d| d.0)
        .collect();
    let mut found = Vec::new();
    if dates.is_empty() || dates.len() > MOST_DATES || table.is_view() {
        return found;
    }
    let words = |at: usize| split(&table.columns[at].plain);
    let is_called = |name: &str| {
        table
            .columns
            .iter()
            .any(|c| split(&c.plain).iter().any(|w| w == name))
    };
    let mut birth = dates.iter().filter(|d| is_birth(&words(**d)));
    if let (Some(birth), None, Some(today), false) =
        (birth.next(), birth.next(), today, is_called("age"))
    {
        let span = Span {
            from: *birth,
            to: End::Today(today),
            unit: YEARS,
            aliases: &["how old"],
        };
        found.push(column("age".to_owned(), Kind::Integer, span));
    }
    let pairs = || dates.iter().flat_map(|a| dates.iter().map(|b| (*a, *b)));
    let mut whole = pairs().filter(|(a, b)| is_start_and_end(&words(*a), &words(*b)));
    let lasts = match (whole.next(), whole.next()) {
        (Some(pair), None) if !is_called("duration") && !is_called("length") => Some(pair),
        _ => None,
    };
    for (from, to) in pairs().filter(|(a, b)| a != b) {
        let is_whole = lasts == Some((from, to));
        let [start, end] = [from, to].map(|at| table.columns[at].name.as_str());
        let name = match is_whole {
            true => "duration".to_owned(),
            false => format!("{}_from_{start}_to_{end}", unit.name),
        };
        let span = Span {
            from,
            to: End::Column(to),
            unit,
            aliases: if is_whole {
                &["how long", "length"]
            } else {
                &[]
            },
        };
        found.push(column(name, Kind::Number, span));
    }
    found
}

fn column(name: String, kind: Kind, span: Span) -> Column {
    Column {
        plain: name.clone(),
        name,
        native_type: String::new(),
        description: String::new(),
        kind,
        nullable: true,
        common_values: Vec::new(),
        max: None,
        distinct_count: None,
        span: Some(span),
    }
}

fn is_birth(words: &[String]) -> bool {
    let is = |w: &String| {
        matches!(
            w.as_str(),
            "birth" | "birthday" | "birthdate" | "born" | "dob"
        )
    };
    words.iter().any(is)
}

/// Whether two names differ only in that one is a start and the other its end.
fn is_start_and_end(from: &[String], to: &[String]) -> bool {
    let turned = |(start, end): &(&str, &str)| {
        let at = from.iter().position(|w| w == start);
        at.is_some_and(|at| {
            let mut other = from.to_vec();
            other[at] = (*end).to_owned();
            other == to
        })
    };
    ENDS.iter().any(turned)
}

impl Span {
    /// How it is worked out, in words.
    pub fn describe(&self, table: &Table, name: &str) -> String {
        let from = &table.columns[self.from].name;
        let to = match self.to {
            End::Column(to) => format!("`{}`", table.columns[to].name),
            End::Today(today) => today.to_string(),
        };
        let full = if self.unit.seconds.is_none() {
            "full "
        } else {
            ""
        };
        let (unit, table) = (self.unit.name, &table.name);
        match self.aliases {
            [] => format!("counted are the {full}{unit} from `{table}.{from}` to {to}"),
            _ => format!("the {name} is the {full}{unit} from `{table}.{from}` to {to}"),
        }
    }
}
