use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::*;

/// A server for one connection, which sends back what it receives.
struct Server {
    port: u16,
    pem: String,
    thread: thread::JoinHandle<()>,
}

impl Server {
    /// Has a certificate for `localhost`, and the ciphers whose names contain `cipher`. Its packets have headers.
    fn start(cipher: &str) -> Self {
        let issued = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let mut provider = ring::default_provider();
        provider
            .cipher_suites
            .retain(|suite| format!("{:?}", suite.suite()).contains(cipher));
        let key = PrivateKeyDer::Pkcs8(issued.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![issued.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = thread::spawn(move || {
            let mut stream = Packets::new(listener.accept().unwrap().0);
            let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
            if connection.complete_io(&mut stream).is_err() {
                // The reason for the refusal is what the client is to see.
                _ = connection.complete_io(&mut stream);
                return;
            }
            let mut stream = rustls::StreamOwned::new(connection, stream);
            let mut bytes = [0; 4];
            while stream.read_exact(&mut bytes).is_ok() && stream.write_all(&bytes).is_ok() {}
        });
        Self {
            port,
            pem: issued.cert.pem(),
            thread,
        }
    }

    /// The client's side, and what one round trip over it brings back.
    fn ask(self, mode: SslMode, host: &str, trust: bool, suites: Suites) -> Outcome {
        let certificates = Certificates {
            root: trust.then_some(self.pem.as_str()),
            ..Certificates::default()
        };
        let settings = Settings::new(mode, &certificates).unwrap();
        let socket = Packets::new(TcpStream::connect(("127.0.0.1", self.port)).unwrap());
        let outcome = settings.handshake(host, socket, suites).map(|mut stream| {
            assert!(stream.server_end_point().is_some());
            stream.write_all(b"ping").unwrap();
            stream.flush().unwrap();
            let mut answer = [0; 4];
            stream.read_exact(&mut answer).unwrap();
            assert!(stream.get_mut().packets_read > 1);
            answer
        });
        self.thread.join().unwrap();
        outcome
    }
}

type Outcome = Result<[u8; 4], HandshakeFailure>;

/// A protocol that puts what is flushed into one packet with its length before it.
struct Packets {
    socket: TcpStream,
    output: Vec<u8>,
    left: usize,
    packets_read: usize,
}

impl Packets {
    fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            output: Vec::new(),
            left: 0,
            packets_read: 0,
        }
    }
}

impl Read for Packets {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut length = [0; 4];
            self.socket.read_exact(&mut length)?;
            self.left = u32::from_be_bytes(length) as usize;
            self.packets_read += 1;
        }
        let most = buffer.len().min(self.left);
        let read = self.socket.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Packets {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.output.len()).unwrap();
        self.socket.write_all(&length.to_be_bytes())?;
        self.socket.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }
}

#[test]
fn handshake_and_data_travel_in_packets_of_another_protocol() {
    for mode in [SslMode::Prefer, SslMode::VerifyCa, SslMode::VerifyFull] {
        let outcome = Server::start("").ask(mode, "localhost", true, Suites::All);
        assert_eq!(&outcome.unwrap(), b"ping", "{mode:?}");
    }
}

#[test]
fn only_verify_full_minds_the_name() {
    let ask = |mode| Server::start("").ask(mode, "db.example.com", true, Suites::All);
    assert_eq!(&ask(SslMode::VerifyCa).unwrap(), b"ping");
    let failure = ask(SslMode::VerifyFull).unwrap_err();
    assert_eq!(failure.error.kind(), ErrorKind::Tls);
    assert!(failure.error.message().contains("not for this host name"));
}

#[test]
fn an_unknown_issuer_is_refused_where_the_mode_verifies() {
    let ask = |mode| Server::start("").ask(mode, "localhost", false, Suites::All);
    assert_eq!(&ask(SslMode::Require).unwrap(), b"ping");
    for mode in [SslMode::VerifyCa, SslMode::VerifyFull] {
        let failure = ask(mode).unwrap_err();
        assert!(failure.error.message().contains("sslrootcert"), "{mode:?}");
        assert!(!failure.try_all_suites);
    }
}

#[test]
fn a_server_without_chacha20_is_asked_again_with_all_ciphers() {
    let ask = |suites| Server::start("AES").ask(SslMode::Prefer, "localhost", false, suites);
    let failure = ask(Suites::Quick).unwrap_err();
    assert!(failure.try_all_suites, "{failure:?}");
    assert_eq!(&ask(Suites::All).unwrap(), b"ping");
    let quick = Server::start("CHACHA20");
    let outcome = quick.ask(SslMode::Prefer, "localhost", false, Suites::Quick);
    assert_eq!(&outcome.unwrap(), b"ping");
}

#[test]
fn with_suites_tries_twice_at_most() {
    let mut asked = Vec::new();
    let outcome = with_suites(|suites| -> Result<(), _> {
        asked.push(suites);
        Err(HandshakeFailure {
            error: Error::internal("no"),
            try_all_suites: true,
        })
    });
    assert!(outcome.is_err());
    assert_eq!(asked, [Suites::first(), Suites::All]);
}

const OWN: Names = Names {
    host: "server",
    verify_ca: "`check_name`: false",
    root: "ca_pem",
    client: "my_pem",
    key: "my_key",
};

#[test]
fn errors_name_the_properties_of_the_plugin() {
    let said = |error: CertificateError| failed(&rustls::Error::InvalidCertificate(error), &OWN);
    let issuer = said(CertificateError::UnknownIssuer);
    assert!(issuer.message().ends_with("certificate into `ca_pem`"));
    let name = said(CertificateError::NotValidForName);
    assert!(name.message().contains("compare `server`"), "{name}");
    assert!(name.message().ends_with("or use `check_name`: false"));
}

#[test]
fn client_certificate_of_an_old_version_is_told_from_a_wrong_key() {
    let old = rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
    let error = unusable_client(&old, &OWN);
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.message().starts_with("`my_pem` in connection_data"));
    assert!(error.message().contains("version 3"), "{error}");
    let other = rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch);
    let error = unusable_client(&other, &OWN);
    assert!(
        error.message().contains("do not belong together"),
        "{error}"
    );
}

#[test]
fn certificates_that_are_none_are_errors_of_the_configuration() {
    let nonsense = Some("nonsense");
    for (root, client, key) in [(nonsense, None, None), (None, nonsense, nonsense)] {
        let certificates = Certificates {
            root,
            client,
            key,
            names: OWN,
        };
        let error = Settings::new(SslMode::VerifyFull, &certificates)
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(!error.message().contains("nonsense"));
        // In the words of the schema of the plugin.
        let named = if root.is_some() {
            "`ca_pem`"
        } else {
            "`my_pem`"
        };
        assert!(error.message().starts_with(named), "{error}");
    }
}
