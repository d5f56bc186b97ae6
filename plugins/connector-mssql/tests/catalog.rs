//! The catalog: tables, columns, keys and comments.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

mod support;

use connector_mssql::Mssql;
use mindhost_sdk::{Connector, ErrorKind, TableRef};
use serde_json::json;
use support::{connect, data, shop};
use tds_double::Double;

#[test]
fn tables_are_those_of_the_schemas_asked_for() {
    let double = shop();
    let all = ["dbo.cheap", "dbo.item", "dbo.part", "sales.total"];
    for (schema, expected) in [
        (json!(null), &all[..]),
        (json!("sales"), &all[3..]),
        (json!(["dbo", "sales"]), &all[..]),
        (json!("it's not there"), &[]),
    ] {
        let config = data(&double, json!({"schema": schema, "sslmode": "disable"}));
        let tables = Mssql::open(&config).unwrap().tables().unwrap();
        let names: Vec<_> = tables
            .iter()
            .map(|table| format!("{}.{}", table.schema, table.name))
            .collect();
        assert_eq!(names, expected, "{schema}");
    }
}

#[test]
fn schema_that_the_database_lacks_is_named_by_a_check() {
    let double = shop();
    let check = |schema: serde_json::Value| {
        let config = data(&double, json!({"schema": schema, "sslmode": "disable"}));
        Mssql::open(&config).unwrap().check()
    };
    assert!(check(json!(null)).is_ok());
    assert!(check(json!(["dbo", "sales"])).is_ok());
    let refused = check(json!(["dbo", "it's not there"])).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(
        refused.message().contains("no schema `it's not there`"),
        "{refused}"
    );
}

#[test]
fn a_table_is_described_with_columns_keys_and_comments() {
    let double = shop();
    let wanted = [
        ("dbo", "item"),
        ("dbo", "part"),
        ("dbo", "cheap"),
        ("dbo", "gone"),
        ("dbo", "ITEM"),
    ];
    let wanted = wanted.map(|(schema, name)| TableRef::new(schema, name));
    let tables = connect(&double).describe_tables(&wanted).unwrap();
    let names: Vec<_> = tables
        .iter()
        .map(|table| table.table.name.as_str())
        .collect();
    assert_eq!(names, ["cheap", "item", "part"]);

    let item = &tables[1];
    assert_eq!((item.kind.as_str(), item.row_count), ("TABLE", Some(2)));
    assert_eq!(item.comment.as_deref(), Some("What is sold"));
    let columns: Vec<_> = item
        .columns
        .iter()
        .map(|column| {
            (
                column.name.as_str(),
                column.ordinal,
                column.native_type.as_str(),
                column.nullable,
            )
        })
        .collect();
    assert_eq!(
        columns,
        [
            ("id", 1, "int", false),
            ("name", 2, "nvarchar(40)", false),
            ("price", 3, "decimal(12,2)", true),
            ("made", 4, "datetime2(3)", true),
        ]
    );
    assert_eq!(item.columns[1].default_value.as_deref(), Some("('none')"));
    assert_eq!(item.columns[2].comment.as_deref(), Some("In euros"));
    let key = &item.primary_key[0];
    assert_eq!(
        (
            key.constraint_name.as_str(),
            key.column.as_str(),
            key.ordinal
        ),
        ("PK_item", "id", 1)
    );

    let part = &tables[2];
    let key: Vec<_> = part
        .primary_key
        .iter()
        .map(|key| (key.column.as_str(), key.ordinal))
        .collect();
    assert_eq!(key, [("item", 1), ("place", 2)]);
    let foreign = &part.foreign_keys[0];
    assert_eq!(foreign.constraint_name, "part_of_item");
    assert_eq!(
        (foreign.column.as_str(), &foreign.referenced),
        ("item", &TableRef::new("dbo", "item"))
    );
    assert_eq!(foreign.referenced_column, "id");
    assert_eq!(
        (tables[0].kind.as_str(), tables[0].row_count),
        ("VIEW", None)
    );
}

/// The names of the columns of `dbo.knows`.
fn columns_of_edge(double: &Double) -> Vec<String> {
    let wanted = [TableRef::new("dbo", "knows")];
    let mut mssql = connect(double);
    let described = mssql.describe_tables(&wanted).unwrap();
    assert_eq!(mssql.describe_tables(&wanted).unwrap().len(), 1);
    // What the server has is asked once for each session.
    let asked = double.asked();
    let probes = asked.iter().filter(|sql| sql.contains("COL_LENGTH"));
    assert_eq!(probes.count(), 1);
    let columns = described[0].columns.iter();
    columns.map(|column| column.name.clone()).collect()
}

#[test]
fn columns_of_a_graph_table_are_those_that_can_be_selected() {
    // As SQL Server makes them of `CREATE TABLE dbo.knows (since int) AS EDGE`.
    let double = Double::start(
        "CREATE TABLE dbo.knows (graph_id bigint, edge_id nvarchar(1000), from_obj_id int, from_id bigint,
            from_node nvarchar(1000), to_obj_id int, to_id bigint, to_node nvarchar(1000), since int)",
    );
    for (name, graph_type) in [
        ("graph_id", 1),
        ("edge_id", 2),
        ("from_id", 3),
        ("from_obj_id", 4),
        ("from_node", 5),
        ("to_id", 6),
        ("to_obj_id", 7),
        ("to_node", 8),
    ] {
        double.execute(&format!(
            "UPDATE sys.columns SET graph_type = {graph_type} WHERE name = '{name}'"
        ));
    }
    let selectable = ["edge_id", "from_node", "to_node", "since"];
    assert_eq!(columns_of_edge(&double), selectable);
}

#[test]
fn catalog_of_a_server_without_graph_tables_is_read() {
    let double = Double::start("CREATE TABLE dbo.knows (since int, note varchar(10))");
    double.execute("ALTER TABLE sys.columns DROP COLUMN graph_type");
    assert_eq!(columns_of_edge(&double), ["since", "note"]);
}

#[test]
fn the_server_is_asked_who_it_is() {
    let double = shop();
    let info = connect(&double).check().unwrap();
    assert_eq!(
        (info.product.as_str(), info.version.as_str()),
        ("Microsoft SQL Server", "16.0.1052")
    );
}
