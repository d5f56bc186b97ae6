//! Plugins in OCI registries: one layer with the component, one with its signature.
//!
//! The media types are those of the CNCF for WebAssembly artifacts
//! (<https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/>); the signature is a further layer.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::Args;
use mindhost::plugins::{artifacts::signature_beside, package::Package};
use oci_client::{
    Client, Reference,
    client::{ClientConfig, ClientProtocol, Config, ImageLayer},
    manifest::{OciDescriptor, OciImageManifest},
    secrets::RegistryAuth,
};
use serde_json::json;

use super::install::Parcel;

/// What a reference begins with.
pub(super) const SCHEME: &str = "oci://";
const WASM: &str = "application/wasm";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const MINISIG: &str = "application/vnd.mindhost.signature.minisign";
/// What is pulled at most; the server has a limit of its own.
const MAX_BYTES: i64 = 1 << 30;
/// Silence of a registry that ends a transfer.
const SILENCE: Duration = Duration::from_secs(60);
/// The manifest of the artifact names the plugin so.
const NAME: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";

/// How a registry is reached.
#[derive(Debug, Args)]
pub(crate) struct Access {
    /// The user of the registry.
    #[arg(long, value_name = "USER")]
    registry_user: Option<String>,
    /// A file with the user's password or token.
    #[arg(long, value_name = "FILE", requires = "registry_user")]
    registry_password_file: Option<PathBuf>,
    /// Speak HTTP without TLS. Registries on this machine are always reached so.
    #[arg(long)]
    registry_http: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The plugin: a component with its manifest. FILE.minisig beside it is pushed with it.
    file: PathBuf,
    /// Where it goes: oci://registry.example.com/plugins/connector:1.2.0.
    reference: String,
    #[command(flatten)]
    access: Access,
}

pub(super) async fn push(push: &Push) -> anyhow::Result<()> {
    let reference = reference(&push.reference)?;
    let package =
        Package::read(&push.file, u64::MAX).with_context(|| format!("{}", push.file.display()))?;
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
    if let Some(signature) = signature_beside(&push.file) {
        layers.push(ImageLayer::new(signature, MINISIG.to_owned(), None));
    }
    let annotations = [(NAME, &manifest.name), (VERSION, &manifest.version)];
    let annotations = annotations.map(|(name, value)| (name.to_owned(), value.clone()));
    let image = OciImageManifest::build(&layers, &config, Some(annotations.into()));
    let client = push.access.client(&reference);
    let auth = push.access.auth()?;
    client
        .push(&reference, &layers, config, &auth, Some(image))
        .await
        .with_context(|| push.reference.clone())?;
    println!("{}{reference} is sha256:{}", SCHEME, package.digest);
    Ok(())
}

/// The plugin behind a reference.
pub(super) async fn pull(source: &str, access: &Access) -> anyhow::Result<Parcel> {
    let reference = reference(source)?;
    let client = access.client(&reference);
    let auth = access.auth()?;
    let pulled = client.pull_image_manifest(&reference, &auth).await;
    let (manifest, _) = pulled.with_context(|| source.to_owned())?;
    let one = |media_type: &str| {
        let mut layers = manifest.layers.iter();
        layers.find(|layer| layer.media_type == media_type)
    };
    let Some(component) = one(WASM) else {
        bail!("{source} has no layer of the type {WASM}, so it is no plugin");
    };
    let bytes = blob(&client, &reference, component).await?;
    let signature = match one(MINISIG) {
        None => None,
        Some(layer) => Some(
            String::from_utf8(blob(&client, &reference, layer).await?)
                .with_context(|| format!("the signature of {source}"))?,
        ),
    };
    Ok(Parcel {
        bytes,
        signature,
        source: source.to_owned(),
    })
}

/// A layer; the client compares it with its digest.
async fn blob(
    client: &Client,
    reference: &Reference,
    layer: &OciDescriptor,
) -> anyhow::Result<Vec<u8>> {
    if !(0..=MAX_BYTES).contains(&layer.size) {
        bail!(
            "{reference} has a layer of {} bytes; {MAX_BYTES} is the most",
            layer.size
        );
    }
    let mut bytes = Vec::new();
    client.pull_blob(reference, layer, &mut bytes).await?;
    Ok(bytes)
}

fn reference(text: &str) -> anyhow::Result<Reference> {
    let Some(reference) = text.strip_prefix(SCHEME) else {
        bail!(
            "`{text}` is no reference; write it like oci://registry.example.com/plugins/connector:1.2.0"
        );
    };
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

    fn auth(&self) -> anyhow::Result<RegistryAuth> {
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
