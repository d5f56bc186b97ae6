//! The part of a statement around a position, with a mark.

/// Characters on each side of the position.
const AROUND: usize = 48;

/// The line of the position, and a line with a caret below it.
pub fn around(text: &str, position: u32) -> String {
    let at = (position as usize).saturating_sub(1);
    let letters: Vec<char> = text.chars().collect();
    let at = at.min(letters.len());
    let line = letters[..at]
        .iter()
        .rposition(|letter| *letter == '\n')
        .map_or(0, |index| index + 1);
    let end = letters[at..]
        .iter()
        .position(|letter| *letter == '\n')
        .map_or(letters.len(), |index| at + index);
    let from = at.saturating_sub(AROUND).max(line);
    let until = (at + AROUND).min(end);
    let (before, after) = (
        if from > line { "…" } else { "" },
        if until < end { "…" } else { "" },
    );
    let shown: String = letters[from..until].iter().collect();
    let shown = shown.replace('\t', " ");
    let indent = at - from + before.chars().count();
    format!("{before}{shown}{after}\n{}^", " ".repeat(indent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_marks_the_position_in_its_line() {
        assert_eq!(around("SELECT nam\nFROM t", 8), "SELECT nam\n       ^");
        assert_eq!(around("SELECT 1\nFROM tabel", 15), "FROM tabel\n     ^");
        let long = format!("SELECT {}, nam FROM t", "x".repeat(300));
        let shown = around(&long, 310);
        let (text, mark) = shown.split_once('\n').unwrap();
        assert!(text.starts_with('…') && text.chars().count() < 110);
        let at = mark.chars().count() - 1;
        assert_eq!(text.chars().skip(at).take(3).collect::<String>(), "nam");
        assert_eq!(around("é", 99), "é\n ^");
    }
}
