//! Countries as people name them, for columns that hold codes.

/// A country a line: its code, then the names and adjectives that mean the same, in lower case.
const COUNTRIES: &str = include_str!("countries.csv");

/// The code and the names of the country that a text is.
fn country(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let is_it = |name: &str| name == lower || name.eq_ignore_ascii_case(text);
    let mut lines = COUNTRIES.lines().map(|line| line.split(','));
    let found = lines.find(|names| names.clone().any(is_it));
    found.map(Iterator::collect).unwrap_or_default()
}

/// Every other way to name the country that `value` is, a code or a name.
pub fn other_names(value: &str) -> Vec<&'static str> {
    let names = country(value).into_iter().skip(1);
    names
        .filter(|name| !name.eq_ignore_ascii_case(value))
        .collect()
}

/// Every code and name of the country that `words` name, for looking it up in a column.
pub fn same_country(words: &str) -> Vec<&'static str> {
    if words.len() > 2 {
        country(words)
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_and_a_name_mean_the_same() {
        assert_eq!(other_names("DE"), ["germany", "german"]);
        assert_eq!(other_names("Germany"), ["german"]);
        assert!(other_names("Atlantis").is_empty());
        assert_eq!(same_country("Sweden"), ["SE", "sweden", "swedish"]);
    }
}
