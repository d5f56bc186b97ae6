//! Detects requests from other machines that arrive over a local connection, through a proxy.

use axum::{
    extract::Request,
    http::{HeaderName, Version, header},
};

/// Headers that proxies add; so is any other that begins with `x-forwarded-`.
const FORWARDED: &[&str] = &[
    "cdn-loop",
    "cf-connecting-ip",
    "cf-ray",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-original-forwarded-for",
    "x-original-host",
    "x-real-ip",
];

/// The evidence that a request came through a proxy or was sent to a name that is not local, as a foreign page in a
/// local browser does. `None` if there is none.
pub(super) fn sign(request: &Request) -> Option<String> {
    if let Some(name) = request.headers().keys().find(|name| is_forwarded(name)) {
        return Some(format!("it had the header `{name}`"));
    }
    // Clients speak HTTP/1.1; nginx speaks 1.0 to its upstream and adds no header.
    if request.version() == Version::HTTP_10 {
        return Some("the request used HTTP/1.0, which suggests a proxy".to_owned());
    }
    let target = request.uri().authority().map(|one| one.as_str());
    let hosts = request.headers().get_all(header::HOST).iter();
    let mut hosts = hosts.map(|host| host.to_str().unwrap_or_default());
    match target.into_iter().all(is_this_machine) && hosts.all(is_this_machine) {
        true => None,
        false => Some("it was meant for another name than this machine's (`Host`)".to_owned()),
    }
}

fn is_forwarded(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-forwarded-") || FORWARDED.contains(&name)
}

/// Whether an authority is local: `localhost`, or a loopback address.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse::<std::net::IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn is_remote(headers: &[(&str, &str)]) -> bool {
        let mut request = axum::http::Request::get("/api/v1/minds");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        sign(&request.body(Body::empty()).unwrap()).is_some()
    }

    #[test]
    fn a_proxy_shows_by_its_headers_and_a_foreign_name_by_the_host() {
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST.",
            "app.localhost",
            "[::1]:8080",
            "127.9.9.9",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(!is_remote(&[("host", host)]), "{host}");
        }
        for host in [
            "minds.example.com",
            "10.0.0.1:8080",
            "localhost.example.com",
            "127.0.0.1.nip.io",
            "",
            "[::]",
        ] {
            assert!(is_remote(&[("host", host)]), "{host}");
        }
        for name in [
            "x-forwarded-for",
            "X-Forwarded-Proto",
            "Forwarded",
            "X-Real-IP",
            "Via",
        ] {
            assert!(is_remote(&[("host", "localhost"), (name, "x")]), "{name}");
        }
        assert!(is_remote(&[("host", "localhost"), ("host", "example.com")]));
        assert!(!is_remote(&[("host", "localhost"), ("accept", "*/*")]));
    }
}
