//! The connection data of a provider.

use std::fmt;
use std::time::Duration;

use mindhost_sdk::http::{Request, Url};
use mindhost_sdk::{Config, Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What the manifest's schema describes, without the key, which only the host has.
#[derive(Clone, Deserialize)]
pub struct Settings {
    #[serde(default = "default_base_url")]
    base_url: String,
    /// The model for requests that name none.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    organization: Option<String>,
    #[serde(default)]
    project: Option<String>,
    /// For requests that set none.
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    max_tokens_field: Option<String>,
    /// Whether to ask for token counts with a stream.
    #[serde(default = "yes")]
    pub include_usage: bool,
    /// Further fields of the body.
    #[serde(default)]
    pub extra_body: Map<String, Value>,
    #[serde(default = "default_first_byte")]
    first_byte_timeout_seconds: u64,
    #[serde(default = "default_silence")]
    silence_timeout_seconds: u64,
}

impl fmt::Debug for Settings {
    /// `extra_body` and a URL typed wrong may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Settings(..)")
    }
}

impl Settings {
    /// Reads the settings of a provider.
    ///
    /// # Errors
    /// `InvalidConfig` that names the setting.
    pub fn read(config: &Config) -> Result<Self> {
        let mut settings: Self = config.parse()?;
        Url::parse(&settings.base_url).map_err(|error| error.context("`base_url`"))?;
        if settings.base_url.contains(['?', '#']) {
            return Err(Error::invalid_config(
                "`base_url` must not have a query or fragment",
            ));
        }
        settings
            .base_url
            .truncate(settings.base_url.trim_end_matches('/').len());
        Ok(settings)
    }

    /// The name of the body's field that limits the answer.
    pub fn max_tokens_field(&self) -> &str {
        let usual = if self.is_openai() {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        self.max_tokens_field.as_deref().unwrap_or(usual)
    }

    fn is_openai(&self) -> bool {
        Url::parse(&self.base_url)
            .is_ok_and(|url| url.authority.eq_ignore_ascii_case("api.openai.com"))
    }

    /// A request to a path below the base URL, with the headers that the settings name.
    pub fn get(&self, path: &str) -> Request {
        self.finish(Request::get(format!("{}{path}", self.base_url)))
    }

    /// The same with a JSON body.
    pub fn post(&self, path: &str, body: Vec<u8>) -> Request {
        let request = Request::post(format!("{}{path}", self.base_url), body)
            .header("content-type", "application/json");
        self.finish(request)
    }

    fn finish(&self, mut request: Request) -> Request {
        request.first_byte_timeout = Duration::from_secs(self.first_byte_timeout_seconds);
        request.between_bytes_timeout = Duration::from_secs(self.silence_timeout_seconds);
        let named = [
            ("openai-organization", &self.organization),
            ("openai-project", &self.project),
        ];
        for (name, value) in named {
            if let Some(value) = value.as_ref().filter(|v| !v.is_empty()) {
                request = request.header(name, value);
            }
        }
        request.header(
            "user-agent",
            concat!("mindhost-model-openai/", env!("CARGO_PKG_VERSION")),
        )
    }
}

fn default_base_url() -> String {
    "https://api.openai.com/v1".to_owned()
}

fn yes() -> bool {
    true
}

fn default_first_byte() -> u64 {
    120
}

fn default_silence() -> u64 {
    60
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sdk::ErrorKind;

    fn read(json: &str) -> Result<Settings> {
        Settings::read(&Config::from_json(json))
    }

    #[test]
    fn paths_go_below_the_base_url() {
        let settings =
            read(r#"{"base_url": "http://localhost:11434/v1/", "organization": "org"}"#).unwrap();
        let request = settings.get("/models");
        assert_eq!(request.url, "http://localhost:11434/v1/models");
        assert!(
            request
                .headers
                .contains(&("openai-organization".into(), "org".into()))
        );
        assert_eq!(settings.max_tokens_field(), "max_tokens");
    }

    #[test]
    fn nothing_configured_means_openai() {
        let settings = read("{}").unwrap();
        assert_eq!(
            settings.get("/models").url,
            "https://api.openai.com/v1/models"
        );
        assert_eq!(settings.max_tokens_field(), "max_completion_tokens");
    }

    #[test]
    fn a_wrong_url_is_named_not_shown() {
        for url in [
            "openai.com",
            "https://user:pw@openai.com",
            "https://x/v1?key=s3cret",
        ] {
            let error = read(&format!(r#"{{"base_url": "{url}"}}"#)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidConfig);
            assert!(
                error.message().contains("base_url")
                    && !error.message().contains("pw@")
                    && !error.message().contains("s3cret")
            );
        }
    }
}
