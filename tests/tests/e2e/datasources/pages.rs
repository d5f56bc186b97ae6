//! Pages of a result, put together again.

use std::collections::HashSet;

use mindhost_tests::Mind;

/// The most rows of a page.
const PAGE: usize = 1000;

/// Reads all pages of an ordered statement, whose first column tells its rows apart, and looks for each row on one of
/// them.
///
/// # Panics
/// When a row is on no page, or on two.
pub async fn each_row_is_on_one_page(mind: &Mind, sql: &str, rows: usize) {
    let response = mind.sql(sql).await.expect_status(200).json();
    let path = format!(
        "/conversations/{}/items/{}/result",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    );
    let (mut seen, mut read) = (HashSet::new(), 0);
    for offset in (0..rows).step_by(PAGE) {
        let page = format!("{path}?limit={PAGE}&offset={offset}");
        let page = mind.host().get(&page).await.expect_status(200).json();
        assert_eq!(page["total"], rows, "{sql}");
        assert_eq!(page["is_pagination_consistent"], true, "{sql}");
        let data = page["result"]["data"].as_array().unwrap();
        read += data.len();
        seen.extend(data.iter().map(|row| row[0].as_i64().unwrap()));
    }
    assert_eq!((read, seen.len()), (rows, rows), "{sql}");
}
