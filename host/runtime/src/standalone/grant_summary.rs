//! The grants of a configuration, in words.

use serde_json::{Map, Value};

use mindhost_plugin_api::manifest::{CredentialRule, CredentialScheme, FileKind, Manifest};

/// One line for each grant of a configuration, without secrets.
pub fn grant_summary(manifest: &Manifest, data: &Map<String, Value>) -> Vec<String> {
    let text = |name: &str| match data.get(name) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let non_empty = |text: String| (!text.is_empty()).then_some(text);
    let network = manifest.network.iter().filter_map(|rule| {
        let host = non_empty(text(&rule.host))?;
        let port = non_empty(text(&rule.port)).unwrap_or_else(|| rule.default_port.to_string());
        Some(format!(
            "TCP to {host}:{port} (`{}`, `{}`)",
            rule.host, rule.port
        ))
    });
    let http = manifest.http.iter().filter_map(|rule| {
        let url = non_empty(text(&rule.url)).or_else(|| rule.default.clone())?;
        Some(format!("HTTP to {} (`{}`)", origin(&url), rule.url))
    });
    let files = manifest.files.iter().filter_map(|rule| {
        let path = non_empty(text(&rule.path))?;
        let what = match rule.kind {
            FileKind::File if rule.siblings.is_empty() => "the file",
            FileKind::File => "the file and its siblings",
            FileKind::Directory => "everything below",
        };
        Some(format!("reading {what} {path} (`{}`)", rule.path))
    });
    let credentials = manifest.credentials.iter();
    let credentials = credentials
        .filter(|rule| data.contains_key(&rule.property))
        .map(credential);
    network
        .chain(http)
        .chain(files)
        .chain(credentials)
        .collect()
}

fn credential(rule: &CredentialRule) -> String {
    let name = rule.name.as_deref().unwrap_or_default();
    let who = match rule.scheme {
        CredentialScheme::GuestHeld => {
            return format!("the secret `{}`, which it holds itself", rule.property);
        }
        CredentialScheme::Bearer => "a bearer token".to_owned(),
        CredentialScheme::Oauth2ClientCredentials => {
            let endpoint = rule.token_url.as_deref().unwrap_or_default();
            format!("an access token from `{endpoint}`")
        }
        CredentialScheme::Basic => "basic authentication".to_owned(),
        CredentialScheme::Header => format!("the header `{name}`"),
        CredentialScheme::Query => format!("the query parameter `{name}`"),
    };
    format!(
        "the secret `{}`, which the host adds as {who}",
        rule.property
    )
}

/// The scheme and authority of a URL, without a password. The path may hold a secret.
fn origin(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => "a URL that cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn summary_leaves_out_secrets() {
        let manifest = json!({
            "kind": "connector", "name": "c", "title": "C", "version": "1.0.0", "wit": "0.1.0",
            "world": "sql-connector",
            "network": [{"host": "host", "port": "port", "default_port": 5432}],
            "http": [{"url": "url", "default": "https://api.example.com/v1"}],
            "files": [{"path": "path", "siblings": ["-wal"]}],
            "credentials": [
                {"property": "password", "scheme": "guest-held"},
                {"property": "key", "scheme": "header", "name": "x-key"},
                {"property": "absent", "scheme": "bearer"}
            ],
            "connection_data": {"type": "object"}
        });
        let manifest = serde_json::from_value(manifest).unwrap();
        let data = json!({"host": "db", "path": "/a/shop.db", "password": "hunter2", "key": "k3y"});
        let summary = grant_summary(&manifest, data.as_object().unwrap());
        assert_eq!(
            summary,
            [
                "TCP to db:5432 (`host`, `port`)",
                "HTTP to https://api.example.com (`url`)",
                "reading the file and its siblings /a/shop.db (`path`)",
                "the secret `password`, which it holds itself",
                "the secret `key`, which the host adds as the header `x-key`",
            ]
        );
    }
}
