//! Functions and operators of other engines that are computed in another form here.

use super::{meaning::table, one};

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
