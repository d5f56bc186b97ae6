//! Names that somebody may have meant, for messages about unknown ones.

/// How alike a name must be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.7;

/// The most similar of the known names, if one is similar at all.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// What serde says of an unknown field or variant, with the name that was probably meant; none for other errors.
///
/// Serde has no other way to ask: its message lists the known names.
pub fn explain_unknown(message: &str) -> Option<String> {
    let (is_field, rest) = match message.strip_prefix("unknown field `") {
        Some(rest) => (true, rest),
        None => (false, message.strip_prefix("unknown variant `")?),
    };
    let (name, rest) = rest.split_once('`')?;
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let wrong = match is_field {
        true => format!("there is no property `{name}`"),
        false => format!("`{name}` is no value for this property"),
    };
    Some(match (nearest(name, known.iter().copied()), is_field) {
        (Some(meant), _) => format!("{wrong}; did you mean `{meant}`?"),
        (None, _) if known.is_empty() => wrong,
        (None, true) => format!("{wrong}; there are `{}`", known.join("`, `")),
        (None, false) => format!("{wrong}; it is one of `{}`", known.join("`, `")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_comes_with_the_nearest_or_with_all() {
        let explained = |message| explain_unknown(message).unwrap();
        assert_eq!(
            explained("unknown field `tabel`, expected one of `one`, `table`, `text` at line 1"),
            "there is no property `tabel`; did you mean `table`?"
        );
        assert_eq!(
            explained("unknown field `x`, expected `one` or `table`"),
            "there is no property `x`; there are `one`, `table`"
        );
        assert_eq!(
            explained("unknown variant `conector`, expected `connector` or `model`"),
            "`conector` is no value for this property; did you mean `connector`?"
        );
        assert_eq!(explain_unknown("missing field `name`"), None);
    }
}
