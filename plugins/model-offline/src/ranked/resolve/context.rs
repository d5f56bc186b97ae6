//! What stands around a name: the table that it belongs to.

use super::*;
use crate::words::name_stems as stems;

impl Resolver<'_> {
    pub(super) fn item_table(&self, at: At) -> Option<usize> {
        let item = self.items.get(at)?;
        if !item.is_name() || item.table() < item.column() || item.optional {
            return None;
        }
        item.best_table()
    }

    /// The table that stands right beside a name: "singer name", "names and ages of singers".
    pub(super) fn owner(&self, at: At) -> Option<usize> {
        if let Some(table) = at.checked_sub(1).and_then(|b| self.item_table(b)) {
            return Some(table);
        }
        if let Some(table) = self.antecedent(at).or_else(|| self.listed_owner(at)) {
            return Some(table);
        }
        if self.items[at].is_value() {
            // "customers living in Oslo"
            let mut before = (0..at).rev().skip_while(|i| {
                self.items[*i].kind == Kind::Soft
                    || self.items[*i].optional
                    || self.items[*i].is(Op::In)
            });
            return before.next().and_then(|b| self.item_table(b));
        }
        let mut next = at + 1;
        let mut of = false;
        while let Some(item) = self.items.get(next) {
            let passes = item.kind == Kind::Soft
                || matches!(
                    item.op(),
                    Some(Op::And | Op::Comma | Op::Distinct | Op::Agg(_) | Op::Each)
                )
                || (item.is_name()
                    && !of
                    && (self.item_table(next).is_none() || item.column() > 0.7));
            match item.op() {
                Some(Op::Of | Op::In) => of = true,
                Some(Op::Each) => of = true,
                _ if of && item.is_name() => match self.item_table(next) {
                    Some(table) => return Some(table),
                    // "year of birth and name of the author"
                    None => of = false,
                },
                _ if !passes => return None,
                _ => {}
            }
            next += 1;
        }
        None
    }

    /// "doctor ids, first names and last names" are all those of the doctors.
    fn listed_owner(&self, at: At) -> Option<usize> {
        let listed = |i: &usize| {
            let item = &self.items[*i];
            let joins = matches!(item.op(), Some(Op::And | Op::Comma));
            joins || item.is_name() && self.item_table(*i).is_none()
        };
        let start = (0..at).rev().take_while(listed).last()?;
        let first = stems(&self.items[start].text);
        let is_said = |(c, score): &(ColumnRef, f32)| {
            let table = stems(&self.catalog.table(c.table).plain);
            *score >= 0.9 && first.len() > table.len() && first.starts_with(&table)
        };
        let hits = self.column_hits(start);
        hits.iter().find(|hit| is_said(hit)).map(|(c, _)| c.table)
    }

    /// The table that a word stands for: "students who are older", "for each author, its name and age".
    pub(super) fn antecedent(&self, at: At) -> Option<usize> {
        let mut relative = false;
        for before in (0..at).rev() {
            let item = &self.items[before];
            match item.op() {
                Some(Op::Relative) => relative = true,
                Some(Op::Is | Op::Have) => {}
                Some(Op::In) if self.items[at].is_value() => {}
                _ if item.kind == Kind::Soft => {}
                _ if relative && item.is_name() => return self.item_table(before),
                _ => break,
            }
        }
        None
    }

    pub(super) fn nearest_before(&self, at: At) -> Option<usize> {
        (0..at)
            .rev()
            .take_while(|i| !self.items[*i].is(Op::Break))
            .find_map(|i| self.item_table(i))
    }

    pub(super) fn closeness(&self, at: At, table: usize) -> f32 {
        let mut score = 0.0;
        if self.owner(at) == Some(table) {
            score += 0.35;
        } else if self.nearest_before(at) == Some(table) {
            score += 0.15;
        }
        if self.mentioned.contains(&table) {
            score += 0.2;
        }
        if self.subject == Some(table) {
            score += 0.1;
        }
        let from = self.subject.or(self.mentioned.first().copied());
        if from.is_none() && self.sure.contains(&table) {
            score += 0.2;
        }
        match from.map(|f| self.graph.distance(f, table)) {
            Some(Some(steps)) => score -= 0.1 * steps as f32,
            Some(None) => score -= 0.6,
            None => {}
        }
        // The key of a table before the columns that refer to it.
        let is_key = |c| self.key(table) == [c];
        if self.items[at].has_column(0.0, is_key) || self.items[at].has_value(is_key) {
            score += 0.05;
        }
        if self.catalog.table(table).is_view() {
            score -= 0.1;
        }
        score
    }
}
