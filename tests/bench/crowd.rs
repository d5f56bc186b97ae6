//! Many streams at the same time: what the host adds to each delta, and what each stream and each further reader of
//! one costs in memory.
//!
//! The model and the clients are in this process and share its clock and the machine with the host. The delay of a
//! delta is therefore from the moment before the model writes it to the moment after the client has it: all of the
//! host, and two passages of the kernel and of this process with it.

pub mod upstream;

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use mindhost_tests::Host;
use reqwest::RequestBuilder;
use serde_json::json;
use tokio::task::JoinHandle;

use self::upstream::Upstream;
use super::pairs::shown;

/// Streams at once: few, and the crowd.
const FEW: usize = 10;
const CROWD: usize = 1_000;
/// Deltas of each, five a second.
const DELTAS: u64 = 100;
/// Requests that are opened at the same time.
const OPENING: usize = 32;

/// Nanoseconds since the first call.
fn clock() -> u128 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed().as_nanos()
}

/// Runs all of it.
pub async fn run() {
    let upstream = Upstream::start().await;
    let direct = |client: &reqwest::Client| {
        let body = json!({"model": "m", "messages": [], "stream": true});
        let url = format!("{}/chat/completions", upstream.base_url);
        client.post(url).json(&body)
    };
    let host = start(&upstream).await;
    for (streams, bar) in [(FEW, 1.0), (CROWD, 5.0)] {
        let alone = Crowd::open(streams, &upstream, direct).await;
        let alone = alone.listen(&upstream, DELTAS).await;
        let crowd = Crowd::open(streams, &upstream, |client| question(&host, client)).await;
        let spent = cpu(&host);
        let began = Instant::now();
        let through = crowd.listen(&upstream, DELTAS).await;
        let cores = (cpu(&host) - spent) / began.elapsed().as_secs_f64();
        report(streams, bar, &through, &alone);
        println!(
            "{:<46} {cores:.2} cores of the host, {} a delta",
            "  processor",
            shown(cores / (streams as f64 * 5.0))
        );
    }
    memory(&host, &upstream).await;
}

/// What an operator sets who expects a crowd of one key: the limits of a key and of its workspace, and the memory of
/// one provider.
pub async fn start(upstream: &Upstream) -> Host {
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .env("MINDHOST_LIMITS__CONCURRENT_REQUESTS", "0")
        .env("MINDHOST_ANSWERING__CONCURRENT_PER_KEY", "2000")
        .env("MINDHOST_PLUGINS__MAX_TARGET_MEMORY_BYTES", "3221225472")
        .env("MINDHOST_PLUGINS__MAX_KEY_INSTANCES", "1200")
        .env("MINDHOST_PLUGINS__MAX_WORKSPACE_INSTANCES", "1200")
        .start()
        .await;
    host.sqlite("shop", "CREATE TABLE t (id INTEGER);")
        .await
        .load()
        .await;
    let data =
        json!({"base_url": upstream.base_url, "api_key": "sk-crowd-0123456789", "model": "m"});
    host.provider("crowd", "model-openai", data).await;
    let mind = host.mind("told").datasource("shop").provider("crowd");
    mind.create().await;
    host
}

pub fn question(host: &Host, client: &reqwest::Client) -> RequestBuilder {
    let body = json!({"model": "told", "input": "Tell me", "stream": true});
    let url = format!("{}/responses", host.base_url());
    client.post(url).bearer_auth(host.key()).json(&body)
}

/// Streams that are open and wait for their first delta.
pub struct Crowd(Vec<JoinHandle<Heard>>);

/// What came of one stream.
#[derive(Default)]
struct Heard {
    /// When each delta was sent, and the seconds that it took.
    deltas: Vec<(u128, f64)>,
    is_whole: bool,
}

impl Crowd {
    /// Opens them and waits until the model was asked for all.
    pub async fn open(
        streams: usize,
        upstream: &Upstream,
        ask: impl Fn(&reqwest::Client) -> RequestBuilder,
    ) -> Self {
        upstream.hold();
        let crowd = Self::read(streams, ask).await;
        upstream.wait_for(streams as u64).await;
        crowd
    }

    /// Opens them, whatever tells them.
    async fn read(streams: usize, ask: impl Fn(&reqwest::Client) -> RequestBuilder) -> Self {
        let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true);
        let client = client.build().unwrap();
        let opened = (0..streams).map(|_| {
            let request = ask(&client);
            async move {
                let reply = request.send().await.unwrap();
                assert_eq!(reply.status(), 200, "a stream was refused");
                reply
            }
        });
        let replies = stream::iter(opened).buffer_unordered(OPENING);
        Self(
            replies
                .map(|reply| tokio::spawn(hear(reply)))
                .collect()
                .await,
        )
    }

    /// Lets the model speak and hears all of them to the end.
    pub async fn listen(self, upstream: &Upstream, deltas_each: u64) -> Delays {
        upstream.speak(deltas_each);
        let mut deltas = Vec::new();
        let mut first_end = u128::MAX;
        for one in self.0 {
            let heard = one.await.unwrap();
            assert!(heard.is_whole, "a stream was cut");
            assert_eq!(heard.deltas.len() as u64, deltas_each, "deltas were lost");
            first_end = first_end.min(heard.deltas.last().unwrap().0);
            deltas.extend(heard.deltas);
        }
        let (open, ending) = deltas.iter().partition(|(sent, _)| *sent < first_end);
        Delays {
            open: sorted(open),
            ending: sorted(ending),
        }
    }
}

/// Seconds that deltas took, shortest first.
pub struct Delays {
    /// Of those that were sent while all streams were open.
    open: Vec<f64>,
    /// Of the others: here all streams end, and are stored, at about the same time.
    ending: Vec<f64>,
}

fn sorted(deltas: Vec<(u128, f64)>) -> Vec<f64> {
    let mut delays: Vec<f64> = deltas.into_iter().map(|(_, delay)| delay).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

/// Reads a stream to its end, whether it comes from the model or from the host.
async fn hear(reply: reqwest::Response) -> Heard {
    let mut heard = Heard::default();
    let mut bytes = reply.bytes_stream();
    let mut rest = Vec::new();
    while let Some(Ok(piece)) = bytes.next().await {
        let now = clock();
        rest.extend_from_slice(&piece);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            heard.is_whole |=
                line.starts_with("data: [DONE]") || line.starts_with("event: response.completed");
            // Only deltas have one word of it; the events around the text repeat all of them.
            let is_delta = line.contains("\"delta\":");
            if let Some((_, text)) = line.split_once("\"@").filter(|_| is_delta) {
                let sent: u128 = text.split(' ').next().unwrap().parse().unwrap();
                heard.deltas.push((sent, (now - sent) as f64 / 1e9));
            }
        }
    }
    heard
}

fn report(streams: usize, bar: f64, through: &Delays, alone: &Delays) {
    let at = |delays: &[f64], share: f64| delays[((delays.len() - 1) as f64 * share) as usize];
    let figures = |delays: &[f64]| {
        let [median, p99, longest] = [0.5, 0.99, 1.0].map(|share| shown(at(delays, share)));
        format!("median {median}, p99 {p99}, longest {longest}")
    };
    let verdict = match at(&through.open, 0.99) * 1e3 < bar {
        true => "meets the bar",
        false => "MISSES the bar",
    };
    println!(
        "{:<46} {}; none cut; {verdict} (p99 {bar} ms)",
        format!("a delta of one of {streams} streams"),
        figures(&through.open),
    );
    println!("{:<46} {}", "  without the host", figures(&alone.open));
    println!(
        "{:<46} {}",
        "  while all of them end",
        figures(&through.ending)
    );
}

/// What a stream and a reader more take, each on a host that has served a few and nothing else.
async fn memory(host: &Host, upstream: &Upstream) {
    host.restart().await;
    let few = Crowd::open(FEW, upstream, |client| question(host, client)).await;
    few.listen(upstream, DELTAS).await;
    let before = resident(host);
    let crowd = Crowd::open(CROWD, upstream, |client| question(host, client)).await;
    let open = resident(host);
    let told = peak(host, crowd.listen(upstream, DELTAS)).await;
    let after = [open, told, resident(host)];
    grown("a stream through the sandbox", before, after, 512);

    host.restart().await;
    let few = Crowd::open(FEW, upstream, |client| question(host, client)).await;
    few.listen(upstream, DELTAS).await;
    upstream.hold();
    let body = json!({"model": "told", "input": "Tell me", "background": true});
    let response = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    upstream.wait_for(1).await;
    let path = format!(
        "/responses/{}?stream=true",
        response["id"].as_str().unwrap()
    );
    let follow = |client: &reqwest::Client| {
        let url = format!("{}{path}", host.base_url());
        client.get(url).bearer_auth(host.key())
    };
    let before = resident(host);
    let crowd = Crowd::read(CROWD, follow).await;
    let open = resident(host);
    let told = peak(host, crowd.listen(upstream, DELTAS)).await;
    let after = [open, told, resident(host)];
    grown("a further reader of one stream", before, after, 64);
}

/// Prints the growth when all were open, at most while they were told, and when they had ended.
fn grown(what: &str, before: u64, [open, told, ended]: [u64; 3], bar: u64) {
    let each = |after: u64| after.saturating_sub(before) as f64 / CROWD as f64;
    let verdict = match each(told) <= bar as f64 {
        true => "meets the bar",
        false => "MISSES the bar",
    };
    println!(
        "{:<46} {:.0} KiB when open, {:.0} KiB when told, {:.0} KiB left behind, over the resident {before} KiB; {verdict} ({bar} KiB)",
        format!("{what}, of {CROWD}"),
        each(open),
        each(told),
        each(ended),
    );
}

/// The most that is resident while something goes on.
async fn peak<T>(host: &Host, work: impl Future<Output = T>) -> u64 {
    let mut work = std::pin::pin!(work);
    let mut most = 0;
    while tokio::time::timeout(Duration::from_millis(500), &mut work)
        .await
        .is_err()
    {
        most = most.max(resident(host));
    }
    most
}

/// KiB of memory of the host's process.
fn resident(host: &Host) -> u64 {
    super::service::status(host, "VmRSS:")
}

/// Seconds of the processor that the host has used.
fn cpu(host: &Host) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", host.pid())).unwrap();
    // Behind the name, which may have spaces: user and system time are the 12th and 13th.
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    // The kernel reports them in hundredths, whatever it counts in.
    ticks as f64 / 100.0
}
