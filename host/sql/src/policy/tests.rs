//! Policies in each dialect: what takes the place of a table, and what a rule may not be.

mod combined;
mod comparisons;
mod masks;
mod names;

use std::sync::Arc;

use super::{TablePolicy, attributes, check, check_attributes, parts, trial};
use crate::{
    GuardedStatement, Scope, ScopeTable, guard,
    tests::{datasource, table},
};
use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Attribute, Attributes, Mask, Rule, Scalar},
};
use mindhost_plugin_api::{Dialect, Paging};

const SUPPORTED: [Dialect; 6] = [
    Dialect::Postgresql,
    Dialect::Sqlite,
    Dialect::Mysql,
    Dialect::Mssql,
    Dialect::Clickhouse,
    Dialect::Datafusion,
];

fn schema(dialect: Dialect) -> String {
    let tables = datasource("shop", dialect).tables;
    tables[0].table.schema.clone()
}

fn orders(dialect: Dialect) -> ScopeTable {
    ScopeTable {
        columns: ["id", "tenant", "card", "salary"].map(str::to_owned).into(),
        ..table(&schema(dialect), "orders")
    }
}

fn rule(filter: Option<&str>, hidden: &[&str], masked: &[(&str, Mask)]) -> Rule {
    Rule {
        filter: filter.map(str::to_owned),
        hidden: hidden.iter().map(ToString::to_string).collect(),
        masked: masked
            .iter()
            .map(|(column, mask)| (column.to_string(), mask.clone()))
            .collect(),
    }
}

fn text(value: &str) -> Attribute {
    Attribute::One(Scalar::Text(value.to_owned()))
}

fn of(attributes: &[(&str, Attribute)]) -> Attributes {
    let named = attributes.iter();
    named
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect()
}

fn scope(dialect: Dialect, rule: &Rule, attributes: &Attributes) -> Scope {
    scope_of_all(dialect, &[rule], attributes)
}

fn scope_of_all(dialect: Dialect, rules: &[&Rule], attributes: &Attributes) -> Scope {
    let mut shop = datasource("shop", dialect);
    for one in &mut shop.tables {
        if one.table.name == "orders" {
            let policy = TablePolicy::new(dialect, &orders(dialect), rules, attributes);
            one.columns = policy.visible().to_vec();
            one.policy = Some(Arc::new(policy));
        }
    }
    Scope {
        datasources: vec![shop],
    }
}

fn guarded(
    dialect: Dialect,
    rule: &Rule,
    attributes: &Attributes,
    sql: &str,
) -> Result<GuardedStatement> {
    guard(sql, &scope(dialect, rule, attributes))
}

/// The text for the engine of a caller with the tenant `acme`.
fn sent(dialect: Dialect, rule: &Rule, sql: &str) -> String {
    let guarded = guarded(dialect, rule, &of(&[("tenant", text("acme"))]), sql);
    guarded.unwrap().text().to_owned()
}

const FILTER: &str = "tenant = {{caller.tenant}}";

#[test]
fn relation_takes_the_place_of_the_table_behind_a_barrier() {
    let rule = rule(Some(FILTER), &["salary"], &[]);
    let sql = "SELECT * FROM orders";
    assert_eq!(
        sent(Dialect::Postgresql, &rule, sql),
        r#"SELECT * FROM (SELECT "mindhost_policy"."id" AS "id", "mindhost_policy"."tenant" AS "tenant", "mindhost_policy"."card" AS "card" FROM "public"."orders" AS mindhost_policy WHERE "mindhost_policy"."tenant" = 'acme' OFFSET 0) AS "orders""#
    );
    for (dialect, barrier) in [
        (Dialect::Postgresql, "OFFSET 0)"),
        (Dialect::Sqlite, "LIMIT 9223372036854775807)"),
        (Dialect::Datafusion, "LIMIT 9223372036854775807)"),
        (Dialect::Clickhouse, "LIMIT 9223372036854775807)"),
        (Dialect::Trino, "LIMIT 9223372036854775807)"),
        (Dialect::Mysql, "LIMIT 18446744073709551615)"),
        (Dialect::Mssql, "SELECT TOP (9223372036854775807) "),
    ] {
        let text = sent(dialect, &rule, sql);
        assert!(text.contains(barrier), "{text}");
        assert!(!text.contains("salary"), "{text}");
    }
}

#[test]
fn every_mention_of_the_table_is_replaced() {
    let rule = rule(Some(FILTER), &[], &[]);
    for sql in [
        "SELECT id FROM orders",
        "SELECT o.id FROM orders AS o JOIN customers AS c ON c.id = o.id",
        "SELECT c.id FROM customers AS c LEFT JOIN orders AS o ON c.id = o.id",
        "SELECT id FROM customers WHERE id IN (SELECT id FROM orders)",
        "SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE orders.id = customers.id)",
        "SELECT (SELECT max(id) FROM orders) AS m",
        "WITH x AS (SELECT * FROM orders) SELECT * FROM x",
        "SELECT id FROM customers UNION ALL SELECT id FROM orders",
        "SELECT x.id FROM (SELECT id FROM orders) AS x",
        "SELECT orders.* FROM orders",
        "SELECT id FROM orders ORDER BY (SELECT max(o.id) FROM orders AS o)",
        "SELECT count(*) FROM orders GROUP BY tenant HAVING count(*) > (SELECT 1 FROM orders)",
        "SELECT c.id FROM customers AS c CROSS JOIN (orders AS o CROSS JOIN products AS p)",
    ] {
        for dialect in SUPPORTED {
            let guarded = guarded(dialect, &rule, &of(&[("tenant", text("acme"))]), sql);
            let Ok(guarded) = guarded else { continue };
            let quoted = guarded.text().replace(['"', '`', '[', ']', '('], "");
            let from = format!(
                "FROM {}.orders AS mindhost_policy WHERE mindhost_policy.tenant = 'acme'",
                schema(dialect)
            );
            let named = quoted
                .matches(&format!("{}.orders", schema(dialect)))
                .count();
            assert_eq!(named, quoted.matches(&from).count(), "{quoted}");
            assert!(named > 0 && guarded.is_policed(), "{quoted}");
            let shown = guarded.shown();
            assert!(
                !shown.contains("acme") && !shown.contains("policy"),
                "{shown}"
            );
        }
    }
}

#[test]
fn qualified_names_of_the_table_mean_its_relation() {
    let rule = rule(Some(FILTER), &[], &[]);
    let text = sent(
        Dialect::Postgresql,
        &rule,
        "SELECT public.orders.id, shop.orders.id, orders.id, public.orders.* FROM public.orders",
    );
    assert!(
        text.starts_with(r#"SELECT "orders".id, "orders".id, orders.id, "orders".* FROM (SELECT"#),
        "{text}"
    );
}

/// SQLite's texts in double quotes: a hidden column is a text there, like a name that no column has.
#[test]
fn name_of_a_hidden_column_in_double_quotes_is_a_text() {
    let rule = rule(None, &["salary"], &[]);
    let condition = |right: &str| {
        let sql = format!("SELECT id FROM orders WHERE card = {right}");
        let sent = sent(Dialect::Sqlite, &rule, &sql);
        sent.rsplit_once(" = ").unwrap().1.to_owned()
    };
    for (written, meant) in [
        (r#""salary""#, "'salary'"),
        (r#""SALARY""#, "'SALARY'"),
        (r#""wages""#, "'wages'"),
        (r#""tenant""#, r#""tenant""#),
    ] {
        assert_eq!(condition(written), meant);
    }
}

#[test]
fn cte_of_the_same_name_is_no_table() {
    let rule = rule(Some(FILTER), &["salary"], &[]);
    let sql = "WITH orders AS (SELECT 1 AS id) SELECT * FROM orders";
    for dialect in SUPPORTED {
        let guarded = guarded(dialect, &rule, &Attributes::new(), sql).unwrap();
        assert!(!guarded.is_policed() && guarded.tables().is_empty());
    }
}

#[test]
fn caller_without_the_attribute_sees_no_rows() {
    let rule = rule(Some("tenant = {{caller.tenant}} OR id = 1"), &[], &[]);
    let lists = [
        Attributes::new(),
        of(&[("Tenant", text("acme"))]),
        of(&[("tenant", Attribute::List(Vec::new()))]),
        of(&[("tenant", Attribute::List(vec![Scalar::Integer(1)]))]),
    ];
    for attributes in &lists {
        for dialect in SUPPORTED {
            let guarded = guarded(dialect, &rule, attributes, "SELECT id FROM orders").unwrap();
            let text = guarded.text();
            assert!(
                text.contains("WHERE 1 = 0") && !text.contains(" OR "),
                "{text}"
            );
        }
    }
}

/// The values that an attacker would choose: none of them leaves its literal.
#[test]
fn value_of_an_attribute_stays_a_value() {
    let rule = rule(Some(FILTER), &[], &[]);
    for value in [
        "x' OR '1'='1",
        "x'' OR 1=1 --",
        r"x\' OR 1=1 --",
        r"\",
        r"\\",
        r"\'",
        "'",
        "''",
        "'''",
        "/*",
        "--",
        "; DROP TABLE orders",
        "{{caller.tenant}}",
        "mindhost_caller_0_",
        "$$",
        "\u{2019} OR 1=1",
        "`",
        "\"",
        "",
    ] {
        for dialect in SUPPORTED {
            let attributes = of(&[("tenant", text(value))]);
            let guarded = guarded(dialect, &rule, &attributes, "SELECT id FROM orders");
            let guarded = match guarded {
                Ok(guarded) => guarded,
                Err(error) => panic!("{dialect:?} {value}: {error}"),
            };
            // The guard has parsed what it printed and found the same tree, so the condition is one comparison.
            let text = guarded.text();
            assert!(!text.contains("--") || value.contains("--"), "{text}");
            assert_eq!(text.matches("WHERE").count(), 1, "{text}");
        }
    }
}

#[test]
fn mask_takes_the_place_of_the_column() {
    let masks = [
        ("card", Mask::Last4),
        ("salary", Mask::Null),
        ("tenant", Mask::Text("it's".to_owned())),
    ];
    let rule = rule(Some(FILTER), &[], &masks);
    for dialect in SUPPORTED {
        let text = sent(dialect, &rule, "SELECT * FROM orders");
        let plain = text.replace(['"', '`', '[', ']'], "");
        let null = match dialect {
            Dialect::Sqlite => "(SELECT mindhost_policy.salary WHERE 1 = 0) AS salary",
            _ => "CASE WHEN 1 = 0 THEN mindhost_policy.salary END AS ",
        };
        assert!(plain.contains(null), "{plain}");
        assert!(plain.contains("'****'"), "{plain}");
        assert!(!plain.contains("masked_column"), "{plain}");
        // The masks are outside of the filter, where their names cannot be taken for columns of it.
        assert!(plain.contains("FROM (SELECT"), "{plain}");
    }
}

#[test]
fn rule_without_filter_needs_no_barrier() {
    let text = sent(
        Dialect::Postgresql,
        &rule(None, &["salary"], &[]),
        "SELECT * FROM orders",
    );
    assert!(!text.contains("OFFSET"), "{text}");
}

#[test]
fn rule_that_does_not_fit_closes_the_table() {
    for bad in [
        rule(Some("gone = 1"), &[], &[]),
        rule(None, &["gone"], &[]),
        rule(None, &[], &[("gone", Mask::Null)]),
    ] {
        for sql in [
            "SELECT id FROM orders",
            "SELECT 1 FROM customers WHERE id IN (SELECT id FROM orders)",
        ] {
            let error = guarded(Dialect::Postgresql, &bad, &Attributes::new(), sql).unwrap_err();
            assert_eq!(error.code(), Code::SqlTableClosed);
            assert!(!error.message().contains("gone"), "{error}");
        }
        let others = "SELECT id FROM customers";
        assert!(guarded(Dialect::Postgresql, &bad, &Attributes::new(), others).is_ok());
    }
}

#[test]
fn rules_that_are_no_condition_of_the_table_are_refused() {
    for filter in [
        "",
        "1 = 1; DROP TABLE orders",
        "1 = 1) OR (1 = 1",
        "id = 1 FROM customers",
        "id = 1 AS x",
        "id = 1, tenant = 2",
        "id IN (SELECT id FROM customers)",
        "EXISTS (SELECT 1 FROM customers)",
        "(SELECT true)",
        "id = random()",
        "id > sum(id)",
        "id = count(*) OVER ()",
        "id / 0 = 1",
        "unknown = 1",
        "customers.id = 1",
        "tenant = '{{caller.tenant}}'",
        "tenant = \"{{caller.tenant}}\"",
        "tenant = {{tenant}}",
        "tenant = {{caller.}}",
        "tenant = {{caller.a b}}",
        "tenant = {{caller.tenant",
        "tenant = mindhost_caller_0_",
        "tenant = $1",
        "tenant = ?",
        "current_user = tenant",
        "now() > tenant",
        "pg_sleep(1) IS NULL",
        "tenant = 'a' -- comment",
        "tenant = 'a' /* {{caller.tenant}} */",
    ] {
        for dialect in SUPPORTED {
            let refused = check(dialect, &orders(dialect), &rule(Some(filter), &[], &[]));
            let error = match refused {
                Err(error) => error,
                Ok(()) if filter.contains("-- comment") => continue,
                Ok(()) => panic!("{dialect:?} takes {filter}"),
            };
            assert_eq!(error.code(), Code::InvalidPolicy, "{filter}");
        }
    }
    let param = |rule: Rule| {
        let error = check(Dialect::Postgresql, &orders(Dialect::Postgresql), &rule).unwrap_err();
        Error::param_name(&error).map(str::to_owned)
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(param(rule(Some("x = 1"), &[], &[])), named("filter"));
    assert_eq!(param(rule(None, &["id", "x"], &[])), named("hidden[1]"));
    assert_eq!(
        param(rule(None, &["id", "tenant", "card", "salary"], &[])),
        named("hidden")
    );
    assert_eq!(
        param(rule(None, &[], &[("x", Mask::Null)])),
        named("masked.x")
    );
    assert_eq!(
        param(rule(None, &["id"], &[("id", Mask::Null)])),
        named("masked.id")
    );
    let sql = Mask::Sql("max(id)".to_owned());
    assert_eq!(param(rule(None, &[], &[("id", sql)])), named("masked.id"));
}

#[test]
fn conditions_that_people_write_are_taken() {
    for filter in [
        "tenant = {{caller.tenant}}",
        "tenant IN ({{caller.tenants}}) AND id > 5",
        "id = {{ caller.id }} OR tenant IS NULL",
        "lower(tenant) = lower({{caller.tenant}})",
        "NOT (id BETWEEN 1 AND 5) AND tenant LIKE 'a%'",
        "coalesce(tenant, 'none') <> 'none'",
        "CASE WHEN id > 5 THEN 1 ELSE 0 END = 1",
        "1 = 1",
    ] {
        for dialect in SUPPORTED {
            let made = check(dialect, &orders(dialect), &rule(Some(filter), &[], &[]));
            assert!(made.is_ok(), "{dialect:?} {filter} {made:?}");
        }
    }
    let of_rule = rule(
        Some("tenant = {{caller.tenant}}"),
        &[],
        &[("card", Mask::Sql("{{caller.shown}}".to_owned()))],
    );
    assert_eq!(attributes(&of_rule), ["shown", "tenant"]);
}

#[test]
fn rule_for_one_caller_names_only_attributes_of_the_caller() {
    let of_rule = rule(
        Some("tenant = {{caller.tenant}} AND id <> {{caller.id}}"),
        &[],
        &[("card", Mask::Sql("card || {{caller.shown}}".to_owned()))],
    );
    let all = of(&[
        ("id", text("1")),
        ("shown", text("x")),
        ("tenant", text("acme")),
    ]);
    assert!(check_attributes(&of_rule, &all).is_ok());
    for (missing, part) in [
        ("id", "filter"),
        ("tenant", "filter"),
        ("shown", "masked.card"),
    ] {
        let mut attributes = all.clone();
        attributes.remove(missing);
        let error = check_attributes(&of_rule, &attributes).unwrap_err();
        assert_eq!(
            (error.code(), error.param_name()),
            (Code::InvalidPolicy, Some(part))
        );
        let placeholder = format!("`{{{{caller.{missing}}}}}`");
        assert!(error.message().contains(&placeholder), "{error}");
    }
}

#[test]
fn placeholder_beside_another_needs_an_operator() {
    for filter in [
        "tenant = {{caller.tenant}}{{caller.branch}}",
        "tenant = {{caller.tenant}}x",
        "tenant = x{{caller.tenant}}",
    ] {
        for dialect in SUPPORTED {
            let error =
                check(dialect, &orders(dialect), &rule(Some(filter), &[], &[])).unwrap_err();
            assert_eq!(error.param_name(), Some("filter"), "{error}");
            assert!(error.message().contains("without an operator"), "{error}");
            assert!(!error.message().contains("mindhost_caller"), "{error}");
        }
    }
}

#[test]
fn texts_are_joined_by_what_the_engine_reads_so() {
    let joined = |sql: &str| rule(Some(sql), &[], &[]);
    let bars = joined("tenant = {{caller.tenant}} || {{caller.branch}}");
    let function = joined("tenant = concat({{caller.tenant}}, {{caller.branch}})");
    for dialect in SUPPORTED {
        // MySQL would read `tenant = a OR b`.
        let is_or = matches!(dialect, Dialect::Mysql | Dialect::Mssql);
        let checked = check(dialect, &orders(dialect), &bars);
        assert_eq!(checked.is_err(), is_or, "{dialect:?}");
        if let Err(error) = checked {
            assert!(error.message().contains("concat(a, b)"), "{error}");
        }
        check(dialect, &orders(dialect), &function).unwrap();
    }
}

#[test]
fn text_in_arithmetic_closes_the_table_where_it_would_be_zero() {
    let converts = |dialect| matches!(dialect, Dialect::Mysql | Dialect::Sqlite);
    let given = of(&[
        ("tenant", text("acme")),
        ("branch", text(r"a\b")),
        ("least", Attribute::One(Scalar::Integer(7))),
    ]);
    let closes = |dialect, filter: &str| {
        let rule = rule(Some(filter), &[], &[]);
        let policy = TablePolicy::new(dialect, &orders(dialect), &[&rule], &given);
        policy.closed().is_some()
    };
    for dialect in SUPPORTED {
        for filter in [
            "tenant = 'a' + 'b'",
            "tenant = upper(card) + tenant",
            "tenant = 0 - coalesce(card, 'x')",
            "tenant = CASE WHEN id = 1 THEN 'a' END * 1",
            "tenant = -('a')",
            "tenant = {{caller.tenant}} + card",
            "tenant = card + {{caller.branch}}",
        ] {
            assert_eq!(
                closes(dialect, filter),
                converts(dialect),
                "{dialect:?} {filter}"
            );
        }
        for filter in ["salary * 2 > 10", "salary - {{caller.least}} > -1"] {
            assert!(!closes(dialect, filter), "{dialect:?} {filter}");
        }
        // Before the caller is known, the attribute may be a number.
        let unknown = rule(Some("salary > {{caller.least}} * 2"), &[], &[]);
        check(dialect, &orders(dialect), &unknown).unwrap();
    }
}

#[test]
fn each_part_of_a_rule_has_a_trial() {
    let masks = [
        ("card", Mask::Sql("upper(card)".to_owned())),
        ("salary", Mask::Null),
    ];
    let of_rule = rule(Some("salary > {{caller.least}}"), &["id"], &masks);
    for dialect in SUPPORTED {
        let table = orders(dialect);
        let on = (dialect, Paging::Sql);
        let parts = parts(&of_rule);
        let each = parts.chunks(1).map(|one| {
            let statements = trial(on, &table, one, None);
            (one[0].name.as_str(), statements.len())
        });
        // NULL, a text and a number stand for an attribute.
        assert_eq!(
            each.collect::<Vec<_>>(),
            [("filter", 3), ("masked.card", 1), ("masked.salary", 1)]
        );
        let unknown = trial(on, &table, &parts[..1], None);
        assert!(unknown[0].text().contains("NULL"));

        let known = of(&[("least", Attribute::One(Scalar::Integer(4711)))]);
        let known = trial(on, &table, &parts, Some(&known));
        assert_eq!(known.len(), 1);
        let (text, upper) = (known[0].text(), "upper(");
        assert!(text.contains("4711") && text.to_lowercase().contains(upper));
    }
}

#[test]
fn engines_without_a_barrier_have_no_policies() {
    let of_generic = orders(Dialect::Generic);
    let error = check(
        Dialect::Generic,
        &of_generic,
        &rule(Some("id = 1"), &[], &[]),
    )
    .unwrap_err();
    assert_eq!(error.code(), Code::InvalidPolicy);
    let policy = TablePolicy::new(
        Dialect::Generic,
        &of_generic,
        &[&Rule::default()],
        &Attributes::new(),
    );
    assert!(policy.closed().is_some());
}

#[test]
fn part_of_a_statement_over_several_datasources_is_policed_where_it_is_sent() {
    let hidden = rule(Some(FILTER), &["salary"], &[]);
    let mut scope = scope(
        Dialect::Postgresql,
        &hidden,
        &of(&[("tenant", text("acme"))]),
    );
    scope.datasources.push(datasource("lite", Dialect::Sqlite));
    let guarded = guard(
        "SELECT o.id FROM shop.orders AS o JOIN lite.customers AS c ON c.id = o.id",
        &scope,
    )
    .unwrap();
    assert!(guarded.is_policed() && guarded.reads().one().is_none());
    assert!(
        guarded.text().contains(r#""shop"."public"."orders""#),
        "{}",
        guarded.text()
    );
    assert!(!guarded.text().contains("acme"));
}
