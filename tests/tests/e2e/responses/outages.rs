//! Questions in words about a datasource that is out of reach.

use mindhost_tests::{Host, Postgres, ScriptedModel, Turn};
use serde_json::json;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// Leads to a server on this machine, until it is dropped.
struct Line {
    port: u16,
    _forwarding: JoinSet<()>,
}

impl Line {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut forwarding = JoinSet::new();
        forwarding.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                connections.spawn(async move {
                    let mut server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                    // It ends when one side does.
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self {
            port,
            _forwarding: forwarding,
        }
    }
}

#[tokio::test]
async fn answer_that_is_declined_or_empty_because_of_an_outage_fails_with_it() {
    let host = Host::start().await;
    let database = Postgres::shared()
        .database("CREATE TABLE item (id int); INSERT INTO item VALUES (1)")
        .await;
    let line = Line::to(Postgres::shared().port()).await;
    let mut data = database.connection_data();
    data["port"] = json!(line.port);
    host.datasource("stock", "postgres", data)
        .await
        .load()
        .await;
    let query = Turn::call("run_sql", json!({"sql": "SELECT count(*) FROM item"}));
    let declined = Turn::call(
        "cannot_answer",
        json!({"reason": "The stock cannot be read."}),
    );
    let turns = [
        query.clone(),
        declined.clone(),
        query,
        Turn::empty(),
        declined,
    ];
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("stock").provider("scripted");
    let mind = mind.create().await;

    drop(line);
    for _ in ["declined", "empty"] {
        let reply = mind.ask("How many items are there?").await;
        let error = reply.expect_error(503, "upstream_unreachable");
        assert_eq!(error["blame"], "upstream", "{error}");
    }

    // What needs no data is declined as ever.
    let response = mind.ask("How is the weather?").await.expect_status(200);
    assert_eq!(response.json()["ending"], "cannot_answer");
}
