//! Random policies and the statements of `tests/sql/legitimate`: through a Mind with policies, a statement gives what it
//! gives over views that apply the same policies by hand.

use mindhost_tests::{ClickHouse, Host, MariaDb, Mind, Postgres, Reply, Value, json};

/// Statements that are tried, each under this many random policies.
const ROUNDS: u64 = 3;

/// A column of the fixture that may be filtered, hidden or masked.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    /// Conditions, in SQL that all engines read alike.
    filters: &'static [&'static str],
    /// Columns of texts.
    texts: &'static [&'static str],
}

const TABLES: [Table; 4] = [
    Table {
        name: "customers",
        columns: &[
            "id", "name", "email", "city", "country", "joined", "vip", "tags", "profile",
        ],
        filters: &[
            "country = {{caller.country}}",
            "id IN ({{caller.ids}})",
            "city IS NOT NULL AND id < {{caller.most}}",
        ],
        texts: &["name", "email", "city"],
    },
    Table {
        name: "orders",
        columns: &["id", "customer_id", "placed_at", "status", "total", "note"],
        filters: &[
            "status IN ('paid', 'new')",
            "total > {{caller.most}}",
            "customer_id IN ({{caller.ids}})",
        ],
        texts: &["status", "note"],
    },
    Table {
        name: "order_items",
        columns: &[
            "order_id",
            "line_no",
            "product_id",
            "quantity",
            "unit_price",
        ],
        filters: &["quantity < {{caller.most}}", "line_no = 1"],
        texts: &[],
    },
    Table {
        name: "products",
        columns: &[
            "id",
            "sku",
            "name",
            "category_id",
            "price",
            "weight",
            "attributes",
            "image",
        ],
        filters: &[
            "price > 9.5",
            "NOT (id BETWEEN 2 AND {{caller.most}})",
            "name LIKE '%e%'",
        ],
        texts: &["sku", "name"],
    },
];

/// How an engine says what the views need.
struct Hand {
    /// A column as a text.
    text: fn(&str) -> String,
    /// The length of a text, in characters.
    length: &'static str,
    substr: &'static str,
    rename: fn(&str) -> String,
    /// Columns of the fixture that this engine has otherwise: a table, the name elsewhere, and the name here if there is
    /// such a column that may be NULL.
    other: &'static [(&'static str, &'static str, Option<&'static str>)],
    /// Columns at the end of a table that are never NULL, so no policy of these tests is about them.
    last: &'static [(&'static str, &'static str)],
    /// What ends a statement.
    end: &'static str,
    concat: fn(&str) -> String,
}

const STANDARD: Hand = Hand {
    text: |column| format!("CAST({column} AS TEXT)"),
    length: "length",
    substr: "substr",
    rename: |table| format!("ALTER TABLE {table} RENAME TO {table}_all"),
    other: &[],
    last: &[],
    end: ";\n",
    concat: |text| format!("'****' || {text}"),
};
const MARIADB: Hand = Hand {
    text: |column| format!("CAST({column} AS CHAR)"),
    length: "char_length",
    concat: |text| format!("concat('****', {text})"),
    ..STANDARD
};
const CLICKHOUSE: Hand = Hand {
    text: |column| format!("toString({column})"),
    length: "lengthUTF8",
    substr: "substringUTF8",
    rename: |table| format!("RENAME TABLE shop.{table} TO shop.{table}_all"),
    other: &[
        ("customers", "tags", Some("tier")),
        ("customers", "profile", None),
        ("products", "attributes", None),
        ("products", "image", None),
    ],
    last: &[("products", "tags"), ("products", "attributes")],
    end: "\n;;\n",
    ..STANDARD
};

impl Hand {
    fn last4(&self, column: &str) -> String {
        let (text, length) = ((self.text)(column), self.length);
        let end = format!("{}({text}, {length}({text}) - 3)", self.substr);
        format!(
            "CASE WHEN {length}({text}) >= 8 THEN {} WHEN {column} IS NOT NULL THEN '****' END AS {column}",
            (self.concat)(&end)
        )
    }

    /// The columns of a table in this engine.
    fn columns(&self, table: &Table) -> Vec<&'static str> {
        let name = |column: &&'static str| {
            let other = self
                .other
                .iter()
                .find(|(of, elsewhere, _)| *of == table.name && elsewhere == column);
            other.map_or(Some(*column), |(_, _, here)| *here)
        };
        table.columns.iter().filter_map(name).collect()
    }
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn attributes() -> Value {
    json!({"country": "GB", "ids": [1, 2, 4], "most": 4})
}

/// A filter with the attributes in place, as a hand writes it.
fn by_hand(filter: &str) -> String {
    filter
        .replace("{{caller.country}}", "'GB'")
        .replace("{{caller.ids}}", "1, 2, 4")
        .replace("{{caller.most}}", "4")
}

/// Random policies of tables without a schema, and the statements that make the same views.
fn policies(dice: &mut Dice, hand: &Hand) -> (Vec<Value>, String) {
    let (mut policies, mut views) = (Vec::new(), String::new());
    for table in &TABLES {
        let (mut hidden, mut masked, mut shown) = (Vec::new(), json!({}), Vec::new());
        for (index, column) in hand.columns(table).iter().enumerate() {
            match dice.below(8) {
                0 if index > 0 => hidden.push(*column),
                1 if table.texts.contains(column) => {
                    masked[*column] = json!("last4");
                    shown.push(hand.last4(column));
                }
                2 if table.texts.contains(column) => {
                    masked[*column] = json!({"text": "it's"});
                    shown.push(format!("'it''s' AS {column}"));
                }
                3 => {
                    masked[*column] = json!("null");
                    shown.push(format!("CASE WHEN 1 = 0 THEN {column} END AS {column}"));
                }
                _ => shown.push((*column).to_owned()),
            }
        }
        for (_, column) in hand.last.iter().filter(|(of, _)| *of == table.name) {
            shown.push((*column).to_owned());
        }
        let filter = match dice.below(4) {
            0 => None,
            _ => Some(table.filters[dice.below(table.filters.len() as u64) as usize]),
        };
        let name = table.name;
        let condition = filter.map(|filter| format!(" WHERE {}", by_hand(filter)));
        let end = hand.end;
        views.push_str(&format!(
            "{}{end}CREATE VIEW {name} AS SELECT {} FROM (SELECT * FROM {name}_all{}) AS kept{end}",
            (hand.rename)(name),
            shown.join(", "),
            condition.unwrap_or_default()
        ));
        if filter.is_some() || !hidden.is_empty() || masked != json!({}) {
            policies.push(
                json!({"datasource": "shop", "table": name, "filter": filter, "hidden": hidden, "masked": masked}),
            );
        }
    }
    (policies, views)
}

/// The statements of a list.
fn list(file: &str) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.starts_with("-- #"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let statements = text.split("\n;;\n").map(str::trim);
    statements
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The Mind `policed` over the fixture, and the Mind `views` over views on it.
struct Both {
    host: Host,
    key: String,
}

impl Both {
    async fn make(sources: &Sources, mut policies: Vec<Value>) -> Self {
        let Sources { host, schemas, .. } = sources;
        let tables = [
            "customers",
            "orders",
            "order_items",
            "products",
            "categories",
            "Order Notes",
        ];
        for (mind, datasource, schema) in [
            ("policed", "shop", &schemas[0]),
            ("views", "views", &schemas[1]),
        ] {
            let tables = tables.map(|table| format!("{schema}.{table}"));
            let tables = tables.each_ref().map(String::as_str);
            let mind = host.mind(mind).tables(datasource, &tables).direct_queries();
            let _mind: Mind = mind.create().await;
        }
        for policy in &mut policies {
            let table = policy["table"].as_str().unwrap();
            policy["table"] = json!(format!("{}.{table}", schemas[0]));
        }
        let body = json!({"policies": policies});
        host.put("/minds/policed/policies", body)
            .await
            .expect_status(200);
        let body = json!({"name": "clerk", "role": "user", "attributes": attributes()});
        let made = host.post("/keys", body).await.expect_status(201).json();
        Self {
            host: host.clone(),
            key: made["key"].as_str().unwrap().to_owned(),
        }
    }

    async fn ask(&self, mind: &str, sql: &str) -> Reply {
        let tool = json!({"type": "sql_query", "query": sql});
        let body = json!({"model": mind, "tools": [tool]});
        self.host.post("/responses", body).key(&self.key).await
    }

    /// Compares all statements; returns how many gave rows.
    async fn compare(&self, statements: &[String], policies: &str) -> usize {
        let mut with_rows = 0;
        for sql in statements {
            // Names of the datasource mean the other one there.
            if sql.replace('`', "").contains("shop.") || is_volatile(sql) {
                continue;
            }
            let (policed, views) = (self.ask("policed", sql).await, self.ask("views", sql).await);
            // What stands at the name of a table (FINAL, SAMPLE, ANY of ClickHouse) cannot stand at a policy.
            if policed.status == 400
                && policed
                    .text()
                    .contains("a table that has a policy is not supported")
            {
                continue;
            }
            assert_eq!(
                policed.status,
                views.status,
                "{sql}\n{policies}\n{}\n{}",
                policed.text(),
                views.text()
            );
            if policed.status != 200 {
                continue;
            }
            let (policed, views) = (policed.json(), views.json());
            let (policed, views) = (&policed["output"][0], &views["output"][0]);
            assert_eq!(
                policed["total"], views["total"],
                "{sql}\n{policies}\n{policed}\n{views}"
            );
            // A mask makes rows equal that a window ranks; which of them is first is up to the engine.
            if !sql.to_uppercase().contains(" OVER (") {
                assert_eq!(sorted(policed), sorted(views), "{sql}\n{policies}");
            }
            with_rows += usize::from(policed["total"] != 0);
        }
        with_rows
    }
}

fn is_volatile(sql: &str) -> bool {
    let sql = sql.to_lowercase();
    let words = [
        "random",
        "tablesample",
        "now()",
        "current_",
        "clock_timestamp",
        "localtime",
        "rowid",
    ];
    words.iter().any(|word| sql.contains(word))
}

/// Rows as texts, sorted: among rows that a mask makes equal, the order of the statement is up to the engine.
fn sorted(item: &Value) -> Vec<String> {
    let rows = item["data"].as_array().unwrap().iter();
    let mut rows: Vec<String> = rows.map(ToString::to_string).collect();
    rows.sort();
    rows
}

/// The host and the schemas of one round.
struct Sources {
    host: Host,
    /// Of the datasources `shop` and `views`.
    schemas: [String; 2],
    /// Servers that end with the round.
    _servers: Vec<ClickHouse>,
}

/// Compares the statements of a list under random policies. `make` is given the views as SQL, and makes the datasource
/// `shop` with the fixture and `views` with the fixture behind these views.
async fn gives_what_views_give(
    hand: &Hand,
    seed: u64,
    statements: &str,
    make: impl AsyncFn(String) -> Sources,
) {
    let statements = list(statements);
    for round in 0..ROUNDS {
        let (policies, views) = policies(&mut Dice(seed + round), hand);
        let told = format!("round {round}: {policies:?}");
        let sources = make(views).await;
        let both = Both::make(&sources, policies).await;
        let with_rows = both.compare(&statements, &told).await;
        assert!(
            with_rows > 30,
            "{with_rows} of {} gave rows; {told}",
            statements.len()
        );
    }
}

#[tokio::test]
async fn sqlite_gives_what_views_give() {
    let fixture = include_str!("../../../sql/fixture.sqlite.sql");
    let statements = include_str!("../../../sql/legitimate/sqlite.sql");
    gives_what_views_give(&STANDARD, 0, statements, async |views: String| {
        let host = Host::start().await;
        let legacy = "PRAGMA legacy_alter_table = ON;";
        let views = format!("{fixture}\n{legacy}\n{views}");
        for (name, script) in [("shop", fixture), ("views", views.as_str())] {
            host.sqlite(name, script).await.load().await;
        }
        Sources {
            host,
            schemas: ["main", "main"].map(str::to_owned),
            _servers: Vec::new(),
        }
    })
    .await;
}

#[tokio::test]
async fn postgresql_gives_what_views_give() {
    let fixture = include_str!("../../../sql/fixture.postgresql.sql");
    let statements = include_str!("../../../sql/legitimate/postgresql.sql");
    gives_what_views_give(&STANDARD, 100, statements, async |views: String| {
        let host = Host::start().await;
        let views = format!("{fixture}\n{views}");
        for (name, script) in [("shop", fixture), ("views", views.as_str())] {
            let database = Postgres::shared().database(script).await;
            host.postgres(name, &database).await.load().await;
        }
        Sources {
            host,
            schemas: ["public", "public"].map(str::to_owned),
            _servers: Vec::new(),
        }
    })
    .await;
}

#[tokio::test]
async fn mariadb_gives_what_views_give() {
    let fixture = include_str!("../../../sql/fixture.mysql.sql");
    // What follows are databases beside it, which each server has once.
    let (fixture, _) = fixture.split_once("-- Not in scope.").unwrap();
    let statements = include_str!("../../../sql/legitimate/mysql.sql");
    gives_what_views_give(&MARIADB, 200, statements, async |views: String| {
        let host = Host::start().await;
        let views = format!("{fixture}\nDROP VIEW order_totals;\n{views}");
        let mut schemas = Vec::new();
        for (name, script) in [("shop", fixture), ("views", views.as_str())] {
            let database = MariaDb::shared().database(script).await;
            let data = database.connection_data();
            host.datasource(name, "mariadb", data).await.load().await;
            schemas.push(database.name.clone());
        }
        Sources {
            host,
            schemas: schemas.try_into().unwrap(),
            _servers: Vec::new(),
        }
    })
    .await;
}

#[tokio::test]
async fn clickhouse_gives_what_views_give() {
    let fixture = include_str!("../../../sql/fixture.clickhouse.sql");
    let statements = include_str!("../../../sql/legitimate/clickhouse.sql");
    gives_what_views_give(&CLICKHOUSE, 300, statements, async |views: String| {
        let host = Host::start().await;
        let views = views.replace("CREATE VIEW ", "CREATE VIEW shop.");
        let views = views.replace("SELECT * FROM ", "SELECT * FROM shop.");
        let mut servers = Vec::new();
        let fixture = fixture.trim_end();
        let views = format!("{fixture}\n;;\nDROP VIEW shop.order_totals\n;;\n{views}");
        for (name, script) in [("shop", fixture), ("views", views.as_str())] {
            let server = ClickHouse::new(script);
            let data = server.connection_data();
            host.datasource(name, "clickhouse", data).await.load().await;
            servers.push(server);
        }
        Sources {
            host,
            schemas: ["shop", "shop"].map(str::to_owned),
            _servers: servers,
        }
    })
    .await;
}
