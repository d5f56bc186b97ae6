//! Conditions over columns of the catalog.

use super::*;
use crate::catalog::Column;
use crate::dates::Period;
use crate::ranked::parse::bounded;
use crate::words::name_stems as stems;

impl Resolver<'_> {
    pub(super) fn filter(
        &mut self,
        filter: &Filter,
        before: Option<&Resolved>,
    ) -> Answer<Condition> {
        let condition = |column, check| Condition {
            column,
            check,
            negated: filter.negated,
        };
        let found = match &filter.test {
            Test::Values(values) => Some(self.values(filter, values, before)?),
            Test::RefersTo(named) => Some(self.referring(filter, *named)?),
            _ => None,
        };
        if let Some((column, check)) = found {
            return Ok(condition(column, check));
        }
        let column = match before.filter(|_| filter.or && filter.column.is_none()) {
            // "in 2013 or 2016": both are about the same column.
            Some(before) => before.condition.column,
            None => self.filtered(filter)?,
        };
        let source = self.catalog.column(column);
        let texts = !source.common_values.is_empty()
            && source
                .common_values
                .iter()
                .all(|v| v.parse::<f64>().is_ok());
        let numeric = source.is_numeric();
        let numbers = numeric || source.holds_numbers();
        if let (Test::Number(c, n), Some(end)) = (&filter.test, filter.column)
            && end > filter.at
            && (self.items[filter.at].is(Op::In) || self.items[filter.at].text == "out")
        {
            let words: Vec<&str> = self.items[filter.at..=end]
                .iter()
                .map(|i| &*i.text)
                .collect();
            let sign = if *c == Comparison::Equal { "=" } else { ">" };
            let (words, label) = (words.join(" "), self.catalog.label(column));
            self.notes
                .push(format!("\"{words}\" is read as `{label}` {sign} {n}"));
        }
        let items = self.items;
        let named = filter.column.and_then(|at| items.get(at));
        if let Some(item) = named.filter(|i| i.happened) {
            let label = self.catalog.label(column);
            self.notes.push(format!(
                "\"{}\" is read as those with a date in `{label}`",
                item.text
            ));
        }
        let check = match &filter.test {
            Test::Number(Comparison::Equal, n)
                if !numeric && (texts || source.common_values.contains(n)) =>
            {
                Check::Texts(vec![n.clone()], true)
            }
            Test::Number(c, n) if numbers => Check::Number(*c, n.clone()),
            Test::Range(a, b) if numbers => Check::Range(a.clone(), b.clone()),
            Test::Average(c) if numbers => Check::Average(*c),
            Test::Truth => match source.yes() {
                Some(yes) => Check::Texts(vec![yes.clone()], true),
                None => Check::Truth,
            },
            Test::Missing => Check::Missing,
            Test::Like(..) if !self.is_searched(column, filter) => {
                return Err(self.weak(filter.at, column));
            }
            Test::Like(place, text) => Check::Like(*place, text.clone()),
            Test::Clock(c, time) if source.kind == Type::Time => Check::Clock(*c, time.clone()),
            Test::Days(period) if source.kind == Type::Date => Check::Days(*period),
            Test::Year(c, year) if source.kind == Type::Date => {
                let year = dates::year(year).ok_or(Trouble::Shape("that year"))?;
                Check::Days(bounded(year, *c))
            }
            Test::Year(c, year) if numeric && holds_years(source) => {
                Check::Number(*c, year.clone())
            }
            Test::Year(Comparison::Equal, year)
                if source.common_values.iter().all(|v| v.len() == 4) =>
            {
                Check::Texts(vec![year.clone()], true)
            }
            Test::Year(c, year) if source.holds_numbers() => Check::Number(*c, year.clone()),
            _ => return Err(self.weak(filter.at, column)),
        };
        Ok(condition(column, check))
    }

    /// The column that a condition is about, other than one on values.
    fn filtered(&mut self, filter: &Filter) -> Answer<ColumnRef> {
        match (&filter.test, filter.column, filter.quality) {
            (Test::Clock(..), named, _) => self.clock_column(filter.at, named),
            (Test::Days(_) | Test::Year(..), Some(at), _) => match self.dated_column(at) {
                Some(column) => Ok(column),
                None => self.column(at),
            },
            (Test::Missing, Some(at), _) if self.items[at].is_value() => self
                .dated_column(at)
                .ok_or(Trouble::Shape("a date that may be missing")),
            (_, Some(at), _) => self.column(at),
            (_, None, Some(quality)) => {
                let is_time = quality == Quality::Time;
                let time = self.time(filter.at).filter(|_| is_time);
                let base = self.measure.as_ref().map(|(_, c)| c.base);
                if is_time
                    && base.is_none()
                    && let Some(column) = self.dated_by_verb(filter.at)?
                {
                    self.say_column(filter.at, column);
                    return Ok(column);
                }
                match time {
                    Some(column) => {
                        // The nearest name is that of other rows.
                        if base.is_none() && self.counted_before(filter.at) == Some(column.table) {
                            self.say_column(filter.at, column);
                        }
                        Ok(column)
                    }
                    // A date of other rows is not that of the measure.
                    None if is_time && base.is_some_and(|t| self.has_rival_dates(t)) => {
                        Err(Trouble::Shape("a single date of those rows"))
                    }
                    None => self.quality(filter.at, quality),
                }
            }
            (_, None, None) => Err(Trouble::Shape("a condition without a column")),
        }
    }

    /// The column that a time of day is about: "ends before 1pm" is about `end_time`.
    fn clock_column(&self, at: At, named: Option<At>) -> Answer<ColumnRef> {
        let near = |c: &ColumnRef| {
            let known = self.subject.is_some() || !self.mentioned.is_empty();
            !known || self.subject == Some(c.table) || self.mentioned.contains(&c.table)
        };
        let said: Vec<ColumnRef> = match named {
            Some(named) => self.column_hits(named).into_iter().map(|h| h.0).collect(),
            None => {
                let tables = self.catalog.tables.iter().enumerate();
                let all = tables.flat_map(|(t, table)| {
                    (0..table.columns.len()).map(move |c| ColumnRef::new(t, c))
                });
                all.filter(|c| self.verb_fits(at, *c)).collect()
            }
        };
        let is_time = |c: &ColumnRef| self.catalog.column(*c).kind == Type::Time;
        let times: Vec<ColumnRef> = said.into_iter().filter(is_time).collect();
        let own: Vec<ColumnRef> = times.iter().copied().filter(near).collect();
        let found = if own.is_empty() { times } else { own };
        let text = || self.items[named.unwrap_or(at)].text.clone();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(Trouble::Weak(text(), "a time of day".to_owned())),
            several => {
                let names = several.iter().take(3).map(|c| self.catalog.label(*c));
                Err(Trouble::Ambiguous(text(), names.collect()))
            }
        }
    }

    /// "who reports to Ann": the column that refers to rows of its own table, and those that are called so.
    fn referring(&mut self, filter: &Filter, named: At) -> Answer<(ColumnRef, Check)> {
        let text = || self.items[filter.at].text.clone();
        let refers = |(column, _): (ColumnRef, f32)| {
            let key = self.catalog.parent_key(column)?;
            let label = label_columns(self.catalog.table(column.table));
            let is_name = |c: &ColumnRef| c.table == column.table && label.contains(&c.column);
            let values = self.items[named].hits.iter();
            let mut values = values.filter_map(|h| match &h.target {
                Target::Value(c, value) if is_name(c) => Some((*c, value.clone())),
                _ => None,
            });
            let (name, value) = values.next()?;
            let others = values.filter(|(c, v)| *c == name && *v != value);
            let texts: Vec<String> = others.map(|(_, v)| v).chain([value.clone()]).collect();
            Some((column, Check::RefersTo(key, name, texts)))
        };
        let columns = filter.column.map(|at| self.column_hits(at));
        let found = columns.into_iter().flatten().find_map(refers);
        let found = found.ok_or_else(|| Trouble::Weak(text(), "any known value".to_owned()))?;
        if self.subject.is_none() && self.mentioned.is_empty() {
            self.subject = Some(found.0.table);
        }
        Ok(found)
    }

    /// A pattern is looked for in texts, and in a key only where the question says so.
    fn is_searched(&self, column: ColumnRef, filter: &Filter) -> bool {
        let key = self.key(column.table) == [column];
        let rows = filter.column.and_then(|at| self.item_table(at));
        let is_text = matches!(self.catalog.column(column).kind, Type::Text | Type::Other);
        is_text && !(rows.is_some() && key && !self.is_its_name(column.table))
    }

    /// The column of other rows that refers to those of a value by its words: `customers.sales_rep_number`.
    fn role(&self, at: At, value: ColumnRef) -> Option<ColumnRef> {
        let said = stems(&self.items[at].text);
        let tables = self.catalog.tables.iter().enumerate();
        let mut keys = tables.flat_map(|(t, table)| table.foreign_keys.iter().map(move |k| (t, k)));
        keys.find_map(|(table, key)| {
            let column = ColumnRef::new(table, *key.columns.first()?);
            let is_said = stems(&self.catalog.column(column).plain).starts_with(&said);
            (key.target == value.table && !key.guessed && is_said).then_some(column)
        })
    }

    fn is_near(&self, table: usize) -> bool {
        self.subject == Some(table) || self.mentioned.contains(&table)
    }

    /// Where no key is declared, a value of a table that the question does not name must stand in no other one: the way
    /// to that may only be unknown.
    fn only_there(&self, at: At, column: ColumnRef, others: &[ColumnRef]) -> Answer<()> {
        let mut keys = self.catalog.tables.iter().flat_map(|t| &t.foreign_keys);
        let is_known = keys.any(|k| !k.guessed);
        if is_known || others.iter().all(|c| c.table == column.table) {
            return Ok(());
        }
        let choices = others.iter().map(|c| self.catalog.label(*c)).collect();
        Err(Trouble::Ambiguous(self.items[at].text.clone(), choices))
    }

    /// The column of some values, and the condition that they make.
    fn values(
        &mut self,
        filter: &Filter,
        values: &[At],
        before: Option<&Resolved>,
    ) -> Answer<(ColumnRef, Check)> {
        let named = filter.column;
        let text = || self.items[filter.at].text.clone();
        let found = values.iter().flat_map(|at| &self.items[*at].hits);
        let mut hits: Vec<(ColumnRef, f32)> =
            found.filter_map(|h| Some((h.value()?, h.score))).collect();
        if let Some(at) = named {
            let columns = self.column_hits(at);
            let both = columns
                .iter()
                .filter(|(c, _)| hits.iter().any(|(h, _)| h == c));
            // A value of a column confirms what its name may mean.
            let both: Vec<(ColumnRef, f32)> = both.map(|(c, s)| (*c, s.max(WEAKEST))).collect();
            hits = if both.is_empty() { columns } else { both };
        } else if hits.is_empty() {
            let before =
                before.ok_or_else(|| Trouble::Weak(text(), "any known value".to_owned()))?;
            hits.push((before.condition.column, 1.0));
        }
        hits.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        hits.dedup_by_key(|h| h.0);
        if named.is_none() {
            let holds = |at: &At, c| {
                self.items[*at].hits.is_empty() || self.items[*at].has_value(|v| v == c)
            };
            hits.retain(|(c, _)| values.iter().all(|at| holds(at, *c)));
            self.of_the_way(filter.at, &mut hits);
            self.of_the_verb(filter.at, &mut hits)?;
            // What names a row is its name, though another column of the table has the same text. A part of a name is
            // not, and neither is what rows are in.
            let is_place = filter
                .at
                .checked_sub(1)
                .is_some_and(|b| self.items[b].op() == Some(Op::In));
            let named = |c: &ColumnRef| self.label(c.table) == [*c];
            // Nor is a name that many rows share: half of the wines are called Zinfandel, and more are made of it.
            let tells_apart = |c: &ColumnRef| {
                let counts = self.catalog.column(*c).distinct_count;
                let counts = counts.zip(self.catalog.table(c.table).row_count);
                counts.is_none_or(|(distinct, rows)| distinct * 10 >= rows * 9)
            };
            // "the Physics programme" is the programme of that name.
            let rows = self.item_table(filter.at + 1);
            let is_it = |c: &ColumnRef| rows == Some(c.table) && named(c) && tells_apart(c);
            if hits.iter().any(|(c, _)| is_it(c)) {
                hits.retain(|(c, _)| is_it(c));
            }
            let label = |c: &ColumnRef| !is_place && named(c) && tells_apart(c);
            // "rivers in Missouri" are not those that are called so.
            let rows = self.owner(filter.at).filter(|_| is_place);
            hits.retain(|(c, _)| Some(c.table) != rows || !named(c));
            let names: Vec<(ColumnRef, f32)> =
                hits.iter().filter(|h| label(&h.0)).copied().collect();
            hits.retain(|(c, s)| {
                label(c) || !names.iter().any(|(l, t)| l.table == c.table && t >= s)
            });
        }
        let others: Vec<ColumnRef> = hits.iter().filter(|h| h.1 > 0.9).map(|h| h.0).collect();
        let column = self.choose(named.unwrap_or(filter.at), hits)?;
        if named.is_none()
            && let Some(role) = self.role(filter.at, column)
        {
            // "who is the sales rep of Ann": one of those who are called so, or the one that she has.
            let names = [column, role].map(|c| self.catalog.label(c));
            return Err(Trouble::Ambiguous(text(), names.to_vec()));
        }
        // The orders of "Alfreds Futterkiste" are those of the customer as well as those shipped to that name.
        let is_owner = |c: &&ColumnRef| {
            self.label(c.table) == [**c]
                && !self.graph.same_key(**c, column)
                && self.graph.leads(column.table, c.table)
        };
        let is_free = named.is_none() && self.label(column.table) != [column];
        if let Some(owner) = others.iter().find(is_owner).filter(|_| is_free) {
            let names = [column, *owner].map(|c| self.catalog.label(c));
            return Err(Trouble::Ambiguous(text(), names.to_vec()));
        }
        if named.is_none() && !self.is_near(column.table) {
            let base = self.subject.or(self.mentioned.first().copied());
            let apart = |c: &ColumnRef| {
                base.is_some_and(|base| self.graph.connect(base, &[c.table]).is_err())
            };
            if others.iter().any(apart) {
                self.only_there(filter.at, column, &others)?;
            }
        }
        // A value may be stored in several spellings.
        let stored = |at: &At| -> Vec<String> {
            let values = self.items[*at].hits.iter().filter_map(|h| match &h.target {
                Target::Value(c, v) if *c == column => Some(v.clone()),
                _ => None,
            });
            let mut spellings: Vec<String> = Vec::new();
            for value in values {
                let is_same = |s: &String| s.to_lowercase() == value.to_lowercase();
                if spellings.is_empty()
                    || spellings.iter().all(is_same) && !spellings.contains(&value)
                {
                    spellings.push(value);
                }
            }
            spellings
        };
        let known = values.iter().all(|at| !stored(at).is_empty());
        let said = |at: &At| match &self.items[*at].kind {
            Kind::Quote(text) => text.clone(),
            _ => self.items[*at].text.clone(),
        };
        let texts: Vec<String> = values
            .iter()
            .flat_map(|at| match stored(at) {
                none if none.is_empty() => vec![said(at)],
                stored => stored,
            })
            .collect();
        if !self.catalog.column(column).is_numeric() {
            return Ok((column, Check::Texts(texts, known)));
        }
        match texts.as_slice() {
            [number] if number.parse::<f64>().is_ok() => {
                Ok((column, Check::Number(Comparison::Equal, number.clone())))
            }
            _ => Err(self.weak(filter.at, column)),
        }
    }
}

impl Resolver<'_> {
    /// "from Rome to Oslo": the one is where rows start, and the other where they end, if their columns are called so.
    fn of_the_way(&self, at: At, hits: &mut Vec<(ColumnRef, f32)>) {
        const ENDS: [(&str, &str); 2] = [
            ("from", "from origin source departure start"),
            ("to", "to destination dest target arrival end"),
        ];
        let before = at
            .checked_sub(1)
            .map(|before| self.items[before].text.to_lowercase());
        let Some(own) = ENDS
            .iter()
            .position(|(word, _)| Some(*word) == before.as_deref())
        else {
            return;
        };
        let says = |c: &ColumnRef, end: usize| {
            let name = split(&self.catalog.column(*c).plain);
            name.iter().any(|w| lexis::holds(ENDS[end].1, w))
        };
        if hits.iter().any(|(c, _)| says(c, own)) {
            hits.retain(|(c, _)| says(c, own) || !says(c, 1 - own));
        }
    }

    /// "How many cartoons did Ben Jones write?" is about `written_by`, though other columns hold the value, or that one
    /// is not known to.
    fn of_the_verb(&self, at: At, hits: &mut Vec<(ColumnRef, f32)>) -> Answer<()> {
        let by = at.checked_sub(2).filter(|b| self.items[b + 1].is(Op::By));
        let near = by.into_iter().chain([at + 1]);
        let words = near.filter_map(|place| self.items.get(place));
        let verbs: Vec<String> = words
            .map(|i| i.text.to_lowercase())
            .filter(|w| lexis::is_relation(w))
            .collect();
        let fits = |c: ColumnRef| {
            let name = split(&self.catalog.column(c).plain);
            let last = name.last().map_or("", |w| w);
            let agent = ["by", "er", "or"].iter().any(|e| last.ends_with(e));
            let said = |w: &String| verbs.iter().any(|v| lexis::is_same_verb(v, w));
            agent && name.iter().any(said)
        };
        let tables: Vec<usize> = hits.iter().map(|(c, _)| c.table).collect();
        let mut columns = tables.iter().flat_map(|t| {
            let all = 0..self.catalog.table(*t).columns.len();
            all.map(move |column| ColumnRef::new(*t, column))
        });
        let named = columns.find(|c| fits(*c));
        if let Some(named) = named {
            hits.retain(|(c, _)| c.table != named.table || fits(*c));
            if hits.is_empty() {
                return Err(self.weak(at, named));
            }
        }
        Ok(())
    }
}

/// Whether two conditions that must both hold cannot.
pub(super) fn contradictory(filters: &[Resolved]) -> bool {
    use Comparison::{Above, AtLeast, AtMost, Below, Equal};
    let number = |t: &str| t.parse::<f64>().unwrap_or(0.0);
    let clash = |a: &Resolved, b: &Resolved| {
        let negated = a.condition.negated || b.condition.negated;
        let same = a.condition.column == b.condition.column && !b.or;
        same && match (&a.condition.check, &b.condition.check) {
            // Rows can be neither new nor paid, but not both.
            (Check::Texts(..), Check::Texts(..)) => !(a.condition.negated && b.condition.negated),
            _ if negated => false,
            (Check::Days(x), Check::Days(y)) => {
                let ends = |a: &Period, b: &Period| a.to.zip(b.from).is_some_and(|(t, f)| t <= f);
                ends(x, y) || ends(y, x)
            }
            (Check::Number(Above | AtLeast, x), Check::Number(Below | AtMost, y))
            | (Check::Number(Below | AtMost, y), Check::Number(Above | AtLeast, x)) => {
                number(x) >= number(y)
            }
            (Check::Number(Equal, _), Check::Number(Equal, _)) => true,
            _ => false,
        }
    };
    let mut firsts = filters.iter().enumerate();
    firsts.any(|(i, a)| filters[i + 1..].iter().any(|b| clash(a, b)))
}

pub(super) fn grouped_conditions(filters: Vec<Resolved>) -> Vec<Vec<Condition>> {
    let mut groups: Vec<Vec<Condition>> = Vec::new();
    for filter in filters {
        match groups.last_mut() {
            Some(group) if filter.or => group.push(filter.condition),
            _ => groups.push(vec![filter.condition]),
        }
    }
    groups
}

/// Whether the common values of a column are years.
pub(super) fn holds_years(column: &Column) -> bool {
    let year = |v: &String| {
        v.parse::<f64>()
            .is_ok_and(|n| (1000.0..=2100.0).contains(&n))
    };
    let values = &column.common_values;
    split(&column.plain).iter().any(|w| w == "year")
        || (!values.is_empty() && values.iter().all(year))
}
