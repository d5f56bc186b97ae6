//! `GET /conversations`, and the notes of a conversation.

use mindhost_tests::{Host, Value, json};

use crate::{
    responses::{running::id, shop},
    stores,
};

async fn make(host: &Host, key: &str) -> String {
    let made = host.post("/conversations", json!({})).key(key).await;
    id(&made.expect_status(200).json())
}

async fn key(host: &Host, body: Value) -> String {
    let made = host.post("/keys", body).await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

fn ids(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().unwrap().iter();
    data.map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_key_lists_its_own_in_both_orders_with_stable_cursors() {
    for host in stores::both().await {
        let one = key(&host, json!({"name": "one", "role": "user"})).await;
        let mut made = Vec::new();
        for _ in 0..5 {
            made.push(make(&host, &one).await);
        }
        let other = make(&host, host.key()).await;
        let list = async |query: &str| {
            let list = host.get(&format!("/conversations{query}")).key(&one).await;
            list.expect_status(200).json()
        };
        let all = list("?order=asc").await;
        assert_eq!(ids(&all), made);
        assert_eq!(
            (
                &all["object"],
                &all["has_more"],
                &all["first_id"],
                &all["last_id"]
            ),
            (
                &json!("list"),
                &json!(false),
                &json!(made[0]),
                &json!(made[4])
            )
        );
        let newest = list("?limit=2").await;
        assert_eq!(ids(&newest), [&*made[4], &*made[3]]);
        assert_eq!(newest["has_more"], true);
        // One that is made in the meantime moves nothing.
        let late = make(&host, &one).await;
        let next = list(&format!("?limit=2&after=conv_{}", made[3])).await;
        assert_eq!(ids(&next), [&*made[2], &*made[1]]);
        let rest = list(&format!("?limit=100&after={}", made[1])).await;
        assert_eq!(
            (ids(&rest), &rest["has_more"]),
            (vec![&*made[0]], &json!(false))
        );
        // One that was deleted, or is another's, is still a place between others.
        let gone = format!("/conversations/{}", made[2]);
        host.delete(&gone).key(&one).await.expect_status(200);
        let behind = list(&format!("?after={}", made[2])).await;
        assert_eq!(ids(&behind), [&*made[1], &*made[0]]);
        assert_eq!(ids(&list(&format!("?after={other}")).await).len(), 4);
        for (query, status, code) in [
            ("limit=0", 400, "invalid_parameter"),
            ("limit=101", 400, "invalid_parameter"),
            ("order=sideways", 400, "invalid_parameter"),
            ("after=nonsense", 404, "conversation_not_found"),
        ] {
            let refused = host.get(&format!("/conversations?{query}")).key(&one).await;
            refused.expect_error(status, code);
        }
        // An admin may read all of the workspace.
        let everybody = host.get("/conversations").await.expect_status(200).json();
        assert_eq!(ids(&everybody)[..2], [&*late, &*other]);
    }
}

#[tokio::test]
async fn a_key_for_some_minds_lists_theirs_alone() {
    let (host, mind) = shop().await;
    host.mind("open")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    let closed = mind.sql("SELECT 1").await.expect_status(200).json();
    let tool = json!({"type": "sql_query", "query": "SELECT 1"});
    let open = json!({"model": "open", "tools": [tool]});
    let open = host
        .post("/responses", open)
        .await
        .expect_status(200)
        .json();
    let limited = json!({"name": "limited", "role": "admin", "minds": ["open"]});
    let limited = key(&host, limited).await;
    let list = host.get("/conversations").key(&limited).await.json();
    assert_eq!(ids(&list), [id(&open["conversation"])]);
    let list = host.get("/conversations").await.json();
    assert_eq!(
        ids(&list),
        [id(&open["conversation"]), id(&closed["conversation"])]
    );
}

#[tokio::test]
async fn a_conversation_shows_the_name_that_its_mind_has_now() {
    for host in stores::both().await {
        host.sqlite("shop", "CREATE TABLE t (a)").await.load().await;
        let mind = host.mind("before").datasource("shop").direct_queries();
        let mind = mind.create().await;
        let asked = mind.sql("SELECT 1").await.expect_status(200).json();
        let path = format!("/conversations/{}", id(&asked["conversation"]));
        let shown = async |name: &str| {
            assert_eq!(host.get(&path).await.json()["model"], name);
            let list = host.get("/conversations").await.json();
            assert_eq!(list["data"][0]["model"], name);
        };
        shown("before").await;
        let renamed = host.put("/minds/before", json!({"name": "after"})).await;
        renamed.expect_status(200);
        shown("after").await;
        let tool = json!({"type": "sql_query", "query": "SELECT 2"});
        let conversation = &asked["conversation"]["id"];
        let again = json!({"model": "after", "tools": [tool], "conversation": conversation});
        host.post("/responses", again).await.expect_status(200);
        host.delete("/minds/after").await.expect_status(200);
        shown("after").await;
    }
}

#[tokio::test]
async fn notes_are_replaced_within_their_limits() {
    let host = Host::start().await;
    let made = host
        .post(
            "/conversations",
            json!({"metadata": {"topic": "x", "by": "me"}}),
        )
        .await
        .json();
    let path = format!("/conversations/{}", id(&made));
    let updated = host.post(&path, json!({"metadata": {"topic": "y"}})).await;
    let updated = updated.expect_status(200).json();
    assert_eq!(updated["metadata"], json!({"topic": "y"}));
    assert_eq!(host.get(&path).await.json(), updated);
    let many: serde_json::Map<_, _> = (0..17).map(|n| (n.to_string(), json!("v"))).collect();
    for metadata in [
        json!(many),
        json!({"k".repeat(65): "v"}),
        json!({"k": "v".repeat(513)}),
        json!({"k": 1}),
    ] {
        let body = json!({"metadata": metadata});
        for path in ["/conversations", &path] {
            let error = host.post(path, body.clone()).await;
            assert_eq!(
                error.expect_error(400, "invalid_parameter")["param"],
                "metadata"
            );
        }
        let ask = json!({"model": "m", "input": "x", "metadata": metadata});
        host.post("/responses", ask)
            .await
            .expect_error(400, "invalid_parameter");
    }
    host.post(&path, json!({}))
        .await
        .expect_error(400, "invalid_body");
    assert_eq!(host.get(&path).await.json(), updated);
}

#[tokio::test]
async fn search_finds_questions_answers_statements_and_metadata() {
    for host in stores::both().await {
        let one = key(&host, json!({"name": "one", "role": "user"})).await;
        let say = async |text: &str, metadata: Value| {
            let items = json!([{"role": "user", "content": text}]);
            let body = json!({"items": items, "metadata": metadata});
            let made = host.post("/conversations", body).key(&one).await;
            id(&made.expect_status(200).json())
        };
        let quoted = say("Which \"Refunds\" were 100% paid?\nBy_name", json!({})).await;
        let plain = say("How many orders?", json!({"title": "Weekly"})).await;
        // What others say is not found.
        make(&host, host.key()).await;
        let found = async |search: &str| {
            let search: String = search.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let path = format!("/conversations?search={search}&order=asc");
            let list = host.get(&path).key(&one).await.expect_status(200).json();
            ids(&list)
                .iter()
                .map(|id| (*id).to_owned())
                .collect::<Vec<_>>()
        };
        for (search, expected) in [
            ("refunds", &[&quoted][..]),
            ("\"Refunds\"", &[&quoted]),
            ("100%", &[&quoted]),
            ("paid?\nBy_", &[&quoted]),
            ("WEEKLY", &[&plain]),
            ("r", &[&quoted, &plain]),
            // Neither the letters of the storage format nor patterns are text.
            ("input_text", &[]),
            ("type", &[]),
            ("100_", &[]),
            ("B%name", &[]),
            ("!", &[]),
            ("' OR 1=1 --", &[]),
        ] {
            let expected: Vec<_> = expected.iter().map(|id| (*id).clone()).collect();
            assert_eq!(found(search).await, expected, "{search}");
        }
        for search in ["", &"x".repeat(201)] {
            let refused = host.get(&format!("/conversations?search={search}")).await;
            assert_eq!(
                refused.expect_error(400, "invalid_parameter")["param"],
                "search"
            );
        }
    }
    let (host, mind) = shop().await;
    mind.sql("SELECT name AS berlin FROM customers")
        .await
        .expect_status(200);
    let list = host.get("/conversations?search=berlin").await.json();
    assert_eq!(ids(&list).len(), 1, "{list}");
}
