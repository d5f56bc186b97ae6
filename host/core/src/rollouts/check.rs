//! Tries a new version with the datasources or providers that would use it, before it serves.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::Services;
use mindhost_base::error::Result;
use mindhost_plugin_api::{Call, Connector, Model, Target};
use mindhost_plugins::registry::LoadedPlugin;

/// The result of the check with one datasource or provider.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// Its workspace.
    pub workspace: String,
    /// Its name.
    pub name: String,
    /// The verdict.
    pub outcome: Outcome,
    /// The error; empty if there was none.
    pub message: String,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It works.
    Passed,
    /// It works with the old version but not with the new one.
    Failed,
    /// It works with neither, so the new version is not at fault.
    FailedBefore,
}

/// Tries a version with its datasources or providers, concurrently.
///
/// # Errors
/// When the store fails.
pub async fn all(
    parts: &Services,
    loaded: &LoadedPlugin,
    cancel: &CancellationToken,
) -> Result<Vec<Check>> {
    let settings = &parts.settings;
    let trial = Trial {
        timeout: settings.check_timeout,
        cancel,
    };
    Ok(match loaded {
        LoadedPlugin::Connector(connector) => {
            let engines = &connector.manifest().engines;
            let users = parts
                .datasources
                .unpinned_targets(engines, settings.targets)
                .await?;
            let checks = users.iter().map(|(engine, target)| {
                let old = parts.registry.engine(engine).ok();
                trial.connector(connector, old, target)
            });
            join_all(checks).await
        }
        LoadedPlugin::Model(model) => {
            let name = &model.manifest().name;
            let users = parts.providers.targets_of(name, settings.targets).await?;
            let old = parts.registry.model(name).ok();
            let checks = users
                .iter()
                .map(|target| trial.model(model, old.as_ref(), target));
            join_all(checks).await
        }
    })
}

struct Trial<'a> {
    timeout: Duration,
    cancel: &'a CancellationToken,
}

impl Trial<'_> {
    async fn connector(
        &self,
        new: &Arc<dyn Connector>,
        old: Option<Arc<dyn Connector>>,
        target: &Target,
    ) -> Check {
        let before = async {
            match &old {
                None => Ok(()),
                Some(old) => self.connect(old, target).await,
            }
        };
        judged(target, self.connect(new, target), before).await
    }

    async fn connect(&self, connector: &Arc<dyn Connector>, target: &Target) -> Result<()> {
        let call = self.call();
        let mut connection = connector.connect(target, &call).await?;
        connection.check(&call).await?;
        connection.tables(&call).await.map(drop)
    }

    async fn model(
        &self,
        new: &Arc<dyn Model>,
        old: Option<&Arc<dyn Model>>,
        target: &Target,
    ) -> Check {
        let (call, again) = (self.call(), self.call());
        let before = async {
            match old {
                None => Ok(()),
                Some(old) => old.check(target, &again).await.map(drop),
            }
        };
        let now = async { new.check(target, &call).await.map(drop) };
        judged(target, now, before).await
    }

    fn call(&self) -> Call {
        Call::new(self.timeout, self.cancel.child_token()).limited_by("rollouts.check_timeout")
    }
}

/// The old version is tried only where the new one failed.
async fn judged(
    target: &Target,
    new: impl Future<Output = Result<()>>,
    old: impl Future<Output = Result<()>>,
) -> Check {
    let (outcome, message) = match new.await {
        Ok(()) => (Outcome::Passed, String::new()),
        Err(error) if old.await.is_ok() => (Outcome::Failed, error.message().to_owned()),
        Err(error) => (Outcome::FailedBefore, error.message().to_owned()),
    };
    Check {
        workspace: target.workspace.clone(),
        name: target.name.clone(),
        outcome,
        message,
    }
}
