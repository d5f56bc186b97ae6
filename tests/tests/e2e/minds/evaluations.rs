//! `/minds/{name}/evaluations`

use mindhost_tests::{Host, ScriptedModel, Turn, Value, eventually, json};

use crate::{
    evaluation::{MARKS, SUITE, clerk, run_sql, turns},
    stores,
};

const PATH: &str = "/minds/clerk/evaluations";

fn start(host: &Host, suite: &str) -> mindhost_tests::Request {
    host.post(PATH, json!({"suite": suite, "jobs": 1}))
}

/// Starts an evaluation and gives its path.
async fn started(host: &Host, suite: &str) -> String {
    let started = start(host, suite).await.expect_status(202).json();
    assert_eq!(started["status"], "running", "{started}");
    format!("{PATH}/{}", started["id"].as_str().unwrap())
}

async fn get(host: &Host, path: &str) -> Value {
    host.get(path).await.expect_status(200).json()
}

/// The evaluation once it has ended.
async fn ended(host: &Host, path: &str) -> Value {
    eventually(
        async || get(host, path).await,
        |one| one["status"] != "running",
    )
    .await
}

#[tokio::test]
async fn each_mark_is_given_as_by_the_command() {
    for host in stores::both().await {
        let model = clerk(&host, turns()).await;
        let path = started(&host, SUITE).await;
        let done = ended(&host, &path).await;
        assert_eq!(done["status"], "completed", "{done}");
        assert_eq!(model.left(), 0);

        let questions = done["questions"].as_array().unwrap();
        let marks = questions.iter().map(|one| (&one["id"], &one["mark"]));
        let expected = MARKS.map(|(id, mark)| (json!(id), json!(mark.as_str())));
        assert!(
            marks.eq(expected.iter().map(|(id, mark)| (id, mark))),
            "{done}"
        );
        assert_eq!(
            questions[1]["why"],
            "no column holds the values of column 1 (3)"
        );
        assert_eq!(questions[1]["unsupported_numbers"], json!(["7"]));
        assert_eq!(questions[0]["repairs"], 1);
        assert_eq!(done["figures"]["accuracy"], 0.4);
        assert_eq!(
            (&done["questions_count"], &done["judged_count"]),
            (&json!(8), &json!(8))
        );
        assert_eq!(
            (&done["suite"], &done["currency"]),
            (&json!("clerk"), &json!("USD"))
        );
        assert_eq!(
            done["figures"]["cost"],
            done["figures"]["input_tokens"].as_f64().unwrap()
        );
        // Its conversations are gone, and it counts as any question of the key does.
        assert_eq!(get(&host, "/conversations").await["data"], json!([]));

        let listed = get(&host, PATH).await;
        let mut one = done.clone();
        one.as_object_mut()
            .unwrap()
            .retain(|field, _| field != "questions" && field != "difference");
        assert_eq!(listed, json!({"object": "list", "data": [one]}));
        host.delete(&path).await.expect_status(204);
        host.get(&path)
            .await
            .expect_error(404, "evaluation_not_found");
        assert_eq!(get(&host, PATH).await["data"], json!([]));
    }
}

#[tokio::test]
async fn two_runs_are_compared_by_the_ids_of_their_questions() {
    let host = Host::start().await;
    let model = clerk(&host, []).await;
    let question = |id: &str| format!("{{id: {id}, question: How many?, rows: [[3]]}}");
    let suite = |ids: &[&str]| {
        let all: Vec<String> = ids.iter().map(|id| question(id)).collect();
        format!("questions: [{}]", all.join(", "))
    };
    let answer = |count: u32| {
        [
            run_sql(&format!("SELECT {count} AS n")),
            Turn::text("Done."),
        ]
    };

    model.play([answer(3), answer(4), answer(3)].concat());
    let before = started(&host, &suite(&["kept", "corrected", "gone"])).await;
    assert_eq!(ended(&host, &before).await["status"], "completed");
    model.play([answer(5), answer(3), answer(3)].concat());
    let now = started(&host, &suite(&["kept", "corrected", "new"])).await;
    ended(&host, &now).await;

    let id = before.rsplit('/').next().unwrap();
    let mut compared = get(&host, &format!("{now}?baseline={id}")).await;
    let difference = compared["difference"].as_object_mut().unwrap();
    // Over the two questions of both runs.
    for figures in ["before", "now"].map(|run| difference.remove(run).unwrap()) {
        assert_eq!(
            (&figures["answerable"], &figures["right"]),
            (&json!(2), &json!(1))
        );
        assert_eq!(figures["repairs"], 0);
        assert!(figures["input_tokens"].as_u64() > Some(0), "{figures}");
        assert!(figures["latency_p95_ms"].is_u64(), "{figures}");
    }
    assert_eq!(
        compared["difference"],
        json!({
            "changed": [
                {"id": "kept", "question": "How many?", "before": "right", "now": "wrong"},
                {"id": "corrected", "question": "How many?", "before": "wrong", "now": "right"},
            ],
            "added": ["new"],
            "removed": ["gone"],
            "accuracy": 0.0,
        })
    );
    assert_eq!(get(&host, &now).await["difference"], Value::Null);
    let unknown = format!("{now}?baseline=0190e4c7-3f2a-7b1c-8d5e-6f708192a3b4");
    host.get(&unknown)
        .await
        .expect_error(404, "evaluation_not_found");
    let first = get(&host, PATH).await["data"][0]["id"].clone();
    assert!(
        now.ends_with(first.as_str().unwrap()),
        "the newest comes first"
    );
}

/// A Mind whose model never answers, and an evaluation that has asked it.
async fn hanging(host: &Host) -> (ScriptedModel, String) {
    let turn = || Turn::text("One moment").and_hang();
    let model = clerk(
        host,
        [
            run_sql("SELECT 3 AS n"),
            Turn::text("Three."),
            turn(),
            turn(),
        ],
    )
    .await;
    let suite =
        "questions: [{question: How many?, rows: [[3]]}, {question: And now?, rows: [[3]]}]";
    let path = started(host, suite).await;
    model.wait_for_requests(3).await;
    (model, path)
}

#[tokio::test]
async fn evaluation_is_cancelled_down_to_the_model_and_keeps_what_it_judged() {
    for host in stores::both().await {
        let (model, path) = hanging(&host).await;
        let shown = get(&host, &path).await;
        assert_eq!(
            (&shown["status"], &shown["judged_count"]),
            (&json!("running"), &json!(1))
        );
        assert_eq!(shown["questions"][0]["mark"], "right");
        let beside = start(&host, "questions: [{question: How many?, rows: [[3]]}]").await;
        beside.expect_error(409, "wrong_state");

        let cancelled = host.post(&format!("{path}/cancel"), json!({})).await;
        assert_eq!(cancelled.expect_status(200).json()["status"], "cancelled");
        model.wait_for_abandoned(1).await;
        let shown = eventually(
            async || get(&host, &path).await,
            |one| one["judged_count"] == 1,
        )
        .await;
        assert_eq!(shown["questions"][0]["mark"], "right");
        assert!(shown["ended_at"].is_string(), "{shown}");
        let again = host.post(&format!("{path}/cancel"), json!({})).await;
        again.expect_error(409, "wrong_state");
        let left = async || get(&host, "/conversations").await["data"].clone();
        eventually(left, |left| *left == json!([])).await;
        // There is room for another.
        model.play([run_sql("SELECT 3 AS n"), Turn::text("Three.")]);
    }
}

#[tokio::test]
async fn question_that_a_cancelled_run_has_not_judged_is_missing_in_it() {
    let host = Host::start().await;
    let three = || [run_sql("SELECT 3 AS n"), Turn::text("Three.")];
    let turns = [&three()[..], &[Turn::text("One moment").and_hang()]].concat();
    let model = clerk(&host, turns).await;
    let suite =
        "questions: [{question: How many?, rows: [[3]]}, {question: And now?, rows: [[3]]}]";
    let cancelled = started(&host, suite).await;
    model.wait_for_requests(3).await;
    let cancel = host.post(&format!("{cancelled}/cancel"), json!({})).await;
    cancel.expect_status(200);
    model.play([three(), three()].concat());
    let whole = started(&host, suite).await;
    assert_eq!(ended(&host, &whole).await["judged_count"], 2);

    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let later = get(&host, &format!("{whole}?baseline={}", id(&cancelled))).await;
    let difference = &later["difference"];
    assert_eq!(
        (&difference["added"], &difference["removed"]),
        (&json!(["2"]), &json!([]))
    );
    let earlier = get(&host, &format!("{cancelled}?baseline={}", id(&whole))).await;
    let difference = &earlier["difference"];
    assert_eq!(
        (&difference["added"], &difference["removed"]),
        (&json!([]), &json!(["2"]))
    );
}

#[tokio::test]
async fn evaluation_whose_server_ends_is_interrupted_and_one_whose_mind_is_deleted_is_gone() {
    let host = Host::start().await;
    let (model, path) = hanging(&host).await;
    host.restart().await;
    let shown = get(&host, &path).await;
    assert_eq!(
        (&shown["status"], &shown["judged_count"]),
        (&json!("interrupted"), &json!(1))
    );

    let path = started(&host, "questions: [{question: How many?, rows: [[3]]}]").await;
    model.wait_for_requests(4).await;
    host.delete("/minds/clerk").await.expect_status(200);
    model.wait_for_abandoned(2).await;
    host.get(&path).await.expect_error(404, "mind_not_found");
}

#[tokio::test]
async fn evaluation_asks_with_the_key_as_it_is_at_each_question() {
    let host = Host::start().await;
    let turns = [run_sql("SELECT 3 AS n"), Turn::text("Three.")];
    let gate = mindhost_tests::Gate::default();
    let model = clerk(&host, [turns[0].clone(), Turn::text("Th").and_wait(&gate)]).await;
    let made = host
        .post("/keys", json!({"name": "tester", "role": "editor"}))
        .await;
    let made = made.expect_status(201).json();
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let suite =
        "questions: [{question: How many?, rows: [[3]]}, {question: And now?, rows: [[3]]}]";
    let begun = start(&host, suite).key(key).await.expect_status(202);
    let request = begun.header("x-request-id").to_owned();
    let path = format!("{PATH}/{}", begun.json()["id"].as_str().unwrap());
    model.wait_for_requests(2).await;
    host.delete(&format!("/keys/{id}")).await.expect_status(204);
    gate.open();
    let done = ended(&host, &path).await;
    assert_eq!(done["status"], "failed", "{done}");
    assert_eq!(
        done["error"],
        "the key that it asked with was revoked, or has expired"
    );
    // By it the log is searched for what went wrong, also by another reader of the report.
    assert_eq!(done["request_id"], request);
}

#[tokio::test]
async fn what_cannot_be_run_is_refused_before_it_begins() {
    let host = Host::start().await;
    clerk(&host, []).await;
    let many = format!(
        "questions: [{}]",
        "{question: How many?, rows: [[3]]}, ".repeat(1_001)
    );
    let large = format!("# {}\nquestions: []", "x".repeat(2 << 20));
    for (body, param, part) in [
        (json!({"suite": "questions: ["}), "suite", ""),
        (json!({"suite": "questions: []"}), "suite", "no question"),
        (
            json!({"suite": "questions: [{question: How many?}]"}),
            "suite",
            "question `1`",
        ),
        (json!({"suite": many}), "suite", "at most 1000 questions"),
        (json!({"suite": large}), "suite", "larger than"),
        (json!({"suite": SUITE, "jobs": 0}), "jobs", "from 1 to 16"),
        (json!({"suite": SUITE, "jobs": 17}), "jobs", "from 1 to 16"),
        (json!({"suite": SUITE, "limit": 0}), "limit", "from 1"),
        (json!({"jobs": 1}), "suite", "missing"),
    ] {
        let refused = host.post(PATH, body).await.expect_status(400).json();
        assert_eq!(refused["error"]["param"], param, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{refused}");
    }
    assert_eq!(get(&host, PATH).await["data"], json!([]));
    let odd = format!("{PATH}/x");
    host.get(&odd)
        .await
        .expect_error(404, "evaluation_not_found");
}
