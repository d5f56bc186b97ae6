//! Values as PostgreSQL reads and writes them: their texts, types and parts.

use super::{call, connector, one, refused, scripted, settings, statement, target};
use mindhost_plugin_api::{Connector as _, scanner::Pushdown};

#[tokio::test]
async fn text_of_a_value_is_that_of_postgresql() {
    for (value, expected) in [
        (
            "CAST(timestamp '2024-03-31 01:30:00' AS text)",
            "2024-03-31 01:30:00",
        ),
        (
            "timestamp '1969-12-31 23:59:59.5' || ''",
            "1969-12-31 23:59:59.5",
        ),
        (
            "concat(timestamp '2024-01-01 10:00', '!')",
            "2024-01-01 10:00:00!",
        ),
        (
            "CAST(CAST('2024-03-31 00:30Z' AS timestamp with time zone) AS text)",
            "2024-03-31 00:30:00+00",
        ),
        ("CAST(time '12:30:00.5' AS text)", "12:30:00.5"),
        (
            "split_part(CAST(timestamp '2024-01-01 10:00' AS text), ' ', 2)",
            "10:00:00",
        ),
        (
            "CAST(timestamp '2024-01-01 05:00' AS text) LIKE '2024-01-01 %'",
            "true",
        ),
        ("CAST(CAST(0 AS double) AS text)", "0"),
        (
            "concat(CAST('1e10' AS double), '/', CAST('NaN' AS double))",
            "10000000000/NaN",
        ),
        ("CAST(CAST('0.1' AS real) AS text)", "0.1"),
        ("CAST(CAST(NULL AS timestamp) AS text) IS NULL", "true"),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
}

#[tokio::test]
async fn text_of_a_timestamp_is_grouped_by() {
    let sql = "SELECT CAST(t AS text) AS day, count(*)
        FROM (VALUES (timestamp '2024-01-01 10:00'), (timestamp '2024-01-01 10:00')) AS v(t)
        GROUP BY CAST(t AS text) HAVING CAST(t AS text) < '2024-01-01 11'";
    assert_eq!(one(sql).await, ["2024-01-01 10:00:00", "2"]);
}

#[tokio::test]
async fn float_is_double_and_rounds_halves_to_even() {
    for (value, expected) in [
        ("CAST(16777217 AS float)", "16777217.0"),
        ("16777217::float(53)", "16777217.0"),
        ("CAST(16777217 AS float(24))", "16777216.0"),
        ("CAST(16777217 AS real)", "16777216.0"),
        ("round(CAST(2.5 AS double))", "2.0"),
        ("round(CAST(-1.5 AS double))", "-2.0"),
        ("round(CAST(0.5 AS real))", "0.0"),
        ("round(2.5)", "3"),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
}

#[tokio::test]
async fn part_of_a_date_is_divided_as_a_decimal() {
    let days = "(VALUES (date '2024-02-10')) AS v(d)";
    for (value, expected) in [
        ("extract(month FROM d) / 4", "0.5"),
        ("(extract(month FROM d) + 3) / 2", "2.5"),
        ("5 / date_part('month', d)", "2.5"),
        ("ceil(extract(month FROM d) / 3)", "1"),
        ("CAST(extract(month FROM d) AS int) / 4", "0"),
        ("extract(month FROM d)", "2"),
    ] {
        for groups in ["", "GROUP BY d"] {
            let found = one(&format!("SELECT {value} FROM {days} {groups}")).await;
            let found = found[0].trim_end_matches('0').trim_end_matches('.');
            assert_eq!(found, expected.trim_end_matches('0'), "{value} {groups}");
        }
    }
    let sql = format!(
        "SELECT extract(month FROM d) / 4, count(*) FROM {days} GROUP BY extract(month FROM d)"
    );
    assert!(one(&sql).await[0].starts_with("0.5"));
}

#[tokio::test]
async fn texts_of_dates_are_read_as_in_postgresql() {
    for (value, expected) in [
        (
            "to_timestamp('2024-01-02 03:04') = timestamp '2024-01-02 03:04:00'",
            "true",
        ),
        (
            "to_timestamp('02.01.2024 05:06', 'DD.MM.YYYY HH24:MI') = timestamp '2024-01-02 05:06:00'",
            "true",
        ),
        ("to_date('02.01.2024', 'DD.MM.YYYY')", "2024-01-02"),
        ("to_date('02.01.2024', '%d.%m.%Y')", "2024-01-02"),
        ("CAST('2024-01-31 10:00' AS date)", "2024-01-31"),
        (
            "CAST('2024-03-31 01:00+00' AS timestamp with time zone) > '2024-03-31 00:00Z'",
            "true",
        ),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
    let error = refused("SELECT to_date('1/2024', 'Q/YYYY')").await;
    let message = error.to_string();
    assert!(message.contains("to_date does not know"), "{message}");
}

#[tokio::test]
async fn refusal_says_what_to_write() {
    for (sql, says) in [
        ("SELECT to_char(5, '999')", "CAST(x AS text)"),
        ("SELECT 'a' COLLATE \"C\"", "leave it out"),
    ] {
        let message = refused(sql).await.to_string();
        assert!(message.contains(says), "{sql}: {message}");
        assert!(message.len() < 250, "{sql}: {message}");
    }
}

#[tokio::test]
async fn cast_column_has_no_native_type_of_its_source() {
    let connector = connector(&scripted(1, Pushdown::No), &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let sql = r#"SELECT price, CAST(price AS double), CAST(price AS text) FROM "main"."t""#;
    let columns = connection.query(&statement(sql), &call()).await.unwrap();
    let natives: Vec<_> = columns
        .iter()
        .map(|column| column.native_type.as_str())
        .collect();
    assert_eq!(natives[..2], ["decimal(12,2)", "Float64"]);
    assert!(natives[2].starts_with("Utf8"), "{natives:?}");
}
