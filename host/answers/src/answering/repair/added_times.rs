//! A number of days, months or hours that is added to a date: `DATEADD(month, 3, d)`, `DATE_SUB(d, INTERVAL 3 DAY)`.

use mindhost_plugin_api::Dialect;

/// The units that mean the same in all dialects that have them: the names of each, the unit of an interval, and how
/// many of those it is.
const UNITS: [(&str, &[&str], &str, u8); 8] = [
    ("year", &["years", "yy", "yyyy"], "year", 1),
    ("quarter", &["quarters", "qq", "q"], "month", 3),
    ("month", &["months", "mm"], "month", 1),
    ("week", &["weeks", "wk"], "day", 7),
    ("day", &["days", "dd", "d"], "day", 1),
    ("hour", &["hours", "hh"], "hour", 1),
    ("minute", &["minutes", "mi"], "minute", 1),
    ("second", &["seconds", "ss", "s"], "second", 1),
];

/// What a call adds to a date.
pub struct Added<'a> {
    date: &'a str,
    /// Also one that is no name of a unit.
    unit: String,
    count: String,
}

impl<'a> Added<'a> {
    /// Reads a call by its name in lower case; `None` for any other.
    pub fn of(name: &str, arguments: &'a [String]) -> Option<Self> {
        match (name, arguments) {
            ("dateadd" | "date_add" | "timestampadd", [unit, count, date]) => Some(Self {
                date,
                unit: unit.trim_matches('\'').to_lowercase(),
                count: count.clone(),
            }),
            ("date_add" | "adddate" | "date_sub" | "subdate", [date, interval]) => {
                let (word, rest) = interval.split_once(char::is_whitespace)?;
                if !word.eq_ignore_ascii_case("interval") {
                    return None;
                }
                // `INTERVAL '3 months'`, `INTERVAL '3' MONTH` and `INTERVAL n - 1 MONTH`.
                let (count, unit) = rest.trim().trim_end_matches('\'').rsplit_once(' ')?;
                let count = count.trim().trim_matches('\'');
                let count = match name {
                    "date_sub" | "subdate" => format!("-({count})"),
                    _ => count.to_owned(),
                };
                Some(Self {
                    date,
                    unit: unit.trim().to_lowercase(),
                    count,
                })
            }
            _ => None,
        }
    }

    /// The number that is added, if it is written as one: `3`, `-3` or `-(3)`.
    fn written_count(&self) -> Option<i64> {
        let digits: String = self
            .count
            .chars()
            .filter(|sign| !"() ".contains(*sign))
            .collect();
        digits.parse::<i32>().ok().map(i64::from)
    }

    /// How a dialect writes it; none if that is not known.
    pub fn written(&self, dialect: Dialect) -> Vec<String> {
        let Self { date, unit, count } = self;
        let is_it = |(name, others, ..): &&(&str, &[&str], &str, u8)| {
            *name == unit || others.contains(&unit.as_str())
        };
        let Some((name, _, part, parts)) = UNITS.iter().find(is_it) else {
            return Vec::new();
        };
        match dialect {
            Dialect::Sqlite => {
                let amount = match parts {
                    1 => format!("({count})"),
                    _ => format!("({parts} * ({count}))"),
                };
                // The last day of a shorter month, as DATEADD has it.
                let floor = match *part {
                    "month" | "year" => ", 'floor'",
                    _ => "",
                };
                let call = |function| format!("{function}({date}, {amount} || ' {part}'{floor})");
                match *part {
                    "hour" | "minute" | "second" => vec![call("datetime")],
                    _ => vec![call("date"), call("datetime")],
                }
            }
            Dialect::Mysql => vec![format!("DATE_ADD({date}, INTERVAL ({count}) {name})")],
            Dialect::Mssql => vec![format!("DATEADD({name}, {count}, {date})")],
            Dialect::Clickhouse => vec![format!("dateAdd({name}, {count}, {date})")],
            Dialect::Trino => vec![format!("date_add('{name}', {count}, {date})")],
            Dialect::Postgresql | Dialect::Generic => {
                vec![format!("({date} + ({count}) * INTERVAL '{parts} {part}')")]
            }
            // It multiplies no interval, so the number must be written.
            Dialect::Datafusion => match self.written_count() {
                Some(count) => {
                    let amount = count * i64::from(*parts);
                    vec![format!("({date} + INTERVAL '{amount} {part}')")]
                }
                None => Vec::new(),
            },
        }
    }
}
