//! What stands in place of a masked column, where an engine needs another form than the others.

use super::*;

/// The relation of `orders`, without quotes around names.
fn relation(dialect: Dialect, columns: &[&str], masks: &[(&str, Mask)]) -> String {
    let orders = ScopeTable {
        columns: columns.iter().map(ToString::to_string).collect(),
        ..table(&schema(dialect), "orders")
    };
    let of_rule = rule(Some("tenant <> 'x'"), &[], masks);
    let trial = trial((dialect, Paging::Sql), &orders, &parts(&of_rule), None);
    assert!(!trial.is_empty());
    let policy = TablePolicy::new(dialect, &orders, &[&of_rule], &Attributes::new());
    let mut shop = datasource("shop", dialect);
    shop.tables = vec![ScopeTable {
        policy: Some(Arc::new(policy)),
        ..orders
    }];
    let scope = Scope {
        datasources: vec![shop],
    };
    let guarded = guard("SELECT id FROM orders", &scope).unwrap();
    guarded.text().replace(['"', '`', '[', ']'], "")
}

#[test]
fn mask_that_reads_a_masked_column_reads_its_value() {
    let masks = [
        ("card", Mask::Sql("concat(tenant, card)".to_owned())),
        ("tenant", Mask::Text("-".to_owned())),
    ];
    let columns = ["id", "tenant", "card"];
    let raw = "concat(mindhost_policy.tenant, mindhost_policy.card)";
    // `'-' AS tenant` beside the mask would be what `mindhost_policy.tenant` means in it.
    let clickhouse = relation(Dialect::Clickhouse, &columns, &masks);
    for part in [
        "(SELECT mindhost_policy.id AS id, mindhost_policy.mindhost_mask_1 AS tenant, \
         mindhost_policy.mindhost_mask_0 AS card FROM (SELECT mindhost_policy.id AS id, ",
        &format!("'-' AS mindhost_mask_1, {raw} AS mindhost_mask_0 FROM (SELECT "),
        "mindhost_policy.tenant AS tenant",
    ] {
        assert!(clickhouse.contains(part), "{part}: {clickhouse}");
    }
    let postgres = relation(Dialect::Postgresql, &columns, &masks);
    assert!(
        postgres.contains(&format!("'-' AS tenant, pg_catalog.{raw} AS card")),
        "{postgres}"
    );
    // A column may have the name.
    let columns = ["id", "tenant", "card", "mindhost_mask_0"];
    let clickhouse = relation(Dialect::Clickhouse, &columns, &masks);
    assert!(
        clickhouse.contains(&format!("{raw} AS mindhost_mask_0_,")),
        "{clickhouse}"
    );
}

/// Version 18.16 has no function that counts from the end of a text.
#[test]
fn last_four_characters_of_clickhouse_are_found_by_a_pattern() {
    let columns = ["id", "tenant", "card"];
    let sent = relation(Dialect::Clickhouse, &columns, &[("card", Mask::Last4)]);
    let part = "THEN concat('****', extract(toString(mindhost_policy.card), '(?s).{4}(.{4})$')) END \
                AS mindhost_mask_0";
    assert!(sent.contains(part), "{sent}");
}
