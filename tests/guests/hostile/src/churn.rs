//! Makes far more of one kind of resource than an instance may hold, and drops each before it makes the next.
//!
//! That is no attack: a plugin that serves for days does so. It is here because the host must not keep what a guest
//! has given back.

use std::{fs, net::TcpStream};

use mindhost_sdk::bindings::connector::mindhost::plugin::control;
use wasip2::{
    cli::{stderr::get_stderr, stdin::get_stdin, stdout::get_stdout},
    clocks::monotonic_clock::subscribe_duration,
    http::types::{Fields, OutgoingBody, OutgoingRequest, RequestOptions},
    io::poll::poll,
    sockets::{
        instance_network::instance_network, ip_name_lookup::resolve_addresses,
        network::IpAddressFamily, tcp_create_socket::create_tcp_socket,
    },
};

use crate::{component::Plan, web};

/// An instance may hold a tenth of it.
const TIMES: usize = 10_000;
/// Connections leave something behind in the operating system, for a minute.
const CONNECTIONS: usize = 2_000;
/// What must fit into the instance's table afterwards, beside what the guest's own runtime holds.
const ROOM: usize = 1_000;

/// What went wrong; none for other modes.
pub(crate) fn attempt(mode: &str, plan: &Plan) -> Option<String> {
    let target = plan.target.as_str();
    let failed = match mode.strip_prefix("churn-")? {
        "pollables" => failure(TIMES, |_| {
            let (now, word) = (subscribe_duration(0), control::cancelled());
            !poll(&[&now, &word]).is_empty()
        }),
        "streams" => failure(TIMES, |_| {
            let (stdin, stdout, stderr) = (get_stdin(), get_stdout(), get_stderr());
            stdin.subscribe().ready();
            stdout.subscribe().ready() && stderr.check_write().is_ok()
        }),
        "fields" => failure(TIMES, |_| {
            let fields = Fields::from_list(&[(String::from("x"), vec![b'y'])]);
            fields.is_ok_and(|fields| fields.clone().has("x"))
        }),
        "options" => failure(TIMES, |n| {
            let options = RequestOptions::new();
            options.set_connect_timeout(Some(n as u64)).is_ok()
        }),
        "requests" => failure(TIMES, |_| request()),
        "networks" => failure(TIMES, |_| {
            drop(instance_network());
            true
        }),
        "lookups" => {
            let network = instance_network();
            failure(TIMES, |_| {
                let Ok(answer) = resolve_addresses(&network, target) else {
                    return false;
                };
                answer.subscribe().block();
                while let Ok(Some(_)) = answer.resolve_next_address() {}
                true
            })
        }
        "sockets" => failure(TIMES, |_| {
            let socket = create_tcp_socket(IpAddressFamily::Ipv4);
            socket.is_ok_and(|socket| socket.subscribe().ready())
        }),
        "connections" => failure(CONNECTIONS, |_| TcpStream::connect(target).is_ok()),
        "files" => failure(TIMES, |_| fs::read(target).is_ok()),
        "listings" => failure(TIMES, |_| {
            fs::read_dir(target).is_ok_and(|all| all.count() > 0)
        }),
        "http" => failure(TIMES, |_| web::exchange(target) == Some(2)),
        "http-broken" => failure(CONNECTIONS, |_| web::exchange(target).is_none()),
        other => return Some(format!("failed: there is no {other}")),
    };
    if let Some(number) = failed {
        return Some(format!("failed at number {number}"));
    }
    let held: Vec<Fields> = (0..ROOM).map(|_| Fields::new()).collect();
    drop(held);
    None
}

/// The first time that it does not work, of so many.
fn failure(times: usize, works: impl Fn(usize) -> bool) -> Option<usize> {
    (0..times).find(|n| !works(*n))
}

/// A request with a body that is written, finished and never sent.
fn request() -> bool {
    let request = OutgoingRequest::new(Fields::new());
    let Ok(body) = request.body() else {
        return false;
    };
    let Ok(stream) = body.write() else {
        return false;
    };
    stream.subscribe().ready();
    let has_room = stream.check_write().is_ok_and(|room| room > 0);
    let is_written = has_room && stream.write(b"x").is_ok();
    drop(stream);
    // With the request goes who would read the body.
    drop(request);
    let _ = OutgoingBody::finish(body, Some(Fields::new()));
    is_written
}
