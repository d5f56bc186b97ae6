//! TLS and authentication: a coordinator with the certificate of an authority of its own, which asks for a password or
//! a JSON Web Token.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::cancelling::slow;
use crate::host::{Host, query};
use crate::programs::{folder, free_port, until};
use crate::trino::{Setup, Trino, kept};

const PASSWORD: &str = "correct horse";
/// Two users with that password, as `htpasswd -B` writes them.
const USERS: &str = "\
app:$2y$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu
guest:$2y$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu
";

/// A coordinator that is asked over HTTPS. On its other port, without TLS, it believes any name, so that a
/// test can look at it.
struct Secured {
    trino: Trino,
    port: u16,
    /// Certificates and keys.
    folder: PathBuf,
}

impl Secured {
    fn shared() -> &'static Self {
        static SERVER: OnceLock<Secured> = OnceLock::new();
        SERVER.get_or_init(|| {
            let (started, server) = mpsc::channel();
            kept(move || started.send(Self::start()).unwrap());
            server.recv().unwrap()
        })
    }

    fn start() -> Self {
        let (port, folder) = (free_port(), folder("secured"));
        make_certificates(&folder);
        fs::write(folder.join("users"), USERS).unwrap();
        let at = |file: &str| folder.join(file).display().to_string();
        let authenticator = format!(
            "password-authenticator.name=file\nfile.password-file={}\n",
            at("users")
        );
        fs::write(folder.join("password.properties"), authenticator).unwrap();
        let config = format!(
            "http-server.https.enabled=true\nhttp-server.https.port={port}\n\
             http-server.https.keystore.path={}\n\
             http-server.authentication.type=PASSWORD,JWT\n\
             http-server.authentication.allow-insecure-over-http=true\n\
             password-authenticator.config-files={}\n\
             http-server.authentication.jwt.key-file={}\n\
             internal-communication.shared-secret=only-for-this-test\n",
            at("server.pem"),
            at("password.properties"),
            at("token.public.pem"),
        );
        let trino = Trino::start(&Setup {
            config: &config,
            ..Setup::default()
        });
        Self {
            trino,
            port,
            folder,
        }
    }

    /// A server that trusts the authority of the coordinator.
    fn host(&self) -> Host {
        let authority = self.folder.join("authority.pem").display().to_string();
        Host::with(&[("MINDHOST_EGRESS__ROOT_CERTIFICATES", &authority)])
    }

    /// Connection data with these fields besides.
    fn data(&self, more: &Value) -> Value {
        let mut data = json!({
            "url": format!("https://127.0.0.1:{}", self.port),
            "user": "app", "catalog": "tpch", "schemas": ["tiny"],
        });
        for (name, value) in more.as_object().unwrap() {
            data[name] = value.clone();
        }
        data
    }

    /// A token for a user, signed with a key, that is valid for so many seconds.
    fn token(&self, key: &str, user: &str, seconds: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let ends = i64::try_from(now.as_secs()).unwrap() + seconds;
        let part = |of: Value| BASE64_URL_SAFE_NO_PAD.encode(of.to_string());
        let head = part(json!({"alg": "RS256", "typ": "JWT"}));
        let signed = format!("{head}.{}", part(json!({"sub": user, "exp": ends})));
        let key = format!("{key}.key");
        let signature = openssl(&self.folder, &["dgst", "-sha256", "-sign", &key], &signed);
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

/// An authority, the certificate that it signed for 127.0.0.1, and keys for tokens: one that the coordinator knows, and
/// one that it does not.
fn make_certificates(folder: &Path) {
    let key = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
    ];
    let make = |more: &[&str]| openssl(folder, &[&key[..], more].concat(), "");
    make(&[
        "-subj",
        "/CN=authority",
        "-keyout",
        "authority.key",
        "-out",
        "authority.pem",
    ]);
    make(&[
        "-subj",
        "/CN=trino",
        "-CA",
        "authority.pem",
        "-CAkey",
        "authority.key",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        "server.key",
        "-out",
        "server.crt",
    ]);
    let part = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let both = part("server.key") + &part("server.crt");
    fs::write(folder.join("server.pem"), both).unwrap();
    for name in ["token.key", "other.key"] {
        openssl(folder, &["genrsa", "-out", name, "2048"], "");
    }
    let public = [
        "rsa",
        "-in",
        "token.key",
        "-pubout",
        "-out",
        "token.public.pem",
    ];
    openssl(folder, &public, "");
}

/// Runs `openssl` in a folder. What it writes to its standard output.
fn openssl(folder: &Path, arguments: &[&str], input: &str) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = command.stderr(Stdio::null()).spawn().unwrap();
    let mut pipe = program.stdin.take().unwrap();
    pipe.write_all(input.as_bytes()).unwrap();
    drop(pipe);
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "openssl {arguments:?}");
    output.stdout
}

/// What the server says of connection data that do not work: code and message.
fn refused(host: &Host, data: &Value) -> (String, String) {
    let body = json!({"name": "refused", "engine": "trino", "connection_data": data});
    let answer = host.post("/datasources", &body);
    assert!(answer.status >= 400, "{data}: {}", answer.text);
    for secret in ["password", "token"] {
        let secret = data[secret].as_str().filter(|secret| !secret.is_empty());
        assert!(
            secret.is_none_or(|secret| !answer.text.contains(secret)),
            "{}",
            answer.text
        );
    }
    let error = &answer.json()["error"];
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

#[test]
fn password_and_token_are_taken_over_tls_for_every_request() {
    let secured = Secured::shared();
    let host = secured.host();
    let token = secured.token("token", "app", 600);
    for (name, credential) in [
        ("by_password", json!({"password": PASSWORD})),
        ("by_token", json!({"token": token})),
    ] {
        let catalog = host.datasource(name, "trino", secured.data(&credential));
        assert_eq!(catalog["tables"].as_array().map(Vec::len), Some(8));
        host.mind(name, &json!([name]));
        // More than one page, each of which is asked for with the credential.
        let result = host.query(
            name,
            "SELECT orderkey, comment FROM orders ORDER BY orderkey",
        );
        assert_eq!(result["total"], 15_000);
        let user = secured
            .trino
            .rows("SELECT DISTINCT \"user\" FROM system.runtime.queries WHERE source = 'mindhost'");
        assert_eq!(user, [json!(["app"])]);

        // The request that ends a statement has it too.
        let mark = format!("slow_{name}");
        let mut client = host.posting("/responses", &query(name, &slow(&mark)));
        let mut client = client.stdout(Stdio::null()).spawn().unwrap();
        until("it runs", || {
            (secured.trino.awaited(&mark) > 0).then_some(())
        });
        client.kill().unwrap();
        client.wait().unwrap();
        until("it ended", || {
            (secured.trino.running(&mark) == 0).then_some(())
        });
    }
}

#[test]
fn credentials_that_are_wrong_are_refused_in_the_words_of_trino() {
    let secured = Secured::shared();
    let host = secured.host();
    let token = |key, user, seconds| json!({"token": secured.token(key, user, seconds)});
    for (wrong, what) in [
        (json!({}), "nothing"),
        (json!({"password": "wrong horse"}), "another password"),
        (
            json!({"user": "nobody", "password": PASSWORD}),
            "a user that is not known",
        ),
        (
            token("other", "app", 600),
            "a token that another key signed",
        ),
        (token("token", "app", -600), "a token that is over"),
        (json!({"token": "no.token"}), "a text that is no token"),
    ] {
        let (code, message) = refused(&host, &secured.data(&wrong));
        assert_eq!(code, "connection_failed", "{what}: {message}");
        assert!(
            message.contains("refused the credentials"),
            "{what}: {message}"
        );
    }
    // Trino knows the key of the token, and its user may not be another one.
    let (_, message) = refused(&host, &secured.data(&token("token", "guest", 600)));
    assert!(message.contains("cannot impersonate user app"), "{message}");
    // Without TLS Trino takes no password.
    let mut plain = secured.data(&json!({"password": PASSWORD}));
    plain["url"] = json!(secured.trino.url);
    let (_, message) = refused(&host, &plain);
    assert!(message.contains("refused"), "{message}");
}

#[test]
fn certificate_of_a_stranger_or_for_another_name_is_refused() {
    let secured = Secured::shared();
    let data = secured.data(&json!({"password": PASSWORD}));
    let (_, message) = refused(&Host::start(), &data);
    assert!(message.contains("certificate"), "{message}");
    // It is the certificate of 127.0.0.1 alone.
    let mut other = data.clone();
    other["url"] = json!(format!("https://localhost:{}", secured.port));
    let host = secured.host();
    let (_, message) = refused(&host, &other);
    assert!(message.contains("certificate"), "{message}");
    // What was refused was the certificate: with the other name all is well.
    host.datasource("lake", "trino", data);
}
