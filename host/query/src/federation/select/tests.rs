use datafusion::{
    arrow::datatypes::{DataType as Physical, Field, Schema},
    functions_aggregate::expr_fn::{avg, count, count_distinct, max, min, sum},
    logical_expr::{LogicalPlan, logical_plan::table_scan},
    prelude::{col, lit},
};

use super::*;
use mindhost_plugin_api::DataType;

/// A table with a column of each type that matters: its name, its type in SQL Server or SQLite, and in the plan.
const COLUMNS: &[(&str, &str, DataType, Physical)] = &[
    ("id", "INT", DataType::Int64, Physical::Int64),
    ("name", "nvarchar(20)", DataType::Text, Physical::Utf8),
    (
        "price",
        "decimal(12,2)",
        DataType::Decimal,
        Physical::Decimal128(12, 2),
    ),
    (
        "wide",
        "decimal(30,2)",
        DataType::Decimal,
        Physical::Decimal128(30, 2),
    ),
    ("made", "date", DataType::Date, Physical::Date32),
    ("note", "xml", DataType::Text, Physical::Utf8),
];

fn table(dialect: Dialect) -> (Select, Schema) {
    let columns: Vec<Column> = COLUMNS
        .iter()
        .map(|(name, native, data_type, _)| Column {
            name: (*name).to_owned(),
            data_type: *data_type,
            native_type: (*native).to_owned(),
            nullable: true,
        })
        .collect();
    let columns: Vec<&Column> = columns.iter().collect();
    let fields = COLUMNS
        .iter()
        .map(|(name, _, _, physical)| Field::new(*name, physical.clone(), true));
    let item = TableRef::new("dbo", "item");
    let names = &mut Names::default();
    let select = Select::table((0, dialect), &item, &columns, None, names);
    (select, Schema::new(fields.collect::<Vec<_>>()))
}

fn aggregate(schema: &Schema, keys: &[&str], computed: Vec<Expr>) -> Aggregate {
    let keys: Vec<Expr> = keys.iter().map(|key| col(*key)).collect();
    let plan = table_scan(Some("item"), schema, None).unwrap();
    let plan = plan.aggregate(keys, computed).unwrap().build().unwrap();
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate,
        other => panic!("{other:?}"),
    }
}

fn grouped(keys: &[&str], computed: Vec<Expr>) -> Option<Select> {
    let (select, schema) = table(Dialect::Mssql);
    let aggregate = aggregate(&schema, keys, computed);
    select.grouped(&aggregate, &mut Names::default())
}

fn text(keys: &[&str], computed: Vec<Expr>) -> String {
    grouped(keys, computed).unwrap().text()
}

#[test]
fn limit_of_sql_server_stands_behind_select_and_nulls_have_a_key_of_their_own() {
    let (select, schema) = table(Dialect::Mssql);
    let schema = DFSchema::try_from(schema).unwrap();
    let key = |asc, nulls_first| col("made").sort(asc, nulls_first);
    let keys = [key(true, false), key(true, false), key(false, true)];
    let top = select.top(&keys, 3, &schema, &mut Names::default());
    let text = top.unwrap().text();
    assert!(text.starts_with("SELECT TOP (3) t1.[id] AS c0"), "{text}");
    // A column is there once: the server refuses the second one.
    let order = " ORDER BY CASE WHEN t1.[made] IS NULL THEN 1 ELSE 0 END, t1.[made] ASC";
    assert!(text.ends_with(order), "{text}");
    // Texts have another order in UTF-16.
    let (select, _) = table(Dialect::Mssql);
    let keys = [col("name").sort(true, false)];
    assert!(
        select
            .top(&keys, 3, &schema, &mut Names::default())
            .is_none()
    );
}

#[test]
fn first_groups_by_their_number_of_rows_are_the_engines() {
    let (select, schema) = table(Dialect::Postgresql);
    let aggregate = aggregate(&schema, &["made"], vec![count(lit(1_i64))]);
    let groups = select.grouped(&aggregate, &mut Names::default()).unwrap();
    let keys = [Expr::from(aggregate.schema.columns()[1].clone()).sort(false, false)];
    let top = groups.top(&keys, 3, &aggregate.schema, &mut Names::default());
    let text = top.unwrap().text();
    assert!(
        text.ends_with(" ORDER BY count(*) DESC NULLS LAST LIMIT 3"),
        "{text}"
    );
}

#[test]
fn aggregates_of_sql_server_do_not_overflow_earlier_than_those_of_the_host() {
    let all = vec![
        count(lit(1_i64)),
        count(col("note")),
        sum(col("id")),
        sum(col("price")),
        min(col("made")),
        count_distinct(col("id")),
    ];
    let sql = text(&[], all);
    for piece in [
        "SELECT count_big(*) AS c0",
        "count_big(CASE WHEN t1.[note] IS NOT NULL THEN 1 END) AS c1",
        "sum(CAST(t1.[id] AS DECIMAL(38, 0))) AS c2",
        "sum(t1.[price]) AS c3",
        "min(t1.[made]) AS c4",
        "count_big(DISTINCT t1.[id]) AS c5",
    ] {
        assert!(sql.contains(piece), "{piece} in {sql}");
    }
}

#[test]
fn average_of_sql_server_is_a_quotient_without_a_rest() {
    let sql = text(&[], vec![avg(col("price"))]);
    let whole = "CAST(CAST(sum(t1.[price]) AS DECIMAL(22, 2)) * CAST(1000000 AS DECIMAL(7, 0)) AS DECIMAL(26, 0))";
    let rows = "NULLIF(count_big(t1.[price]), 0)";
    assert_eq!(
        sql,
        format!(
            "SELECT (CAST(({whole} - {whole} % {rows}) / {rows} AS DECIMAL(16, 0)) * 0.000001) AS c0 \
             FROM [dbo].[item] AS t1"
        )
    );
    // A step of it would need more than 38 digits.
    assert!(grouped(&[], vec![avg(col("wide"))]).is_none());
}

#[test]
fn texts_of_sql_server_are_grouped_by_their_bytes_and_put_together_in_the_host() {
    let select = grouped(&["name"], vec![count(lit(1_i64))]).unwrap();
    let bytes = "(CAST(t1.[name] AS VARBINARY(MAX)) + CAST(1 AS BINARY(1)))";
    assert_eq!(
        select.text(),
        format!(
            "SELECT min(t1.[name]) AS c0, count_big(*) AS c1 FROM [dbo].[item] AS t1 GROUP BY {bytes}"
        )
    );
    assert!(select.has_finer_groups());
    let by_day = grouped(&["made"], vec![count(lit(1_i64))]).unwrap();
    assert!(!by_day.has_finer_groups());
    // What has no equal there, and texts that may be one in the host.
    assert!(grouped(&["note"], vec![count(lit(1_i64))]).is_none());
    assert!(grouped(&[], vec![count_distinct(col("name"))]).is_none());
    assert!(grouped(&[], vec![max(col("name"))]).is_none());
}

fn checked(keys: &[&str], computed: Vec<Expr>, condition: Option<&Expr>) -> Option<Select> {
    let (select, schema) = table(Dialect::Sqlite);
    let aggregate = aggregate(&schema, keys, computed);
    let schema = DFSchema::try_from(schema).unwrap();
    let select = match condition {
        Some(condition) => select.filtered_where_cells_fit(condition, &schema)?,
        None => select,
    };
    select.grouped_where_cells_fit(&aggregate)
}

#[test]
fn groups_of_sqlite_look_at_the_cells_that_they_were_computed_of() {
    let all = || count(lit(1_i64));
    let plain = checked(&["name"], vec![all()], None).unwrap();
    assert_eq!(
        plain.text(),
        r#"SELECT t1."name" COLLATE BINARY AS c0, count(*) AS c1 FROM "dbo"."item" AS t1 GROUP BY t1."name" COLLATE BINARY"#
    );
    assert!(plain.has_finer_groups());
    let condition = col("id").gt(lit(1_i64));
    let some = checked(&[], vec![all(), sum(col("id"))], Some(&condition)).unwrap();
    let look = r#"CASE WHEN max(typeof(t1."id") NOT IN ('integer', 'null')) THEN 'a cell of another type' ELSE"#;
    let lower = r#"sum(t1."id" & 4294967295)"#;
    let upper = format!(r#"(sum(t1."id" >> 32) + ({lower} >> 32))"#);
    let sum = format!(
        "CASE WHEN {upper} NOT BETWEEN -2147483648 AND 2147483647 THEN 'a sum beyond 64 bits' ELSE {upper} * 4294967296 + ({lower} & 4294967295) END"
    );
    assert_eq!(
        some.text(),
        format!(
            r#"SELECT {look} count(*) END AS c0, {look} {sum} END AS c1 FROM "dbo"."item" AS t1 WHERE (t1."id" > 1)"#
        )
    );
    // A condition on them would drop what tells of such a cell.
    assert!(some.columns.iter().all(|value| value.kind == Kind::Opaque));
}

#[test]
fn groups_of_sqlite_that_nothing_can_look_at_stay_in_the_host() {
    let all = || count(lit(1_i64));
    let condition = col("id").gt(lit(1_i64));
    for (keys, computed, condition) in [
        // No column is there for what the condition read.
        (vec!["id"], vec![], Some(&condition)),
        (vec![], vec![sum(col("price"))], None),
        (vec![], vec![avg(col("price"))], None),
        (vec![], vec![max(col("name"))], None),
        (vec![], vec![count(col("price"))], None),
        (vec![], vec![count_distinct(col("name"))], None),
        (vec![], vec![min(col("made"))], None),
        (vec!["id"], vec![all()], Some(&col("price").gt(lit(1_i64)))),
    ] {
        let select = checked(&keys, computed, condition);
        assert!(select.is_none(), "{keys:?}: {}", select.unwrap().text());
    }
    assert!(checked(&["id"], vec![], None).is_some());
}
