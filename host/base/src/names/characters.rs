//! Which characters a display name may have: visible ones that are not confusable with others.
//!
//! The list is short on purpose and needs no Unicode table: it refuses whole ranges that people do not type into a
//! name, and a mix of scripts whose letters look alike. It does not distinguish letters that look alike within one
//! script (`l`, `I`).

/// Whether a character is a control character, a line break, a direction mark, invisible, or a space other than U+0020.
pub(super) fn is_hidden(char: char) -> bool {
    char.is_control()
        || (char.is_whitespace() && char != ' ')
        || matches!(char,
            // Soft hyphen, joiners, marks of direction, fillers, invisible operators, byte-order mark.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            // Selectors of variants, interlinear notes, musical and shorthand controls, tags.
            | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
            // Private use: whatever the font makes of it.
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Whether a character is an alternative form of a letter or sign, or a mark that is drawn over a letter.
pub(super) fn is_confusable(char: char) -> bool {
    matches!(char,
        // Phonetic, modifier, superscript and subscript letters; letterlike signs; Roman numerals; circled ones.
        '\u{250}'..='\u{2ff}' | '\u{1d00}'..='\u{1dbf}' | '\u{2070}'..='\u{209f}'
        | '\u{2100}'..='\u{2115}' | '\u{2117}'..='\u{2121}' | '\u{2123}'..='\u{218f}' | '\u{2460}'..='\u{24ff}' | '\u{1f100}'..='\u{1f1e5}'
        // Full-width and half-width forms, mathematical alphabets, small forms, ligatures.
        | '\u{ff01}'..='\u{ff5e}' | '\u{ffe0}'..='\u{ffee}' | '\u{1d400}'..='\u{1d7ff}'
        | '\u{fe50}'..='\u{fe6f}' | '\u{fb00}'..='\u{fb06}'
        // Rare and historic scripts with letters like Latin ones.
        | '\u{a4d0}'..='\u{a4ff}' | '\u{10280}'..='\u{1032f}' | '\u{10400}'..='\u{1044f}'
        | '\u{118a0}'..='\u{118ff}' | '\u{16f00}'..='\u{16f9f}' | '\u{1ccd6}'..='\u{1ccf9}'
        // Overlays and enclosures; hyphens, dots and strokes that look like those of ASCII.
        | '\u{334}'..='\u{338}' | '\u{20d0}'..='\u{20ff}' | '\u{2010}'..='\u{2012}' | '\u{2024}'
        | '\u{2044}' | '\u{2212}' | '\u{2215}' | '\u{a78a}')
}

/// Whether a name has letters of two scripts whose letters look alike.
pub(super) fn mixes_scripts(name: &str) -> bool {
    let mut scripts = name.chars().filter_map(Script::of);
    let Some(first) = scripts.next() else {
        return false;
    };
    scripts.any(|other| other != first)
}

/// The scripts that share letter shapes with another in this list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Coptic,
}

impl Script {
    fn of(char: char) -> Option<Self> {
        match char {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
                // The signs for times and divided by.
                (!matches!(char, '\u{d7}' | '\u{f7}')).then_some(Self::Latin)
            }
            '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' | '\u{ab30}'..='\u{ab6f}' => {
                Some(Self::Latin)
            }
            '\u{370}'..='\u{3e1}' | '\u{3f0}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => {
                Some(Self::Greek)
            }
            '\u{3e2}'..='\u{3ef}' | '\u{2c80}'..='\u{2cff}' => Some(Self::Coptic),
            '\u{400}'..='\u{52f}'
            | '\u{1c80}'..='\u{1c8f}'
            | '\u{2de0}'..='\u{2dff}'
            | '\u{a640}'..='\u{a69f}' => Some(Self::Cyrillic),
            '\u{530}'..='\u{58f}' => Some(Self::Armenian),
            '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Some(Self::Cherokee),
            _ => None,
        }
    }
}

/// The skeleton of an ASCII name, which look-alikes share: upper case, no separators, and letters in place of the
/// digits that look like them.
pub(super) fn skeleton(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters
        .map(|char| match char.to_ascii_uppercase() {
            '0' => 'O',
            '1' | 'L' => 'I',
            '5' => 'S',
            other => other,
        })
        .collect()
}
