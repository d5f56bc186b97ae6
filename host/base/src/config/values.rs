//! Types of settings.

use std::{fmt, time::Duration};

use figment::value::Value;
use serde::{Deserialize, Deserializer, de};

/// Text that is never printed. Empty means not set.
#[derive(Clone, Default)]
pub struct Secret(String);

/// Written by hand, because the error of the derived code repeats the value.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <Value as Deserialize>::deserialize(deserializer)? {
            Value::String(_, text) => Ok(Self(text)),
            _ => Err(de::Error::custom("expected text in quotes")),
        }
    }
}

impl Secret {
    /// The text, unless it is empty.
    pub fn get(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "not set" } else { "set" })
    }
}

/// `true`, `false` or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The host decides.
    Auto,
    /// Yes.
    On,
    /// No.
    Off,
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Bool(bool),
            Text(String),
        }
        match Raw::deserialize(deserializer)? {
            Raw::Bool(true) => Ok(Switch::On),
            Raw::Bool(false) => Ok(Switch::Off),
            Raw::Text(text) => match text.as_str() {
                "auto" => Ok(Switch::Auto),
                "true" => Ok(Switch::On),
                "false" => Ok(Switch::Off),
                _ => Err(de::Error::custom(format!(
                    "`{text}` is not one of \"auto\", true, false"
                ))),
            },
        }
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// How durable a write to an SQLite store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Synchronous {
    /// Survives a crash of the program.
    Normal,
    /// Survives a power failure too.
    Full,
}

/// Parses a duration such as `30s`, `5m`, `1h 30m` or `30d`. A day has 24 hours.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let span = text.parse::<jiff::Span>().ok();
    let days = jiff::SpanRelativeTo::days_are_24_hours();
    span.and_then(|span| span.to_duration(days).ok())
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a time like \"30s\", \"5m\", \"2h\" or \"30d\""
            ))
        })
}

/// Parses addresses or CIDR blocks.
pub(super) fn networks<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ipnet::IpNet>, D::Error> {
    Vec::<String>::deserialize(deserializer)?
        .into_iter()
        .map(|text| {
            text.parse::<ipnet::IpNet>()
                .or_else(|_| text.parse::<std::net::IpAddr>().map(ipnet::IpNet::from))
                .map_err(|_| {
                    de::Error::custom(format!("`{text}` is not an address or a CIDR block"))
                })
        })
        .collect()
}

/// Parses port numbers, which environment variables give as text.
pub(super) fn ports<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Raw {
        Number(i64),
        Text(String),
    }
    let ports = Vec::<Raw>::deserialize(deserializer)?;
    let port = |one: Raw| {
        let text = match one {
            Raw::Number(number) => number.to_string(),
            Raw::Text(text) => text,
        };
        let port = text.parse().ok().filter(|port| *port != 0);
        port.ok_or_else(|| de::Error::custom(format!("`{text}` is not a port from 1 to 65535")))
    };
    ports.into_iter().map(port).collect()
}

/// Parses `address:port`, or nothing.
pub(super) fn optional_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<std::net::SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        de::Error::custom(format!(
            "`{text}` is not an address with a port like \"127.0.0.1:9464\""
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::{IntoDeserializer as _, value::StrDeserializer};

    #[test]
    fn a_time_has_units_up_to_days() {
        let read = |text: &str| {
            let text: StrDeserializer<'_, de::value::Error> = text.into_deserializer();
            duration(text).map(|time| time.as_millis())
        };
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("1h 30m", 5_400_000),
            ("30d", 30 * 86_400_000),
            ("1d 12h", 36 * 3_600_000),
        ] {
            assert_eq!(read(text).unwrap(), millis, "{text}");
        }
        for text in ["", "30", "-5s", "1 month", "soon"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secret_is_never_printed() {
        let secret = Secret("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "set");
    }
}
