//! Countries as people name them, for columns that hold codes.

/// Code, then the names and adjectives that mean the same, in lower case.
const COUNTRIES: &[(&str, &[&str])] = &[
    ("AR", &["argentina", "argentinian"]),
    ("AT", &["austria", "austrian"]),
    ("AU", &["australia", "australian"]),
    ("BE", &["belgium", "belgian"]),
    ("BG", &["bulgaria", "bulgarian"]),
    ("BR", &["brazil", "brazilian"]),
    ("CA", &["canada", "canadian"]),
    ("CH", &["switzerland", "swiss"]),
    ("CL", &["chile", "chilean"]),
    ("CN", &["china", "chinese"]),
    ("CO", &["colombia", "colombian"]),
    ("CZ", &["czechia", "czech republic", "czech"]),
    ("DE", &["germany", "german"]),
    ("DK", &["denmark", "danish"]),
    ("EE", &["estonia", "estonian"]),
    ("EG", &["egypt", "egyptian"]),
    ("ES", &["spain", "spanish"]),
    ("FI", &["finland", "finnish"]),
    ("FR", &["france", "french"]),
    ("GB", &["united kingdom", "uk", "great britain", "british"]),
    ("GR", &["greece", "greek"]),
    ("HR", &["croatia", "croatian"]),
    ("HU", &["hungary", "hungarian"]),
    ("IE", &["ireland", "irish"]),
    ("IL", &["israel", "israeli"]),
    ("IN", &["india", "indian"]),
    ("IS", &["iceland", "icelandic"]),
    ("IT", &["italy", "italian"]),
    ("JP", &["japan", "japanese"]),
    ("KE", &["kenya", "kenyan"]),
    ("KR", &["south korea", "korea", "korean"]),
    ("LT", &["lithuania", "lithuanian"]),
    ("LU", &["luxembourg"]),
    ("LV", &["latvia", "latvian"]),
    ("MA", &["morocco", "moroccan"]),
    ("MX", &["mexico", "mexican"]),
    ("NG", &["nigeria", "nigerian"]),
    (
        "NL",
        &["netherlands", "the netherlands", "holland", "dutch"],
    ),
    ("NO", &["norway", "norwegian"]),
    ("NZ", &["new zealand"]),
    ("PE", &["peru", "peruvian"]),
    ("PL", &["poland", "polish"]),
    ("PT", &["portugal", "portuguese"]),
    ("RO", &["romania", "romanian"]),
    ("RS", &["serbia", "serbian"]),
    ("SE", &["sweden", "swedish"]),
    ("SG", &["singapore"]),
    ("SI", &["slovenia", "slovenian"]),
    ("SK", &["slovakia", "slovak"]),
    ("TR", &["turkey", "türkiye", "turkish"]),
    ("UA", &["ukraine", "ukrainian"]),
    (
        "US",
        &[
            "united states",
            "usa",
            "united states of america",
            "america",
            "american",
        ],
    ),
    ("VN", &["vietnam", "vietnamese"]),
    ("ZA", &["south africa", "south african"]),
];

/// Every other way to name the country that `value` is, a code or a name.
pub fn other_names(value: &str) -> Vec<&'static str> {
    let lower = value.to_lowercase();
    let is_it = |code: &str, names: &[&str]| {
        code.eq_ignore_ascii_case(value) || names.contains(&lower.as_str())
    };
    COUNTRIES
        .iter()
        .filter(|(code, names)| is_it(code, names))
        .flat_map(|(_, names)| names.iter().copied())
        .filter(|name| *name != lower)
        .collect()
}

/// Every code and name of the country that `words` name, for looking it up in a column.
pub fn same_country(words: &str) -> Vec<&'static str> {
    let lower = words.to_lowercase();
    let found = COUNTRIES
        .iter()
        .find(|(_, names)| names.contains(&lower.as_str()));
    found
        .map(|(code, names)| {
            std::iter::once(*code)
                .chain(names.iter().copied())
                .collect()
        })
        .unwrap_or_default()
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
