//! `connection_data`, as the manifest's schema describes it.

use std::fmt;
use std::time::Duration;

use mindhost_sdk::server::{Names, Port, check_password, check_text, connect_timeout};
use mindhost_sdk::tls::{self, Certificates, SslMode};
use mindhost_sdk::{Config, Error, Result, net};
use serde::Deserialize;

const DEFAULT_PORT: u16 = 5432;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a datasource says about its server. `Debug` shows no secret.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub(crate) sslmode: SslMode,
    sslrootcert: Option<String>,
    sslcert: Option<String>,
    sslkey: Option<String>,
    connect_timeout: Option<u64>,
    #[serde(default)]
    allow_plain_password: bool,
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
        if data.sslcert.is_some() != data.sslkey.is_some() {
            return Err(Error::invalid_config(
                "`sslcert` and `sslkey` in connection_data need each other",
            ));
        }
        Ok(data)
    }

    /// The TCP port.
    pub(crate) fn port(&self) -> Result<u16> {
        self.port.or(DEFAULT_PORT)
    }

    /// Whether the password may be sent to a server that is not verified: as it is, or as an MD5 hash that is as good as
    /// the password. `encrypted` is whether TLS is spoken; without `verify-ca`, `verify-full` or `sslrootcert` it hides the
    /// password from listeners, and not from who pretends to be the server.
    pub(crate) fn may_show_password(&self, encrypted: bool) -> bool {
        let verifies = self.sslmode.verifies() || self.sslrootcert.is_some();
        self.allow_plain_password || (encrypted && verifies) || net::is_this_machine(&self.host)
    }

    /// What is trusted and shown in TLS handshakes.
    ///
    /// # Errors
    /// `InvalidConfig` when a certificate or key is not PEM, or the two do not belong together.
    pub(crate) fn tls(&self) -> Result<tls::Settings> {
        let certificates = Certificates {
            root: self.sslrootcert.as_deref(),
            client: self.sslcert.as_deref(),
            key: self.sslkey.as_deref(),
            ..Certificates::default()
        };
        tls::Settings::new(self.sslmode, &certificates)
    }

    /// How long connecting may take, the handshakes of TLS and PostgreSQL included.
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
    fn sslmode_has_the_names_of_libpq() {
        assert_eq!(parse("").unwrap().sslmode, SslMode::Prefer);
        assert_eq!(
            parse(r#", "sslmode": "verify-full""#).unwrap().sslmode,
            SslMode::VerifyFull
        );
        assert!(parse(r#", "sslmode": "on""#).is_err());
    }

    #[test]
    fn a_password_is_shown_to_verified_servers_and_this_machine() {
        for (host, extra, plain, encrypted) in [
            ("db", "", false, false),
            ("db", r#", "sslmode": "require""#, false, false),
            ("db", r#", "sslmode": "verify-ca""#, false, true),
            ("db", r#", "sslmode": "verify-full""#, false, true),
            ("db", r#", "sslrootcert": "x""#, false, true),
            ("db", r#", "allow_plain_password": true"#, true, true),
            ("db", r#", "allow_plain_password": false"#, false, false),
            ("localhost", "", true, true),
            ("127.0.0.1", "", true, true),
            ("::1", "", true, true),
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
