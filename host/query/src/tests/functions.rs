//! Functions and operators of other engines that are computed in another form here.

use super::{meaning::table, one, refused};
use mindhost_base::error::Code;

#[tokio::test]
async fn functions_of_postgresql_are_there_under_their_names() {
    for (value, expected) in [
        ("mod(7, 3)", "1"),
        ("mod(3 + 4, 1 + 2)", "1"),
        ("mod(-7, 3)", "-1"),
        ("sign(-3.5) = -1", "true"),
        ("sign(0) = 0", "true"),
        ("sign(NULL) IS NULL", "true"),
        ("ceiling(1.2) = 2", "true"),
        ("last_day(date '2024-02-10')", "2024-02-29"),
        ("last_day(timestamp '2023-12-31 10:00:00')", "2023-12-31"),
        ("last_day(NULL) IS NULL", "true"),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
    let sql = "SELECT mod(id, 2) AS odd, count(*) FROM p GROUP BY mod(id, 2) ORDER BY odd";
    assert_eq!(table(sql).await, "0,1 1,2");
}

#[tokio::test]
async fn integer_beside_a_date_is_a_number_of_days() {
    for (value, expected) in [
        ("date '2024-02-28' + 2", "2024-03-01"),
        ("2 + date '2024-02-28'", "2024-03-01"),
        ("date '2024-03-01' - 1", "2024-02-29"),
        ("date '2024-03-01' - date '2024-02-28'", "2"),
        ("date '2024-03-01' + (1 - 2)", "2024-02-29"),
        ("date '2024-03-01' - interval '1 day'", "2024-02-29"),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
    for (sql, expected) in [
        (
            "SELECT k FROM p WHERE date '2024-01-01' + id > date '2024-01-02' ORDER BY k",
            "20 30",
        ),
        (
            "SELECT date '2024-01-01' + id AS d, count(*) FROM p GROUP BY date '2024-01-01' + id ORDER BY d LIMIT 1",
            "2024-01-02,1",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn interval_by_a_number_is_that_of_postgresql() {
    for (value, expected) in [
        ("CAST(interval '1 day' * 3 AS text)", "3 days"),
        ("CAST(1.5 * interval '1 day' AS text)", "1 days 12 hours"),
        ("CAST(interval '1 month' / 2 AS text)", "15 days"),
        (
            "CAST(interval '7 days' / 2.5 AS text)",
            "2 days 19 hours 12 mins",
        ),
        ("CAST(interval '1 day' * -0.5 AS text)", "-12 hours"),
        (
            "timestamp '2024-01-31' + interval '1 month' * 1.5",
            "2024-03-15T00:00:00",
        ),
        (
            "timestamp '2024-01-01' - 2 * interval '30 minutes'",
            "2023-12-31T23:00:00",
        ),
        (
            "date '2024-01-01' + 2 * interval '1 day'",
            "2024-01-03T00:00:00",
        ),
        ("(interval '1 day' * NULL) IS NULL", "true"),
        (
            "(timestamp '2024-01-03' - timestamp '2024-01-01') / 2 = interval '1 day'",
            "true",
        ),
        (
            "timestamp '2024-01-01' + (timestamp '2024-01-03' - timestamp '2024-01-01') * 2",
            "2024-01-05T00:00:00",
        ),
        (
            "interval '1 day 04:05:06.7' = interval '1 day 4 hours 5 minutes 6.7 seconds'",
            "true",
        ),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
    let sql =
        "SELECT id, timestamp '2024-01-01' + id * interval '1 hour' FROM p ORDER BY id LIMIT 2";
    assert_eq!(
        table(sql).await,
        "1,2024-01-01T01:00:00 2,2024-01-01T02:00:00"
    );
    assert_eq!(
        table("SELECT sum(id * interval '1 hour') = interval '6 hours' FROM p").await,
        "true"
    );
    for value in [
        "interval '1 day' / 0",
        "interval '1 day' * 1e30",
        "interval '1 day' / interval '1 hour'",
        "2 / interval '1 day'",
    ] {
        let error = refused(&format!("SELECT {value}")).await;
        assert_eq!(error.code(), Code::SqlInvalid, "{value}: {error}");
        assert!(error.message().contains("interval"), "{value}: {error}");
    }
}

#[tokio::test]
async fn decades_centuries_and_millennia_are_parts_of_a_date() {
    for (value, expected) in [
        ("extract(century FROM date '2000-12-31')", "20"),
        ("extract(century FROM date '2001-01-01')", "21"),
        (
            "extract(decade FROM timestamp '1999-12-31 10:00:00')",
            "199",
        ),
        ("date_part('millennium', date '2000-12-31')", "2"),
        ("extract(millennium FROM date '2001-01-01')", "3"),
    ] {
        assert_eq!(one(&format!("SELECT {value}")).await, [expected], "{value}");
    }
}
