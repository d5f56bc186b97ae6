//! Random policies and the statements of `tests/sql/legitimate`: through a Mind with policies, a statement gives what it
//! gives over views that apply the same policies by hand.

use mindhost_tests::{Host, Mind, Postgres, Reply, Value, json};

/// Statements that are tried, each under this many random policies.
const ROUNDS: u64 = 3;

/// A column of the fixture that may be filtered, hidden or masked.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    /// Conditions, in SQL that both engines read alike.
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

/// Random policies, and the statements that make the same views.
fn policies(dice: &mut Dice, schema: &str, text: &str) -> (Vec<Value>, String) {
    let (mut policies, mut views) = (Vec::new(), String::new());
    for table in &TABLES {
        let (mut hidden, mut masked, mut shown) = (Vec::new(), json!({}), Vec::new());
        for (index, column) in table.columns.iter().enumerate() {
            match dice.below(8) {
                0 if index > 0 => hidden.push(*column),
                1 if table.texts.contains(column) => {
                    masked[*column] = json!("last4");
                    shown.push(format!(
                        "CASE WHEN length(CAST({column} AS {text})) >= 8 THEN '****' || \
                         substr(CAST({column} AS {text}), length(CAST({column} AS {text})) - 3) \
                         WHEN {column} IS NOT NULL THEN '****' END AS {column}"
                    ));
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
        let filter = match dice.below(4) {
            0 => None,
            _ => Some(table.filters[dice.below(table.filters.len() as u64) as usize]),
        };
        let name = table.name;
        let condition = filter.map(|filter| format!(" WHERE {}", by_hand(filter)));
        views.push_str(&format!(
            "ALTER TABLE {name} RENAME TO {name}_all;\nCREATE VIEW {name} AS SELECT {} FROM {name}_all{};\n",
            shown.join(", "),
            condition.unwrap_or_default()
        ));
        if filter.is_some() || !hidden.is_empty() || masked != json!({}) {
            policies.push(
                json!({"datasource": "shop", "table": format!("{schema}.{name}"),
                "filter": filter, "hidden": hidden, "masked": masked}),
            );
        }
    }
    (policies, views)
}

/// The statements of a list.
fn list(file: &'static str) -> Vec<String> {
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
    async fn make(host: &Host, schema: &str, policies: Vec<Value>) -> Self {
        let tables = [
            "customers",
            "orders",
            "order_items",
            "products",
            "categories",
            "Order Notes",
        ];
        let tables = tables.map(|table| format!("{schema}.{table}"));
        let tables = tables.each_ref().map(String::as_str);
        let policed = host
            .mind("policed")
            .tables("shop", &tables)
            .direct_queries();
        policed.create().await;
        let views = host.mind("views").tables("views", &tables).direct_queries();
        let _views: Mind = views.create().await;
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
            if sql.contains("shop.") || is_volatile(sql) {
                continue;
            }
            let (policed, views) = (self.ask("policed", sql).await, self.ask("views", sql).await);
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
            assert_eq!(sorted(policed), sorted(views), "{sql}\n{policies}");
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

#[tokio::test]
async fn sqlite_gives_what_views_give() {
    let fixture = include_str!("../../../sql/fixture.sqlite.sql");
    let statements = list(include_str!("../../../sql/legitimate/sqlite.sql"));
    for round in 0..ROUNDS {
        let (policies, views) = policies(&mut Dice(round), "main", "TEXT");
        let host = Host::start().await;
        host.sqlite("shop", fixture).await.load().await;
        let legacy = "PRAGMA legacy_alter_table = ON;";
        host.sqlite("views", &format!("{fixture}\n{legacy}\n{views}"))
            .await
            .load()
            .await;
        let told = format!("round {round}: {policies:?}");
        let both = Both::make(&host, "main", policies).await;
        let with_rows = both.compare(&statements, &told).await;
        assert!(
            with_rows > 30,
            "{with_rows} of {} gave rows; {told}",
            statements.len()
        );
    }
}

#[tokio::test]
async fn postgresql_gives_what_views_give() {
    let fixture = include_str!("../../../sql/fixture.postgresql.sql");
    let statements = list(include_str!("../../../sql/legitimate/postgresql.sql"));
    for round in 0..ROUNDS {
        let (policies, views) = policies(&mut Dice(round + 100), "public", "text");
        let plain = Postgres::shared().database(fixture).await;
        let by_hand = Postgres::shared()
            .database(&format!("{fixture}\n{views}"))
            .await;
        let host = Host::start().await;
        host.postgres("shop", &plain).await.load().await;
        host.postgres("views", &by_hand).await.load().await;
        let told = format!("round {round}: {policies:?}");
        let both = Both::make(&host, "public", policies).await;
        let with_rows = both.compare(&statements, &told).await;
        assert!(
            with_rows > 30,
            "{with_rows} of {} gave rows; {told}",
            statements.len()
        );
    }
}
