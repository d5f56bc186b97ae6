//! Finds tables, columns and known values in the words of a question.

use crate::catalog::{Catalog, ColumnRef, Kind, Table};
use crate::countries;
use crate::vocabulary::{canonical, is_filler};
use crate::words::{Token, TokenKind, name_stems, tokenize};

/// What a phrase may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A table, by its index into [`Catalog::tables`].
    Table(usize),
    /// The column itself, not one of its values.
    Column(ColumnRef),
    /// A value that the catalog knows to be in a column.
    Value(ColumnRef, String),
}

/// One meaning of a phrase, and how well it fits (100 is the name itself).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The meaning.
    pub target: Target,
    /// Higher fits better.
    pub score: i32,
}

/// Everything in the catalog that has a name.
pub struct Names {
    forms: Vec<Form>,
    values: Vec<ValueForm>,
}

struct Form {
    stems: Vec<String>,
    target: Target,
    score: i32,
}

struct ValueForm {
    norms: Vec<String>,
    stems: Vec<String>,
    column: ColumnRef,
    value: String,
    /// A code of one or two letters must stand in the question exactly as it is stored.
    exact: bool,
}

/// No name or value has more words than this.
const LONGEST: usize = 6;
/// What a synonym in place of the name costs of the score.
const SYNONYM: i32 = 25;

impl Names {
    /// Reads the names of a catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let mut names = Self {
            forms: Vec::new(),
            values: Vec::new(),
        };
        for (at, table) in catalog.tables.iter().enumerate() {
            let view = if table.is_view() { 6 } else { 0 };
            for (stems, score) in table_forms(&table.name) {
                names.forms.push(Form {
                    stems,
                    target: Target::Table(at),
                    score: score - view,
                });
            }
            for column in 0..table.columns.len() {
                let place = ColumnRef { table: at, column };
                for (stems, score) in column_forms(table, column) {
                    names.forms.push(Form {
                        stems,
                        target: Target::Column(place),
                        score: score - view,
                    });
                }
                names.add_values(table, place);
            }
        }
        names
    }

    fn add_values(&mut self, table: &Table, place: ColumnRef) {
        let column = &table.columns[place.column];
        if column.kind != Kind::Text {
            return;
        }
        let is_country = name_stems(&column.name).iter().any(|s| s == "country");
        for value in &column.common_values {
            let mut ways = vec![(value.clone(), value.chars().count() <= 2)];
            if is_country {
                ways.extend(
                    countries::other_names(value)
                        .into_iter()
                        .map(|n| (n.to_owned(), false)),
                );
            }
            for (way, exact) in ways {
                let tokens = tokenize(&way);
                let plain = !tokens.is_empty() && tokens.iter().all(|t| t.kind == TokenKind::Word)
                    || tokens.len() > 1;
                let filler = tokens.len() == 1 && is_filler(&tokens[0].norm) && !exact;
                if plain && !filler {
                    self.values.push(ValueForm {
                        norms: tokens.iter().map(|t| t.norm.clone()).collect(),
                        stems: tokens.iter().map(|t| t.stem.clone()).collect(),
                        column: place,
                        value: value.clone(),
                        exact,
                    });
                }
            }
        }
    }

    /// The longest phrase at `at` that means something: its number of tokens, and every meaning, best first.
    pub fn find(&self, tokens: &[Token], at: usize) -> Option<(usize, Vec<Hit>)> {
        let words = tokens[at..]
            .iter()
            .take(LONGEST)
            .take_while(|t| t.kind != TokenKind::Symbol)
            .count();
        (1..=words).rev().find_map(|length| {
            let hits = self.exactly(&tokens[at..at + length]);
            (!hits.is_empty()).then_some((length, hits))
        })
    }

    fn exactly(&self, phrase: &[Token]) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        for form in self.forms.iter().filter(|f| f.stems.len() == phrase.len()) {
            let same = form
                .stems
                .iter()
                .zip(phrase)
                .all(|(s, t)| *s == t.stem || *s == t.norm);
            let akin = || {
                form.stems
                    .iter()
                    .zip(phrase)
                    .all(|(s, t)| canonical(s) == canonical(&t.stem))
            };
            let score = if same {
                form.score
            } else if akin() {
                form.score - SYNONYM
            } else {
                continue;
            };
            push_best(
                &mut hits,
                Hit {
                    target: form.target.clone(),
                    score,
                },
            );
        }
        for form in self.values.iter().filter(|f| f.norms.len() == phrase.len()) {
            let score = if form.exact {
                if phrase[0].text == form.value {
                    90
                } else {
                    continue;
                }
            } else if form.norms.iter().zip(phrase).all(|(n, t)| *n == t.norm) {
                90
            } else if form.stems.iter().zip(phrase).all(|(n, t)| *n == t.stem) {
                82
            } else {
                continue;
            };
            push_best(
                &mut hits,
                Hit {
                    target: Target::Value(form.column, form.value.clone()),
                    score,
                },
            );
        }
        hits.sort_by_key(|h| -h.score);
        hits
    }
}

fn push_best(hits: &mut Vec<Hit>, hit: Hit) {
    match hits.iter_mut().find(|h| h.target == hit.target) {
        Some(known) => known.score = known.score.max(hit.score),
        None => hits.push(hit),
    }
}

/// `sales_order_items` is also "order items" and "items"; the fewer words, the weaker.
fn table_forms(name: &str) -> Vec<(Vec<String>, i32)> {
    let stems = name_stems(name);
    let mut forms = vec![(stems.clone(), 100)];
    for dropped in 1..stems.len() {
        forms.push((stems[dropped..].to_vec(), 85 - 5 * dropped as i32));
    }
    if stems.len() > 1 {
        forms.push((vec![stems.concat()], 98));
    }
    forms
}

fn column_forms(table: &Table, column: usize) -> Vec<(Vec<String>, i32)> {
    let source = &table.columns[column];
    let mut stems = name_stems(&source.name);
    let table_head = name_stems(&table.name).pop().unwrap_or_default();
    let mut forms = vec![(stems.clone(), 100)];
    if stems.len() > 1 && (stems[0] == "is" || stems[0] == "has") {
        stems.remove(0);
    }
    if source.kind == Kind::Date
        && stems.len() > 1
        && stems.last().is_some_and(|s| s == "at" || s == "on")
    {
        stems.pop();
    }
    // "shipped" may be a status; the column `shipped_on` is the weaker reading.
    forms.push((
        stems.clone(),
        if source.kind == Kind::Date { 80 } else { 98 },
    ));
    if table.is_view() {
        return forms;
    }
    // "customers registered" is not a name, but "order date" is one.
    let participle = stems.len() + 1 == name_stems(&source.name).len() && source.kind == Kind::Date;
    if stems.len() > 1 && stems[0] == table_head {
        forms.push((stems[1..].to_vec(), 95));
    } else if !participle {
        forms.push((
            std::iter::once(table_head)
                .chain(stems.iter().cloned())
                .collect(),
            103,
        ));
    }
    // `delivery_address_id` is "delivery address": a role that the referenced table's name alone does not say.
    if stems.len() > 2 && stems.last().is_some_and(|s| s == "id") {
        forms.push((stems[..stems.len() - 1].to_vec(), 90));
    }
    let head = stems.last().cloned().unwrap_or_default();
    let empty_head = ["id", "at", "on", "by", "key"].contains(&head.as_str());
    for dropped in (1..stems.len()).take_while(|_| !empty_head) {
        forms.push((stems[dropped..].to_vec(), 80 - 5 * dropped as i32));
    }
    let drops_head = [
        "code", "name", "eur", "usd", "gbp", "cent", "pct", "percent", "iso",
    ]
    .contains(&head.as_str())
        || (head == "amount" && stems[0] == "total");
    if stems.len() > 1 && drops_head {
        forms.push((stems[..stems.len() - 1].to_vec(), 68));
    }
    forms
}
