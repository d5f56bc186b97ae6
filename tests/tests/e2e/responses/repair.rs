//! A model that knows the right statement but writes it wrongly at first. It corrects it only by what the tool result
//! says, so these tests fail when the result does not say it.

mod corpus;
mod fixer;
mod several;

use mindhost_tests::{Host, MariaDb, Mind, Postgres, ScriptedModel, Turn};
use serde_json::{Value, json};

use corpus::{Broken, Engine};

/// Repairs within which a statement must be right.
const REPAIRS: usize = 3;
/// Share of the statements that must be repaired.
const ENOUGH: f64 = 0.98;

/// A host with a Mind `told` over the corpus, whose model corrects the statement that stands in the question.
async fn repairing(engine: Engine) -> (Host, Mind, ScriptedModel) {
    let host = Host::start().await;
    let datasource = match engine {
        Engine::Sqlite => host.sqlite("shop", &corpus::schema(engine)).await,
        Engine::Postgresql => {
            let database = Postgres::shared().database(&corpus::schema(engine)).await;
            host.postgres("shop", &database).await
        }
        Engine::Mariadb => {
            let database = MariaDb::shared().database(&corpus::schema(engine)).await;
            host.datasource("shop", "mysql", database.connection_data())
                .await
        }
    };
    datasource.load().await;
    let model = ScriptedModel::reacting(fixer::react).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .direct_queries();
    (host.clone(), mind.create().await, model)
}

async fn repairs_enough(engine: Engine) {
    let (_host, mind, _model) = repairing(engine).await;
    let (mut right, mut wrong) = (0, Vec::new());
    let corpus = corpus::broken(engine);
    for Broken { kind, gold, broken } in &corpus {
        let expected = mind.rows(gold).await;
        let response = mind.ask(broken).await.expect_status(200).json();
        let item = &response["output"][0];
        let sql = item["sql"].as_str().unwrap_or_default();
        let is_right =
            !sql.is_empty() && response["ending"].is_null() && mind.rows(sql).await == expected;
        match is_right {
            true => right += 1,
            false => wrong.push(format!(
                "{kind}: {broken}\n  ended as {sql:?}, {}",
                item["content"][0]["text"]
            )),
        }
    }
    let share = f64::from(right) / corpus.len() as f64;
    println!(
        "{engine:?}: {right} of {} repaired within {REPAIRS}",
        corpus.len()
    );
    assert!(
        share >= ENOUGH,
        "{share:.3} of {}:\n{}",
        corpus.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn broken_statements_are_repaired_by_what_the_result_says_on_sqlite() {
    repairs_enough(Engine::Sqlite).await;
}

#[tokio::test]
async fn broken_statements_are_repaired_by_what_the_result_says_on_postgresql() {
    repairs_enough(Engine::Postgresql).await;
}

#[tokio::test]
async fn broken_statements_are_repaired_by_what_the_result_says_on_mariadb() {
    repairs_enough(Engine::Mariadb).await;
}

#[test]
fn corpus_has_every_kind_for_sixty_statements() {
    for engine in [Engine::Sqlite, Engine::Postgresql, Engine::Mariadb] {
        let corpus = corpus::broken(engine);
        let golds: std::collections::BTreeSet<_> = corpus.iter().map(|one| &one.gold).collect();
        assert!(golds.len() >= 60, "{}", golds.len());
        for kind in corpus::KINDS {
            let count = corpus.iter().filter(|one| one.kind == kind).count();
            assert!(
                count >= 5 || (kind == "type" && engine != Engine::Postgresql),
                "{kind}: {count} on {engine:?}"
            );
        }
    }
}

/// The tool results of the newest request, parsed.
pub fn results(model: &ScriptedModel) -> Vec<Value> {
    let body = model.last();
    let messages = body["messages"].as_array().unwrap().iter();
    let tools = messages.filter(|message| message["role"] == "tool");
    tools
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect()
}

/// What the model is told of one statement.
pub async fn result_of(host: &Host, sql: &str) -> Value {
    let turns = [
        Turn::call("run_sql", json!({"sql": sql})),
        Turn::text("Done."),
    ];
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("plain", &model).await;
    let mind = host
        .mind("plain")
        .datasource("shop")
        .provider("plain")
        .create()
        .await;
    mind.answer("Run it.").await;
    host.delete("/minds/plain").await.expect_status(200);
    host.delete("/providers/plain").await;
    results(&model).remove(0)
}

#[tokio::test]
async fn refusal_has_the_phase_an_excerpt_and_the_nearest_name() {
    let (host, ..) = repairing(Engine::Sqlite).await;
    let error = &result_of(&host, "SELECT nmae FROM customers").await["error"];
    assert_eq!(
        (&error["code"], &error["phase"]),
        (&json!("sql_invalid"), &json!("execution"))
    );
    assert_eq!(error["excerpt"], "SELECT nmae FROM customers\n       ^");
    assert_eq!(
        error["replace"][0],
        json!({"written": "nmae", "position": 8, "use": ["name"]})
    );
    let error = &result_of(&host, "SELECT name FORM customers").await["error"];
    assert_eq!(
        (&error["phase"], &error["replace"][0]["use"]),
        (&json!("parse"), &json!(["FROM"]))
    );
    let error = &result_of(&host, "SELECT name FROM custmers").await["error"];
    assert_eq!(
        (&error["phase"], &error["replace"][0]["use"][0]),
        (&json!("guard"), &json!("customers"))
    );
}

#[tokio::test]
async fn table_that_the_statement_lacks_is_joined_where_its_columns_are_named() {
    let (host, ..) = repairing(Engine::Sqlite).await;
    let sql = "SELECT c.name, sum(i.quantity) FROM customers c JOIN order_items i ON i.order_id = o.id \
               GROUP BY c.name";
    let error = &result_of(&host, sql).await["error"];
    let instead = "JOIN orders o ON o.customer_id = c.id JOIN";
    assert_eq!(
        error["replace"],
        json!([{"written": "JOIN", "position": 49, "use": [instead]}])
    );
    let sql = "SELECT p.title FROM orders o JOIN order_items i ON i.order_id = c.order_id";
    let error = &result_of(&host, sql).await["error"];
    assert!(
        !error.to_string().contains("i.order_id = i.order_id"),
        "{error}"
    );
    assert!(!error.to_string().contains("\"i.order_id\""), "{error}");
    let error = &result_of(&host, "SELECT c.name, o.total FROM customers c").await["error"];
    assert_eq!(
        error["add_join"],
        json!(["JOIN orders o ON o.customer_id = c.id"])
    );
}

#[tokio::test]
async fn grouping_stays_where_the_error_is_another() {
    let (host, ..) = repairing(Engine::Postgresql).await;
    let advice = async |sql: &str| result_of(&host, sql).await["error"].clone();
    let people =
        "SELECT c.name || c.zip AS who, count(*) FROM customers c GROUP BY c.id, c.name, c.zip";
    let wrong = people.replace(" GROUP", " WHERE c.qqq = 'US' GROUP");
    assert_eq!(advice(&wrong).await["group_by"], Value::Null);
    let lacking = people.replace(", c.zip", "");
    assert_eq!(
        advice("SELECT c.country, c.zip, count(*) FROM customers c GROUP BY c.country").await["group_by"],
        "GROUP BY c.country, c.zip"
    );
    assert!(result_of(&host, &lacking).await["rows"].is_array());
}

#[tokio::test]
async fn what_other_dialects_write_is_advised_though_it_can_be_read() {
    for (engine, sql, written, instead) in [
        (
            Engine::Postgresql,
            "SELECT TOP 2 c.name FROM customers c",
            "TOP 2",
            "",
        ),
        (
            Engine::Sqlite,
            "SELECT TOP 2 c.name FROM customers c",
            "TOP 2",
            "",
        ),
        (
            Engine::Sqlite,
            "SELECT name FROM customers WHERE name ILIKE 'a%'",
            "ILIKE",
            "LIKE",
        ),
        (
            Engine::Postgresql,
            "SELECT name FROM \"Customers\"",
            "\"Customers\"",
            "customers",
        ),
        (
            Engine::Postgresql,
            "SELECT name FROM customers LIMIT 0, 2",
            "LIMIT 0, 2",
            "LIMIT 2 OFFSET 0",
        ),
        (
            Engine::Postgresql,
            "```sql\nSELECT name FROM customers\n```",
            "```sql",
            "",
        ),
        (
            Engine::Postgresql,
            "SELECT name FROM customers WHERE country = Germany",
            "Germany",
            "'Germany'",
        ),
        (
            Engine::Postgresql,
            "SELECT m.name, m.country FROM orders o JOIN people m ON m.id = o.customer_id",
            "people",
            "customers",
        ),
    ] {
        let (host, ..) = repairing(engine).await;
        let error = &result_of(&host, sql).await["error"];
        let first = &error["replace"][0];
        assert_eq!(
            (&first["written"], &first["use"][0]),
            (&json!(written), &json!(instead)),
            "{engine:?}, {sql}: {error}"
        );
    }
}

#[tokio::test]
async fn column_of_another_meaning_is_not_advised() {
    let host = Host::start().await;
    let schema = "CREATE TABLE artist (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE album (id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist (id));
        CREATE TABLE track (id INTEGER PRIMARY KEY, name TEXT, album_id INTEGER REFERENCES album (id), discontinued INTEGER,
            category_id INTEGER REFERENCES category (id), ship_name TEXT);
        CREATE TABLE category (id INTEGER PRIMARY KEY, category_name TEXT);
        CREATE TABLE customer (id INTEGER PRIMARY KEY, company_name TEXT);
        CREATE TABLE supplier (id INTEGER PRIMARY KEY, company_name TEXT);";
    host.sqlite("shop", schema).await.load().await;
    let to_artist = [
        "JOIN album ON track.album_id = album.id",
        "JOIN artist ON album.artist_id = artist.id",
    ];
    let to_artist = to_artist.map(|join| join.replace("track.", "t."));
    let to_category = ["JOIN category ON t.category_id = category.id".to_owned()];
    for (column, instead, joins, hint) in [
        ("t.artist_name", "artist.name", &to_artist[..], ""),
        ("artist_name", "artist.name", &to_artist, ""),
        (
            "t.category_name",
            "category.category_name",
            &to_category,
            "",
        ),
        ("t.track_name", "t.name", &[], ""),
        ("t.nmae", "t.name", &[], ""),
        ("t.company_name", "", &[], "customer and of supplier; join"),
        ("company_name", "", &[], "customer and of supplier; join"),
        ("t.discount", "", &[], "discontinued is like it"),
        ("t.discount", "", &[], "may mean something else"),
    ] {
        let sql = format!("SELECT {column} FROM track t");
        let error = &result_of(&host, &sql).await["error"];
        let advised = error["replace"][0]["use"].as_array();
        let expected = json!([instead]);
        let expected = (!instead.is_empty())
            .then_some(expected.as_array())
            .flatten();
        assert_eq!(advised, expected, "{sql}: {error}");
        let added = error["add_join"].as_array().cloned().unwrap_or_default();
        assert_eq!(added, *joins, "{sql}: {error}");
        assert!(error["hints"].to_string().contains(hint), "{sql}: {error}");
    }
    // One call of another dialect, which this one writes so that it gives the same.
    let random = "SELECT count(*) FROM track WHERE rand() < 0.1";
    let error = &result_of(&host, random).await["error"];
    let instead = error["replace"][0]["use"][0].as_str().unwrap();
    let result = result_of(&host, &random.replace("rand()", instead)).await;
    assert_eq!(result["rows"], json!([[0]]), "{result}");
}

/// Statements with a suspicious result on every engine, and a part of what the model is told.
const SUSPICIOUS: [(&str, &str); 12] = [
    ("SELECT * FROM payments WHERE method = 'crad'", "'card'"),
    (
        "SELECT count(*) FROM customers WHERE name = 'DE'",
        ".customers.country",
    ),
    (
        "SELECT sum(o.total) FROM orders o JOIN order_items i ON i.order_id = o.id",
        ".order_items",
    ),
    (
        "SELECT sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id \
         JOIN tickets t ON t.customer_id = c.id",
        ".tickets",
    ),
    (
        "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id \
         LEFT JOIN tickets t ON t.customer_id = c.id GROUP BY c.name",
        "each combination of a row of ",
    ),
    (
        "SELECT sum(o.total) FROM orders o, tickets t",
        "no condition joins them",
    ),
    // Filters that select several customers, or the row of another SELECT.
    (
        "SELECT sum(o.total) FROM customers c, orders o WHERE c.country = 'DE'",
        "no condition joins them",
    ),
    (
        "SELECT sum(o.total) FROM customers c, orders o WHERE c.id = 1 OR c.name = 'Bob'",
        "no condition joins them",
    ),
    (
        "SELECT sum(o.total) FROM customers c, orders o \
         WHERE o.status IN (SELECT x.status FROM orders x WHERE x.id = 1)",
        "no condition joins them",
    ),
    (
        "SELECT c.name, sum(i.quantity) FROM customers c JOIN order_items i ON i.order_id = i.order_id \
         GROUP BY c.name",
        "no condition joins them",
    ),
    (
        "SELECT * FROM orders WHERE placed_at >= '2025-01-01'",
        ".orders.placed_at end at 2024-02-09",
    ),
    (
        "SELECT count(*) FROM orders WHERE total > 100000",
        ".orders.total end at 100",
    ),
];

/// Statements that mean something else there than on other engines.
const OF_MARIADB: [(&str, &str); 4] = [
    ("SELECT name || country FROM customers", "CONCAT(a, b)"),
    (
        "SELECT id, \"name\" FROM customers",
        "not the column; write name",
    ),
    (
        "SELECT count(*) FROM orders WHERE placed_at BETWEEN 2023 AND 2024",
        "write YEAR(placed_at) BETWEEN 2023 AND 2024",
    ),
    (
        "SELECT id FROM orders WHERE placed_at > 2023",
        "write YEAR(placed_at) > 2023",
    ),
];

/// Statements over days that are kept as texts.
const YEARS_AS_TEXTS: [(&str, &str); 2] = [
    (
        "SELECT count(*) FROM orders o WHERE o.placed_at = 2024",
        "write CAST(strftime('%Y', o.placed_at) AS INTEGER) = 2024",
    ),
    (
        "SELECT count(*) FROM orders WHERE placed_at BETWEEN '2023' AND '2024'",
        "AS INTEGER) BETWEEN 2023 AND 2024",
    ),
];

/// Statements with a result that is as it should be.
const SOUND: [&str; 13] = [
    "SELECT count(*) FROM customers WHERE country = 'DE'",
    "SELECT c.country, sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.country",
    "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name",
    "SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id \
     LEFT JOIN tickets t ON t.customer_id = c.id WHERE t.id IS NULL GROUP BY c.name",
    "SELECT sum(o.total) FROM orders o CROSS JOIN tickets t",
    "SELECT sum(o.total) FROM customers c, orders o WHERE c.id = 1 AND o.total > 1",
    "SELECT sum(o.total) FROM customers c, orders o WHERE o.status = 'open' AND c.name = 'Ann'",
    "SELECT sum(o.total) FROM customers c, orders o WHERE c.id = (SELECT max(x.id) FROM customers x)",
    "SELECT max(o.total) FROM orders o JOIN customers c ON o.customer_id + 0 = c.id",
    "SELECT c.name, p.title, (SELECT sum(o.total) FROM orders o WHERE o.customer_id = c.id AND o.id = p.id) \
     FROM customers c, products p",
    "SELECT sum(total) / 4 FROM orders",
    "SELECT count(*) FROM orders WHERE total > 50 AND total < 60",
    "SELECT count(*) FROM orders WHERE placed_at < '2030-01-01' AND placed_at > '2024-02-08' AND total = 40",
];

async fn suspicious_results_are_told(engine: Engine) {
    let (host, ..) = repairing(engine).await;
    let mut suspicious = SUSPICIOUS.to_vec();
    let mut sound = SOUND.to_vec();
    let other_case = "SELECT * FROM customers WHERE country = 'de'";
    let division = "SELECT count(*) / 4 FROM orders";
    match engine {
        // It compares without regard to case, and keeps the fraction.
        Engine::Mariadb => {
            sound.extend([other_case, division]);
            suspicious.extend(OF_MARIADB);
        }
        Engine::Sqlite | Engine::Postgresql => {
            suspicious.extend([(other_case, "'DE'"), (division, "fraction")]);
        }
    }
    if engine == Engine::Sqlite {
        suspicious.extend(YEARS_AS_TEXTS);
    }
    for (sql, word) in suspicious {
        let result = result_of(&host, sql).await;
        assert!(
            result["warnings"][0]
                .as_str()
                .unwrap_or_default()
                .contains(word),
            "{engine:?}, {sql}: {result}"
        );
    }
    for sound in sound {
        let result = result_of(&host, sound).await;
        assert!(result["rows"].is_array(), "{engine:?}, {sound}: {result}");
        assert_eq!(result["warnings"], Value::Null, "{engine:?}, {sound}");
    }
    let again = json!({"sql": SUSPICIOUS[0].0});
    let call = || Turn::call("run_sql", again.clone());
    let model = ScriptedModel::start([call(), call(), Turn::text("None.")]).await;
    host.scripted_provider("twice", &model).await;
    let mind = host
        .mind("twice")
        .datasource("shop")
        .provider("twice")
        .create()
        .await;
    mind.answer("How many?").await;
    let seen: Vec<bool> = results(&model)
        .iter()
        .map(|one| one["warnings"].is_array())
        .collect();
    assert_eq!(seen, [true, false]);
}

#[tokio::test]
async fn suspicious_results_come_with_a_warning_once_on_sqlite() {
    suspicious_results_are_told(Engine::Sqlite).await;
}

#[tokio::test]
async fn suspicious_results_come_with_a_warning_once_on_postgresql() {
    suspicious_results_are_told(Engine::Postgresql).await;
}

#[tokio::test]
async fn suspicious_results_come_with_a_warning_once_on_mariadb() {
    suspicious_results_are_told(Engine::Mariadb).await;
}

#[tokio::test]
async fn empty_join_of_tables_with_rows_comes_with_a_warning() {
    let numbers =
        "CREATE TABLE low (n INTEGER); CREATE TABLE high (n INTEGER); CREATE TABLE few (n INTEGER);
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12)
        INSERT INTO low SELECT n FROM c;
        INSERT INTO high SELECT n + 100 FROM low; INSERT INTO few VALUES (1000);";
    let host = Host::start().await;
    host.sqlite("shop", numbers).await.load().await;
    let warned = async |table: &str| {
        let sql = format!("SELECT low.n FROM low JOIN {table} ON {table}.n = low.n");
        let warnings = result_of(&host, &sql).await["warnings"].to_string();
        warnings.contains("each of its tables has rows")
    };
    assert!(warned("high").await && warned("few").await);
    // Without the number of rows, a table with few of them may have none.
    let settings = json!({"send_rows": false});
    host.patch("/datasources/shop", settings)
        .await
        .expect_status(200);
    assert!(warned("high").await && !warned("few").await);
}

#[tokio::test]
async fn join_of_tables_of_one_name_in_two_datasources_is_a_join() {
    const ORDERS: &str = "CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1), (2);";
    let host = Host::start().await;
    for name in ["shop", "archive"] {
        host.sqlite(name, ORDERS).await.load().await;
    }
    let sql = "SELECT count(*) FROM shop.orders JOIN archive.orders ON shop.orders.id = archive.orders.id";
    let turns = [
        Turn::call("run_sql", json!({"sql": sql})),
        Turn::text("Done."),
    ];
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("plain", &model).await;
    let mind = host.mind("both").datasource("shop").datasource("archive");
    let mind = mind.provider("plain").create().await;
    mind.answer("Run it.").await;
    let told = results(&model).remove(0);
    assert_eq!(told["row_count"], 1, "{told}");
    assert!(
        !told.to_string().contains("no condition joins them"),
        "{told}"
    );
}

#[tokio::test]
async fn nothing_of_the_data_is_told_where_rows_are_withheld() {
    let host = Host::start().await;
    let schema = "CREATE TABLE person (id int PRIMARY KEY, name text); INSERT INTO person VALUES (1, 'Miller')";
    let database = Postgres::shared().database(schema).await;
    host.postgres("shop", &database).await.load().await;
    let settings = json!({"send_rows": false, "send_values": false});
    host.patch("/datasources/shop", settings)
        .await
        .expect_status(200);
    for sql in [
        "SELECT CAST(name AS int) FROM person",
        "SELECT * FROM person WHERE name = 'miller'",
        "SELECT nam FROM person",
    ] {
        let result = result_of(&host, sql).await.to_string();
        assert!(!result.contains("Miller"), "{sql}: {result}");
    }
    let result = result_of(&host, "SELECT nam FROM person").await;
    assert_eq!(result["error"]["replace"][0]["use"][0], "name");
}

#[tokio::test]
async fn statement_that_costs_too_much_is_refused_before_it_runs() {
    let host = Host::builder()
        .env("MINDHOST_ANSWERING__MAX_PLAN_COST", "100000")
        .start()
        .await;
    let schema = "CREATE TABLE number (n int); INSERT INTO number SELECT generate_series(1, 5000); ANALYZE number";
    let database = Postgres::shared().database(schema).await;
    host.postgres("shop", &database).await.load().await;
    let error = result_of(&host, "SELECT count(*) FROM number a, number b, number c").await;
    let error = &error["error"];
    assert_eq!(
        (&error["code"], &error["phase"]),
        (&json!("sql_cost_too_high"), &json!("dry_run"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("a cost of "), "{message}");
    let result = result_of(&host, "SELECT count(*) FROM number").await;
    assert_eq!(result["rows"], json!([[5000]]));
    // The estimate depends on values.
    let settings = json!({"send_rows": false});
    host.patch("/datasources/shop", settings)
        .await
        .expect_status(200);
    let error = result_of(&host, "SELECT count(*) FROM number a, number b, number c").await;
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("estimates a higher cost"), "{message}");
}
