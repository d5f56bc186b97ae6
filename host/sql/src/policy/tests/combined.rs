//! Two rules of one table: both hold.

use super::*;

fn acme() -> Attributes {
    of(&[("tenant", text("acme"))])
}

/// What the engine gets for a statement that reads all of the table.
fn sent_with(dialect: Dialect, rules: [&Rule; 2]) -> String {
    let scope = scope_of_all(dialect, &rules, &acme());
    let guarded = guard("SELECT * FROM orders", &scope).unwrap();
    guarded.text().replace(['"', '`', '[', ']'], "")
}

fn masked(masks: &[(&str, &str)]) -> Rule {
    let masks: Vec<_> = masks
        .iter()
        .map(|(column, sql)| (*column, Mask::Sql((*sql).to_owned())))
        .collect();
    rule(None, &[], &masks)
}

#[test]
fn rows_pass_both_filters_and_columns_of_either_are_hidden() {
    let one = rule(Some("id > 1 OR id < 0"), &["salary"], &[]);
    let two = rule(Some("lower(tenant) = {{caller.tenant}}"), &["card"], &[]);
    for dialect in SUPPORTED {
        for rules in [[&one, &two], [&two, &one]] {
            let text = sent_with(dialect, rules).replace("pg_catalog.", "");
            let first = "(mindhost_policy.id > 1 OR mindhost_policy.id < 0)";
            let second = "(lower(mindhost_policy.tenant) = 'acme')";
            let both = [
                format!("WHERE {first} AND {second}"),
                format!("WHERE {second} AND {first}"),
            ];
            assert!(both.iter().any(|both| text.contains(both)), "{text}");
            assert!(!text.contains("salary") && !text.contains("card"), "{text}");
        }
    }
}

#[test]
fn caller_without_an_attribute_of_either_filter_sees_no_rows() {
    let one = rule(Some("id > 1"), &[], &[]);
    let two = rule(Some("id = 5 OR tenant = {{caller.nothing}}"), &[], &[]);
    let text = sent_with(Dialect::Sqlite, [&one, &two]);
    assert!(
        text.contains("WHERE (mindhost_policy.id > 1) AND (1 = 0)"),
        "{text}"
    );
}

#[test]
fn column_that_one_hides_and_another_masks_is_hidden() {
    let one = rule(None, &["card"], &[]);
    let two = rule(None, &[], &[("card", Mask::Last4)]);
    for rules in [[&one, &two], [&two, &one]] {
        let text = sent_with(Dialect::Postgresql, rules);
        assert!(!text.contains("card"), "{text}");
    }
}

#[test]
fn equal_masks_hold_and_different_ones_give_null() {
    let null = "(SELECT mindhost_policy.card WHERE 1 = 0) AS card";
    let last4 = rule(None, &[], &[("card", Mask::Last4)]);
    let text = sent_with(Dialect::Sqlite, [&last4, &last4]);
    assert!(text.contains("****") && !text.contains(null), "{text}");
    let first = masked(&[("card", "substr(card, 1, 1)")]);
    let null_mask = rule(None, &[], &[("card", Mask::Null)]);
    for other in [&first, &null_mask] {
        for rules in [[&last4, other], [other, &last4]] {
            let text = sent_with(Dialect::Sqlite, rules);
            assert!(text.contains(null), "{text}");
            assert!(!text.contains("****") && !text.contains("substr"), "{text}");
        }
    }
}

#[test]
fn mask_does_not_show_what_another_rule_withholds() {
    let null = "(SELECT mindhost_policy.card WHERE 1 = 0) AS card";
    let reading = masked(&[("card", "card || SALARY")]);
    for other in [
        rule(None, &["salary"], &[]),
        rule(None, &[], &[("salary", Mask::Null)]),
        rule(None, &[], &[("salary", Mask::Text("x".to_owned()))]),
    ] {
        for rules in [[&reading, &other], [&other, &reading]] {
            let text = sent_with(Dialect::Sqlite, rules);
            assert!(text.contains(null) && !text.contains("||"), "{text}");
        }
    }
    // What the other shows may be in a mask.
    let other = rule(None, &["tenant"], &[]);
    let text = sent_with(Dialect::Sqlite, [&reading, &other]);
    assert!(
        text.contains("mindhost_policy.card || mindhost_policy.salary"),
        "{text}"
    );
    // Both say so.
    let same = masked(&[("card", "salary || card")]);
    let hiding = rule(
        None,
        &["salary"],
        &[("card", Mask::Sql("salary || card".to_owned()))],
    );
    let text = sent_with(Dialect::Sqlite, [&same, &hiding]);
    assert!(
        text.contains("mindhost_policy.salary || mindhost_policy.card"),
        "{text}"
    );
}

#[test]
fn table_is_closed_if_one_rule_does_not_fit_or_together_they_hide_everything() {
    let fits = rule(None, &["id", "tenant"], &[]);
    for other in [
        rule(None, &["card", "salary"], &[]),
        rule(None, &["gone"], &[]),
        rule(Some("gone = 1"), &[], &[]),
    ] {
        for rules in [[&fits, &other], [&other, &fits]] {
            let scope = scope_of_all(Dialect::Sqlite, &rules, &acme());
            let error = guard("SELECT 1 FROM orders", &scope).unwrap_err();
            assert_eq!(error.code(), Code::SqlTableClosed);
            assert!(!error.message().contains("gone"), "{}", error.message());
        }
    }
}
