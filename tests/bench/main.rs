//! The benchmarks: `just bench`. Everything is measured in one run, in turn with what it is compared to, and
//! printed as a ratio with its quartiles; absolute figures depend on the machine and are printed beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot run has nothing else to say"
)]

mod data;
mod engines;
mod pairs;
mod service;
mod streams;

#[tokio::main]
async fn main() {
    if cfg!(debug_assertions) {
        eprintln!("these are figures of a debug build; `just bench` builds with optimisation");
    }
    println!("{}", pairs::machine());
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    if is_wanted("engines") {
        engines::run().await;
    }
    if is_wanted("service") {
        service::run().await;
    }
    if is_wanted("streams") {
        streams::run().await;
    }
}
