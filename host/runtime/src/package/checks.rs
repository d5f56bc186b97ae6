//! Checks of a manifest.

use http::HeaderName;
use semver::Version;
use serde_json::{Map, Value};

use super::Refusal;
use mindhost_plugin_api::manifest::{
    Capabilities, CredentialRule, CredentialScheme, Dialect, EMBEDDINGS_WORLD, Manifest,
    PluginKind, SCANNER_WORLD,
};

/// Versions of the WIT package that this host serves: `0.1.x`.
const WIT_SERVED: (u32, u32) = (0, 1);
/// Longest title, in bytes.
const MAX_TITLE: usize = 200;
/// Longest description, in bytes.
const MAX_DESCRIPTION: usize = 4_096;

/// Checks that the manifest is consistent and that this host can serve it.
pub fn check_manifest(manifest: &Manifest) -> Result<(), Refusal> {
    check_wit_version(&manifest.wit)?;
    let worlds: &[&str] = match manifest.kind {
        PluginKind::Connector => &["sql-connector", SCANNER_WORLD],
        PluginKind::Model => &["model-provider", EMBEDDINGS_WORLD],
    };
    if !worlds.contains(&manifest.world.as_str()) {
        return Err(Refusal(format!(
            "is built for the world `{}`; this host serves `sql-connector`, `scanner-connector`, `model-provider` and `{EMBEDDINGS_WORLD}`, and its kind needs `{}`",
            manifest.world,
            worlds.join("` or `")
        )));
    }
    check_name("name", &manifest.name)?;
    check_version(&manifest.version)?;
    check_words("title", &manifest.title, MAX_TITLE)?;
    check_words("description", &manifest.description, MAX_DESCRIPTION)?;
    for engine in &manifest.engines {
        check_name("engines", engine)?;
    }
    match manifest.kind {
        PluginKind::Connector if manifest.engines.is_empty() => {
            return Err(Refusal::new(
                "its manifest names no engine; a connector needs `engines`",
            ));
        }
        PluginKind::Connector if manifest.world == SCANNER_WORLD => check_scanner(manifest)?,
        PluginKind::Connector if manifest.dialect == Some(Dialect::Datafusion) => {
            return Err(Refusal::new(
                "its manifest has the dialect `datafusion`, which is the host's own; use `generic` if none fits",
            ));
        }
        PluginKind::Connector if manifest.dialect.is_none() => {
            return Err(Refusal::new(
                "its manifest names no `dialect`; use `generic` if none fits",
            ));
        }
        PluginKind::Model if !manifest.engines.is_empty() => {
            return Err(Refusal::new(
                "its manifest has `engines`, which only connectors have",
            ));
        }
        _ => {}
    }
    check_schema(manifest)?;
    check_properties(manifest)
}

/// Checks the rules that manifests of installed plugins need not keep.
pub fn check_new(manifest: &Manifest) -> Result<(), Refusal> {
    check_origins(manifest)?;
    check_settings(manifest)
}

/// Refuses a connector with a default destination: it would get the stored secrets of every datasource. A model may
/// have one, the address of its vendor.
///
/// For new plugins only. Installed ones stay, because a default grants nothing.
pub fn check_origins(manifest: &Manifest) -> Result<(), Refusal> {
    if manifest.kind == PluginKind::Model {
        return Ok(());
    }
    if let Some(grant) = manifest.http.iter().find(|grant| grant.default.is_some()) {
        return Err(Refusal(format!(
            "its manifest has a `default` for `{}` in `http`, which only models may have; a connector reaches what its datasource names, so leave it out and make the property required",
            grant.url
        )));
    }
    let network = manifest.network.iter().map(|grant| &grant.host);
    let http = manifest.http.iter().map(|grant| &grant.url);
    let files = manifest.files.iter().map(|grant| &grant.path);
    let has_default = |property: &&String| {
        let property = &manifest.connection_data["properties"][property.as_str()];
        property
            .get("default")
            .is_some_and(|value| !value.is_null())
    };
    match network.chain(http).chain(files).find(has_default) {
        Some(property) => Err(Refusal(format!(
            "its manifest has a `default` for the property `{property}`, which says what a datasource reaches; leave it out, so that each datasource names its own"
        ))),
        None => Ok(()),
    }
}

/// Refuses settings whose name, title or description is not plain text on one line: commands list them below the rights
/// of the plugin, where a line of its own could pass for one of the host.
///
/// For new plugins only. Commands replace control characters in what they show of installed ones.
fn check_settings(manifest: &Manifest) -> Result<(), Refusal> {
    let properties = manifest.connection_data.get("properties");
    let properties = properties.and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        check_words("connection_data.properties", name, MAX_TITLE)?;
        for (field, max) in [("title", MAX_TITLE), ("description", MAX_DESCRIPTION)] {
            let words = property.get(field).and_then(Value::as_str);
            let place = format!("connection_data.properties.{name}.{field}");
            check_words(&place, words.unwrap_or_default(), max)?;
        }
    }
    Ok(())
}

/// Refuses a scanner that declares a dialect or capabilities, which the host provides.
fn check_scanner(manifest: &Manifest) -> Result<(), Refusal> {
    if manifest
        .dialect
        .is_some_and(|dialect| dialect != Dialect::Datafusion)
    {
        return Err(Refusal::new(
            "its manifest names a `dialect`; the host gives a scanner its own, so leave it out",
        ));
    }
    if manifest.capabilities != Capabilities::default() {
        return Err(Refusal::new(
            "its manifest claims `capabilities` that a scanner cannot have; leave them out",
        ));
    }
    Ok(())
}

/// Major and minor version, for comparison.
fn check_wit_version(wit: &str) -> Result<(), Refusal> {
    let mut parts = wit.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor)), Some(Ok(_)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Refusal(format!(
            "its manifest's `wit` is `{wit}`; write it like `0.1.0`"
        )));
    };
    if (major, minor) == WIT_SERVED {
        return Ok(());
    }
    let next = if (major, minor) > WIT_SERVED {
        "install a newer Mindhost"
    } else {
        "rebuild the plugin with a newer SDK"
    };
    let (served_major, served_minor) = WIT_SERVED;
    Err(Refusal(format!(
        "needs WIT {major}.{minor}.x and this host serves {served_major}.{served_minor}.x; {next}"
    )))
}

/// Whether text is a valid name of a plugin or engine.
pub fn is_name(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= 64
        && text.chars().all(inside)
}

fn check_name(field: &str, name: &str) -> Result<(), Refusal> {
    if is_name(name) {
        return Ok(());
    }
    Err(Refusal(format!(
        "its manifest's `{field}` has `{}`; use lower-case letters, digits, `-` and `_`, at most 64, a letter first",
        name.escape_debug().take(80).collect::<String>()
    )))
}

/// Checks display text, which terminals and pages show unchanged.
fn check_words(field: &str, words: &str, max: usize) -> Result<(), Refusal> {
    match words.len() <= max && !words.chars().any(is_control_or_bidi) {
        true => Ok(()),
        false => Err(Refusal(format!(
            "its manifest's `{field}` must be plain text on one line, of at most {max} bytes"
        ))),
    }
}

/// Whether a character is a control character or changes the direction of text.
fn is_control_or_bidi(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check_version(version: &str) -> Result<(), Refusal> {
    if version_order(version).is_some() && version.len() <= 64 {
        return Ok(());
    }
    Err(Refusal(format!(
        "its manifest's `version` is `{}`; write it like `1.2.3` or `1.2.3-beta.1`",
        version.escape_debug().take(80).collect::<String>()
    )))
}

/// A version by which versions are ordered, as semantic versioning says: a pre-release comes before its release.
pub fn version_order(version: &str) -> Option<Version> {
    Version::parse(version).ok()
}

fn check_schema(manifest: &Manifest) -> Result<(), Refusal> {
    let is_object = manifest
        .connection_data
        .get("type")
        .and_then(|t| t.as_str())
        == Some("object");
    if !is_object {
        return Err(Refusal::new(
            "its manifest's `connection_data` must be a JSON schema of type object",
        ));
    }
    jsonschema::validator_for(&manifest.connection_data)
        .map(drop)
        .map_err(|error| {
            Refusal(format!(
                "its manifest's `connection_data` is not a JSON schema: {error}"
            ))
        })
}

/// Checks that every property in a grant or credential rule is in the schema and marked. A misspelt property would
/// grant nothing. An unmarked secret would be stored in clear, or sent to a changed destination.
fn check_properties(manifest: &Manifest) -> Result<(), Refusal> {
    let network = manifest
        .network
        .iter()
        .flat_map(|grant| [&grant.host, &grant.port]);
    let http = manifest.http.iter().map(|grant| &grant.url);
    let files = manifest.files.iter().map(|grant| &grant.path);
    for property in network.chain(http).chain(files) {
        check_mark(manifest, property, "x-destination")?;
    }
    for rule in &manifest.credentials {
        check_mark(manifest, &rule.property, "x-secret")?;
        check_credential(manifest, rule)?;
    }
    check_depth(&manifest.connection_data)?;
    let escaping = |suffix: &String| suffix.is_empty() || suffix.contains(['/', '\\', '\0']);
    if manifest
        .files
        .iter()
        .flat_map(|grant| &grant.siblings)
        .any(escaping)
    {
        return Err(Refusal::new(
            "its manifest's `siblings` must be suffixes of file names, like `-wal`",
        ));
    }
    Ok(())
}

fn check_mark(manifest: &Manifest, property: &str, mark: &str) -> Result<(), Refusal> {
    let known = manifest.connection_data.get("properties");
    let Some(schema) = known.and_then(|known| known.get(property)) else {
        return Err(Refusal(format!(
            "its manifest names the property `{property}`, which `connection_data` does not have"
        )));
    };
    if schema.get(mark).and_then(Value::as_bool) == Some(true) {
        return Ok(());
    }
    let why = match mark {
        "x-secret" => "it is a credential, and only marked ones are encrypted and masked",
        _ => "it decides where secrets go, and they may not follow a change of it",
    };
    Err(Refusal(format!(
        "its manifest must mark the property `{property}` with `\"{mark}\": true`: {why}"
    )))
}

/// Refuses a mark on a nested property, which would be ignored.
fn check_depth(schema: &Value) -> Result<(), Refusal> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties: Vec<&Value> = properties.into_iter().flat_map(Map::values).collect();
    for mark in ["x-secret", "x-destination"] {
        let top = |property: &&&Value| property.get(mark) == Some(&Value::Bool(true));
        if marks(schema, mark) > properties.iter().filter(top).count() {
            return Err(Refusal(format!(
                "its manifest has `{mark}` inside of a property; only the properties of `connection_data` itself can be marked, so mark the whole property or take it apart"
            )));
        }
    }
    Ok(())
}

fn marks(schema: &Value, mark: &str) -> usize {
    match schema {
        Value::Object(fields) => {
            let own = usize::from(fields.get(mark) == Some(&Value::Bool(true)));
            own + fields
                .values()
                .map(|field| marks(field, mark))
                .sum::<usize>()
        }
        Value::Array(items) => items.iter().map(|item| marks(item, mark)).sum(),
        _ => 0,
    }
}

fn check_credential(manifest: &Manifest, rule: &CredentialRule) -> Result<(), Refusal> {
    use CredentialScheme::{
        Basic, Bearer, GuestHeld, Header, Oauth2ClientCredentials as Oauth2, Query,
    };
    let wrong = |why: &str| {
        Refusal(format!(
            "its manifest's credential rule for `{}` {why}",
            rule.property
        ))
    };
    let name = rule.name.as_deref().unwrap_or_default();
    if matches!(rule.scheme, Basic | Header | Query | Oauth2) && name.is_empty() {
        return Err(wrong("needs a `name`"));
    }
    match rule.scheme {
        GuestHeld if rule.url.is_some() => {
            return Err(wrong(
                "has a `url`, which means nothing where the plugin holds it",
            ));
        }
        GuestHeld => return Ok(()),
        Basic | Oauth2 => check_mark(manifest, name, "x-destination")?,
        Header if !is_free_header(name) => {
            return Err(wrong(
                "has a `name` that cannot be the header of a credential",
            ));
        }
        Bearer | Header | Query => {}
    }
    let known = |url: &String| manifest.http.iter().any(|grant| grant.url == *url);
    if rule.scheme == Oauth2 {
        match &rule.token_url {
            None => return Err(wrong("needs a `token_url`")),
            Some(url) if !known(url) => {
                return Err(wrong(
                    "has a `token_url` that is not the `url` of an entry in `http`",
                ));
            }
            Some(url) if rule.url.as_ref() == Some(url) => {
                return Err(wrong(
                    "has the same property as `url` and `token_url`; give the token endpoint an entry of its own in `http`",
                ));
            }
            Some(_) => {}
        }
        if let Some(scope) = &rule.scope {
            check_mark(manifest, scope, "x-destination")?;
        }
    } else if rule.token_url.is_some() || rule.scope.is_some() {
        return Err(wrong(
            "has a `token_url` or `scope`, which only `oauth2-client-credentials` has",
        ));
    }
    match (&rule.url, manifest.http.len()) {
        (Some(url), _) if !known(url) => Err(wrong(
            "has a `url` that is not the `url` of an entry in `http`",
        )),
        (None, 0) => Err(wrong(
            "has no entry in `http` to which the host could send it",
        )),
        (None, 2..) => Err(wrong(
            "does not say where it goes; there are several entries in `http`, so give the `url` of one",
        )),
        _ => Ok(()),
    }
}

/// Whether a header may hold a credential: not one that frames or routes the request.
fn is_free_header(name: &str) -> bool {
    const TAKEN: [&str; 7] = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
    ];
    HeaderName::try_from(name).is_ok_and(|name| !TAKEN.contains(&name.as_str()))
}
