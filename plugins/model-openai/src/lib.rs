//! The model provider for OpenAI-compatible endpoints of Mindhost.
