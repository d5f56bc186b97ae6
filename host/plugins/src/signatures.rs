//! Signatures of plugins, in the format of minisign, and the keys that this host trusts.

use std::io::Cursor;

use minisign::{PublicKey, PublicKeyBox, SignatureBox};

use mindhost_base::config::TrustedKey;
use mindhost_runtime::package::{self, Package, Refusal, is_name, version_order};

/// The keys whose plugins this host runs.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    required: bool,
    keys: Vec<Key>,
}

/// A trusted key with its limits.
#[derive(Clone, Debug)]
struct Key {
    public: PublicKey,
    limits: TrustedKey,
}

/// What a signature says about its artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// There is no signature.
    Unsigned,
    /// Signed with a key that this host does not know, so the signature cannot be checked. Holds the id of the key.
    Unknown(String),
    /// Signed with a trusted key, and valid. Holds the id of the key.
    Trusted(String),
}

impl Trust {
    /// Trusts these keys, in the text form of minisign, with or without the comment line. With `required` only plugins
    /// that one of them signed run.
    ///
    /// # Errors
    /// Which key is malformed or has invalid limits.
    pub fn new(required: bool, keys: &[TrustedKey]) -> Result<Self, String> {
        let keys: Vec<_> = keys.iter().map(Key::new).collect::<Result<_, _>>()?;
        match required && keys.is_empty() {
            false => Ok(Self { required, keys }),
            true => Err(
                "plugins.require_signature is set and plugins.trusted_keys is empty, so no plugin could ever run; name the keys that you trust"
                    .to_owned(),
            ),
        }
    }

    /// Checks the signature of a package against the policy.
    ///
    /// # Errors
    /// When the signature is invalid, its key is not trusted with this plugin or version, or a trusted signature is
    /// required and missing.
    pub fn judge(&self, package: &Package, signature: Option<&str>) -> Result<Signer, Refusal> {
        let signer = self.signer(package, signature)?;
        match (&signer, self.required) {
            (Signer::Trusted(_), _) | (_, false) => Ok(signer),
            (Signer::Unsigned, true) => Err(Refusal::new(
                "is not signed, and this host runs signed plugins only (plugins.require_signature); sign it with `mindhost plugin sign` and a key of plugins.trusted_keys",
            )),
            (Signer::Unknown(key), true) => Err(Refusal::new(format!(
                "is signed with the key {key}, which is not among plugins.trusted_keys"
            ))),
        }
    }

    /// The signer of a package, whether or not a signature is required.
    ///
    /// # Errors
    /// When the signature is invalid, or its key is not trusted with this plugin or version.
    pub fn signer(&self, package: &Package, signature: Option<&str>) -> Result<Signer, Refusal> {
        let Some(text) = signature else {
            return Ok(Signer::Unsigned);
        };
        let signature = parse(text)?;
        let id = key_id(signature.keynum());
        // Ids are short, so different keys may have the same id.
        let by = |key: &&Key| key.public.keynum() == signature.keynum();
        let keys: Vec<_> = self.keys.iter().filter(by).collect();
        let fits = |key: &&Key| {
            let bytes = Cursor::new(&package.bytes);
            minisign::verify(&key.public, &signature, bytes, true, false, false).is_ok()
        };
        if keys.is_empty() {
            return Ok(Signer::Unknown(id));
        }
        // A key may be in the settings several times, for several plugins.
        let fitting: Vec<_> = keys.into_iter().filter(fits).collect();
        if fitting.is_empty() {
            return Err(Refusal::new(format!(
                "does not fit its signature by the key {id}: the file or the signature was changed"
            )));
        }
        if fitting.iter().any(|key| key.covers(package)) {
            return Ok(Signer::Trusted(id));
        }
        let limits: Vec<String> = fitting.iter().map(|key| key.limits.to_string()).collect();
        Err(Refusal::new(format!(
            "is {} {}, signed with the key {id}, which plugins.trusted_keys allows only for {}",
            package.manifest.name,
            package.manifest.version,
            limits.join(", or ")
        )))
    }

    /// What the trusted key of this id may sign, for people; `None` if it is not limited.
    pub fn limits(&self, id: &str) -> Option<String> {
        let keys = self.keys.iter();
        let own: Vec<&Key> = keys
            .filter(|key| key_id(key.public.keynum()) == id)
            .collect();
        let is_limited = !own.is_empty() && own.iter().all(|key| key.limits.is_limited());
        let limits = own.iter().map(|key| key.limits.to_string());
        is_limited.then(|| limits.collect::<Vec<_>>().join(", or "))
    }
}

impl Key {
    fn new(limits: &TrustedKey) -> Result<Self, String> {
        let text = limits.key.trim();
        let boxed = || PublicKeyBox::from_string(text).ok()?.into_public_key().ok();
        let public = PublicKey::from_base64(text).ok().or_else(boxed).ok_or_else(|| {
            format!("plugins.trusted_keys: `{text}` is not a public key of minisign; `mindhost plugin keygen` creates a pair")
        })?;
        if let Some(plugins) = &limits.plugins {
            if plugins.is_empty() {
                return Err(format!(
                    "plugins.trusted_keys: the key `{text}` is trusted with no plugin; name some in `plugins`, or leave that out"
                ));
            }
            if let Some(wrong) = plugins.iter().find(|name| !is_name(name)) {
                return Err(format!(
                    "plugins.trusted_keys: `{wrong}` cannot be the name of a plugin; write it like `connector-postgres`"
                ));
            }
        }
        match &limits.min_version {
            Some(version) if version_order(version).is_none() => Err(format!(
                "plugins.trusted_keys: the `min_version` `{version}` is no version; write it like `1.2.0`"
            )),
            _ => Ok(Self {
                public,
                limits: limits.clone(),
            }),
        }
    }

    /// Whether it is trusted with this version of this plugin.
    fn covers(&self, package: &Package) -> bool {
        let (name, version) = (&package.manifest.name, &package.manifest.version);
        let plugins = self.limits.plugins.as_ref();
        let lowest = self.limits.min_version.as_deref();
        plugins.is_none_or(|plugins| plugins.contains(name))
            && lowest.is_none_or(|lowest| version_order(version) >= version_order(lowest))
    }
}

/// Checks a signature by an unknown key as far as possible: that it is well-formed, and that the digest in its comment,
/// which `mindhost plugin sign` writes, is that of the file.
///
/// # Errors
/// When the signature is malformed or belongs to another file.
pub fn claims(bytes: &[u8], signature: &str) -> Result<(), Refusal> {
    let signature = parse(signature)?;
    let comment = signature.trusted_comment().unwrap_or_default();
    let mut words = comment.split_whitespace();
    let claimed = words.find_map(|word| word.strip_prefix("sha256:"));
    match claimed.is_none_or(|claimed| claimed == package::digest(bytes)) {
        true => Ok(()),
        false => Err(Refusal::new(format!(
            "does not fit its signature by the key {}, which is that of another file; sign it again with `mindhost plugin sign`",
            key_id(signature.keynum())
        ))),
    }
}

fn parse(signature: &str) -> Result<SignatureBox, Refusal> {
    SignatureBox::from_string(signature)
        .map_err(|_| Refusal::new("has a signature that is not in the format of minisign"))
}

/// The id of a key, as minisign prints it.
pub fn key_id(number: &[u8]) -> String {
    number.iter().rev().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02X}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::packed;
    use minisign::KeyPair;

    fn signed(by: &KeyPair, bytes: &[u8]) -> String {
        minisign::sign(Some(&by.pk), &by.sk, Cursor::new(bytes), None, None)
            .unwrap()
            .into_string()
    }

    fn trust(required: bool, keys: &[&KeyPair]) -> Trust {
        let keys: Vec<_> = keys
            .iter()
            .map(|key| TrustedKey::from(key.pk.to_base64()))
            .collect();
        Trust::new(required, &keys).unwrap()
    }

    /// A file, another that differs from it in one byte, and the signature of the first.
    fn signed_package(by: &KeyPair) -> (Package, Package, String) {
        let package = packed("1.0.0");
        let mut changed = package.clone();
        *changed.bytes.last_mut().unwrap() ^= 1;
        let signature = signed(by, &package.bytes);
        (package, changed, signature)
    }

    #[test]
    fn trusted_key_is_named_and_changed_file_is_refused() {
        let ours = KeyPair::generate_unencrypted_keypair().unwrap();
        let trust = trust(true, &[&ours]);
        let (package, changed, signature) = signed_package(&ours);
        let signer = trust.judge(&package, Some(&signature)).unwrap();
        assert_eq!(signer, Signer::Trusted(key_id(ours.pk.keynum())));
        let refusal = trust.judge(&changed, Some(&signature)).unwrap_err();
        assert!(refusal.to_string().contains("was changed"), "{refusal}");
    }

    #[test]
    fn required_signature_refuses_missing_and_unknown() {
        let ours = KeyPair::generate_unencrypted_keypair().unwrap();
        let unknown_key = KeyPair::generate_unencrypted_keypair().unwrap();
        let (package, _, signature) = signed_package(&unknown_key);
        let required = trust(true, &[&ours]);
        assert!(required.judge(&package, None).is_err());
        assert!(required.judge(&package, Some(&signature)).is_err());
        let free = trust(false, &[&ours]);
        assert_eq!(free.judge(&package, None).unwrap(), Signer::Unsigned);
        let unknown = Signer::Unknown(key_id(unknown_key.pk.keynum()));
        assert_eq!(free.judge(&package, Some(&signature)).unwrap(), unknown);
        assert!(free.judge(&package, Some("no signature")).is_err());
    }

    #[test]
    fn limited_key_signs_its_plugins_from_a_minimum_version() {
        let ours = KeyPair::generate_unencrypted_keypair().unwrap();
        let (package, _, signature) = signed_package(&ours);
        let judged = |limits: &[(Option<&[&str]>, Option<&str>)]| {
            let key = |(plugins, min_version): &(Option<&[&str]>, Option<&str>)| TrustedKey {
                key: ours.pk.to_base64(),
                plugins: plugins.map(|all| all.iter().map(|&one| one.to_owned()).collect()),
                min_version: min_version.map(str::to_owned),
            };
            let keys: Vec<_> = limits.iter().map(key).collect();
            let trust = Trust::new(true, &keys).map_err(Refusal::new)?;
            trust.judge(&package, Some(&signature))
        };
        let ours = Some(&["connector-x"][..]);
        let other = Some(&["connector-y"][..]);
        assert!(judged(&[(ours, Some("1.0.0"))]).is_ok());
        assert!(judged(&[(other, None), (ours, Some("0.9.0"))]).is_ok());
        for (limits, word) in [
            (&[(other, None)][..], "allows only for connector-y"),
            (
                &[(ours, Some("1.0.1"))],
                "connector-x from version 1.0.1 on",
            ),
            (
                &[(None, Some("2.0.0"))][..],
                "any plugin from version 2.0.0 on",
            ),
            (&[(None, Some("two"))][..], "`min_version`"),
            (&[(Some(&[][..]), None)][..], "no plugin"),
            (&[(Some(&["Connector"][..]), None)][..], "`Connector`"),
        ] {
            let refusal = judged(limits).unwrap_err().to_string();
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    #[test]
    fn signature_of_another_file_is_detected_by_its_comment() {
        let key = KeyPair::generate_unencrypted_keypair().unwrap();
        let sign = |comment: Option<&str>| {
            minisign::sign(
                Some(&key.pk),
                &key.sk,
                Cursor::new(b"plugin"),
                comment,
                None,
            )
            .unwrap()
            .into_string()
        };
        let ours = sign(Some(&format!(
            "x 1.0.0 sha256:{}",
            package::digest(b"plugin")
        )));
        assert!(claims(b"plugin", &ours).is_ok());
        let refusal = claims(b"plugim", &ours).unwrap_err();
        assert!(refusal.to_string().contains("another file"), "{refusal}");
        // The comment of another tool has no digest to compare.
        assert!(claims(b"plugim", &sign(None)).is_ok());
        assert!(claims(b"plugin", "no signature").is_err());
    }

    #[test]
    fn policy_that_no_plugin_can_meet_is_refused() {
        assert!(Trust::new(true, &[]).is_err());
        assert!(Trust::new(false, &["RWQ".to_owned().into()]).is_err());
    }
}
