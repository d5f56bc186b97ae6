//! Countries, and states of the USA, as people name them, for columns that hold codes.

/// A country a line: its code, then the names and adjectives that mean the same, in lower case.
const COUNTRIES: &str = include_str!("countries.csv");

/// The same for states.
const STATES: &str = include_str!("states.csv");

/// The lists that a column may hold values of, by the words of its name.
fn lists(column: &[String]) -> impl Iterator<Item = &'static str> {
    let kinds = [("country", COUNTRIES), ("state", STATES)];
    let named = kinds.map(|(kind, list)| column.iter().any(|w| w == kind).then_some(list));
    named.into_iter().flatten()
}

/// The code and the names of the country or state that a text is.
fn place(list: &'static str, text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let is_it = |name: &str| name == lower || name.eq_ignore_ascii_case(text);
    let mut lines = list.lines().map(|line| line.split(','));
    let found = lines.find(|names| names.clone().any(is_it));
    found.map(Iterator::collect).unwrap_or_default()
}

/// Every other way to name what `value` is, a code or a name, in a column whose name has these words.
pub fn other_names(column: &[String], value: &str) -> Vec<&'static str> {
    let names = lists(column).flat_map(|list| place(list, value).into_iter().skip(1));
    names
        .filter(|name| !name.eq_ignore_ascii_case(value))
        .collect()
}

/// Every code and name of what `words` name, for looking it up in such a column.
pub fn same_place(column: &[String], words: &str) -> Vec<&'static str> {
    let lists = lists(column).filter(|_| words.len() > 2);
    lists.flat_map(|list| place(list, words)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_and_a_name_mean_the_same() {
        let [country, state] = ["country", "state"].map(|kind| vec![kind.to_owned()]);
        assert_eq!(other_names(&country, "DE"), ["germany", "german"]);
        assert_eq!(other_names(&country, "Germany"), ["german"]);
        assert_eq!(other_names(&state, "DE"), ["delaware"]);
        assert!(other_names(&country, "Atlantis").is_empty());
        assert_eq!(same_place(&country, "Sweden"), ["SE", "sweden", "swedish"]);
    }
}
