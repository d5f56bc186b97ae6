//! Plugins in OCI registries: one layer with the component, one with its signature.
//!
//! The media types are those of the CNCF for WebAssembly artifacts
//! (<https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/>); the signature is a further layer.

pub(super) mod registry;
mod told;

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use clap::Args;
use futures_util::TryStreamExt;
use mindhost_base::config::Config as Settings;
use mindhost_plugins::{artifacts::MAX_SIGNATURE, signatures};
use mindhost_runtime::package::Package;
use oci_client::{
    Client, Reference,
    client::{ClientConfig, ClientProtocol, Config, ImageLayer},
    manifest::OciImageManifest,
    secrets::RegistryAuth,
};
use serde_json::json;

use self::told::told;
use super::files::{self, PluginFile};
use crate::commands::say::{aside, say};

/// The prefix of a reference.
const SCHEME: &str = "oci://";
const WASM: &str = "application/wasm";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const MINISIG: &str = "application/vnd.mindhost.signature.minisign";
/// Read timeout of a transfer.
const SILENCE: Duration = Duration::from_secs(60);
/// The title annotation in the artifact's manifest.
const NAME: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";
/// The section of the changelog about this version.
const CHANGES: &str = "dev.mindhost.changes";

/// The options to reach a registry.
#[derive(Debug, Args)]
pub(crate) struct Access {
    /// The user of the registry of the reference, or of the catalogue. Others are asked without it.
    #[arg(long, value_name = "USER")]
    registry_user: Option<String>,
    /// The registry that the user is of, such as registry.example.com. Needed with a lock file, and with catalogues in
    /// several registries.
    #[arg(long, value_name = "HOST", requires = "registry_user")]
    registry: Option<String>,
    /// A file with the user's password or token.
    #[arg(long, value_name = "FILE", requires = "registry_user")]
    registry_password_file: Option<PathBuf>,
    /// Use HTTP without TLS, as always for registries on this machine.
    #[arg(long)]
    registry_http: bool,
    /// The registries that the person or the settings named.
    #[arg(skip)]
    named: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The plugin: a component with its manifest. FILE.minisig beside it is pushed too.
    file: PathBuf,
    /// The reference to push to: oci://registry.example.com/plugins/connector:1.2.0.
    reference: String,
    /// Replace what the tag names now. Installing by the tag then gives other bytes.
    #[arg(long)]
    move_tag: bool,
    #[command(flatten)]
    access: Access,
}

/// A lock file's entry for a plugin in a registry.
pub(super) struct LockedReference<'a> {
    pub source: &'a str,
    /// SHA-256 of the component.
    pub digest: &'a str,
    /// Digest of the manifest, if it was stored.
    pub manifest: Option<&'a str>,
}

pub(super) async fn push(push: &Push) -> anyhow::Result<()> {
    let reference = reference(&push.reference)?;
    let package = files::package(&push.file)?;
    let signature = files::signature(&push.file)?;
    if let Some(signature) = &signature {
        let trusted = Settings::load()?.plugins.trusted_keys;
        let trust = signatures::Trust::new(false, &trusted).map_err(anyhow::Error::msg)?;
        let signer = signatures::claims(&package.bytes, signature)
            .and_then(|()| trust.judge(&package, Some(signature)))
            .with_context(|| push.file.display().to_string())?;
        if let signatures::Signer::Unknown(key) = signer {
            aside!(
                "note: the key {key} of the signature is not among plugins.trusted_keys, so only what it says of itself was compared"
            );
        }
    }
    let digest = format!("sha256:{}", package.digest);
    let there = match pull_digest(&push.reference, &push.access).await {
        Ok(there) => Some(there),
        Err(error) if error.is::<told::Unknown>() => None,
        Err(error) => return Err(error),
    };
    ensure!(
        push.move_tag || there.as_ref().is_none_or(|there| *there == digest),
        "{} names another file already ({}); push this one under another tag, or say --move-tag",
        push.reference,
        there.unwrap_or_default()
    );
    upload(package, signature, &push.reference, &push.access, None).await?;
    say!("{}{reference} is {digest}", SCHEME);
    Ok(())
}

/// The digest of the component that a reference names now.
pub(super) async fn pull_digest(source: &str, access: &Access) -> anyhow::Result<String> {
    let pull = Pull::new(source, access, 0)?;
    let pulled = pull.client.pull_image_manifest(&pull.reference, &pull.auth);
    let (manifest, _) = pulled.await.map_err(|error| told(source, error))?;
    let component = manifest
        .layers
        .iter()
        .find(|layer| layer.media_type == WASM);
    let digest = component.map(|layer| layer.digest.clone());
    Ok(digest.unwrap_or_else(|| "no plugin".to_owned()))
}

/// Pushes a plugin with its signature, and what changed in it.
pub(super) async fn upload(
    package: Package,
    signature: Option<String>,
    target: &str,
    access: &Access,
    changes: Option<String>,
) -> anyhow::Result<()> {
    let reference = reference(target)?;
    let manifest = &package.manifest;
    let config = json!({
        "architecture": "wasm", "os": "wasip2", "layerDigests": [format!("sha256:{}", package.digest)],
    });
    let config = Config::new(config.to_string(), WASM_CONFIG.to_owned(), None);
    let mut layers = vec![ImageLayer::new(
        Bytes::from(package.bytes),
        WASM.to_owned(),
        None,
    )];
    if let Some(signature) = signature {
        layers.push(ImageLayer::new(signature, MINISIG.to_owned(), None));
    }
    let annotations = [(NAME, &manifest.name), (VERSION, &manifest.version)];
    let annotations = annotations.map(|(name, value)| (name.to_owned(), value.clone()));
    let changes = changes.map(|changes| (CHANGES.to_owned(), changes));
    let annotations = annotations.into_iter().chain(changes).collect();
    let image = OciImageManifest::build(&layers, &config, Some(annotations));
    let client = access.client(&reference);
    let auth = access.auth(&reference)?;
    client
        .push(&reference, &layers, config, &auth, Some(image))
        .await
        .map_err(|error| told(target, error))?;
    Ok(())
}

/// Fetches the plugin of a reference.
pub(super) async fn pull(
    source: &str,
    access: &Access,
    max_bytes: u64,
) -> anyhow::Result<PluginFile> {
    Pull::new(source, access, max_bytes)?.by_manifest().await
}

/// Fetches the plugin of a lock file: by its manifest, wherever the tag points now, else the component alone.
pub(super) async fn pull_locked(
    pinned: LockedReference<'_>,
    access: &Access,
    max_bytes: u64,
) -> anyhow::Result<PluginFile> {
    let mut pull = Pull::of(pinned.source, access, max_bytes, Access::auth_of_listed)?;
    let tagged = pull.reference.clone();
    if let Some(manifest) = pinned.manifest {
        pull.reference = tagged.clone_with_digest(manifest.to_owned());
    }
    let found = pull.by_manifest().await;
    match &found {
        Ok(parcel) if parcel.verify(pinned.digest).is_ok() => return found,
        Ok(_) => {}
        Err(error) if error.is::<told::Unknown>() => {}
        Err(_) => return found,
    }
    // The registry may still have the component. Only the manifest named its signature.
    pull.reference = tagged;
    match pull.layer(&format!("sha256:{}", pinned.digest)).await {
        Err(error) if error.is::<told::Unknown>() => found,
        Err(error) => Err(error),
        Ok(bytes) => Ok(PluginFile {
            bytes,
            signature: None,
            source: pinned.source.to_owned(),
            manifest: None,
        }),
    }
}

/// A transfer from a registry.
struct Pull<'a> {
    source: &'a str,
    reference: Reference,
    client: Client,
    auth: RegistryAuth,
    max_bytes: u64,
}

impl<'a> Pull<'a> {
    fn new(source: &'a str, access: &Access, max_bytes: u64) -> anyhow::Result<Self> {
        Self::of(source, access, max_bytes, Access::auth)
    }

    fn of(
        source: &'a str,
        access: &Access,
        max_bytes: u64,
        auth: impl FnOnce(&Access, &Reference) -> anyhow::Result<RegistryAuth>,
    ) -> anyhow::Result<Self> {
        let reference = reference(source)?;
        Ok(Self {
            source,
            client: access.client(&reference),
            auth: auth(access, &reference)?,
            reference,
            max_bytes,
        })
    }

    async fn by_manifest(&self) -> anyhow::Result<PluginFile> {
        let pulled = self.client.pull_image_manifest(&self.reference, &self.auth);
        let (manifest, digest) = pulled.await.map_err(|error| told(self.source, error))?;
        let one = |media_type: &str| {
            let mut layers = manifest.layers.iter();
            layers.find(|layer| layer.media_type == media_type)
        };
        let Some(component) = one(WASM) else {
            bail!(
                "{} has no layer of the type {WASM}, so it is no plugin",
                self.source
            );
        };
        let bytes = self.layer(&component.digest).await?;
        let signature = match one(MINISIG) {
            None => None,
            Some(layer) => {
                let text = self.blob(&layer.digest, MAX_SIGNATURE).await?;
                let text = String::from_utf8(text).ok();
                Some(text.with_context(|| format!("the signature of {} is not text", self.source))?)
            }
        };
        Ok(PluginFile {
            bytes,
            signature,
            source: self.source.to_owned(),
            manifest: Some(digest),
        })
    }

    /// A plugin file.
    async fn layer(&self, digest: &str) -> anyhow::Result<Vec<u8>> {
        self.blob(digest, self.max_bytes).await
    }

    /// Fetches a blob up to a size limit; the client verifies its digest.
    async fn blob(&self, digest: &str, max_bytes: u64) -> anyhow::Result<Vec<u8>> {
        let registry = self.reference.resolve_registry();
        self.client.store_auth_if_needed(registry, &self.auth).await;
        let pulled = self.client.pull_blob_stream(&self.reference, digest).await;
        let pulled = pulled.map_err(|error| told(self.source, error))?;
        let mut stream = pulled.stream;
        let mut bytes = Vec::new();
        while let Some(some) = stream
            .try_next()
            .await
            .with_context(|| self.source.to_owned())?
        {
            ensure!(
                (bytes.len() + some.len()) as u64 <= max_bytes,
                "{} has a layer of more than {max_bytes} bytes, which is the most that is taken (plugins.max_package_bytes)",
                self.source
            );
            bytes.extend_from_slice(&some);
        }
        Ok(bytes)
    }
}

/// Whether a source is a reference to a registry. An unsupported scheme is an error.
pub(super) fn is_reference(source: &str) -> anyhow::Result<bool> {
    match source.split_once("://") {
        None => Ok(false),
        Some(("oci", _)) => Ok(true),
        // Without the rest, which may contain a password.
        Some((scheme, _)) => bail!(
            "nothing is fetched from {}://…; name a file, a directory, or a reference like oci://registry.example.com/plugins/connector:1.2.0",
            scheme.escape_debug().take(20).collect::<String>()
        ),
    }
}

fn reference(text: &str) -> anyhow::Result<Reference> {
    let Some(reference) = text.strip_prefix(SCHEME) else {
        // It may be anything, even a password.
        bail!(
            "that is no reference; write it like oci://registry.example.com/plugins/connector:1.2.0"
        );
    };
    // Only a digest may follow an `@`.
    let mut after = reference.split('@').skip(1);
    if !after.all(|rest| rest.starts_with("sha256:") || rest.starts_with("sha512:")) {
        bail!(
            "a reference holds no user and password; give them with --registry-user and --registry-password-file"
        );
    }
    reference.parse().with_context(|| text.to_owned())
}

impl Access {
    fn client(&self, reference: &Reference) -> Client {
        let registry = reference.resolve_registry();
        let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
        let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        let protocol = match is_here || self.registry_http {
            true => ClientProtocol::Http,
            false => ClientProtocol::Https,
        };
        Client::new(ClientConfig {
            protocol,
            read_timeout: Some(SILENCE),
            connect_timeout: Some(SILENCE),
            ..ClientConfig::default()
        })
    }

    /// Notes the registries that the person or the settings name, before the first one gets a password. Sources that
    /// are files are of none.
    pub(super) fn name<'a>(
        &self,
        sources: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<()> {
        for source in sources {
            if is_reference(source)? {
                let reference = reference(source)?;
                self.named().insert(reference.resolve_registry().to_owned());
            }
        }
        Ok(())
    }

    fn named(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The credentials for a reference that the person typed, or that the settings have.
    fn auth(&self, reference: &Reference) -> anyhow::Result<RegistryAuth> {
        self.named().insert(reference.resolve_registry().to_owned());
        self.auth_of_listed(reference)
    }

    /// The credentials for a reference of a lock file or a catalogue. The author of such a file must not get the
    /// password by naming a registry of their own, and the registry of one catalogue not that of another.
    fn auth_of_listed(&self, reference: &Reference) -> anyhow::Result<RegistryAuth> {
        if self.registry_user.is_none() {
            return Ok(RegistryAuth::Anonymous);
        }
        let is_theirs = match &self.registry {
            Some(_) => self.is_of_user(reference),
            None => {
                let named = self.named();
                ensure!(
                    named.len() == 1,
                    "say with --registry which registry the user and the password are for; {}",
                    match named.is_empty() {
                        true => format!("a file names {}", reference.registry()),
                        false => format!(
                            "there are several: {}",
                            named.iter().cloned().collect::<Vec<_>>().join(", ")
                        ),
                    }
                );
                named.contains(reference.resolve_registry())
            }
        };
        match is_theirs {
            true => self.credentials(),
            false => Ok(RegistryAuth::Anonymous),
        }
    }

    /// Whether a reference is of the registry that was given for the user.
    fn is_of_user(&self, reference: &Reference) -> bool {
        let registry = self.registry.as_deref();
        registry == Some(reference.registry()) || registry == Some(reference.resolve_registry())
    }

    fn credentials(&self) -> anyhow::Result<RegistryAuth> {
        let Some(user) = &self.registry_user else {
            return Ok(RegistryAuth::Anonymous);
        };
        let password = match &self.registry_password_file {
            None => String::new(),
            Some(file) => fs::read_to_string(file)
                .with_context(|| format!("{}", file.display()))?
                .trim_end()
                .to_owned(),
        };
        Ok(RegistryAuth::Basic(user.clone(), password))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_reference_is_refused_and_not_repeated() {
        for text in [
            "oci://me:hunter2@registry.example.com/plugins/x:1",
            "oci://me:hunt/er2@registry.example.com/plugins/x:1",
            "oci://me:hunter2@registry.example.com/x@sha256:00",
        ] {
            let error = format!("{:#}", reference(text).unwrap_err());
            assert!(
                !error.contains("er2") && error.contains("--registry-user"),
                "{error}"
            );
        }
        let error = is_reference("https://me:hunter2@host/x.wasm").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(is_reference("oci://registry.example.com/x:1").unwrap());
        assert!(!is_reference("./x.wasm").unwrap());
    }

    #[test]
    fn a_reference_by_digest_is_one() {
        let text = format!("oci://127.0.0.1:5000/x@sha256:{}", "0".repeat(64));
        assert!(reference(&text).is_ok());
    }

    fn access(user: Option<&str>, registry: Option<&str>) -> Access {
        Access {
            registry_user: user.map(str::to_owned),
            registry: registry.map(str::to_owned),
            registry_password_file: None,
            registry_http: false,
            named: Mutex::default(),
        }
    }

    #[test]
    fn a_lock_file_or_a_catalogue_does_not_choose_who_gets_the_password() {
        let at = |host: &str| reference(&format!("oci://{host}/plugins/x:1")).unwrap();
        let (ours, theirs) = (at("ours.example.com"), at("theirs.example.com"));
        let me = RegistryAuth::Basic("me".to_owned(), String::new());

        // A lock file alone.
        let lock = access(Some("me"), None);
        let error = lock.auth_of_listed(&theirs).unwrap_err().to_string();
        assert!(error.contains("--registry"), "{error}");
        let lock = access(Some("me"), Some("ours.example.com"));
        assert_eq!(lock.auth_of_listed(&ours).unwrap(), me);
        let none = lock.auth_of_listed(&theirs).unwrap();
        assert_eq!(none, RegistryAuth::Anonymous);
        let public = access(None, None).auth_of_listed(&theirs).unwrap();
        assert_eq!(public, RegistryAuth::Anonymous);

        // A catalogue in a registry of the settings, with plugins there and elsewhere.
        let catalogue = access(Some("me"), None);
        assert_eq!(catalogue.auth(&ours).unwrap(), me);
        assert_eq!(catalogue.auth_of_listed(&ours).unwrap(), me);
        let none = catalogue.auth_of_listed(&theirs).unwrap();
        assert_eq!(none, RegistryAuth::Anonymous);

        // Several catalogues, and a user of one of them.
        let several = access(Some("me"), Some("ours.example.com"));
        assert_eq!(several.auth(&ours).unwrap(), me);
        assert_eq!(several.auth(&theirs).unwrap(), RegistryAuth::Anonymous);
        let hub = access(Some("me"), Some("docker.io"));
        assert_eq!(hub.auth_of_listed(&at("docker.io")).unwrap(), me);
    }

    #[test]
    fn password_goes_to_no_registry_until_one_of_several_catalogues_is_named() {
        let source = |host: &str| format!("oci://{host}/catalogue:latest");
        let (ours, theirs) = (source("ours.example.com"), source("theirs.example.com"));
        let several = access(Some("me"), None);
        several
            .name([ours.as_str(), theirs.as_str(), "./catalogue.json"])
            .unwrap();
        for one in [&ours, &theirs] {
            let error = several.auth(&reference(one).unwrap()).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("--registry") && error.contains("theirs.example.com"),
                "{error}"
            );
        }
        let public = access(None, None);
        public.name([ours.as_str(), theirs.as_str()]).unwrap();
        let none = public.auth(&reference(&theirs).unwrap()).unwrap();
        assert_eq!(none, RegistryAuth::Anonymous);
    }
}
