//! Measures on a set of questions in the format of Spider how often the packed context has all tables and columns that
//! the gold SQL reads: `just bench-retrieval FOLDER [--misses] [--budget TOKENS] [--texts]`.
//!
//! The folder has `tables.json`, at least one of `dev.json` and `train_spider.json`, and perhaps `values.json`: common
//! values as `{database: {table: {column: [value, …]}}}`. Names of tables and columns are the original ones; the
//! readable names that Spider adds by hand are not used.
//!
//! With vectors of a model, `{text: [number, …]}` in `vectors.json`, it also measures tables in their order by meaning.
//! `--texts` prints the texts that need a vector, a JSON string a line, and measures nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot run has nothing else to say"
)]

mod gold;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use gold::Gold;
use mindhost_retrieval::{
    Column, ForeignKey, Index, Knowledge, PackedCatalog, Table, WeightedText, nearest, tokens,
};
use serde_json::Value;

/// What `answering.catalog_tokens` is by default.
const BUDGET: usize = 8_000;
/// Tables of the large catalog.
const MANY: usize = 10_000;

struct Options {
    folder: PathBuf,
    budget: usize,
    misses: bool,
    texts: bool,
}

/// Texts with their vectors.
type Vectors = BTreeMap<String, Vec<f32>>;

fn main() {
    if cfg!(debug_assertions) {
        eprintln!("a debug build: times are not those of a server");
    }
    let options = options();
    let databases = databases(&options.folder);
    let merged: Vec<Table> = databases.values().flatten().cloned().collect();
    if options.texts {
        return print_texts(&Index::new(merged, &Knowledge::default()), &options);
    }
    println!(
        "{} databases, {} tables, budget {} tokens",
        databases.len(),
        merged.len(),
        options.budget
    );
    let began = Instant::now();
    let index = Index::new(merged.clone(), &Knowledge::default());
    println!("index of all tables built in {:.1?}", began.elapsed());
    let vectors = vectors(&options.folder);
    for (name, questions) in question_sets(&options.folder) {
        single(name, &questions, &databases, &options);
        together(name, &questions, &databases, &index, None, &options);
        if let Some(vectors) = &vectors {
            together(
                name,
                &questions,
                &databases,
                &index,
                Some(vectors),
                &options,
            );
        }
    }
    large(&merged, &options);
}

fn question_sets(folder: &Path) -> Vec<(&'static str, Vec<Value>)> {
    ["dev.json", "train_spider.json"]
        .into_iter()
        .filter_map(|name| Some((name, fs::read_to_string(folder.join(name)).ok()?)))
        .map(|(name, text)| {
            (
                name,
                serde_json::from_str(&text).expect("a list of questions"),
            )
        })
        .collect()
}

fn vectors(folder: &Path) -> Option<Vectors> {
    let text = fs::read_to_string(folder.join("vectors.json")).ok()?;
    Some(serde_json::from_str(&text).expect("an object of texts with their vectors"))
}

/// What a host would send to an embedding model.
fn print_texts(index: &Index, options: &Options) {
    let tables = (0..index.tables().len()).map(|table| index.embedded_text(table));
    let sets = question_sets(&options.folder);
    let questions = sets.iter().flat_map(|(_, questions)| questions);
    let questions = questions.map(|question| question["question"].as_str().unwrap().to_owned());
    for text in tables.chain(questions).collect::<BTreeSet<String>>() {
        println!("{}", Value::String(text));
    }
}

fn options() -> Options {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        folder: PathBuf::new(),
        budget: BUDGET,
        misses: false,
        texts: false,
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--misses" => options.misses = true,
            "--texts" => options.texts = true,
            "--budget" => {
                options.budget = arguments
                    .next()
                    .and_then(|text| text.parse().ok())
                    .expect("a number")
            }
            folder => options.folder = folder.into(),
        }
    }
    assert!(
        options.folder.join("tables.json").exists(),
        "give a folder with tables.json and dev.json"
    );
    options
}

/// Each database as an index of its own, as most Minds are.
fn single(
    set: &str,
    questions: &[Value],
    databases: &BTreeMap<String, Vec<Table>>,
    options: &Options,
) {
    let indexes: BTreeMap<&str, Index> = databases
        .iter()
        .map(|(name, tables)| {
            (
                name.as_str(),
                Index::new(tables.clone(), &Knowledge::default()),
            )
        })
        .collect();
    let mut report = Report::new(format!("{set}, each database alone"));
    for question in questions {
        let database = question["db_id"].as_str().expect("a database");
        report.ask(
            question,
            &[],
            &indexes[database],
            &databases[database],
            options,
        );
    }
    report.print();
}

/// All databases in one catalog, each a schema; with vectors also by meaning.
fn together(
    set: &str,
    questions: &[Value],
    databases: &BTreeMap<String, Vec<Table>>,
    index: &Index,
    vectors: Option<&Vectors>,
    options: &Options,
) {
    let how = vectors.map_or("", |_| ", by meaning too");
    let mut report = Report::new(format!("{set}, all databases in one catalog{how}"));
    let vector = |vectors: &Vectors, text: &str| -> Vec<f32> {
        let vector = vectors.get(text).cloned();
        vector.expect("a vector of each text that --texts prints")
    };
    let tables: Option<Vec<Vec<f32>>> = vectors.map(|vectors| {
        let tables = 0..index.tables().len();
        tables
            .map(|table| vector(vectors, &index.embedded_text(table)))
            .collect()
    });
    for question in questions {
        let database = question["db_id"].as_str().expect("a database");
        let nearest = match vectors.zip(tables.as_ref()) {
            Some((vectors, tables)) => nearest(
                &vector(vectors, question["question"].as_str().unwrap()),
                tables,
            ),
            None => Vec::new(),
        };
        report.ask(question, &nearest, index, &databases[database], options);
    }
    report.print();
}

/// The catalog again and again, until it has many tables.
fn large(merged: &[Table], options: &Options) {
    let copies = (0..).flat_map(|copy| {
        merged.iter().map(move |table| Table {
            datasource: format!("copy_{copy}"),
            ..table.clone()
        })
    });
    let tables: Vec<Table> = copies.take(MANY).collect();
    let began = Instant::now();
    let index = Index::new(tables, &Knowledge::default());
    println!("index of {MANY} tables built in {:.1?}", began.elapsed());
    let mut times = Vec::new();
    for question in [
        "How many singers are from each country?",
        "Which airlines fly from Boston to New York, and what is the average price of a ticket?",
        "List the names of students who are enrolled in more than two courses of the computer science department",
        "qqq",
    ] {
        for _ in 0..25 {
            let began = work();
            let packed = index.pack(
                &[WeightedText {
                    text: question,
                    weight: 1.0,
                }],
                options.budget,
            );
            times.push(work() - began);
            assert!(packed.tokens <= options.budget);
        }
    }
    times.sort();
    println!(
        "prompt of {MANY} tables, on a processor: median {:.1?}, slowest {:.1?}",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

struct Report {
    name: String,
    asked: usize,
    skipped: usize,
    tables: usize,
    all: usize,
    /// By the clock.
    times: Vec<Duration>,
    /// On a processor; on a busy machine less than by the clock.
    work: Vec<Duration>,
    packed_tables: usize,
    most_tokens: usize,
}

impl Report {
    fn new(name: String) -> Self {
        Self {
            name,
            asked: 0,
            skipped: 0,
            tables: 0,
            all: 0,
            times: Vec::new(),
            work: Vec::new(),
            packed_tables: 0,
            most_tokens: 0,
        }
    }

    fn ask(
        &mut self,
        question: &Value,
        nearest: &[u32],
        index: &Index,
        database: &[Table],
        options: &Options,
    ) {
        let (text, sql) = (
            question["question"].as_str().unwrap(),
            question["query"].as_str().unwrap(),
        );
        let Some(gold) = gold::read(sql, database) else {
            self.skipped += 1;
            return;
        };
        let (began, work) = (Instant::now(), work());
        let packed = index.pack_with(
            &[WeightedText { text, weight: 1.0 }],
            nearest,
            options.budget,
        );
        self.times.push(began.elapsed());
        self.work.push(self::work() - work);
        assert_eq!(tokens(&packed.text), packed.tokens);
        assert!(packed.tokens <= options.budget, "over the budget");
        self.asked += 1;
        self.packed_tables += packed.tables.len();
        self.most_tokens = self.most_tokens.max(packed.tokens);
        let missing = missing(&gold, &packed, index);
        let no_table = missing.iter().any(|name| !name.contains('('));
        self.tables += usize::from(!no_table);
        self.all += usize::from(missing.is_empty());
        if options.misses && !missing.is_empty() {
            println!(
                "MISS {}: {text} | {sql} | {}",
                question["db_id"],
                missing.join(", ")
            );
        }
    }

    fn print(&mut self) {
        self.times.sort();
        self.work.sort();
        let share = |part: usize| 100.0 * part as f64 / self.asked as f64;
        let at =
            |times: &[Duration], share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "{}: {} questions ({} skipped), all tables {:.2} %, all tables and columns {:.2} %; \
             {:.1} tables a prompt, at most {} tokens; by the clock p50 {:.2?}, p99 {:.2?}; \
             on a processor p50 {:.2?}, p99 {:.2?}, max {:.2?}",
            self.name,
            self.asked,
            self.skipped,
            share(self.tables),
            share(self.all),
            self.packed_tables as f64 / self.asked as f64,
            self.most_tokens,
            at(&self.times, 0.5),
            at(&self.times, 0.99),
            at(&self.work, 0.5),
            at(&self.work, 0.99),
            at(&self.work, 1.0),
        );
    }
}

/// The time that this thread has had a processor, by Linux.
fn work() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The tables, as `name`, and columns, as `table(column)`, that the gold reads and the context lacks.
fn missing(gold: &Gold, packed: &PackedCatalog, index: &Index) -> Vec<String> {
    let mut shown: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for one in &packed.tables {
        let table = &index.tables()[one.table];
        let columns = one
            .columns
            .iter()
            .map(|column| table.columns[*column].name.as_str());
        shown.insert((&table.schema, &table.name), columns.collect());
    }
    let schema = gold.schema.as_str();
    let mut missing: Vec<String> = gold
        .tables
        .iter()
        .filter(|name| !shown.contains_key(&(schema, name.as_str())))
        .cloned()
        .collect();
    for choices in &gold.columns {
        let has = |(table, column): &(String, String)| {
            shown
                .get(&(schema, table.as_str()))
                .is_some_and(|columns| columns.contains(column.as_str()))
        };
        if !choices.iter().any(has) {
            missing.push(format!("{}({})", choices[0].0, choices[0].1));
        }
    }
    missing
}

fn databases(folder: &Path) -> BTreeMap<String, Vec<Table>> {
    let text = fs::read_to_string(folder.join("tables.json")).expect("tables.json");
    let described: Vec<Value> = serde_json::from_str(&text).expect("a list of databases");
    let values = fs::read_to_string(folder.join("values.json")).unwrap_or_else(|_| "{}".to_owned());
    let values: Value = serde_json::from_str(&values).expect("values.json");
    let named = |one: &Value| one["db_id"].as_str().unwrap().to_owned();
    described
        .iter()
        .map(|one| (named(one), tables(one, &values[named(one)])))
        .collect()
}

fn tables(described: &Value, values: &Value) -> Vec<Table> {
    let schema = described["db_id"].as_str().unwrap();
    let texts = |name: &str| -> Vec<String> {
        let list = described[name].as_array().unwrap().iter();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let (names, types) = (texts("table_names_original"), texts("column_types"));
    let columns: Vec<(i64, String)> = described["column_names_original"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            (
                pair[0].as_i64().unwrap(),
                pair[1].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let keys: Vec<usize> = described["primary_keys"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|key| {
            key.as_array().map_or_else(
                || vec![number(key)],
                |keys| keys.iter().map(number).collect(),
            )
        })
        .collect();
    let references: Vec<(usize, usize)> = described["foreign_keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (number(&pair[0]), number(&pair[1])))
        .collect();
    let columns = &columns;
    let of = |table: usize| {
        let all = 0..columns.len();
        all.filter(|column| columns[*column].0 == table as i64)
            .collect::<Vec<_>>()
    };
    let table = |(at, name): (usize, &String)| Table {
        datasource: "spider".to_owned(),
        schema: schema.to_owned(),
        name: name.clone(),
        kind: "TABLE".to_owned(),
        columns: of(at)
            .into_iter()
            .map(|column| Column {
                name: columns[column].1.clone(),
                data_type: types[column].clone(),
                description: None,
                values: values[name][&columns[column].1]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|value| value.as_str().map(str::to_owned))
                    .collect(),
            })
            .collect(),
        primary_key: of(at)
            .into_iter()
            .filter(|column| keys.contains(column))
            .map(|column| columns[column].1.clone())
            .collect(),
        foreign_keys: references
            .iter()
            .filter(|(from, _)| columns[*from].0 == at as i64)
            .map(|(from, to)| ForeignKey {
                columns: vec![columns[*from].1.clone()],
                schema: schema.to_owned(),
                table: names[usize::try_from(columns[*to].0).unwrap()].clone(),
                referenced: vec![columns[*to].1.clone()],
            })
            .collect(),
        ..Table::default()
    };
    names.iter().enumerate().map(table).collect()
}
