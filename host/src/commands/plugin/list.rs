//! `mindhost plugin list`, and what `doctor` says of the plugins.

use mindhost::{
    config::Config,
    plugins::{
        PluginKind,
        registry::{Installed, Status},
    },
};

use super::super::{finding::Finding, load_plugins};

pub(super) async fn run() -> anyhow::Result<()> {
    let config = Config::load()?;
    let registry = load_plugins::inspect(&config).await?;
    if registry.installed().is_empty() {
        println!("there is no plugin in {}", config.plugins_dir.display());
    }
    registry
        .installed()
        .iter()
        .for_each(|plugin| println!("{}", line(plugin)));
    Ok(())
}

/// What `doctor` has to say of the plugins.
pub(in crate::commands) async fn examine(config: &Config) -> Vec<Finding> {
    let dir = config.plugins_dir.display();
    if !config.plugins_dir.is_dir() {
        return vec![Finding::bad(
            format!("plugins: there is no directory {dir}"),
            "set plugins_dir to where the .wasm files are; without plugins nothing can be connected",
        )];
    }
    let registry = match load_plugins::inspect(config).await {
        Ok(registry) => registry,
        Err(error) => {
            return vec![Finding::bad(
                format!("plugins: {error:#}"),
                "see the settings of [plugins] and [egress]",
            )];
        }
    };
    if registry.installed().is_empty() {
        return vec![Finding::bad(
            format!("plugins: {dir} holds no .wasm file"),
            "copy plugins there, or set plugins_dir",
        )];
    }
    let mut findings: Vec<_> = registry.installed().iter().map(finding).collect();
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
