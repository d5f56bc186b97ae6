//! Geometries as the text that the standard calls WKT. The server sends its own form: the number of the reference
//! system and the standard's bytes (WKB).

use std::fmt::Write;

/// Collections may hold collections.
const MAX_DEPTH: u32 = 32;
const COLLECTION: u32 = 7;

/// Appends the text of a geometry to `text`; `None` when the bytes are none.
pub(crate) fn write_text(bytes: &[u8], text: &mut String) -> Option<()> {
    let (_, rest) = bytes.split_first_chunk::<4>()?;
    let mut wkb = Wkb(rest);
    wkb.geometry(text, MAX_DEPTH)?;
    wkb.0.is_empty().then_some(())
}

struct Wkb<'a>(&'a [u8]);

impl Wkb<'_> {
    fn geometry(&mut self, text: &mut String, depth: u32) -> Option<()> {
        let kind = self.kind()?;
        let name = match kind {
            1 => "POINT",
            2 => "LINESTRING",
            3 => "POLYGON",
            4 => "MULTIPOINT",
            5 => "MULTILINESTRING",
            6 => "MULTIPOLYGON",
            COLLECTION => "GEOMETRYCOLLECTION",
            _ => return None,
        };
        text.push_str(name);
        self.body(kind, text, depth.checked_sub(1)?)
    }

    /// What stands after the name, in its parentheses.
    fn body(&mut self, kind: u32, text: &mut String, depth: u32) -> Option<()> {
        if kind == 1 {
            text.push('(');
            self.point(text)?;
            text.push(')');
            return Some(());
        }
        let count = self.u32()?;
        if count == 0 {
            text.push_str(" EMPTY");
            return Some(());
        }
        text.push('(');
        for index in 0..count {
            if index > 0 {
                text.push(',');
            }
            match kind {
                2 => self.point(text)?,
                3 => self.body(2, text, depth)?,
                COLLECTION => self.geometry(text, depth)?,
                // A multi-something: whole geometries without their names.
                _ => {
                    let part = self.kind()?;
                    if part != kind - 3 {
                        return None;
                    }
                    self.body(part, text, depth)?;
                }
            }
        }
        text.push(')');
        Some(())
    }

    fn point(&mut self, text: &mut String) -> Option<()> {
        let (x, y) = (self.f64()?, self.f64()?);
        write!(text, "{x} {y}").ok()
    }

    /// The mark of little-endian bytes, the only order in which servers store, and the kind.
    fn kind(&mut self) -> Option<u32> {
        let [1] = self.take()? else { return None };
        self.u32()
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> Option<String> {
        let mut text = String::new();
        write_text(bytes, &mut text).map(|()| text)
    }

    #[test]
    fn a_point_has_two_numbers() {
        let mut bytes = vec![0, 0, 0, 0, 1, 1, 0, 0, 0];
        bytes.extend(1.5_f64.to_le_bytes());
        bytes.extend((-2.0_f64).to_le_bytes());
        assert_eq!(text(&bytes).unwrap(), "POINT(1.5 -2)");
        for cut in 0..bytes.len() {
            assert_eq!(text(&bytes[..cut]), None);
        }
    }

    #[test]
    fn an_endless_nest_of_collections_is_refused() {
        let mut bytes = vec![0; 4];
        for _ in 0..10_000 {
            bytes.extend([1, 7, 0, 0, 0, 1, 0, 0, 0]);
        }
        assert_eq!(text(&bytes), None);
        // A claim of four billion points costs nothing.
        assert_eq!(text(&[0, 0, 0, 0, 1, 2, 0, 0, 0, 255, 255, 255, 255]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(0..9_u8, 0..60)) {
            let _ = text(&bytes);
        }
    }
}
