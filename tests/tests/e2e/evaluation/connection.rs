//! `mindhost eval` while its connections to the server come late or not at all.

use std::{
    net::SocketAddr,
    process::{Child, Stdio},
    time::Duration,
};

use mindhost_evaluation::judged::Mark;
use mindhost_tests::{Host, Turn, Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use super::{report, run_sql, scripted, text, write};

/// Listens in place of a host, and passes connections on to it until it is aborted. What the host sends arrives so much
/// later.
async fn relay(address: &str, host: &Host, delay: Duration) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let to = host.url().replace("http://", "");
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (client, _) = listener.accept().await.unwrap();
            connections.spawn(pass_on(client, to.clone(), delay));
        }
    });
    (address, task)
}

async fn pass_on(client: TcpStream, to: String, delay: Duration) {
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let back = async {
        let mut piece = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from_server.read(&mut piece).await {
            tokio::time::sleep(delay).await;
            if to_client.write_all(&piece[..count]).await.is_err() {
                break;
            }
        }
    };
    let _ = tokio::join!(tokio::io::copy(&mut from_client, &mut to_server), back);
}

const COUNT: &str = "SELECT count(*) FROM customers";

/// Starts a run over two questions through a relay.
fn start(host: &Host, relay: SocketAddr) -> Child {
    let question = |id: &str| json!({"id": id, "question": "How many customers?", "sql": COUNT});
    let suite = format!("{}\n{}\n", question("first"), question("second"));
    write(host, "suite.jsonl", &suite);
    let url = format!("http://{relay}");
    let args = ["eval", "--server", &url, "--suite", "suite.jsonl"];
    let more = ["--mind", "clerk", "--jobs", "1", "--out", "out.json"];
    let mut command = host.command(&[&args[..], &more].concat());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

async fn conversations(host: &Host) -> Value {
    let listed = host.get("/conversations").await.expect_status(200);
    listed.json()["data"].clone()
}

// The relay has to work while the test waits for the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_a_server_that_is_away() {
    let turns = [
        run_sql(COUNT),
        Turn::text("I am thinking").and_hang(),
        run_sql(COUNT),
        Turn::text("3"),
    ];
    let (host, model) = scripted(turns).await;
    let (address, open) = relay("127.0.0.1:0", &host, Duration::ZERO).await;
    let child = start(&host, address);
    model.wait_for_requests(2).await;
    open.abort();
    // The second question finds nothing that listens.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let _open = relay(&address.to_string(), &host, Duration::ZERO).await;
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("waiting for it"), "{said}");
    assert!(said.contains("answers again"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report = report(&host, "out.json");
    let marks: Vec<Mark> = report.questions.iter().map(|one| one.mark).collect();
    assert_eq!(marks, [Mark::Failed, Mark::Right], "{said}");
    assert_eq!(conversations(&host).await, json!([]));
}

// The relay has to work while the test waits for the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_interrupted_at_once_deletes_its_conversations() {
    let turns = [Turn::text("I am thinking").and_hang()];
    let (host, model) = scripted(turns).await;
    // The id of the conversation is sent, and on its way.
    let (address, _open) = relay("127.0.0.1:0", &host, Duration::from_secs(2)).await;
    let child = start(&host, address);
    model.wait_for_requests(1).await;
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted after 0 of 2"), "{said}");
    assert_eq!(conversations(&host).await, json!([]), "{said}");
}
