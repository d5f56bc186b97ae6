//! `connection_data` as this connector reads it.

use std::fmt;
use std::time::Duration;

use mindhost_sdk::server::{Names, Port, check_password, check_text, connect_timeout};
use mindhost_sdk::tls::SslMode;
use mindhost_sdk::{Config, Error, Result, net};
use serde::Deserialize;

const DEFAULT_PORT: u16 = 1433;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

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
    schema: Names,
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
        for (field, text) in [
            ("host", &data.host),
            ("user", &data.user),
            ("database", &data.database),
        ] {
            check_text(field, text)?;
        }
        check_password(data.password.as_deref())?;
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
        self.port.or(DEFAULT_PORT)
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
        self.allow_plain_password
            || (encrypted && self.verifies())
            || net::is_this_machine(&self.host)
    }

    /// How long connecting may take, the handshakes of TLS and TDS included.
    pub(crate) fn connect_timeout(&self) -> Duration {
        connect_timeout(self.connect_timeout, DEFAULT_CONNECT_TIMEOUT)
    }

    /// The schemas that the catalog is restricted to; empty means all.
    pub(crate) fn schemas(&self) -> Vec<&str> {
        self.schema.list()
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
            ("", DEFAULT_PORT),
            (r#", "port": 1"#, 1),
            (r#", "port": "33""#, 33),
        ] {
            assert_eq!(parse(given).unwrap().port().unwrap(), port);
        }
        assert!(parse(r#", "port": 0"#).is_err());
    }

    #[test]
    fn texts_that_the_protocol_cannot_carry_are_refused() {
        assert!(parse(r#", "password": "a\u0000b""#).is_err());
        let empty = Config::from_json(r#"{"host": "db", "user": "", "database": "d"}"#);
        assert!(ConnectionData::parse(&empty).is_err());
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
