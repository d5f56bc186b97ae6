//! A first place that several rows share: no single row is the answer, so the rows are shown and it is asked back.

use crate::markdown;
use crate::tools::Rows;

/// Rows that are fetched to see whether the first is alone.
pub const SHOWN: u64 = 6;

/// The answer when rows inside and outside of the first few have the same value in a column.
pub fn cut(few: u64, column: &str, rows: &Rows) -> Option<String> {
    let at = rows.columns.iter().position(|c| c.name == column)?;
    let few = usize::try_from(few).ok()?;
    let last = rows.rows.get(few.checked_sub(1)?)?.get(at)?;
    let next = rows.rows.get(few)?.get(at)?;
    if last != next {
        return None;
    }
    let names: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
    let end = rows
        .rows
        .iter()
        .rposition(|row| row.get(at) == Some(last))?;
    Some(format!(
        "Several rows share place {few} by {}, so it is not clear which {few} are meant. These are the first ones with \
         all that are equal; ask for as many as you want to see:\n\n{}",
        column.replace('_', " "),
        markdown::table(&names, &rows.rows[..=end])
    ))
}

/// The answer when the first two rows have the same value in a column; `None` when the first row is alone.
pub fn text(column: &str, rows: &Rows) -> Option<String> {
    let at = rows.columns.iter().position(|c| c.name == column)?;
    let first = rows.rows.first()?.get(at)?;
    let tied = rows
        .rows
        .iter()
        .take_while(|row| row.get(at) == Some(first))
        .count();
    if tied < 2 {
        return None;
    }
    let names: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
    let more = if tied as u64 == SHOWN {
        ", and there may be more"
    } else {
        ""
    };
    Some(format!(
        "Several rows share the first place by {}, so no single one is the answer{more}. Which one do you mean, or all \
         of them?\n\n{}",
        column.replace('_', " "),
        markdown::table(&names, &rows.rows[..tied])
    ))
}
