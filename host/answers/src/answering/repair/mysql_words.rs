//! What MySQL and MariaDB read in another way than the SQL of other engines: `||` is OR there, and a word in double
//! quotes is a text. Neither is an error.

use super::{statement_scope::KnownTable, warnings::Warning};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{Word, spelled};

/// What a statement that ran may have meant otherwise.
pub fn warnings(words: &[Word], used: &[KnownTable<'_>]) -> Vec<Warning> {
    let mut found = Vec::new();
    if words.iter().any(|word| word.text == "||") {
        found.push(Warning::plain(
            "`||` is OR in this dialect; join texts with CONCAT(a, b)",
        ));
    }
    let quoted = words.iter().find_map(|word| {
        let name = word.text.strip_prefix('"')?.strip_suffix('"')?;
        let is_it = |column: &&String| column.eq_ignore_ascii_case(name);
        let mut columns = used.iter().flat_map(|table| table.columns);
        columns.find(is_it).map(|column| (word, column))
    });
    if let Some((word, column)) = quoted {
        found.push(Warning::plain(format!(
            "{} is a text in this dialect, not the column; write {}",
            word.text,
            spelled(Dialect::Mysql, column)
        )));
    }
    found
}
