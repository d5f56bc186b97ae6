//! Slots: what a version of a plugin serves. One version at a time holds each.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use mindhost_plugin_api::{Manifest, PluginKind};

/// What one version of a plugin serves. As text: `connector postgres`, `model openai`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Slot {
    /// An engine, by its name or an alias of it.
    Engine(String),
    /// A model plugin, by its name.
    Model(String),
}

/// The digest of the version that holds each slot.
pub type Active = BTreeMap<Slot, String>;

/// A text that names no slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a slot; a slot is `connector ENGINE` or `model NAME`")]
pub struct NoSlot(String);

impl Slot {
    /// The slots that a plugin would hold.
    pub fn of(manifest: &Manifest) -> Vec<Self> {
        match manifest.kind {
            PluginKind::Connector => manifest.engines.iter().cloned().map(Self::Engine).collect(),
            PluginKind::Model => vec![Self::Model(manifest.name.clone())],
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(engine) => write!(f, "connector {engine}"),
            Self::Model(name) => write!(f, "model {name}"),
        }
    }
}

impl FromStr for Slot {
    type Err = NoSlot;

    fn from_str(text: &str) -> Result<Self, NoSlot> {
        match text.split_once(' ') {
            Some(("connector", engine)) => Ok(Self::Engine(engine.to_owned())),
            Some(("model", name)) => Ok(Self::Model(name.to_owned())),
            _ => Err(NoSlot(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Slot {
    type Error = NoSlot;

    fn try_from(text: String) -> Result<Self, NoSlot> {
        text.parse()
    }
}

impl From<Slot> for String {
    fn from(slot: Slot) -> Self {
        slot.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_slot_is_parsed_back() {
        for text in ["connector postgres", "model openai"] {
            let slot: Slot = text.parse().unwrap();
            assert_eq!(slot.to_string(), text);
            let json = serde_json::to_string(&slot).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Slot>(&json).unwrap(), slot);
        }
    }

    #[test]
    fn text_without_known_kind_is_not_a_slot() {
        for text in ["", "postgres", "connector", "engine:postgres", "scanner x"] {
            assert!(text.parse::<Slot>().is_err(), "{text}");
        }
    }

    #[test]
    fn connector_holds_slot_for_each_engine_and_model_holds_one() {
        let manifest = |kind: &str| -> Manifest {
            let manifest = serde_json::json!({
                "kind": kind, "name": "p", "title": "P", "version": "1.0.0", "wit": "0.1.0",
                "world": "w", "engines": ["postgres", "pg"], "connection_data": {}
            });
            serde_json::from_value(manifest).unwrap()
        };
        let texts = |kind| {
            let slots = Slot::of(&manifest(kind));
            slots.iter().map(Slot::to_string).collect::<Vec<_>>()
        };
        assert_eq!(texts("connector"), ["connector postgres", "connector pg"]);
        assert_eq!(texts("model"), ["model p"]);
    }
}
