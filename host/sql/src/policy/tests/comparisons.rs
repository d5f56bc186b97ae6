//! Attributes of another type than what they are compared with.

use super::*;

/// The condition that MySQL gets.
fn condition(dialect: Dialect, filter: &str, attribute: Attribute) -> String {
    let rule = rule(Some(filter), &[], &[]);
    let given = of(&[("it", attribute)]);
    let sent = guarded(dialect, &rule, &given, "SELECT id FROM orders").unwrap();
    let text = sent
        .text()
        .replace("`mindhost_policy`.", "")
        .replace("\"mindhost_policy\".", "");
    let (_, behind) = text.split_once(" WHERE ").unwrap();
    let (condition, _) = behind.split_once(" LIMIT ").unwrap();
    let condition = condition.replace(['`', '"'], "");
    condition
        .replace(&format!("{PATTERN}|^-?[0-9]+[-:][0-9]'"), "NUMBER_OR_TIME")
        .replace(&format!("{PATTERN}'"), "NUMBER")
}

const PATTERN: &str = "'^[[:cntrl:]]|^-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?$";

fn integer(value: i64) -> Attribute {
    Attribute::One(Scalar::Integer(value))
}

#[test]
fn list_stands_behind_in() {
    let rule = rule(Some("id IN ({{caller.ids}}) AND tenant = 'x'"), &[], &[]);
    let ids = vec![Scalar::Integer(7), Scalar::Integer(-8), Scalar::Number(1.5)];
    for dialect in SUPPORTED {
        let attributes = of(&[("ids", Attribute::List(ids.clone()))]);
        let guarded = guarded(dialect, &rule, &attributes, "SELECT id FROM orders").unwrap();
        let text = guarded.text();
        assert!(text.contains("IN (7, (-8), 1.5)"), "{text}");
        let as_texts = text.contains("IN ('7', '-8', '1.5'))");
        assert_eq!(as_texts, dialect == Dialect::Mysql, "{text}");
        let empty = of(&[("ids", Attribute::List(Vec::new()))]);
        let guarded = self::guarded(dialect, &rule, &empty, "SELECT id FROM orders").unwrap();
        assert!(guarded.text().contains("WHERE 1 = 0"), "{}", guarded.text());
    }
}

#[test]
fn number_is_compared_as_a_text_too_in_mysql() {
    let check = |filter: &str, attribute: Attribute, expected: &str| {
        assert_eq!(condition(Dialect::Mysql, filter, attribute), expected);
    };
    let truth = Attribute::One(Scalar::Boolean(false));
    check(
        "tenant = {{caller.it}}",
        integer(0),
        "(tenant = 0 AND tenant = '0')",
    );
    check(
        "tenant = {{caller.it}}",
        truth,
        "(tenant = false AND tenant = '0')",
    );
    check(
        "{{caller.it}} <> tenant",
        integer(-7),
        "((-7) <> tenant OR '-7' <> tenant)",
    );
    check(
        "NOT tenant <= ({{caller.it}})",
        integer(3),
        "NOT (tenant <= (3) AND tenant <= '3')",
    );
    check(
        "tenant NOT IN ('a', {{caller.it}})",
        integer(0),
        "(NOT (tenant IN ('a') OR (tenant IN (0) AND tenant IN ('0'))))",
    );
    check(
        "{{caller.it}} IN ('all', tenant)",
        integer(0),
        "((0 = 'all' AND '0' = 'all') OR (0 = tenant AND '0' = tenant))",
    );
    check(
        "salary BETWEEN 1 AND {{caller.it}}",
        integer(9),
        "(salary >= 1 AND (salary <= 9 AND salary <= '9'))",
    );
    check(
        "CASE tenant WHEN {{caller.it}} THEN true END",
        integer(0),
        "CASE WHEN (tenant = 0 AND tenant = '0') THEN true END",
    );
    check(
        "tenant = coalesce({{caller.it}}, 5)",
        integer(0),
        "(tenant = coalesce(0, 5) AND tenant = CAST(coalesce(0, 5) AS CHAR))",
    );
}

#[test]
fn text_that_is_no_number_equals_no_number_in_mysql() {
    let check = |filter: &str, attribute: &str, expected: &str| {
        assert_eq!(condition(Dialect::Mysql, filter, text(attribute)), expected);
    };
    check("tenant = {{caller.it}}", "7", "tenant = '7'");
    check(
        "id = {{caller.it}}",
        "7up",
        "(id = '7up' AND CAST(id AS CHAR) NOT REGEXP NUMBER_OR_TIME)",
    );
    check(
        "id <> {{caller.it}}",
        "acme",
        "(id <> 'acme' OR CAST(id AS CHAR) REGEXP NUMBER_OR_TIME)",
    );
    check(
        "id < {{caller.it}}",
        "acme",
        "CASE WHEN CAST(id AS CHAR) REGEXP NUMBER_OR_TIME THEN NULL ELSE id < 'acme' END",
    );
    check(
        "id IN ({{caller.it}}, 5)",
        "acme",
        "(id IN (5) OR (id IN ('acme') AND CAST(id AS CHAR) NOT REGEXP NUMBER_OR_TIME))",
    );
    // A date is compared with dates.
    check(
        "id >= {{caller.it}}",
        "2024-01-01",
        "CASE WHEN CAST(id AS CHAR) REGEXP NUMBER THEN NULL ELSE id >= '2024-01-01' END",
    );
    check(
        "id = lower({{caller.it}})",
        "acme",
        "(id = lower('acme') AND CAST(id AS CHAR) = lower('acme'))",
    );
    // Both are texts.
    check(
        "lower(tenant) = {{caller.it}}",
        "acme",
        "lower(tenant) = 'acme'",
    );
    check("{{caller.it}} = 'all'", "acme", "'acme' = 'all'");
}

#[test]
fn text_has_no_place_among_numbers_in_sqlite() {
    let sent = |filter: &str, attribute| condition(Dialect::Sqlite, filter, attribute);
    assert_eq!(
        sent("salary <= {{caller.it}}", text("acme")),
        "CASE WHEN typeof(salary) = 'text' THEN salary <= 'acme' END"
    );
    assert_eq!(
        sent("tenant = {{caller.it}}", text("acme")),
        "tenant = 'acme'"
    );
    assert_eq!(sent("tenant = {{caller.it}}", integer(0)), "tenant = 0");
}

#[test]
fn attribute_that_would_become_a_number_is_refused() {
    let loose = |dialect| matches!(dialect, Dialect::Mysql | Dialect::Sqlite);
    for dialect in SUPPORTED {
        let table = orders(dialect);
        for filter in [
            "nullif(tenant, {{caller.it}}) IS NULL",
            "least(id, {{caller.it}}) = 5",
        ] {
            let checked = check(dialect, &table, &rule(Some(filter), &[], &[]));
            assert_eq!(checked.is_err(), loose(dialect), "{dialect:?} {filter}");
        }
        let cast = rule(Some("id = CAST({{caller.it}} AS DECIMAL(38, 0))"), &[], &[]);
        check(dialect, &table, &cast).unwrap();
        for (value, closes) in [("7up", loose(dialect)), ("7", false)] {
            let policy = TablePolicy::new(dialect, &table, &[&cast], &of(&[("it", text(value))]));
            assert_eq!(policy.closed().is_some(), closes, "{dialect:?} {value}");
        }
    }
}

#[test]
fn comparisons_within_comparisons_do_not_grow_without_end() {
    let mut filter = "tenant = {{caller.it}}".to_owned();
    for _ in 0..20 {
        filter = format!("({filter}) = {{{{caller.it}}}}");
    }
    let refused = check(
        Dialect::Mysql,
        &orders(Dialect::Mysql),
        &rule(Some(&filter), &[], &[]),
    );
    assert!(refused.unwrap_err().message().contains("within others"));
}

#[test]
fn number_is_no_text_in_sqlite() {
    let sent = |filter: &str, attribute| condition(Dialect::Sqlite, filter, attribute);
    assert_eq!(
        sent("lower(tenant) = {{caller.it}}", integer(0)),
        "CASE WHEN typeof(lower(tenant)) = 'text' THEN lower(tenant) = '0' \
         WHEN typeof(lower(tenant)) IN ('integer', 'real') THEN lower(tenant) = 0 END"
    );
    // A column gives its type to the value.
    assert_eq!(sent("tenant = {{caller.it}}", text("7")), "tenant = '7'");
}
