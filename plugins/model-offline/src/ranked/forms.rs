//! The names that people use for a table, a column or a value, beside the one that the catalog has.

use super::lexis;

/// Other words for a value: "female" for `F`, which only a column on sex or gender holds in this way, and the
/// adjectives of continents.
pub fn value_words(value: &str) -> &'static [&'static str] {
    match value {
        "africa" => &["african"],
        "asia" => &["asian"],
        "europe" => &["european"],
        "north america" => &["north american"],
        "south america" => &["south american"],
        "antarctica" => &["antarctic"],
        "success" => &["successful", "succeeded"],
        "fail" | "failure" => &["failed"],
        "f" | "female" => &["female", "females", "women", "woman"],
        "m" | "male" => &["male", "males", "men", "man"],
        _ => &[],
    }
}

/// Whether `number of songs` in a name holds a figure, as `num_songs` and `song_count` do.
pub fn figure_of(words: &[String]) -> Option<Vec<String>> {
    let n = words.len();
    let number = |w: &String| matches!(w.as_str(), "number" | "num" | "no" | "total" | "count");
    match words {
        [first, of, rest @ ..] if number(first) && of == "of" && !rest.is_empty() => {
            Some(rest.to_vec())
        }
        [first, rest @ ..] if number(first) && !rest.is_empty() => Some(rest.to_vec()),
        [rest @ .., last] if last == "count" && n > 1 => Some(rest.to_vec()),
        _ => None,
    }
}

/// The words of a name with abbreviations written out.
pub fn written_out(words: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let named = words.get(at + 1).is_some_and(|w| w == "name");
        let short = match word.as_str() {
            "f" if named => Some("first"),
            "l" if named => Some("last"),
            "m" if named => Some("middle"),
            _ => None,
        };
        if let Some(long) = short {
            out.push(long.to_owned());
            continue;
        }
        match lexis::long_form(word) {
            Some(long) => out.extend(long),
            None => match word.strip_suffix("id").filter(|w| w.len() > 2) {
                Some(base) => {
                    let long = lexis::long_form(base);
                    out.extend(long.unwrap_or_else(|| vec![base.to_owned()]));
                    out.push("id".to_owned());
                }
                None => out.push(word.clone()),
            },
        }
    }
    out
}

/// `singer_name` in the table `singer` is also its `name`.
pub fn without_table(words: &[String], table: &[String]) -> Option<Vec<String>> {
    let table = match table {
        [first, rest @ ..] if !rest.is_empty() && lexis::holds(PREFIXES, first) => rest,
        _ => table,
    };
    let head = table.last()?;
    let same = |a: &str, b: &str| crate::words::stem(a) == crate::words::stem(b);
    let whole = words.len() > table.len() && table.iter().zip(words).all(|(a, b)| same(a, b));
    if whole {
        return Some(words[table.len()..].to_vec());
    }
    (words.len() > 1 && (same(&words[0], head) || same(&words[0], &table[0])))
        .then(|| words[1..].to_vec())
}

/// Parts of a name that people use for it: its end, its start before a unit, its ends without the middle.
pub fn parts(words: &[String], score: f32) -> Vec<(Vec<String>, f32)> {
    const LINKS: &str = "in of per by for to at from";
    let n = words.len();
    let mut out = Vec::new();
    if n < 2 {
        return out;
    }
    if let Some(link) = words
        .iter()
        .position(|w| lexis::holds(LINKS, w))
        .filter(|p| *p > 0)
    {
        out.push((words[..link].to_vec(), score - 0.12));
        let bare: Vec<String> = words
            .iter()
            .filter(|w| !lexis::holds(LINKS, w))
            .cloned()
            .collect();
        let turned: Vec<String> = words[link + 1..]
            .iter()
            .chain(&words[..link])
            .cloned()
            .collect();
        out.push((bare, score - 0.1));
        out.push((turned, score - 0.1));
    }
    let turned: Vec<String> = words[1..].iter().chain(&words[..1]).cloned().collect();
    out.push((turned, score - 0.2));
    let last = words[n - 1].as_str();
    const LOOSE: &str = "code type number date details description text yn value year";
    if lexis::holds(LOOSE, last) {
        out.push((words[..n - 1].to_vec(), score - 0.15));
    }
    if unit(last).is_some() && words.len() < 4 {
        // `height_cm` is the height.
        out.push((words[..n - 1].to_vec(), score - 0.08));
    }
    if lexis::holds(PREFIXES, &words[0]) {
        out.push((words[1..].to_vec(), score - 0.1));
    }
    for from in 1..n {
        out.push((words[from..].to_vec(), score - 0.25 - 0.05 * (from as f32)));
    }
    if n > 2 {
        out.push((vec![words[0].clone(), words[n - 1].clone()], score - 0.45));
        out.push((words[..n - 1].to_vec(), score - 0.3));
    }
    if !lexis::holds(LOOSE, &words[0]) {
        out.push((words[..1].to_vec(), score - 0.42));
    }
    out.retain(|(w, _)| {
        !(w.len() == 1 && matches!(w[0].as_str(), "of" | "in" | "id" | "name" | "number") && n > 3)
    });
    out
}

/// Words that say which of the names of a row a column holds.
pub const NAMES: &str = "first last middle full short nick user given family maiden display";

/// Units of measure with their names, those of one kind in a line. A length of time has rules of its own.
const UNITS: [&str; 4] = [
    "km kms kilometer kilometers kilometre kilometres; m meter meters metre metres; cm centimeter centimeters centimetre \
     centimetres; mm millimeter millimeters; mi mile miles; ft foot feet; inch inches",
    "kg kgs kilogram kilograms; lb lbs pound pounds; g gram grams; mg milligram milligrams",
    "usd dollar dollars; eur euro euros; gbp",
    "mph; kmh kph",
];

/// The kind of a unit and its place there.
pub fn unit(word: &str) -> Option<(usize, usize)> {
    let place = |units: &str| {
        units
            .split("; ")
            .position(|names| lexis::holds(names, word))
    };
    (0..UNITS.len()).find_map(|kind| Some((kind, place(UNITS[kind])?)))
}

/// First words of the names of tables that say nothing of what the rows are.
const PREFIXES: &str = "ref reference tbl dim fact all lookup";

/// Last words of the names of tables that say nothing of what the rows are: `cars_data` holds cars.
const STORES: &str = "data info information details records table list master";

/// What the rows of a table are, where the end of its name only says that they are stored.
pub fn stored(words: &[String]) -> Option<Vec<String>> {
    match words {
        [rest @ .., last] if !rest.is_empty() && lexis::holds(STORES, last) => Some(rest.to_vec()),
        _ => None,
    }
}

/// Everyday names of a column whose own name is a technical one.
pub fn everyday(words: &[String]) -> Vec<Vec<String>> {
    let has = |w: &str| words.iter().any(|x| x == w);
    let any = |all: &str| all.split(' ').any(has);
    let few = words.len() <= 2;
    let names = if few && any("zip zipcode postcode postal") {
        "zip; zip code; postcode; postal code"
    } else if few && any("email mail") && (words.len() == 1 || has("address")) {
        "email; mail; email address"
    } else if matches!(words, [w] if w == "day" || w == "weekday") {
        "day of the week; day of week; weekday; week day"
    } else if has("number") && any("cell mobile") {
        "cell phone; cell phone number; mobile phone; mobile number; phone number"
    } else {
        ""
    };
    let names = names.split("; ").filter(|n| !n.is_empty());
    let mut out: Vec<Vec<String>> = names
        .map(|n| n.split(' ').map(str::to_owned).collect())
        .collect();
    if let [verb, by] = words
        && by == "by"
    {
        out.extend(agent(verb).map(|noun| vec![noun]));
    }
    if let [first, middle @ .., last] = words
        && ["year", "date", "time"].contains(&first.as_str())
        && middle.len() <= 1
        && (last.ends_with("ed") || last.ends_with("en"))
    {
        out.push(vec![last.clone()]);
    }
    out
}

/// Who does what a verb says: a `directed_by` holds the director.
fn agent(verb: &str) -> Option<String> {
    let stem = verb.strip_suffix("ed").filter(|s| s.len() > 2);
    match (verb, stem) {
        ("written", _) => Some("writer".to_owned()),
        ("taught", _) => Some("teacher".to_owned()),
        (_, Some(stem)) if stem.ends_with("at") || stem.ends_with("ct") => {
            Some(format!("{stem}or"))
        }
        (_, Some(stem)) => Some(format!("{stem}er")),
        _ => None,
    }
}
