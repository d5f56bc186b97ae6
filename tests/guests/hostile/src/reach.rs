//! Attempts to reach what the configuration does not name. Each says in words what came of it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
};

use wasip2::{
    filesystem::{
        preopens::get_directories,
        types::{DescriptorFlags, OpenFlags, PathFlags},
    },
    sockets::{
        instance_network::instance_network, ip_name_lookup::resolve_addresses,
        network::IpAddressFamily, tcp_create_socket::create_tcp_socket,
    },
};

use crate::component::Plan;

/// The file, what stands beside it and what does not exist; then ways to what does not belong to it.
const PATHS: [&str; 14] = [
    "/data/new.db",
    "/data/own.db-journal",
    "/data/other.db",
    "/data/../default/other.db",
    "/data/../../secrets.key",
    "/data/own.db/../other.db",
    "/data/own.db/../../../secrets.key",
    "/data//../..//secrets.key",
    "/data/./../data/../secrets.key",
    "/etc/passwd",
    "/proc/self/environ",
    "/dev/stdin",
    "other.db",
    "../secrets.key",
];

/// Which of them gave way.
pub(crate) fn among(tricks: &[&str], works: impl Fn(&str) -> bool) -> String {
    let worked = tricks.iter().filter(|trick| works(trick));
    format!("worked: {:?}", worked.collect::<Vec<_>>())
}

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
        // Closes the file each time, and keeps its reader.
        "readers" => {
            let folders = get_directories();
            let reader = |_| {
                let (folder, _) = folders.first()?;
                let (look, open) = (PathFlags::empty(), OpenFlags::empty());
                let file = folder.open_at(look, target, open, DescriptorFlags::READ);
                file.ok()?.read_via_stream(0).ok()
            };
            let readers: Vec<_> = (0..1_000).map_while(reader).collect();
            format!("reading: {}", readers.len())
        }
        "paths" => among(&PATHS, |path| fs::read(path).is_ok()),
        "writes" => among(&PATHS[..3], |path| {
            fs::write(path, "x").is_ok()
                || fs::OpenOptions::new().append(true).open(path).is_ok()
                || fs::File::open(path).is_ok_and(|file| file.set_len(0).is_ok())
                || fs::remove_file(path).is_ok()
                || fs::rename(path, "/data/renamed").is_ok()
                || fs::hard_link(path, "/data/linked").is_ok()
                || fs::create_dir(format!("{path}.dir")).is_ok()
        }),
        // Whatever it ever read that is not its own.
        "reread" => {
            let texts = (0..2_000).filter_map(|_| fs::read_to_string("/data/own.db-wal").ok());
            let foreign = texts.filter(|text| text != "wal" && !text.is_empty());
            format!(
                "found: {:?}",
                foreign.collect::<std::collections::BTreeSet<_>>()
            )
        }
        "connections" => {
            let made = (0..1_000).map_while(|_| TcpStream::connect(target).ok());
            format!("made: {}", made.collect::<Vec<_>>().len())
        }
        // Far more than anybody reads at the other end.
        "send" => outcome(TcpStream::connect(target).and_then(|mut stream| {
            let much = vec![0; 1 << 20];
            loop {
                stream.write_all(&much)?;
            }
        }) as std::io::Result<()>),
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
