//! The benchmarks: `just bench`. Everything is measured in one run, in turn with what it is compared to, and
//! printed as a ratio with its quartiles; absolute figures depend on the machine and are printed beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot run has nothing else to say"
)]

mod boundary;
mod canary;
mod crowd;
mod data;
mod engines;
mod federation;
mod files;
mod native_http;
mod pairs;
mod peer;
mod service;
mod streams;
mod swap;

/// What `just bench` runs when it is not told what to run.
const PARTS: [&str; 15] = [
    "boundary",
    "canary",
    "clickhouse",
    "crowd",
    "export",
    "federation",
    "files",
    "mariadb",
    "page",
    "postgres",
    "requests",
    "sqlite",
    "start",
    "streams",
    "swap",
];

#[tokio::main]
async fn main() {
    if cfg!(debug_assertions) {
        eprintln!("these are figures of a debug build; `just bench` builds with optimisation");
    }
    println!("{}", pairs::machine());
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.is_empty() {
        wanted = PARTS.map(str::to_owned).to_vec();
    }
    for part in wanted {
        match part.as_str() {
            // In a task, as the server's handlers are: the thread that polls it also hears of its sockets.
            "boundary" => tokio::spawn(boundary::run()).await.unwrap(),
            "canary" => canary::run().await,
            "crowd" => crowd::run().await,
            "clickhouse" | "mariadb" | "postgres" | "sqlite" => {
                tokio::spawn(async move { engines::run(&part).await })
                    .await
                    .unwrap();
            }
            "export" | "page" | "requests" | "start" => service::run(&part).await,
            "federation" => federation::run().await,
            "files" => tokio::spawn(files::run()).await.unwrap(),
            "streams" => streams::run().await,
            "swap" => swap::run().await,
            other => eprintln!("there is no part `{other}`; there are {}", PARTS.join(", ")),
        }
    }
}
