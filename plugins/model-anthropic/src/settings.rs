//! The connection data of a provider.

use mindhost_sdk::http::{Request, escaped};
use mindhost_sdk::vendor::Endpoint;
use mindhost_sdk::{Config, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The version of the API that this plugin speaks; it has been the same since 2023.
const VERSION: &str = "2023-06-01";

/// What the manifest's schema describes, without the key, which only the host has.
#[derive(Clone, Deserialize)]
#[serde(default)]
struct Data {
    base_url: String,
    model: Option<String>,
    max_tokens: u32,
    temperature: Option<f64>,
    prompt_cache: bool,
    betas: Vec<String>,
    extra_body: Map<String, Value>,
    first_byte_timeout_seconds: u64,
    silence_timeout_seconds: u64,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            model: None,
            max_tokens: 8192,
            temperature: None,
            prompt_cache: true,
            betas: Vec::new(),
            extra_body: Map::new(),
            first_byte_timeout_seconds: 120,
            silence_timeout_seconds: 60,
        }
    }
}

/// The settings of a provider, checked. They cannot be printed: `extra_body` may hold secrets.
#[derive(Clone)]
pub struct Settings {
    data: Data,
    endpoint: Endpoint,
}

impl Settings {
    /// Reads the settings of a provider.
    ///
    /// # Errors
    /// `InvalidConfig` that names the setting.
    pub fn read(config: &Config) -> Result<Self> {
        let data: Data = config.parse()?;
        // Both forms of the address are in use.
        let base = data.base_url.trim_end_matches('/');
        let agent = concat!("mindhost-model-anthropic/", env!("CARGO_PKG_VERSION"));
        let endpoint = Endpoint::new(base.strip_suffix("/v1").unwrap_or(base))?
            .timeouts(
                data.first_byte_timeout_seconds,
                data.silence_timeout_seconds,
            )
            .header("anthropic-version", VERSION)
            .header("anthropic-beta", &data.betas.join(","))
            .header("user-agent", agent);
        Ok(Self { data, endpoint })
    }

    /// The model for requests that name none.
    pub fn model(&self) -> Option<&str> {
        self.data.model.as_deref()
    }

    /// The limit of an answer for requests that set none, in tokens.
    pub fn max_tokens(&self) -> u32 {
        self.data.max_tokens
    }

    /// For requests that set none.
    pub fn temperature(&self) -> Option<f64> {
        self.data.temperature
    }

    /// Whether to mark what the vendor should cache.
    pub fn prompt_cache(&self) -> bool {
        self.data.prompt_cache
    }

    /// Further fields of the body.
    pub fn extra_body(&self) -> &Map<String, Value> {
        &self.data.extra_body
    }

    /// A request for a message.
    pub fn message(&self, body: Vec<u8>) -> Request {
        self.endpoint.post("/v1/messages", body)
    }

    /// A request for a page of the list of models, behind the model `after`.
    pub fn models(&self, after: Option<&str>) -> Request {
        let request = self.endpoint.get("/v1/models").query("limit", "1000");
        match after {
            Some(id) => request.query("after_id", id),
            None => request,
        }
    }

    /// A request for what is known of one model; it knows aliases too.
    pub fn model_info(&self, model: &str) -> Request {
        self.endpoint.get(&format!("/v1/models/{}", escaped(model)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_address_lead_to_the_same_path() {
        for url in ["https://gate.example/a", "https://gate.example/a/v1/"] {
            let config = Config::from_json(format!(r#"{{"base_url": "{url}"}}"#));
            let request = Settings::read(&config).unwrap().message(Vec::new());
            assert_eq!(request.url, "https://gate.example/a/v1/messages");
        }
        let usual = Settings::read(&Config::from_json("{}")).unwrap();
        let request = usual.model_info("a/b");
        assert_eq!(request.url, "https://api.anthropic.com/v1/models/a%2Fb");
    }

    #[test]
    fn version_and_betas_are_headers() {
        let config = Config::from_json(r#"{"betas": ["a-1", "b-2"]}"#);
        let request = Settings::read(&config).unwrap().models(None);
        let sent = |name: &str, value: &str| request.headers.contains(&(name.into(), value.into()));
        assert!(sent("anthropic-version", "2023-06-01") && sent("anthropic-beta", "a-1,b-2"));
    }
}
