//! `connection_data`, as the manifest's schema describes it.

use std::collections::BTreeMap;

use mindhost_sdk::http::{Url, escaped};
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
    /// Settings of each statement.
    #[serde(default)]
    pub(crate) session_properties: BTreeMap<String, String>,
    /// Roles that are taken on, by catalog.
    #[serde(default)]
    pub(crate) roles: BTreeMap<String, String>,
    /// Whether results may come as files.
    #[serde(default)]
    pub(crate) spooling: bool,
    /// Where such files are, if not at the coordinator.
    pub(crate) segments_url: Option<String>,
}

/// The property by which the server ends a statement in time.
const RUN_TIME: &str = "query_max_run_time";

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    !text.is_empty() && text.bytes().all(is_part)
}

impl ConnectionData {
    /// Reads and checks the connection data.
    ///
    /// # Errors
    /// `InvalidConfig`, which names the field and never its value.
    pub(crate) fn parse(config: &Config) -> Result<Self> {
        let mut data: Self = config.parse()?;
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
        let mut names = data.session_properties.keys().chain(data.roles.keys());
        if !names.all(|name| is_name(name)) {
            return Err(Error::invalid_config(
                "`session_properties` and `roles` in connection_data have names of letters, digits, `_` and `.`",
            ));
        }
        if data.session_properties.contains_key(RUN_TIME) {
            return Err(Error::invalid_config(format!(
                "`session_properties` in connection_data cannot have `{RUN_TIME}`: the host sets it for each statement"
            )));
        }
        // Trino has these names in small letters alone. Written otherwise, they would equal none that it lists.
        data.catalog = data.catalog.to_lowercase();
        for schema in &mut data.schemas {
            *schema = schema.to_lowercase();
        }
        Ok(data)
    }

    /// The settings of a statement that may run for so many seconds, as a header has them.
    pub(crate) fn session(&self, seconds: u128) -> String {
        let own = self.session_properties.iter();
        own.fold(format!("{RUN_TIME}={seconds}s"), |all, (name, value)| {
            format!("{all},{name}={}", escaped(value))
        })
    }

    /// The roles, as a header has them; none without roles.
    pub(crate) fn role_header(&self) -> Option<String> {
        let roles = self.roles.iter();
        let roles = roles
            .map(|(catalog, role)| format!("{catalog}={}", escaped(&format!("ROLE{{{role}}}"))));
        Some(roles.collect::<Vec<_>>().join(",")).filter(|roles| !roles.is_empty())
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
    fn catalog_and_schemas_are_compared_in_small_letters() {
        let data = parse(
            r#"{"url": "http://localhost:8080", "user": "App", "catalog": "TPCH", "schemas": ["TINY", "Ärzte"]}"#,
        );
        let data = data.unwrap();
        assert_eq!((data.user.as_str(), data.catalog.as_str()), ("App", "tpch"));
        assert_eq!(data.schemas, ["tiny", "ärzte"]);
    }

    #[test]
    fn properties_and_roles_fit_into_headers() {
        let data = parse(
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "hive",
                "session_properties": {"hive.time_zone": "Europe/Rome, or so", "a": "b=c"},
                "roles": {"hive": "admin", "system": "first analyst"}}"#,
        );
        let data = data.unwrap();
        assert_eq!(
            data.session(2),
            "query_max_run_time=2s,a=b%3Dc,hive.time_zone=Europe%2FRome%2C%20or%20so"
        );
        assert_eq!(
            data.role_header().as_deref(),
            Some("hive=ROLE%7Badmin%7D,system=ROLE%7Bfirst%20analyst%7D")
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for json in [
            r#"{"url": "http://localhost:8080/?x", "user": "app", "catalog": "tpch"}"#,
            r#"{"url": "http://localhost:8080", "user": "a\r\nb", "catalog": "tpch"}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": ""}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "é"}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "a", "session_properties": {"query_max_run_time": "1d"}}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "a", "session_properties": {"a,b": "c"}}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "a", "roles": {"a=b": "c"}}"#,
            r#"{"url": "http://a:b@localhost", "user": "app", "catalog": "tpch"}"#,
            r#"{"url": "http://localhost:8080", "user": "app", "catalog": "tpch", "password": "x"}"#,
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }
}
