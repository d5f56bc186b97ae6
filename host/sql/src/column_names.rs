//! The names that the columns of a result get in place of the engine's own.
//!
//! An engine names a column without an alias after the text that it runs, which is the guard's. The host puts the name
//! in that the engine would give for the caller's text, when the columns have arrived.

use std::sync::Arc;

use mindhost_plugin_api::Column;

/// What is known of one item of the list that names the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    /// The name that the engine gives is the right one.
    OfEngine,
    /// Any number of columns, as one `*` stands for; equal texts stand for equally many.
    Star(String),
    /// This name. `sent` is the one that the engine gives.
    Text { text: String, sent: String },
    /// The name that the engine gives, with other spellings in it: pieces as the engine writes them, and as they are
    /// to be.
    Spellings(Vec<(String, String)>),
}

/// The headings of a statement, in the order of its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnNames {
    headings: Vec<Heading>,
}

impl ColumnNames {
    pub fn new(headings: Vec<Heading>) -> Self {
        Self { headings }
    }

    /// The columns with their names. A heading whose column is not certain changes none.
    pub fn put_into(&self, columns: &Arc<[Column]>) -> Arc<[Column]> {
        let mut named: Vec<(usize, String)> = Vec::new();
        for (nth, heading) in self.headings.iter().enumerate() {
            let Some((place, column)) = self
                .place(nth, columns)
                .and_then(|place| Some((place, columns.get(place)?)))
            else {
                continue;
            };
            let name = match heading {
                Heading::OfEngine | Heading::Star(_) => continue,
                Heading::Text { text, .. } => text.clone(),
                Heading::Spellings(spellings) => respelled(&column.name, spellings),
            };
            if name != column.name {
                named.push((place, name));
            }
        }
        if named.is_empty() {
            return Arc::clone(columns);
        }
        let mut columns = columns.to_vec();
        for (place, name) in named {
            if let Some(column) = columns.get_mut(place) {
                column.name = name;
            }
        }
        columns.into()
    }

    /// The column of an item, counted from the ends where the width of a `*` is not known.
    fn place(&self, nth: usize, columns: &[Column]) -> Option<usize> {
        let is_star = |heading: &Heading| matches!(heading, Heading::Star(_));
        let Some(first) = self.headings.iter().position(is_star) else {
            return (columns.len() == self.headings.len()).then_some(nth);
        };
        let last = self.headings.iter().rposition(is_star)?;
        let stars = self.headings.iter().filter(|heading| is_star(heading));
        let all_stars = columns
            .len()
            .checked_sub(self.headings.len() - stars.clone().count())?;
        if nth < first {
            return Some(nth);
        }
        if nth > last {
            return (columns.len() + nth).checked_sub(self.headings.len());
        }
        let before = self.headings.get(..nth)?;
        let stars_before = before.iter().filter(|heading| is_star(heading)).count();
        let is_one_text = stars.clone().all(|star| *star == self.headings[first]);
        if is_one_text {
            let width = all_stars / stars.count();
            return Some(nth - stars_before + width * stars_before);
        }
        let end = columns.len() - (self.headings.len() - 1 - last);
        self.found(nth, first..end, columns)
    }

    /// The only column of a range that has the name which the engine gives to an item.
    fn found(
        &self,
        nth: usize,
        range: std::ops::Range<usize>,
        columns: &[Column],
    ) -> Option<usize> {
        let sent_of = |heading: &Heading| match heading {
            Heading::Text { sent, .. } => Some(sent.clone()),
            _ => None,
        };
        let sent = sent_of(self.headings.get(nth)?)?;
        let mut same = self.headings.iter().filter_map(sent_of);
        let is_only = same.by_ref().filter(|one| *one == sent).count() == 1;
        let mut places = range.filter(|place| columns.get(*place).is_some_and(|c| c.name == sent));
        match (places.next(), places.next()) {
            (Some(only), None) if is_only => Some(only),
            _ => None,
        }
    }
}

/// A name with other spellings of some pieces, where they do not continue a word.
fn respelled(name: &str, spellings: &[(String, String)]) -> String {
    let mut respelled = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let within = respelled.chars().next_back().is_some_and(is_of_word) && is_of_word(first);
        let found = spellings
            .iter()
            .find(|(sent, _)| !within && rest.starts_with(sent.as_str()));
        let (piece, length) = match found {
            Some((sent, by_caller)) => (by_caller.as_str(), sent.len()),
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        respelled.push_str(piece);
        rest = &rest[length..];
    }
    respelled
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_plugin_api::DataType;

    fn columns(names: &[&str]) -> Arc<[Column]> {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            data_type: DataType::Text,
            native_type: "text".to_owned(),
            nullable: true,
        };
        names.iter().map(column).collect()
    }

    fn names(headings: &[Heading], engine: &[&str]) -> Vec<String> {
        let named = ColumnNames::new(headings.to_vec()).put_into(&columns(engine));
        named.iter().map(|column| column.name.clone()).collect()
    }

    fn text(text: &str, sent: &str) -> Heading {
        let (text, sent) = (text.to_owned(), sent.to_owned());
        Heading::Text { text, sent }
    }

    fn star(text: &str) -> Heading {
        Heading::Star(text.to_owned())
    }

    #[test]
    fn names_are_put_in_by_place() {
        let headings = [text("1+1", "1 + 1"), Heading::OfEngine, text("x", "y")];
        assert_eq!(names(&headings, &["a", "b", "c"]), ["1+1", "b", "x"]);
        // Another number of columns: nothing is known.
        assert_eq!(names(&headings, &["a", "b"]), ["a", "b"]);
        assert_eq!(names(&[], &["a"]), ["a"]);
    }

    #[test]
    fn columns_without_a_new_name_are_not_copied() {
        let engine = columns(&["1+1", "b"]);
        let names = ColumnNames::new(vec![text("1+1", "1 + 1"), Heading::OfEngine]);
        assert!(Arc::ptr_eq(&names.put_into(&engine), &engine));
    }

    #[test]
    fn stars_are_counted_from_both_ends_and_where_they_are_equal() {
        let headings = [text("f", "F"), star("*"), text("l", "L")];
        assert_eq!(
            names(&headings, &["F", "a", "b", "c", "L"]),
            ["f", "a", "b", "c", "l"]
        );
        assert_eq!(names(&headings, &["F", "L"]), ["f", "l"]);
        assert_eq!(names(&headings, &["F"]), ["F"]);
        let equal = [star("*"), text("m", "M"), star("*"), text("l", "L")];
        assert_eq!(
            names(&equal, &["a", "b", "M", "a", "b", "L"]),
            ["a", "b", "m", "a", "b", "l"]
        );
    }

    #[test]
    fn item_between_different_stars_is_found_by_its_name() {
        let headings = [star("a.*"), text("m", "M"), star("b.*")];
        assert_eq!(names(&headings, &["x", "M", "y"]), ["x", "m", "y"]);
        assert_eq!(names(&headings, &["M", "M", "y"]), ["M", "M", "y"]);
        assert_eq!(names(&headings, &["x", "y"]), ["x", "y"]);
    }

    #[test]
    fn pieces_are_spelled_as_the_caller_spelled_them() {
        let spellings = [
            (", 'TEXT')", ", 'String')"),
            (r", 'T(\'UTC\')')", r", 't(\'UTC\')')"),
            ("CEIL(", "ceil("),
        ];
        let spellings = spellings.map(|(sent, caller)| (sent.to_owned(), caller.to_owned()));
        assert_eq!(
            names(
                &[Heading::Spellings(spellings.to_vec())],
                &[r"CEIL(CAST(a, 'TEXT'), CAST(b, 'T(\'UTC\')'), MY_CEIL(1), 'TEXT_')"]
            ),
            [r"ceil(CAST(a, 'String'), CAST(b, 't(\'UTC\')'), MY_CEIL(1), 'TEXT_')"]
        );
    }
}
