//! What the host adds to a model's stream: the same script read directly and through the host.

use std::time::Instant;

use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use mindhost_tests::{Gate, Host, ScriptedModel, Turn};
use serde_json::json;

use super::pairs::{quartiles, shown};

/// Deltas of each stream.
const DELTAS: usize = 300;

/// Runs all of it.
pub async fn run() {
    // One key asks for all clients.
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .env("MINDHOST_LIMITS__CONCURRENT_REQUESTS", "0");
    let host = host.start().await;
    host.sqlite("shop", "CREATE TABLE t (id INTEGER);")
        .await
        .load()
        .await;
    let model = ScriptedModel::start([]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    let (mut first_direct, mut first_through) = (Vec::new(), Vec::new());
    for round in 0..6 {
        let (first, times) = directly(&model).await;
        let (first_ours, times_ours) = through_host(&mind, &model).await;
        if round > 0 {
            direct.extend(times);
            through.extend(times_ours);
            first_direct.push(first);
            first_through.push(first_ours);
        }
    }
    compare("a delta", direct, through);
    compare("the first delta of an answer", first_direct, first_through);
}

fn compare(what: &str, direct: Vec<f64>, through: Vec<f64>) {
    let p99 = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values[(values.len() - 1) * 99 / 100]
    };
    let (slow_direct, slow_through) = (p99(&direct), p99(&through));
    let (median_direct, median_through) = (quartiles(direct)[1], quartiles(through)[1]);
    println!(
        "{:<46} median {} against {} directly; p99 {} against {}; aim: less than 1 ms more",
        format!("{what} through the host"),
        shown(median_through),
        shown(median_direct),
        shown(slow_through),
        shown(slow_direct)
    );
}

fn script(gate: &Gate) -> Turn {
    (0..DELTAS).fold(Turn::empty(), |turn, number| {
        turn.and_wait(gate).and_text(&format!("word{number} "))
    })
}

async fn directly(model: &ScriptedModel) -> (f64, Vec<f64>) {
    let gate = Gate::default();
    model.play([script(&gate)]);
    let began = Instant::now();
    gate.open();
    let response = reqwest::Client::new()
        .post(format!("{}/chat/completions", model.base_url()))
        .bearer_auth(model.connection_data()["api_key"].as_str().unwrap())
        .json(&json!({"model": "scripted-1", "messages": [], "stream": true}))
        .send()
        .await
        .unwrap();
    let mut events = response.bytes_stream().eventsource();
    let (mut first, mut times, mut opened) = (0.0, Vec::new(), began);
    let mut seen = 0;
    while let Some(event) = events.next().await {
        if !event.unwrap().data.contains("word") {
            continue;
        }
        let took = opened.elapsed().as_secs_f64();
        if seen == 0 {
            first = took
        } else {
            times.push(took)
        }
        seen += 1;
        opened = Instant::now();
        gate.open();
    }
    assert_eq!(seen, DELTAS);
    (first, times)
}

async fn through_host(mind: &mindhost_tests::Mind, model: &ScriptedModel) -> (f64, Vec<f64>) {
    let gate = Gate::default();
    model.play([script(&gate)]);
    let began = Instant::now();
    gate.open();
    let mut stream = mind.stream("Tell me").await;
    let (mut first, mut times, mut opened) = (0.0, Vec::new(), began);
    let mut seen = 0;
    while let Some(event) = stream.next().await {
        if event.name != "response.output_text.delta" {
            continue;
        }
        let took = opened.elapsed().as_secs_f64();
        if seen == 0 {
            first = took
        } else {
            times.push(took)
        }
        seen += 1;
        opened = Instant::now();
        gate.open();
    }
    assert_eq!(seen, DELTAS);
    (first, times)
}
