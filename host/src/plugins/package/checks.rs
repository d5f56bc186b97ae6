//! What a manifest must say to be acceptable.

use super::Refusal;
use crate::plugins::manifest::{CredentialScheme, Manifest, PluginKind};

/// Versions of the WIT package that this host serves: `0.1.x`.
const WIT_SERVED: (u32, u32) = (0, 1);

/// Whether this host can serve what the manifest says, and whether the manifest makes sense.
pub fn check_manifest(manifest: &Manifest) -> Result<(), Refusal> {
    check_wit_version(&manifest.wit)?;
    let world = match manifest.kind {
        PluginKind::Connector => "sql-connector",
        PluginKind::Model => "model-provider",
    };
    if manifest.world != world {
        return Err(Refusal(format!(
            "is built for the world `{}`; this host serves `sql-connector` and `model-provider`, and its kind needs `{world}`",
            manifest.world
        )));
    }
    check_name("name", &manifest.name)?;
    check_version(&manifest.version)?;
    for engine in &manifest.engines {
        check_name("engines", engine)?;
    }
    match manifest.kind {
        PluginKind::Connector if manifest.engines.is_empty() => {
            return Err(Refusal::new(
                "its manifest names no engine; a connector needs `engines`",
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

/// The part of a version before the patch, as this host compares it.
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

fn check_name(field: &str, name: &str) -> Result<(), Refusal> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let valid = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(inside);
    if valid {
        return Ok(());
    }
    Err(Refusal(format!(
        "its manifest's `{field}` has `{}`; use lower-case letters, digits, `-` and `_`, at most 64, a letter first",
        name.escape_debug().take(80).collect::<String>()
    )))
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

/// Numbers of a version in the order that compares them; a pre-release comes before its release.
pub fn version_order(version: &str) -> Option<(u64, u64, u64, bool, String)> {
    let (core, pre) = match version.split_once('-') {
        Some((core, pre)) => (core, pre),
        None => (version.split('+').next()?, ""),
    };
    let mut parts = core.split('.').map(str::parse::<u64>);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => {
            Some((major, minor, patch, pre.is_empty(), pre.to_owned()))
        }
        _ => None,
    }
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

/// Every property that a grant or credential rule names must be in the schema: a right that hangs on a
/// misspelt name would silently mean nothing.
fn check_properties(manifest: &Manifest) -> Result<(), Refusal> {
    let known = manifest.connection_data.get("properties");
    let has = |name: &str| known.is_some_and(|known| known.get(name).is_some());
    let network = manifest
        .network
        .iter()
        .flat_map(|grant| [&grant.host, &grant.port]);
    let http = manifest.http.iter().map(|grant| &grant.url);
    let files = manifest.files.iter().map(|grant| &grant.path);
    let credentials = manifest.credentials.iter().map(|rule| &rule.property);
    let named = network.chain(http).chain(files).chain(credentials);
    if let Some(missing) = named.into_iter().find(|name| !has(name)) {
        return Err(Refusal(format!(
            "its manifest names the property `{missing}`, which `connection_data` does not have"
        )));
    }
    for rule in &manifest.credentials {
        let needs_name = matches!(
            rule.scheme,
            CredentialScheme::Basic | CredentialScheme::Header | CredentialScheme::Query
        );
        if needs_name && rule.name.as_deref().unwrap_or_default().is_empty() {
            return Err(Refusal(format!(
                "its manifest's credential rule for `{}` needs a `name`",
                rule.property
            )));
        }
    }
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
