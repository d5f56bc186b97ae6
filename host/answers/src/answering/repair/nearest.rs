//! The names that are most like a written one.

/// Names that [`nearest`] returns at most.
const MAX_NAMES: usize = 3;
/// The least likeness, from 0 to 1.
const MIN_LIKENESS: f64 = 0.42;
/// What a likeness by words is worth, so that the same name in another case is better.
const BY_PARTS: f64 = 0.98;
/// Letters of an abbreviation.
const MIN_PREFIX: usize = 3;
/// Characters of a name that are compared; the rest is cut off.
const MAX_CHARACTERS: usize = 64;

/// The most similar candidates, best first. Each comes with its own text, which is returned.
pub fn nearest<T: Clone>(
    written: &str,
    candidates: impl IntoIterator<Item = (String, T)>,
) -> Vec<T> {
    let mut scored: Vec<(f64, String, T)> = candidates
        .into_iter()
        .map(|(name, value)| (likeness(written, &name), name, value))
        .filter(|(score, ..)| *score >= MIN_LIKENESS)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(MAX_NAMES)
        .map(|(.., value)| value)
        .collect()
}

/// How alike two names are, from 0 to 1: by edits, and by the words that they are made of.
pub fn likeness(a: &str, b: &str) -> f64 {
    let cut = |text: &str| -> String { text.chars().take(MAX_CHARACTERS).collect() };
    let (a, b) = (cut(a), cut(b));
    let (low_a, low_b) = (a.to_lowercase(), b.to_lowercase());
    if low_a == low_b {
        return 1.0;
    }
    let edits = strsim::normalized_damerau_levenshtein(&low_a, &low_b);
    let (parts_a, parts_b) = (parts(&a), parts(&b));
    let shared: f64 = best(&parts_a, &parts_b) + best(&parts_b, &parts_a);
    let count = (parts_a.len() + parts_b.len()).max(1) as f64;
    edits.max(shared / count * BY_PARTS)
}

/// How well an alias suits a table, from 0 for not at all: its first letters, its beginning, or letters of it in order.
pub fn suits(alias: &str, table: &str) -> u8 {
    let alias = alias.to_lowercase();
    let alias = alias.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    let parts = parts(table);
    let firsts: String = parts
        .iter()
        .filter_map(|part| part.chars().next())
        .collect();
    let whole = parts.concat();
    let mut letters = whole.chars();
    let is_within = alias.chars().all(|letter| letters.any(|one| one == letter));
    match alias {
        "" => 0,
        _ if alias == firsts => 3,
        _ if whole.starts_with(alias) || likeness(alias, table) > 0.7 => 2,
        _ if is_within && whole.chars().next() == alias.chars().next() => 1,
        _ => 0,
    }
}

/// The sum of the best likeness of each word among others: the same, the beginning of it, or almost the same.
fn best(words: &[String], others: &[String]) -> f64 {
    let alike = |a: &str, b: &str| {
        let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
        match strsim::normalized_damerau_levenshtein(a, b) {
            _ if a == b => 1.0,
            _ if short.len() >= MIN_PREFIX && long.starts_with(short) => 0.85,
            edits if edits > 0.7 => edits,
            _ => 0.0,
        }
    };
    let of = |word: &String| {
        others
            .iter()
            .map(|other| alike(word, other))
            .fold(0.0, f64::max)
    };
    words.iter().map(of).sum()
}

/// The words of a name in lower case and singular: of `orderItems` and `order_items`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut was_lower = false;
    for letter in name.chars().chain(['_']) {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            let word = part
                .strip_suffix('s')
                .filter(|word| word.len() > 2)
                .unwrap_or(&part);
            if !word.is_empty() {
                parts.push(word.to_owned());
            }
            part.clear();
        }
        if letter.is_alphanumeric() {
            part.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_suits_the_table_that_it_abbreviates() {
        for (alias, table, expected) in [
            ("o", "orders", 3),
            ("o", "order_details", 2),
            ("od", "Order Details", 3),
            ("cu", "customers", 2),
            ("cst", "customers", 1),
            ("o2", "orders", 3),
            ("m", "employee", 0),
            ("t", "customers", 0),
        ] {
            assert_eq!(suits(alias, table), expected, "{alias} {table}");
        }
    }

    #[test]
    fn nearest_goes_by_edits_and_by_words() {
        let columns = [
            "id",
            "customer_id",
            "placed_at",
            "unit_price",
            "total",
            "status",
        ];
        let of = |written: &str| nearest(written, columns.map(|name| (name.to_owned(), name)));
        for (written, expected) in [
            ("totl", "total"),
            ("customerId", "customer_id"),
            ("price", "unit_price"),
            ("price_per_unit", "unit_price"),
            ("staus", "status"),
            ("customer", "customer_id"),
            ("placedat", "placed_at"),
            ("cust_id", "customer_id"),
        ] {
            assert_eq!(of(written).first(), Some(&expected), "{written}");
        }
        assert_eq!(of("zebra"), Vec::<&str>::new());
    }
}
