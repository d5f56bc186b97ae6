//! What a registry has beside plugins: tags, and documents with their signatures.

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use mindhost_plugins::{artifacts::MAX_SIGNATURE, catalogue::MAX_BYTES};
use oci_client::{
    client::{Config, ImageLayer},
    manifest::OciImageManifest,
};

use super::{
    Access, MINISIG, Pull, SCHEME, reference,
    told::{self, told},
};
use crate::commands::say::say;

const CATALOGUE: &str = "application/vnd.mindhost.catalogue.v1+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Tags of one request, and of one repository.
const PAGE: usize = 1_000;
const MAX_TAGS: usize = 20_000;

/// The tags of the repository of a reference; none if there is no such repository.
pub(in super::super) async fn tags(source: &str, access: &Access) -> anyhow::Result<Vec<String>> {
    let pull = Pull::new(source, access, 0)?;
    let mut all: Vec<String> = Vec::new();
    loop {
        let last = all.last().map(String::as_str);
        let listed = pull
            .client
            .list_tags(&pull.reference, &pull.auth, Some(PAGE), last);
        let page = match listed.await.map_err(|error| told(source, error)) {
            Ok(page) => page.tags,
            Err(error) if error.is::<told::Unknown>() => return Ok(all),
            Err(error) => return Err(error),
        };
        // A registry that ignores `last` sends the same tags again.
        let new: Vec<String> = page.into_iter().filter(|tag| !all.contains(tag)).collect();
        if new.is_empty() {
            return Ok(all);
        }
        all.extend(new);
        ensure!(
            all.len() <= MAX_TAGS,
            "{source}: the repository has more than {MAX_TAGS} tags"
        );
    }
}

/// The digest of the manifest that a reference names now.
pub(in super::super) async fn manifest(
    source: &str,
    access: &Access,
) -> anyhow::Result<Option<String>> {
    let pull = Pull::new(source, access, 0)?;
    let fetched = pull
        .client
        .fetch_manifest_digest(&pull.reference, &pull.auth);
    match fetched.await.map_err(|error| told(source, error)) {
        Ok(digest) => Ok(Some(digest)),
        Err(error) if error.is::<told::Unknown>() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pushes a catalogue with its signature. Its tag moves: each reader has the numbers to tell old from new.
pub(in super::super) async fn push_catalogue(
    target: &str,
    access: &Access,
    content: Vec<u8>,
    signature: String,
) -> anyhow::Result<()> {
    let reference = reference(target)?;
    let layers = [
        ImageLayer::new(Bytes::from(content), CATALOGUE.to_owned(), None),
        ImageLayer::new(Bytes::from(signature), MINISIG.to_owned(), None),
    ];
    let config = Config::new("{}".to_owned(), EMPTY.to_owned(), None);
    let image = OciImageManifest::build(&layers, &config, None);
    let client = access.client(&reference);
    let auth = access.auth(&reference)?;
    let pushed = client.push(&reference, &layers, config, &auth, Some(image));
    pushed.await.map_err(|error| told(target, error))?;
    say!("pushed to {SCHEME}{reference}");
    Ok(())
}

/// Fetches a catalogue: its bytes and their signature, of which nothing was checked yet.
pub(in super::super) async fn pull_catalogue(
    source: &str,
    access: &Access,
) -> anyhow::Result<(Vec<u8>, String)> {
    let pull = Pull::new(source, access, MAX_BYTES)?;
    let pulled = pull.client.pull_image_manifest(&pull.reference, &pull.auth);
    let (manifest, _) = pulled.await.map_err(|error| told(source, error))?;
    let one = |kind: &str| {
        manifest
            .layers
            .iter()
            .find(|layer| layer.media_type == kind)
    };
    let (Some(document), Some(signature)) = (one(CATALOGUE), one(MINISIG)) else {
        bail!(
            "{source} is no signed catalogue: it needs a layer of the type {CATALOGUE} and one of {MINISIG}"
        );
    };
    let bytes = pull.blob(&document.digest, MAX_BYTES).await?;
    let signature = pull.blob(&signature.digest, MAX_SIGNATURE).await?;
    let signature = String::from_utf8(signature).ok();
    let signature = signature.with_context(|| format!("the signature of {source} is not text"))?;
    Ok((bytes, signature))
}
