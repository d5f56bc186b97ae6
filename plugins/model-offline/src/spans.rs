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
    /// Why the question cannot be answered with it.
    pub refused: Option<&'static str>,
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
    /// None for years, whose lengths differ, so that only full ones are counted.
    pub seconds: Option<u32>,
    /// Whether only full ones count.
    pub whole: bool,
}

const UNITS: &[(&str, Unit)] = &[
    ("second", unit("seconds", 1)),
    ("minute", unit("minutes", 60)),
    ("hour", unit("hours", 3_600)),
    ("day", DAYS),
    ("week", unit("weeks", 604_800)),
    ("year", YEARS),
];
/// Units that lengths are not counted in: the difference of two dates is not a number of them, or the word may mean
/// something else.
const OTHERS: &str = "month quarter decade night";
const DAYS: Unit = unit("days", 86_400);
const YEARS: Unit = Unit {
    name: "years",
    seconds: None,
    whole: true,
};

const fn unit(name: &'static str, seconds: u32) -> Unit {
    Unit {
        name,
        seconds: Some(seconds),
        whole: false,
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

/// Parts of names that tell that some rows are of the dead.
const DEATH: &str = "death died dead deceased deathdate dod";

/// Dates of a table at most whose pairs can be asked for.
const MOST_DATES: usize = 6;

/// Words without which a question does not ask for a length of time.
const ASKING: &str = "age aged ages old older oldest young younger youngest long longer longest short shorter shortest \
    duration durations length last lasted lasts lasting time times second seconds minute minutes hour hours day days \
    week weeks year years difference interval gap elapsed";

/// What a question counts its lengths of time in.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// For lengths between two dates.
    unit: Unit,
    /// Whether these can be counted so.
    has_lengths: bool,
    /// Whether it says nothing that ages are not counted in.
    has_ages: bool,
}

/// The catalog with columns for the lengths of time that its dates give, in the unit of the question.
pub fn with_spans(catalog: &Catalog, question: &str, today: Option<Date>) -> Catalog {
    let mut catalog = catalog.clone();
    let tokens = tokenize(question);
    let asks = |t: &Token| crate::vocabulary::holds(ASKING, &t.norm);
    if tokens.iter().any(asks) {
        let asked = asked(&tokens);
        // "How long is Elm?" is about the length that is stored, and not about that of other rows.
        let is_stored = ["length", "duration", "age"].map(|name| {
            let mut columns = catalog.tables.iter().flat_map(|t| &t.columns);
            columns.any(|c| split(&c.plain).iter().any(|w| w == name))
        });
        for table in &mut catalog.tables {
            let mut columns = columns(table, asked, today);
            for span in columns.iter_mut().filter_map(|c| c.span.as_mut()) {
                let [length, duration, age] = is_stored;
                span.aliases = match span.aliases {
                    ["how old"] if age => &["years of age"],
                    ["how long", "length"] if length || duration => &["length"],
                    aliases => aliases,
                };
            }
            table.columns.extend(columns);
        }
    }
    catalog
}

/// What a question counts time in: "in weeks", "of 3 hours", "longer than 3 days"; days and years of age if it says
/// nothing. Two units are of two lengths, of which one is not in the unit of the other.
fn asked(tokens: &[Token]) -> Asked {
    let mut said: Vec<&str> = units(tokens).map(|at| tokens[at].stem.as_str()).collect();
    said.dedup();
    let whole = units(tokens).any(|at| {
        let before = at.checked_sub(1).map_or("", |b| tokens[b].norm.as_str());
        crate::vocabulary::holds("full whole complete integer", before)
    });
    let known = |word: &str| {
        UNITS
            .iter()
            .find(|(name, _)| *name == word)
            .map(|(_, u)| *u)
    };
    let unit = match said.as_slice() {
        [] => Some(DAYS),
        [one] => known(one).filter(|u| whole || *u != YEARS),
        _ => None,
    };
    let plain = unit.unwrap_or(DAYS);
    Asked {
        unit: Unit {
            whole: whole || plain.whole,
            ..plain
        },
        has_lengths: unit.is_some(),
        has_ages: said.iter().all(|word| *word == "year"),
    }
}

/// The places of the units that lengths are counted in, which are no periods such as "the last 10 days".
fn units(tokens: &[Token]) -> impl Iterator<Item = usize> {
    let is_unit = |word: &str| {
        UNITS.iter().any(|(name, _)| *name == word) || crate::vocabulary::holds(OTHERS, word)
    };
    (0..tokens.len()).filter(move |at| {
        let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
        let counted = at
            .checked_sub(1)
            .filter(|b| tokens[*b].kind == TokenKind::Number);
        // "the last 3 full weeks"
        let small = |i: &usize| {
            let is_kind =
                crate::vocabulary::holds("full complete completed calendar whole", word(*i));
            is_kind || tokens[*i].kind == TokenKind::Number
        };
        let before = (0..*at).rev().find(|i| !small(i)).map_or("", word);
        let is_period = crate::vocabulary::holds("last past previous next first", before)
            || word(at + 1) == "ago"
            || word(at + 1) == "of" && word(at + 2) == "the" && word(at + 3) == "week";
        let token = &tokens[*at];
        let is_said = counted.is_some() || token.norm != token.stem;
        is_said && is_unit(&token.stem) && !is_period
    })
}

fn columns(table: &Table, asked: Asked, today: Option<Date>) -> Vec<Column> {
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
        // The dead grow no older.
        let is_dead = DEATH.split(' ').any(is_called);
        let refused = match asked.has_ages {
            true => is_dead.then_some("an age where some may be dead"),
            false => Some("an age that is not in years"),
        };
        let span = Span {
            from: *birth,
            to: End::Today(today),
            unit: YEARS,
            aliases: &["how old"],
            refused,
        };
        found.push(column("age".to_owned(), Kind::Integer, span));
    }
    let unit = asked.unit;
    let refused = (!asked.has_lengths).then_some("a length of time in such units");
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
            refused,
        };
        let kind = if unit.whole {
            Kind::Integer
        } else {
            Kind::Number
        };
        found.push(column(name, kind, span));
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

impl End {
    /// The column, where it is one.
    fn column(self) -> Option<usize> {
        match self {
            Self::Column(at) => Some(at),
            Self::Today(_) => None,
        }
    }
}

impl Span {
    /// How it is worked out, in words.
    pub fn describe(&self, table: &Table, name: &str) -> String {
        let from = &table.columns[self.from].name;
        let to = match self.to {
            End::Column(to) => format!("`{}`", table.columns[to].name),
            End::Today(today) => today.to_string(),
        };
        let full = if self.unit.whole { "full " } else { "" };
        // A day that holds no time of day is a whole one.
        let is_day = |at: usize| table.columns[at].native_type.eq_ignore_ascii_case("date");
        let ends = [Some(self.from), self.to.column()];
        let is_whole = self.unit.whole || self.unit.seconds == Some(1);
        let parts = match is_whole || ends.into_iter().flatten().all(is_day) {
            true => "",
            false => ", with their fractions,",
        };
        let (unit, table) = (self.unit.name, &table.name);
        let what = match self.aliases {
            [] => "counted are".to_owned(),
            _ => format!("the {name} is"),
        };
        format!("{what} the {full}{unit}{parts} from `{table}.{from}` to {to}")
    }
}
