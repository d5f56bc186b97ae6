//! What the catalog shows of a database.

use mindhost_sdk::{Connector, Table, TableRef};

use crate::support::Shop;

const SQL: &str = r#"
CREATE TABLE region ( -- Where we sell
  country TEXT NOT NULL, -- ISO code
  code INT NOT NULL,
  CONSTRAINT region_key PRIMARY KEY (code, country)
) WITHOUT ROWID;
CREATE TABLE customer (
  id INTEGER PRIMARY KEY,
  -- As on the invoice
  name TEXT NOT NULL DEFAULT 'unknown',
  region_code INT, region_country TEXT,
  upper_name TEXT GENERATED ALWAYS AS (upper(name)) VIRTUAL,
  boss INT REFERENCES Customer,
  CONSTRAINT lives_in FOREIGN KEY (region_code, region_country) REFERENCES region (code, COUNTRY)
);
CREATE VIEW big AS -- The important ones
  SELECT name, length(name) AS letters FROM customer;
CREATE VIRTUAL TABLE notes USING fts5 (body);
CREATE VIEW broken AS SELECT * FROM gone;
INSERT INTO customer (id) VALUES (1), (2), (3);
CREATE INDEX by_name ON customer (name);
ANALYZE;
"#;

fn describe(shop: &Shop, name: &str) -> Table {
    shop.open()
        .unwrap()
        .describe_tables(&[TableRef::new("main", name)])
        .unwrap()
        .remove(0)
}

#[test]
fn tables_and_views_are_listed_and_nothing_else() {
    let tables = Shop::new(SQL).open().unwrap().tables().unwrap();
    let names: Vec<String> = tables
        .iter()
        .map(|table| format!("{}.{}", table.schema, table.name))
        .collect();
    assert_eq!(
        names,
        [
            "main.big",
            "main.broken",
            "main.customer",
            "main.notes",
            "main.region"
        ]
    );
}

#[test]
fn columns_have_types_defaults_and_comments() {
    let table = describe(&Shop::new(SQL), "customer");
    assert_eq!(
        (
            table.kind.as_str(),
            table.row_count,
            table.comment.as_deref()
        ),
        ("TABLE", Some(3), None)
    );
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|c| {
            (
                c.ordinal,
                c.name.as_str(),
                c.native_type.as_str(),
                c.nullable,
                c.default_value.as_deref(),
                c.comment.as_deref(),
            )
        })
        .collect();
    let expected = [
        (1, "id", "INTEGER", false, None, None),
        (
            2,
            "name",
            "TEXT",
            false,
            Some("'unknown'"),
            Some("As on the invoice"),
        ),
        (3, "region_code", "INT", true, None, None),
        (4, "region_country", "TEXT", true, None, None),
        (5, "upper_name", "TEXT", true, None, None),
        (6, "boss", "INT", true, None, None),
    ];
    assert_eq!(columns, expected);
    assert_eq!(
        table.columns[4].extra,
        [("generated".to_owned(), "virtual".to_owned())]
    );
}

#[test]
fn composite_keys_are_in_order() {
    let shop = Shop::new(SQL);
    let region = describe(&shop, "region");
    assert_eq!(region.comment.as_deref(), Some("Where we sell"));
    let key: Vec<_> = region
        .primary_key
        .iter()
        .map(|k| (k.constraint_name.as_str(), k.ordinal, k.column.as_str()))
        .collect();
    assert_eq!(
        key,
        [("region_key", 1, "code"), ("region_key", 2, "country")]
    );

    let customer = describe(&shop, "customer");
    let keys: Vec<_> = customer
        .foreign_keys
        .iter()
        .map(|k| {
            (
                k.constraint_name.as_str(),
                k.ordinal,
                k.column.as_str(),
                k.referenced.name.as_str(),
                k.referenced_column.as_str(),
            )
        })
        .collect();
    let expected = [
        ("customer_fkey1", 1, "boss", "customer", "id"),
        ("lives_in", 1, "region_code", "region", "code"),
        ("lives_in", 2, "region_country", "region", "country"),
    ];
    assert_eq!(keys, expected);
}

#[test]
fn views_and_virtual_tables_have_columns_too() {
    let shop = Shop::new(SQL);
    let view = describe(&shop, "big");
    assert_eq!(
        (view.kind.as_str(), view.comment.as_deref()),
        ("VIEW", Some("The important ones"))
    );
    let columns: Vec<_> = view
        .columns
        .iter()
        .map(|c| (c.name.as_str(), c.native_type.as_str()))
        .collect();
    assert_eq!(columns, [("name", "TEXT"), ("letters", "")]);
    let notes = describe(&shop, "notes");
    assert_eq!(notes.kind, "VIRTUAL TABLE");
    assert_eq!(notes.columns.len(), 1);
}

#[test]
fn a_table_that_cannot_be_described_says_why_and_one_that_is_gone_is_left_out() {
    let shop = Shop::new(SQL);
    let broken = describe(&shop, "broken");
    assert!(broken.columns.is_empty());
    assert_eq!(
        broken.extra,
        [("error".to_owned(), "no such table: main.gone".to_owned())]
    );
    let refs = ["gone", "region"].map(|name| TableRef::new("main", name));
    assert_eq!(
        shop.open().unwrap().describe_tables(&refs).unwrap().len(),
        1
    );
    assert_eq!(
        shop.open()
            .unwrap()
            .describe_tables(&[TableRef::new("temp", "region")]),
        Ok(Vec::new())
    );
}
