//! The tests of a question as conditions on columns.

use crate::catalog::{ColumnRef, Kind};
use crate::mentions::Mention;
use crate::names::Target;
use crate::pick::{View, concept_column, date_column, label_columns};
use crate::problem::Problem;
use crate::query::{Check, Condition};
use crate::reach::children;
use crate::sketch::{Sketch, Test, TestAsk};

/// A condition, and how its words were read where that is not plain.
pub struct Resolved {
    /// What goes into WHERE.
    pub condition: Condition,
    /// For the reader.
    pub note: Option<String>,
}

/// All tests as conditions; values of one column become one list.
pub fn merged(
    sketch: &Sketch,
    mentions: &[Mention],
    view: &View<'_>,
) -> Result<Vec<Resolved>, Problem> {
    let mut found: Vec<Resolved> = Vec::new();
    for test in &sketch.tests {
        let one = resolve(test, mentions, view)?;
        if let Check::Texts(values, true) = &one.condition.check {
            let (column, negated) = (one.condition.column, one.condition.negated);
            let same = found.iter_mut().find_map(|r| match &mut r.condition.check {
                Check::Texts(known, true)
                    if r.condition.column == column && r.condition.negated == negated =>
                {
                    Some(known)
                }
                _ => None,
            });
            if let Some(known) = same {
                known.extend(
                    values
                        .iter()
                        .filter(|v| !known.contains(v))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                continue;
            }
        }
        found.push(one);
    }
    Ok(found)
}

fn resolve(ask: &TestAsk, mentions: &[Mention], view: &View<'_>) -> Result<Resolved, Problem> {
    let hint = ask.name.map(|m| &mentions[m]);
    let with_note = |column, check, note| {
        let negated = ask.negated;
        Ok(Resolved {
            condition: Condition {
                column,
                check,
                negated,
            },
            note,
        })
    };
    let plain = |column, check| with_note(column, check, None);
    let any = |_: ColumnRef| true;
    match &ask.test {
        Test::Value(m) => {
            let (column, value) = view.value(&mentions[*m], hint)?;
            plain(column, Check::Texts(vec![value], true))
        }
        Test::Text(text) => text_test(ask, text, hint, view),
        Test::Like(place, text) => {
            let column = match hint {
                Some(mention) => {
                    view.column(mention, |c| view.catalog.column(c).kind == Kind::Text)?
                }
                None => single_label(view, &ask.words)?,
            };
            plain(column, Check::Like(*place, text.clone()))
        }
        Test::Compare(comparison, number) => {
            let (column, note) = number_column(ask, hint, view)?;
            with_note(column, Check::Number(*comparison, number.clone()), note)
        }
        Test::Between(low, high) => {
            let (column, note) = number_column(ask, hint, view)?;
            with_note(column, Check::Range(low.clone(), high.clone()), note)
        }
        Test::Truth => {
            let column = view.column(hint.ok_or(Problem::NothingAsked)?, |c| {
                view.catalog.column(c).kind == Kind::Boolean
            })?;
            plain(column, Check::Truth)
        }
        Test::Period(period) => {
            let column = date_of(view, hint, &ask.words)?;
            plain(column, Check::Days(*period))
        }
        Test::Null | Test::NotNull => {
            let column = view.column(hint.ok_or(Problem::NothingAsked)?, any)?;
            let condition = Condition {
                column,
                check: Check::Missing,
                negated: (ask.test == Test::Null) == ask.negated,
            };
            Ok(Resolved {
                condition,
                note: None,
            })
        }
        Test::NoRows => no_rows(hint, view),
    }
}

/// The number is compared with the column that is named, else with the one amount or price of the base.
fn number_column(
    ask: &TestAsk,
    hint: Option<&Mention>,
    view: &View<'_>,
) -> Result<(ColumnRef, Option<String>), Problem> {
    if let Some(mention) = hint {
        return Ok((
            view.column(mention, |c| view.catalog.column(c).is_numeric())?,
            None,
        ));
    }
    let base = view.reach.base;
    let table = view.catalog.table(base);
    let found = ["amount", "price"]
        .iter()
        .find_map(|concept| concept_column(table, concept));
    match found {
        Some(column) => {
            let place = ColumnRef {
                table: base,
                column,
            };
            Ok((
                place,
                Some(format!(
                    "\"{}\" is read as `{}`",
                    ask.words,
                    view.catalog.label(place)
                )),
            ))
        }
        None => Err(Problem::unsupported(format!(
            "I cannot tell which column of `{}` must be \"{}\".",
            table.name, ask.words
        ))),
    }
}

/// A quoted text is compared with the named column; alone it must be a known value, or the name of a mentioned thing.
fn text_test(
    ask: &TestAsk,
    text: &str,
    hint: Option<&Mention>,
    view: &View<'_>,
) -> Result<Resolved, Problem> {
    let equals = |columns: Vec<ColumnRef>| Resolved {
        note: Some(format!(
            "\"{text}\" is looked for in `{}`",
            view.catalog.label(columns[0])
        )),
        condition: Condition {
            column: columns[0],
            check: Check::Words(columns, text.to_owned()),
            negated: ask.negated,
        },
    };
    if let Some(mention) = hint {
        let column = view.column(mention, |c| view.catalog.column(c).kind == Kind::Text)?;
        return Ok(equals(vec![column]));
    }
    let known: Vec<ColumnRef> = reachable_columns(view)
        .filter(|c| {
            view.catalog
                .column(*c)
                .common_values
                .iter()
                .any(|v| v.eq_ignore_ascii_case(text))
        })
        .collect();
    match known.as_slice() {
        [one] => return Ok(equals(vec![*one])),
        [] => {}
        several => {
            let names = several.iter().map(|c| view.catalog.label(*c)).collect();
            return Err(Problem::Ambiguous(text.to_owned(), names));
        }
    }
    // The thing mentioned beside the base ("orders of customer 'X'"), else the base itself.
    let beside: Vec<usize> = view
        .mentioned
        .iter()
        .copied()
        .filter(|t| *t != view.reach.base && view.reach.distance(*t).is_some())
        .collect();
    let table = beside.first().copied().unwrap_or(view.reach.base);
    let labels: Vec<ColumnRef> = label_columns(view.catalog.table(table))
        .into_iter()
        .map(|column| ColumnRef { table, column })
        .collect();
    let texts = labels
        .iter()
        .all(|c| view.catalog.column(*c).kind == Kind::Text);
    if labels.is_empty() || !texts {
        // The caller looks the text up in the tables.
        return Err(Problem::Unknown(vec![text.to_owned()]));
    }
    Ok(equals(labels))
}

fn reachable_columns(view: &View<'_>) -> impl Iterator<Item = ColumnRef> {
    let tables = (0..view.catalog.tables.len()).filter(|t| view.reach.distance(*t).is_some());
    tables.flat_map(|table| {
        (0..view.catalog.table(table).columns.len()).map(move |column| ColumnRef { table, column })
    })
}

fn single_label(view: &View<'_>, words: &str) -> Result<ColumnRef, Problem> {
    let table = view.reach.base;
    match label_columns(view.catalog.table(table)).as_slice() {
        [column] => Ok(ColumnRef {
            table,
            column: *column,
        }),
        _ => Err(Problem::unsupported(format!(
            "I cannot tell in which column to look for '{words}'. Please name it."
        ))),
    }
}

fn no_rows(hint: Option<&Mention>, view: &View<'_>) -> Result<Resolved, Problem> {
    let mention = hint.ok_or(Problem::NothingAsked)?;
    let base = view.reach.base;
    let lacks = |column, check| {
        Ok(Resolved {
            condition: Condition {
                column,
                check,
                negated: false,
            },
            note: None,
        })
    };
    let columns = || {
        mention.hits.iter().filter_map(|h| match h.target {
            Target::Column(c) if view.catalog.column(c).kind == Kind::Date => Some(c),
            _ => None,
        })
    };
    if let Some(own) = columns().find(|c| c.table == base) {
        return lacks(own, Check::Missing);
    }
    let named: Vec<usize> = mention
        .tables()
        .map(|(t, _)| t)
        .chain(columns().map(|c| c.table))
        .collect();
    let steps: Vec<_> = children(view.catalog, base)
        .into_iter()
        .filter(|s| named.contains(&s.from))
        .collect();
    match steps.as_slice() {
        [step] => {
            let column = view.catalog.table(step.from).foreign_keys[step.key].target_columns[0];
            let key = ColumnRef {
                table: base,
                column,
            };
            lacks(key, Check::NoRows(*step))
        }
        _ => Err(Problem::Unrelated(
            mention.text.clone(),
            view.catalog.table(base).name.clone(),
        )),
    }
}

/// The date that a period or month is about: the one named, else that of the base, else of the nearest table.
pub fn date_of(view: &View<'_>, hint: Option<&Mention>, words: &str) -> Result<ColumnRef, Problem> {
    if let Some(mention) = hint {
        return view.column(mention, |c| view.catalog.column(c).kind == Kind::Date);
    }
    let mut tables: Vec<(usize, usize)> = (0..view.catalog.tables.len())
        .filter_map(|t| Some((view.reach.distance(t)?, t)))
        .collect();
    tables.sort_unstable();
    for (distance, table) in &tables {
        let source = view.catalog.table(*table);
        if let Some(column) = date_column(source) {
            let rivals = tables.iter().filter(|(d, t)| d == distance && t != table);
            let rival = rivals
                .clone()
                .any(|(_, t)| date_column(view.catalog.table(*t)).is_some())
                && !owns(view, *table);
            if *distance > 0 && rival {
                continue;
            }
            return Ok(ColumnRef {
                table: *table,
                column,
            });
        }
        if *distance == 0 && source.columns.iter().any(|c| c.kind == Kind::Date) {
            let dates = source
                .columns
                .iter()
                .filter(|c| c.kind == Kind::Date)
                .map(|c| format!("{}.{}", source.name, c.name));
            return Err(Problem::Ambiguous(words.to_owned(), dates.collect()));
        }
    }
    Err(Problem::unsupported(format!(
        "I find no single date of `{}` to which \"{words}\" could apply.",
        view.catalog.table(view.reach.base).name
    )))
}

/// Whether a test says what must not be. Over the rows that refer to a thing it would say something else: a customer with
/// an order that is not of 2024 may well have one of 2024.
pub fn excludes(ask: &TestAsk) -> bool {
    ask.negated || matches!(ask.test, Test::Null | Test::NoRows)
}

/// Whether the base's rows are parts of that table's: its key is part of theirs (the lines of an order).
fn owns(view: &View<'_>, table: usize) -> bool {
    let base = view.catalog.table(view.reach.base);
    view.reach
        .way(table)
        .and_then(<[_]>::first)
        .is_some_and(|step| {
            base.foreign_keys[step.key]
                .columns
                .iter()
                .all(|c| base.primary_key.contains(c))
        })
}
