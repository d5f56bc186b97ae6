//! Names without what all of their kind start with: in a schema of `shop_order` and `shop_item`, an order is called so.

use crate::words::split;

/// Names that a shared start is looked for in, at least.
const FEWEST: usize = 3;

/// What a schema calls its tables and columns, without the starts that say nothing of one of them.
pub fn names(tables: &[(String, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    let own: Vec<&str> = tables.iter().map(|t| t.0.as_str()).collect();
    let all: Vec<String> = tables
        .iter()
        .flat_map(|t| &t.1)
        .map(|c| c.to_lowercase())
        .collect();
    // Two words may start alike by chance; a mark is on most of the columns too.
    let is_mark = |start: &str| 2 * all.iter().filter(|c| c.starts_with(start)).count() > all.len();
    let (cut, start) = without_start(&own, is_mark);
    let columns = tables.iter().map(|(_, columns)| {
        let mut kept = columns.clone();
        // Where a schema has a mark on its columns, one without it is called as it is.
        let has_mark = |c: &String| c.to_lowercase().starts_with(&start);
        let all = columns.iter().filter(|c| has_mark(c)).count() < FEWEST;
        let is_marked = |c: &&mut String| all || has_mark(c);
        let marked: Vec<&mut String> = kept.iter_mut().filter(is_marked).collect();
        let names: Vec<&str> = marked.iter().map(|c| c.as_str()).collect();
        let plain = without_start(&names, |own| !start.is_empty() && own.starts_with(&start)).0;
        for (column, plain) in marked.into_iter().zip(plain) {
            *column = plain;
        }
        kept
    });
    cut.into_iter().zip(columns).collect()
}

/// Names without the whole words that all start with. Where each is one word, the letters of a schema's own mark are
/// cut, and with them the short form of a table's name behind it.
fn without_start(names: &[&str], is_mark: impl Fn(&str) -> bool) -> (Vec<String>, String) {
    let kept = || {
        (
            names.iter().map(|n| (*n).to_owned()).collect(),
            String::new(),
        )
    };
    let words: Vec<Vec<String>> = names.iter().map(|n| split(n)).collect();
    let Some(shortest) = words
        .iter()
        .map(Vec::len)
        .min()
        .filter(|_| names.len() >= FEWEST)
    else {
        return kept();
    };
    let first = &words[0];
    let shared = (1..shortest)
        .take_while(|n| words.iter().all(|w| w[..*n] == first[..*n]))
        .last();
    if let Some(shared) = shared {
        let cut = words.iter().map(|w| w[shared..].join("_")).collect();
        return (cut, first[..shared].concat());
    }
    if words.iter().any(|w| w.len() != 1) {
        return kept();
    }
    let letters = |name: &Vec<String>| name[0].clone();
    let same = |n: &usize| {
        let start = first[0].get(..*n);
        start.is_some()
            && words
                .iter()
                .all(|w| w[0].get(..*n) == start && w[0].len() >= n + 2)
    };
    let Some(shared) = (2..first[0].len()).take_while(same).last() else {
        return kept();
    };
    let start = &first[0][..shared];
    if !is_mark(start) {
        return kept();
    }
    let cut = words
        .iter()
        .map(|w| letters(w)[shared..].to_owned())
        .collect();
    (cut, start.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(table: &str, columns: &[&str]) -> (String, Vec<String>) {
        (
            table.to_owned(),
            columns.iter().map(|c| (*c).to_owned()).collect(),
        )
    }

    #[test]
    fn a_start_that_all_names_share_is_no_part_of_them() {
        let marked = [
            cut("zzpatron", &["zzpatid", "zzpatname", "zzpatmail"]),
            cut("zzfine", &["zzfnid", "zzfnpatid", "zzfnamount"]),
            cut(
                "zzshelf",
                &["zzshelfid", "place", "zzshelfroom", "zzshelfrow"],
            ),
        ];
        let found = names(&marked);
        assert_eq!(found[0], cut("patron", &["id", "name", "mail"]));
        assert_eq!(found[1], cut("fine", &["id", "patid", "amount"]));
        assert_eq!(found[2], cut("shelf", &["id", "place", "room", "row"]));
        let words = [
            cut("lib_patron", &["patronId", "patronName", "patronMail"]),
            cut("lib_fine", &["id", "total"]),
            cut("lib_shelf", &[]),
        ];
        let found = names(&words);
        assert_eq!(found[0], cut("patron", &["id", "name", "mail"]));
        assert_eq!(found[1], cut("fine", &["id", "total"]));
        let plain = [
            cut("cat", &["id"]),
            cut("car", &["id"]),
            cut("dog", &["id"]),
        ];
        assert_eq!(names(&plain), plain);
    }
}
