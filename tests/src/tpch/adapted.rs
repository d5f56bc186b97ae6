//! What the queries of DuckDB are in the words of other dialects. Only what a dialect does not know is changed.

/// As DuckDB has it.
pub fn unchanged(_: u32, sql: &str) -> String {
    sql.to_owned()
}

/// The words of a text with one blank between them, so that a replacement finds them.
fn words(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words.join(" ")
}

/// Query 13 names the columns of a subquery behind it, which MariaDB 10.11 does not know.
pub fn for_mariadb(_: u32, sql: &str) -> String {
    let named = "count(o_orderkey) AS c_count FROM";
    words(sql)
        .replace("count(o_orderkey) FROM", named)
        .replace("AS c_orders (c_custkey, c_count)", "AS c_orders")
}

/// SQLite keeps dates as texts, and a cast to `date` makes a number of them. It has no `extract`, no
/// `substring … FROM`, and no names of columns behind a subquery.
pub fn for_sqlite(number: u32, sql: &str) -> String {
    let sql = for_mariadb(number, sql)
        .replace("CAST('", "'")
        .replace("' AS date)", "'")
        .replace("date '1995", "'1995")
        .replace(
            "substring(c_phone FROM 1 FOR 2)",
            "substring(c_phone, 1, 2)",
        );
    ["l_shipdate", "o_orderdate"].iter().fold(sql, |sql, day| {
        let year = format!("CAST(strftime('%Y', {day}) AS integer)");
        sql.replace(&format!("extract(year FROM {day})"), &year)
    })
}

/// ClickHouse has 0, and not NULL, in the columns of a customer without orders and as the sum of no rows, unless the
/// profile of the user says otherwise (`join_use_nulls`, `aggregate_functions_null_for_empty`). No order has the key 0.
pub fn for_clickhouse(number: u32, sql: &str) -> String {
    let sql = for_mariadb(number, sql);
    match number {
        13 => sql.replace("count(o_orderkey)", "countIf(o_orderkey > 0)"),
        17 => sql.replace("sum(l_extendedprice)", "sumOrNull(l_extendedprice)"),
        _ => sql,
    }
}
