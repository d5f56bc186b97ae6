//! `/minds`

mod evaluations;
mod feedback;
mod knowledge;

use mindhost_tests::{Host, Value, eventually, json};

use crate::stores;

const SHOP: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT); \
                    CREATE TABLE sale (id INTEGER PRIMARY KEY, item INTEGER REFERENCES item (id));";

#[tokio::test]
async fn a_mind_shows_every_field() {
    for host in stores::both().await {
        host.sqlite("shop", SHOP).await;
        let body = json!({
            "name": "sales",
            "datasources": ["shop"],
            "parameters": {"system_prompt": "Be brief.", "is_demo": true, "color": {"own": [9_007_199_254_740_993_u64]}},
        });
        let made = host
            .post("/minds", body.clone())
            .await
            .expect_status(200)
            .json();
        assert_eq!(made["name"], "sales");
        assert_eq!(made["datasources"], json!(["shop"]));
        assert_eq!(
            made["datasource_tables"],
            json!([{"name": "shop", "tables": null}])
        );
        assert_eq!(made["provider"], "offline");
        assert_eq!(made["model_name"], "offline");
        assert_eq!(
            made["parameters"], body["parameters"],
            "unknown parameters are kept"
        );
        assert_eq!(made["modified_at"], made["updated_at"]);
        for field in ["created_at", "updated_at"] {
            let date = made[field].as_str().unwrap();
            // Sun, 06 Nov 1994 08:49:37 GMT
            assert!(
                date.len() == 29 && date.ends_with(" GMT") && &date[3..5] == ", ",
                "{date}"
            );
        }
        for field in ["overall_status", "progress", "message", "active_flow_runs"] {
            assert!(made["status"].get(field).is_some(), "{made}");
        }
        let read = host.get("/minds/sales").await.expect_status(200).json();
        assert_eq!(read["parameters"], made["parameters"]);
        let listed = host.get("/minds").await.expect_status(200).json();
        assert_eq!(listed[0]["name"], "sales");
    }
}

#[tokio::test]
async fn making_a_mind_loads_what_was_never_loaded_of_its_tables() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    assert_eq!(shop.table("item").await["status"], "NOT_CATALOGED");
    host.mind("items").tables("shop", &["item"]).create().await;
    let shown = eventually(
        async || host.get("/minds/items").await.json(),
        |mind| {
            ["COMPLETED", "FAILED"].contains(&mind["status"]["overall_status"].as_str().unwrap())
        },
    )
    .await;
    assert_eq!(shown["status"]["overall_status"], "COMPLETED", "{shown}");
    assert_eq!(shown["status"]["progress"], 1.0);
    assert_eq!(shown["status"]["active_flow_runs"], 0);
    assert_eq!(shop.table("item").await["status"], "COMPLETED");
    assert_eq!(shop.table("sale").await["status"], "NOT_CATALOGED");
}

#[tokio::test]
async fn put_keeps_what_it_does_not_name_and_replaces_what_it_does() {
    for host in stores::both().await {
        host.sqlite("shop", SHOP).await;
        let made = host
            .mind("a")
            .tables("shop", &["item"])
            .parameter("is_demo", json!(true))
            .parameter("x", json!(1));
        made.create().await;
        let put = async |name: &str, body: Value| {
            host.put(&format!("/minds/{name}"), body)
                .await
                .expect_status(200)
                .json()
        };
        let renamed = put("a", json!({"name": "b"})).await;
        assert_eq!(renamed["name"], "b");
        assert_eq!(renamed["parameters"], json!({"is_demo": true, "x": 1}));
        assert_eq!(
            renamed["datasource_tables"],
            json!([{"name": "shop", "tables": ["main.item"]}])
        );
        host.get("/minds/a")
            .await
            .expect_error(404, "mind_not_found");

        let replaced = put("b", json!({"parameters": {"y": 2}})).await;
        assert_eq!(
            replaced["parameters"],
            json!({"y": 2}),
            "parameters are replaced as a whole"
        );
        let all = put("b", json!({"datasources": [{"name": "shop"}]})).await;
        assert_eq!(
            all["datasource_tables"],
            json!([{"name": "shop", "tables": null}])
        );
        let none = put("b", json!({"datasources": []})).await;
        assert_eq!(none["datasources"], json!([]));

        host.mind("c").create().await;
        let taken = host.put("/minds/b", json!({"name": "c"})).await;
        assert_eq!(taken.expect_error(409, "name_taken")["param"], "name");
        host.put("/minds/nobody", json!({}))
            .await
            .expect_error(404, "mind_not_found");
    }
}

#[tokio::test]
async fn one_of_several_concurrent_renames_succeeds() {
    for host in stores::both().await {
        host.mind("race").create().await;
        let rename = |number: u32| {
            let body = json!({"name": format!("race{number}")});
            tokio::spawn(host.put("/minds/race", body).attempt())
        };
        let replies = futures_util::future::join_all((0..8).map(rename)).await;
        let replies: Vec<_> = replies
            .into_iter()
            .map(|one| one.unwrap().unwrap())
            .collect();
        let renamed: Vec<_> = replies.iter().filter(|one| one.status == 200).collect();
        assert_eq!(renamed.len(), 1);
        for refused in replies.iter().filter(|one| one.status != 200) {
            refused.expect_error(404, "mind_not_found");
        }
        let minds = host.get("/minds").await.json();
        assert_eq!(minds.as_array().unwrap().len(), 1);
        assert_eq!(minds[0]["name"], renamed[0].json()["name"]);
    }
}

#[tokio::test]
async fn delete_says_what_it_deleted_and_takes_a_body() {
    for host in stores::both().await {
        host.mind("a").create().await;
        let deleted = host
            .delete("/minds/a")
            .json(&json!({}))
            .await
            .expect_status(200);
        assert_eq!(deleted.json(), json!({"name": "a", "deleted": true}));
        host.delete("/minds/a")
            .await
            .expect_error(404, "mind_not_found");
        assert_eq!(host.get("/minds").await.json(), json!([]));
    }
}

#[tokio::test]
async fn demo_minds_can_be_listed_apart() {
    let host = Host::start().await;
    host.mind("demo")
        .parameter("is_demo", json!(true))
        .create()
        .await;
    host.mind("plain").create().await;
    for (path, expected) in [
        ("/minds", vec!["demo", "plain"]),
        ("/minds?is_demo=true", vec!["demo"]),
        ("/minds?is_demo=false", vec!["plain"]),
    ] {
        let listed = host.get(path).await.json();
        let names: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|mind| mind["name"].clone())
            .collect();
        assert_eq!(names, expected, "{path}");
    }
}

#[tokio::test]
async fn bad_minds_are_refused_and_nothing_is_made() {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await;
    let named = |name: &str| json!({"name": name, "datasources": []});
    let over = |datasources: Value| json!({"name": "m", "datasources": datasources});
    let with =
        |parameters: Value| json!({"name": "m", "datasources": [], "parameters": parameters});
    for (body, status, code, param) in [
        (named(""), 400, "invalid_parameter", "name"),
        (named("1a"), 400, "invalid_parameter", "name"),
        (named("a.b"), 400, "invalid_parameter", "name"),
        (named(&"a".repeat(65)), 400, "invalid_parameter", "name"),
        (
            over(json!(["nothing"])),
            422,
            "unknown_datasource",
            "datasources[0]",
        ),
        (
            over(json!(["shop", "shop"])),
            400,
            "invalid_parameter",
            "datasources[1]",
        ),
        (
            over(json!([{"name": "shop", "tables": ["nothing"]}])),
            422,
            "unknown_table",
            "datasources[0].tables",
        ),
        (
            over(json!([{"name": "shop", "tables": []}])),
            400,
            "invalid_parameter",
            "datasources[0].tables",
        ),
        (
            with(json!({"system_prompt": 1})),
            400,
            "invalid_parameter",
            "parameters.system_prompt",
        ),
        (
            with(json!({"prompt_template": []})),
            400,
            "invalid_parameter",
            "parameters.prompt_template",
        ),
        (
            with(json!({"is_demo": "yes"})),
            400,
            "invalid_parameter",
            "parameters.is_demo",
        ),
        (
            with(json!({"allow_direct_queries": 1})),
            400,
            "invalid_parameter",
            "parameters.allow_direct_queries",
        ),
        (
            json!({"name": "m", "datasources": [], "model_name": "x".repeat(257)}),
            400,
            "invalid_parameter",
            "model_name",
        ),
    ] {
        let error = host
            .post("/minds", body.clone())
            .await
            .expect_error(status, code);
        assert_eq!(error["param"], param, "{body}");
    }
    assert_eq!(host.get("/minds").await.json(), json!([]));
    host.post("/minds", named(&"a".repeat(64)))
        .await
        .expect_status(200);
    host.post("/minds", named(&"a".repeat(64)))
        .await
        .expect_error(409, "name_taken");
}

#[tokio::test]
async fn a_bare_table_name_that_fits_several_tables_is_refused_with_the_candidates() {
    let host = Host::start().await;
    let database = mindhost_tests::Postgres::shared()
        .database("CREATE TABLE item (id int); CREATE SCHEMA old; CREATE TABLE old.item (id int)")
        .await;
    host.postgres("pg", &database).await;
    let error = host.mind("m").tables("pg", &["item"]).attempt().await;
    let error = error.expect_error(409, "ambiguous_table");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("public.item") && message.contains("old.item"),
        "{message}"
    );
    host.mind("m").tables("pg", &["old.item"]).create().await;
}
