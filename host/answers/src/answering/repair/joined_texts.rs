//! Aggregates that join texts: `string_agg`, `GROUP_CONCAT` and `LISTAGG`, each with the separator and the order in
//! another place.

use super::{Replace, functions::Call, row_limits::between};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::Word;

/// Said where a dialect has no such aggregate.
pub const NO_SHORT_FORM: &str = "there is no aggregate that joins distinct texts with this separator; select the distinct ones in a subquery, and join them around it";

/// An aggregate that joins texts, as parts of the statement.
struct Joined {
    name: String,
    /// What is joined, perhaps with DISTINCT.
    of: String,
    separator: Option<String>,
    /// With its keywords.
    order: Option<String>,
    form: Form,
}

/// Where the separator or the order stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `string_agg(a, ',' ORDER BY b)`
    Inside,
    /// `GROUP_CONCAT(a ORDER BY b SEPARATOR ',')`
    Separator,
    /// `LISTAGG(a, ',') WITHIN GROUP (ORDER BY b)`
    Within,
}

/// What to write in place of a call in the form of another dialect; `None` for any other call. The inner `None` means
/// that this dialect has no short way.
pub fn advise(sql: &str, words: &[Word], call: &Call, dialect: Dialect) -> Option<Option<Replace>> {
    let (joined, last) = read(sql, words, call)?;
    if joined.is_of(dialect) {
        return None;
    }
    let first = words.get(call.at)?;
    let instead = joined.written(dialect);
    Some(instead.map(|instead| {
        let written = between(sql, first, words.get(last).unwrap_or(first));
        Replace::new(written, first.position, vec![instead])
    }))
}

/// The parts of a call, and the index of its last word.
fn read(sql: &str, words: &[Word], call: &Call) -> Option<(Joined, usize)> {
    let name = words.get(call.at)?.text.to_lowercase();
    if !["string_agg", "group_concat", "listagg"].contains(&name.as_str()) {
        return None;
    }
    let is = |index: usize, keyword: &str| {
        let word = words.get(index);
        word.is_some_and(|word| word.text.eq_ignore_ascii_case(keyword))
    };
    let text = |from: usize, until: usize| -> Option<String> {
        let (first, last) = (words.get(from)?, words.get(until.checked_sub(1)?)?);
        (from < until).then(|| between(sql, first, last))
    };
    let (from, close) = (call.at + 2, call.close);
    let (mut depth, mut order, mut separator) = (0_usize, None, None);
    for index in from..close {
        match words.get(index)?.text.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if order.is_none() && is(index, "order") && is(index + 1, "by") => {
                order = Some(index)
            }
            _ if separator.is_none() && is(index, "separator") => separator = Some(index),
            _ => {}
        }
    }
    let behind = order.or(separator).unwrap_or(close);
    let comma = call.commas.iter().copied().find(|comma| *comma < behind);
    let of = text(from, comma.unwrap_or(behind))?;
    let mut joined = Joined {
        name,
        of,
        separator: match separator {
            Some(separator) => text(separator + 1, close),
            None => comma.and_then(|comma| text(comma + 1, behind)),
        },
        order: order.and_then(|order| text(order, separator.unwrap_or(close))),
        form: match separator {
            Some(_) => Form::Separator,
            None => Form::Inside,
        },
    };
    let is_within = is(close + 1, "within") && is(close + 2, "group") && is(close + 3, "(");
    if !is_within {
        return Some((joined, close));
    }
    let mut depth = 0_usize;
    let end = (close + 3..words.len()).find(|index| {
        match words.get(*index).map(|word| word.text.as_str()) {
            Some("(") => depth += 1,
            Some(")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    joined.order = text(close + 4, end);
    joined.form = Form::Within;
    Some((joined, end))
}

impl Joined {
    /// Whether the dialect has it in this form.
    fn is_of(&self, dialect: Dialect) -> bool {
        let has_separator = self.separator.is_some();
        let is_inside = self.form == Form::Inside;
        match dialect {
            Dialect::Sqlite => {
                let is_distinct = self.distinct().is_some() && has_separator;
                self.name != "listagg" && is_inside && !is_distinct
            }
            Dialect::Postgresql | Dialect::Datafusion | Dialect::Generic => {
                self.name == "string_agg" && is_inside && has_separator
            }
            Dialect::Mysql => self.name == "group_concat" && self.form != Form::Within,
            Dialect::Mssql => {
                let is_ordered_inside = is_inside && self.order.is_some();
                self.name == "string_agg"
                    && has_separator
                    && self.form != Form::Separator
                    && !is_ordered_inside
            }
            Dialect::Trino => self.name == "listagg" && self.form == Form::Within,
            Dialect::Clickhouse => false,
        }
    }

    fn written(&self, dialect: Dialect) -> Option<String> {
        let Self { of, order, .. } = self;
        let usual = match self.name.as_str() {
            "listagg" => "''",
            _ => "','",
        };
        let separator = self.separator.as_deref().unwrap_or(usual);
        let inside = order
            .as_ref()
            .map_or(String::new(), |order| format!(" {order}"));
        Some(match dialect {
            Dialect::Sqlite if self.distinct().is_some() && separator == "','" => {
                format!("group_concat({of}{inside})")
            }
            // It takes DISTINCT with no separator.
            Dialect::Sqlite if self.distinct().is_some() => return None,
            Dialect::Sqlite => format!("group_concat({of}, {separator}{inside})"),
            Dialect::Postgresql | Dialect::Datafusion | Dialect::Generic => {
                format!("string_agg({of}, {separator}{inside})")
            }
            Dialect::Mysql => format!("GROUP_CONCAT({of}{inside} SEPARATOR {separator})"),
            // It has no DISTINCT here.
            Dialect::Mssql if self.distinct().is_some() => return None,
            Dialect::Mssql => match order {
                Some(order) => format!("STRING_AGG({of}, {separator}) WITHIN GROUP ({order})"),
                None => format!("STRING_AGG({of}, {separator})"),
            },
            Dialect::Trino => match order {
                Some(order) => format!("listagg({of}, {separator}) WITHIN GROUP ({order})"),
                None => format!("array_join(array_agg({of}), {separator})"),
            },
            Dialect::Clickhouse => format!("arrayStringConcat(groupArray({of}), {separator})"),
        })
    }

    /// What stands behind DISTINCT.
    fn distinct(&self) -> Option<&str> {
        let (word, rest) = self.of.split_once(char::is_whitespace)?;
        word.eq_ignore_ascii_case("distinct").then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answering::repair::functions;
    use mindhost_sql::outline;

    #[test]
    fn separator_and_order_stand_where_the_dialect_has_them() {
        for (dialect, written, instead) in [
            (
                Dialect::Postgresql,
                "GROUP_CONCAT(DISTINCT a.b ORDER BY a.b, c SEPARATOR '; ')",
                Some("string_agg(DISTINCT a.b, '; ' ORDER BY a.b, c)"),
            ),
            (
                Dialect::Postgresql,
                "LISTAGG(concat(a, b), ', ') WITHIN GROUP (ORDER BY lower(a))",
                Some("string_agg(concat(a, b), ', ' ORDER BY lower(a))"),
            ),
            (
                Dialect::Sqlite,
                "STRING_AGG(a, ', ') WITHIN GROUP (ORDER BY a)",
                Some("group_concat(a, ', ' ORDER BY a)"),
            ),
            (
                Dialect::Sqlite,
                "string_agg(DISTINCT a, ',')",
                Some("group_concat(DISTINCT a)"),
            ),
            (Dialect::Sqlite, "string_agg(DISTINCT a, '; ')", None),
            (
                Dialect::Mysql,
                "string_agg(a, ', ' ORDER BY b)",
                Some("GROUP_CONCAT(a ORDER BY b SEPARATOR ', ')"),
            ),
            (
                Dialect::Mssql,
                "string_agg(a, ', ' ORDER BY b)",
                Some("STRING_AGG(a, ', ') WITHIN GROUP (ORDER BY b)"),
            ),
            (
                Dialect::Datafusion,
                "GROUP_CONCAT(a)",
                Some("string_agg(a, ',')"),
            ),
            (
                Dialect::Trino,
                "string_agg(a, ', ')",
                Some("array_join(array_agg(a), ', ')"),
            ),
            (
                Dialect::Clickhouse,
                "string_agg(a, ', ')",
                Some("arrayStringConcat(groupArray(a), ', ')"),
            ),
        ] {
            let sql = format!("SELECT {written} FROM t WHERE a IN (1, 2)");
            let words = outline::words(&sql, dialect);
            let calls = functions::calls(&words);
            let call = calls.first().unwrap();
            let replaced = advise(&sql, &words, call, dialect).unwrap();
            let expected =
                instead.map(|instead| Replace::new(written, 8, vec![instead.to_owned()]));
            assert_eq!(replaced, expected, "{dialect:?}");
        }
    }

    #[test]
    fn form_of_the_dialect_stays() {
        for (dialect, written) in [
            (Dialect::Postgresql, "string_agg(a, ', ' ORDER BY b)"),
            (Dialect::Mysql, "GROUP_CONCAT(a, b)"),
            (Dialect::Mysql, "GROUP_CONCAT(a ORDER BY b SEPARATOR ',')"),
            (Dialect::Sqlite, "group_concat(a, ',' ORDER BY b)"),
            (
                Dialect::Mssql,
                "STRING_AGG(a, ',') WITHIN GROUP (ORDER BY a)",
            ),
            (Dialect::Trino, "listagg(a, ',') WITHIN GROUP (ORDER BY a)"),
            (
                Dialect::Postgresql,
                "percentile_cont(0.5) WITHIN GROUP (ORDER BY a)",
            ),
        ] {
            let sql = format!("SELECT {written} FROM t");
            let words = outline::words(&sql, dialect);
            let calls = functions::calls(&words);
            assert_eq!(advise(&sql, &words, &calls[0], dialect), None, "{written}");
        }
    }
}
