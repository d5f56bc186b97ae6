//! Which table and column a name means.

use super::*;

impl Resolver<'_> {
    pub(super) fn mention_tables(&mut self) -> Answer<()> {
        let mut places: Vec<At> = self.frame.tables.clone();
        for figure in self
            .frame
            .having
            .iter()
            .map(|h| &h.0)
            .chain(self.frame.rank.iter().map(|r| &r.by))
        {
            if let Figure::Count(at, _) = figure {
                places.push(*at);
            }
        }
        places.extend(self.frame.groups.iter().copied());
        places.extend(self.frame.without.iter().filter_map(|w| w.1));
        // "the algebra course" names the table and its column.
        let valued = self.frame.filters.iter().filter(|f| {
            f.column.and_then(|c| self.item_table(c)).is_some_and(|t| {
                self.items[f.at]
                    .hits
                    .iter()
                    .any(|h| matches!(&h.target, Target::Value(c, _) if c.table == t))
            })
        });
        places.extend(valued.filter_map(|f| f.column));
        for at in places {
            let item = &self.items[at];
            if item.table() > 0.0 && item.table() >= item.column() {
                let table = self.table(at)?;
                if !self.mentioned.contains(&table) {
                    self.mentioned.push(table);
                }
            }
        }
        // "all information about each order" is about the orders.
        let alone = match self.frame.groups[..] {
            [at] if self.frame.select.is_empty() && self.item_table(at).is_some() => Some(at),
            _ => None,
        };
        if let Some(at) = self.frame.subject.or(alone) {
            self.subject = Some(self.table(at)?);
        }
        Ok(())
    }

    pub(super) fn table(&mut self, at: At) -> Answer<usize> {
        let item = &self.items[at];
        let mut hits: Vec<(usize, f32)> = item
            .hits
            .iter()
            .filter_map(|h| match h.target {
                Target::Table(t) => Some((t, h.score)),
                _ => None,
            })
            .collect();
        hits.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some((table, score)) = hits.first().copied() else {
            return Err(Trouble::Weak(item.text.clone(), "a table".to_owned()));
        };
        // No column is called so, but for the keys and columns of the table itself.
        let rare = |table: usize| {
            let mut columns = self.column_hits(at).into_iter();
            columns.all(|(c, s)| {
                s < score || c.table == table || self.own_key(c.table, table) == Some(c)
            })
        };
        let rivals: Vec<usize> = hits
            .iter()
            .filter(|(_, s)| score - s < MARGIN)
            .map(|(t, _)| *t)
            .collect();
        // "games" are the rows that the others of that name refer to: `plays_games` says who plays which game.
        let referred = |t: &&usize| {
            let others = rivals.iter().filter(|o| o != t);
            others.clone().count() > 0 && others.into_iter().all(|o| self.graph.belongs(*o, **t))
        };
        let (table, score) = match rivals.iter().find(referred) {
            Some(table) => (*table, score.max(WEAKEST)),
            None if rivals.len() > 1 => {
                let names = rivals.iter().take(3);
                let names = names.map(|t| self.catalog.table(*t).name.clone()).collect();
                return Err(Trouble::Ambiguous(item.text.clone(), names));
            }
            None => (table, score),
        };
        if self.graph.is_paired(table) && item.text.ends_with("ed") {
            // "students who are liked": the other end of the pair.
            return Err(Trouble::Weak(
                item.text.clone(),
                self.catalog.table(table).name.clone(),
            ));
        }
        self.weigh(
            at,
            if rare(table) {
                score.max(WEAKEST)
            } else {
                score
            },
            &self.catalog.table(table).name,
        )?;
        Ok(table)
    }

    /// Refuses weak matches.
    pub(super) fn weigh(&self, at: At, score: f32, name: &str) -> Answer<()> {
        let text = &self.items[at].text;
        if score < WEAKEST {
            return Err(Trouble::Weak(text.clone(), name.to_owned()));
        }
        Ok(())
    }

    pub(super) fn item_table(&self, at: At) -> Option<usize> {
        let item = &self.items[at];
        if !item.is_name() || item.table() < item.column() || item.optional {
            return None;
        }
        let best = item
            .hits
            .iter()
            .filter(|h| matches!(h.target, Target::Table(_)))
            .max_by(|a, b| a.score.total_cmp(&b.score))?;
        match best.target {
            Target::Table(t) => Some(t),
            _ => None,
        }
    }

    /// The table that stands right beside a name: "singer name", "names and ages of singers".
    pub(super) fn owner(&self, at: At) -> Option<usize> {
        if let Some(table) = at.checked_sub(1).and_then(|b| self.item_table(b)) {
            return Some(table);
        }
        if let Some(table) = self.antecedent(at) {
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

    /// The table that a word stands for: "students who are older", "for each author, its name and age".
    fn antecedent(&self, at: At) -> Option<usize> {
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
        for before in (0..at).rev() {
            let item = &self.items[before];
            if matches!(item.text.to_lowercase().as_str(), "its" | "their") {
                let group = self.frame.groups.iter().find(|g| **g < before);
                return group.and_then(|g| self.item_table(*g)).or(self.subject);
            }
            let listed = item.kind == Kind::Soft
                || matches!(item.op(), Some(Op::And | Op::Comma))
                || (item.is_name() && self.item_table(before).is_none());
            if !listed {
                break;
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
        if self.items[at]
            .hits
            .iter()
            .any(|h| matches!(h.target, Target::Column(c) if self.key(table) == [c]))
        {
            score += 0.05;
        }
        if self.catalog.table(table).is_view() {
            score -= 0.1;
        }
        score
    }

    /// The best of several columns; two that are the same good are told.
    pub(super) fn choose(
        &mut self,
        at: At,
        mut columns: Vec<(ColumnRef, f32)>,
    ) -> Answer<ColumnRef> {
        self.nearest_to_measure(&mut columns);
        if let (true, [(only, score)]) = (self.measure.is_some(), columns.as_slice())
            && *score >= WEAKEST
        {
            return Ok(*only);
        }
        let owner = self
            .owner(at)
            .filter(|o| columns.iter().any(|(c, s)| c.table == *o && *s > 0.5));
        let anchored = self.subject.is_some() || !self.mentioned.is_empty();
        let in_play = |t: usize, me: &Self| {
            me.mentioned.contains(&t) || me.subject == Some(t) || me.sure.contains(&t)
        };
        let near = |t: usize, most: usize, me: &Self| {
            let from = me.subject.into_iter().chain(me.mentioned.iter().copied());
            from.filter_map(|f| me.graph.distance(f, t))
                .min()
                .is_some_and(|d| d <= most)
        };
        let columns: Vec<(ColumnRef, f32)> = columns
            .into_iter()
            .filter(|(c, s)| {
                owner.is_none_or(|o| o == c.table)
                    && (!anchored
                        || self.mentioned.contains(&c.table)
                        || (near(c.table, 2, self) && *s >= 0.9 && self.sure.contains(&c.table))
                        || (near(c.table, 1, self) && (*s >= 0.85 || in_play(c.table, self))))
            })
            .collect();
        let mut ranked: Vec<(ColumnRef, f32, f32)> = columns
            .into_iter()
            .map(|(c, s)| (c, s + self.closeness(at, c.table), s))
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let Some((best, total, score)) = ranked.first().copied() else {
            return Err(Trouble::Weak(
                self.items[at].text.clone(),
                "a column".to_owned(),
            ));
        };
        let rival = ranked.iter().skip(1).find(|(c, t, s)| {
            // What is called exactly so comes before a part of another name.
            let exact = score >= 0.99 && *s < 0.95 && c.table == best.table;
            total - t < MARGIN && !exact && !self.graph.same_key(*c, best)
        });
        if let Some((rival, ..)) = rival {
            let names = vec![self.catalog.label(best), self.catalog.label(*rival)];
            return Err(Trouble::Ambiguous(self.items[at].text.clone(), names));
        }
        let elsewhere = self.owner(at).filter(|o| *o != best.table);
        if elsewhere.is_some_and(|o| {
            !in_play(best.table, self)
                || self.is_of_other_rows(at, o)
                || self.not_of(at, o, best.table, score)
        }) {
            return Err(Trouble::Weak(
                self.items[at].text.clone(),
                self.catalog.label(best),
            ));
        }
        // A sentence behind that of the subject goes on about it: "Show the name and id."
        let goes_on = self.subject == Some(best.table)
            && self
                .frame
                .subject
                .is_some_and(|s| (s..at).any(|i| self.items[i].is(Op::Break)));
        let alike = ranked.iter().skip(1).find(|(c, _, s)| {
            owner.is_none()
                && !goes_on
                && *s > score - 0.08
                && c.table != best.table
                && in_play(c.table, self)
                && in_play(best.table, self)
                && !self.graph.same_key(*c, best)
        });
        if let Some((rival, ..)) = alike {
            let names = vec![self.catalog.label(best), self.catalog.label(*rival)];
            return Err(Trouble::Ambiguous(self.items[at].text.clone(), names));
        }
        // The name of a row is the column that names it, whatever that is called.
        let text = self.items[at].text.to_lowercase();
        let names_rows =
            matches!(text.as_str(), "name" | "names") && self.label(best.table) == [best];
        let alone = !self.sure.is_empty() && self.sure.iter().all(|t| *t == best.table);
        let own =
            owner == Some(best.table) || self.subject == Some(best.table) || (!anchored && alone);
        let score = if names_rows || (own && score >= WEAK) {
            score.max(WEAKEST)
        } else {
            score
        };
        self.weigh(at, score, &self.catalog.label(best))?;
        Ok(best)
    }

    /// "the location 'Old Town'": a quoted text right behind the name of a table is a value of that table.
    fn is_of_other_rows(&self, at: At, owner: usize) -> bool {
        let before = at.checked_sub(1).and_then(|b| self.item_table(b));
        matches!(self.items[at].kind, Kind::Quote(_)) && before == Some(owner)
    }

    /// Whether what is said of the rows of one table cannot be a column of the other, though the two are joined: an
    /// order has no price of each line, and a friendship has two names.
    fn not_of(&self, at: At, owner: usize, table: usize, score: f32) -> bool {
        if self.items[at].is_value() {
            return false;
        }
        self.graph.is_paired(owner)
            || (score < 0.97
                && self.graph.belongs(table, owner)
                && !self.graph.belongs(owner, table))
    }

    pub(super) fn column_hits(&self, at: At) -> Vec<(ColumnRef, f32)> {
        let hits = self.items[at].hits.iter().filter_map(|h| match h.target {
            Target::Column(c) => Some((c, h.score)),
            _ => None,
        });
        hits.collect()
    }

    pub(super) fn column(&mut self, at: At) -> Answer<ColumnRef> {
        let hits = self.column_hits(at);
        if hits.is_empty() || (self.item_table(at).is_some() && self.items[at].column() < WEAKEST) {
            // A table stands for the column that names its rows.
            let table = self.table(at)?;
            return self
                .label(table)
                .first()
                .copied()
                .ok_or(Trouble::Shape("a table without a name"));
        }
        let text = self.items[at].text.to_lowercase();
        if let Some(owner) = self
            .owner(at)
            .filter(|_| matches!(text.as_str(), "name" | "names"))
        {
            let named = hits
                .iter()
                .filter(|(c, _)| c.table == owner)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let label = self.label(owner);
            let own = label
                .first()
                .filter(|_| label.len() == 1 && label != self.key(owner));
            let chosen = named.map(|n| n.0).or(own.copied());
            if let Some(column) = chosen.filter(|c| self.twice_named(*c)) {
                return Err(Trouble::Weak(text, self.catalog.label(column)));
            }
            match (named, own) {
                (None, Some(own)) => return Ok(*own),
                (Some((column, score)), Some(own)) if own != column && *score < 0.9 => {
                    let names = vec![self.catalog.label(*own), self.catalog.label(*column)];
                    return Err(Trouble::Ambiguous(text, names));
                }
                _ => {}
            }
        }
        self.choose(at, hits)
    }

    /// Whether a table has another column that names its rows: `makers.maker` beside `makers.full_name`.
    fn twice_named(&self, label: ColumnRef) -> bool {
        let table = self.catalog.table(label.table);
        let head = split(&table.name).pop().unwrap_or_default();
        table.columns.iter().enumerate().any(|(at, c)| {
            at != label.column
                && c.kind == Type::Text
                && crate::words::stem(&c.name.to_lowercase()) == crate::words::stem(&head)
        })
    }

    pub(super) fn label(&self, table: usize) -> Vec<ColumnRef> {
        let source = self.catalog.table(table);
        let own: String = split(&source.name)
            .iter()
            .map(|w| crate::words::stem(w))
            .collect();
        let names_rows = |c: &crate::catalog::Column| {
            let name: String = split(&c.name)
                .iter()
                .map(|w| crate::words::stem(w))
                .collect();
            c.kind == Type::Text && (name == own || name == format!("{own}name"))
        };
        let named = source.columns.iter().position(names_rows);
        let columns = named.map_or_else(|| label_columns(source), |at| vec![at]);
        let reference = |column| ColumnRef { table, column };
        columns.into_iter().map(reference).collect()
    }

    pub(super) fn key(&self, table: usize) -> Vec<ColumnRef> {
        self.catalog
            .table(table)
            .primary_key
            .iter()
            .map(|column| ColumnRef {
                table,
                column: *column,
            })
            .collect()
    }

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
                    found.push((ColumnRef { table, column }, score));
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

/// Tables that hold the only column with a name that the question uses.
pub(super) fn sure(items: &[Item]) -> Vec<usize> {
    let only = |item: &Item| {
        let mut tables: Vec<usize> = Vec::new();
        for hit in item.hits.iter().filter(|h| h.score >= 0.85) {
            match hit.target {
                Target::Column(c) | Target::Value(c, _) => tables.push(c.table),
                Target::Table(_) => {}
            }
        }
        tables.sort_unstable();
        tables.dedup();
        (tables.len() == 1).then(|| tables[0])
    };
    items
        .iter()
        .filter(|i| !i.optional)
        .filter_map(only)
        .collect()
}
