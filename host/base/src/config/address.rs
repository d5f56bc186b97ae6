//! Address rules of the settings `egress.allow` and `egress.deny`.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

/// One entry of `egress.allow` or `egress.deny`: `10.0.0.0/8`, `10.1.2.3:5432`, `[fd00::/8]:443`, `0.0.0.0/0:25`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AddressRule {
    net: IpNet,
    port: Option<u16>,
}

impl AddressRule {
    /// Whether the rule covers an address and port.
    pub fn matches(&self, ip: IpAddr, port: u16) -> bool {
        self.net.contains(&ip) && self.port.is_none_or(|own| own == port)
    }

    /// Whether the rule names this port of the address, rather than all ports.
    pub fn names_port(&self, ip: IpAddr, port: u16) -> bool {
        self.port.is_some() && self.matches(ip, port)
    }
}

impl TryFrom<String> for AddressRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl std::str::FromStr for AddressRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (net, port) = split_port(text);
        let net = net
            .parse::<IpNet>()
            .or_else(|_| net.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_| {
                format!("`{text}` is not an address rule; write `10.0.0.0/8`, `10.1.2.3:5432` or `[fd00::/8]:443`")
            })?;
        let port = match port {
            None | Some("*") => None,
            Some(port) => Some(port.parse().map_err(|_| {
                format!("`{port}` in `{text}` is not a port; write a number from 1 to 65535 or `*`")
            })?),
        };
        Ok(Self { net, port })
    }
}

/// Splits the port off `net:port` and `[net]:port`; an IPv6 network without brackets has no port.
fn split_port(text: &str) -> (&str, Option<&str>) {
    if let Some(inner) = text.strip_prefix('[') {
        return match inner.split_once(']') {
            Some((net, rest)) => (net, rest.strip_prefix(':')),
            None => (text, None),
        };
    }
    match text.split_once(':') {
        Some((net, port)) if !port.contains(':') => (net, Some(port)),
        _ => (text, None),
    }
}
