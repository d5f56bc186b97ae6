//! Conditions over columns of the catalog.

use super::*;

impl Resolver<'_> {
    pub(super) fn filter(
        &mut self,
        filter: &Filter,
        before: Option<&Resolved>,
    ) -> Answer<Condition> {
        let column = match (&filter.test, filter.column, filter.quality) {
            (Test::Values(values), named, _) => return self.values(filter, values, named, before),
            (Test::Days(_) | Test::Year(..), Some(at), _) => match self.dated_column(at) {
                Some(column) => column,
                None => self.column(at)?,
            },
            (Test::Missing, Some(at), _) if self.items[at].is_value() => self
                .dated_column(at)
                .ok_or(Trouble::Shape("a date that may be missing"))?,
            (_, Some(at), _) => self.column(at)?,
            (_, None, Some(Quality::Time)) => match self.time(filter.at) {
                Some(column) => column,
                None => self.quality(filter.at, Quality::Time)?,
            },
            (_, None, Some(quality)) => self.quality(filter.at, quality)?,
            (_, None, None) => return Err(Trouble::Shape("a condition without a column")),
        };
        let source = self.catalog.column(column).clone();
        let numeric = source.is_numeric();
        let check = match &filter.test {
            Test::Number(c, n) if numeric => Check::Number(*c, n.clone()),
            Test::Number(Comparison::Equal, n)
                if source.common_values.contains(n) || holds_numbers(&source.common_values) =>
            {
                Check::Texts(vec![n.clone()], true)
            }
            Test::Number(c, n) if holds_numbers(&source.common_values) => {
                Check::Number(*c, n.clone())
            }
            Test::Range(a, b) if numeric || holds_numbers(&source.common_values) => {
                Check::Range(a.clone(), b.clone())
            }
            Test::Average(c) if numeric || source.holds_numbers() => Check::Average(*c),
            Test::Truth => Check::Truth,
            Test::Missing => Check::Missing,
            Test::Like(place, text) => Check::Like(*place, text.clone()),
            Test::Days(period) if source.kind == Type::Date => Check::Days(*period),
            Test::Year(c, year) if source.kind == Type::Date => {
                Check::Days(year_days(*c, year).ok_or(Trouble::Shape("that year"))?)
            }
            Test::Year(c, year) if numeric && holds_years(&source) => {
                Check::Number(*c, year.clone())
            }
            Test::Year(Comparison::Equal, year)
                if source.common_values.iter().all(|v| v.len() == 4) =>
            {
                Check::Texts(vec![year.clone()], true)
            }
            Test::Year(c, year) if holds_numbers(&source.common_values) => {
                Check::Number(*c, year.clone())
            }
            _ => {
                return Err(self.weak(filter.at, column));
            }
        };
        Ok(Condition {
            column,
            check,
            negated: filter.negated,
        })
    }

    pub(super) fn values(
        &mut self,
        filter: &Filter,
        values: &[At],
        named: Option<At>,
        before: Option<&Resolved>,
    ) -> Answer<Condition> {
        let mut hits: Vec<(ColumnRef, f32)> = Vec::new();
        for at in values {
            for hit in &self.items[*at].hits {
                if let Target::Value(c, _) = &hit.target {
                    hits.push((*c, hit.score));
                }
            }
        }
        if let Some(at) = named {
            let columns = self.column_hits(at);
            let both: Vec<(ColumnRef, f32)> = columns
                .iter()
                .filter(|(c, _)| hits.iter().any(|(h, _)| h == c))
                // A value of a column confirms what its name may mean.
                .map(|(c, s)| (*c, s.max(0.9)))
                .collect();
            hits = if both.is_empty() { columns } else { both };
        } else if hits.is_empty() {
            let Some(before) = before else {
                return Err(Trouble::Weak(
                    self.items[filter.at].text.clone(),
                    "any known value".to_owned(),
                ));
            };
            hits.push((before.condition.column, 1.0));
        }
        hits.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        hits.dedup_by_key(|h| h.0);
        let hits: Vec<(ColumnRef, f32)> = hits
            .into_iter()
            .filter(|(c, _)| {
                values.iter().all(|at| {
                    let item = &self.items[*at];
                    item.hits.is_empty()
                        || named.is_some()
                        || item
                            .hits
                            .iter()
                            .any(|h| matches!(&h.target, Target::Value(v, _) if v == c))
                })
            })
            .collect();
        let labels = |c: &ColumnRef| self.label(c.table).contains(c);
        let named_rows: Vec<(ColumnRef, f32)> =
            hits.iter().filter(|(c, _)| labels(c)).copied().collect();
        let hits = hits
            .into_iter()
            .filter(|(c, s)| {
                // What names a row is its name, though another column of the table has the same text.
                let other = |(l, t): &&(ColumnRef, f32)| l.table == c.table && l != c && *t >= *s;
                named.is_some() || labels(c) || !named_rows.iter().any(|l| other(&l))
            })
            .collect();
        let column = self.choose(named.unwrap_or(filter.at), hits)?;
        let mut known = true;
        let texts = values
            .iter()
            .map(|at| {
                let item = &self.items[*at];
                let stored = item.hits.iter().find_map(|h| match &h.target {
                    Target::Value(c, v) if *c == column => Some(v.clone()),
                    _ => None,
                });
                known &= stored.is_some();
                stored.unwrap_or_else(|| match &item.kind {
                    Kind::Quote(text) => text.clone(),
                    _ => item.text.clone(),
                })
            })
            .collect::<Vec<_>>();
        if self.catalog.column(column).is_numeric() {
            let number = texts
                .first()
                .filter(|t| texts.len() == 1 && t.parse::<f64>().is_ok());
            let number = number.ok_or_else(|| self.weak(filter.at, column))?;
            return Ok(Condition {
                column,
                check: Check::Number(Comparison::Equal, number.clone()),
                negated: filter.negated,
            });
        }
        Ok(Condition {
            column,
            check: Check::Texts(texts, known),
            negated: filter.negated,
        })
    }
}

/// Whether two conditions that must both hold cannot.
pub(super) fn contradictory(filters: &[Resolved]) -> bool {
    filters.iter().enumerate().any(|(i, a)| {
        filters[i + 1..].iter().any(|b| {
            let texts = matches!(
                (&a.condition.check, &b.condition.check),
                (Check::Texts(..), Check::Texts(..))
            );
            let same = a.condition.column == b.condition.column
                && !b.or
                && (texts || !(a.condition.negated || b.condition.negated));
            let number = |t: &str| t.parse::<f64>().unwrap_or(0.0);
            same && match (&a.condition.check, &b.condition.check) {
                (Check::Texts(..), Check::Texts(..)) => true,
                (
                    Check::Number(Comparison::Above | Comparison::AtLeast, x),
                    Check::Number(Comparison::Below | Comparison::AtMost, y),
                ) => number(x) >= number(y),
                (
                    Check::Number(Comparison::Below | Comparison::AtMost, x),
                    Check::Number(Comparison::Above | Comparison::AtLeast, y),
                ) => number(x) <= number(y),
                (Check::Number(Comparison::Equal, _), Check::Number(Comparison::Equal, _)) => true,
                _ => false,
            }
        })
    })
}

pub(super) fn grouped_conditions(filters: Vec<Resolved>) -> Vec<Vec<Condition>> {
    let mut groups: Vec<Vec<Condition>> = Vec::new();
    for filter in filters {
        match groups.last_mut() {
            Some(group) if filter.or => group.push(filter.condition),
            _ => groups.push(vec![filter.condition]),
        }
    }
    groups
}

/// Whether the common values of a column are years.
pub(super) fn holds_years(column: &crate::catalog::Column) -> bool {
    let year = |v: &String| {
        v.parse::<f64>()
            .is_ok_and(|n| (1000.0..=2100.0).contains(&n))
    };
    split(&column.name).iter().any(|w| w == "year")
        || (!column.common_values.is_empty() && column.common_values.iter().all(year))
}

pub(super) fn holds_numbers(values: &[String]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.parse::<f64>().is_ok())
}

pub(super) fn year_days(comparison: Comparison, year: &str) -> Option<Period> {
    let year: i16 = year.parse().ok()?;
    let first = jiff::civil::Date::new(year, 1, 1).ok()?;
    let next = jiff::civil::Date::new(year + 1, 1, 1).ok()?;
    Some(match comparison {
        Comparison::Equal => Period {
            from: Some(first),
            to: Some(next),
        },
        Comparison::Above => Period {
            from: Some(next),
            to: None,
        },
        Comparison::AtLeast => Period {
            from: Some(first),
            to: None,
        },
        Comparison::Below => Period {
            from: None,
            to: Some(first),
        },
        Comparison::AtMost => Period {
            from: None,
            to: Some(next),
        },
    })
}
