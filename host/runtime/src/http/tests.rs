//! Against a real socket.

use std::net::SocketAddr;

use bytes::Bytes;
use http::header;
use serde_json::Value;

use super::*;
use http_body_util::Full;
use mindhost_base::config::Config;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Semaphore,
};

/// A server that answers one request with `answer` and gives back what it read.
async fn serve(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            stream.read_buf(&mut request).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (port, served)
}

fn grant(credential: Value, url: &str, reserved: &[SocketAddr]) -> Result<HttpGrant> {
    let manifest = json!({
        "kind": "model", "name": "m", "title": "M", "version": "1.0.0", "wit": "0.1.0",
        "world": "model-provider", "http": [{"url": "base_url"}],
        "credentials": [credential],
        "connection_data": {"type": "object", "properties": {"api_key": {"x-secret": true}}}
    });
    let data = json!({"base_url": url, "api_key": "sk-1", "user": "ann"});
    derive(manifest, &data, reserved)
}

fn derive(manifest: Value, data: &Value, reserved: &[SocketAddr]) -> Result<HttpGrant> {
    let egress = EgressRules {
        allow_loopback: true,
        ..EgressRules::default()
    };
    HttpGrant::derive(
        &serde_json::from_value(manifest).unwrap(),
        data.as_object().unwrap(),
        egress,
        reserved.to_vec(),
        &Config::defaults().unwrap().plugins.limits,
        &Redactor::default(),
        ("default", &TokenStore::default()),
    )
}

fn bearer() -> Value {
    json!({"property": "api_key", "scheme": "bearer"})
}

async fn get(grant: &HttpGrant, url: &str) -> Result<u16, Failure> {
    let body = Full::new(Bytes::new())
        .map_err(HttpError::from)
        .boxed_unsync();
    let request = Request::get(url).body(body).unwrap();
    let slot = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
    let (response, _) = grant.send(request, None, slot).await?;
    Ok(response.status().as_u16())
}

fn refusal(result: Result<u16, Failure>) -> String {
    match result {
        Err(Failure::Refused(why)) => why,
        Err(Failure::NoToken(why)) => panic!("no token: {why}"),
        Err(Failure::NotOpened(error)) => panic!("{error}"),
        Err(Failure::Http(error)) => panic!("{error}"),
        Ok(status) => panic!("sent, and answered with {status}"),
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn the_host_adds_the_credential() {
    for (rule, line) in [
        (bearer(), "authorization: Bearer sk-1"),
        (
            json!({"property": "api_key", "scheme": "basic", "name": "user"}),
            "authorization: Basic YW5uOnNrLTE=",
        ),
        (
            json!({"property": "api_key", "scheme": "header", "name": "x-api-key"}),
            "x-api-key: sk-1",
        ),
        (
            json!({"property": "api_key", "scheme": "query", "name": "key"}),
            "GET /v1?a=b&key=sk%2D1 ",
        ),
    ] {
        let (port, served) = serve(OK).await;
        let grant = grant(rule, &format!("http://127.0.0.1:{port}/v1"), &[]).unwrap();
        let status = get(&grant, &format!("http://127.0.0.1:{port}/v1?a=b")).await;
        assert!(matches!(status, Ok(200)));
        let request = served.await.unwrap();
        assert!(request.contains(line), "{request}");
        assert!(
            request.contains(&format!("host: 127.0.0.1:{port}")),
            "{request}"
        );
    }
}

#[tokio::test]
async fn only_the_granted_origin_is_reached() {
    let grant = grant(bearer(), "http://127.0.0.1:9/v1", &[]).unwrap();
    for url in [
        "http://127.0.0.1:10/v1",
        "http://localhost:9/v1",
        "https://127.0.0.1:9/v1",
        "http://127.0.0.1.example.com:9/v1",
        "http://127.0.0.1:9@example.com/",
    ] {
        assert!(
            refusal(get(&grant, url).await).contains("does not name"),
            "{url}"
        );
    }
}

#[tokio::test]
async fn redirect_is_returned_and_not_followed() {
    let (port, served) =
        serve("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")
            .await;
    let url = format!("http://127.0.0.1:{port}/");
    let grant = grant(bearer(), &url, &[]).unwrap();
    assert!(matches!(get(&grant, &url).await, Ok(302)));
    served.await.unwrap();
}

#[test]
fn credential_is_never_sent_in_clear_to_a_public_address() {
    let why = |credential, url| {
        grant(credential, url, &[])
            .err()
            .unwrap()
            .message()
            .to_owned()
    };
    assert!(why(bearer(), "http://93.184.216.34/v1").contains("unencrypted"));
    assert!(grant(bearer(), "https://93.184.216.34/v1", &[]).is_ok());
    assert!(grant(bearer(), "http://10.1.2.3/v1", &[]).is_ok());
}

#[tokio::test]
async fn resolved_addresses_are_checked() {
    let reserved = [
        "127.0.0.1:8080".parse().unwrap(),
        "[::1]:8080".parse().unwrap(),
    ];
    let grant = grant(bearer(), "http://localhost:8080/", &reserved).unwrap();
    let why = refusal(get(&grant, "http://localhost:8080/").await);
    assert!(why.contains("this server itself"), "{why}");
}

/// `0XA9FEA9FE` is 169.254.169.254, and `0X5DB8D822` a public address, to whoever resolves names.
#[tokio::test]
async fn no_form_of_a_host_bypasses_the_rules() {
    let reserved = [
        "127.0.0.1:8080".parse().unwrap(),
        "[::1]:8080".parse().unwrap(),
    ];
    for (url, words) in [
        ("http://LOCALHOST:8080/", "this server itself"),
        ("http://localhost.:8080/", "this server itself"),
        ("http://LocalHost.:8080/", "this server itself"),
        ("http://0XA9FEA9FE/", "never allowed"),
        ("http://0xa9fea9fe./", "never allowed"),
        ("http://0X5DB8D822/", "unencrypted"),
        ("http://0x5db8d822./", "unencrypted"),
    ] {
        let grant = grant(bearer(), url, &reserved).unwrap();
        // The guest may spell it as its configuration does, or otherwise.
        for spelled in [url.to_owned(), url.to_lowercase(), url.replace("./", "/")] {
            let why = refusal(get(&grant, &spelled).await);
            assert!(why.contains(words), "{url} as {spelled}: {why}");
        }
    }
}

#[tokio::test]
async fn request_has_the_checked_form_of_its_host() {
    let (port, served) = serve(OK).await;
    let grant = grant(bearer(), &format!("http://LocalHost:{port}/v1"), &[]).unwrap();
    let status = get(&grant, &format!("http://ann@LOCALHOST.:{port}/v1")).await;
    assert!(matches!(status, Ok(200)));
    let request = served.await.unwrap();
    assert!(
        request.contains(&format!("host: localhost:{port}")),
        "{request}"
    );
}

#[tokio::test]
async fn name_without_a_grant_is_not_resolved() {
    use tower::Service as _;
    let grant = grant(bearer(), "http://localhost:1/", &[]).unwrap();
    let mut resolver = Resolver(Arc::clone(&grant.rules));
    let name = |name: &str| name.parse().unwrap();
    assert!(resolver.call(name("LOCALHOST.")).await.is_ok());
    // A name that the system's resolver knows without asking anybody: 127.0.0.1.
    let refused = resolver.call(name("0x7f000001")).await.unwrap_err();
    assert!(refused.to_string().contains("does not name"), "{refused}");
}

#[tokio::test]
async fn credential_is_sent_to_its_own_origin_only() {
    let (own, seen) = serve(OK).await;
    let (other, seen_there) = serve(OK).await;
    let manifest = json!({
        "kind": "model", "name": "m", "title": "M", "version": "1.0.0", "wit": "0.1.0",
        "world": "model-provider", "http": [{"url": "base_url"}, {"url": "files_url"}],
        "credentials": [{"property": "api_key", "scheme": "bearer", "url": "base_url"}],
        "connection_data": {"type": "object"}
    });
    let data = json!({
        "base_url": format!("http://127.0.0.1:{own}"), "api_key": "sk-1",
        "files_url": format!("http://127.0.0.1:{other}")
    });
    let grant = derive(manifest, &data, &[]).unwrap();
    for port in [own, other] {
        let status = get(&grant, &format!("http://127.0.0.1:{port}/")).await;
        assert!(matches!(status, Ok(200)));
    }
    assert!(seen.await.unwrap().contains("authorization: Bearer sk-1"));
    assert!(!seen_there.await.unwrap().contains("sk-1"));
}

#[tokio::test]
async fn connect_request_is_refused() {
    let grant = grant(bearer(), "http://127.0.0.1:9/", &[]).unwrap();
    let request = Request::connect("http://127.0.0.1:9/").body(()).unwrap();
    assert!(matches!(
        grant.admit(request),
        Err(Failure::Http(HttpError::HttpRequestMethodInvalid))
    ));
}

#[test]
fn invalid_url_is_refused_with_the_reason() {
    let why = |url: &str| {
        grant(bearer(), url, &[])
            .err()
            .unwrap()
            .message()
            .to_owned()
    };
    assert!(why("ftp://example.com").contains("must begin with"));
    assert!(why("http://a:b@example.com").contains("user name"));
    assert!(why("http://169.254.169.254/").contains("egress rules"));
    assert!(why("not a url").contains("not a URL"));
}

#[test]
fn guest_cannot_set_headers_of_the_host() {
    let grant = grant(bearer(), "http://127.0.0.1:1", &[]).unwrap();
    assert!(grant.forbidden.contains(&header::AUTHORIZATION));
    assert!(grant.forbidden.contains(&header::HOST));
}
