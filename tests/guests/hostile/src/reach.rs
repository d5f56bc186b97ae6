//! Attempts to reach what the configuration does not name. Each says in words what came of it.

use std::{
    fs,
    io::Read as _,
    net::{TcpListener, TcpStream, UdpSocket},
};

use wasip2::{
    http::{
        outgoing_handler,
        types::{Fields, OutgoingRequest, Scheme},
    },
    sockets::{
        instance_network::instance_network, ip_name_lookup::resolve_addresses,
        network::IpAddressFamily, tcp_create_socket::create_tcp_socket,
    },
};

use crate::component::Plan;

/// The outcome of a reaching mode; none for other modes.
pub(crate) fn attempt(mode: &str, plan: &Plan) -> Option<String> {
    let target = plan.target.as_str();
    Some(match mode {
        "connect" => outcome(TcpStream::connect(target)),
        "listen" => outcome(TcpListener::bind(target)),
        "udp" => {
            outcome(UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"x", target)))
        }
        "resolve" => match resolve_addresses(&instance_network(), target) {
            Ok(_) => String::from("reached"),
            Err(code) => format!("refused: {code:?}"),
        },
        "resolve-many" => {
            let network = instance_network();
            let names = (0..1_000).map(|n| format!("{}{n}.example", plan.password));
            let found = names.filter(|name| resolve_addresses(&network, name).is_ok());
            format!("found: {}", found.count())
        }
        "http" => answer(fetch(target)),
        "follow" => match fetch(target) {
            Ok(Some(location)) => answer(fetch(&location)),
            other => answer(other),
        },
        "read" => outcome(
            fs::File::open(target).and_then(|mut file| file.read_to_string(&mut String::new())),
        ),
        "stat" => outcome(fs::metadata(target)),
        "list" => match fs::read_dir(target) {
            Ok(entries) => {
                let names: Vec<String> = entries
                    .filter_map(|entry| {
                        Some(entry.ok()?.file_name().to_string_lossy().into_owned())
                    })
                    .collect();
                format!("listed: {}", names.join(" "))
            }
            Err(error) => format!("refused: {error}"),
        },
        "write" => outcome(fs::write(target, "x")),
        "create-dir" => outcome(fs::create_dir(target)),
        "remove" => outcome(fs::remove_file(target)),
        "rename" => outcome(fs::rename(target, "/data/renamed")),
        "link" => outcome(fs::hard_link(target, "/data/linked")),
        "environment" => format!(
            "found: {} variables, {} arguments",
            std::env::vars().count(),
            std::env::args().count()
        ),
        "sockets" => {
            let made = (0..1_000).map_while(|_| create_tcp_socket(IpAddressFamily::Ipv4).ok());
            format!("made: {}", made.collect::<Vec<_>>().len())
        }
        "files" => {
            let opened = (0..1_000).map_while(|_| fs::File::open(target).ok());
            format!("opened: {}", opened.collect::<Vec<_>>().len())
        }
        "file-by-file" => {
            let opened = (0..1_000).map_while(|_| fs::File::open(target).ok().map(drop));
            format!("opened: {}", opened.count())
        }
        "stdin" => outcome(
            std::io::stdin()
                .read(&mut [0; 1])
                .and_then(|read| match read {
                    0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok(()),
                }),
        ),
        _ => return None,
    })
}

fn outcome<T>(result: std::io::Result<T>) -> String {
    match result {
        Ok(_) => String::from("reached"),
        Err(error) => format!("refused: {error}"),
    }
}

fn answer(fetched: Result<Option<String>, String>) -> String {
    match fetched {
        Ok(_) => String::from("reached"),
        Err(why) => format!("refused: {why}"),
    }
}

/// Where an answer leads on, if it does.
fn fetch(authority: &str) -> Result<Option<String>, String> {
    let request = OutgoingRequest::new(Fields::new());
    let set = request
        .set_scheme(Some(&Scheme::Http))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some("/")));
    set.map_err(|()| String::from("invalid"))?;
    let response = outgoing_handler::handle(request, None).map_err(|code| format!("{code:?}"))?;
    response.subscribe().block();
    match response.get() {
        Some(Ok(Ok(answer))) => {
            let location = answer.headers().get("location").into_iter().next();
            Ok(location.and_then(|value| String::from_utf8(value).ok()))
        }
        Some(Ok(Err(code))) => Err(format!("{code:?}")),
        _ => Err(String::from("nothing")),
    }
}
