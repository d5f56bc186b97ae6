//! `connection_data`, as the manifest's schema describes it.

use mindhost_sdk::{Config, Error, Result};
use serde::Deserialize;

/// What a datasource says about its server. The password is not here: the host adds it to each request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectionData {
    /// The HTTP interface, without a query.
    pub(crate) url: String,
    #[serde(default = "default_user")]
    pub(crate) user: String,
    /// The only database of the catalog.
    pub(crate) database: Option<String>,
    #[serde(default = "yes")]
    pub(crate) join_use_nulls: bool,
}

impl ConnectionData {
    /// Reads and checks the connection data.
    ///
    /// # Errors
    /// `InvalidConfig`, which names the field and never its value.
    pub(crate) fn parse(config: &Config) -> Result<Self> {
        let data: Self = config.parse()?;
        if data.url.contains(['?', '#']) {
            return Err(Error::invalid_config(
                "`url` in connection_data has a query or fragment; give scheme, host, port and path only",
            ));
        }
        let sendable = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        if !sendable(&data.user) || data.database.as_deref().is_some_and(|name| !sendable(name)) {
            return Err(Error::invalid_config(
                "`user` and `database` in connection_data must not be empty or hold control characters",
            ));
        }
        Ok(data)
    }
}

fn default_user() -> String {
    "default".into()
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_enough() {
        let config = Config::from_json(r#"{"url": "http://localhost:8123"}"#);
        let data = ConnectionData::parse(&config).unwrap();
        assert_eq!((data.user.as_str(), data.database), ("default", None));
        assert!(data.join_use_nulls);
    }

    #[test]
    fn a_url_cannot_carry_settings() {
        for json in [
            r#"{"url": "http://localhost:8123/?readonly=0"}"#,
            r#"{"url": "http://localhost:8123", "user": "a\r\nb"}"#,
            r#"{"url": "http://localhost:8123", "database": ""}"#,
            r#"{"url": "http://localhost:8123", "password": "x"}"#,
        ] {
            assert!(
                ConnectionData::parse(&Config::from_json(json)).is_err(),
                "{json}"
            );
        }
    }
}
