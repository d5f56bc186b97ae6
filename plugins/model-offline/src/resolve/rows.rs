//! Listings: which columns are shown, and in which order.

use super::Builder;
use crate::catalog::{ColumnRef, Kind};
use crate::measures;
use crate::pick::{concept_column, date_column, label_columns};
use crate::problem::Problem;
use crate::query::Expr;
use crate::sketch::{Rank, RankBy, Test};

impl Builder<'_> {
    /// Chooses the columns of a listing.
    pub(super) fn add_rows(&mut self, base: usize) -> Result<(Vec<(Expr, bool)>, String), Problem> {
        let source = self.catalog.table(base);
        let place = |column: usize| ColumnRef {
            table: base,
            column,
        };
        let plain: Vec<usize> = self
            .sketch
            .plain
            .iter()
            .copied()
            .filter(|p| !self.mentions[*p].is_table())
            .collect();
        let ranked = self
            .sketch
            .rank
            .map(|rank| self.rank_column(base, rank))
            .transpose()?
            .flatten();
        if plain.is_empty() {
            let shown: Vec<usize> = if ranked.is_some() {
                label_columns(source)
            } else {
                (0..source.columns.len())
                    .filter(|c| source.columns[*c].kind != Kind::Other)
                    .collect()
            };
            for column in shown {
                self.output(
                    Expr::Column(place(column)),
                    source.columns[column].name.clone(),
                );
            }
        } else if self
            .sketch
            .tests
            .iter()
            .any(|t| matches!(t.test, Test::Text(_) | Test::Value(_)))
        {
            for column in label_columns(source) {
                self.output(
                    Expr::Column(place(column)),
                    source.columns[column].name.clone(),
                );
            }
        }
        for mention in plain {
            let column = self.view().column(&self.mentions[mention], |_| true)?;
            self.touched.push(column.table);
            if !self.outputs.iter().any(|o| o.expr == Expr::Column(column)) {
                self.output(
                    Expr::Column(column),
                    self.catalog.column(column).name.clone(),
                );
            }
        }
        let mut order = Vec::new();
        let mut title = String::new();
        if let Some((column, descending)) = ranked {
            if !self.outputs.iter().any(|o| o.expr == Expr::Column(column)) {
                self.output(
                    Expr::Column(column),
                    self.catalog.column(column).name.clone(),
                );
            }
            self.touched.push(column.table);
            order.push((Expr::Column(column), descending));
            title = self.catalog.column(column).name.replace('_', " ");
        }
        if !self.sketch.distinct {
            order.extend(
                source
                    .primary_key
                    .iter()
                    .map(|k| (Expr::Column(place(*k)), false)),
            );
        }
        Ok((order, title))
    }

    pub(super) fn rank_column(
        &self,
        base: usize,
        rank: Rank,
    ) -> Result<Option<(ColumnRef, bool)>, Problem> {
        let source = self.catalog.table(base);
        let noun = measures::plural(source);
        let missing = |what: &str| {
            Problem::unsupported(format!(
                "I find no {what} in `{noun}` to put them in order by."
            ))
        };
        let own = |column: Option<usize>, what: &str| {
            column
                .map(|column| ColumnRef {
                    table: base,
                    column,
                })
                .ok_or_else(|| missing(what))
        };
        let column = match rank.by {
            RankBy::Key | RankBy::Measure => return Ok(None),
            RankBy::Recency => own(date_column(source), "single date")?,
            RankBy::Price => own(concept_column(source, "price"), "price")?,
            RankBy::Amount => own(concept_column(source, "amount"), "amount")?,
            RankBy::Column(m) => {
                let column = self.view().column(&self.mentions[m], |_| true)?;
                if self.catalog.table(column.table).is_view() && column.table != base {
                    return Err(missing(&self.mentions[m].text));
                }
                column
            }
        };
        Ok(Some((column, rank.descending)))
    }
}
