//! Links the words of a question to tables, columns and values of the catalog.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::lexis;
use crate::catalog::{Catalog, ColumnRef, Kind};
use crate::words::{Token, TokenKind};

/// Tokens that one name covers at most.
const LONGEST: usize = 7;
/// Matches below this score are noise.
const WEAKEST: f32 = 0.45;

/// What a phrase may mean.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A table.
    Table(usize),
    /// A column.
    Column(ColumnRef),
    /// A value of a column, as stored.
    Value(ColumnRef, String),
}

/// A meaning with its score: 1 is the exact name.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The meaning.
    pub target: Target,
    /// From 0 to 1.
    pub score: f32,
}

/// All names of a catalog, by their stemmed letters.
pub struct Index {
    names: HashMap<String, Vec<Hit>>,
    values: HashMap<String, Vec<Hit>>,
    stemmer: Stemmer,
}

impl Index {
    /// Indexes the names and common values of a catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let mut index = Self {
            names: HashMap::new(),
            values: HashMap::new(),
            stemmer: Stemmer::create(Algorithm::English),
        };
        for (at, table) in catalog.tables.iter().enumerate() {
            let words = split(&table.name);
            index.add_name(&words, &Target::Table(at), &[]);
            let names = |key: &usize| {
                let words = split(&table.columns[*key].name);
                words.iter().any(|w| w == "name" || w == "title")
            };
            if let Some(key) = table
                .primary_key
                .first()
                .filter(|k| table.primary_key.len() == 1 && !names(k))
            {
                // Whatever it is called, the key of a table is its id.
                let target = Target::Column(ColumnRef {
                    table: at,
                    column: *key,
                });
                index.put(&["id".to_owned()], &target, 0.9);
                let long: Vec<String> = words.iter().cloned().chain(["id".to_owned()]).collect();
                index.put(&long, &target, 0.92);
            }
            for (column, source) in table.columns.iter().enumerate() {
                let target = ColumnRef { table: at, column };
                index.add_name(&split(&source.name), &Target::Column(target), &words);
                if matches!(source.kind, Kind::Text | Kind::Other) {
                    for value in &source.common_values {
                        index.add_value(target, value);
                    }
                }
            }
        }
        index
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
        if let (Target::Column(_), Some(rest)) = (target, figure_of(words)) {
            forms.push((rest, 0.88));
        }
        for (form, score) in &forms {
            self.put(form, target, *score);
            for (at, word) in form.iter().enumerate() {
                for other in lexis::synonym(&crate::words::stem(word)).unwrap_or_default() {
                    let mut changed = form.clone();
                    changed.splice(at..=at, other.split(' ').map(str::to_owned));
                    self.put(&changed, target, score - 0.15);
                }
            }
        }
        let parts: Vec<(Vec<String>, f32)> = forms.iter().flat_map(|(f, s)| parts(f, *s)).collect();
        for (part, score) in parts {
            self.put(&part, target, score);
        }
    }

    fn add_value(&mut self, column: ColumnRef, value: &str) {
        let words: Vec<String> = crate::words::tokenize(value)
            .into_iter()
            .map(|t| t.norm)
            .collect();
        if words.is_empty() || words.len() > LONGEST || value.chars().all(|c| c.is_ascii_digit()) {
            return;
        }
        let hit = |score| Hit {
            target: Target::Value(column, value.to_owned()),
            score,
        };
        let stemmed = self.key(&words);
        let exact = words.join(" ");
        for word in gender_words(&exact) {
            self.values
                .entry((*word).to_owned())
                .or_default()
                .push(hit(0.9));
        }
        self.values.entry(exact).or_default().push(hit(0.96));
        self.values
            .entry(format!("~{stemmed}"))
            .or_default()
            .push(hit(0.85));
    }

    /// The meanings of the tokens taken together.
    pub fn hits(&self, tokens: &[Token]) -> Vec<Hit> {
        let plain = |t: &Token| matches!(t.kind, TokenKind::Word | TokenKind::Number);
        let mut hits: Vec<Hit> = Vec::new();
        if tokens.iter().all(plain) {
            let words: Vec<&str> = tokens.iter().map(|t| t.norm.as_str()).collect();
            hits.extend(
                self.names
                    .get(&self.key(&words))
                    .into_iter()
                    .flatten()
                    .cloned(),
            );
            // "high schooler" for `highschooler`: the stem of the whole differs from those of its parts.
            let whole = self.names.get(&self.stem(&words.concat()));
            for hit in whole.into_iter().flatten().filter(|_| words.len() == 2) {
                if !hits.iter().any(|h| h.target == hit.target) {
                    hits.push(hit.clone());
                }
            }
        }
        let joined = tokens
            .iter()
            .map(|t| t.norm.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let quoted = crate::words::tokenize(&joined);
        let exact = quoted
            .iter()
            .map(|t| t.norm.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        hits.extend(self.values.get(&exact).into_iter().flatten().cloned());
        let words: Vec<&str> = quoted.iter().map(|t| t.norm.as_str()).collect();
        let stemmed = format!("~{}", self.key(&words));
        for hit in self.values.get(&stemmed).into_iter().flatten() {
            if !hits.iter().any(|h| h.target == hit.target) {
                hits.push(hit.clone());
            }
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
        let all = (1..=most).rev().filter_map(|n| {
            let hits = self.hits(&tokens[at..at + n]);
            (!hits.is_empty()).then_some((n, hits))
        });
        // The longest of equally good ones comes first.
        let mut best: Option<(usize, Vec<Hit>)> = None;
        for (n, hits) in all {
            if best
                .as_ref()
                .is_none_or(|(m, b)| weight(n, &hits) > weight(*m, b))
            {
                best = Some((n, hits));
            }
        }
        best
    }

    /// "code of the city" is `city_code`, where no table is the city.
    fn turned(&self, tokens: &[Token], at: usize) -> Option<(usize, Vec<Hit>)> {
        let of = tokens.get(at + 1).filter(|t| t.norm == "of")?;
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

/// "female" for a value `F`, which only a column on sex or gender holds in this way.
fn gender_words(value: &str) -> &'static [&'static str] {
    match value {
        "f" | "female" => &["female", "females", "women", "woman"],
        "m" | "male" => &["male", "males", "men", "man"],
        _ => &[],
    }
}

/// Whether `number of songs` in a name holds a figure, as `num_songs` and `song_count` do.
fn figure_of(words: &[String]) -> Option<Vec<String>> {
    let n = words.len();
    let number = |w: &String| matches!(w.as_str(), "number" | "num" | "no" | "total" | "count");
    match words {
        [first, of, rest @ ..] if number(first) && of == "of" && !rest.is_empty() => {
            Some(rest.to_vec())
        }
        [first, rest @ ..] if number(first) && !rest.is_empty() => Some(rest.to_vec()),
        [rest @ .., last] if last == "count" && n > 1 => Some(rest.to_vec()),
        _ => None,
    }
}

/// The words of an identifier in lower case.
pub fn split(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (i, c) in chars.iter().enumerate() {
        let previous = i.checked_sub(1).map_or(' ', |p| chars[p]);
        let next = chars.get(i + 1).copied().unwrap_or(' ');
        let camel = c.is_uppercase()
            && (previous.is_lowercase() || (previous.is_uppercase() && next.is_lowercase()));
        if (!c.is_alphanumeric() || camel) && words.last().is_some_and(|w| !w.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

fn written_out(words: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for word in words {
        match lexis::long_form(word) {
            Some(long) => out.extend(long.iter().map(|w| (*w).to_owned())),
            None => match word.strip_suffix("id").filter(|w| w.len() > 2) {
                Some(base) => out.extend([base.to_owned(), "id".to_owned()]),
                None => out.push(word.clone()),
            },
        }
    }
    out
}

/// `singer_name` in the table `singer` is also its `name`.
fn without_table(words: &[String], table: &[String]) -> Option<Vec<String>> {
    let head = table.last()?;
    let same = |a: &str, b: &str| crate::words::stem(a) == crate::words::stem(b);
    let whole = words.len() > table.len() && table.iter().zip(words).all(|(a, b)| same(a, b));
    if whole {
        return Some(words[table.len()..].to_vec());
    }
    (words.len() > 1 && (same(&words[0], head) || same(&words[0], &table[0])))
        .then(|| words[1..].to_vec())
}

/// Parts of a name that people use for it: its end, its start before a unit, its ends without the middle.
fn parts(words: &[String], score: f32) -> Vec<(Vec<String>, f32)> {
    const LINKS: &[&str] = &["in", "of", "per", "by", "for", "to", "at", "from"];
    let n = words.len();
    let mut out = Vec::new();
    if n < 2 {
        return out;
    }
    if let Some(link) = words
        .iter()
        .position(|w| LINKS.contains(&w.as_str()))
        .filter(|p| *p > 0)
    {
        out.push((words[..link].to_vec(), score - 0.12));
        let bare: Vec<String> = words
            .iter()
            .filter(|w| !LINKS.contains(&w.as_str()))
            .cloned()
            .collect();
        let turned: Vec<String> = words[link + 1..]
            .iter()
            .chain(&words[..link])
            .cloned()
            .collect();
        out.push((bare, score - 0.1));
        out.push((turned, score - 0.1));
    }
    let turned: Vec<String> = words[1..].iter().chain(&words[..1]).cloned().collect();
    out.push((turned, score - 0.2));
    let last = words[n - 1].as_str();
    const LOOSE: &[&str] = &[
        "code",
        "type",
        "number",
        "date",
        "details",
        "description",
        "text",
        "yn",
        "value",
        "year",
    ];
    if LOOSE.contains(&last) {
        out.push((words[..n - 1].to_vec(), score - 0.15));
    }
    if matches!(
        words[0].as_str(),
        "ref" | "reference" | "tbl" | "dim" | "fact" | "all"
    ) {
        out.push((words[1..].to_vec(), score - 0.1));
    }
    for from in 1..n {
        out.push((words[from..].to_vec(), score - 0.25 - 0.05 * (from as f32)));
    }
    if n > 2 {
        out.push((vec![words[0].clone(), words[n - 1].clone()], score - 0.45));
        out.push((words[..n - 1].to_vec(), score - 0.3));
    }
    if !LOOSE.contains(&words[0].as_str()) {
        out.push((words[..1].to_vec(), score - 0.42));
    }
    out.retain(|(w, _)| {
        !(w.len() == 1 && matches!(w[0].as_str(), "of" | "in" | "id" | "name" | "number") && n > 3)
    });
    out
}
