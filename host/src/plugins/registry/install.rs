//! From a file to a version that can serve: inspected, installed, compiled, removed.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        Manifest,
        artifacts::signature_beside,
        package::{Package, Refusal},
        signatures::Signer,
        wasm::Ready,
    },
    Registry, shown,
    versions::{About, Known, Status},
};
use crate::{
    error::{Code, Error, Result},
    locks,
};

impl Registry {
    /// What a file is and what it asks for, judged without running or keeping anything of it.
    ///
    /// # Errors
    /// `plugin_refused`
    pub async fn inspect(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<Inspected> {
        self.judge(bytes, signature).await.map(|judged| Inspected {
            about: About::of(&judged.package, &judged.signer),
            manifest: judged.package.manifest.clone(),
        })
    }

    /// Installs a file: it is verified and kept under its digest. It serves nothing before it is activated.
    ///
    /// # Errors
    /// `plugin_refused`; when the data directory cannot be written.
    pub async fn install(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<Inspected> {
        let judged = self.judge(bytes, signature).await?;
        let Judged { package, signer } = judged;
        let artifacts = self.workshop()?.artifacts.clone();
        let (kept, text) = (Arc::clone(&package), signature.map(str::to_owned));
        tokio::task::spawn_blocking(move || artifacts.put(&kept, text.as_deref()))
            .await
            .map_err(Error::internal)?
            .map_err(Error::internal)?;
        let mut known = locks::write(&self.known);
        let one = known
            .entry(package.digest.clone())
            .or_insert_with(|| Known::of(&package, &signer, None));
        // The same bytes with a better signature may be what was missing.
        one.about = About::of(&package, &signer);
        if matches!(one.status, Status::Refused(_)) {
            one.status = Status::Inactive("installed".to_owned());
        }
        Ok(Inspected {
            about: one.about.clone(),
            manifest: one.manifest.clone(),
        })
    }

    async fn judge(&self, bytes: Vec<u8>, signature: Option<&str>) -> Result<Judged> {
        let trust = self.workshop()?.trust.clone();
        let signature = signature.map(str::to_owned);
        let judge = move || {
            let package = Package::parse(bytes)?;
            let signer = trust.judge(&package.bytes, signature.as_deref())?;
            Ok(Judged {
                package: Arc::new(package),
                signer,
            })
        };
        tokio::task::spawn_blocking(judge)
            .await
            .map_err(Error::internal)?
            .map_err(|refusal: Refusal| refused(&refusal))
    }

    /// Takes an installed version away, with its file. One of the plugins directory comes back at the next start.
    ///
    /// # Errors
    /// `plugin_not_found`; `resource_in_use` while it serves, is on trial, or some datasource keeps it.
    pub async fn remove(&self, name: &str, version: &str) -> Result<About> {
        let about = self.find(name, Some(version))?;
        let digest = about.digest.clone();
        if self.table().is_used(&digest) {
            return Err(Error::new(
                Code::InUse,
                format!(
                    "{name} {} serves, is on trial or is kept by a datasource; activate another version first",
                    about.version
                ),
            ));
        }
        let artifacts = self.workshop()?.artifacts.clone();
        tokio::task::spawn_blocking({
            let digest = digest.clone();
            move || artifacts.remove(&digest)
        })
        .await
        .map_err(Error::internal)?
        .map_err(Error::internal)?;
        locks::write(&self.known).remove(&digest);
        Ok(about)
    }

    /// An installed version, compiled: verified again, compiled if it is new, and asked to describe itself. Nothing is
    /// compiled before the policy on signatures has let it in.
    ///
    /// # Errors
    /// `plugin_refused`, `plugin_not_found`
    pub async fn ready(&self, digest: &str) -> Result<Arc<Ready>> {
        let known = |known: &BTreeMap<String, Known>| {
            let one = known.get(digest)?;
            Some((one.ready.clone(), one.file.clone()))
        };
        let Some((ready, file)) = known(&locks::read(&self.known)) else {
            return Err(Error::new(
                Code::PluginNotFound,
                format!(
                    "no plugin with the digest {} is installed here",
                    shown(digest)
                ),
            ));
        };
        if let Some(ready) = ready {
            return Ok(ready);
        }
        let workshop = self.workshop()?;
        let (artifacts, trust) = (workshop.artifacts.clone(), workshop.trust.clone());
        let (wanted, max_bytes) = (digest.to_owned(), workshop.runtime.max_package_bytes());
        let read = move || {
            let (package, signature) = match artifacts.read(&wanted) {
                Ok(package) => (package, artifacts.signature(&wanted)),
                // A host that may not write its data directory serves from the plugins directory.
                Err(refusal) => from_file(file.as_deref(), &wanted, max_bytes).ok_or(refusal)?,
            };
            trust.judge(&package.bytes, signature.as_deref())?;
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

    pub(super) async fn compile(&self, package: Arc<Package>) -> Result<Arc<Ready>> {
        let digest = package.digest.clone();
        match self.workshop()?.loader.load(package).await {
            Err(refusal) => Err(self.refuse(&digest, &refusal)),
            Ok(ready) => {
                let ready = Arc::new(ready);
                if let Some(one) = locks::write(&self.known).get_mut(&digest) {
                    one.ready = Some(Arc::clone(&ready));
                }
                Ok(ready)
            }
        }
    }

    fn refuse(&self, digest: &str, refusal: &Refusal) -> Error {
        if let Some(one) = locks::write(&self.known).get_mut(digest) {
            one.status = Status::Refused(refusal.to_string());
        }
        refused(refusal)
    }
}

/// A file that may be installed: what it is, and all that it asks for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Inspected {
    /// What it is.
    #[serde(flatten)]
    pub about: About,
    /// Its manifest: what it may reach, by the names of `connection_data`, and what it is configured with.
    #[schema(value_type = Object)]
    pub manifest: Manifest,
}

struct Judged {
    package: Arc<Package>,
    signer: Signer,
}

/// The file of the plugins directory, if it still has this digest.
fn from_file(
    file: Option<&Path>,
    digest: &str,
    max_bytes: u64,
) -> Option<(Package, Option<String>)> {
    let package = Package::read(file?, max_bytes).ok()?;
    (package.digest == digest).then(|| (package, file.and_then(signature_beside)))
}

fn refused(refusal: &Refusal) -> Error {
    Error::new(Code::PluginRefused, format!("the plugin {refusal}"))
}
