//! Statements that answer one row, told by their text.

/// Whether a statement looks like an aggregate over everything, such as the host's own counts.
///
/// PostgreSQL runs a statement in parallel workers only when all rows are asked for at once; then the timeout also
/// counts while the reader pauses. A wrong guess costs no more than that: memory is bounded by the transport.
pub(crate) fn answers_one_row(sql: &str) -> bool {
    const AGGREGATES: [&str; 5] = ["count", "sum", "avg", "min", "max"];
    let has = |word: &str| {
        sql.as_bytes()
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    let is_call = |list: &str| {
        AGGREGATES
            .iter()
            .any(|aggregate| after(list, aggregate).is_some_and(|rest| rest.starts_with('(')))
    };
    let is_aggregate = after(sql.trim_start(), "select")
        .map(|list| after(list, "pg_catalog.").unwrap_or(list))
        .is_some_and(is_call);
    is_aggregate
        && !["group", "over", "union", "except", "intersect"]
            .iter()
            .any(|word| has(word))
}

/// What follows a word, which may be in capitals or not, and blanks.
fn after<'a>(sql: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = sql.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::answers_one_row;

    #[test]
    fn an_aggregate_over_everything_answers_one_row() {
        for (sql, expected) in [
            (
                "SELECT count(*) FROM (SELECT * FROM shop.orders) AS q",
                true,
            ),
            // The host's own.
            (
                r#"SELECT pg_catalog.count(*) FROM (SELECT id FROM "public"."orders") AS counted"#,
                true,
            ),
            ("select max(a), min(b) from t", true),
            ("SELECT\n count (*) FROM t", true),
            // Columns, and a function of another name.
            ("SELECT count, t FROM cnt", false),
            ("SELECT pg_catalog.count FROM pg_catalog", false),
            ("SELECT maximum(a) FROM t", false),
            ("SELECT count(*) FROM t GROUP BY a", false),
            ("SELECT sum(a) OVER (ORDER BY b) FROM t", false),
            ("SELECT country, count(*) FROM t", false),
            ("SELECT * FROM t", false),
            ("", false),
        ] {
            assert_eq!(answers_one_row(sql), expected, "{sql}");
        }
    }
}
