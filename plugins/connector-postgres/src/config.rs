//! `connection_data`, as the manifest's schema describes it.

use std::fmt;
use std::time::Duration;

use mindhost_sdk::tls::{self, Certificates, SslMode};
use mindhost_sdk::{Config, Error, Result, net};
use serde::Deserialize;

const DEFAULT_PORT: u16 = 5432;
const DEFAULT_CONNECT_TIMEOUT: u64 = 10;

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
    schema: Schemas,
    #[serde(default)]
    pub(crate) sslmode: SslMode,
    sslrootcert: Option<String>,
    sslcert: Option<String>,
    sslkey: Option<String>,
    connect_timeout: Option<u64>,
    #[serde(default)]
    allow_plain_password: bool,
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
                return Err(Error::invalid_config(format!(
                    "`{name}` in connection_data is empty or holds a NUL"
                )));
            }
        }
        if data
            .password
            .as_ref()
            .is_some_and(|password| password.contains('\0'))
        {
            return Err(Error::invalid_config(
                "`password` in connection_data holds a NUL",
            ));
        }
        if data.sslcert.is_some() != data.sslkey.is_some() {
            return Err(Error::invalid_config(
                "`sslcert` and `sslkey` in connection_data need each other",
            ));
        }
        Ok(data)
    }

    /// The TCP port.
    pub(crate) fn port(&self) -> Result<u16> {
        match &self.port {
            Port::Number(port) if *port > 0 => Ok(*port),
            Port::Digits(digits) if digits.is_empty() => Ok(DEFAULT_PORT),
            Port::Digits(digits) => digits
                .trim()
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(bad_port),
            Port::Number(_) => Err(bad_port()),
        }
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
        // libpq means "for ever" by 0; nothing here waits for ever.
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
        names
            .into_iter()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect()
    }
}

fn bad_port() -> Error {
    Error::invalid_config(
        "`port` in connection_data has a wrong value: expected a number from 1 to 65535",
    )
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
            ("", 5432),
            (r#", "port": 15432"#, 15432),
            (r#", "port": "15432""#, 15432),
        ] {
            assert_eq!(parse(given).unwrap().port().unwrap(), port);
        }
        for wrong in [
            r#", "port": 0"#,
            r#", "port": "99999""#,
            r#", "port": "x""#,
            r#", "port": [1]"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn schemas_are_a_text_or_a_list() {
        for (given, schemas) in [
            ("", &[][..]),
            (r#", "schema": "shop""#, &["shop"]),
            (r#", "schema": "shop, hr""#, &["shop", "hr"]),
            (r#", "schema": ["shop", "hr"]"#, &["shop", "hr"]),
            (r#", "schema": null"#, &[]),
        ] {
            assert_eq!(parse(given).unwrap().schemas(), schemas, "{given}");
        }
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
