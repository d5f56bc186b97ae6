//! A holder of a key with the tenant `acme` tries to read around the policy of a table: rows of another tenant, a
//! hidden column, a masked one.

mod attempts;

use self::attempts::{
    Attempt, EVERYWHERE, IN_ANY_CASE, ON_FILES, ON_MARIADB, ON_POSTGRES, ON_SQLITE, OVER_SEVERAL,
};
use mindhost_tests::{
    Host, MariaDb, Mind, Postgres, PostgresDatabase, Reply, ScriptedModel, Turn, Value, json,
};

/// Rows 3 and 4 are another tenant's; the name of row 3 is no number, and neither is that of row 4 JSON.
const STAFF: &str = "
    CREATE TABLE staff (id INTEGER PRIMARY KEY, tenant VARCHAR(20) NOT NULL, name VARCHAR(40) NOT NULL,
        salary INTEGER NOT NULL, card VARCHAR(20) NOT NULL);
    INSERT INTO staff VALUES (1, 'acme', '11', 41733, '1111222233334444'), (2, 'acme', '22', 52911, '5555666677778888'),
        (3, 'rival', 'Eve Zwicky', 77347, '9999000011112222'), (4, 'rival', '{Zwicky', 88139, '3333000044440000');
    CREATE TABLE teams (id INTEGER PRIMARY KEY, boss INTEGER NOT NULL, name VARCHAR(40));
    INSERT INTO teams VALUES (1, 1, 'red'), (2, 3, 'blue'), (3, 2, 'green');";

/// What no answer may contain: the other tenant, its values, the hidden values, and the cards as they are.
const SECRETS: [&str; 12] = [
    "rival", "Zwicky", "41733", "52911", "77347", "88139", "11112222", "55556666", "99990000",
    "33330000", "1111222", "5555666",
];

/// A Mind whose policy is on `staff`, and the key of its attacker.
struct Door {
    host: Host,
    mind: Mind,
    key: String,
    _database: Option<PostgresDatabase>,
}

/// The filter costs more than what an attacker adds, so that a planner without a barrier would compute that first.
async fn guarded(host: Host, schema: &str, database: Option<PostgresDatabase>) -> Door {
    let mind = host.mind("team").datasource("crew").direct_queries();
    let mind = mind.create().await;
    let policy = json!({"datasource": "crew", "table": format!("{schema}.staff"),
        "filter": "lower(trim(tenant)) = lower({{caller.tenant}})", "hidden": ["salary"], "masked": {"card": "last4"}});
    let body = json!({"policies": [policy]});
    host.put("/minds/team/policies", body)
        .await
        .expect_status(200);
    let key = key(&host, json!({"tenant": "acme"})).await;
    Door {
        host,
        mind,
        key,
        _database: database,
    }
}

async fn key(host: &Host, attributes: Value) -> String {
    let body = json!({"name": "guest", "role": "user", "attributes": attributes});
    let made = host.post("/keys", body).await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

async fn on_postgres() -> Door {
    let database = Postgres::shared().database(STAFF).await;
    let host = Host::start().await;
    host.postgres("crew", &database).await.load().await;
    guarded(host, "public", Some(database)).await
}

async fn on_sqlite() -> Door {
    let host = Host::start().await;
    host.sqlite("crew", STAFF).await.load().await;
    guarded(host, "main", None).await
}

async fn on_mariadb(server: &MariaDb) -> Door {
    let database = server.database_named("crew", STAFF).await;
    let host = Host::start().await;
    let data = database.connection_data();
    host.datasource("crew", "mariadb", data).await.load().await;
    guarded(host, "crew", None).await
}

async fn on_files() -> Door {
    let host = Host::start().await;
    let folder = host.files_dir().join("crew");
    std::fs::create_dir_all(&folder).unwrap();
    let staff = "id,tenant,name,salary,card\n1,acme,11,41733,c1111222233334444\n2,acme,22,52911,c5555666677778888\n\
                 3,rival,Eve Zwicky,77347,c9999000011112222\n4,rival,{Zwicky,88139,c3333000044440000\n";
    std::fs::write(folder.join("staff.csv"), staff).unwrap();
    let teams = "id,boss,name\n1,1,red\n2,3,blue\n3,2,green\n";
    std::fs::write(folder.join("teams.csv"), teams).unwrap();
    let data = json!({"path": "crew"});
    host.datasource("crew", "csv", data).await.load().await;
    guarded(host, "files", None).await
}

impl Door {
    async fn sql(&self, sql: &str) -> Reply {
        let tool = json!({"type": "sql_query", "query": sql, "explain": true});
        let body = json!({"model": self.mind.name, "tools": [tool]});
        self.host.post("/responses", body).key(&self.key).await
    }

    /// Each statement comes to what it must, and tells nothing secret.
    async fn comes_to(&self, attempts: &[Attempt]) {
        for (sql, outcome) in attempts {
            let reply = self.sql(sql).await;
            no_secret(sql, &reply.text());
            outcome.check(sql, &reply);
        }
    }

    /// Each statement fails in the engine for a row of the other tenant, if it is computed for one: the error would tell
    /// that there is such a row.
    async fn tells_nothing_by_errors(&self, statements: &[&str]) {
        for sql in statements {
            let reply = self.sql(sql).await;
            no_secret(sql, &reply.text());
            assert_eq!(reply.status, 200, "{sql}: {}", reply.text());
        }
    }

    /// What every engine has.
    async fn common(&self) {
        self.comes_to(&EVERYWHERE).await;
        let seen = self
            .sql("SELECT id, tenant, name, card FROM staff ORDER BY id")
            .await;
        let seen = seen.expect_status(200).json();
        let seen = &seen["output"][0];
        assert_eq!(seen["total"], 2, "{seen}");
        assert_eq!(seen["data"][0][3], "****4444", "{seen}");
        let executed = seen["executed_query"].as_str().unwrap();
        assert!(
            !executed.contains("acme") && !executed.contains("policy"),
            "{executed}"
        );
        let unknown = self.sql("SELECT salary FROM staff").await;
        let no_such = self.sql("SELECT salery FROM staff").await;
        assert_eq!(unknown.status, no_such.status);
        let same = |reply: &Reply| {
            reply.json()["error"]["message"]
                .to_string()
                .replace("salary", "salery")
        };
        assert_eq!(same(&unknown), same(&no_such));
    }
}

fn no_secret(what: &str, text: &str) {
    for secret in SECRETS {
        let asked = what.contains(secret);
        assert!(
            asked || !text.contains(secret),
            "{what}: {secret} in {text}"
        );
    }
}

const ERRORS_ON_POSTGRES: [&str; 18] = [
    "SELECT id FROM staff WHERE 1 / (id - 3) IS NOT NULL",
    "SELECT 1 / (id - 3) FROM staff",
    "SELECT id FROM staff WHERE name::int > 0",
    "SELECT id FROM staff ORDER BY name::int",
    "SELECT name::int, count(*) FROM staff GROUP BY name::int",
    "SELECT sum(name::int) FROM staff",
    "SELECT count(*) FILTER (WHERE name::int > 0) FROM staff",
    "SELECT count(*) FROM staff HAVING sum(name::int) > 0",
    "SELECT DISTINCT ON (name::int) id FROM staff",
    "SELECT id, rank() OVER (ORDER BY name::int) FROM staff",
    "SELECT s.id FROM teams AS t JOIN staff AS s ON t.id = s.name::int",
    "SELECT t.id FROM teams AS t LEFT JOIN staff AS s ON t.id = s.name::int",
    "SELECT t.id FROM teams AS t WHERE EXISTS (SELECT 1 FROM staff AS s WHERE s.name::int = t.id)",
    "SELECT l.n FROM teams AS t CROSS JOIN LATERAL (SELECT s.name::int AS n FROM staff AS s) AS l",
    "WITH x AS NOT MATERIALIZED (SELECT * FROM staff) SELECT id FROM x WHERE name::int > 0",
    "SELECT id FROM (SELECT * FROM staff) AS s WHERE name::int > 0",
    "SELECT name::int FROM staff UNION ALL SELECT id FROM teams",
    "SELECT id FROM staff WHERE tenant = 'rival' AND name::int > 0",
];

const ERRORS_ON_SQLITE: [&str; 6] = [
    "SELECT id FROM staff WHERE abs(CASE WHEN id = 3 THEN -9223372036854775807 - 1 ELSE 1 END) > 0",
    "SELECT id FROM staff ORDER BY abs(CASE WHEN id = 3 THEN -9223372036854775807 - 1 ELSE 1 END)",
    "SELECT id FROM staff WHERE json_extract(CASE WHEN id = 4 THEN name ELSE '{}' END, '$.a') IS NULL",
    "SELECT json_extract(CASE WHEN id = 4 THEN name ELSE '{}' END, '$.a') FROM staff",
    "SELECT t.id FROM teams AS t JOIN staff AS s ON json_extract(CASE WHEN s.id = 4 THEN s.name ELSE '{}' END, '$.a') IS NULL",
    "SELECT count(*) FROM staff HAVING sum(abs(CASE WHEN id = 3 THEN -9223372036854775807 - 1 ELSE 1 END)) > 0",
];

const ERRORS_ON_MARIADB: [&str; 3] = [
    "SELECT id FROM staff WHERE (SELECT 1 UNION SELECT CASE WHEN staff.id = 3 THEN 2 ELSE 1 END) = 1",
    "SELECT id FROM staff WHERE name RLIKE CASE WHEN id = 3 THEN '(' ELSE '.' END",
    "SELECT id FROM staff ORDER BY name RLIKE CASE WHEN id = 3 THEN '(' ELSE '.' END",
];

const ERRORS_ON_FILES: [&str; 7] = [
    "SELECT id FROM staff WHERE 1 / (id - 3) IS NOT NULL",
    "SELECT 1 / (id - 3) AS x FROM staff",
    "SELECT id FROM staff WHERE CAST(name AS integer) > 0",
    "SELECT id FROM staff ORDER BY CAST(name AS integer)",
    "SELECT sum(CAST(name AS integer)) AS x FROM staff",
    "SELECT t.id FROM teams AS t JOIN staff AS s ON t.id = CAST(s.name AS integer)",
    "SELECT id FROM (SELECT * FROM staff) AS s WHERE CAST(name AS integer) > 0",
];

#[tokio::test]
async fn statement_for_postgresql_reads_around_no_policy() {
    let door = on_postgres().await;
    door.common().await;
    door.comes_to(&ON_POSTGRES).await;
    door.tells_nothing_by_errors(&ERRORS_ON_POSTGRES).await;
}

#[tokio::test]
async fn statement_for_sqlite_reads_around_no_policy() {
    let door = on_sqlite().await;
    door.common().await;
    door.comes_to(&ON_SQLITE).await;
    door.tells_nothing_by_errors(&ERRORS_ON_SQLITE).await;
}

#[tokio::test]
async fn statement_for_mariadb_reads_around_no_policy() {
    for server in [MariaDb::shared(), MariaDb::folding()] {
        let door = on_mariadb(server).await;
        door.common().await;
        door.comes_to(&ON_MARIADB).await;
        door.comes_to(&IN_ANY_CASE).await;
        door.tells_nothing_by_errors(&ERRORS_ON_MARIADB).await;
    }
}

#[tokio::test]
async fn statement_over_files_reads_around_no_policy() {
    let door = on_files().await;
    door.common().await;
    door.comes_to(&ON_FILES).await;
    door.tells_nothing_by_errors(&ERRORS_ON_FILES).await;
}

#[tokio::test]
async fn statement_over_several_datasources_reads_around_no_policy() {
    let door = on_postgres().await;
    let host = &door.host;
    host.sqlite(
        "lite",
        "CREATE TABLE ids (id INTEGER PRIMARY KEY); INSERT INTO ids VALUES (1), (2), (3), (4);",
    )
    .await
    .load()
    .await;
    let body = json!({"datasources": ["crew", "lite"]});
    host.put("/minds/team", body).await.expect_status(200);
    let seen = door.sql(
        "SELECT s.id, s.card FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id ORDER BY 1",
    );
    let seen = seen.await.expect_status(200).json();
    assert_eq!(seen["output"][0]["total"], 2, "{seen}");
    assert_eq!(seen["output"][0]["data"][0][1], "****4444", "{seen}");
    door.comes_to(&OVER_SEVERAL).await;
    door.tells_nothing_by_errors(&[
        "SELECT s.id FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id WHERE 1 / (CASE WHEN s.name LIKE 'E%' THEN 0 ELSE 1 END) = 1",
        "SELECT s.id FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id WHERE CAST(s.name AS integer) > 0",
        "SELECT sum(CAST(s.name AS integer)) AS x FROM crew.staff AS s CROSS JOIN lite.ids AS i",
    ])
    .await;
}

#[tokio::test]
async fn key_without_the_attribute_or_with_another_sees_its_own_rows_only() {
    let door = on_sqlite().await;
    let tricks = [
        json!({}),
        json!({"tenant": []}),
        json!({"tenant": ["acme", "rival"]}),
        json!({"tenant": "x' OR '1'='1"}),
        json!({"tenant": "x' OR 1=1 --"}),
        json!({"tenant": "\\' OR 1=1 --"}),
        json!({"tenant": 0}),
        json!({"tenant": true}),
        json!({"Tenant": "acme"}),
    ];
    for attributes in tricks {
        let key = key(&door.host, attributes.clone()).await;
        let other = Door {
            key,
            host: door.host.clone(),
            mind: door.mind.clone(),
            _database: None,
        };
        let seen = other
            .sql("SELECT id FROM staff")
            .await
            .expect_status(200)
            .json();
        assert_eq!(seen["output"][0]["total"], 0, "{attributes}: {seen}");
    }
    // The same text by two keys: what one was told is not what the other is told.
    let key = key(&door.host, json!({"tenant": "rival"})).await;
    let rival = Door {
        key,
        host: door.host.clone(),
        mind: door.mind.clone(),
        _database: None,
    };
    for (door, id) in [(&door, 1), (&rival, 3), (&door, 1), (&rival, 3)] {
        let seen = door
            .sql("SELECT id FROM staff ORDER BY id LIMIT 1")
            .await
            .json();
        assert_eq!(seen["output"][0]["data"][0][0], id, "{seen}");
    }
}

/// The rows of a page, which has them all.
fn rows(page: &Value) -> usize {
    let rows = page["result"]["data"].as_array().unwrap();
    assert_eq!(page["total"], rows.len(), "{page}");
    rows.len()
}

#[tokio::test]
async fn stored_statement_is_run_with_the_policy_of_who_reads_it() {
    let door = on_sqlite().await;
    let made = door
        .sql("SELECT id, name FROM staff ORDER BY id")
        .await
        .expect_status(200)
        .json();
    let conversation = made["conversation"]["id"].as_str().unwrap();
    let message = made["output"][0]["id"].as_str().unwrap();
    let path = format!("/conversations/{conversation}/items/{message}/result");
    let own = door
        .host
        .get(&path)
        .key(&door.key)
        .await
        .expect_status(200)
        .json();
    assert_eq!(rows(&own), 2, "{own}");
    let file = format!("/conversations/{conversation}/items/{message}/export");
    let export = door.host.get(&file).key(&door.key).await;
    no_secret("export", &export.expect_status(200).text());
    // The admin may read the conversation, and has no tenant.
    let other = door.host.get(&path).await.expect_status(200).json();
    assert_eq!(rows(&other), 0, "{other}");
    // The policy as it is now, not as it was.
    let policy = json!({"datasource": "crew", "table": "staff", "filter": "id = 2"});
    let body = json!({"policies": [policy]});
    door.host
        .put("/minds/team/policies", body)
        .await
        .expect_status(200);
    let now = door
        .host
        .get(&path)
        .key(&door.key)
        .await
        .expect_status(200)
        .json();
    assert_eq!(rows(&now), 1, "{now}");
}

#[tokio::test]
async fn catalog_tells_callers_no_more_than_statements_do() {
    let door = on_postgres().await;
    for path in [
        "/datasources/crew/catalog",
        "/datasources/crew/catalog?mind=team",
        "/datasources/crew/catalog?search=staff",
    ] {
        let reply = door.host.get(path).key(&door.key).await.expect_status(200);
        no_secret(path, &reply.text());
        assert!(!reply.text().contains("salary"), "{}", reply.text());
        let tables = reply.json()["tables"].clone();
        let staff = tables
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == "staff")
            .unwrap();
        assert_eq!(staff["row_count_known"], false, "{staff}");
        assert_eq!(staff["columns"].as_array().unwrap().len(), 4, "{staff}");
    }
    let found = door
        .host
        .get("/datasources/crew/catalog?search=salary")
        .key(&door.key)
        .await;
    assert_eq!(found.expect_status(200).json()["total_tables"], 0);
    // Editors write policies, so they see what they write them for.
    let all = door
        .host
        .get("/datasources/crew/catalog")
        .await
        .expect_status(200);
    assert!(all.text().contains("salary"));
}

#[tokio::test]
async fn model_and_mcp_learn_no_more_than_the_caller() {
    let door = on_sqlite().await;
    let turns = [
        Turn::call("search_catalog", json!({"query": "salary"})),
        Turn::call("describe_tables", json!({"tables": ["staff"]})),
        Turn::call("run_sql", json!({"sql": "SELECT * FROM staff"})),
        Turn::call("run_sql", json!({"sql": "SELECT salary FROM staff"})),
        Turn::call(
            "run_sql",
            json!({"sql": "SELECT name FROM staff WHERE tenant <> 'acme'"}),
        ),
        Turn::text("Done."),
    ];
    let model = ScriptedModel::start(turns).await;
    door.host.scripted_provider("scripted", &model).await;
    let body = json!({"provider": "scripted"});
    door.host.put("/minds/team", body).await.expect_status(200);
    let body = json!({"model": "team", "input": "What do all earn?"});
    let answered = door
        .host
        .post("/responses", body)
        .key(&door.key)
        .await
        .expect_status(200);
    no_secret("the answer", &answered.text());
    let last = model.asked().pop().unwrap().body["messages"].clone();
    let told: Vec<&Value> = last
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["role"] == "tool")
        .collect();
    assert_eq!(told.len(), 5, "{last}");
    for one in &told {
        no_secret("a tool of the model", &one.to_string());
    }
    assert!(!told[1].to_string().contains("salary"), "{}", told[1]);
    assert!(told[2].to_string().contains("****4444"), "{}", told[2]);

    for (tool, arguments) in [
        (
            "describe_tables",
            json!({"mind": "team", "tables": ["staff"]}),
        ),
        (
            "describe_tables",
            json!({"mind": "team", "search": "salary"}),
        ),
        (
            "run_sql",
            json!({"mind": "team", "sql": "SELECT * FROM staff"}),
        ),
    ] {
        let call = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
        let request = door
            .host
            .request(reqwest::Method::POST, "/mcp")
            .key(&door.key)
            .json(&body);
        let request = request.header("accept", "application/json, text/event-stream");
        let reply = request.header("mcp-protocol-version", "2025-06-18").await;
        let reply = reply.expect_status(200);
        no_secret(tool, &reply.text());
        assert!(
            !reply.text().contains("\"salary\"") && !reply.text().contains("salary\\\""),
            "{}",
            reply.text()
        );
    }
}

#[tokio::test]
async fn policy_that_no_longer_fits_closes_its_table() {
    let door = on_sqlite().await;
    let file = door.host.files_dir().join("crew.db");
    let direct = rusqlite::Connection::open(file).unwrap();
    direct
        .execute_batch("ALTER TABLE staff RENAME COLUMN tenant TO owner")
        .unwrap();
    // Before the catalog knows, the engine refuses the filter; it does not take the name for a text.
    let refused = door.sql("SELECT id FROM staff").await;
    assert_ne!(refused.status, 200, "{}", refused.text());
    door.host
        .post(
            "/datasources/crew/catalog/refresh?wait=60",
            json!({"mode": "all"}),
        )
        .await
        .expect_status(200);
    let closed = door.sql("SELECT id FROM staff").await;
    let error = closed.expect_error(400, "sql_table_closed");
    assert!(!error.to_string().contains("tenant"), "{error}");
    door.sql("SELECT id FROM teams").await.expect_status(200);
    let shown = door
        .host
        .get("/minds/team/policies")
        .await
        .expect_status(200)
        .json();
    let problem = shown["policies"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("tenant"), "{shown}");
}
