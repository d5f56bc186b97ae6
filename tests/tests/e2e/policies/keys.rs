//! The policies of keys: they hold through every Mind, besides those of the Mind.

mod making;
mod moved;
mod withheld;

use mindhost_tests::{Host, Postgres, Reply, Request, Value, json};

use crate::stores;

/// Rows 3 and 4 are another tenant's.
const CREW: &str = "
    CREATE TABLE staff (id INTEGER PRIMARY KEY, tenant VARCHAR(20) NOT NULL, name VARCHAR(40) NOT NULL,
        salary INTEGER NOT NULL, card VARCHAR(20) NOT NULL);
    INSERT INTO staff VALUES (1, 'acme', 'Ann', 41733, '1111222233334444'),
        (2, 'acme', 'Bob', 52911, '5555666677778888'),
        (3, 'rival', 'Eve Zwicky', 77347, '9999000011112222'),
        (4, 'rival', 'Max Zwicky', 88139, '3333000044440000');
    CREATE TABLE teams (id INTEGER PRIMARY KEY, boss INTEGER NOT NULL, name VARCHAR(40));
    INSERT INTO teams VALUES (1, 1, 'red'), (2, 3, 'blue');";

/// What the holder of the key must not learn.
const SECRETS: [&str; 8] = [
    "rival", "Zwicky", "41733", "52911", "77347", "88139", "salary", "11112222",
];

/// A host with the datasource `crew` and the Mind `open` over it, without policies.
async fn crew(host: Host) -> Host {
    host.sqlite("crew", CREW).await.load().await;
    let mind = host.mind("open").datasource("crew").direct_queries();
    mind.create().await;
    host
}

fn policy(rest: &Value) -> Value {
    let mut policy = json!({"datasource": "crew", "table": "staff"});
    for (name, value) in rest.as_object().unwrap() {
        policy[name] = value.clone();
    }
    policy
}

/// The own rows, without what they earn.
fn own_rows() -> Value {
    policy(
        &json!({"filter": "tenant = {{caller.tenant}}", "hidden": ["salary"], "masked": {"card": "last4"}}),
    )
}

fn body(policies: &[Value]) -> Value {
    json!({"name": "clerk", "role": "user", "attributes": {"tenant": "acme"}, "policies": policies})
}

async fn make(host: &Host, policies: &[Value]) -> Value {
    host.post("/keys", body(policies))
        .await
        .expect_status(201)
        .json()
}

async fn key(host: &Host, policies: &[Value]) -> String {
    let made = make(host, policies).await;
    made["key"].as_str().unwrap().to_owned()
}

async fn sql(host: &Host, key: &str, mind: &str, sql: &str) -> Reply {
    let tool = json!({"type": "sql_query", "query": sql});
    let body = json!({"model": mind, "tools": [tool]});
    host.post("/responses", body).key(key).await
}

async fn rows(host: &Host, key: &str, mind: &str, statement: &str) -> Value {
    let reply = sql(host, key, mind, statement).await.expect_status(200);
    reply.json()["output"][0]["data"].clone()
}

fn no_secret(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what}: {secret} in {text}");
    }
}

#[tokio::test]
async fn policies_of_a_key_hold_through_every_mind() {
    for host in stores::both().await {
        let host = crew(host).await;
        let made = make(&host, &[own_rows()]).await;
        let bound = made["key"].as_str().unwrap();
        let shown = &made["policies"][0];
        assert_eq!(shown["table"], "main.staff", "{made}");
        assert_eq!(shown["masked"], json!({"card": "last4"}), "{made}");
        assert_eq!(shown["problem"], Value::Null, "{made}");
        // Also through a Mind that was made later.
        let later = host.mind("later").tables("crew", &["staff"]);
        later.direct_queries().create().await;
        for mind in ["open", "later"] {
            let seen = rows(&host, bound, mind, "SELECT * FROM staff ORDER BY id").await;
            let expected = json!([
                [1, "acme", "Ann", "****4444"],
                [2, "acme", "Bob", "****8888"]
            ]);
            assert_eq!(seen, expected);
            let hidden = sql(&host, bound, mind, "SELECT salary FROM staff").await;
            hidden.expect_error(400, "sql_invalid");
        }
        let free = key(&host, &[]).await;
        let all = rows(
            &host,
            &free,
            "open",
            "SELECT count(*), sum(salary) FROM staff",
        )
        .await;
        assert_eq!(all[0][0], 4, "{all}");
    }
}

#[tokio::test]
async fn policies_of_the_key_and_of_the_mind_both_hold() {
    let host = crew(Host::start().await).await;
    let of_mind = policy(&json!({"filter": "id <> 1", "hidden": ["salary"],
            "masked": {"card": "last4", "name": {"sql": "substr(name, 1, 1)"}}}));
    let set = host.put("/minds/open/policies", json!({"policies": [of_mind]}));
    set.await.expect_status(200);
    let see = async |rest: Value| {
        let key = key(&host, &[policy(&rest)]).await;
        rows(&host, &key, "open", "SELECT * FROM staff ORDER BY id").await
    };
    // Both filters; the mask of the Mind stays.
    let seen = see(json!({"filter": "tenant = {{caller.tenant}}"})).await;
    assert_eq!(seen, json!([[2, "acme", "B", "****8888"]]));
    // The same mask twice is that mask, another one is none that shows anything.
    let seen =
        see(json!({"filter": "id = 2", "masked": {"card": "last4", "name": {"text": "x"}}})).await;
    assert_eq!(seen, json!([[2, "acme", null, "****8888"]]));
    // Hidden by one is hidden.
    let seen = see(json!({"filter": "id = 2", "hidden": ["card", "tenant"]})).await;
    assert_eq!(seen, json!([[2, "B"]]));
    // A mask of the key shows nothing that the Mind hides or masks.
    let seen =
        see(json!({"filter": "id = 2", "masked": {"tenant": {"sql": "tenant || salary || name"}}}))
            .await;
    assert_eq!(seen, json!([[2, null, "B", "****8888"]]));
    // Together they hide everything.
    let key = key(
        &host,
        &[policy(&json!({"hidden": ["id", "tenant", "name", "card"]}))],
    )
    .await;
    let closed = sql(&host, &key, "open", "SELECT 1 FROM staff").await;
    closed.expect_error(400, "sql_table_closed");
    // A Mind without policies shows more, but never what the key withholds.
    let free = host.mind("free").datasource("crew").direct_queries();
    free.create().await;
    let seen = rows(
        &host,
        &key,
        "free",
        "SELECT * FROM staff ORDER BY salary LIMIT 1",
    )
    .await;
    assert_eq!(seen, json!([[41733]]));
}

#[tokio::test]
async fn policy_that_does_not_fit_makes_no_key() {
    let host = crew(Host::start().await).await;
    for (rest, code, param) in [
        (
            json!({"filter": "tenat = 'x'"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"filter": "id IN (SELECT 1)"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"hidden": ["Salary"]}),
            "invalid_policy",
            "policies[0].hidden[0]",
        ),
        (
            json!({"masked": {"card": {"sql": "max(card)"}}}),
            "invalid_policy",
            "policies[0].masked.card",
        ),
        // Neither the policy nor the attributes can be changed later.
        (
            json!({"filter": "tenant = {{caller.region}}"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"masked": {"card": {"sql": "{{caller.region}}"}}}),
            "invalid_policy",
            "policies[0].masked.card",
        ),
        (json!({}), "invalid_policy", "policies[0]"),
        (
            json!({"table": "nothing", "hidden": ["id"]}),
            "unknown_table",
            "policies[0].table",
        ),
        (
            json!({"datasource": "x", "hidden": ["id"]}),
            "unknown_datasource",
            "policies[0].datasource",
        ),
    ] {
        let reply = host.post("/keys", body(&[policy(&rest)])).await;
        let error = reply.expect_error(422, code);
        assert_eq!(error["param"], param, "{rest}: {error}");
    }
    let twice = [
        own_rows(),
        policy(&json!({"table": "main.staff", "hidden": ["card"]})),
    ];
    let error = host.post("/keys", body(&twice)).await;
    let error = error.expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "policies[1]", "{error}");
    let listed = host.get("/keys").await.json();
    let names = listed.as_array().unwrap().iter().map(|key| &key["name"]);
    assert!(names.clone().all(|name| name != "clerk"), "{listed}");
}

#[tokio::test]
async fn only_keys_with_the_role_user_have_policies() {
    let host = crew(Host::start().await).await;
    for role in ["editor", "admin", "operator"] {
        let mut body = body(&[own_rows()]);
        body["role"] = json!(role);
        let error = host.post("/keys", body).await;
        let error = error.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], "policies", "{error}");
    }
    // So its holder makes no key, no Mind and no policy.
    let bound = key(&host, &[own_rows()]).await;
    let bound = bound.as_str();
    let refused = async |request: Request| {
        request.key(bound).await.expect_error(403, "forbidden");
    };
    refused(host.post("/keys", body(&[]))).await;
    refused(host.post("/minds", host.mind("mine").datasource("crew").body())).await;
    refused(host.put("/minds/open/policies", json!({"policies": []}))).await;
    let preview = json!({"datasource": "crew", "table": "staff"});
    refused(host.post("/minds/open/policies/preview", preview)).await;
    refused(host.post("/minds/open/evaluations", json!({"suite": "x"}))).await;
    // The first key of a workspace is for all of it.
    host.post("/workspaces", json!({"name": "team"}))
        .await
        .expect_status(201);
    let of_workspace = host
        .post("/workspaces/team/keys", body(&[own_rows()]))
        .await;
    assert!(of_workspace.status == 400 || of_workspace.status == 422);
    assert!(
        of_workspace.text().contains("policies"),
        "{}",
        of_workspace.text()
    );
}

#[tokio::test]
async fn policies_are_shown_to_admins_and_outlive_a_new_text() {
    for host in stores::both().await {
        let host = crew(host).await;
        let made = make(&host, &[own_rows()]).await;
        let path = format!("/keys/{}", made["id"].as_str().unwrap());
        let of_key = async || {
            let listed = host.get("/keys").await.expect_status(200).json();
            let mut keys = listed.as_array().unwrap().iter();
            keys.find(|key| key["id"] == made["id"]).unwrap()["policies"].clone()
        };
        assert_eq!(of_key().await, made["policies"]);
        // Not to the holder, for whom the hidden column does not exist.
        let own = host.get("/keys/current").key(made["key"].as_str().unwrap());
        no_secret("the own key", &own.await.expect_status(200).text());
        let renewed = host.post(&format!("{path}/rotate"), json!({})).await;
        let renewed = renewed.expect_status(200).json();
        assert_eq!(renewed["policies"], made["policies"]);
        let seen = rows(
            &host,
            renewed["key"].as_str().unwrap(),
            "open",
            "SELECT * FROM staff",
        )
        .await;
        no_secret("rows", &seen.to_string());
        // Nothing changes them.
        let change = json!({"policies": []});
        let refused = host.post(&format!("{path}/rotate"), change.clone()).await;
        assert!(refused.status == 400 || refused.status == 422);
        assert_eq!(host.patch(&path, change).await.status, 405);
        // What no longer fits is said there.
        let direct = rusqlite::Connection::open(host.files_dir().join("crew.db")).unwrap();
        direct
            .execute_batch("ALTER TABLE staff RENAME COLUMN tenant TO owner")
            .unwrap();
        let refresh = json!({"mode": "all"});
        host.post("/datasources/crew/catalog/refresh?wait=60", refresh)
            .await
            .expect_status(200);
        let problem = of_key().await[0]["problem"].clone();
        assert!(problem.as_str().unwrap().contains("tenant"), "{problem}");
    }
}

#[tokio::test]
async fn admin_for_some_minds_gives_and_sees_policies_of_their_tables_only() {
    let host = crew(Host::start().await).await;
    host.mind("few").tables("crew", &["teams"]).create().await;
    let limited = json!({"name": "lead", "role": "admin", "minds": ["few"]});
    let limited = host.post("/keys", limited).await.expect_status(201).json();
    let limited = limited["key"].as_str().unwrap();
    let with = |policy: Value| {
        let mut body = body(&[policy]);
        body["minds"] = json!(["few"]);
        body
    };
    let teams = policy(&json!({"table": "teams", "hidden": ["boss"]}));
    let made = host.post("/keys", with(teams)).key(limited).await;
    assert_eq!(
        made.expect_status(201).json()["policies"][0]["table"],
        "main.teams"
    );
    let other = host.post("/keys", with(own_rows())).key(limited).await;
    other.expect_error(422, "unknown_table");
    // One that another admin made.
    host.post("/keys", with(own_rows()))
        .await
        .expect_status(201);
    let listed = host.get("/keys").key(limited).await.expect_status(200);
    assert!(!listed.text().contains("staff"), "{}", listed.text());
}

#[tokio::test]
async fn policy_binds_whatever_becomes_of_its_datasource() {
    let host = crew(Host::start().await).await;
    let bound = key(&host, &[own_rows()]).await;
    let count = async |mind: &str| {
        let seen = rows(&host, &bound, mind, "SELECT count(*) FROM staff").await;
        seen[0][0].clone()
    };
    assert_eq!(count("open").await, 2);
    // Another name, and another datasource with the old one.
    host.patch("/datasources/crew", json!({"name": "old"}))
        .await
        .expect_status(200);
    assert_eq!(count("open").await, 2);
    host.write_sqlite("second.db", CREW);
    let second = host.datasource("crew", "sqlite", json!({"path": "second.db"}));
    second.await.load().await;
    let mind = host.mind("second").datasource("crew").direct_queries();
    mind.create().await;
    assert_eq!(count("second").await, 2);
    // A key holds up no deletion; afterwards the policy is about tables of this name, wherever they are.
    for (mind, datasource) in [("open", "old"), ("second", "crew")] {
        let path = format!("/minds/{mind}");
        host.delete(&path).await.expect_status(200);
        let path = format!("/datasources/{datasource}");
        host.delete(&path).await.expect_status(204);
    }
    let third = host.datasource("third", "sqlite", json!({"path": "crew.db"}));
    third.await.load().await;
    let mind = host.mind("third").datasource("third").direct_queries();
    mind.create().await;
    assert_eq!(count("third").await, 2);
    let hidden = sql(&host, &bound, "third", "SELECT salary FROM staff").await;
    hidden.expect_error(400, "sql_invalid");
    let catalog = host.get("/datasources/third/catalog").key(&bound).await;
    no_secret("the catalog", &catalog.expect_status(200).text());
    let listed = host.get("/keys").await.json();
    let mut policies = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["policies"][0]);
    let shown = policies
        .find(|policy| policy["table"] == "main.staff")
        .unwrap();
    assert_eq!(shown["datasource"], "crew", "{shown}");
    assert!(
        shown["problem"].as_str().unwrap().contains("deleted"),
        "{shown}"
    );
}

#[tokio::test]
async fn rule_that_no_longer_fits_closes_the_table_for_that_key_alone() {
    let host = crew(Host::start().await).await;
    let bound = key(&host, &[policy(&json!({"hidden": ["salary"]}))]).await;
    let free = key(&host, &[]).await;
    let direct = rusqlite::Connection::open(host.files_dir().join("crew.db")).unwrap();
    direct
        .execute_batch("ALTER TABLE staff RENAME COLUMN salary TO salary_now")
        .unwrap();
    let refresh = json!({"mode": "all"});
    host.post("/datasources/crew/catalog/refresh?wait=60", refresh)
        .await
        .expect_status(200);
    let closed = sql(&host, &bound, "open", "SELECT id FROM staff").await;
    let error = closed.expect_error(400, "sql_table_closed");
    assert!(!error.to_string().contains("salary"), "{error}");
    rows(&host, &bound, "open", "SELECT id FROM teams").await;
    rows(&host, &free, "open", "SELECT salary_now FROM staff").await;
    // The catalog shows no column of it: one of them may be what was hidden.
    let catalog = host.get("/datasources/crew/catalog").key(&bound).await;
    let catalog = catalog.expect_status(200).json();
    let mut tables = catalog["tables"].as_array().unwrap().iter();
    let staff = tables.find(|table| table["name"] == "staff").unwrap();
    assert_eq!(staff["columns"], json!([]), "{staff}");
    assert_eq!(staff["row_count_known"], false, "{staff}");
}

#[tokio::test]
async fn stored_result_is_what_the_key_that_reads_it_may_see() {
    for host in stores::both().await {
        let host = crew(host).await;
        let bound = key(&host, &[own_rows()]).await;
        let statement = "SELECT * FROM staff ORDER BY id";
        let made = sql(&host, &bound, "open", statement).await;
        let made = made.expect_status(200).json();
        let conversation = made["conversation"]["id"].as_str().unwrap();
        let message = made["output"][0]["id"].as_str().unwrap();
        let path = format!("/conversations/{conversation}/items/{message}");
        for part in ["result", "export"] {
            let reply = host.get(&format!("{path}/{part}")).key(&bound).await;
            let text = reply.expect_status(200).text();
            assert!(text.contains("****4444"), "{text}");
            no_secret(part, &text);
        }
        // The admin, who has no policies, reads all of it by the same statement.
        let all = host.get(&format!("{path}/result")).await;
        assert!(all.expect_status(200).text().contains("Zwicky"));
        // One key after the other, with the same text: nothing is shared.
        let free = key(&host, &[]).await;
        for (key, total) in [(&bound, 2), (&free, 4), (&bound, 2), (&free, 4)] {
            let seen = sql(&host, key, "open", statement).await.json();
            assert_eq!(seen["output"][0]["total"], total, "{seen}");
        }
        // A key cannot read what another asked.
        let made = sql(&host, &free, "open", statement).await.json();
        let other = made["conversation"]["id"].as_str().unwrap();
        let item = made["output"][0]["id"].as_str().unwrap();
        let path = format!("/conversations/{other}/items/{item}/result");
        host.get(&path).key(&bound).await.expect_status(404);
    }
}

#[tokio::test]
async fn link_to_the_console_hands_over_the_policies_with_the_key() {
    let host = crew(Host::start().await).await;
    let bound = key(&host, &[own_rows()]).await;
    let made = host
        .post("/console/links", json!({"key": bound}))
        .key(&bound);
    let made = made.await.expect_status(201).json();
    let path = made["path"].as_str().unwrap();
    let (_, code) = path.rsplit_once('=').unwrap();
    let signed_in = host.post("/console/sign-in", json!({"code": code}));
    let signed_in = signed_in.without_key().await.expect_status(200).json();
    let of_console = signed_in["key"].as_str().unwrap();
    let seen = rows(&host, of_console, "open", "SELECT * FROM staff").await;
    no_secret("rows", &seen.to_string());
}

#[tokio::test]
async fn catalog_and_mcp_show_no_more_than_statements_do() {
    let database = Postgres::shared().database(CREW).await;
    let host = Host::start().await;
    host.postgres("crew", &database).await.load().await;
    let mind = host.mind("open").datasource("crew").direct_queries();
    mind.create().await;
    let bound = key(&host, &[own_rows()]).await;
    let free = key(&host, &[]).await;
    let path = "/datasources/crew/catalog";
    let all = host.get(path).key(&free).await.expect_status(200).text();
    assert!(all.contains("salary"), "{all}");
    for path in [
        path,
        "/datasources/crew/catalog?mind=open",
        "/datasources/crew/catalog?search=staff",
    ] {
        let reply = host.get(path).key(&bound).await.expect_status(200);
        no_secret(path, &reply.text());
        let tables = reply.json()["tables"].clone();
        let mut tables = tables.as_array().unwrap().iter();
        let staff = tables.find(|one| one["name"] == "staff").unwrap();
        assert_eq!(staff["row_count_known"], false, "{staff}");
        assert_eq!(staff["columns"].as_array().unwrap().len(), 4, "{staff}");
    }
    let found = host.get("/datasources/crew/catalog?search=salary");
    let found = found.key(&bound).await.expect_status(200).json();
    assert_eq!(found["total_tables"], 0, "{found}");
    for (tool, arguments) in [
        (
            "describe_tables",
            json!({"mind": "open", "tables": ["staff"]}),
        ),
        (
            "run_sql",
            json!({"mind": "open", "sql": "SELECT * FROM staff"}),
        ),
        (
            "run_sql",
            json!({"mind": "open", "sql": "SELECT row_to_json(s) FROM staff AS s"}),
        ),
    ] {
        let call = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
        let request = host.request(reqwest::Method::POST, "/mcp").key(&bound);
        let request = request.json(&body);
        let request = request.header("accept", "application/json, text/event-stream");
        let reply = request.header("mcp-protocol-version", "2025-06-18").await;
        let told = reply.expect_status(200).text();
        no_secret(tool, &told);
        if tool == "describe_tables" {
            // A statistic that is withheld is unknown, not zero.
            let told = told.replace(['\\', ' '], "");
            assert!(told.contains("\"null_percentage\":null"), "{told}");
            assert!(!told.contains("\"null_percentage\":0"), "{told}");
        }
    }
}

#[tokio::test]
async fn function_of_the_database_reads_around_no_policy() {
    let functions = "CREATE SCHEMA app;
        CREATE FUNCTION app.earned() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT sum(salary) FROM public.staff';";
    let database = Postgres::shared()
        .database(&format!("{CREW}{functions}"))
        .await;
    let host = Host::start().await;
    host.postgres("crew", &database).await.load().await;
    let allowed = json!({"function_schemas": ["app"]});
    host.patch("/datasources/crew", allowed)
        .await
        .expect_status(200);
    // The Mind does not even have the table.
    let mind = host
        .mind("open")
        .tables("crew", &["teams"])
        .direct_queries();
    mind.create().await;
    let earned = "SELECT app.earned() AS n FROM teams LIMIT 1";
    let free = key(&host, &[]).await;
    let sum = rows(&host, &free, "open", earned).await;
    assert!(sum.to_string().contains("260130"), "{sum}");
    let bound = key(&host, &[own_rows()]).await;
    let refused = sql(&host, &bound, "open", earned).await;
    refused.expect_error(400, "sql_function_not_allowed");
}

#[tokio::test]
async fn statement_over_several_datasources_keeps_the_policies_of_the_key() {
    let host = crew(Host::start().await).await;
    let ids =
        "CREATE TABLE ids (id INTEGER PRIMARY KEY); INSERT INTO ids VALUES (1), (2), (3), (4);";
    host.sqlite("lite", ids).await.load().await;
    let both = host.mind("both").datasource("crew").datasource("lite");
    both.direct_queries().create().await;
    let bound = key(&host, &[own_rows()]).await;
    let joined =
        "SELECT s.id, s.card FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id ORDER BY 1";
    let seen = rows(&host, &bound, "both", joined).await;
    assert_eq!(seen, json!([[1, "****4444"], [2, "****8888"]]));
    let hidden = "SELECT max(s.salary) AS m FROM crew.staff AS s JOIN lite.ids AS i ON i.id = s.id";
    let refused = sql(&host, &bound, "both", hidden).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[tokio::test]
async fn row_of_a_key_with_other_policies_is_no_key() {
    let host = crew(Host::start().await).await;
    let policy = policy(&json!({"filter": "tenant = 'acme'"}));
    for change in [
        "policies = NULL",
        "policies = '[]'",
        "policies = replace(policies, 'acme', 'rival')",
    ] {
        let body = json!({"name": "clerk", "role": "user", "policies": [policy]});
        let made = host.post("/keys", body).await.expect_status(201).json();
        let bound = made["key"].as_str().unwrap();
        host.get("/minds").key(bound).await.expect_status(200);
        host.shut_down().await;
        let store = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
        let sql = format!("UPDATE keys SET {change} WHERE id = ?1");
        let changed = store.execute(&sql, [made["id"].as_str().unwrap()]).unwrap();
        assert_eq!(changed, 1, "{change}");
        drop(store);
        host.restart().await;
        let refused = host.get("/minds").key(bound).await;
        refused.expect_error(401, "invalid_api_key");
    }
}
