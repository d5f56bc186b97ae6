//! Links the words of a question to tables, columns and values of the catalog.

pub use super::hit::{Hit, Target};

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

use super::forms::{
    NAMES, everyday, figure_of, parts, stored, unit, value_words, without_table, written_out,
};
use super::items::Item;
use super::{lengths, terms};
use crate::catalog::{Catalog, ColumnRef, Kind, Table};
use crate::countries;
use crate::measures::{self, Measure};
use crate::spans::End;
use crate::vocabulary::{holds, synonyms};
use crate::words::{Token, TokenKind, split, tokenize};

/// Tokens that one name covers at most.
pub const LONGEST: usize = 7;
/// Matches below this score are noise.
const WEAKEST: f32 = 0.45;

/// All names of a catalog, by their stemmed letters.
pub struct Index {
    names: HashMap<String, Vec<Hit>>,
    values: HashMap<String, Vec<Hit>>,
    /// Columns that are the whole key of their table.
    keys: Vec<ColumnRef>,
    /// Columns of tables, not views, that hold numbers and are no keys.
    amounts: Vec<ColumnRef>,
    /// Measures that some table can give.
    pub measures: Vec<Measure>,
    /// The stems of each name of a taught metric, with its index.
    metrics: Vec<(Vec<String>, usize)>,
    /// The names of all tables, which are no other word for anything else.
    tables: HashSet<String>,
    views: Vec<usize>,
    /// Columns that are true or false.
    flags: Vec<ColumnRef>,
    /// Columns that hold dates.
    pub dates: Vec<ColumnRef>,
    /// Lengths of time between two dates, with the words of both.
    pub spans: Vec<(ColumnRef, [Vec<String>; 2])>,
    /// Whether some column holds times of a day.
    pub has_times: bool,
    /// Columns whose name says a unit of measure, with its kind and place.
    units: Vec<(ColumnRef, (usize, usize))>,
    stemmer: Stemmer,
    /// What phrases mean that were asked for.
    known: RefCell<HashMap<(String, bool), Vec<Hit>>>,
}

impl Index {
    /// Indexes the names and common values of a catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let mut index = Self {
            names: HashMap::new(),
            values: HashMap::new(),
            keys: Vec::new(),
            amounts: Vec::new(),
            measures: [Measure::Revenue, Measure::Units, Measure::Rating]
                .into_iter()
                .filter(|m| !measures::candidates(catalog, *m).is_empty())
                .collect(),
            metrics: Vec::new(),
            tables: HashSet::new(),
            dates: Vec::new(),
            flags: Vec::new(),
            spans: Vec::new(),
            units: Vec::new(),
            has_times: false,
            views: (0..catalog.tables.len())
                .filter(|t| catalog.table(*t).is_view())
                .collect(),
            stemmer: Stemmer::create(Algorithm::English),
            known: RefCell::default(),
        };
        let tables = catalog.tables.iter().map(|t| index.key(&split(&t.plain)));
        index.tables = tables.collect();
        for (at, table) in catalog.tables.iter().enumerate() {
            let words = split(&table.plain);
            index.add_name(&words, &Target::Table(at), &[]);
            if table.plain != table.name {
                index.add_name(&split(&table.name), &Target::Table(at), &[]);
            }
            index.add_key(at, table, &words);
            for column in 0..table.columns.len() {
                index.add_column(ColumnRef::new(at, column), table, &words);
            }
        }
        index.aliases(catalog);
        for (at, metric) in catalog.metrics.iter().enumerate() {
            let names = metric.names.iter().map(|name| (name.clone(), at));
            index.metrics.extend(names);
        }
        index.add_terms(catalog);
        index
    }

    /// The words of a term mean what the editors say, where that is one thing of the catalog. Known values stay what
    /// they are: if `gold` is a segment of customers, it is no other word for the column `segment`.
    fn add_terms(&mut self, catalog: &Catalog) {
        let key = |name: &String| {
            let words: Vec<String> = tokenize(name).into_iter().map(|t| t.norm).collect();
            self.key(&words)
        };
        let is_taken = |key: &String, column: Option<ColumnRef>| {
            let is_said = |words: &str| self.key(&words.split(' ').collect::<Vec<_>>()) == *key;
            let mut values = self.values.iter().filter(|(words, _)| is_said(words));
            values.any(|(_, hits)| column.is_none() || hits.iter().any(|h| h.value() == column))
        };
        let mut found: Vec<(String, Target)> = Vec::new();
        for (names, text) in &catalog.terms {
            let Some(target) = terms::meant(self, text) else {
                continue;
            };
            let column = match target {
                Target::Value(column, _) => Some(column),
                _ => None,
            };
            let keys: Vec<String> = names.iter().map(key).collect();
            if !keys.iter().any(|key| is_taken(key, column)) {
                found.extend(keys.into_iter().map(|key| (key, target.clone())));
            }
        }
        for (key, target) in found {
            self.names.insert(key, vec![Hit { target, score: 1.0 }]);
        }
        self.known.take();
    }

    /// The taught metric that is named at a place, with the number of its tokens. The name of a table means its rows,
    /// unless they are counted.
    pub fn taught(&self, tokens: &[Token], at: usize) -> Option<(usize, Measure)> {
        let is_said = |(name, _): &&(Vec<String>, usize)| {
            let said = tokens[at..].iter().map(|t| &t.stem);
            said.take(name.len()).eq(name)
        };
        let said = self.metrics.iter().filter(is_said);
        let (name, metric) = said.max_by_key(|(name, _)| name.len())?;
        let is_table = |h: &Hit| h.score >= 0.9 && matches!(h.target, Target::Table(_));
        let is_small = |t: &&Token| holds("the our all different", &t.norm);
        let before = tokens[..at].iter().rev().skip_while(is_small);
        let mut before = before.map(|t| t.norm.as_str());
        let is_counted = matches!(
            (before.next(), before.next()),
            (Some("many"), Some("how")) | (Some("of"), Some("number"))
        );
        let hits = self.hits(&tokens[at..at + name.len()]);
        (is_counted || !hits.iter().any(is_table)).then_some((name.len(), Measure::Taught(*metric)))
    }

    /// Whatever it is called, the key of a table is its id.
    fn add_key(&mut self, at: usize, table: &Table, words: &[String]) {
        let [column] = table.primary_key[..] else {
            return;
        };
        let key = ColumnRef::new(at, column);
        self.keys.push(key);
        let name = split(&table.columns[column].plain);
        if !name.iter().any(|w| w == "name" || w == "title") {
            let id = ["id".to_owned()];
            self.put(&id, &Target::Column(key), 0.95);
            self.put(&[words, &id].concat(), &Target::Column(key), 0.92);
        }
    }

    fn add_column(&mut self, at: ColumnRef, table: &Table, words: &[String]) {
        let source = &table.columns[at.column];
        let target = Target::Column(at);
        if source.kind == Kind::Date {
            self.dates.push(at);
        }
        if source.is_numeric() && !table.is_view() && !table.is_key(at.column) {
            self.amounts.push(at);
        }
        let name = split(&source.plain);
        let unit = name.last().filter(|_| name.len() > 1).and_then(|w| unit(w));
        self.units.extend(unit.map(|unit| (at, unit)));
        if let Some(span) = &source.span {
            let of = |column: usize| written_out(&split(&table.columns[column].plain));
            let to = match span.to {
                End::Column(to) => of(to),
                End::Today(_) => Vec::new(),
            };
            self.spans.push((at, [of(span.from), to]));
            // What has no other name can only be put together: "the days between A and B".
            for alias in span.aliases.iter().copied().chain([source.name.as_str()]) {
                let said: Vec<String> = alias.split(' ').map(str::to_owned).collect();
                if !span.aliases.is_empty() {
                    self.put(&said, &target, 0.97);
                    self.put(&[words, &said].concat(), &target, 0.99);
                }
            }
            return;
        }
        self.add_name(&name, &target, words);
        if source.plain != source.name {
            self.add_name(&split(&source.name), &target, words);
        }
        let refers = table.foreign_keys.iter().any(|k| k.columns == [at.column]);
        if let [rest @ .., last] = name.as_slice() {
            if refers && source.nullable && rest.len() > 1 && last == "id" {
                // `delivery_address_id` is the delivery address.
                self.put(rest, &target, 0.9);
            }
            let middle = rest.iter().filter(|_| source.kind == Kind::Date).skip(1);
            for word in middle.filter(|w| w.len() > 3) {
                // "graduated in 2023" is about `expected_graduation_date`.
                self.put(std::slice::from_ref(word), &target, 0.55);
            }
            if source.kind == Kind::Date && matches!(last.as_str(), "at" | "on") {
                // `shipped_on` is what happened, and its date.
                self.put(rest, &target, 0.88);
            }
        }
        if source.is_flag() {
            self.flags.push(at);
            if let [is, rest @ ..] = name.as_slice()
                && matches!(is.as_str(), "is" | "has")
                && !rest.is_empty()
            {
                self.put(rest, &target, 0.9);
            }
        }
        self.has_times |= source.kind == Kind::Time;
        if !matches!(source.kind, Kind::Text | Kind::Time | Kind::Other) {
            return;
        }
        // `M` and `F` are a sex where all values are.
        let sex = |v: &String| "mfoxnu".contains(&v.to_lowercase());
        let initials = source.common_values.iter().all(sex);
        // What refers to a name has its values: `lakes.state_name` holds names of states.
        let referred = table.foreign_keys.iter().find(|k| k.columns == [at.column]);
        let referred = referred.map(|k| ColumnRef::new(k.target, k.target_columns[0]));
        for value in &source.common_values {
            self.add_value(at, value, initials);
            if let Some(name) = referred {
                self.add_value(name, value, initials);
            }
            for other in countries::other_names(&name, value) {
                self.put_value(other, at, value, 0.95);
            }
        }
    }

    fn put_value(&mut self, words: &str, column: ColumnRef, value: &str, score: f32) {
        let target = Target::Value(column, value.to_owned());
        let hits = self.values.entry(words.to_owned()).or_default();
        if !hits.iter().any(|h| h.target == target && h.score >= score) {
            hits.push(Hit { target, score });
        }
    }

    /// A table that several others refer to by the same name is also called so: `fines.member_id` and `loans.member_id`
    /// refer to the members, whatever their table is called.
    fn aliases(&mut self, catalog: &Catalog) {
        let mut called: Vec<(usize, Vec<String>, usize)> = Vec::new();
        for (from, table) in catalog.tables.iter().enumerate() {
            for key in table.foreign_keys.iter().filter(|k| k.target != from) {
                let [column] = key.columns.as_slice() else {
                    continue;
                };
                let mut words = written_out(&split(&table.columns[*column].name));
                if words.len() > 1 && words.pop().is_some_and(|w| w == "id") {
                    called.push((key.target, words, from));
                }
            }
        }
        for (target, words, from) in &called {
            let another =
                |(t, w, f): &(usize, Vec<String>, usize)| t == target && w == words && f != from;
            let known = self.names.get(&self.key(words));
            let taken = known
                .into_iter()
                .flatten()
                .any(|h| matches!(h.target, Target::Table(_)) && h.score > 0.8);
            if called.iter().any(another) && !taken {
                self.put(words, &Target::Table(*target), 0.86);
            }
        }
    }

    fn stem(&self, word: &str) -> String {
        let singular = crate::words::stem(word);
        self.stemmer.stem(&singular).into_owned()
    }

    fn key<S: AsRef<str>>(&self, words: &[S]) -> String {
        words.iter().map(|w| self.stem(w.as_ref())).collect()
    }

    fn put(&mut self, words: &[String], target: &Target, score: f32) {
        let key = self.key(words);
        if key.is_empty() {
            return;
        }
        // Views stand back where a table has the same claim to a word.
        let score = if self.is_of_view(target) {
            score - 0.2
        } else {
            score
        };
        let hits = self.names.entry(key).or_default();
        match hits.iter_mut().find(|h| h.target == *target) {
            Some(hit) => hit.score = hit.score.max(score),
            None => hits.push(Hit {
                target: target.clone(),
                score,
            }),
        }
    }

    /// A name counts whole, without the name of its table, with its abbreviations written out, and in part.
    fn add_name(&mut self, words: &[String], target: &Target, table: &[String]) {
        let mut forms = vec![(words.to_vec(), 1.0)];
        let long = written_out(words);
        if long != words {
            forms.push((long, 0.97));
        }
        for (form, score) in forms.clone() {
            if let Some(rest) = without_table(&form, table) {
                forms.push((rest, score - 0.04));
            }
        }
        if let (Target::Column(_), [rest @ .., last]) = (target, words)
            && rest
                .last()
                .is_some_and(|w| last == "name" && !holds(NAMES, w))
            && without_table(words, table).is_none()
        {
            // `city_name` is the city.
            forms.push((rest.to_vec(), 0.88));
        }
        if let (Target::Column(_), Some(rest)) = (target, figure_of(words)) {
            forms.push((rest, 0.88));
        }
        for (form, score) in &forms {
            self.put(form, target, *score);
            for (at, word) in form.iter().enumerate() {
                let stem = crate::words::stem(word);
                for other in synonyms(&stem) {
                    let mut changed = form.clone();
                    changed[at] = other.to_owned();
                    if !self.tables.contains(&self.key(&changed)) {
                        self.put(&changed, target, score - 0.15);
                    }
                }
            }
        }
        if matches!(target, Target::Table(_)) {
            if let Some(form) = stored(words) {
                self.put(&form, target, 0.9);
            }
        } else {
            for form in everyday(words) {
                self.put(&form, target, 0.86);
            }
        }
        let parts: Vec<(Vec<String>, f32)> = forms.iter().flat_map(|(f, s)| parts(f, *s)).collect();
        for (part, score) in parts {
            self.put(&part, target, score);
        }
    }

    fn add_value(&mut self, column: ColumnRef, value: &str, initials: bool) {
        let words: Vec<String> = tokenize(value).into_iter().map(|t| t.norm).collect();
        if words.is_empty() || words.len() > LONGEST || value.chars().all(|c| c.is_ascii_digit()) {
            return;
        }
        let exact = words.join(" ");
        let day = holds(
            "monday tuesday wednesday thursday friday saturday sunday",
            &exact,
        );
        if day {
            self.put_value(&format!("{exact}s"), column, value, 0.9);
        }
        for word in value_words(&exact) {
            if exact.len() > 1 || initials {
                self.put_value(word, column, value, 0.9);
            }
        }
        self.put_value(&exact, column, value, 0.96);
    }

    /// Whether something is a view or a part of one.
    pub fn is_of_view(&self, target: &Target) -> bool {
        let (Target::Column(ColumnRef { table, .. })
        | Target::Value(ColumnRef { table, .. }, _)
        | Target::Table(table)) = target;
        self.views.contains(table)
    }

    /// Whether a column of a table, not a view, holds numbers to calculate with.
    pub fn is_amount(&self, column: ColumnRef) -> bool {
        self.amounts.contains(&column)
    }

    /// Whether a word is the name of a column that is true or false.
    pub fn is_flag(&self, word: &str) -> bool {
        let hits = self.names.get(&self.key(&[word]));
        let flag = |h: &Hit| h.score >= 0.85 && h.column().is_some_and(|c| self.flags.contains(&c));
        hits.into_iter().flatten().any(flag)
    }

    /// Whether a unit may be that of a column, as far as the names tell: no column like that has another one of its kind.
    pub fn may_be_in(&self, word: &str, is: impl Fn(ColumnRef) -> bool) -> bool {
        let mut known = self.units.iter().filter(|(column, _)| is(*column));
        unit(word).is_some_and(|(kind, place)| known.all(|(_, (k, p))| *k != kind || *p == place))
    }

    /// Whether a column is a length of time.
    pub fn is_span(&self, column: ColumnRef) -> bool {
        self.spans.iter().any(|(c, _)| *c == column)
    }

    /// The lengths of time between the dates that these words say best.
    pub fn between(&self, from: &[Item], to: &[Item]) -> Vec<Hit> {
        let score = |(at, [start, end]): &(ColumnRef, [Vec<String>; 2])| {
            let [a, b] =
                [(from, start), (to, end)].map(|(i, name)| lengths::says(i, name, at.table));
            (*at, a * b)
        };
        let scored: Vec<(ColumnRef, f32)> = self.spans.iter().map(score).collect();
        let top = scored.iter().map(|s| s.1).fold(0.0, f32::max);
        let best = scored.into_iter().filter(|s| top > 0.0 && s.1 >= top);
        best.map(|(column, _)| Hit {
            target: Target::Column(column),
            score: 0.97,
        })
        .collect()
    }

    /// Whether a word of a name or value starts with these letters.
    pub fn has_part(&self, start: &str) -> bool {
        self.names.keys().any(|k| k.contains(start))
            || self.values.keys().any(|k| k.contains(start))
    }

    /// The meanings of the tokens taken together. They are asked for often, and worked out once.
    pub fn hits(&self, tokens: &[Token]) -> Vec<Hit> {
        let plain = |t: &Token| matches!(t.kind, TokenKind::Word | TokenKind::Number);
        let words: Vec<&str> = tokens.iter().map(|t| t.norm.as_str()).collect();
        let phrase = (words.join("\0"), tokens.iter().all(plain));
        if let Some(hits) = self.known.borrow().get(&phrase) {
            return hits.clone();
        }
        let hits = self.meanings(&words, phrase.1);
        self.known.borrow_mut().insert(phrase, hits.clone());
        hits
    }

    /// The meanings of words; only plain ones are names.
    fn meanings(&self, words: &[&str], are_plain: bool) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        if are_plain {
            hits.extend(
                self.names
                    .get(&self.key(words))
                    .into_iter()
                    .flatten()
                    .cloned(),
            );
            // "high schooler" for `highschooler`: the stem of the whole differs from those of its parts.
            let whole = self
                .names
                .get(&self.stem(&words.concat()))
                .filter(|_| words.len() == 2);
            for hit in whole.into_iter().flatten() {
                if !hits.iter().any(|h| h.target == hit.target) {
                    hits.push(hit.clone());
                }
            }
        }
        let exact: Vec<String> = tokenize(&words.join(" "))
            .into_iter()
            .map(|t| t.norm)
            .collect();
        hits.extend(
            self.values
                .get(&exact.join(" "))
                .into_iter()
                .flatten()
                .cloned(),
        );
        // "cards" are rows of `customers_cards` as much as their `card_number`.
        for at in 0..hits.len() {
            let (target, score) = (hits[at].target.clone(), hits[at].score);
            let Target::Column(key) = target else {
                continue;
            };
            if score < 0.95 && self.keys.contains(&key) {
                let rows = hits
                    .iter_mut()
                    .find(|h| h.target == Target::Table(key.table));
                rows.into_iter().for_each(|h| h.score = h.score.max(score));
            }
        }
        // "orders" are rows, though `ordered_at` has the same stem, and so are "visits" beside `visit_date`.
        let verb = words
            .last()
            .is_some_and(|word| word.ends_with("ed") || word.ends_with("en"));
        if !verb && hits.iter().any(|h| matches!(h.target, Target::Table(_))) {
            hits.retain(|h| !matches!(h.target, Target::Column(c) if h.score < 0.95 && self.dates.contains(&c)));
        }
        hits.retain(|h| h.score >= WEAKEST);
        hits
    }

    /// The longest phrase at `at` that means something, with the number of its tokens.
    pub fn longest(&self, tokens: &[Token], at: usize) -> Option<(usize, Vec<Hit>)> {
        let most = LONGEST.min(tokens.len() - at);
        if let Some(found) = self.turned(tokens, at) {
            return Some(found);
        }
        let weight = |n: usize, hits: &[Hit]| {
            let best = hits.iter().map(|h| h.score).fold(0.0, f32::max);
            best + 0.1 * (n as f32 - 1.0)
        };
        let all = (1..=most).map(|n| (n, self.hits(&tokens[at..at + n])));
        // The longest of equally good ones counts.
        all.filter(|(_, hits)| !hits.is_empty())
            .max_by(|(n, a), (m, b)| weight(*n, a).total_cmp(&weight(*m, b)))
    }

    /// "code of the city" is `city_code`, where no table is the city.
    fn turned(&self, tokens: &[Token], at: usize) -> Option<(usize, Vec<Hit>)> {
        let counts = matches!(tokens[at].norm.as_str(), "number" | "count");
        let of = tokens.get(at + 1).filter(|t| t.norm == "of" && !counts)?;
        let article = usize::from(tokens.get(at + 2).is_some_and(|t| t.norm == "the"));
        let owner = tokens.get(at + 2 + article).filter(|t| t.kind == of.kind)?;
        let whole = self.key(&[owner.norm.as_str(), tokens[at].norm.as_str()]);
        let alone = self.names.get(&self.key(&[owner.norm.as_str()]));
        if alone
            .into_iter()
            .flatten()
            .any(|h| matches!(h.target, Target::Table(_)) && h.score > 0.8)
        {
            return None;
        }
        let mut hits = self.names.get(&whole)?.clone();
        hits.retain(|h| h.score >= 0.95 && matches!(h.target, Target::Column(_)));
        (!hits.is_empty()).then_some((3 + article, hits))
    }
}
