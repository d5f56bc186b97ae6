//! Intervals in the form of another dialect: `INTERVAL 3 MONTH` and `INTERVAL '3 months'`.

use super::{Advice, Replace, row_limits::is_count};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::Word;

const UNITS: [&str; 8] = [
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND",
];

/// Adds how this dialect writes intervals.
pub fn advise(words: &[Word], dialect: Dialect, advice: &mut Advice) {
    for (index, word) in words.iter().enumerate() {
        if !word.text.eq_ignore_ascii_case("interval") {
            continue;
        }
        let Some(amount) = words.get(index + 1) else {
            return;
        };
        let unit = words.get(index + 2).and_then(|unit| unit_of(&unit.text));
        let whole = in_one_text(&amount.text);
        match dialect {
            _ if unit.is_none() && whole.is_none() => {}
            Dialect::Sqlite => advice.hint(
                "there is no INTERVAL; write date(day, '+3 months') or datetime(time, '-1 hours')",
            ),
            Dialect::Mssql => advice.hint("there is no INTERVAL; write DATEADD(month, 3, day)"),
            Dialect::Postgresql | Dialect::Datafusion if is_count(amount) => {
                replace(amount, format!("'{}'", amount.text), advice);
            }
            Dialect::Mysql => {
                if let Some((count, unit)) = whole {
                    replace(amount, format!("{count} {unit}"), advice);
                }
            }
            Dialect::Trino => match whole {
                Some((count, unit)) => replace(amount, format!("'{count}' {unit}"), advice),
                None if is_count(amount) => replace(amount, format!("'{}'", amount.text), advice),
                None => {}
            },
            _ => {}
        }
    }
}

fn replace(word: &Word, instead: String, advice: &mut Advice) {
    let instead = vec![instead];
    advice
        .replace
        .push(Replace::new(word.text.clone(), word.position, instead));
}

/// A unit of time in the singular.
fn unit_of(word: &str) -> Option<&'static str> {
    let upper = word.to_uppercase();
    let one = upper.strip_suffix('S').unwrap_or(&upper);
    UNITS.into_iter().find(|unit| *unit == one)
}

/// The number and the unit of `'3 months'`.
fn in_one_text(text: &str) -> Option<(&str, &'static str)> {
    let text = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let (count, unit) = text.trim().split_once(' ')?;
    let digits = count.strip_prefix('-').unwrap_or(count);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((count, unit_of(unit)?)).filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sql::outline;

    #[test]
    fn interval_is_written_as_the_dialect_has_it() {
        for (dialect, interval, expected) in [
            (Dialect::Postgresql, "3 MONTH", Some(("3", "'3'"))),
            (Dialect::Postgresql, "'3 months'", None),
            (
                Dialect::Mysql,
                "'3 months'",
                Some(("'3 months'", "3 MONTH")),
            ),
            (Dialect::Mysql, "3 MONTH", None),
            (Dialect::Trino, "'-3 days'", Some(("'-3 days'", "'-3' DAY"))),
            (Dialect::Trino, "3 DAY", Some(("3", "'3'"))),
        ] {
            let sql = format!("SELECT d + INTERVAL {interval}");
            let mut advice = Advice::default();
            advise(&outline::words(&sql, dialect), dialect, &mut advice);
            let replaced = advice.replace.first();
            let replaced = replaced.map(|one| (one.written.as_str(), one.instead[0].as_str()));
            assert_eq!(replaced, expected, "{dialect:?} {interval}");
        }
        for interval in ["3 MONTH", "'3 months'", "'3' MONTH"] {
            for dialect in [Dialect::Sqlite, Dialect::Mssql] {
                let sql = format!("SELECT d + INTERVAL {interval}");
                let mut advice = Advice::default();
                advise(&outline::words(&sql, dialect), dialect, &mut advice);
                assert_eq!(advice.hints.len(), 1, "{dialect:?} {interval}");
            }
        }
    }
}
