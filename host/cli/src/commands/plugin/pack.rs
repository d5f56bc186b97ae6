//! `mindhost plugin pack`

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::Args;
use mindhost_runtime::package;

#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The component from the compiler.
    file: PathBuf,
    /// The manifest (JSON).
    #[arg(long, short)]
    manifest: PathBuf,
    /// Where to write the plugin.
    #[arg(long, short)]
    output: PathBuf,
    /// In a build of `mindhost plugin dev`: the folder that gets the plugin, so that the one to publish stays.
    #[arg(long, env = "DEV_OF_MINDHOST", hide = true, value_name = "FOLDER")]
    dev: Option<PathBuf>,
}

pub(super) fn run(pack: &Pack) -> anyhow::Result<()> {
    let Pack {
        file,
        manifest,
        output,
        dev,
    } = pack;
    let output = match (dev, output.file_name()) {
        (Some(folder), Some(name)) if !folder.as_os_str().is_empty() => &folder.join(name),
        _ => output,
    };
    let component = fs::read(file).with_context(|| format!("{}", file.display()))?;
    let text = fs::read_to_string(manifest).with_context(|| format!("{}", manifest.display()))?;
    // First, so that each refusal names the file that it is about.
    package::check_manifest_text(&text).with_context(|| format!("{}", manifest.display()))?;
    package::check_built_with(&component, &text).with_context(|| format!("{}", file.display()))?;
    let packed = package::pack(&component, &text).with_context(|| format!("{}", file.display()))?;
    fs::write(output, packed).with_context(|| format!("{}", output.display()))?;
    Ok(())
}
