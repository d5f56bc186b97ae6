//! `connection_data`, as the manifest's schema describes it.

use mindhost_sdk::http::Url;
use mindhost_sdk::{Config, Error, Result};
use serde::Deserialize;

/// What a datasource says about its server. Password and token are not here: the host adds them to each request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectionData {
    /// The coordinator, without `/v1`.
    pub(crate) url: String,
    pub(crate) user: String,
    /// The only catalog that is read.
    pub(crate) catalog: String,
    /// The only schemas that are listed; none means all.
    #[serde(default)]
    pub(crate) schemas: Vec<String>,
    /// Whether results may come as files.
    #[serde(default)]
    pub(crate) spooling: bool,
    /// Where such files are, if not at the coordinator.
    pub(crate) segments_url: Option<String>,
}

impl ConnectionData {
    /// Reads and checks the connection data.
    ///
    /// # Errors
    /// `InvalidConfig`, which names the field and never its value.
    pub(crate) fn parse(config: &Config) -> Result<Self> {
        let data: Self = config.parse()?;
        let urls = [Some(&data.url), data.segments_url.as_ref()];
        for url in urls.into_iter().flatten() {
            Url::parse(url)?;
            if url.contains(['?', '#']) {
                return Err(Error::invalid_config(
                    "`url` and `segments_url` in connection_data have no query or fragment; give scheme, host, port and path only",
                ));
            }
        }
        let sendable = |name: &String| !name.is_empty() && !name.chars().any(char::is_control);
        if !sendable(&data.user) || !sendable(&data.catalog) || !data.schemas.iter().all(sendable) {
            return Err(Error::invalid_config(
                "`user`, `catalog` and `schemas` in connection_data must not be empty or hold control characters",
            ));
        }
        // They travel as headers, which are ASCII.
        if !data.user.is_ascii() || !data.catalog.is_ascii() {
            return Err(Error::invalid_config(
                "`user` and `catalog` in connection_data must be ASCII",
            ));
        }
        Ok(data)
    }

    /// The coordinator without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        self.url.trim_end_matches('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<ConnectionData> {
        ConnectionData::parse(&Config::from_json(json))
    }

    #[test]
    fn url_user_and_catalog_are_enough() {
        let data = parse(r#"{"url": "http://localhost:8080/", "user": "app", "catalog": "tpch"}"#);
        let data = data.unwrap();
        assert_eq!(data.base(), "http://localhost:8080");
        assert!(data.schemas.is_empty() && !data.spooling);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for json in [
            r#"{"url": "http://localhost:8080/?x", "user": "app", "catalog": "tpch"}"#,
            r#"{"url": "http://localhost:8080", "user": "a\r\nb", "catalog": "tpch"}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": ""}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "é"}"#,
            r#"{"url": "http://a:b@localhost", "user": "app", "catalog": "tpch"}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "tpch", "password": "x"}"#,
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }
}
