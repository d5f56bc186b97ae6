//! The operator's rules: which addresses and directories plugins may reach at all.
//!
//! The configuration of a datasource names its destinations; these rules must allow them too (see `grants.rs`).

mod locality;
mod ports;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls_pki_types::{CertificateDer, pem::PemObject as _};

use mindhost_base::config::AddressRule;

pub use locality::Locality;

/// The source of a workspace's rules.
pub trait Policy: Send + Sync {
    /// Rules for network addresses.
    fn egress(&self, workspace: &str) -> EgressRules;
    /// Directories with files of a workspace, most common first. `folder` is its own, below `files/` in the data
    /// directory.
    fn file_roots(&self, folder: &str) -> Vec<PathBuf>;
    /// Addresses of the host (its listeners, its store), which are always refused. An unspecified address means every
    /// address of this machine.
    fn reserved(&self) -> Vec<SocketAddr>;
}

/// The same rules for every workspace, with files in `<data dir>/files/<folder>`.
#[derive(Clone, Debug)]
pub struct FixedPolicy {
    /// Rules for network addresses.
    pub egress: EgressRules,
    /// The data directory; never a root itself.
    pub data_dir: PathBuf,
    /// Other directories that the operator granted to every workspace.
    pub file_roots: Vec<PathBuf>,
    /// Addresses of the host itself.
    pub reserved: Vec<SocketAddr>,
}

impl Policy for FixedPolicy {
    fn egress(&self, _workspace: &str) -> EgressRules {
        self.egress.clone()
    }

    fn file_roots(&self, folder: &str) -> Vec<PathBuf> {
        let is_plain = !matches!(folder, "" | "." | "..") && !folder.contains(['/', '\\']);
        let own = is_plain.then(|| self.data_dir.join("files").join(folder));
        let granted = self.file_roots.iter();
        own.into_iter()
            .chain(granted.filter(|root| self.is_apart(root)).cloned())
            .collect()
    }

    fn reserved(&self) -> Vec<SocketAddr> {
        self.reserved.clone()
    }
}

impl FixedPolicy {
    /// Granted directories that are not used, because they contain the data directory or lie in it: they would expose
    /// the store and its keys, or files of other workspaces.
    pub fn refused_roots(&self) -> impl Iterator<Item = &Path> {
        let roots = self.file_roots.iter().map(PathBuf::as_path);
        roots.filter(|root| !self.is_apart(root))
    }

    fn is_apart(&self, root: &Path) -> bool {
        let (root, data_dir) = (real(root), real(&self.data_dir));
        !data_dir.starts_with(&root) && !root.starts_with(&data_dir)
    }
}

/// Resolves links and `..` in the existing part of a path, and appends the rest.
fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for above in absolute.ancestors() {
        if let (Ok(found), Ok(rest)) = (above.canonicalize(), absolute.strip_prefix(above)) {
            return found.join(rest);
        }
    }
    absolute
}

/// The same rules, but loopback only while all callers are on this machine.
pub struct WhileLocal<P> {
    /// Those that hold while all callers are local.
    pub rules: P,
    /// Whether all callers are local.
    pub locality: Arc<Locality>,
}

impl<P: Policy> Policy for WhileLocal<P> {
    fn egress(&self, workspace: &str) -> EgressRules {
        let rules = self.rules.egress(workspace);
        EgressRules {
            allow_loopback: rules.allow_loopback && self.locality.is_local(),
            loopback_ended: self.locality.was_ended(),
            ..rules
        }
    }

    fn file_roots(&self, folder: &str) -> Vec<PathBuf> {
        self.rules.file_roots(folder)
    }

    fn reserved(&self) -> Vec<SocketAddr> {
        self.rules.reserved()
    }
}

/// The addresses that plugins may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressRules {
    /// 127.0.0.0/8 and ::1.
    pub allow_loopback: bool,
    /// Whether loopback was allowed until a request showed that not all callers are on this machine.
    pub loopback_ended: bool,
    /// 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7: databases live there.
    pub allow_private: bool,
    /// If not empty, only matching addresses are allowed, whatever the two switches say. Does not override addresses
    /// that are always refused.
    pub allow: Vec<AddressRule>,
    /// Matching addresses are always refused.
    pub deny: Vec<AddressRule>,
    /// Allowed ports with another well-known protocol.
    pub allow_ports: Vec<u16>,
    /// Authorities that may have signed the certificate of an HTTPS server, besides the public ones.
    pub root_certificates: RootCertificates,
}

/// Certificates of authorities.
pub type RootCertificates = Arc<[CertificateDer<'static>]>;

/// The certificates of a PEM file.
///
/// # Errors
/// When there is none, or one that cannot be that of an authority.
pub fn root_certificates(pem: &[u8]) -> Result<RootCertificates, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| format!("it is not a PEM file: {error}"))?;
    let mut store = rustls::RootCertStore::empty();
    for (index, certificate) in found.iter().enumerate() {
        let added = store.add(certificate.clone());
        added.map_err(|error| format!("its certificate {} cannot be used: {error}", index + 1))?;
    }
    match found.is_empty() {
        true => Err(String::from("it has no certificate (BEGIN CERTIFICATE)")),
        false => Ok(found.into()),
    }
}

impl Default for EgressRules {
    fn default() -> Self {
        Self {
            allow_loopback: false,
            loopback_ended: false,
            allow_private: true,
            allow: Vec::new(),
            deny: Vec::new(),
            allow_ports: Vec::new(),
            root_certificates: Arc::default(),
        }
    }
}

impl EgressRules {
    /// Why a port of an address is refused; none if it is allowed. `own` is the default port of the plugin.
    pub fn port_refusal(&self, address: SocketAddr, own: Option<u16>) -> Option<String> {
        let (ip, port) = (destination(address.ip()), address.port());
        let granted = self.allow_ports.contains(&port)
            || self.allow.iter().any(|rule| rule.names_port(ip, port))
            || own == Some(port);
        let usual = ports::usual(port).filter(|_| !granted)?;
        Some(format!(
            "port {port} is where {usual} is usual; an operator can add it to egress.allow_ports"
        ))
    }

    /// Why an address is refused; none if it is allowed.
    pub fn refusal(&self, address: SocketAddr, reserved: &[SocketAddr]) -> Option<String> {
        // An address that embeds another counts as that one, where packets arrive.
        let ip = destination(address.ip());
        let port = address.port();
        if reserved.iter().any(|own| is_own(*own, ip, port)) {
            return Some(format!(
                "{ip}:{port} is an address of this server itself, or of its store"
            ));
        }
        if let Some(what) = never(ip) {
            return Some(format!("{ip} is {what}, which is never allowed"));
        }
        let as_written = address.ip().to_canonical();
        let denied = |rule: &AddressRule| rule.matches(ip, port) || rule.matches(as_written, port);
        if self.deny.iter().any(denied) {
            return Some(format!("{ip}:{port} is on the list egress.deny"));
        }
        if !self.allow.is_empty() {
            let listed = self.allow.iter().any(|rule| rule.matches(ip, port));
            return (!listed).then(|| format!("{ip}:{port} is not on the list egress.allow"));
        }
        match Reach::of(ip) {
            Reach::Loopback if !self.allow_loopback && self.loopback_ended => Some(format!(
                "{ip} is a loopback address, which was allowed until a request came through a proxy, from another \
                 machine or with another `Host` (egress.allow_loopback is \"auto\"); an operator can restart the server, \
                 or set egress.allow_loopback to true and restart it"
            )),
            Reach::Loopback if !self.allow_loopback => Some(format!(
                "{ip} is a loopback address; an operator can set egress.allow_loopback"
            )),
            Reach::Private if !self.allow_private => Some(format!(
                "{ip} is a private address; an operator can set egress.allow_private"
            )),
            _ => None,
        }
    }
}

/// The scope of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine.
    Loopback,
    /// RFC 1918, unique local addresses of IPv6, and the shared addresses 100.64.0.0/10.
    Private,
    /// Everything else.
    Public,
}

impl Reach {
    /// The scope of an address. An IPv6 address that embeds an IPv4 address counts as that.
    pub fn of(ip: IpAddr) -> Self {
        match destination(ip) {
            ip if ip.is_loopback() => Self::Loopback,
            IpAddr::V4(v4) if v4.is_private() || is_shared(v4) => Self::Private,
            IpAddr::V6(v6) if v6.is_unique_local() => Self::Private,
            _ => Self::Public,
        }
    }
}

fn is_shared(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    a == 100 && (64..128).contains(&b)
}

/// Addresses that no rule can allow: no datasource is there, and cloud metadata services return credentials.
fn never(ip: IpAddr) -> Option<&'static str> {
    const METADATA_V4: [Ipv4Addr; 3] = [
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(168, 63, 129, 16),
        Ipv4Addr::new(192, 0, 0, 192),
    ];
    match ip {
        IpAddr::V4(v4) => match v4 {
            _ if v4.octets()[0] == 0 => Some("unspecified"),
            _ if v4.is_link_local() => Some("a link-local or metadata address"),
            _ if METADATA_V4.contains(&v4) => Some("a metadata address"),
            _ if v4.is_multicast() => Some("a multicast address"),
            _ if v4.octets()[0] >= 240 => Some("a reserved or broadcast address"),
            _ => None,
        },
        IpAddr::V6(v6) => match v6 {
            _ if v6.is_unspecified() => Some("unspecified"),
            _ if v6.is_unicast_link_local() => Some("a link-local address"),
            _ if is_metadata_v6(v6) => Some("a metadata address"),
            _ if v6.is_multicast() => Some("a multicast address"),
            _ if is_local_translation(v6) => {
                Some("a translated address of which nobody can tell where it leads")
            }
            _ => None,
        },
    }
}

/// IPv6 addresses of cloud metadata services, which are in the private range. Amazon has a block for services of the
/// machine: metadata, time, DNS, container identities.
fn is_metadata_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    matches!(
        segments,
        // Amazon
        [0xfd00, 0xec2, ..]
        // Google
        | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]
        // Akamai
        | [0xfd00, 0xa9fe, 0xa9fe, ..]
        // Scaleway
        | [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42]
    )
}

/// The address at which packets arrive, as far as the address says.
fn destination(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => embedded_v4(v6).map_or(IpAddr::V6(v6), IpAddr::V4),
        v4 => v4,
    }
}

/// The IPv4 address in a translated (NAT64, SIIT) or tunnelled (6to4, Teredo, ISATAP, compatible) address.
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match ip.segments() {
        // The last 32 bits, where nothing else of the prefix is used; see `is_local_translation`.
        [0x64, 0xff9b, 0 | 1, 0, 0, 0, high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        [0x2001, 0, .., high, low] => Some(join(!high, !low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(join(high, low)),
        // ISATAP, in any network.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(join(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(join(high, low)),
        _ => None,
    }
}

/// Whether an address is in 64:ff9b:1::/48, for local translators (RFC 8215), which embed the IPv4 address at several
/// positions.
fn is_local_translation(ip: Ipv6Addr) -> bool {
    matches!(ip.segments(), [0x64, 0xff9b, 1, ..])
}

fn is_own(own: SocketAddr, ip: IpAddr, port: u16) -> bool {
    if own.port() != port {
        return false;
    }
    let own_ip = own.ip().to_canonical();
    if own_ip.is_unspecified() {
        return ip.is_loopback() || ip.is_unspecified() || is_local(ip);
    }
    own_ip == ip || (own_ip.is_loopback() && ip.is_loopback())
}

/// Whether an address belongs to this machine, that is, a socket can bind to it.
fn is_local(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> EgressRules {
        EgressRules {
            allow_loopback: true,
            ..EgressRules::default()
        }
    }

    fn refused(rules: &EgressRules, address: &str) -> bool {
        rules.refusal(address.parse().unwrap(), &[]).is_some()
    }

    #[test]
    fn metadata_and_link_local_addresses_are_refused_in_every_form() {
        for address in [
            "169.254.169.254:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::169.254.169.254]:80",
            "[64:ff9b:1::169.254.169.254]:80",
            "[64:ff9b:1:a9fe:a9:fe00::]:80",
            "[::ffff:0:169.254.169.254]:80",
            "[2001:0:1:2:3:4:5601:5601]:80",
            "[2002:a9fe:a9fe::1]:80",
            "[fe80::1]:80",
            "[::169.254.169.254]:80",
            "[fe80::5efe:169.254.169.254]:80",
            "[2001:db8::200:5efe:169.254.169.254]:80",
            "[fd00:ec2::254]:80",
            "[fd00:ec2::253]:53",
            "[fd00:ec2:0:1::23]:80",
            "[fd20:ce::254]:80",
            "[fd00:a9fe:a9fe::1]:80",
            "[fd00:42::42]:80",
            "[::ffff:168.63.129.16]:80",
            "[64:ff9b::100.100.100.200]:80",
            "[2002:c000:c0::1]:80",
            "100.100.100.200:80",
            "0.0.0.0:5432",
            "[::]:5432",
            "224.0.0.1:1",
            "255.255.255.255:1",
            "[ff02::1]:1",
        ] {
            assert!(refused(&open(), address), "{address}");
        }
    }

    #[test]
    fn loopback_and_private_addresses_follow_their_switches() {
        let closed = EgressRules {
            allow_loopback: false,
            allow_private: false,
            ..EgressRules::default()
        };
        for address in [
            "127.0.0.1:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
            "10.1.2.3:1",
            "[fd12::1]:1",
        ] {
            assert!(refused(&closed, address), "{address}");
            assert!(!refused(&open(), address), "{address}");
        }
        assert!(!refused(&closed, "93.184.216.34:443"));
    }

    #[test]
    fn refusal_says_that_a_request_ended_loopback() {
        let policy = WhileLocal {
            rules: FixedPolicy {
                egress: open(),
                data_dir: PathBuf::new(),
                file_roots: Vec::new(),
                reserved: Vec::new(),
            },
            locality: Arc::new(Locality::new(true, false)),
        };
        let why = || {
            policy
                .egress("w")
                .refusal("127.0.0.1:1".parse().unwrap(), &[])
        };
        // A second workspace.
        assert!(!why().unwrap().contains("until"));
        policy.locality.set_sole_workspace(true);
        assert_eq!(why(), None);
        policy.locality.saw_remote();
        let refusal = why().unwrap();
        assert!(
            refusal.contains("until a request") && refusal.contains("restart"),
            "{refusal}"
        );
    }

    #[test]
    fn translated_address_counts_as_its_destination() {
        let closed = EgressRules {
            allow_loopback: false,
            allow_private: false,
            deny: vec!["93.184.216.34".parse().unwrap()],
            ..EgressRules::default()
        };
        for address in [
            "[64:ff9b::127.0.0.1]:1",
            "[64:ff9b::10.1.2.3]:1",
            "[64:ff9b:1::10.1.2.3]:1",
            "[2002:a01:203::1]:1",
            "[64:ff9b::93.184.216.34]:1",
        ] {
            assert!(refused(&closed, address), "{address}");
        }
        assert!(!refused(&closed, "[64:ff9b::8.8.8.8]:1"));
        let reserved = ["127.0.0.1:8080".parse().unwrap()];
        let own = "[64:ff9b::127.0.0.1]:8080".parse().unwrap();
        assert!(open().refusal(own, &reserved).unwrap().contains("itself"));
        assert_eq!(
            Reach::of("64:ff9b::10.1.2.3".parse().unwrap()),
            Reach::Private
        );
        let allowed = EgressRules {
            allow: vec!["::/0".parse().unwrap()],
            ..EgressRules::default()
        };
        assert!(refused(&allowed, "[64:ff9b::10.1.2.3]:1"));
        let translated = EgressRules {
            deny: vec!["64:ff9b::/96".parse().unwrap()],
            ..EgressRules::default()
        };
        assert!(refused(&translated, "[64:ff9b::8.8.8.8]:1"));
    }

    #[test]
    fn lists_allow_and_deny_single_ports() {
        let rules = EgressRules {
            allow_loopback: false,
            loopback_ended: false,
            allow_private: true,
            allow: vec![
                "127.0.0.1:5432".parse().unwrap(),
                "10.0.0.0/8".parse().unwrap(),
            ],
            deny: vec![
                "10.0.0.0/8:22".parse().unwrap(),
                "[fd00::/8]:*".parse().unwrap(),
            ],
            allow_ports: Vec::new(),
            root_certificates: Arc::default(),
        };
        assert!(!refused(&rules, "127.0.0.1:5432"));
        assert!(refused(&rules, "127.0.0.1:5433"));
        assert!(refused(&rules, "10.9.9.9:22"));
        assert!(!refused(&rules, "10.9.9.9:5432"));
        assert!(refused(&rules, "[fd12::1]:443"));
        assert!(refused(&rules, "93.184.216.34:443"));
    }

    #[test]
    fn ports_of_other_protocols_need_a_grant() {
        let rules = |allow: &[&str], allow_ports: &[u16]| EgressRules {
            allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
            allow_ports: allow_ports.to_vec(),
            ..EgressRules::default()
        };
        let at = |port: u16| SocketAddr::from(([10, 0, 0, 1], port));
        let why = rules(&[], &[]).port_refusal(at(6379), Some(5432)).unwrap();
        assert!(
            why.contains("Redis") && why.contains("egress.allow_ports"),
            "{why}"
        );
        assert_eq!(rules(&[], &[]).port_refusal(at(6379), Some(6379)), None);
        assert_eq!(rules(&[], &[6379]).port_refusal(at(6379), Some(5432)), None);
        assert_eq!(rules(&[], &[]).port_refusal(at(15432), Some(5432)), None);
        assert!(
            rules(&["10.0.0.1"], &[])
                .port_refusal(at(6379), None)
                .is_some()
        );
        // The port of one address is no port of its neighbours.
        let one = rules(&["10.0.0.1:6379", "10.0.0.0/8"], &[]);
        assert_eq!(one.port_refusal(at(6379), None), None);
        let neighbour = SocketAddr::from(([10, 0, 0, 2], 6379));
        assert!(one.port_refusal(neighbour, None).is_some());
    }

    #[test]
    fn the_hosts_own_listener_is_refused_through_any_local_address() {
        let reserved = ["0.0.0.0:8080".parse().unwrap()];
        let why = |address: &str| open().refusal(address.parse().unwrap(), &reserved);
        assert!(why("127.0.0.1:8080").is_some());
        assert!(why("[::1]:8080").is_some());
        assert!(why("127.0.0.1:8081").is_none());
        assert!(why("93.184.216.34:8080").is_none());
    }

    #[test]
    fn root_that_exposes_the_data_directory_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data");
        std::fs::create_dir_all(data_dir.join("files/other")).unwrap();
        std::os::unix::fs::symlink(data_dir.join("files"), dir.path().join("link")).unwrap();
        let apart = dir.path().join("data-of-others");
        let policy = FixedPolicy {
            egress: EgressRules::default(),
            file_roots: vec![
                dir.path().to_path_buf(),
                data_dir.clone(),
                data_dir.join("files"),
                data_dir.join("files/other"),
                data_dir.join("files/not-there-yet"),
                apart.join("../data/files"),
                dir.path().join("link"),
                apart.clone(),
            ],
            data_dir: data_dir.clone(),
            reserved: Vec::new(),
        };
        std::fs::create_dir(&apart).unwrap();
        assert_eq!(policy.file_roots("w"), [data_dir.join("files/w"), apart]);
        assert_eq!(policy.refused_roots().count(), 7);
    }
}
