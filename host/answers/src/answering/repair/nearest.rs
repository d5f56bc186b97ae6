//! The names that are most like a written one, and those that mean the same.

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
/// A shorter word with another letter is another word.
const MIN_MISSPELT: usize = 4;
/// Letters of a word of which one may be replaced: `side` is not `size` misspelt.
const MIN_REPLACED: usize = 6;
/// Letters of a word that may have two edits.
const MIN_TWO_EDITS: usize = 8;

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

/// Whether a written name is another one misspelt: in its case, its underscores or its plural, by a letter or two, or
/// with words cut short beside one that is the same. Names that only share a word mean something else.
pub fn is_misspelt(written: &str, name: &str) -> bool {
    if written.len().max(name.len()) > MAX_CHARACTERS || digits(written) != digits(name) {
        return false;
    }
    let (a, b) = (words(written), words(name));
    if a.len() != b.len() {
        return is_word_misspelt(&a.concat(), &b.concat());
    }
    let pairs = || a.iter().zip(&b);
    let cut = |(a, b): (&String, &String)| {
        let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
        is_same_word(a, b) || (short.len() >= MIN_PREFIX && long.starts_with(short.as_str()))
    };
    pairs().all(|(a, b)| is_word_misspelt(a, b))
        || (pairs().any(|(a, b)| is_same_word(a, b)) && pairs().all(cut))
}

/// The column that a written name means with the name of its table in front: `order_total` is the total of `orders`.
pub fn composed<'a>(written: &str, table: &str, columns: &'a [String]) -> Option<&'a String> {
    let (written, table) = (words(written), words(table));
    let (front, rest) = written.split_at_checked(table.len())?;
    let are_same = |a: &[String], b: &[String]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_word(a, b))
    };
    if rest.is_empty() || !are_same(front, &table) {
        return None;
    }
    let mut columns = columns.iter();
    columns.find(|column| are_same(rest, &words(column)))
}

/// Whether a written function is another one misspelt: two letters swapped, or one too many or too few. Another letter
/// at the end is another function, as `cosd` or `log2`.
pub fn is_function_misspelt(written: &str, name: &str) -> bool {
    let (a, b) = (written.to_lowercase(), name.to_lowercase());
    let longer = a.chars().count().max(b.chars().count());
    let is_at_end = a.starts_with(&b) || (b.starts_with(&a) && longer < MIN_TWO_EDITS);
    (MIN_MISSPELT..=MAX_CHARACTERS).contains(&longer)
        && digits(&a) == digits(&b)
        && !is_at_end
        && begins_alike(&a, &b)
        && (a.len() != b.len() || are_same_letters(&a, &b))
        && strsim::damerau_levenshtein(&a, &b) == 1
}

fn is_word_misspelt(a: &str, b: &str) -> bool {
    let longer = a.chars().count().max(b.chars().count());
    if is_same_word(a, b) {
        return true;
    }
    if longer < MIN_MISSPELT || !begins_alike(a, b) {
        return false;
    }
    let allowed = if longer < MIN_TWO_EDITS { 1 } else { 2 };
    let is_replaced = a.chars().count() == b.chars().count() && !are_same_letters(a, b);
    strsim::damerau_levenshtein(a, b) <= allowed && (longer >= MIN_REPLACED || !is_replaced)
}

/// Whether two words in lower case are the same, one of them perhaps in the plural.
fn is_same_word(a: &str, b: &str) -> bool {
    let stem = |word: &str| {
        let one = word.strip_suffix('s').filter(|one| one.len() > 2);
        let one = one.unwrap_or(word);
        match one.strip_suffix("ie") {
            Some(start) => format!("{start}y"),
            None => one.to_owned(),
        }
    };
    let is_plural = |many: &str, one: &str| many.strip_suffix("es") == Some(one);
    stem(a) == stem(b) || is_plural(a, b) || is_plural(b, a)
}

/// Whether two words have the same first letter, or their first two letters swapped.
fn begins_alike(a: &str, b: &str) -> bool {
    let start = |text: &str| {
        let mut letters = text.chars();
        (letters.next(), letters.next())
    };
    let ((a, after_a), (b, after_b)) = (start(a), start(b));
    a == b || (a == after_b && b == after_a)
}

fn are_same_letters(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

fn digits(name: &str) -> String {
    name.chars().filter(char::is_ascii_digit).collect()
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
    let singular = |word: String| match word.strip_suffix('s') {
        Some(one) if one.len() > 2 => one.to_owned(),
        _ => word,
    };
    words(name).into_iter().map(singular).collect()
}

/// The words of a name in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for letter in name.chars().chain(['_']) {
        let is_end = !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower);
        if is_end && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words
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
    fn misspelt_name_is_told_from_another() {
        for (written, name, expected) in [
            ("totl", "total", true),
            ("nmae", "name", true),
            ("unitPrice", "unit_price", true),
            ("customerid", "customer_id", true),
            ("custmer_id", "customer_id", true),
            ("quantities", "quantity", true),
            ("cust_id", "customer_id", true),
            ("amuont", "amount", true),
            ("artist_name", "name", false),
            ("company_name", "ship_name", false),
            ("product_name", "product_id", false),
            ("category_name", "category_id", false),
            ("discount", "discontinued", false),
            ("film_id", "customer_id", false),
            ("price", "unit_price", false),
            ("min_price", "max_price", false),
            ("size", "side", false),
            ("state", "status", false),
            ("count", "country", false),
            ("price_1", "price_2", false),
        ] {
            assert_eq!(is_misspelt(written, name), expected, "{written} {name}");
        }
        for (written, table, column, expected) in [
            ("order_total", "orders", "total", true),
            ("CategoryName", "Categories", "Name", true),
            ("artist_name", "artist", "name", true),
            ("address_id", "addresses", "id", true),
            ("order_total", "order_items", "total", false),
            ("artist_name", "artist", "artist_name", false),
        ] {
            let columns = [column.to_owned()];
            let found = composed(written, table, &columns);
            assert_eq!(found.is_some(), expected, "{written} {table}.{column}");
        }
    }

    #[test]
    fn misspelt_function_is_told_from_another() {
        for (written, name, expected) in [
            ("cuont", "count", true),
            ("lenght", "length", true),
            ("uper", "upper", true),
            ("coalesc", "coalesce", true),
            ("mean", "atan", false),
            ("stdev", "soundex", false),
            ("square", "scale", false),
            ("isnull", "num_nulls", false),
            ("cosd", "cos", false),
            ("log2", "log", false),
            ("arraymin", "arraymax", false),
            ("rand", "rank", false),
        ] {
            let found = is_function_misspelt(written, name);
            assert_eq!(found, expected, "{written} {name}");
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
