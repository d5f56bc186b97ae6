//! The top-level sections of a component.

use super::{Refusal, not_a_component};

/// A section at the top level of a component.
pub struct Section<'a> {
    id: u8,
    /// With its header.
    pub whole: &'a [u8],
    content: &'a [u8],
}

impl<'a> Section<'a> {
    fn name_and_data(&self) -> Option<(&'a str, &'a [u8])> {
        if self.id != 0 {
            return None;
        }
        let (len, rest) = leb128(self.content)?;
        let (name, data) = rest.split_at_checked(len)?;
        Some((std::str::from_utf8(name).ok()?, data))
    }

    /// The name of a custom section.
    pub fn name(&self) -> Option<&'a str> {
        self.name_and_data().map(|(name, _)| name)
    }

    /// The content of a custom section behind its name.
    pub fn data(&self) -> &'a [u8] {
        self.name_and_data().map_or(&[], |(_, data)| data)
    }
}

/// Splits a component into its top-level sections. Nested components stay opaque, so their manifests are never used.
pub fn sections(bytes: &[u8]) -> Result<Vec<Section<'_>>, Refusal> {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    let mut rest = bytes.strip_prefix(COMPONENT).ok_or_else(not_a_component)?;
    let mut sections = Vec::new();
    while let Some((&id, after_id)) = rest.split_first() {
        let section = leb128(after_id).and_then(|(len, content)| {
            let (content, next) = content.split_at_checked(len)?;
            let whole = rest.get(..rest.len() - next.len())?;
            Some((Section { id, whole, content }, next))
        });
        let (section, next) =
            section.ok_or_else(|| Refusal::new("is cut off in the middle of a section"))?;
        sections.push(section);
        rest = next;
    }
    Ok(sections)
}

fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0u32;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= u32::from(byte & 0x7f).checked_shl(7 * index as u32)?;
        if byte & 0x80 == 0 {
            return Some((value as usize, bytes.get(index + 1..)?));
        }
    }
    None
}
