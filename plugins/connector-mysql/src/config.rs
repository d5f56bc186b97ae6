//! `connection_data`, as the manifest's schema describes it.

use std::fmt;
use std::time::Duration;

use mindhost_sdk::server::{Names, Port, check_password, check_text, connect_timeout};
use mindhost_sdk::tls::{self, Certificates, SslMode};
use mindhost_sdk::{Config, Error, Result, net};
use serde::Deserialize;

const DEFAULT_PORT: u16 = 3306;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a datasource says about its server. `Debug` shows no secret.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectionData {
    pub(crate) host: String,
    #[serde(default)]
    port: Port,
    pub(crate) user: String,
    #[serde(default)]
    password: Option<String>,
    pub(crate) database: Option<String>,
    #[serde(default)]
    schema: Names,
    #[serde(default)]
    pub(crate) sslmode: SslMode,
    sslrootcert: Option<String>,
    sslcert: Option<String>,
    sslkey: Option<String>,
    /// The server's RSA key, as PEM text.
    pub(crate) server_public_key: Option<String>,
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
        data.database = data.database.filter(|name| !name.is_empty());
        check_text("host", &data.host)?;
        check_text("user", &data.user)?;
        if let Some(database) = &data.database {
            check_text("database", database)?;
        }
        check_password(data.password.as_deref())?;
        if data.sslcert.is_some() != data.sslkey.is_some() {
            return Err(Error::invalid_config(
                "`sslcert` and `sslkey` in connection_data need each other",
            ));
        }
        Ok(data)
    }

    /// The password, empty when there is none: the protocol does not tell the two apart.
    pub(crate) fn password(&self) -> &str {
        self.password.as_deref().unwrap_or_default()
    }

    /// The TCP port.
    pub(crate) fn port(&self) -> Result<u16> {
        self.port.or(DEFAULT_PORT)
    }

    /// Whether the password may be given to a server as it is. `encrypted` is whether TLS is spoken; without
    /// `verify-ca`, `verify-full` or `sslrootcert` that hides the password from listeners, and not from who pretends
    /// to be the server. Encrypting the password with a key that the server has just sent is no better.
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

    /// How long connecting may take, the handshakes of TLS and MySQL included.
    pub(crate) fn connect_timeout(&self) -> Duration {
        connect_timeout(self.connect_timeout, DEFAULT_CONNECT_TIMEOUT)
    }

    /// The databases that the catalog is restricted to: `schema`, else `database`; empty means all.
    pub(crate) fn schemas(&self) -> Vec<&str> {
        let names = self.schema.list();
        match (&self.database, names.is_empty()) {
            (Some(database), true) => vec![database],
            _ => names,
        }
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

    fn parse(host: &str, extra: &str) -> Result<ConnectionData> {
        let json = format!(r#"{{"host": "{host}", "user": "u"{extra}}}"#);
        ConnectionData::parse(&Config::from_json(json))
    }

    #[test]
    fn a_port_is_a_number_or_digits() {
        for (given, port) in [
            ("", DEFAULT_PORT),
            (r#", "port": 1"#, 1),
            (r#", "port": "33""#, 33),
        ] {
            assert_eq!(parse("db", given).unwrap().port().unwrap(), port);
        }
        assert!(parse("db", r#", "port": 0"#).is_err());
    }

    #[test]
    fn the_catalog_holds_the_database_unless_it_is_told_otherwise() {
        for (given, schemas) in [
            ("", &[][..]),
            (r#", "database": "shop""#, &["shop"]),
            (r#", "database": "shop", "schema": "a, b""#, &["a", "b"]),
            (r#", "schema": ["a", "b"]"#, &["a", "b"]),
            (r#", "database": "shop", "schema": null"#, &["shop"]),
        ] {
            assert_eq!(parse("db", given).unwrap().schemas(), schemas, "{given}");
        }
    }

    #[test]
    fn a_password_is_shown_to_verified_servers_and_this_machine() {
        for (host, extra, plain, encrypted) in [
            ("db", "", false, false),
            ("db", r#", "sslmode": "require""#, false, false),
            ("db", r#", "sslmode": "verify-ca""#, false, true),
            ("db", r#", "sslrootcert": "x""#, false, true),
            ("db", r#", "allow_plain_password": true"#, true, true),
            ("localhost", "", true, true),
            ("10.0.0.1", "", false, false),
        ] {
            let data = parse(host, extra).unwrap();
            let may = [false, true].map(|encrypted| data.may_show_password(encrypted));
            assert_eq!(may, [plain, encrypted], "{host}{extra}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let data = parse("db", r#", "password": "hunter2""#).unwrap();
        assert!(!format!("{data:?}").contains("hunter2"));
    }
}
