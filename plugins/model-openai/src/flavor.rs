//! What differs between the servers that speak chat completions.

use mindhost_sdk::vendor::Endpoint;
use serde::Deserialize;

/// Who answers at the base URL. Every difference between vendors that must be known before the request is sent is here;
/// what can be read off their answers is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavor {
    /// Told by the address: see [`Flavor::at`].
    #[default]
    Auto,
    /// OpenAI itself.
    Openai,
    /// Azure OpenAI, its `v1` API or its deployments.
    Azure,
    /// Google's compatible endpoint.
    Gemini,
    /// Ollama.
    Ollama,
    /// vLLM.
    Vllm,
    /// LM Studio.
    LmStudio,
    /// Anything else.
    Other,
}

impl Flavor {
    /// The flavor itself, or the one of the vendor whose address this is. A port of loopback tells nothing: anything may
    /// listen there.
    pub fn at(self, endpoint: &Endpoint) -> Self {
        let host = endpoint.host();
        let is_azure = || {
            [
                ".openai.azure.com",
                ".services.ai.azure.com",
                ".cognitiveservices.azure.com",
            ]
            .iter()
            .any(|domain| host.ends_with(domain))
        };
        match (self, host) {
            (Self::Auto, "api.openai.com") => Self::Openai,
            (Self::Auto, "generativelanguage.googleapis.com") => Self::Gemini,
            (Self::Auto, _) if is_azure() => Self::Azure,
            (Self::Auto, _) => Self::Other,
            (named, _) => named,
        }
    }

    /// The field that limits the tokens of an answer.
    pub fn limit_field(self) -> &'static str {
        match self {
            Self::Openai | Self::Azure => MAX_COMPLETION_TOKENS,
            _ => MAX_TOKENS,
        }
    }

    /// Whether the server ignores `tool_choice`, so that a model must not be shown tools that it may not call.
    pub fn ignores_tool_choice(self) -> bool {
        self == Self::Ollama
    }

    /// Whether schemas of tools may have no keywords but those of OpenAPI.
    pub fn wants_plain_schemas(self) -> bool {
        self == Self::Gemini
    }

    /// The setting that holds the key.
    pub fn key_setting(self) -> &'static str {
        match self {
            Self::Azure => "`azure_api_key`",
            _ => "`api_key`",
        }
    }

    /// How its base URL looks.
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Azure => {
                "https://NAME.openai.azure.com/openai/v1, or …/openai together with `api_version`"
            }
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/openai",
            Self::Ollama => "it ends in :11434/v1",
            Self::LmStudio => "it ends in :1234/v1",
            _ => "it usually ends in /v1",
        }
    }

    /// What to do where there is no such model.
    pub fn missing_model(self) -> &'static str {
        match self {
            Self::Azure => "; `model` is the name of the deployment",
            Self::Ollama => "; get it with `ollama pull`",
            Self::LmStudio => "; load it in LM Studio",
            Self::Vllm => "; `model` is the name that the server was started with",
            _ => "",
        }
    }
}

/// The field of today.
pub const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";
/// The field that most other servers know.
pub const MAX_TOKENS: &str = "max_tokens";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_vendor() {
        for (url, flavor) in [
            ("https://api.openai.com/v1", Flavor::Openai),
            ("https://ours.openai.azure.com/openai/v1", Flavor::Azure),
            (
                "https://ours.services.ai.azure.com/openai/v1",
                Flavor::Azure,
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai",
                Flavor::Gemini,
            ),
            ("http://localhost:11434/v1", Flavor::Other),
            ("https://openai.azure.com.example.org/v1", Flavor::Other),
        ] {
            let endpoint = Endpoint::new(url).unwrap();
            assert_eq!(Flavor::Auto.at(&endpoint), flavor, "{url}");
            assert_eq!(
                Flavor::Vllm.at(&endpoint),
                Flavor::Vllm,
                "a named one counts"
            );
        }
    }
}
