//! Pages of a statement in an order in which many rows are equal.

use std::collections::HashSet;

use super::{Pushdown, connector, rows, scripted, settings};

const ROWS: usize = 3_000;
const PAGE: usize = 250;

/// The distinct rows of all pages.
async fn distinct(sql: &str) -> usize {
    let connector = connector(&scripted(ROWS as u64, Pushdown::No), &settings());
    let mut found = HashSet::new();
    for offset in (0..ROWS).step_by(PAGE) {
        let page = format!("{sql} LIMIT {PAGE} OFFSET {offset}");
        found.extend(rows(&connector, &page).await.unwrap());
    }
    found.len()
}

#[tokio::test]
async fn pages_have_each_row_once() {
    for sql in [
        r#"SELECT id, name FROM "main"."t" ORDER BY name"#,
        r#"SELECT id FROM "main"."t" ORDER BY price"#,
        r#"SELECT * FROM "main"."t" ORDER BY name DESC, price"#,
        r#"SELECT id, count(*) AS n FROM "main"."t" GROUP BY id ORDER BY n DESC"#,
        r#"SELECT DISTINCT id, price FROM "main"."t" ORDER BY 2"#,
        r#"SELECT id FROM "main"."t" WHERE id < 1500 UNION ALL SELECT id FROM "main"."t" WHERE id >= 1500 ORDER BY id / 100"#,
        r#"(SELECT a.id, b.name FROM "main"."t" a JOIN "main"."t" b ON a.id = b.id ORDER BY b.name)"#,
    ] {
        assert_eq!(distinct(sql).await, ROWS, "{sql}");
    }
}
