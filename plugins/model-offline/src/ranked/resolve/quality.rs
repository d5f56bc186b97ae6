//! Columns that hold a quality: "older", "latest", "cheaper".

use super::conditions::holds_years;
use super::*;
use crate::ranked::forms::written_out;

/// What is done with any rows that have a date.
const EVENTS: &str = "held made placed taken happened occurred recorded";

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
                let name = split(&c.plain);
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
        // "the guest who made the earliest booking"
        if let Some(rows) = self.item_table(at + 1)
            && found.iter().any(|(c, _)| c.table == rows)
        {
            found.retain(|(c, _)| c.table == rows);
        }
        // "Which hall is the oldest?" is about the hall, and not about the age of its owner.
        let next = self.item_table(at + 1);
        if let (Quality::Age, Some(rows)) = (quality, next.or(self.subject)) {
            let ranked = self.frame.rank.as_ref().is_some_and(|r| r.at == at);
            if ranked && !found.iter().any(|(c, _)| c.table == rows) {
                let columns = 0..self.catalog.table(rows).columns.len();
                let columns = columns.map(|c| ColumnRef::new(rows, c));
                let starts = columns.filter(|c| self.is_start(*c));
                found.extend(starts.map(|c| (c, if self.is_year(c) { 1.0 } else { 0.92 })));
            }
            let own = |t: usize| t == rows || next.is_none() && self.mentioned.contains(&t);
            let has_own = found.iter().any(|(c, _)| own(c.table));
            found.retain(|(c, _)| own(c.table) || !has_own && self.is_person_of(rows, c.table));
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
            // "the tallest player", where a table of people has the height of each player. A time of other rows needs a
            // verb that names it: "jockeys born in 1990".
            let named = quality != Quality::Time || self.verb_before(at).is_some();
            found.retain(|(c, _)| named && of_parent(c.table, self));
            self.sure.extend(found.iter().map(|(c, _)| c.table));
        }
        if quality == Quality::Time {
            found.retain(|(c, _)| self.verb_fits(at, *c));
            let asks = |f: &Filter| f.at == at;
            if let Some(counted) = self.counted_before(at) {
                found.retain(|(c, _)| c.table == counted || self.is_part_of(counted, c.table));
                refuse(found.is_empty(), "a single date of those rows")?;
            }
            if self.verb_before(at).is_none() && self.frame.filters.iter().any(asks) {
                // "patients in 2023" are not those who were born then, nor those whose row was written then.
                let is_other = |c: ColumnRef| {
                    let name = written_out(&split(&self.catalog.column(c).plain));
                    let mut verbs = ["born", "updated", "modified"].into_iter();
                    verbs.any(|v| name.iter().any(|w| lexis::is_same_verb(v, w)))
                };
                found.retain(|(c, _)| !is_other(*c));
            }
            // A year is compared with years, and the latest row has the latest date.
            let in_year = |f: &Filter| f.at == at && matches!(f.test, Test::Year(..));
            let in_year = self.frame.filters.iter().any(in_year);
            let is_date = |c: ColumnRef| self.catalog.column(c).kind == Type::Date;
            let in_days = |f: &Filter| f.at == at && matches!(f.test, Test::Days(_));
            if self.frame.filters.iter().any(in_days) {
                found.retain(|(c, _)| is_date(*c));
            }
            let fits = |c: ColumnRef| is_date(c) != in_year;
            let others = found.clone();
            found.retain(|(c, _)| {
                fits(*c) || !others.iter().any(|(o, _)| o.table == c.table && fits(*o))
            });
        }
        let chosen = self.choose(at, found)?;
        self.say_column(at, chosen);
        Ok(chosen)
    }

    /// Whether a column holds the years of its rows.
    pub(super) fn is_year(&self, column: ColumnRef) -> bool {
        let source = self.catalog.column(column);
        source.is_numeric() && source.plain.eq_ignore_ascii_case("year")
    }

    /// Whether a column says when its rows came to be: the first is the oldest.
    pub(super) fn is_start(&self, column: ColumnRef) -> bool {
        const STARTS: &str = "founded established built constructed opened launched";
        let source = self.catalog.column(column);
        let name = split(&source.plain);
        let starts = |w: &String| STARTS.split(' ').any(|s| lexis::is_same_verb(s, w));
        let is_time = source.kind == Type::Date || source.is_numeric() && holds_years(source);
        self.is_year(column) || is_time && name.iter().any(starts)
    }

    /// Whether the rows of a table are persons that another table describes: gymnasts, and their `people`.
    fn is_person_of(&self, rows: usize, parent: usize) -> bool {
        let name = split(&self.catalog.table(parent).plain);
        let is_person = name.iter().any(|w| lexis::holds("people person", w));
        self.graph.belongs(rows, parent) && (is_person || self.is_part_of(rows, parent))
    }

    /// Says which column was taken for a word that names none.
    pub(super) fn say_column(&mut self, at: At, column: ColumnRef) {
        // An age is worked out from a date, which is the column.
        let span = self.catalog.column(column).span.as_ref();
        let born = span.filter(|s| matches!(s.to, End::Today(_)));
        let column = born.map_or(column, |s| ColumnRef::new(column.table, s.from));
        let (text, label) = (&self.items[at].text, self.catalog.label(column));
        self.notes.push(format!("\"{text}\" is about `{label}`"));
    }

    /// Whether the verb before a time is about this column: "opened after 2010" is, for `open_year`, but not for
    /// `join_date`.
    pub(super) fn verb_fits(&self, at: At, column: ColumnRef) -> bool {
        const CAME: &str = "created registered joined added placed entered";
        let Some(word) = self.verb_before(at) else {
            return true;
        };
        let name = written_out(&split(&self.catalog.column(column).plain));
        let generic = |w: &String| lexis::holds("year date time day timestamp at on", w);
        let came = |w: &str| lexis::holds(CAME, w);
        let shares = |w: &String| lexis::is_same_verb(&word, w) || came(&word) && came(w);
        name.iter().any(shares) || name.iter().all(generic) || lexis::holds(EVENTS, &word)
    }

    /// "Members who paid by cash in 2023": the date of another table that the last verb names, though not right before
    /// the time.
    pub(super) fn dated_by_verb(&self, at: At) -> Answer<Option<ColumnRef>> {
        let near = self.nearest_before(at).or(self.subject);
        let clause = self.items[..at].iter().rev();
        let clause = clause.take_while(|i| !i.is(Op::Break));
        let mut small = clause.filter(|i| i.kind == Kind::Soft || i.optional);
        let verb = small.find(|i| lexis::is_relation(&i.text.to_lowercase()));
        let verb = verb.map(|i| i.text.to_lowercase());
        let verb = verb.filter(|w| !lexis::holds(EVENTS, w) && self.verb_before(at).is_none());
        let Some((near, verb)) = near.zip(verb) else {
            return Ok(None);
        };
        let mut named = Vec::new();
        for (table, source) in self.catalog.tables.iter().enumerate() {
            let is_named = |c: &usize| {
                let name = split(&source.columns[*c].plain);
                name.iter().any(|w| lexis::is_same_verb(&verb, w))
            };
            if table == near || self.graph.connect(near, &[table]).is_ok() {
                let columns = (0..source.columns.len()).filter(is_named);
                named.extend(columns.map(|c| ColumnRef::new(table, c)));
            }
        }
        if named.iter().any(|c| c.table == near) {
            return Ok(None);
        }
        named.retain(|c| self.catalog.column(*c).kind == Type::Date);
        refuse(named.len() > 1, "a single date of that verb")?;
        Ok(named.first().copied())
    }

    /// Whether a verb before a time says what was done then: "hired in 2010", but not "placed in 2010", which is so of
    /// any rows.
    pub(super) fn is_done(&self, at: At) -> bool {
        let verb = self.verb_before(at);
        verb.is_some_and(|verb| !lexis::holds(EVENTS, &verb))
    }

    /// The verb right before a time. A value does not happen.
    fn verb_before(&self, at: At) -> Option<String> {
        let article = |i: &&Item| i.kind == Kind::Soft && i.text.eq_ignore_ascii_case("the");
        let passes = |i: &&Item| {
            let links = matches!(
                i.op(),
                Some(Op::In | Op::Is | Op::Each | Op::By | Op::Compare(..) | Op::Between)
            );
            links || article(i)
        };
        let before = self.items[..at].iter().rev().find(|i| !passes(i));
        let item = before.filter(|i| !i.is_value())?;
        let word = item.text.to_lowercase();
        let ends = ["ed", "en", "ing", "un"];
        let small = item.kind == Kind::Soft || item.optional;
        let verb = word == "born" || small && lexis::is_relation(&word);
        (verb || ends.iter().any(|e| word.ends_with(e))).then_some(word)
    }
}
