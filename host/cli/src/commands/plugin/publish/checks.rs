//! What a plugin must have before it is published.

use std::{fs, path::Path};

use anyhow::{Context, bail, ensure};
use mindhost_plugin_api::Manifest;
use semver::Version;

/// Largest changelog or licence, in bytes.
const MAX_TEXT: u64 = 1 << 20;
/// Bytes of a changelog's section that go to the registry.
const MAX_CHANGES: usize = 4_000;

/// The folder of a file.
pub(super) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The reference to push to, with the version as its tag.
pub(super) fn reference(text: &str, manifest: &Manifest) -> anyhow::Result<String> {
    let (name, version) = (&manifest.name, &manifest.version);
    let number = number(version)?;
    ensure!(
        number.build.is_empty(),
        "{version} has build metadata, which a tag cannot have; leave out what follows the `+`"
    );
    let (before, last) = text.rsplit_once('/').unwrap_or(("", text));
    let (repository, tag) = match last.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (last, None),
    };
    ensure!(
        before.starts_with("oci://") && !last.contains('@'),
        "a plugin is published to a reference like oci://registry.example.com/plugins/{name}:{version}"
    );
    ensure!(
        repository == name,
        "the plugin is named {name} by its manifest, and the reference ends in {repository}; publish it to …/{name}"
    );
    if let Some(tag) = tag.filter(|tag| tag != version) {
        bail!(
            "the plugin is version {version} by its manifest, and the tag is {tag}; make both the same"
        );
    }
    Ok(format!("{before}/{name}:{version}"))
}

fn number(version: &str) -> anyhow::Result<Version> {
    Version::parse(version)
        .map_err(|error| anyhow::anyhow!("{version} is no version, such as 1.2.0: {error}"))
}

/// A manifest.json beside the plugin must be the one in it.
pub(super) fn manifest_beside(folder: &Path, packed: &Manifest) -> anyhow::Result<()> {
    let file = folder.join("manifest.json");
    if !file.exists() {
        return Ok(());
    }
    let own: Manifest =
        serde_json::from_str(&text(&file)?).with_context(|| file.display().to_string())?;
    ensure!(
        own == *packed,
        "{} is not the manifest in the plugin ({} {}); build the plugin again",
        file.display(),
        packed.name,
        packed.version
    );
    Ok(())
}

/// The licence must be there and say something.
pub(super) fn licence(file: &Path) -> anyhow::Result<()> {
    let text = text(file)
        .context("a plugin is published with its licence; name its file with --licence")?;
    ensure!(
        !text.trim().is_empty(),
        "{} is empty; write the licence of the plugin into it",
        file.display()
    );
    Ok(())
}

/// The section of the changelog about a version, cut at a limit.
pub(super) fn changes(file: &Path, version: &str) -> anyhow::Result<String> {
    let text = text(file)
        .context("a plugin is published with its changes; name their file with --changelog")?;
    let mut lines = text.lines();
    lines
        .find(|line| is_heading_of(line, version))
        .with_context(|| {
            format!(
                "{} has no heading for {version}; write `## {version}` and below it what changed",
                file.display()
            )
        })?;
    let section: Vec<&str> = lines
        .take_while(|line| !line.starts_with("# ") && !line.starts_with("## "))
        .collect();
    let section = section.join("\n");
    let section = section.trim();
    ensure!(
        !section.is_empty(),
        "{} says nothing below its heading for {version}",
        file.display()
    );
    Ok(section[..section.floor_char_boundary(MAX_CHANGES)].to_owned())
}

/// `## 1.2.0`, `## [1.2.0] - 2026-01-31`, `# v1.2.0 (January)`
fn is_heading_of(line: &str, version: &str) -> bool {
    let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")) else {
        return false;
    };
    let word = rest.split_whitespace().next().unwrap_or_default();
    let word = word.trim_start_matches('[').trim_end_matches([']', ':']);
    word.strip_prefix('v').unwrap_or(word) == version
}

/// The highest version among tags. Other tags, such as `latest`, mean nothing.
pub(super) fn highest(tags: &[String]) -> Option<Version> {
    tags.iter().filter_map(|tag| Version::parse(tag).ok()).max()
}

/// A version must be new. It must be higher than what was published of its line, such as 1.9; the first of a line must be
/// higher than all. So those who stay on an older line still get its fixes.
pub(super) fn grew(version: &str, tags: &[String]) -> anyhow::Result<()> {
    let new = number(version)?;
    ensure!(
        !tags.iter().any(|tag| tag == version),
        "{version} is published already; a published version never changes, so give this one a higher number"
    );
    let line: Vec<String> = tags
        .iter()
        .filter(|tag| Version::parse(tag).is_ok_and(|tag| is_same_line(&tag, &new)))
        .cloned()
        .collect();
    match highest(&line).or_else(|| highest(tags)) {
        Some(highest) if highest >= new => bail!(
            "{version} is not higher than {highest}, which is published; raise `version` in the manifest"
        ),
        _ => Ok(()),
    }
}

fn is_same_line(one: &Version, other: &Version) -> bool {
    (one.major, one.minor) == (other.major, other.minor)
}

fn text(file: &Path) -> anyhow::Result<String> {
    let read = || {
        let size = fs::metadata(file)?.len();
        ensure!(
            size <= MAX_TEXT,
            "has {size} bytes, and at most {MAX_TEXT} are read"
        );
        Ok(fs::read_to_string(file)?)
    };
    read().with_context(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_grows_by_the_rules_of_semantic_versioning() {
        let tags = ["1.9.3", "1.10.0-rc.9", "latest", "1.10.0-rc.10"].map(str::to_owned);
        assert!(grew("1.10.0", &tags).is_ok());
        assert!(grew("1.10.0-rc.11", &tags).is_ok());
        for (version, words) in [
            ("1.9.1", "not higher than 1.9.3"),
            ("1.8.9", "not higher than 1.10.0-rc.10"),
            ("1.10.0-rc.9", "published already"),
            ("1.10.0-rc.2", "not higher"),
        ] {
            let refused = grew(version, &tags).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
        assert!(grew("0.0.1", &[]).is_ok());
        // A fix of an older line.
        assert!(grew("1.9.4", &tags).is_ok());
    }

    #[test]
    fn the_heading_of_a_version_is_found_in_the_usual_forms() {
        for line in [
            "## 1.2.0",
            "## [1.2.0] - 2026-01-31",
            "# v1.2.0 (January)",
            "## 1.2.0:",
        ] {
            assert!(is_heading_of(line, "1.2.0"), "{line}");
        }
        for line in ["1.2.0", "### 1.2.0", "## 1.2.0-rc.1", "## 11.2.0"] {
            assert!(!is_heading_of(line, "1.2.0"), "{line}");
        }
    }
}
