//! `/providers`

mod vendors;

use mindhost_tests::{ScriptedModel, Value, json};

use crate::stores;

#[tokio::test]
async fn offline_is_there_from_the_start_and_stays() {
    for host in stores::both().await {
        let all = host.get("/providers").await.expect_status(200).json();
        assert_eq!(all.as_array().unwrap().len(), 1);
        assert_eq!(all[0]["name"], "offline");
        assert_eq!(all[0]["plugin"], "model-offline");
        assert_eq!(all[0]["default"], true);
        host.delete("/providers/offline")
            .await
            .expect_error(409, "wrong_state");
        let renamed = host.patch("/providers/offline", json!({"name": "other"}));
        renamed.await.expect_error(409, "wrong_state");
        host.restart().await;
        assert_eq!(
            host.get("/providers").await.json(),
            all,
            "a restart changes nothing"
        );
    }
}

#[tokio::test]
async fn a_provider_is_made_changed_and_deleted() {
    let model = ScriptedModel::start([]).await;
    for host in stores::both().await {
        let new = json!({"name": "vendor", "plugin": "model-openai", "connection_data": model.connection_data()});
        let reply = host
            .post("/providers", new.clone())
            .await
            .expect_status(201);
        let key = model.connection_data()["api_key"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(!reply.text().contains(&key));
        let made = reply.json();
        assert_eq!(made["connection_data"]["api_key"], "********");
        assert_eq!(made["connection_data"]["model"], "scripted-1");
        assert_eq!(made["default"], false);
        host.post("/providers", new)
            .await
            .expect_error(409, "name_taken");

        let changed = host.patch(
            "/providers/vendor",
            json!({"default": true, "description": "ours"}),
        );
        let changed = changed.await.expect_status(200).json();
        assert_eq!(
            (&changed["default"], &changed["description"]),
            (&json!(true), &json!("ours"))
        );
        let offline = host.get("/providers/offline").await.json();
        assert_eq!(offline["default"], false, "there is one default");
        // A request that read it before and writes it again is refused: it was changed.
        assert_ne!(offline["modified_at"], offline["created_at"]);
        host.delete("/providers/vendor")
            .await
            .expect_error(409, "resource_in_use");
        let none = host.patch("/providers/vendor", json!({"default": false}));
        none.await.expect_error(400, "invalid_parameter");

        let moved = json!({"connection_data": {"base_url": "http://127.0.0.1:9/v1", "api_key": "********"}});
        let moved = host.patch("/providers/vendor", moved).await;
        let error = moved.expect_error(422, "secret_required");
        assert_eq!(error["param"], "connection_data.api_key");

        host.patch("/providers/offline", json!({"default": true}))
            .await
            .expect_status(200);
        host.delete("/providers/vendor").await.expect_status(204);
        host.get("/providers/vendor")
            .await
            .expect_error(404, "provider_not_found");
    }
}

#[tokio::test]
async fn a_mind_keeps_its_provider() {
    let model = ScriptedModel::start([]).await;
    for host in stores::both().await {
        let new = json!({"name": "vendor", "plugin": "model-openai", "connection_data": model.connection_data(), "default": true});
        host.post("/providers", new).await.expect_status(201);
        host.mind("m").create().await;
        let mind = async || host.get("/minds/m").await.json();
        assert_eq!(mind().await["provider"], "vendor");
        assert_eq!(mind().await["model_name"], "scripted-1");
        host.patch("/providers/offline", json!({"default": true}))
            .await
            .expect_status(200);
        assert_eq!(
            mind().await["provider"],
            "vendor",
            "a new default changes no Mind"
        );
        let error = host
            .delete("/providers/vendor")
            .await
            .expect_error(409, "resource_in_use");
        assert!(
            error["message"].as_str().unwrap().contains(" m;"),
            "{error}"
        );

        let unknown = host.mind("n").provider("nobody").attempt().await;
        let error = unknown.expect_error(422, "unknown_provider");
        assert_eq!(error["param"], "provider");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("offline, vendor"),
            "{error}"
        );

        host.put("/minds/m", json!({"provider": "offline"}))
            .await
            .expect_status(200);
        assert_eq!(
            mind().await["model_name"],
            "offline",
            "the old vendor's model is gone with it"
        );
        host.delete("/providers/vendor").await.expect_status(204);
    }
}

#[tokio::test]
async fn bad_providers_are_refused() {
    let host = mindhost_tests::Host::start().await;
    let unreachable = json!({"base_url": "http://127.0.0.1:9/v1"});
    for (body, status, code, param) in [
        (
            json!({"plugin": "model-offline"}),
            400,
            "invalid_body",
            "name",
        ),
        (
            json!({"name": "1", "plugin": "model-offline"}),
            400,
            "invalid_parameter",
            "name",
        ),
        (
            json!({"name": "p", "plugin": "nothing"}),
            422,
            "unknown_plugin",
            "plugin",
        ),
        (
            json!({"name": "p", "plugin": "model-openai", "connection_data": {"color": 1}}),
            400,
            "invalid_connection_data",
            "connection_data.color",
        ),
        (
            json!({"name": "p", "plugin": "model-openai", "connection_data": {"api_key": "********"}}),
            422,
            "secret_required",
            "connection_data.api_key",
        ),
        (
            json!({"name": "p", "plugin": "model-openai", "connection_data": unreachable}),
            400,
            "connection_failed",
            "connection_data",
        ),
    ] {
        let error = host
            .post("/providers", body)
            .await
            .expect_error(status, code);
        assert_eq!(error["param"], param);
    }
    let names: Vec<Value> = host
        .get("/providers")
        .await
        .json()
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(names.len(), 1, "nothing was stored: {names:?}");
}
