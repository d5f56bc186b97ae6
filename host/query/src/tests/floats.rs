//! Floats, frames of windows, sort keys that stand twice, groups of computed columns, and days of far years.

use super::meaning::table;

/// Checks the rows of statements behind the tables of [`table`].
async fn check(cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(table(sql).await, *expected, "{sql}");
    }
}

#[tokio::test]
async fn frame_that_moves_forgets_what_it_passed() {
    let large = ", w AS (SELECT i, CAST(v AS double) AS v FROM (VALUES (1, '1e17'), (2, '1'), (3, '2'), (4, '3'), (5, '4')) AS z(i, v)) ";
    let sum = "SELECT CAST(sum(v) OVER (ORDER BY i ROWS 1 PRECEDING) AS bigint) FROM w ORDER BY i";
    let sums = table(&format!("{large}{sum}")).await;
    assert_eq!(sums, "100000000000000000 100000000000000000 3 5 7");
    let special = ", w AS (SELECT i, CAST(v AS double) AS v FROM (VALUES (1, 'NaN'), (2, '1'), (3, '3'), (4, '3')) AS z(i, v)) ";
    let average = "SELECT avg(v) OVER (ORDER BY i ROWS 1 PRECEDING) = 3 FROM w ORDER BY i";
    let deviation = "SELECT stddev_pop(v) OVER (ORDER BY i ROWS 1 PRECEDING) = 0 FROM w ORDER BY i";
    let of_integers =
        "SELECT stddev_pop(k) OVER (ORDER BY id ROWS 1 PRECEDING) = 5 FROM p ORDER BY id";
    for sql in [average, deviation] {
        let found = table(&format!("{special}{sql}")).await;
        assert_eq!(found, "false false false true", "{sql}");
    }
    assert_eq!(table(of_integers).await, "false true true");
}

#[tokio::test]
async fn nan_is_the_greatest_of_its_group() {
    for values in [
        "('a', '5'), ('a', '1'), ('a', 'NaN'), ('a', '7')",
        "('a', 'NaN'), ('a', '7'), ('a', '5'), ('a', '1')",
        "('a', '1'), ('a', '5'), ('a', '7'), ('a', 'NaN')",
    ] {
        let of =
            format!("(SELECT g, CAST(v AS double) AS v FROM (VALUES {values}) AS z(g, v)) AS w");
        let grouped = format!("SELECT g, min(v) = 1, isnan(max(v)) FROM {of} GROUP BY g");
        assert_eq!(table(&grouped).await, "a,true,true", "{values}");
        let real = format!(
            "SELECT g, min(CAST(v AS real)) = 1, isnan(max(CAST(v AS real))) FROM {of} GROUP BY g"
        );
        assert_eq!(table(&real).await, "a,true,true", "{values}");
    }
}

#[tokio::test]
async fn zeros_are_one_value_and_so_are_computed_nans() {
    let zeros =
        ", w AS (SELECT CAST(v AS double) AS x FROM (VALUES ('0'), ('-0'), ('1')) AS z(v)) ";
    let nan = ", w AS (SELECT CAST(v AS double) AS x FROM (VALUES ('1e308')) AS z(v)) ";
    for (tables, rest, expected) in [
        (zeros, "SELECT count(nullif(x, 0)) FROM w", "1"),
        (
            zeros,
            "SELECT sum(CASE x WHEN 0 THEN 1 ELSE 0 END) FROM w",
            "2",
        ),
        (
            zeros,
            "SELECT sum(r) FROM (SELECT rank() OVER (ORDER BY x) AS r FROM w) y",
            "5",
        ),
        (
            zeros,
            "SELECT max(n) FROM (SELECT count(*) OVER (PARTITION BY x) AS n FROM w) y",
            "2",
        ),
        (
            zeros,
            "SELECT count(*) FROM w WHERE x IN (0, 2, 3, 4, 5)",
            "2",
        ),
        (
            zeros,
            "SELECT count(*) FROM w WHERE CAST(x AS real) IN (2, 3, 4, 5, 0.0)",
            "2",
        ),
        (
            zeros,
            "SELECT count(*) FROM w WHERE x NOT IN (2, 3, 4, 5, -0e0)",
            "1",
        ),
        (
            zeros,
            "SELECT count(*) FROM w WHERE x IN (2, 3, 4, 5, CAST('-0' AS double))",
            "2",
        ),
        (
            zeros,
            "SELECT count(*) FROM w WHERE x IN (2, 3, 4, 5, 6 - 6)",
            "2",
        ),
        (
            zeros,
            "SELECT count(*) FROM w WHERE x = 0 OR x = 2 OR x = 3 OR x = 4",
            "2",
        ),
        (
            zeros,
            "SELECT count(DISTINCT x), count(*), sum(DISTINCT x) = 1 FROM w",
            "2,3,true",
        ),
        (
            zeros,
            "SELECT max(n) FROM (SELECT count(DISTINCT x) OVER () AS n FROM w) y",
            "2",
        ),
        (
            nan,
            "SELECT x * 10 - x * 10 = CAST('NaN' AS double), (x * 10) / (x * 10) > 5 FROM w",
            "true,true",
        ),
    ] {
        assert_eq!(table(&format!("{tables}{rest}")).await, expected, "{rest}");
    }
}

#[tokio::test]
async fn percentile_has_all_digits_of_its_fraction() {
    let of =
        "(SELECT 1 AS g, CAST(v AS double) AS x FROM (VALUES (1), (3), (1000001)) AS z(v)) AS w";
    let percentile = |part: &str| {
        format!("CAST(percentile_cont({part}) WITHIN GROUP (ORDER BY x) AS decimal(20, 6))")
    };
    let (third, most) = (percentile("0.333"), percentile("0.9"));
    for rest in ["", "GROUP BY g"] {
        let sql = format!("SELECT {third}, {most} FROM {of} {rest}");
        assert_eq!(table(&sql).await, "2.332000,800001.400000", "{rest}");
    }
}

#[tokio::test]
async fn whole_number_above_or_below_a_decimal_fits() {
    check(&[
        ("SELECT floor(-0.5) = -1, ceil(0.75) = 1", "true,true"),
        ("SELECT ceil(CAST(9.5 AS decimal(2, 1))) = 10", "true"),
        (
            "SELECT max(ceil(v)) = 2, min(floor(v)) = 1 FROM d WHERE v < 1.5",
            "true,true",
        ),
    ])
    .await;
}

#[tokio::test]
async fn sort_key_may_stand_twice() {
    check(&[
        (
            "SELECT DISTINCT ON (id) id, k FROM p ORDER BY id, k, id",
            "1,10 2,20 3,30",
        ),
        (
            "SELECT DISTINCT ON (id, id) id, k FROM p ORDER BY id, id, k DESC",
            "1,10 2,20 3,30",
        ),
        (
            "SELECT id, first_value(k ORDER BY k, k) FROM p GROUP BY id ORDER BY id",
            "1,10 2,20 3,30",
        ),
        (
            "SELECT string_agg(v, ';' ORDER BY v), string_agg(v, ';' ORDER BY id DESC) FROM s",
            "1.25;1.254;12,12;1.25;1.254",
        ),
        (
            "SELECT g, string_agg(v, ';' ORDER BY v DESC), string_agg(v, ';' ORDER BY id) FROM              (SELECT id, v, id > 1 AS g FROM s) w GROUP BY g ORDER BY g",
            "false,1.254,1.254 true,12;1.25,1.25;12",
        ),
    ])
    .await;
}

#[tokio::test]
async fn computed_columns_stand_in_grouping_sets() {
    let days = ", w(s, t) AS (VALUES ('a', date '2024-01-31'), ('a', date '2025-01-31'), ('b', date '2025-02-01')) ";
    for (rest, expected) in [
        (
            "SELECT s, to_char(t, 'YYYY') AS y, count(*) FROM w GROUP BY ROLLUP (s, to_char(t, 'YYYY')) ORDER BY s, y",
            "a,2024,1 a,2025,1 a,,2 b,2025,1 b,,1 ,,3",
        ),
        (
            "SELECT grouping(to_char(t, 'YYYY')) AS g, grouping(s), count(*) FROM w \
             GROUP BY GROUPING SETS ((s), (to_char(t, 'YYYY'))) ORDER BY g, count(*)",
            "0,1,1 0,1,2 1,0,1 1,0,2",
        ),
    ] {
        assert_eq!(table(&format!("{days}{rest}")).await, expected, "{rest}");
    }
}

#[tokio::test]
async fn times_and_days_of_far_years_are_compared() {
    let days = ", w(d, tm) AS (VALUES (date '9999-12-31', time '10:00')) ";
    for (list, expected) in [
        ("d > now(), d < now()", "true,false"),
        (
            "date_trunc('month', d) = timestamp '9999-12-01 00:00:00'",
            "true",
        ),
        (
            "date_trunc('week', timestamp '2999-12-31 10:00:00') = timestamp '2999-12-30 00:00:00'",
            "true",
        ),
        (
            "coalesce(d, timestamp '2024-01-01 10:00:00') = timestamp '9999-12-31 00:00:00'",
            "true",
        ),
        (
            "extract(epoch FROM timestamp '9999-12-31 12:00:00' - d) = 43200",
            "true",
        ),
        (
            "NOT (tm <= time '09:30'), nullif(tm, time '10:00') IS NULL, greatest(tm, time '12:30') = time '12:30'",
            "true,true,true",
        ),
    ] {
        let sql = format!("{days} SELECT {list} FROM w");
        assert_eq!(table(&sql).await, expected, "{list}");
    }
}

/// A column is what its expression became, for what stands above it too.
#[tokio::test]
async fn choice_of_a_float_or_a_decimal_is_a_float_above_it() {
    let tables =
        ", v(f) AS (VALUES (CAST(0.1 AS double) + CAST(0.2 AS double)), (CAST('1e-20' AS double)),
        (CAST('1e20' AS double)), (CAST('NaN' AS double))) ";
    let of = |sql: &str| format!("{tables}{sql}");
    for (sql, expected) in [
        (
            "SELECT count(*) FROM (SELECT coalesce(f, 0.0) AS x FROM v) AS b WHERE x > 0.0",
            "4",
        ),
        (
            "SELECT count(*) FROM (SELECT coalesce(f, 0.0) AS x FROM v) AS b WHERE x <= 0.3",
            "1",
        ),
        (
            "SELECT count(*) FROM (SELECT nullif(f, 0.0) AS x FROM v UNION ALL SELECT 0.1 FROM v) AS b WHERE x > 0.3",
            "3",
        ),
        (
            "SELECT count(*) FROM v WHERE f > (SELECT CASE WHEN min(f) < 0 THEN 1.5 ELSE min(f) END FROM v)",
            "3",
        ),
        (
            "SELECT count(*) FROM v HAVING sum(coalesce(f, 0.0)) > 0.5",
            "4",
        ),
        (
            "SELECT count(*) FROM p WHERE id > (SELECT coalesce(max(f) * 0, 1.5) FROM v WHERE f < 9)",
            "3",
        ),
        (
            "SELECT count(*) FROM (SELECT k FROM p UNION ALL SELECT coalesce(f, 1.5) FROM v) AS b WHERE k < 0.1",
            "1",
        ),
    ] {
        assert_eq!(table(&of(sql)).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn days_beside_timestamps_may_be_of_any_year() {
    let tables = ", day(d) AS (VALUES (DATE '9999-12-31'), (DATE '2024-01-31')),
        stamp(ts) AS (VALUES (TIMESTAMP '2024-01-31 00:00:00'), (TIMESTAMP '2024-02-01 10:00:00')) ";
    let of = |sql: &str| format!("{tables}{sql}");
    for (sql, expected) in [
        (
            "SELECT count(*) FROM stamp WHERE ts IN (SELECT d FROM day)",
            "1",
        ),
        (
            "SELECT count(*) FROM stamp WHERE ts NOT IN (SELECT d FROM day)",
            "1",
        ),
        (
            "SELECT count(*) FROM day WHERE d IN (SELECT ts FROM stamp)",
            "1",
        ),
        (
            "SELECT count(*) FROM stamp WHERE ts < ALL (SELECT d FROM day)",
            "0",
        ),
        (
            "SELECT count(*) FROM stamp WHERE ts < ANY (SELECT d FROM day)",
            "2",
        ),
        (
            "SELECT max(x) FROM (SELECT d AS x FROM day UNION ALL SELECT ts FROM stamp) AS u",
            "9999-12-31T00:00:00",
        ),
        (
            "SELECT count(*) FROM (SELECT ts FROM stamp UNION SELECT d FROM day) AS u",
            "3",
        ),
    ] {
        assert_eq!(table(&of(sql)).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn real_has_the_value_of_its_shortest_text() {
    check(&[
        (
            "SELECT CAST('0.1' AS real) = 0.1e0, '0.1'::float4 = 0.1e0, 0.1::real = 0.1e0",
            "true,true,true",
        ),
        (
            "SELECT id FROM (SELECT 1 AS id, CAST('0.1' AS double) AS v) x WHERE v = CAST(0.1 AS real)",
            "1",
        ),
        (
            "SELECT CAST(v AS real) = v, v IN (CAST(1.25 AS real), 7), CAST(v AS float(24)) FROM d WHERE id = 1",
            "true,true,1.25",
        ),
        (
            "SELECT CAST(v AS real), count(*) FROM s GROUP BY CAST(v AS real) ORDER BY CAST(v AS real)",
            "1.25,1 1.254,1 12.0,1",
        ),
        ("SELECT v, CAST(v AS real), TRY_CAST('x' AS real) IS NULL FROM s WHERE id = 1", "1.254,1.254,true"),
        ("SELECT sum(CAST(v AS real)) = 14.504 FROM s", "true"),
        ("SELECT x.v FROM (SELECT CAST(v AS real) AS v FROM s UNION ALL SELECT v FROM f) x WHERE v < 1.3 ORDER BY v", "1.25 1.254"),
    ])
    .await;
}
