//! Which table and column a name means.

use super::*;
use crate::ranked::forms::{figure_of, written_out};
use crate::ranked::rivals::{WHOLE, told_by_rest};
use crate::vocabulary::synonyms;
use crate::words::name_stems as stems;

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
            let table = f.column.and_then(|c| self.item_table(c));
            table.is_some_and(|t| self.items[f.at].has_value(|c| c.table == t))
        });
        places.extend(valued.filter_map(|f| f.column));
        for at in places {
            let item = &self.items[at];
            if item.is_table() {
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

    /// Tables that are named, or called like a verb: "authors have written" goes over `writes`.
    pub(super) fn on_the_way(&self) -> Vec<usize> {
        let verbs: Vec<String> = self.items.iter().map(|i| i.text.to_lowercase()).collect();
        let verbs: Vec<&String> = verbs.iter().filter(|w| lexis::is_relation(w)).collect();
        let is_said = |t: &usize| verbs.iter().any(|v| self.is_called(*t, v));
        let all = 0..self.catalog.tables.len();
        all.filter(|t| self.mentioned.contains(t) || is_said(t))
            .collect()
    }

    /// Whether a table is called like a verb.
    pub(super) fn is_called(&self, table: usize, verb: &str) -> bool {
        let name = split(&self.catalog.table(table).plain);
        name.iter().any(|w| lexis::is_same_verb(verb, w))
    }

    pub(super) fn table(&mut self, at: At) -> Answer<usize> {
        let item = &self.items[at];
        let tables = item.hits.iter().filter_map(|h| Some((h.table()?, h.score)));
        let mut hits: Vec<(usize, f32)> = tables.collect();
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
            // "papers" may be those in `papers_in_issues`, or the `paper_files` that it refers to.
            .filter(|(t, s)| {
                score - s < MARGIN
                    || score < WHOLE && self.pairs_others(table) && self.graph.belongs(table, *t)
            })
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
        self.weigh(
            at,
            if rare(table) {
                score.max(WEAKEST)
            } else {
                score
            },
            &self.catalog.table(table).name,
        )?;
        let source = self.catalog.table(table);
        self.say_other_word(at, &source.plain, &source.name);
        Ok(table)
    }

    /// Whether the rows of a table are pairs of rows of others, so that they have no name of their own.
    fn pairs_others(&self, table: usize) -> bool {
        let source = self.catalog.table(table);
        let refers = |c: &usize| source.foreign_keys.iter().any(|k| k.columns == [*c]);
        source.primary_key.len() > 1 && source.primary_key.iter().all(refers)
    }

    /// Says which name was taken for a word that the catalog does not have.
    fn say_other_word(&mut self, at: At, plain: &str, label: &str) {
        let (said, name) = (stems(&self.items[at].text), stems(plain));
        let other =
            |w: &String| !name.contains(w) && synonyms(w).any(|s| name.iter().any(|n| n == s));
        if said.iter().any(other) {
            let text = &self.items[at].text;
            self.notes.push(format!("I took \"{text}\" for `{label}`"));
        }
    }

    /// Refuses weak matches.
    pub(super) fn weigh(&self, at: At, score: f32, name: &str) -> Answer<()> {
        let text = &self.items[at].text;
        if score < WEAKEST {
            return Err(Trouble::Weak(text.clone(), name.to_owned()));
        }
        Ok(())
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
        let labels: Vec<String> = columns
            .iter()
            .map(|(c, _)| self.catalog.label(*c))
            .collect();
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
            return Err(Trouble::Apart(self.items[at].text.clone(), labels));
        };
        let rival = ranked.iter().skip(1).find(|(c, t, s)| {
            // What is called exactly so comes before a part of another name.
            let exact = score >= 0.99 && *s < 0.95 && c.table == best.table;
            total - t < MARGIN && !exact && !self.graph.same_key(*c, best)
        });
        if let Some((rival, ..)) = rival {
            let level = ranked
                .iter()
                .filter(|(c, t, _)| c.table == best.table && total - t < MARGIN);
            let level: Vec<ColumnRef> = level.map(|r| r.0).collect();
            let names: Vec<&str> = level
                .iter()
                .map(|c| &*self.catalog.column(*c).plain)
                .collect();
            let told = told_by_rest(self.items, at, &names).filter(|_| rival.table == best.table);
            if let Some(told) = told {
                return Ok(level[told]);
            }
            let names = vec![self.catalog.label(best), self.catalog.label(*rival)];
            return Err(Trouble::Ambiguous(self.items[at].text.clone(), names));
        }
        let elsewhere = self.owner(at).filter(|o| *o != best.table);
        if elsewhere.is_some_and(|o| {
            !in_play(best.table, self)
                || self.is_of_other_rows(at, o)
                || self.not_of(at, o, best.table, score)
        }) {
            return Err(self.weak(at, best));
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
        let names_rows = matches!(text.as_str(), "name" | "names");
        let alone = !self.sure.is_empty() && self.sure.iter().all(|t| *t == best.table);
        let own =
            owner == Some(best.table) || self.subject == Some(best.table) || (!anchored && alone);
        // `street_name` is the street, where nothing else is called so in part.
        let only = score >= 0.87 && self.items[at].hits.len() == 1;
        let score = if names_rows || (own && score >= WEAK) || only || self.is_held_count(at, best)
        {
            score.max(WEAKEST)
        } else {
            score
        };
        let label = self.catalog.label(best);
        self.weigh(at, score, &label)?;
        self.say_other_word(at, &self.catalog.column(best).plain, &label);
        Ok(best)
    }

    /// "the number of letters", where one column is their number and nothing else is called so.
    fn is_held_count(&self, at: At, column: ColumnRef) -> bool {
        let name = split(&self.catalog.column(column).plain);
        let mut hits = self.column_hits(at).into_iter();
        let number = self.items[..at].iter().rposition(|i| i.kind != Kind::Soft);
        let number = number.and_then(|before| self.items[before].op());
        matches!(number, Some(Op::NumberOf | Op::HowMany | Op::Most(..)))
            && self.items[at].table() == 0.0
            && figure_of(&name).is_some()
            && self.catalog.is_figure(column)
            && hits.all(|(c, s)| c == column || s < 0.6)
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
        let hits = self.items[at].hits.iter();
        hits.filter_map(|h| Some((h.column()?, h.score))).collect()
    }

    pub(super) fn column(&mut self, at: At) -> Answer<ColumnRef> {
        let hits = self.column_hits(at);
        if hits.is_empty() || (self.item_table(at).is_some() && self.items[at].column() < WEAKEST) {
            // A table stands for the column that names its rows.
            let table = self.table(at)?;
            let label = self.label(table).first().copied();
            let label = label.filter(|_| !self.pairs_others(table));
            return label.ok_or(Trouble::Shape("a table without a name"));
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
                (None, Some(own)) => {
                    // "the names of entrepreneurs", whose own table has only a company; their name is in that of people.
                    let parent = hits
                        .iter()
                        .find(|(c, s)| *s >= WEAKEST && self.graph.belongs(owner, c.table));
                    return match parent.filter(|_| !self.names_rows(*own)) {
                        None => Ok(*own),
                        Some((parent, _)) => {
                            let names = [own, parent].map(|c| self.catalog.label(*c));
                            Err(Trouble::Ambiguous(text, names.to_vec()))
                        }
                    };
                }
                (Some((column, score)), Some(own)) if own != column && *score < 0.9 => {
                    let names = vec![self.catalog.label(*own), self.catalog.label(*column)];
                    return Err(Trouble::Ambiguous(text, names));
                }
                _ => {}
            }
        }
        self.choose(at, hits)
    }

    /// The column that is shown for a name: where that is a key, and the question does not say so, what its rows are
    /// called. "the eye colour of each cat", for `eye_colour_id`.
    pub(super) fn shown(&mut self, at: At) -> Answer<ColumnRef> {
        let column = self.column(at)?;
        let (table, source) = (
            self.catalog.table(column.table),
            self.catalog.column(column),
        );
        let mut keys = table.foreign_keys.iter();
        let key = keys.find(|k| k.columns == [column.column] && k.target != column.table);
        let last = split(&source.plain).pop().unwrap_or_default();
        let is_key = lexis::holds("id key code number no", &last);
        let text = self.items[at].text.to_lowercase();
        let said = text.split(' ').any(|w| w.starts_with(&last));
        let hidden = if is_key { !said } else { source.is_numeric() };
        let other = key
            .map(|k| k.target)
            .filter(|t| hidden && self.subject != Some(*t));
        let Some(other) = other.filter(|_| table.primary_key != [column.column]) else {
            return Ok(column);
        };
        match self.label(other).as_slice() {
            [name] if self.key(other) != [*name] => {
                self.graph.keep_only(column, other);
                Ok(*name)
            }
            _ => Ok(column),
        }
    }

    /// Whether a table has another column that names its rows: `makers.maker` beside `makers.full_name`.
    fn twice_named(&self, label: ColumnRef) -> bool {
        let table = self.catalog.table(label.table);
        let head = split(&table.plain).pop().unwrap_or_default();
        table.columns.iter().enumerate().any(|(at, c)| {
            at != label.column
                && c.kind == Type::Text
                && crate::words::stem(&c.name.to_lowercase()) == crate::words::stem(&head)
        })
    }

    pub(super) fn label(&self, table: usize) -> Vec<ColumnRef> {
        let source = self.catalog.table(table);
        let reference = |column| ColumnRef::new(table, column);
        let named = (0..source.columns.len())
            .map(reference)
            .find(|column| self.names_rows(*column));
        named.map_or_else(
            || label_columns(source).into_iter().map(reference).collect(),
            |column| vec![column],
        )
    }

    /// Whether a column is called like its table: `orchestra.orchestra`, `orchestra.orchestra_name`.
    pub(super) fn names_rows(&self, column: ColumnRef) -> bool {
        let stemmed = |name: &str| stems(name).concat();
        let own = stemmed(&self.catalog.table(column.table).plain);
        let column = self.catalog.column(column);
        let name = stemmed(&column.plain);
        column.kind == Type::Text && (name == own || name == format!("{own}name"))
    }

    /// Whether a column holds first or last names.
    pub(super) fn is_part_of_name(&self, column: ColumnRef) -> bool {
        let name = written_out(&split(&self.catalog.column(column).plain));
        name.ends_with(&["first".to_owned(), "name".to_owned()])
            || name.ends_with(&["last".to_owned(), "name".to_owned()])
    }

    /// Whether the name of a row is its key: `town.town_name`.
    pub(super) fn is_its_name(&self, table: usize) -> bool {
        let key = self.key(table);
        let [column] = key[..] else {
            return false;
        };
        let name = split(&self.catalog.column(column).plain);
        let is_name = self.names_rows(column) || name.last().is_some_and(|w| w == "name");
        self.label(table) == key && is_name
    }

    pub(super) fn key(&self, table: usize) -> Vec<ColumnRef> {
        self.catalog
            .table(table)
            .primary_key
            .iter()
            .map(|column| ColumnRef::new(table, *column))
            .collect()
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
