//! The vendors that a scripted model can be.

use axum::http::{HeaderMap, Method, Uri};
use serde_json::{Value, json};

use super::{KEY, Turn};
use crate::build::workspace_dir;

/// Whose paths, credentials and strictness a scripted model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// OpenAI itself.
    OpenAi,
    /// Azure's v1 API.
    AzureV1,
    /// Azure's deployments, with a version in the URL.
    AzureDeployment,
    /// Google's compatible endpoint.
    Gemini,
    /// Ollama.
    Ollama,
    /// vLLM.
    Vllm,
    /// LM Studio.
    LmStudio,
    /// Anthropic's Messages API.
    Anthropic,
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Complete,
    Embed,
    Models,
    Nothing,
}

/// The version in the URLs of Azure's deployments.
const API_VERSION: &str = "2024-10-21";

impl Vendor {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::AzureV1,
        Self::AzureDeployment,
        Self::Gemini,
        Self::Ollama,
        Self::Vllm,
        Self::LmStudio,
        Self::Anthropic,
    ];

    /// The plugin that speaks to it.
    pub fn plugin(self) -> &'static str {
        match self {
            Self::Anthropic => "model-anthropic",
            _ => "model-openai",
        }
    }

    /// What it answers, by the transcripts beside the sources of its plugin.
    ///
    /// # Panics
    /// When there is no such transcript.
    pub fn transcript(self, name: &str) -> Turn {
        Turn::transcript(&self.recorded(name))
    }

    /// An answer that falls silent after its first words, `There are`.
    ///
    /// # Panics
    /// When its transcript does not say them.
    pub fn silence(self) -> Turn {
        let name = match self {
            Self::Anthropic => "max_tokens",
            _ => "length",
        };
        let text = self.recorded(name);
        let words = text.find("There are").expect("its first words");
        let end = text[words..].find("\n\n").expect("the end of an event");
        Turn::transcript(&text[..words + end + 2]).and_hang()
    }

    fn recorded(self, name: &str) -> String {
        let folder = match self {
            Self::OpenAi => "openai",
            Self::AzureV1 | Self::AzureDeployment => "azure",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Vllm => "vllm",
            Self::LmStudio => "lm-studio",
            Self::Anthropic => ".",
        };
        let path = format!("plugins/{}/transcripts/{folder}/{name}.http", self.plugin());
        std::fs::read_to_string(workspace_dir().join(&path))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(super) fn base_url(self, origin: &str) -> String {
        let path = match self {
            Self::Anthropic => "",
            Self::AzureDeployment => "/openai",
            Self::AzureV1 => "/openai/v1",
            Self::Gemini => "/v1beta/openai",
            _ => "/v1",
        };
        format!("{origin}{path}")
    }

    pub(super) fn connection_data(self, origin: &str) -> Value {
        let mut data = json!({"base_url": self.base_url(origin), "model": "scripted-1"});
        let more = match self {
            Self::OpenAi | Self::Anthropic => json!({"api_key": KEY}),
            Self::AzureV1 => json!({"api": "azure", "azure_api_key": KEY}),
            Self::AzureDeployment => {
                json!({"api": "azure", "azure_api_key": KEY, "api_version": API_VERSION})
            }
            Self::Gemini => json!({"api": "gemini", "api_key": KEY}),
            Self::Ollama => json!({"api": "ollama"}),
            Self::Vllm => json!({"api": "vllm"}),
            Self::LmStudio => json!({"api": "lm-studio"}),
        };
        let more = more.as_object().into_iter().flatten();
        data.as_object_mut()
            .expect("an object")
            .extend(more.map(|(name, value)| (name.clone(), value.clone())));
        data
    }

    pub(super) fn purpose(self, method: &Method, uri: &Uri) -> Purpose {
        let version = format!("api-version={API_VERSION}");
        let (complete, models, query) = match self {
            Self::Anthropic => ("/v1/messages", "/v1/models/scripted-1", ""),
            Self::AzureDeployment => (
                "/openai/deployments/scripted-1/chat/completions",
                "/openai/models",
                version.as_str(),
            ),
            Self::AzureV1 => ("/openai/v1/chat/completions", "/openai/v1/models", ""),
            Self::Gemini => (
                "/v1beta/openai/chat/completions",
                "/v1beta/openai/models",
                "",
            ),
            _ => ("/v1/chat/completions", "/v1/models", ""),
        };
        let is_list = uri.path() == "/v1/models" && uri.query() == Some("limit=1000");
        if self == Self::Anthropic && is_list {
            return Purpose::Models;
        }
        if uri.query().unwrap_or_default() != query {
            return Purpose::Nothing;
        }
        match (method, uri.path()) {
            (&Method::POST, path) if path == complete => Purpose::Complete,
            (&Method::GET, path) if path == models => Purpose::Models,
            (&Method::POST, "/v1/embeddings") if self == Self::OpenAi => Purpose::Embed,
            _ => Purpose::Nothing,
        }
    }

    /// The key is where the vendor wants it, and nowhere else.
    pub(super) fn is_authorized(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> bool {
        let expected = match self {
            Self::OpenAi | Self::Gemini => Some(("authorization", format!("Bearer {KEY}"))),
            Self::AzureV1 | Self::AzureDeployment => Some(("api-key", KEY.to_owned())),
            Self::Anthropic => Some(("x-api-key", KEY.to_owned())),
            Self::Ollama | Self::Vllm | Self::LmStudio => None,
        };
        let is_secret = |name: &str| ["authorization", "api-key", "x-api-key"].contains(&name);
        let sent = headers.iter().filter(|(name, value)| {
            is_secret(name.as_str()) || value.to_str().is_ok_and(|value| value.contains(KEY))
        });
        let sent: Vec<_> = sent.map(|(name, value)| (name.as_str(), value)).collect();
        let is_elsewhere = uri.to_string().contains(KEY) || body.to_string().contains(KEY);
        let version = headers.get("anthropic-version");
        let is_spoken = self != Self::Anthropic || version.is_some_and(|v| v == "2023-06-01");
        let is_there = match (&expected, &sent[..]) {
            (None, []) => true,
            (Some((name, value)), [(own, sent)]) => own == name && *sent == value.as_str(),
            _ => false,
        };
        is_there && !is_elsewhere && is_spoken
    }

    pub(super) fn models(self) -> Value {
        let id = match self {
            Self::Gemini => "models/scripted-1",
            Self::Ollama => "scripted-1:latest",
            // The models that could be deployed, not the deployments.
            Self::AzureDeployment => "gpt-4o-2024-11-20",
            // Both the answer about one model and the list of them.
            Self::Anthropic => {
                let id = "scripted-1-20251001";
                return json!({"type": "model", "id": id, "data": [{"id": id}], "has_more": false});
            }
            _ => "scripted-1",
        };
        json!({"object": "list", "data": [{"id": id, "object": "model"}]})
    }
}
