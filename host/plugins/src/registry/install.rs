//! Inspects, installs, compiles and removes plugin files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        artifacts::{HeldFor, Hold, signature_beside},
        signatures::Signer,
        trial::Side,
    },
    Registry, shown,
    table::Use,
    versions::{INSTALLED, KnownVersion, Status, VersionFacts, find},
};
use mindhost_base::{
    error::{Code, Error, Result},
    locks,
};
use mindhost_plugin_api::{Manifest, PluginKind};
use mindhost_runtime::{
    LoadedPlugin, Ready,
    package::{Package, Refusal, check_origins},
};

impl Registry {
    /// Inspects a file without running or storing it: what it is and which rights it asks for.
    ///
    /// # Errors
    /// `plugin_refused`
    pub async fn inspect(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<Inspection> {
        self.judge(bytes, signature).await.map(|judged| Inspection {
            about: VersionFacts::of(&judged.package, &judged.signer),
            manifest: judged.package.manifest.clone(),
        })
    }

    /// Installs a file: verifies it and stores it under its digest. It serves nothing until it is activated.
    ///
    /// # Errors
    /// `plugin_refused`; `name_taken` if another file of this version is installed; when the data directory cannot be
    /// written.
    pub async fn install(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<Inspection> {
        self.put(bytes, signature, false).await
    }

    /// As [`Self::install`], for development: a version that is built again is another file of the same version.
    ///
    /// # Errors
    /// `plugin_refused`; when the data directory cannot be written.
    pub async fn install_again(
        &self,
        bytes: Vec<u8>,
        signature: Option<&str>,
    ) -> Result<Inspection> {
        self.put(bytes, signature, true).await
    }

    async fn put(
        &self,
        bytes: Vec<u8>,
        signature: Option<&str>,
        may_repeat: bool,
    ) -> Result<Inspection> {
        let package = self.judge(bytes, signature).await?.package;
        let backend = self.backend()?;
        let _changing = backend.artifacts.change().await;
        if !may_repeat {
            self.check_version_is_free(&package)?;
        }
        let (artifacts, trust) = (backend.artifacts.clone(), backend.trust.clone());
        let (kept, signature) = (Arc::clone(&package), signature.map(str::to_owned));
        let put = move || {
            // Sending the same bytes again without a signature does not remove the stored one.
            let best = artifacts.best_signature(&kept, signature, &trust);
            artifacts.put(&kept, best.as_deref())?;
            let signer = trust.signer(&kept, best.as_deref());
            Ok(signer.unwrap_or(Signer::Unsigned))
        };
        let signer = tokio::task::spawn_blocking(put)
            .await
            .map_err(Error::internal)?
            .map_err(Error::not_written)?;
        let mut known = locks::write(&self.known);
        let one = known
            .entry(package.digest.clone())
            .or_insert_with(|| KnownVersion::of(&package, &signer, None));
        // A signature may be all that the version lacked.
        one.about = VersionFacts::of(&package, &signer);
        if matches!(one.status, Status::Refused(_)) {
            one.status = Status::Inactive(INSTALLED.to_owned());
        }
        Ok(Inspection {
            about: one.about.clone(),
            manifest: one.manifest.clone(),
        })
    }

    /// One version is one file: otherwise its number would not say what runs.
    fn check_version_is_free(&self, package: &Package) -> Result<()> {
        let known = locks::read(&self.known);
        let Some(other) = other_file(&known, package) else {
            return Ok(());
        };
        let (name, version) = (&other.about.name, &other.about.version);
        let digest = other.about.digest.get(..12).unwrap_or_default();
        Err(Error::new(
            Code::NameTaken,
            format!(
                "another file of {name} {version} is installed ({digest}); give this one a version of its own, or remove the other with `mindhost plugin remove {name} {digest}`"
            ),
        ))
    }

    /// As [`Self::find`]; without a version, the highest usable one that is not among `avoided`.
    ///
    /// # Errors
    /// As [`Self::find`], and `wrong_state` if all are avoided.
    pub fn find_except(
        &self,
        name: &str,
        version: Option<&str>,
        avoided: &BTreeSet<String>,
    ) -> Result<VersionFacts> {
        let known = locks::read(&self.known);
        find(&known, name, version, avoided).map(|one| one.about.clone())
    }

    /// Warnings about installed versions that serve: name and version of each, and what to change.
    pub fn outdated(&self) -> Vec<(String, String)> {
        let known = locks::read(&self.known);
        let outdated = known.values().filter_map(|one| {
            let refusal = check_origins(&one.manifest).err()?;
            let about = &one.about;
            Some((
                format!("{} {}", about.name, about.version),
                refusal.to_string(),
            ))
        });
        outdated.collect()
    }

    /// Size limit of a file, in bytes.
    ///
    /// # Errors
    /// If there is no runtime.
    pub fn max_package_bytes(&self) -> Result<u64> {
        Ok(self.backend()?.runtime.max_package_bytes())
    }

    async fn judge(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<VerifiedFile> {
        let trust = self.backend()?.trust.clone();
        let signature = signature.map(str::to_owned);
        let judge = move || {
            let package = Package::parse(bytes)?;
            let signer = trust.judge(&package, signature.as_deref())?;
            package.check_new()?;
            package.validate()?;
            Ok(VerifiedFile {
                package: Arc::new(package),
                signer,
            })
        };
        tokio::task::spawn_blocking(judge)
            .await
            .map_err(Error::internal)?
            .map_err(|refusal: Refusal| refused(&refusal))
    }

    /// Removes an installed version and its file. A version that is also in the plugins directory returns at the next
    /// start.
    ///
    /// # Errors
    /// `plugin_not_found`; `resource_in_use` with what keeps it: it serves, is on trial, or a datasource pins it.
    pub async fn remove(&self, name: &str, version: &str) -> Result<VersionFacts> {
        let artifacts = &self.backend()?.artifacts;
        let _changing = artifacts.change().await;
        let digest = self.find(name, Some(version))?.digest;
        // First out of the list, so that nothing starts to use it now.
        let known = {
            let mut all = locks::write(&self.known);
            if let Some(obstacle) = self.obstacle(&all, &digest) {
                return Err(Error::new(
                    Code::InUse,
                    format!("{name} {} {obstacle}", shown(version)),
                ));
            }
            all.remove(&digest)
        };
        let Some(known) = known else {
            return Err(not_installed(&digest));
        };
        let removed = tokio::task::spawn_blocking({
            let (artifacts, digest) = (artifacts.clone(), digest.clone());
            move || artifacts.remove(&digest)
        })
        .await
        .map_err(Error::internal)?;
        let about = known.about.clone();
        if let Err(error) = removed {
            locks::write(&self.known).insert(digest, known);
            return Err(Error::internal(error));
        }
        if let Some(meters) = self.meters() {
            meters.remove(&digest);
        }
        Ok(about)
    }

    /// What keeps a version from being removed, and what to do.
    fn obstacle(&self, known: &BTreeMap<String, KnownVersion>, digest: &str) -> Option<String> {
        let held_for = self.backend().ok()?.artifacts.held_for(digest);
        let name = known.get(digest).map_or("", |one| &one.about.name);
        let abort = format!("wait for its end, or abort it with `POST /plugins/{name}/rollback`");
        // First the rollout: it holds its version also where that serves already.
        if held_for == Some(HeldFor::Rollout) {
            return Some(format!("has a rollout in progress; {abort}"));
        }
        match self.table().use_of(digest) {
            Some(Use::Trial(Side::Candidate)) => Some(format!("is on trial; {abort}")),
            Some(Use::Trial(Side::Stable)) => Some(
                "is what serves again if the rollout in progress is rolled back; wait for the end of that rollout"
                    .to_owned(),
            ),
            Some(Use::Serves) => Some(format!("serves; {}", successor(known, digest))),
            Some(Use::Pinned) => Some(
                "is pinned by a datasource; set the `plugin_digest` of each that pins it to another digest, or to null"
                    .to_owned(),
            ),
            None => held_for.map(|_| {
                "is being pinned by a datasource; wait for the end of that request, then choose another \
                 `plugin_digest` for the datasource"
                    .to_owned()
            }),
        }
    }

    /// Keeps an installed version from being removed until the returned hold is dropped.
    ///
    /// # Errors
    /// `plugin_not_found`
    pub fn hold(&self, digest: &str, held_for: HeldFor) -> Result<Hold> {
        // Before the look-up: a removal takes the version out of the list first, and then checks for holds.
        let hold = self.backend()?.artifacts.hold(digest, held_for);
        match locks::read(&self.known).contains_key(digest) {
            true => Ok(hold),
            false => Err(not_installed(digest)),
        }
    }

    /// An installed version that can serve: verified again, compiled if necessary, and asked to describe itself.
    /// Nothing is compiled before the signature policy accepts it.
    ///
    /// # Errors
    /// `plugin_refused`, `plugin_not_found`
    pub async fn ready(&self, digest: &str) -> Result<Arc<Ready>> {
        if let Some(ready) = self.at_hand(digest) {
            let made = ready.wait_until_compiled().await;
            made.map_err(|refusal| self.refuse(digest, &refusal))?;
            return Ok(ready);
        }
        let known = |known: &BTreeMap<String, KnownVersion>| {
            let one = known.get(digest)?;
            Some(one.file.clone())
        };
        let Some(file) = known(&locks::read(&self.known)) else {
            return Err(not_installed(digest));
        };
        let backend = self.backend()?;
        let (artifacts, trust) = (backend.artifacts.clone(), backend.trust.clone());
        let (wanted, max_bytes) = (digest.to_owned(), backend.runtime.max_package_bytes());
        let read = move || {
            let (package, signature) = match artifacts.read(&wanted) {
                Ok(package) => (package, artifacts.signature(&wanted)),
                // A host with a read-only data directory serves from the plugins directory.
                Err(refusal) => from_file(file.as_deref(), &wanted, max_bytes).ok_or(refusal)?,
            };
            trust.judge(&package, signature.as_deref())?;
            Ok(Arc::new(package))
        };
        let package = tokio::task::spawn_blocking(read)
            .await
            .map_err(Error::internal)?;
        match package {
            Ok(package) => self.compile(package).await,
            Err(refusal) => Err(self.refuse(digest, &refusal)),
        }
    }

    /// As [`Self::ready`], for a version that is about to serve: clears its record of failures.
    ///
    /// # Errors
    /// As [`Self::ready`].
    pub async fn serve(&self, digest: &str) -> Result<LoadedPlugin> {
        let loaded = self.ready(digest).await?.serve();
        let meters = self.meters();
        if let Some(version) = meters.and_then(|meters| meters.of_digest(digest)) {
            version.health.release();
        }
        Ok(loaded)
    }

    pub(super) async fn compile(&self, package: Arc<Package>) -> Result<Arc<Ready>> {
        let digest = package.digest.clone();
        match self.backend()?.loader.load(package).await {
            Err(refusal) => Err(self.refuse(&digest, &refusal)),
            Ok(ready) => {
                let ready = Arc::new(ready);
                if let Some(one) = locks::write(&self.known).get_mut(&digest) {
                    one.ready = Some(Arc::clone(&ready));
                    // Its file was repaired.
                    if matches!(one.status, Status::Refused(_)) {
                        one.status = Status::Inactive(INSTALLED.to_owned());
                    }
                }
                Ok(ready)
            }
        }
    }

    pub(super) fn refuse(&self, digest: &str, refusal: &Refusal) -> Error {
        if let Some(one) = locks::write(&self.known).get_mut(digest) {
            one.ready = None;
            one.status = Status::Refused(refusal.to_string());
        }
        refused(refusal)
    }
}

/// An installed version of the same plugin and number with other bytes. A file of the plugins directory that a start
/// refused is not installed.
fn other_file<'a>(
    known: &'a BTreeMap<String, KnownVersion>,
    package: &Package,
) -> Option<&'a KnownVersion> {
    let manifest = &package.manifest;
    known.values().find(|one| {
        one.about.name == manifest.name
            && one.about.version == manifest.version
            && one.about.digest != package.digest
            && !(one.file.is_some() && matches!(one.status, Status::Refused(_)))
    })
}

/// A file that may be installed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Inspection {
    /// The facts about it.
    #[serde(flatten)]
    pub about: VersionFacts,
    /// Its manifest, with its rights and the schema of its `connection_data`.
    #[schema(value_type = Object)]
    pub manifest: Manifest,
}

struct VerifiedFile {
    package: Arc<Package>,
    signer: Signer,
}

/// The file in the plugins directory, if it still has this digest.
fn from_file(
    file: Option<&Path>,
    digest: &str,
    max_bytes: u64,
) -> Option<(Package, Option<String>)> {
    let package = Package::read(file?, max_bytes).ok()?;
    (package.digest == digest).then(|| (package, file.and_then(signature_beside)))
}

fn not_installed(digest: &str) -> Error {
    let digest = shown(digest);
    Error::new(
        Code::PluginNotFound,
        format!("no plugin with the digest {digest} is installed here"),
    )
}

/// What to do so that another version serves in the place of this one.
fn successor(known: &BTreeMap<String, KnownVersion>, digest: &str) -> &'static str {
    let Some(serving) = known.get(digest) else {
        return "activate another version first";
    };
    let is_usable = |one: &&KnownVersion| !matches!(one.status, Status::Refused(_));
    let mut others = known.values().filter(is_usable);
    match others.any(|one| one.about.name == serving.about.name && one.about.digest != digest) {
        true => "activate another version first",
        false if serving.manifest.kind == PluginKind::Model => {
            "no other version of it can be activated; install one and activate that first"
        }
        false => {
            "no other version of it can be activated; install one and activate that first, or activate another \
             plugin for its engines"
        }
    }
}

fn refused(refusal: &Refusal) -> Error {
    Error::new(Code::PluginRefused, format!("the plugin {refusal}"))
}
