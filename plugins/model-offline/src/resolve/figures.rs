//! Groups and figures: what is selected, how it is ordered, and what must be said about it.

use super::Builder;
use crate::catalog::ColumnRef;
use crate::conditions;
use crate::measures::Candidate;
use crate::names::Target;
use crate::pick::label_columns;
use crate::problem::Problem;
use crate::query::Expr;
use crate::sketch::{Ask, Group};
use crate::vocabulary::Comparison;

impl Builder<'_> {
    /// Adds the expressions to group by to the select list. Returns the noun of a group, such as "country".
    pub(super) fn add_groups(&mut self) -> Result<String, Problem> {
        let mut nouns = Vec::new();
        for group in &self.sketch.groups {
            match group {
                Group::Bucket(unit) => {
                    let date = conditions::date_of(&self.view(), None, unit.name())?;
                    self.touched.push(date.table);
                    self.notes.push(format!(
                        "the {} is that of `{}`",
                        unit.name(),
                        self.catalog.label(date)
                    ));
                    self.groups.push(Expr::Bucket(*unit, date));
                    self.output(Expr::Bucket(*unit, date), unit.name().to_owned());
                    nouns.push(unit.name().to_owned());
                }
                Group::Name(m) => match self.view().table_or_column(&self.mentions[*m])? {
                    Target::Table(table) => nouns.push(self.group_by_table(table)),
                    Target::Column(c) | Target::Value(c, _) => {
                        self.touched.push(c.table);
                        self.groups.push(Expr::Column(c));
                        let name = self.catalog.column(c).name.clone();
                        nouns.push(self.column_noun(c));
                        self.output(Expr::Column(c), name);
                    }
                },
            }
        }
        Ok(nouns.join(" and "))
    }

    pub(super) fn column_noun(&self, c: ColumnRef) -> String {
        let name = self.catalog.column(c).name.replace('_', " ");
        let plain = matches!(name.as_str(), "name" | "title" | "type" | "code");
        if plain {
            self.singular(c.table) + " " + &name
        } else {
            name
        }
    }

    pub(super) fn singular(&self, table: usize) -> String {
        crate::words::name_stems(&self.catalog.table(table).name).join(" ")
    }

    /// Rows of a table are told apart by its key and shown by their name: two of one name stay two.
    pub(super) fn group_by_table(&mut self, table: usize) -> String {
        self.touched.push(table);
        let source = self.catalog.table(table);
        let place = |column: usize| ColumnRef { table, column };
        for key in &source.primary_key {
            self.groups.push(Expr::Column(place(*key)));
        }
        let noun = self.singular(table);
        let labels: Vec<ColumnRef> = label_columns(source).into_iter().map(place).collect();
        for label in &labels {
            if !self.groups.contains(&Expr::Column(*label)) {
                self.groups.push(Expr::Column(*label));
            }
        }
        match labels.as_slice() {
            [one] => self.output(Expr::Column(*one), noun.replace(' ', "_")),
            [] => {}
            _ => self.output(Expr::Words(labels), noun.replace(' ', "_")),
        }
        noun
    }

    pub(super) fn add_measure(&mut self, measure: &Candidate) -> (Vec<(Expr, bool)>, String) {
        self.notes.extend(measure.note.clone());
        self.mixed_currencies(measure.base);
        self.without_any(measure);
        let grouped_by_time = matches!(self.groups.first(), Some(Expr::Bucket(..)));
        self.output(measure.expr.clone(), measure.name.clone());
        let descending = self.sketch.rank.is_none_or(|r| r.descending);
        let ranked = self.sketch.rank.is_some() || self.sketch.having.is_some();
        let mut order = match self.groups.is_empty() {
            true => Vec::new(),
            false if grouped_by_time && !ranked => Vec::new(),
            false => vec![(measure.expr.clone(), descending)],
        };
        // Equal figures need an order of their own, so that the same question has the same answer.
        order.extend(
            self.outputs
                .iter()
                .filter(|o| o.expr != measure.expr)
                .map(|o| (o.expr.clone(), false)),
        );
        (order, measure.title.clone())
    }

    /// The smallest figures are of those that have rows at all.
    pub(super) fn without_any(&mut self, measure: &Candidate) {
        let small = |c: Comparison| {
            matches!(
                c,
                Comparison::Below | Comparison::AtMost | Comparison::Equal
            )
        };
        let lowest = self.sketch.rank.is_some_and(|r| !r.descending);
        let few = self
            .sketch
            .having
            .as_ref()
            .is_some_and(|h| small(h.comparison));
        let elsewhere = self
            .groups
            .iter()
            .any(|g| matches!(g, Expr::Column(c) if c.table != measure.base));
        if (lowest || few) && elsewhere && measure.expr == Expr::Count(None) {
            let base = self.catalog.table(measure.base).name.replace('_', " ");
            self.notes
                .push(format!("what has no {base} at all is left out"));
        }
    }

    pub(super) fn mixed_currencies(&mut self, base: usize) {
        let mixed = self.catalog.table(base).columns.iter().find(|c| {
            c.name.to_lowercase().contains("currency")
                && c.distinct_count.unwrap_or(c.common_values.len() as u64) > 1
        });
        if let Some(column) =
            mixed.filter(|_| self.sketch.ask.is_some_and(|a| !matches!(a, Ask::Count(_))))
        {
            self.notes.push(format!(
                "amounts of every `{}` are taken together as they are",
                column.name
            ));
        }
    }

    /// A currency that the question names must be one that the catalog names too.
    pub(super) fn currencies(&self) -> Result<(), Problem> {
        for (code, words) in &self.sketch.currencies {
            let names: &[&str] = match *code {
                "EUR" => &["eur", "euro", "€"],
                "USD" => &["usd", "dollar", "$"],
                _ => &["gbp", "pound", "£"],
            };
            let says = |text: &str| names.iter().any(|n| text.to_lowercase().contains(n));
            let tables = self.touched.iter().copied().chain([self.reach.base]);
            let known = tables.map(|t| self.catalog.table(t)).any(|t| {
                says(&t.description)
                    || t.columns.iter().any(|c| {
                        says(&c.name) || says(&c.description) || c.common_values == [*code]
                    })
            });
            if !known {
                return Err(Problem::unsupported(format!(
                    "The catalog does not say that these amounts are in \"{words}\", so I cannot tell. Leave the currency out to \
                     compare the stored numbers."
                )));
            }
        }
        Ok(())
    }
}
