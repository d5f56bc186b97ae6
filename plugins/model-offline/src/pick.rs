//! Chooses the table or column that a mention means, seen from the table that the question is about.

use crate::catalog::{Catalog, ColumnRef, Kind, Table};
use crate::mentions::Mention;
use crate::names::Target;
use crate::problem::Problem;
use crate::reach::Reach;
use crate::vocabulary::canonical;
use crate::words::name_stems;

/// A meaning that can be reached, and what speaks for it.
struct Choice<T> {
    target: T,
    weight: i32,
}

/// What one foreign key of distance costs against a better fitting name.
const STEP: i32 = 8;
/// What it costs that some rows have no such row: the country of every customer before that of some addresses.
const GAP: i32 = 3;
/// Meanings that are closer than this fit equally well.
const MARGIN: i32 = 3;
/// What it is worth that the question mentions the table.
const MENTIONED: i32 = 20;

/// How the surroundings speak for a table.
pub struct View<'a> {
    /// Where tables and columns have their names.
    pub catalog: &'a Catalog,
    /// What the base leads to.
    pub reach: &'a Reach,
    /// Tables that the question mentions.
    pub mentioned: &'a [usize],
}

impl View<'_> {
    fn weight(&self, table: usize, score: i32) -> Option<i32> {
        let distance = i32::try_from(self.reach.distance(table)?).unwrap_or(i32::MAX);
        let bonus = if self.mentioned.contains(&table) {
            MENTIONED
        } else {
            0
        };
        let gaps = i32::try_from(self.reach.gaps(self.catalog, table)).unwrap_or(i32::MAX);
        Some(score - STEP * distance - GAP * gaps + bonus)
    }

    /// The column that a mention means, among those that `fits` accepts.
    pub fn column(
        &self,
        mention: &Mention,
        fits: impl Fn(ColumnRef) -> bool,
    ) -> Result<ColumnRef, Problem> {
        let choices = mention.hits.iter().filter_map(|h| match h.target {
            Target::Column(c) if fits(c) => Some(Choice {
                target: c,
                weight: self.weight(c.table, h.score)?,
            }),
            _ => None,
        });
        self.best(mention, choices.collect(), |c| self.catalog.label(c))
    }

    /// The table that a mention means.
    pub fn table(&self, mention: &Mention) -> Result<usize, Problem> {
        let tables = mention.tables().filter_map(|(t, score)| {
            Some(Choice {
                target: t,
                weight: self.weight(t, score)?,
            })
        });
        self.best(mention, tables.collect(), |t| {
            self.catalog.table(t).name.clone()
        })
    }

    /// The column and value that a mention means.
    pub fn value(
        &self,
        mention: &Mention,
        hint: Option<&Mention>,
    ) -> Result<(ColumnRef, String), Problem> {
        let hinted = |c: ColumnRef| {
            hint.is_none_or(|m| m.hits.iter().any(|h| h.target == Target::Column(c)))
        };
        let values = mention.hits.iter().filter_map(|h| match &h.target {
            Target::Value(c, v) if hinted(*c) => Some(Choice {
                target: (*c, v.clone()),
                weight: self.weight(c.table, h.score)?,
            }),
            _ => None,
        });
        self.best(mention, values.collect(), |(c, v)| {
            format!("{} = {v}", self.catalog.label(c))
        })
    }

    /// The table or column that a mention means, whichever fits better. Never a value.
    pub fn table_or_column(&self, mention: &Mention) -> Result<Target, Problem> {
        let choices = mention.hits.iter().filter_map(|h| {
            let table = match &h.target {
                Target::Table(t) => *t,
                Target::Column(c) => c.table,
                Target::Value(..) => return None,
            };
            Some(Choice {
                target: h.target.clone(),
                weight: self.weight(table, h.score)?,
            })
        });
        self.best(mention, choices.collect(), |t| match t {
            Target::Table(t) => self.catalog.table(t).name.clone(),
            Target::Column(c) | Target::Value(c, _) => self.catalog.label(c),
        })
    }

    fn best<T: Clone>(
        &self,
        mention: &Mention,
        choices: Vec<Choice<T>>,
        label: impl Fn(T) -> String,
    ) -> Result<T, Problem> {
        let Some(top) = choices.iter().map(|c| c.weight).max() else {
            return Err(Problem::Unrelated(
                mention.text.clone(),
                self.catalog.table(self.reach.base).name.clone(),
            ));
        };
        let near = |c: &&Choice<T>| c.weight > top - MARGIN;
        let mut best = choices.iter().filter(near);
        match (best.next(), best.next()) {
            (Some(only), None) => Ok(only.target.clone()),
            _ => {
                let all = choices
                    .iter()
                    .filter(near)
                    .map(|c| label(c.target.clone()))
                    .collect();
                Err(Problem::Ambiguous(mention.text.clone(), all))
            }
        }
    }
}

/// The columns that name a row of a table to a person.
pub fn label_columns(table: &Table) -> Vec<usize> {
    let head = name_stems(&table.name).pop().unwrap_or_default();
    let position = |wanted: &str| table.find(wanted);
    for name in ["name", "full_name", "title", "label", "display_name"] {
        if let Some(at) = position(name).or_else(|| position(&format!("{head}_{name}"))) {
            return vec![at];
        }
    }
    if let (Some(first), Some(last)) = (position("first_name"), position("last_name")) {
        return vec![first, last];
    }
    let wanted = [
        "company_name",
        "company",
        "username",
        "code",
        "sku",
        "email",
        "order_number",
        "number",
    ];
    wanted
        .iter()
        .find_map(|n| position(n))
        .map(|at| vec![at])
        .unwrap_or_else(|| table.primary_key.clone())
}

/// The date that says when a row came to be. Several with the same claim: none.
pub fn date_column(table: &Table) -> Option<usize> {
    let head = name_stems(&table.name).pop().unwrap_or_default();
    let rank = |at: usize| {
        let stems = name_stems(&table.columns[at].name);
        let has = |w: &str| stems.iter().any(|s| s == w);
        if [
            "birth", "birthday", "updated", "modified", "deleted", "expiry", "expire", "valid",
            "due",
        ]
        .iter()
        .any(|w| has(w))
        {
            return 0;
        }
        if has(&head) || stems.first().is_some_and(|s| s.starts_with(&head)) {
            5
        } else if has("placed") || has("date") && stems.len() == 1 {
            4
        } else if has("created") || has("registered") || has("joined") || has("signup") {
            3
        } else if stems.iter().any(|s| {
            head.starts_with(s.trim_end_matches("ed").trim_end_matches("pp")) && s.len() > 3
        }) {
            2
        } else {
            1
        }
    };
    let dates: Vec<usize> = (0..table.columns.len())
        .filter(|c| table.columns[*c].kind == Kind::Date)
        .collect();
    let top = dates.iter().map(|c| rank(*c)).max().filter(|r| *r > 0)?;
    let mut best = dates.iter().filter(|c| rank(**c) == top);
    match (best.next(), best.next()) {
        (Some(only), None) => Some(*only),
        _ => None,
    }
}

/// The one column of a table whose name says the concept ("amount", "price", "quantity", "rating").
pub fn concept_column(table: &Table, concept: &str) -> Option<usize> {
    let rank = |at: usize| {
        if !table.columns[at].is_numeric() || table.is_key(at) {
            return 0;
        }
        let stems = name_stems(&table.columns[at].name);
        let is = |w: &str| stems.iter().any(|s| s == w || canonical(s) == w);
        let other = [
            "tax", "discount", "shipping", "cost", "refund", "sub", "subtotal", "net", "compare",
            "old", "min", "max",
        ];
        if !is(concept) || stems.iter().any(|s| other.contains(&s.as_str())) {
            0
        } else if stems.len() == 1 || stems.iter().any(|s| s == "grand") {
            4
        } else if stems.iter().any(|s| s == "total" || s == "unit") {
            3
        } else {
            2
        }
    };
    let top = (0..table.columns.len())
        .map(rank)
        .max()
        .filter(|r| *r > 0)?;
    let mut best = (0..table.columns.len()).filter(|c| rank(*c) == top);
    match (best.next(), best.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}
