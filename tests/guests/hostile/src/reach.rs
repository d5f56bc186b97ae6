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
        "http" => http(target),
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

fn http(authority: &str) -> String {
    let request = OutgoingRequest::new(Fields::new());
    let set = request
        .set_scheme(Some(&Scheme::Http))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some("/")));
    if set.is_err() {
        return String::from("refused: invalid");
    }
    match outgoing_handler::handle(request, None) {
        Ok(response) => {
            response.subscribe().block();
            match response.get() {
                Some(Ok(Ok(_))) => String::from("reached"),
                Some(Ok(Err(code))) => format!("refused: {code:?}"),
                _ => String::from("refused: nothing"),
            }
        }
        Err(code) => format!("refused: {code:?}"),
    }
}
