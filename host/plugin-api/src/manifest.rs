//! The manifest: what a plugin is and what it may ask for, readable without running it.
//!
//! A JSON object in the custom section `mindhost:manifest` of the component. `wit/README.md` documents it for
//! authors.

use mindhost_base::spelling::explain_unknown;
use serde::{Deserialize, Serialize, de::IgnoredAny};

/// Name of the custom section of the component that holds the manifest.
pub const SECTION: &str = "mindhost:manifest";

/// The world of plugins that yield rows and know no SQL.
pub const SCANNER_WORLD: &str = "scanner-connector";

/// The world of models that make vectors of texts too.
pub const EMBEDDINGS_WORLD: &str = "model-provider-with-embeddings";

/// What a plugin says of itself. Unknown keys are refused: a right that the host does not know is not granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The schema of this file, for editors; says nothing of the plugin.
    #[serde(default, rename = "$schema", skip_serializing)]
    pub schema: IgnoredAny,
    /// Connector or model.
    pub kind: PluginKind,
    /// `connector-sqlite`
    pub name: String,
    /// For people: `SQLite`.
    pub title: String,
    /// Semantic version, such as `1.2.3` or `1.2.3-beta.1`, at most 64 bytes.
    pub version: String,
    /// Version of the WIT package it was built against.
    pub wit: String,
    /// `sql-connector`, `model-provider`, …
    pub world: String,
    /// One or two sentences for people.
    #[serde(default)]
    pub description: String,
    /// Engine kinds that a connector serves; the first is the usual name, the others are aliases.
    #[serde(default)]
    pub engines: Vec<String>,
    /// SQL dialect of a connector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// What a connector can do.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// TCP destinations, by the names of connection data.
    #[serde(default)]
    pub network: Vec<NetworkGrant>,
    /// HTTP destinations, by the names of connection data.
    #[serde(default)]
    pub http: Vec<HttpGrant>,
    /// Files, by the names of connection data.
    #[serde(default)]
    pub files: Vec<FileGrant>,
    /// Which connection data are credentials, and who adds them.
    #[serde(default)]
    pub credentials: Vec<CredentialRule>,
    /// JSON schema (2020-12) of connection data; `x-secret` and `x-destination` mark properties.
    pub connection_data: serde_json::Value,
}

/// Why a manifest cannot be read: for an unknown property, where it is and which one was probably meant.
pub fn why_unread(error: &serde_json::Error) -> String {
    match explain_unknown(&error.to_string()) {
        Some(unknown) => format!("line {}: {unknown}", error.line()),
        None => error.to_string(),
    }
}

impl Manifest {
    /// Whether the plugin makes vectors of texts.
    pub fn has_embeddings(&self) -> bool {
        self.world == EMBEDDINGS_WORLD
    }

    /// The properties of connection data that name what may be reached: hosts, URLs and files.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let network = self.network.iter().map(|grant| &grant.host);
        let http = self.http.iter().map(|grant| &grant.url);
        let files = self.files.iter().map(|grant| &grant.path);
        network.chain(http).chain(files).map(String::as_str)
    }
}

/// Connector or model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// Serves a database engine.
    Connector,
    /// Serves a language model.
    Model,
}

/// The dialects that the guard can parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgresql,
    /// MySQL and MariaDB.
    Mysql,
    /// Microsoft SQL Server.
    Mssql,
    /// ClickHouse.
    Clickhouse,
    /// Trino.
    Trino,
    /// A dialect without peculiarities.
    Generic,
    /// The host's own, over plugins that yield rows.
    Datafusion,
}

impl Dialect {
    /// As in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgresql => "postgresql",
            Self::Mysql => "mysql",
            Self::Mssql => "mssql",
            Self::Clickhouse => "clickhouse",
            Self::Trino => "trino",
            Self::Generic => "generic",
            Self::Datafusion => "datafusion",
        }
    }
}

/// What a connector can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// A running statement can be stopped from another connection.
    pub cancel: bool,
    /// Several statements can see one state of the data.
    pub snapshot: bool,
    /// Who cuts the pages.
    pub paging: Paging,
}

/// Who cuts the pages of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paging {
    /// The engine, by LIMIT and OFFSET in the statement.
    #[default]
    Sql,
    /// The host, which reads and skips. The rule for SQL Server.
    InMemory,
}

/// A TCP destination: the values of two properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkGrant {
    /// Property with the host name or address.
    pub host: String,
    /// Property with the port, from 1 to 65535.
    pub port: String,
    /// When the property is absent.
    pub default_port: u16,
}

/// An HTTP destination: the authority of a URL property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpGrant {
    /// Property with the URL, of which only scheme, host and port count.
    pub url: String,
    /// When the property is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A file or directory: the value of a path property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileGrant {
    /// Property with the path, which must lie below a root of the workspace.
    pub path: String,
    /// One file, or everything below a directory.
    #[serde(default)]
    pub kind: FileKind,
    /// Only reading exists so far.
    #[serde(default)]
    pub access: FileAccess,
    /// Suffixes of files beside it that belong to it.
    #[serde(default)]
    pub siblings: Vec<String>,
}

/// What a path names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// One file, and those beside it with a suffix of `siblings`.
    #[default]
    File,
    /// A directory and everything below it.
    Directory,
}

/// What may be done with a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// Opening and reading, no writing.
    #[default]
    Read,
}

/// How a credential travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialRule {
    /// Property with the secret, which must be marked `x-secret`.
    pub property: String,
    /// Who adds it, and how.
    pub scheme: CredentialScheme,
    /// Header or query parameter; with `basic`, the property with the user name, and with `oauth2-client-credentials`
    /// that with the client's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL property of the `http` entry that it is for; needed where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// With `oauth2-client-credentials`, the URL property of the `http` entry with the token endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_url: Option<String>,
    /// With `oauth2-client-credentials`, the property with the scope to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// The ways a credential is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CredentialScheme {
    /// The host sends `Authorization: Bearer`.
    Bearer,
    /// The host sends `Authorization: Basic`.
    Basic,
    /// The host sends a header of that name.
    Header,
    /// The host adds a query parameter of that name.
    Query,
    /// The host gets access tokens for it from a token endpoint, and sends `Authorization: Bearer`.
    #[serde(rename = "oauth2-client-credentials")]
    Oauth2ClientCredentials,
    /// The guest gets it in its configuration.
    GuestHeld,
}

#[cfg(test)]
mod tests;
