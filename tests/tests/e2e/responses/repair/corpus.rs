//! Right statements over one schema, and ways to break each of them.

use super::Engine::{Mariadb, Postgresql, Sqlite};

/// What is wrong with a broken statement.
pub const KINDS: [&str; 8] = [
    "column", "table", "syntax", "dialect", "quotes", "type", "join", "alias",
];

/// The engines of the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgresql,
    Mariadb,
}

/// A right statement and a broken variant of it.
#[derive(Debug)]
pub struct Broken {
    pub kind: &'static str,
    pub gold: String,
    pub broken: String,
}

/// Six tables of a shop.
pub fn schema(engine: Engine) -> String {
    let time = match engine {
        Sqlite => "TEXT",
        Postgresql => "timestamp",
        Mariadb => "datetime",
    };
    format!(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, zip TEXT);
         CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT NOT NULL, category TEXT, unit_price DECIMAL(10,2));
         CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), status TEXT,
            total DECIMAL(10,2), placed_at {time});
         CREATE TABLE order_items (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id),
            product_id INTEGER REFERENCES products (id), quantity INTEGER);
         CREATE TABLE tickets (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), subject TEXT,
            priority TEXT, opened_at {time});
         CREATE TABLE payments (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id), method TEXT,
            amount DECIMAL(10,2));
         INSERT INTO customers VALUES (1, 'Ann', 'DE', '10115'), (2, 'Bob', 'FR', '75001'), (3, 'Zoe', 'DE', '20095'),
            (4, 'Max', 'US', '10115');
         INSERT INTO products VALUES (1, 'Pen', 'office', 1.5), (2, 'Desk', 'furniture', 250), (3, 'Lamp', 'furniture', 40);
         INSERT INTO orders VALUES (1, 1, 'shipped', 12.5, '2024-01-05 10:00:00'), (2, 1, 'open', 7.25, '2024-02-07 11:00:00'),
            (3, 2, 'shipped', 100, '2024-02-09 12:00:00'), (4, 3, 'cancelled', 40, '2023-12-24 18:00:00');
         INSERT INTO order_items VALUES (1, 1, 1, 5), (2, 1, 3, 1), (3, 2, 1, 2), (4, 3, 2, 1), (5, 4, 3, 1);
         INSERT INTO tickets VALUES (1, 1, 'Late', 'high', '2024-02-01 09:00:00'), (2, 1, 'Broken', 'low', '2024-03-01 09:00:00'),
            (3, 2, 'Wrong', 'high', '2024-03-02 09:00:00');
         INSERT INTO payments VALUES (1, 1, 'card', 12.5), (2, 3, 'transfer', 100), (3, 2, 'card', 7.25);"
    )
}

/// Statements that all engines read alike, each a line.
const PLAIN: &str = include_str!("plain.sql");

/// Statements that each engine writes in its own way: for SQLite, for PostgreSQL, and as other dialects have them.
const DIALECTS: &str = include_str!("dialects.sql");

/// Statements as MariaDB writes them, each with the ways in which other dialects do.
const DIALECTS_MARIADB: &str = include_str!("dialects_mariadb.sql");

/// Statements, each with one whose constant does not fit its column, on PostgreSQL. The others compare anything.
const TYPES: &str = include_str!("types.sql");

/// Statements, each with one that uses a name of its SELECT where some engines do not know it.
const ALIASES: &str = include_str!("aliases.sql");

/// Every statement in each of the ways that break it.
pub fn broken(engine: Engine) -> Vec<Broken> {
    let mut all = Vec::new();
    let mut add = |kind, gold: &str, broken: Option<String>| {
        if let Some(broken) = broken.filter(|broken| broken != gold) {
            all.push(Broken {
                kind,
                gold: gold.to_owned(),
                broken,
            });
        }
    };
    for (index, gold) in PLAIN.lines().enumerate() {
        add("column", gold, wrong_column(gold, index));
        add("table", gold, wrong_table(gold, index));
        add("syntax", gold, wrong_syntax(gold, index));
        add("quotes", gold, wrong_quotes(gold, engine, index));
        add("join", gold, without_join(gold));
        add("group", gold, without_group_by(gold, engine));
    }
    for group in DIALECTS_MARIADB.split("\n\n").filter(|_| engine == Mariadb) {
        let mut lines = group.lines();
        let gold = lines.next().unwrap_or_default();
        lines.for_each(|other| add("dialect", gold, Some(other.to_owned())));
    }
    for group in DIALECTS.split("\n\n").filter(|_| engine != Mariadb) {
        let lines: Vec<&str> = group.lines().collect();
        let gold = lines[usize::from(engine == Postgresql)];
        for other in &lines[2..] {
            // SQLite knows IF and IIF.
            let is_known = engine == Sqlite && other.starts_with("SELECT I");
            add("dialect", gold, (!is_known).then(|| (*other).to_owned()));
        }
    }
    for group in ALIASES.split("\n\n") {
        let lines: Vec<&str> = group.lines().collect();
        add("alias", lines[0], Some(lines[1].to_owned()));
    }
    for group in TYPES.split("\n\n").filter(|_| engine == Postgresql) {
        let lines: Vec<&str> = group.lines().collect();
        add("type", lines[0], Some(lines[1].to_owned()));
    }
    all
}

/// One column, misspelt or with the name of its table in front.
fn wrong_column(gold: &str, index: usize) -> Option<String> {
    const WRONG: [(&str, [&str; 3]); 10] = [
        ("unit_price", ["unit_prices", "unitPrice", "unit_pirce"]),
        ("customer_id", ["customerid", "cust_id", "custmer_id"]),
        ("quantity", ["quantiy", "quantities", "qantity"]),
        ("country", ["contry", "countries", "coutnry"]),
        ("category", ["categroy", "categories", "product_category"]),
        ("priority", ["prioirty", "priorty", "ticket_priority"]),
        ("status", ["statsu", "staus", "order_status"]),
        ("amount", ["amuont", "amounts", "payment_amount"]),
        ("total", ["totl", "order_total", "totals"]),
        ("name", ["nmae", "names", "customer_name"]),
    ];
    let (right, wrong) = WRONG.iter().find(|(right, _)| gold.contains(right))?;
    Some(gold.replace(right, wrong[index % 3]))
}

/// One table, misspelt or in other words.
fn wrong_table(gold: &str, index: usize) -> Option<String> {
    const WRONG: [(&str, [&str; 3]); 6] = [
        (
            "order_items",
            ["orderitems", "order_item", "items_of_order"],
        ),
        ("customers", ["customer", "custmers", "Customers2"]),
        ("products", ["product", "prodcts", "shop_products"]),
        ("tickets", ["ticket", "tikets", "support_tickets"]),
        ("payments", ["payment", "paymnets", "all_payments"]),
        ("orders", ["order_", "oders", "all_orders"]),
    ];
    let from = format!("{gold} ");
    let named = |(right, _): &&(&str, [&str; 3])| from.contains(&format!("FROM {right} "));
    let (right, wrong) = WRONG.iter().find(named)?;
    let wrong = wrong[index % 3];
    Some(gold.replace(
        &format!("FROM {right}"),
        &format!("FROM {wrong} AS {right}"),
    ))
}

/// One keyword, comma or bracket.
fn wrong_syntax(gold: &str, index: usize) -> Option<String> {
    let swap = |from: &str, to: &str| gold.contains(from).then(|| gold.replacen(from, to, 1));
    match index % 9 {
        0 => swap("SELECT", "SELCT"),
        1 => swap(" FROM ", " FORM "),
        2 => swap(" WHERE ", " WEHRE ").or_else(|| swap(" FROM ", " FRMO ")),
        3 => swap("GROUP BY", "GROPU BY").or_else(|| swap("ORDER BY", "ODRER BY")),
        4 => swap("ORDER BY", "ORDER").or_else(|| swap(" FROM ", " FROM FROM ")),
        5 => swap(" FROM ", ", FROM "),
        6 => swap(") FROM", " FROM").or_else(|| swap(" FROM ", ") FROM ")),
        7 => swap(" LIMIT ", " LIMT ").or_else(|| swap(" FROM ", " FROOM ")),
        _ => swap(" JOIN ", " JION ")
            .or_else(|| swap(" = ", " == = ").and(None))
            .or_else(|| swap("SELECT", "SLECT")),
    }
}

/// Names in the quotes of another dialect, or texts in those of names.
fn wrong_quotes(gold: &str, engine: Engine, index: usize) -> Option<String> {
    if engine == Sqlite {
        // SQLite takes all quotes of names, but not an open text.
        let from = gold.find('\'')?;
        let end = from + 1 + gold[from + 1..].find('\'')?;
        let rest = &gold[end + 1..];
        return (!rest.contains('\'')).then(|| format!("{}{rest}", &gold[..end]));
    }
    if engine == Mariadb {
        // It takes texts in double quotes, and names in backquotes.
        return match index % 2 {
            0 => Some(quoted(gold, '"', '"')),
            _ => Some(quoted(gold, '[', ']')),
        };
    }
    match index % 3 {
        0 => gold.contains('\'').then(|| gold.replace('\'', "\"")),
        1 => gold.contains(" FROM ").then(|| quoted(gold, '`', '`')),
        _ => Some(quoted(gold, '[', ']')),
    }
}

fn quoted(gold: &str, open: char, close: char) -> String {
    let names = [
        "customers",
        "products",
        "tickets",
        "payments",
        "order_items",
        "orders",
    ];
    let Some(name) = names
        .iter()
        .find(|name| gold.contains(&format!("FROM {name}")))
    else {
        return gold.to_owned();
    };
    gold.replacen(
        &format!("FROM {name}"),
        &format!("FROM {open}{name}{close}"),
        1,
    )
}

/// The join is missing, its columns are there.
fn without_join(gold: &str) -> Option<String> {
    let from = gold.find(" JOIN ")?;
    let ends = [" WHERE ", " GROUP BY ", " ORDER BY "];
    let end = ends.iter().filter_map(|end| gold[from..].find(end)).min()?;
    Some(format!("{}{}", &gold[..from], &gold[from + end..]))
}

/// Columns beside an aggregate without their GROUP BY. SQLite and MariaDB take that.
fn without_group_by(gold: &str, engine: Engine) -> Option<String> {
    let from = gold
        .find(" GROUP BY ")
        .filter(|_| engine == Postgresql && !gold.contains(" HAVING "))?;
    let end = gold[from..]
        .find(" ORDER BY ")
        .map_or(gold.len(), |end| from + end);
    Some(format!("{}{}", &gold[..from], &gold[end..]))
}
