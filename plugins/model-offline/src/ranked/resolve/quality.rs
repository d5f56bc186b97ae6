//! Columns that hold a quality: "older", "latest", "cheaper".

use super::*;

impl Resolver<'_> {
    /// A column that holds a quality: of the subject first, then of the tables nearby.
    pub(super) fn quality(&mut self, at: At, quality: Quality) -> Answer<ColumnRef> {
        if quality == Quality::Amount {
            let near = self
                .nearest_before(at)
                .or(self.subject)
                .or(self.mentioned.first().copied());
            let table = near.ok_or(Trouble::Shape("an amount of no table"))?;
            return self.amount(table, &self.items[at].text.clone());
        }
        let words = lexis::columns_of(quality);
        let mut found = Vec::new();
        for (table, source) in self.catalog.tables.iter().enumerate() {
            for (column, c) in source.columns.iter().enumerate() {
                let name = split(&c.name);
                let fits = match quality {
                    Quality::Time => {
                        c.kind == Type::Date || name.iter().any(|w| words.contains(&w.as_str()))
                    }
                    _ => {
                        name.iter().any(|w| words.contains(&w.as_str()))
                            && (c.is_numeric() || c.holds_numbers())
                    }
                };
                if fits {
                    let score = if name.len() == 1 { 1.0 } else { 0.92 };
                    found.push((ColumnRef::new(table, column), score));
                }
            }
        }
        let near = |t: usize, me: &Self| {
            me.mentioned.contains(&t) || me.subject == Some(t) || me.mentioned.is_empty()
        };
        let of_parent = |t: usize, me: &Self| {
            let own = me.subject.into_iter().chain(me.mentioned.iter().copied());
            own.into_iter().any(|f| me.graph.belongs(f, t))
        };
        if found.iter().any(|(c, _)| near(c.table, self)) {
            found.retain(|(c, _)| near(c.table, self));
        } else {
            // "the tallest player", where a table of people has the height of each player.
            found.retain(|(c, _)| of_parent(c.table, self));
            self.sure.extend(found.iter().map(|(c, _)| c.table));
        }
        if quality == Quality::Time {
            found.retain(|(c, _)| self.verb_fits(at, *c));
            // A year is compared with years, and the latest row has the latest date.
            let in_year = |f: &Filter| f.at == at && matches!(f.test, Test::Year(..));
            let in_year = self.frame.filters.iter().any(in_year);
            let fits = |c: ColumnRef| (self.catalog.column(c).kind == Type::Date) != in_year;
            let others = found.clone();
            found.retain(|(c, _)| {
                fits(*c) || !others.iter().any(|(o, _)| o.table == c.table && fits(*o))
            });
        }
        let chosen = self.choose(at, found)?;
        self.notes.push(format!(
            "\"{}\" is about `{}`",
            self.items[at].text,
            self.catalog.label(chosen)
        ));
        Ok(chosen)
    }

    /// Whether the verb before a time is about this column: "opened after 2010" is, for `open_year`, but not for
    /// `join_date`.
    pub(super) fn verb_fits(&self, at: At, column: ColumnRef) -> bool {
        const EVENTS: &[&str] = &[
            "held", "made", "placed", "taken", "happened", "occurred", "recorded",
        ];
        let before = self.items[..at].iter().rev().find(|i| {
            !matches!(
                i.op(),
                Some(Op::In | Op::Is | Op::Compare(..) | Op::Between)
            )
        });
        let Some(word) = before.map(|i| i.text.to_lowercase()).filter(|w| {
            w.ends_with("ed") || w.ends_with("en") || w.ends_with("ing") || w.ends_with("un")
        }) else {
            return true;
        };
        let name = split(&self.catalog.column(column).name);
        let generic = |w: &String| {
            matches!(
                w.as_str(),
                "year" | "date" | "time" | "day" | "timestamp" | "at" | "on"
            )
        };
        let shares = name.iter().any(|w| {
            w.len() > 2
                && (word.starts_with(w.as_str()) || w.starts_with(word.trim_end_matches("ed")))
        });
        shares || name.iter().all(generic) || EVENTS.contains(&word.as_str())
    }
}
