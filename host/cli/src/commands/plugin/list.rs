//! `mindhost plugin list`, and the plugin checks of `doctor`.

use std::path::PathBuf;

use clap::Args;
use mindhost_base::config::Config;
use mindhost_plugin_api::PluginKind;
use mindhost_plugins::registry::{Installed, Status};

use reqwest::Method;

use super::{
    super::{finding::Finding, load_plugins, remote::Remote},
    health, text,
};
use crate::commands::say::say;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// List the files of this directory (default: `plugins_dir`) without asking a server.
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with_all = ["server", "key_file"])]
    dir: Option<Option<PathBuf>>,
    #[command(flatten)]
    remote: Remote,
}

pub(super) async fn run(list: List) -> anyhow::Result<()> {
    if let Some(dir) = list.dir {
        return directory(dir).await;
    }
    let server = list.remote.server()?;
    let request = server.request(Method::GET, &["plugins"]);
    let plugins = server.send(request).await?;
    for plugin in text::array(&plugins) {
        let name = plugin["name"].as_str().unwrap_or_default();
        let health = health::of(&server, name).await?;
        say!("{}", text::listed(plugin, &health));
    }
    if text::array(&plugins).is_empty() {
        say!("no plugin is installed");
    }
    Ok(())
}

/// Lists a directory, with the state that each file would have in this installation.
async fn directory(dir: Option<PathBuf>) -> anyhow::Result<()> {
    let mut config = Config::load()?;
    // For another directory, the installed versions are not relevant.
    let is_own = dir.is_none();
    if let Some(dir) = dir {
        config.plugins_dir = dir;
    }
    let dir = &config.plugins_dir;
    anyhow::ensure!(dir.is_dir(), "there is no directory {}", dir.display());
    let registry = load_plugins::inspect(&config).await?;
    let mut plugins = registry.installed();
    plugins.retain(|plugin| is_own || plugin.file.is_some());
    if plugins.is_empty() {
        say!("there is no plugin in {}", dir.display());
    }
    plugins.iter().for_each(|plugin| say!("{}", line(plugin)));
    Ok(())
}

/// The findings of `doctor` about plugins.
pub(in crate::commands) async fn examine(config: &Config) -> Vec<Finding> {
    let dir = config.plugins_dir.display();
    let has_dir = config.plugins_dir.is_dir();
    let registry = match load_plugins::inspect(config).await {
        Ok(registry) => registry,
        Err(error) => {
            return vec![Finding::bad(
                format!("plugins: {error:#}"),
                "see the settings of [plugins] and [egress]",
            )];
        }
    };
    let mut findings = Vec::new();
    match (registry.installed().is_empty(), has_dir) {
        (true, true) => {
            return vec![Finding::bad(
                format!("plugins: {dir} holds no .wasm file"),
                "copy plugins there, or set plugins_dir",
            )];
        }
        (true, false) => {
            return vec![Finding::bad(
                format!("plugins: there is no directory {dir}"),
                "set plugins_dir to where the .wasm files are; without plugins nothing can be connected",
            )];
        }
        (false, true) => {}
        (false, false) => findings.push(Finding::Note(format!(
            "plugins: there is no directory {dir}; the plugins are those of the data directory"
        ))),
    }
    findings.extend(registry.installed().iter().map(finding));
    let active = registry.active();
    let before = load_plugins::remembered(config).await;
    let missing = before
        .iter()
        .filter(|(slot, digest)| active.get(*slot) != Some(*digest));
    findings.extend(missing.map(|(slot, digest)| {
        let digest = digest.get(..12).unwrap_or(digest);
        let instead = match active.contains_key(slot) {
            true => "the next start takes another version",
            false => "nothing takes its place",
        };
        Finding::bad(
            format!("plugins: the active version for {slot}, {digest}, is not here or cannot be used; {instead}"),
            "install the same file again, or activate another version",
        )
    }));
    let outdated = registry.outdated().into_iter();
    findings.extend(outdated.map(|(plugin, reason)| {
        Finding::Note(format!(
            "plugin: {plugin} is still active but can no longer be installed: {reason}"
        ))
    }));
    let missing = load_plugins::limits_of_missing_plugins(config, &registry.installed());
    findings.extend(missing.into_iter().map(|plugin| {
        Finding::Note(format!(
            "plugins.limits: {plugin} has limits and is not installed; is its name right?"
        ))
    }));
    if registry.models().is_empty() {
        findings.push(Finding::bad(
            "plugins: no model plugin is active",
            "copy model-offline.wasm into the plugins directory",
        ));
    }
    findings
}

fn finding(plugin: &Installed) -> Finding {
    let shown = format!("plugin: {}", line(plugin));
    match plugin.status {
        Status::Refused(_) => Finding::bad(
            shown,
            "replace the file with a working one, or take it out of the directory",
        ),
        _ => Finding::Good(shown),
    }
}

fn line(plugin: &Installed) -> String {
    let file = plugin.file.as_ref().and_then(|file| file.file_name());
    let file = file.map_or("(installed)".into(), |file| file.to_string_lossy());
    let status = match &plugin.status {
        Status::Active => "active".to_owned(),
        Status::Inactive(reason) => format!("inactive: {reason}"),
        Status::Refused(reason) => format!("refused: {reason}"),
    };
    let Some(about) = &plugin.about else {
        return format!("{file}  {status}");
    };
    let serves = match about.kind {
        PluginKind::Connector => about.engines.join(", "),
        PluginKind::Model => "language models".to_owned(),
    };
    let digest = about.digest.get(..12).unwrap_or_default();
    format!(
        "{file}  {} {} ({serves})  {digest}  {status}",
        about.name, about.version
    )
}
