//! `connection_data` as this connector reads it.

use std::fmt;
use std::time::Duration;

use mindhost_sdk::tls::SslMode;
use mindhost_sdk::{Config, Error, Result};
use serde::Deserialize;

const DEFAULT_PORT: u16 = 1433;
const DEFAULT_CONNECT_TIMEOUT: u64 = 15;

/// The settings of one datasource. The manifest's schema describes each.
#[derive(Clone, Deserialize)]
pub(crate) struct ConnectionData {
    pub(crate) host: String,
    #[serde(default)]
    port: Port,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    #[serde(default)]
    schema: Schemas,
    #[serde(default)]
    sslmode: SslMode,
    pub(crate) sslrootcert: Option<String>,
    #[serde(default)]
    pub(crate) strict: bool,
    #[serde(default)]
    application_intent: Intent,
    connect_timeout: Option<u64>,
    #[serde(default)]
    allow_plain_password: bool,
}

/// What the login says of the session's statements; with an availability group, where they go.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Intent {
    #[default]
    ReadOnly,
    ReadWrite,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a port number")]
enum Port {
    Number(u16),
    Digits(String),
}

impl Default for Port {
    fn default() -> Self {
        Port::Number(DEFAULT_PORT)
    }
}

#[derive(Clone, Default, Deserialize)]
#[serde(untagged, expecting = "expected a schema name or a list of them")]
enum Schemas {
    #[default]
    All,
    /// One name, or several separated by commas.
    Text(String),
    List(Vec<String>),
}

impl ConnectionData {
    /// Reads and checks the connection data.
    ///
    /// # Errors
    /// `InvalidConfig`, which names the field and never its value.
    pub(crate) fn parse(config: &Config) -> Result<Self> {
        let mut data: Self = config.parse()?;
        // The host grants the destination without the blanks around it.
        data.host = data.host.trim().to_owned();
        data.port()?;
        for (name, value) in [
            ("host", &data.host),
            ("user", &data.user),
            ("database", &data.database),
        ] {
            if value.is_empty() || value.contains('\0') {
                let message = format!("`{name}` in connection_data is empty or holds a NUL");
                return Err(Error::invalid_config(message));
            }
        }
        if data.host.contains('\\') {
            let message = "`host` in connection_data names an instance; write the host alone, and the instance's TCP \
                           port into `port`";
            return Err(Error::invalid_config(message));
        }
        if data.strict && matches!(data.sslmode, SslMode::Disable | SslMode::Allow) {
            let message = "`strict` in connection_data means TLS from the first byte, which `sslmode` excludes; use \
                           verify-full";
            return Err(Error::invalid_config(message));
        }
        Ok(data)
    }

    /// How much TLS. A strict connection always checks whom it speaks to, as every client of TDS 8 does.
    pub(crate) fn sslmode(&self) -> SslMode {
        match self.sslmode {
            SslMode::Prefer | SslMode::Require if self.strict => SslMode::VerifyFull,
            mode => mode,
        }
    }

    /// The TCP port.
    pub(crate) fn port(&self) -> Result<u16> {
        let port = match &self.port {
            Port::Number(port) => Some(*port),
            Port::Digits(digits) if digits.is_empty() => Some(DEFAULT_PORT),
            Port::Digits(digits) => digits.trim().parse().ok(),
        };
        port.filter(|port| *port > 0).ok_or_else(|| {
            Error::invalid_config(
                "`port` in connection_data has a wrong value: expected a number from 1 to 65535",
            )
        })
    }

    /// Whether the login says that the application only reads.
    pub(crate) fn is_read_only(&self) -> bool {
        self.application_intent == Intent::ReadOnly
    }

    /// Whether the server's certificate is checked against an authority.
    pub(crate) fn verifies(&self) -> bool {
        self.sslmode().verifies() || self.sslrootcert.is_some()
    }

    /// Whether the password may be sent. A login of SQL Server shows it to whoever answers, so without a check of the
    /// certificate TLS hides it from listeners, and not from who pretends to be the server.
    pub(crate) fn may_show_password(&self, encrypted: bool) -> bool {
        self.allow_plain_password || (encrypted && self.verifies()) || self.is_this_machine()
    }

    /// Whether `host` says by itself that the server is on this machine, whatever a name service makes of it.
    fn is_this_machine(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match host.parse::<std::net::IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }

    /// How long connecting may take, the handshakes of TLS and TDS included.
    pub(crate) fn connect_timeout(&self) -> Duration {
        match self.connect_timeout.unwrap_or(0) {
            0 => Duration::from_secs(DEFAULT_CONNECT_TIMEOUT),
            seconds => Duration::from_secs(seconds.min(300)),
        }
    }

    /// The schemas that the catalog is restricted to; empty means all.
    pub(crate) fn schemas(&self) -> Vec<&str> {
        let names: Vec<&str> = match &self.schema {
            Schemas::All => Vec::new(),
            Schemas::Text(text) => text.split(',').collect(),
            Schemas::List(list) => list.iter().map(String::as_str).collect(),
        };
        let names = names.into_iter().map(str::trim);
        names.filter(|name| !name.is_empty()).collect()
    }
}

impl fmt::Debug for ConnectionData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionData")
            .field("sslmode", &self.sslmode)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(extra: &str) -> Result<ConnectionData> {
        let json = format!(r#"{{"host": "db", "user": "u", "database": "d"{extra}}}"#);
        ConnectionData::parse(&Config::from_json(json))
    }

    #[test]
    fn a_port_is_a_number_or_digits() {
        for (given, port) in [
            ("", 1433),
            (r#", "port": 11433"#, 11433),
            (r#", "port": "11433""#, 11433),
        ] {
            assert_eq!(parse(given).unwrap().port().unwrap(), port);
        }
        for wrong in [r#", "port": 0"#, r#", "port": "99999""#, r#", "port": [1]"#] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn schemas_are_a_text_or_a_list() {
        for (given, schemas) in [
            ("", &[][..]),
            (r#", "schema": "dbo, hr""#, &["dbo", "hr"]),
            (r#", "schema": ["dbo", "hr"]"#, &["dbo", "hr"]),
            (r#", "schema": null"#, &[]),
        ] {
            assert_eq!(parse(given).unwrap().schemas(), schemas, "{given}");
        }
    }

    #[test]
    fn a_strict_connection_checks_the_server() {
        let mode = |extra: &str| parse(extra).unwrap().sslmode();
        assert_eq!(mode(""), SslMode::Prefer);
        assert_eq!(mode(r#", "strict": true"#), SslMode::VerifyFull);
        assert_eq!(
            mode(r#", "strict": true, "sslmode": "verify-ca""#),
            SslMode::VerifyCa
        );
        assert!(parse(r#", "strict": true, "sslmode": "disable""#).is_err());
    }

    #[test]
    fn a_named_instance_needs_its_port() {
        let config =
            Config::from_json(r#"{"host": "db\\SQLEXPRESS", "user": "u", "database": "d"}"#);
        let error = ConnectionData::parse(&config).unwrap_err();
        assert!(error.message().contains("TCP port"), "{error}");
    }

    #[test]
    fn a_password_is_shown_to_verified_servers_and_this_machine() {
        for (host, extra, plain, encrypted) in [
            ("db", "", false, false),
            ("db", r#", "sslmode": "require""#, false, false),
            ("db", r#", "sslmode": "verify-ca""#, false, true),
            ("db", r#", "strict": true"#, false, true),
            ("db", r#", "sslrootcert": "x""#, false, true),
            ("db", r#", "allow_plain_password": true"#, true, true),
            ("localhost", "", true, true),
            ("127.0.0.1", "", true, true),
            ("[::ffff:127.0.0.1]", "", true, true),
            ("localhost.example.com", "", false, false),
            ("10.0.0.1", "", false, false),
        ] {
            let json = format!(r#"{{"host": "{host}", "user": "u", "database": "d"{extra}}}"#);
            let data = ConnectionData::parse(&Config::from_json(json)).unwrap();
            let may = [false, true].map(|encrypted| data.may_show_password(encrypted));
            assert_eq!(may, [plain, encrypted], "{host}{extra}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let data = parse(r#", "password": "hunter2""#).unwrap();
        assert!(!format!("{data:?}").contains("hunter2"));
    }
}
