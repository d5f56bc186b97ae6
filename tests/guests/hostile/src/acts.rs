//! What ends or outlasts a function, or floods the host while it runs. These work at any function.

use std::net::TcpStream;

use mindhost_sdk::bindings::connector::mindhost::plugin::{control, log, types::ErrorKind};
use wasip2::{
    clocks::monotonic_clock::{subscribe_duration, subscribe_instant},
    http::types::Fields,
    io::poll::poll,
    random::random::get_random_bytes,
    sockets::{instance_network::instance_network, ip_name_lookup::resolve_addresses},
};

use crate::component::{Plan, Result, error};

/// An hour, in nanoseconds.
const HOUR: u64 = 3_600_000_000_000;
/// Clears a screen, forges a line, and turns the direction of what follows.
pub(crate) const ESCAPES: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n2026-01-01T00:00:00Z ERROR forged: all is lost\u{9b}31m\u{8}";

/// Falls over, or does not return; none for other modes.
pub(crate) fn end(mode: &str, plan: &Plan) {
    match mode {
        "loop" => loop {
            std::hint::black_box(0);
        },
        "host-calls" => while !control::is_cancelled() || control::remaining_ms() < u64::MAX {},
        "sleep" => subscribe_duration(HOUR).block(),
        "clock" => {
            let centuries = [
                subscribe_duration(u64::MAX),
                subscribe_instant(u64::MAX),
                subscribe_duration(100 * 365 * 24 * HOUR),
            ];
            poll(&centuries.iter().collect::<Vec<_>>());
        }
        "poll-many" => {
            let never = subscribe_duration(HOUR);
            poll(&vec![&never; 100_000]);
        }
        "poll-none" => drop(poll(&[])),
        "memory" => hoard(|| vec![1u8; 1 << 20]),
        "memory-steps" => while core::arch::wasm32::memory_grow::<0>(1) != usize::MAX {},
        "stack" => {
            std::hint::black_box(recurse(0));
        }
        "stack-in-host" => {
            std::hint::black_box(recurse_through_host(0));
        }
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("as the configuration says, with {}", plan.password),
        "exit" => std::process::exit(3),
        "exit-0" => std::process::exit(0),
        "random" => drop(get_random_bytes(1 << 40)),
        "resources" => hoard(|| subscribe_duration(1)),
        "fields" => hoard(Fields::new),
        "networks" => hoard(instance_network),
        "dns" => {
            let network = instance_network();
            hoard(|| resolve_addresses(&network, "localhost"));
        }
        _ => {}
    }
}

/// Says more than anybody wants to hear; the function goes on afterwards.
pub(crate) fn flood(mode: &str, plan: &Plan) {
    match mode {
        "log" => {
            log_secrets(plan);
            for _ in 0..100_000 {
                log::log(log::Level::Info, "a line that nobody needs");
            }
        }
        "log-long" => (0..20).for_each(|_| log::log(log::Level::Error, &"x".repeat(1 << 20))),
        "log-escapes" => {
            log::log(log::Level::Error, ESCAPES);
            println!("{ESCAPES}");
        }
        "stdout" => {
            let endless = "x".repeat(64 << 10);
            (0..500).for_each(|_| print!("{endless}"));
            (0..100_000).for_each(|n| eprintln!("{n}"));
        }
        _ => {}
    }
}

/// A secret at the beginning, in the middle and at the end of what a line holds, by both ways into the log.
fn log_secrets(plan: &Plan) {
    for before in [0, 100, 2_040, 2_046] {
        let line = format!("{}{}", "-".repeat(before), plan.password);
        log::log(log::Level::Info, &line);
        println!("{line}");
    }
}

/// An error instead of a result.
pub(crate) fn fail(mode: &str, plan: &Plan) -> Result<()> {
    let upstream = |message: String| Err(error(ErrorKind::Upstream, message));
    match mode {
        "error" => upstream(format!("login with {} failed", plan.password)),
        "long-error" => upstream("x".repeat(10 << 20)),
        "empty-error" => upstream(String::new()),
        "error-escapes" => upstream(format!("{ESCAPES}, with {}", plan.password)),
        "error-fields" => {
            let mut endless = error(ErrorKind::RateLimited, String::from("come back later"));
            endless.code = ESCAPES.repeat(10_000);
            endless.position = Some(u32::MAX);
            endless.retry_after_ms = Some(u64::MAX);
            endless.extra = vec![(String::from("x"), String::from("y")); 100_000];
            Err(endless)
        }
        "cancelled" => Err(error(ErrorKind::Cancelled, String::from("by an admin"))),
        "auth" => Err(error(ErrorKind::Auth, String::from("wrong password"))),
        "unreachable" => Err(error(ErrorKind::Unreachable, String::from("no route"))),
        "order" => {
            control::cancelled().block();
            tell(&plan.target, "guest");
            Err(error(ErrorKind::Cancelled, String::from("stopped")))
        }
        _ => Ok(()),
    }
}

/// Says something to whoever listens at the target.
pub(crate) fn tell(target: &str, word: &str) {
    use std::io::Write as _;
    if let Ok(mut stream) = TcpStream::connect(target) {
        let _ = stream.write_all(word.as_bytes());
    }
}

/// Sends a line, and waits until the other side has answered it.
pub(crate) fn pass_on(target: &str, line: &str) {
    use std::io::{Read as _, Write as _};
    if let Ok(mut stream) = TcpStream::connect(target) {
        let _ = stream.write_all(format!("{line}\n").as_bytes());
        let _ = stream.read(&mut [0; 1]);
    }
}

fn hoard<T>(mut make: impl FnMut() -> T) {
    let mut all = Vec::new();
    loop {
        all.push(make());
    }
}

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    if depth == u64::MAX {
        return 0;
    }
    let local = std::hint::black_box([depth; 64]);
    recurse(depth + 1) + local[(depth % 64) as usize]
}

#[inline(never)]
fn recurse_through_host(depth: u64) -> u64 {
    if control::remaining_ms() == u64::MAX {
        return 0;
    }
    let local = std::hint::black_box([depth; 8]);
    recurse_through_host(depth + 1) + local[(depth % 8) as usize]
}
