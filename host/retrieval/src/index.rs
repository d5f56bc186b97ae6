//! The index over the tables that one Mind sees.

use std::collections::HashMap;

use crate::{
    expand::{Term, Vocabulary},
    joins::Joins,
    render::{Detail, Renderer},
    schema::{Document, Knowledge, Numbers, Table, number, numbers},
    tokens::tokens,
    words::{self, Stems},
};

/// What a word is worth by where it stands, before it is weighed against how often others have it.
mod weight {
    pub const TABLE: f32 = 2.2;
    pub const SCHEMA: f32 = 0.6;
    pub const COLUMN: f32 = 1.0;
    pub const DESCRIPTION: f32 = 0.8;
    pub const COLUMN_DESCRIPTION: f32 = 0.5;
    pub const VALUE: f32 = 0.6;
    pub const DOCUMENT: f32 = 1.2;
    /// Of an abbreviation that was spelled out, and of two words of a name as one.
    pub const DERIVED: f32 = 0.8;
}
/// Columns of one table that count for a word. A table is not better because ten of its columns are called `date_…`.
const MOST_HITS: f32 = 2.0;
/// Words of one value that are indexed.
const VALUE_WORDS: usize = 6;

/// Tables ready to be searched. Immutable; made anew when the catalog changes.
#[derive(Debug)]
pub struct Index {
    /// As given.
    pub(crate) tables: Vec<Table>,
    pub(crate) vocabulary: Vocabulary,
    /// By term: tables and what the term is worth there.
    pub(crate) postings: Vec<Vec<(u32, f32)>>,
    /// By table and column: the terms that name the column or its values, sorted.
    pub(crate) column_terms: Vec<Vec<Box<[Term]>>>,
    /// By table: the terms of its name, sorted.
    pub(crate) name_terms: Vec<Box<[Term]>>,
    /// By table: the number of its schema.
    pub(crate) groups: Vec<u32>,
    pub(crate) group_count: usize,
    pub(crate) joins: Joins,
    /// By table: tokens at each detail.
    pub(crate) costs: Vec<[u32; 3]>,
    pub(crate) has_several_datasources: bool,
}

impl Index {
    /// Indexes tables. Keys that point to tables outside are ignored. Takes up to 0.2 ms a table: not for a thread
    /// that serves requests.
    pub fn new(tables: Vec<Table>, knowledge: &Knowledge) -> Self {
        let mut builder = Builder::default();
        for table in &tables {
            builder.table(table);
        }
        let numbers = numbers(&tables);
        for document in &knowledge.documents {
            builder.document(document, &numbers);
        }
        for term in std::mem::take(&mut builder.in_names) {
            builder.vocabulary.index_name(term);
        }
        let joins = Joins::new(&tables, &numbers, &knowledge.joins);
        let (groups, group_count) = groups(&tables);
        let several = tables
            .windows(2)
            .any(|two| two[0].datasource != two[1].datasource);
        let mut index = Self {
            postings: builder.postings,
            vocabulary: builder.vocabulary,
            column_terms: builder.column_terms,
            name_terms: builder.name_terms,
            groups,
            group_count,
            joins,
            costs: Vec::new(),
            has_several_datasources: several,
            tables,
        };
        index.costs = (0..index.tables.len())
            .map(|table| index.costs_of(table))
            .collect();
        index
    }

    /// The tables, as given.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    pub(crate) fn renderer(&self) -> Renderer<'_> {
        Renderer {
            tables: &self.tables,
            joins: &self.joins,
            has_several_datasources: self.has_several_datasources,
        }
    }

    fn costs_of(&self, table: usize) -> [u32; 3] {
        let all: Vec<usize> = (0..self.tables[table].columns.len()).collect();
        [Detail::All, Detail::NoValues, Detail::NoDescriptions].map(|detail| {
            let line = self.renderer().table(table, &all, detail);
            u32::try_from(tokens(&line)).unwrap_or(u32::MAX)
        })
    }
}

/// Numbers the schemas of the datasources.
fn groups(tables: &[Table]) -> (Vec<u32>, usize) {
    let mut numbers: HashMap<(&str, &str), u32> = HashMap::new();
    let groups = tables
        .iter()
        .map(|table| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers
                .entry((&table.datasource, &table.schema))
                .or_insert(next)
        })
        .collect();
    (groups, numbers.len())
}

#[derive(Default)]
struct Builder {
    vocabulary: Vocabulary,
    stems: Option<Stems>,
    postings: Vec<Vec<(u32, f32)>>,
    column_terms: Vec<Vec<Box<[Term]>>>,
    name_terms: Vec<Box<[Term]>>,
    in_names: std::collections::BTreeSet<Term>,
}

impl Builder {
    fn table(&mut self, table: &Table) {
        let number = u32::try_from(self.name_terms.len()).unwrap_or(u32::MAX);
        let mut worth: HashMap<Term, f32> = HashMap::new();
        let name = self.name(&table.name);
        for (term, part) in &name {
            add(&mut worth, *term, part * weight::TABLE, weight::TABLE);
        }
        self.name_terms.push(sorted(
            name.iter()
                .filter(|(_, part)| *part == 1.0)
                .map(|(term, _)| *term),
        ));
        for (term, part) in self.name(&table.schema) {
            add(&mut worth, term, part * weight::SCHEMA, weight::SCHEMA);
        }
        for term in self.text(table.description.as_deref(), usize::MAX) {
            add(&mut worth, term, weight::DESCRIPTION, weight::DESCRIPTION);
        }
        let mut of_columns: HashMap<Term, f32> = HashMap::new();
        let mut column_terms = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            let mut own = Vec::new();
            for (term, part) in self.name(&column.name) {
                add(&mut of_columns, term, part * weight::COLUMN, MOST_HITS);
                own.push(term);
            }
            for term in self.text(column.description.as_deref(), usize::MAX) {
                add(&mut of_columns, term, weight::COLUMN_DESCRIPTION, MOST_HITS);
                own.push(term);
            }
            for value in &column.values {
                for term in self.text(Some(value), VALUE_WORDS) {
                    add(&mut of_columns, term, weight::VALUE, MOST_HITS);
                    own.push(term);
                }
            }
            column_terms.push(sorted(own.into_iter()));
        }
        self.column_terms.push(column_terms);
        for (term, part) in of_columns {
            *worth.entry(term).or_default() += part;
        }
        self.post(number, worth);
    }

    fn document(&mut self, document: &Document, numbers: &Numbers<'_>) {
        let terms = self.text(Some(&document.text), usize::MAX);
        for number in document
            .tables
            .iter()
            .filter_map(|name| number(numbers, name))
        {
            let worth = terms.iter().map(|term| (*term, weight::DOCUMENT)).collect();
            self.post(u32::try_from(number).unwrap_or(u32::MAX), worth);
        }
    }

    fn post(&mut self, table: u32, worth: HashMap<Term, f32>) {
        self.postings.resize_with(self.vocabulary.len(), Vec::new);
        for (term, worth) in worth {
            let posting = &mut self.postings[term as usize];
            match posting.binary_search_by_key(&table, |(known, _)| *known) {
                Ok(at) => posting[at].1 += worth,
                Err(at) => posting.insert(at, (table, worth)),
            }
        }
    }

    /// The terms of a name with their share of its weight: its words, what they are short for, and pairs as one word.
    fn name(&mut self, name: &str) -> Vec<(Term, f32)> {
        let words = words::split(name);
        let mut terms = Vec::with_capacity(words.len() * 2);
        for (at, word) in words.iter().enumerate() {
            terms.push((self.term(word), 1.0));
            for long in words::spelled_out(word) {
                terms.push((self.term(long), weight::DERIVED));
            }
            if let Some(next) = words.get(at + 1) {
                terms.push((self.term(&format!("{word}{next}")), weight::DERIVED));
            }
        }
        self.in_names.extend(terms.iter().map(|(term, _)| *term));
        terms
    }

    /// The terms of the first words of a text, without stop words.
    fn text(&mut self, text: Option<&str>, most: usize) -> Vec<Term> {
        let words = words::split(text.unwrap_or_default());
        let words = words.iter().filter(|word| !words::is_stop_word(word));
        let mut terms: Vec<Term> = Vec::new();
        for word in words.take(most) {
            terms.push(self.term(word));
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    fn term(&mut self, word: &str) -> Term {
        let stem = self.stems.get_or_insert_with(Stems::new).of(word);
        self.vocabulary.add(&stem)
    }
}

fn add(worth: &mut HashMap<Term, f32>, term: Term, more: f32, most: f32) {
    let known = worth.entry(term).or_default();
    *known = (*known + more).min(most.max(*known));
}

fn sorted(terms: impl Iterator<Item = Term>) -> Box<[Term]> {
    let mut terms: Vec<Term> = terms.collect();
    terms.sort_unstable();
    terms.dedup();
    terms.into()
}
