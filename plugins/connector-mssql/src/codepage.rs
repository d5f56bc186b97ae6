//! Code pages: what the bytes of `char`, `varchar` and `text` mean, by their collation.

use encoding_rs::Encoding;
use mindhost_sdk::Result;

use crate::error::malformed;
use crate::wire::Wire;

/// How bytes become characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePage {
    Standard(&'static Encoding),
    /// The upper half of a code page of MS-DOS.
    Dos(&'static str),
}

/// The flag of a collation whose texts are UTF-8.
const IS_UTF8: u32 = 1 << 26;
/// The locale's part of a collation, and the part of that which names the language.
const LOCALE: u32 = 0xF_FFFF;

const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

impl CodePage {
    /// The code page of `json`, and of collations that say so.
    pub(crate) const UTF_8: Self = Self::Standard(encoding_rs::UTF_8);

    /// Reads a collation.
    ///
    /// # Errors
    /// `Upstream` when the answer ends in it.
    pub(crate) fn read(wire: &mut Wire) -> Result<Self> {
        let bytes: [u8; 5] = wire.array()?;
        Self::of(&bytes).ok_or_else(|| malformed("a collation"))
    }

    /// The code page of the five bytes of a collation.
    pub(crate) fn of(collation: &[u8]) -> Option<Self> {
        let &[a, b, c, d, sort] = collation else {
            return None;
        };
        let flags = u32::from_le_bytes([a, b, c, d]);
        if flags & IS_UTF8 != 0 {
            return Some(Self::UTF_8);
        }
        Some(match sort {
            0 => Self::Standard(of_locale(flags & LOCALE)),
            _ => of_sort_order(sort),
        })
    }

    /// Appends the characters of the bytes. What is no character becomes U+FFFD.
    pub(crate) fn decode(self, bytes: &[u8], text: &mut String) {
        match self {
            Self::Standard(encoding) => {
                text.push_str(&encoding.decode_without_bom_handling(bytes).0);
            }
            Self::Dos(upper) => {
                let upper: Vec<char> = upper.chars().collect();
                let character = |byte: &u8| match byte.checked_sub(128) {
                    None => char::from(*byte),
                    Some(index) => upper
                        .get(usize::from(index))
                        .copied()
                        .unwrap_or(char::REPLACEMENT_CHARACTER),
                };
                text.extend(bytes.iter().map(character));
            }
        }
    }
}

/// The code page of a collation of SQL Server's own, by its sort order.
fn of_sort_order(sort: u8) -> CodePage {
    CodePage::Standard(match sort {
        30..=34 => return CodePage::Dos(CP437),
        40..=49 | 55..=61 => return CodePage::Dos(CP850),
        80..=98 => encoding_rs::WINDOWS_1250,
        104..=108 => encoding_rs::WINDOWS_1251,
        112..=124 => encoding_rs::WINDOWS_1253,
        128..=130 => encoding_rs::WINDOWS_1254,
        136..=138 => encoding_rs::WINDOWS_1255,
        144..=146 => encoding_rs::WINDOWS_1256,
        152..=160 => encoding_rs::WINDOWS_1257,
        192 | 193 | 200 => encoding_rs::SHIFT_JIS,
        194 | 195 | 201 => encoding_rs::EUC_KR,
        196 | 197 | 202 => encoding_rs::BIG5,
        198 | 199 | 203 => encoding_rs::GBK,
        204..=206 => encoding_rs::WINDOWS_874,
        _ => encoding_rs::WINDOWS_1252,
    })
}

/// The code page of a collation of Windows, by its locale.
fn of_locale(locale: u32) -> &'static Encoding {
    match locale & 0xFFFF {
        0x0404 | 0x0C04 | 0x1404 => encoding_rs::BIG5,
        0x0804 | 0x1004 => encoding_rs::GBK,
        0x0411 => encoding_rs::SHIFT_JIS,
        0x0412 => encoding_rs::EUC_KR,
        0x041E => encoding_rs::WINDOWS_874,
        0x0405 | 0x040E | 0x0415 | 0x0418 | 0x041A | 0x041B | 0x041C | 0x0424 | 0x0442 | 0x081A
        | 0x101A | 0x104E | 0x141A => encoding_rs::WINDOWS_1250,
        0x0402 | 0x0419 | 0x0422 | 0x0423 | 0x0428 | 0x042F | 0x043F | 0x0440 | 0x0444 | 0x0450
        | 0x046D | 0x0485 | 0x082C | 0x0843 | 0x0C1A | 0x1C1A | 0x201A => encoding_rs::WINDOWS_1251,
        0x0408 => encoding_rs::WINDOWS_1253,
        0x041F | 0x042C | 0x0443 => encoding_rs::WINDOWS_1254,
        0x040D => encoding_rs::WINDOWS_1255,
        0x0401 | 0x0420 | 0x0429 | 0x0480 | 0x048C => encoding_rs::WINDOWS_1256,
        0x0425..=0x0427 | 0x0827 => encoding_rs::WINDOWS_1257,
        0x042A => encoding_rs::WINDOWS_1258,
        _ => encoding_rs::WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(collation: [u8; 5], bytes: &[u8]) -> String {
        let mut text = String::new();
        CodePage::of(&collation).unwrap().decode(bytes, &mut text);
        text
    }

    #[test]
    fn a_collation_says_what_its_bytes_mean() {
        for (name, collation, bytes, text) in [
            (
                "SQL_Latin1_General_CP1_CI_AS",
                [0x09, 0x04, 0xD0, 0x00, 52],
                &[0x80, 0xE9][..],
                "€é",
            ),
            (
                "Latin1_General_100_CI_AS_SC_UTF8",
                [0x09, 0x04, 0xD0, 0x24, 0],
                "☃".as_bytes(),
                "☃",
            ),
            (
                "Cyrillic_General_CI_AS",
                [0x19, 0x04, 0xD0, 0x00, 0],
                &[0xCF],
                "П",
            ),
            ("Polish_CI_AS", [0x15, 0x04, 0xD0, 0x00, 0], &[0xB3], "ł"),
            ("Greek_CI_AS", [0x08, 0x04, 0xD0, 0x00, 0], &[0xE1], "α"),
            (
                "Japanese_CI_AS",
                [0x11, 0x04, 0xD0, 0x00, 0],
                &[0x82, 0xA0],
                "あ",
            ),
            (
                "SQL_Latin1_General_CP850_BIN",
                [0x09, 0x04, 0x00, 0x01, 40],
                &[0x81, 0xE1],
                "üß",
            ),
            (
                "SQL_Latin1_General_CP437_BIN",
                [0x09, 0x04, 0x00, 0x01, 30],
                &[0xE3],
                "π",
            ),
        ] {
            assert_eq!(decoded(collation, bytes), text, "{name}");
        }
    }

    #[test]
    fn the_code_pages_of_ms_dos_have_128_characters_above_ascii() {
        assert_eq!(CP437.chars().count(), 128);
        assert_eq!(CP850.chars().count(), 128);
    }
}
