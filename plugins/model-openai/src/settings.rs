//! The connection data of a provider.

use mindhost_sdk::http::{Request, escaped};
use mindhost_sdk::vendor::Endpoint;
use mindhost_sdk::{Config, Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::flavor::Flavor;

/// What the manifest's schema describes, without the keys, which only the host has.
#[derive(Clone, Deserialize)]
struct Data {
    #[serde(default = "default_base_url")]
    base_url: String,
    #[serde(default)]
    api: Flavor,
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    organization: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    max_tokens_field: Option<String>,
    #[serde(default = "yes")]
    include_usage: bool,
    #[serde(default)]
    extra_body: Map<String, Value>,
    #[serde(default = "default_first_byte")]
    first_byte_timeout_seconds: u64,
    #[serde(default = "default_silence")]
    silence_timeout_seconds: u64,
}

/// The settings of a provider, checked. They cannot be printed: `extra_body` may hold secrets.
#[derive(Clone)]
pub struct Settings {
    data: Data,
    endpoint: Endpoint,
    /// Who answers.
    pub flavor: Flavor,
}

impl Settings {
    /// Reads the settings of a provider.
    ///
    /// # Errors
    /// `InvalidConfig` that names the setting.
    pub fn read(config: &Config) -> Result<Self> {
        let data: Data = config.parse()?;
        let agent = concat!("mindhost-model-openai/", env!("CARGO_PKG_VERSION"));
        let endpoint = Endpoint::new(&data.base_url)?
            .timeouts(
                data.first_byte_timeout_seconds,
                data.silence_timeout_seconds,
            )
            .header("openai-organization", &data.organization)
            .header("openai-project", &data.project)
            .header("user-agent", agent);
        let flavor = data.api.at(&endpoint);
        let settings = Self {
            data,
            endpoint,
            flavor,
        };
        settings.check_azure()?;
        Ok(settings)
    }

    /// Azure's deployments are the only API with a version in its URL.
    fn check_azure(&self) -> Result<()> {
        match (self.flavor, self.has_deployments(), &self.data.api_version) {
            (Flavor::Azure, true, None) => Err(Error::invalid_config(
                "`api_version` is missing: a `base_url` with deployments needs it, such as 2024-10-21",
            )),
            (Flavor::Azure, false, Some(_)) if self.endpoint.path().ends_with("/v1") => {
                Err(Error::invalid_config(
                    "`api_version` is not for Azure's v1 API; leave it out, or end `base_url` in /openai",
                ))
            }
            (Flavor::Azure, ..) | (_, _, None) => Ok(()),
            (_, _, Some(_)) => Err(Error::invalid_config(
                "`api_version` is for Azure only; leave it out, or set `api` to `azure`",
            )),
        }
    }

    /// The model for requests that name none.
    pub fn model(&self) -> Option<&str> {
        self.data.model.as_deref()
    }

    /// For requests that set none.
    pub fn temperature(&self) -> Option<f64> {
        self.data.temperature
    }

    /// Whether to ask for token counts with a stream.
    pub fn include_usage(&self) -> bool {
        self.data.include_usage
    }

    /// Further fields of the body.
    pub fn extra_body(&self) -> &Map<String, Value> {
        &self.data.extra_body
    }

    /// The configured name of the body's field that limits the answer.
    pub fn max_tokens_field(&self) -> Option<&str> {
        self.data.max_tokens_field.as_deref()
    }

    /// Whether the base URL itself names a deployment.
    fn has_deployments(&self) -> bool {
        self.endpoint.path().contains("/deployments/")
    }

    /// Whether the URL of a request names a deployment, so that the list of models is not the list of what can be asked.
    pub fn is_deployment(&self) -> bool {
        self.data.api_version.is_some()
    }

    /// A request for a completion by a model.
    pub fn completion(&self, model: &str, body: Vec<u8>) -> Request {
        self.post("/chat/completions", model, body)
    }

    /// A request for vectors by a model.
    pub fn embeddings(&self, model: &str, body: Vec<u8>) -> Request {
        self.post("/embeddings", model, body)
    }

    /// A request to a model, which is a deployment in the URL of some.
    fn post(&self, path: &str, model: &str, body: Vec<u8>) -> Request {
        let Some(version) = &self.data.api_version else {
            return self.endpoint.post(path, body);
        };
        let request = match self.has_deployments() {
            true => self.endpoint.post(path, body),
            false => {
                let path = format!("/deployments/{}{path}", escaped(model));
                self.endpoint.post(&path, body)
            }
        };
        request.query("api-version", version)
    }

    /// A request for the list of models.
    pub fn models(&self) -> Request {
        let mut request = self.endpoint.get("/models");
        let Some(version) = &self.data.api_version else {
            return request;
        };
        // The list belongs to the resource, not to one of its deployments.
        if let Some(at) = request.url.find("/deployments/") {
            request.url.truncate(at);
            request.url.push_str("/models");
        }
        request.query("api-version", version)
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

    fn read(json: &str) -> Result<Settings> {
        Settings::read(&Config::from_json(json))
    }

    #[test]
    fn nothing_configured_means_openai() {
        let settings = read("{}").unwrap();
        assert_eq!(settings.models().url, "https://api.openai.com/v1/models");
        assert_eq!(settings.flavor, Flavor::Openai);
    }

    #[test]
    fn headers_of_an_organization_are_sent() {
        let settings = read(r#"{"organization": "org"}"#).unwrap();
        let sent = ("openai-organization".to_owned(), "org".to_owned());
        assert!(settings.models().headers.contains(&sent));
    }

    #[test]
    fn azure_has_a_deployment_in_the_path() {
        let settings = read(
            r#"{"base_url": "https://ours.openai.azure.com/openai/", "api_version": "2024-10-21"}"#,
        )
        .unwrap();
        let url = |model: &str| settings.completion(model, Vec::new()).url;
        assert_eq!(
            url("gpt-4o"),
            "https://ours.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
        );
        assert!(url("a/../b?c").contains("/deployments/a%2F..%2Fb%3Fc/chat"));
        assert_eq!(
            settings.models().url,
            "https://ours.openai.azure.com/openai/models?api-version=2024-10-21"
        );
    }

    #[test]
    fn azure_may_name_the_deployment_in_the_base_url() {
        let settings = read(
            r#"{"base_url": "https://ours.openai.azure.com/openai/deployments/four", "api_version": "2024-10-21"}"#,
        )
        .unwrap();
        assert_eq!(
            settings.completion("any", Vec::new()).url,
            "https://ours.openai.azure.com/openai/deployments/four/chat/completions?api-version=2024-10-21"
        );
        assert_eq!(
            settings.models().url,
            "https://ours.openai.azure.com/openai/models?api-version=2024-10-21"
        );
    }

    #[test]
    fn azures_v1_api_is_like_openai() {
        let settings = read(r#"{"base_url": "https://ours.openai.azure.com/openai/v1"}"#).unwrap();
        assert_eq!(
            settings.completion("four", Vec::new()).url,
            "https://ours.openai.azure.com/openai/v1/chat/completions"
        );
        assert_eq!(settings.flavor, Flavor::Azure);
    }

    #[test]
    fn a_version_in_the_wrong_place_is_refused() {
        for (json, words) in [
            (r#"{"api_version": "2024-10-21"}"#, "Azure only"),
            (
                r#"{"base_url": "https://a.openai.azure.com/openai/v1", "api_version": "x"}"#,
                "v1 API",
            ),
            (
                r#"{"base_url": "https://a.openai.azure.com/openai/deployments/d"}"#,
                "is missing",
            ),
        ] {
            let error = read(json).map(drop).unwrap_err();
            assert!(error.message().contains(words), "{json}: {error}");
        }
    }
}
