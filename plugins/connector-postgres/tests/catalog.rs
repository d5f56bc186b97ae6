//! What the connector tells of tables, keys and statistics.

#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use connector_postgres::Postgres;
use mindhost_sdk::{
    ColumnStatistics, Connector, ErrorKind, ForeignKeyColumn, StatisticsOptions, Table, TableRef,
};
use serde_json::json;
use support::{Server, connect, data};

const SHOP: &str = r#"
    CREATE SCHEMA shop; CREATE SCHEMA "Human Resources"; CREATE SCHEMA hidden; CREATE SCHEMA part;
    CREATE DOMAIN shop.cents AS numeric(10,2) NOT NULL;
    CREATE TABLE "Human Resources"."Region" (country char(2), code varchar(8), PRIMARY KEY (code, country));
    CREATE TABLE shop.customer (
        id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        dropped int,
        name text NOT NULL DEFAULT 'nobody''s',
        country char(2), region varchar(8),
        credit shop.cents,
        tags text[],
        loud text GENERATED ALWAYS AS (upper(name)) STORED,
        CONSTRAINT lives_in FOREIGN KEY (region, country) REFERENCES "Human Resources"."Region" (code, country)
    );
    ALTER TABLE shop.customer DROP COLUMN dropped;
    COMMENT ON TABLE shop.customer IS 'People who buy; "most" of them pay';
    COMMENT ON COLUMN shop.customer.name IS 'Full name';
    CREATE VIEW shop.names AS SELECT name FROM shop.customer;
    CREATE MATERIALIZED VIEW shop.counts AS SELECT count(*) AS n FROM shop.customer;
    CREATE TABLE shop.event (id int, at date REFERENCES shop.event_day, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE TABLE shop.event_2023 PARTITION OF shop.event FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
    CREATE TABLE shop.event_2024 PARTITION OF shop.event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    CREATE TABLE part.visit (event int, at date, FOREIGN KEY (event, at) REFERENCES shop.event);
    CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
    CREATE FOREIGN TABLE shop.log (line text) SERVER files OPTIONS (filename '/dev/null');
    CREATE TABLE hidden.secret (a int); CREATE TABLE shop.half (open int, closed int);
    CREATE TABLE shop.closed (a int);
    INSERT INTO shop.event SELECT i, '2023-12-25'::date + i % 14 FROM generate_series(1, 100) i;
    CREATE ROLE reader LOGIN;
    GRANT USAGE ON SCHEMA shop TO reader;
    GRANT SELECT ON shop.customer, shop.event_2024, shop.event TO reader;
    GRANT SELECT (open) ON shop.half TO reader;
    GRANT SELECT ON hidden.secret TO reader;
    ANALYZE shop.event; ANALYZE shop.customer;
"#;

fn prepare() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let server = Server::shared();
        server.psql("CREATE DATABASE shop");
        server.psql_in("shop", &SHOP.replace(" REFERENCES shop.event_day", ""));
    });
}

fn shop(user: &str, schema: serde_json::Value) -> Postgres {
    prepare();
    Postgres::open(&data(
        json!({"database": "shop", "user": user, "schema": schema}),
    ))
    .unwrap()
}

fn names(tables: &[TableRef]) -> Vec<String> {
    tables
        .iter()
        .map(|table| format!("{}.{}", table.schema, table.name))
        .collect()
}

fn describe(names: &[(&str, &str)]) -> Vec<Table> {
    let tables: Vec<TableRef> = names
        .iter()
        .map(|(schema, name)| TableRef::new(*schema, *name))
        .collect();
    shop("postgres", json!(null))
        .describe_tables(&tables)
        .unwrap()
}

#[test]
fn schema_that_the_database_lacks_is_named_by_a_check() {
    assert!(
        shop("reader", json!(["shop", "Human Resources"]))
            .check()
            .is_ok()
    );
    for schema in [json!("shpo"), json!(["shop", "shpo"]), json!("shop, shpo")] {
        let refused = shop("reader", schema).check().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        assert!(refused.message().contains("no schema `shpo`"), "{refused}");
    }
}

#[test]
fn the_catalog_holds_what_the_user_may_read() {
    let all = names(&shop("postgres", json!(null)).tables().unwrap());
    assert_eq!(
        all,
        [
            "Human Resources.Region",
            "hidden.secret",
            "part.visit",
            "shop.closed",
            "shop.counts",
            "shop.customer",
            "shop.event",
            "shop.half",
            "shop.log",
            "shop.names",
        ]
    );
    // `hidden` lacks USAGE; of a partitioned table the root stands for its partitions.
    let readers = names(&shop("reader", json!(null)).tables().unwrap());
    assert_eq!(readers, ["shop.customer", "shop.event", "shop.half"]);
    let some = names(
        &shop("postgres", json!(["hidden", "Human Resources"]))
            .tables()
            .unwrap(),
    );
    assert_eq!(some, ["Human Resources.Region", "hidden.secret"]);
    assert_eq!(
        names(&shop("postgres", json!("hidden, part")).tables().unwrap()),
        ["hidden.secret", "part.visit"]
    );
}

#[test]
fn kinds_and_counts() {
    let tables = describe(&[
        ("shop", "customer"),
        ("shop", "names"),
        ("shop", "counts"),
        ("shop", "event"),
        ("shop", "log"),
        ("shop", "event_2024"),
        ("shop", "gone"),
        ("gone", "customer"),
    ]);
    let kinds: Vec<_> = tables
        .iter()
        .map(|table| {
            (
                table.table.name.as_str(),
                table.kind.as_str(),
                table.row_count,
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("counts", "MATERIALIZED VIEW", None),
            ("customer", "TABLE", Some(0)),
            ("event", "PARTITIONED TABLE", Some(100)),
            (
                "event_2024",
                "TABLE",
                Some(
                    Server::shared()
                        .psql_in("shop", "SELECT count(*) FROM shop.event_2024")
                        .parse()
                        .unwrap()
                )
            ),
            ("log", "FOREIGN TABLE", None),
            ("names", "VIEW", None),
        ]
    );
}

/// The counts are written into the server's catalog, as rows in such numbers would take long.
#[test]
fn large_counts_keep_their_digits() {
    let server = Server::shared();
    let large = "
        CREATE SCHEMA large;
        CREATE TABLE large.plain AS SELECT i AS a FROM generate_series(1, 1000) i;
        CREATE TABLE large.root (a int) PARTITION BY RANGE (a);
        CREATE TABLE large.leaf_1 PARTITION OF large.root FOR VALUES FROM (0) TO (9);
        CREATE TABLE large.leaf_2 PARTITION OF large.root FOR VALUES FROM (9) TO (99);";
    server.psql("CREATE DATABASE large");
    server.psql_in("large", large);
    server.psql_in("large", "ANALYZE");
    let counted = "
        UPDATE pg_catalog.pg_class SET reltuples = 1234567 WHERE oid = 'large.plain'::regclass;
        UPDATE pg_catalog.pg_class SET reltuples = 16777216 WHERE oid = 'large.leaf_1'::regclass;
        UPDATE pg_catalog.pg_class SET reltuples = 1 WHERE oid = 'large.leaf_2'::regclass;";
    server.psql_in("large", counted);
    let mut postgres = Postgres::open(&data(json!({"database": "large"}))).unwrap();
    let tables = ["plain", "root"].map(|name| TableRef::new("large", name));
    let described = postgres.describe_tables(&tables).unwrap();
    let counts: Vec<_> = described.iter().map(|table| table.row_count).collect();
    assert_eq!(counts, [Some(1_234_567), Some(16_777_217)]);
    let options = StatisticsOptions {
        columns: vec!["a".into()],
        max_rows: 1000,
        max_ms: 1000,
        extra: Vec::new(),
    };
    let found = postgres.statistics(&tables[0], &options).unwrap().unwrap();
    assert_eq!(found[0].distinct_count, Some(1_234_567));
}

#[test]
fn a_partition_stands_for_itself_where_its_root_is_not_listed() {
    let server = Server::shared();
    server.psql("CREATE DATABASE archive");
    let archive = "
        CREATE SCHEMA live; CREATE SCHEMA arch; CREATE ROLE archivist LOGIN;
        CREATE TABLE live.event (a int) PARTITION BY RANGE (a);
        CREATE TABLE arch.event_1 PARTITION OF live.event FOR VALUES FROM (0) TO (9);
        GRANT SELECT ON live.event, arch.event_1 TO archivist;
        GRANT USAGE ON SCHEMA arch TO archivist;";
    server.psql_in("archive", archive);
    let listed = |user: &str, schema: serde_json::Value| {
        let data = data(json!({"database": "archive", "user": user, "schema": schema}));
        names(&Postgres::open(&data).unwrap().tables().unwrap())
    };
    assert_eq!(listed("postgres", json!(null)), ["live.event"]);
    assert_eq!(listed("postgres", json!("live")), ["live.event"]);
    assert_eq!(listed("postgres", json!("arch")), ["arch.event_1"]);
    // Who may read the root but not see its schema.
    assert_eq!(listed("archivist", json!(null)), ["arch.event_1"]);
}

#[test]
fn a_partition_is_listed_where_its_root_shows_fewer_columns() {
    let server = Server::shared();
    server.psql("CREATE DATABASE narrow");
    let narrow = "
        CREATE ROLE narrow LOGIN;
        CREATE TABLE public.event (a int, b int) PARTITION BY RANGE (a);
        CREATE TABLE public.event_1 PARTITION OF public.event FOR VALUES FROM (0) TO (9);
        CREATE TABLE public.event_2 PARTITION OF public.event FOR VALUES FROM (9) TO (99);
        GRANT SELECT (a) ON public.event, public.event_1 TO narrow;
        GRANT SELECT ON public.event_2 TO narrow;";
    server.psql_in("narrow", narrow);
    let data = data(json!({"database": "narrow", "user": "narrow"}));
    let listed = names(&Postgres::open(&data).unwrap().tables().unwrap());
    assert_eq!(listed, ["public.event", "public.event_2"]);
}

/// A session writes its counts of changes when it ends, which may be after its client has, and after the ANALYZE of the
/// next session: the statistics are stale then. Waits until so many inserted rows are counted of each table.
fn wait_until_counted(database: &str, tables: &[(&str, u64)]) {
    for (table, rows) in tables {
        let inserted =
            format!("SELECT pg_stat_get_tuples_inserted('public.{table}'::regclass) >= {rows}");
        while Server::shared().psql_in(database, &inserted) != "t" {}
    }
}

#[test]
fn a_table_that_others_inherit_from_counts_their_rows() {
    let server = Server::shared();
    server.psql("CREATE DATABASE heirs");
    let heirs = "
        CREATE TABLE public.parent (a int); CREATE TABLE public.child () INHERITS (public.parent);
        CREATE TABLE public.grandchild () INHERITS (public.child);
        CREATE TABLE public.uncounted AS SELECT 1 AS a; CREATE TABLE public.new () INHERITS (public.uncounted);
        INSERT INTO public.parent VALUES (1);
        INSERT INTO public.child SELECT i FROM generate_series(2, 100) i;
        INSERT INTO public.grandchild SELECT i FROM generate_series(101, 6000) i;";
    server.psql_in("heirs", heirs);
    wait_until_counted(
        "heirs",
        &[("parent", 1), ("child", 99), ("grandchild", 5900)],
    );
    server.psql_in(
        "heirs",
        "ANALYZE public.parent, public.child, public.grandchild",
    );
    // One that ANALYZE has not met yet: how many rows it has is not known, so neither is the sum.
    server.psql_in(
        "heirs",
        "ANALYZE public.uncounted; UPDATE pg_catalog.pg_class SET reltuples = -1 WHERE oid = 'public.new'::regclass",
    );
    let mut postgres = Postgres::open(&data(json!({"database": "heirs"}))).unwrap();
    let tables =
        ["child", "grandchild", "parent", "uncounted"].map(|name| TableRef::new("public", name));
    let described = postgres.describe_tables(&tables).unwrap();
    let counts: Vec<_> = described.iter().map(|table| table.row_count).collect();
    assert_eq!(counts, [Some(5999), Some(5900), Some(6000), None]);
    let found = statistics(&mut postgres, "parent", &["a"]).unwrap();
    assert_eq!(
        (found[0].min_value.as_deref(), found[0].max_value.as_deref()),
        (Some("1"), Some("6000"))
    );
    assert_eq!(found[0].distinct_count, Some(6000));
    // What changes in one of the others makes them stale too. The counts of changes are written within a second or so.
    let more = "INSERT INTO public.grandchild SELECT i FROM generate_series(1, 5000) i";
    server.psql_in("heirs", more);
    while statistics(&mut postgres, "parent", &["a"]).is_some() {}
}

#[test]
fn columns_have_types_defaults_and_comments() {
    let tables = describe(&[("shop", "customer")]);
    let table = &tables[0];
    assert_eq!(
        table.comment.as_deref(),
        Some("People who buy; \"most\" of them pay")
    );
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            (
                column.ordinal,
                column.name.as_str(),
                column.native_type.as_str(),
                column.nullable,
                column.default_value.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        columns,
        [
            (
                1,
                "id",
                "integer",
                false,
                Some("GENERATED ALWAYS AS IDENTITY")
            ),
            (2, "name", "text", false, Some("'nobody''s'::text")),
            (3, "country", "character(2)", true, None),
            (4, "region", "character varying(8)", true, None),
            (5, "credit", "shop.cents", false, None),
            (6, "tags", "text[]", true, None),
            (
                7,
                "loud",
                "text",
                true,
                Some("GENERATED ALWAYS AS (upper(name)) STORED")
            ),
        ]
    );
    assert_eq!(table.columns[1].comment.as_deref(), Some("Full name"));
    let view = describe(&[("shop", "names")]);
    assert_eq!(view[0].columns.len(), 1);
}

#[test]
fn columns_that_may_not_be_read_are_left_out() {
    let tables = shop("reader", json!(null))
        .describe_tables(&[TableRef::new("shop", "half")])
        .unwrap();
    let columns: Vec<_> = tables[0]
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(columns, ["open"]);
}

#[test]
fn keys_are_in_the_order_of_their_columns() {
    let region = &describe(&[("Human Resources", "Region")])[0];
    let key: Vec<_> = region
        .primary_key
        .iter()
        .map(|key| (key.ordinal, key.column.as_str()))
        .collect();
    assert_eq!(key, [(1, "code"), (2, "country")]);
    assert_eq!(region.primary_key[0].constraint_name, "Region_pkey");
    let customer = &describe(&[("shop", "customer")])[0];
    let column = |ordinal, column: &str, referenced_column: &str| ForeignKeyColumn {
        constraint_name: "lives_in".into(),
        ordinal,
        column: column.into(),
        referenced: TableRef::new("Human Resources", "Region"),
        referenced_column: referenced_column.into(),
    };
    assert_eq!(
        customer.foreign_keys,
        [column(1, "region", "code"), column(2, "country", "country")]
    );
    // The server stores a copy of this key for each partition; only the one that was written counts.
    let visit = &describe(&[("part", "visit")])[0];
    let keys: Vec<_> = visit
        .foreign_keys
        .iter()
        .map(|key| {
            (
                key.ordinal,
                key.column.as_str(),
                key.referenced.name.as_str(),
            )
        })
        .collect();
    assert_eq!(keys, [(1, "event", "event"), (2, "at", "event")]);
}

#[test]
fn thousands_of_tables_are_described_in_four_statements() {
    let server = Server::shared();
    server.psql("CREATE DATABASE many");
    server.psql_in(
        "many",
        "DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('CREATE TABLE t%s (a int PRIMARY KEY, b text, c date)', i); END LOOP; END $$",
    );
    let mut postgres = Postgres::open(&data(json!({"database": "many"}))).unwrap();
    let tables = postgres.tables().unwrap();
    assert_eq!(tables.len(), 2000);
    let described = postgres.describe_tables(&tables).unwrap();
    assert_eq!(described.len(), 2000);
    assert!(
        described
            .iter()
            .all(|table| table.columns.len() == 3 && table.primary_key.len() == 1)
    );
}

const MEASURED: &str = r#"
    CREATE TYPE public.size AS ENUM ('small', 'large', 'huge');
    CREATE TABLE public.measured AS SELECT
        i AS id,
        i % 4 AS few,
        CASE WHEN i % 4 = 0 THEN NULL ELSE i END AS holes,
        (ARRAY['plain', 'with, comma', 'with "quotes"', '{braces}', 'back\slash', 'NULL', ''])[1 + i % 7] AS words,
        (ARRAY['huge', 'small', 'large']::public.size[])[1 + i % 3] AS sizes,
        (i % 1000) * 1.5 AS price,
        '2024-01-01'::date + i % 400 AS day,
        NULL::int AS nothing,
        ARRAY[i % 3] AS list
        FROM generate_series(1, 10000) i;
    ALTER TABLE public.measured ALTER sizes SET STATISTICS 100;
    CREATE TABLE public.never AS SELECT 1 AS a;
    ALTER TABLE public.never SET (autovacuum_enabled = off);
    CREATE TABLE public.parted (a int) PARTITION BY RANGE (a);
    CREATE TABLE public.parted_1 PARTITION OF public.parted FOR VALUES FROM (0) TO (50);
    CREATE TABLE public.parted_2 PARTITION OF public.parted FOR VALUES FROM (50) TO (100);
    INSERT INTO public.parted SELECT i % 100 FROM generate_series(1, 10000) i;
    CREATE TABLE public.stale AS SELECT 1 AS a;
    CREATE ROLE stranger LOGIN; GRANT SELECT (id) ON public.measured TO stranger;
"#;

fn statistics(
    postgres: &mut Postgres,
    table: &str,
    columns: &[&str],
) -> Option<Vec<ColumnStatistics>> {
    let options = StatisticsOptions {
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        max_rows: 1000,
        max_ms: 1000,
        extra: Vec::new(),
    };
    postgres
        .statistics(&TableRef::new("public", table), &options)
        .unwrap()
}

fn prepare_measured() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let server = Server::shared();
        server.psql(MEASURED);
        let counts = [
            ("measured", 10_000),
            ("parted_1", 5000),
            ("parted_2", 5000),
            ("stale", 1),
        ];
        wait_until_counted("postgres", &counts);
        // In a transaction of its own: what the same transaction wrote counts as changed since.
        server.psql("ANALYZE public.measured, public.parted, public.stale");
        server.psql("INSERT INTO public.stale SELECT i FROM generate_series(1, 5000) i");
    });
}

#[test]
fn statistics_are_read_as_the_server_means_them() {
    prepare_measured();
    let mut postgres = connect();
    let columns = [
        "id", "few", "holes", "words", "sizes", "price", "day", "nothing", "list",
    ];
    let found = statistics(&mut postgres, "measured", &columns).unwrap();
    let of = |name: &str| found.iter().find(|column| column.column == name).unwrap();
    for (name, distinct, min, max) in [
        // A fraction of the rows.
        ("id", Some(10_000), Some("1"), Some("10000")),
        ("holes", Some(7500), Some("1"), Some("9999")),
        // Common values alone: there is no histogram.
        ("few", Some(4), Some("0"), Some("3")),
        ("words", Some(7), Some(""), Some("{braces}")),
        // In the order of the type, not of the text.
        ("sizes", Some(3), Some("small"), Some("huge")),
        ("price", Some(1000), Some("0.0"), Some("1498.5")),
        ("day", Some(400), Some("2024-01-01"), Some("2025-02-03")),
        ("nothing", Some(0), None, None),
        ("list", Some(3), Some("{0}"), Some("{2}")),
    ] {
        let column = of(name);
        assert_eq!(column.distinct_count, distinct, "{name}");
        assert!(column.estimated);
        if name == "words" {
            // The smallest text depends on the collation; all seven are there.
            let mut words: Vec<_> = column
                .common_values
                .iter()
                .map(|(word, _)| word.as_str())
                .collect();
            words.sort_unstable();
            assert_eq!(
                words,
                [
                    "",
                    "NULL",
                    "back\\slash",
                    "plain",
                    "with \"quotes\"",
                    "with, comma",
                    "{braces}"
                ]
            );
        }
        assert_eq!(
            (column.min_value.as_deref(), column.max_value.as_deref()),
            (min, max),
            "{name}"
        );
    }
    assert_eq!(of("holes").null_fraction, Some(0.25));
    assert_eq!(of("nothing").null_fraction, Some(1.0));
    let few = &of("few").common_values;
    assert_eq!(few.len(), 4);
    assert!(
        few.iter().all(|(_, share)| (share - 0.25).abs() < 0.01),
        "{few:?}"
    );
}

#[test]
fn a_partitioned_table_has_the_statistics_of_all_partitions() {
    prepare_measured();
    let found = statistics(&mut connect(), "parted", &["a"]).unwrap();
    assert_eq!(found[0].distinct_count, Some(100));
    assert_eq!(
        (found[0].min_value.as_deref(), found[0].max_value.as_deref()),
        (Some("0"), Some("99"))
    );
}

/// As autovacuum does it: the partition is analysed, and the table above it is not.
#[test]
fn statistics_of_a_partitioned_table_do_not_outlive_the_growth_of_a_partition() {
    let server = Server::shared();
    server.psql(
        "CREATE TABLE public.grown (a int) PARTITION BY RANGE (a);
        CREATE TABLE public.grown_1 PARTITION OF public.grown FOR VALUES FROM (0) TO (99999);
        INSERT INTO public.grown SELECT i FROM generate_series(1, 5000) i",
    );
    wait_until_counted("postgres", &[("grown_1", 5000)]);
    server.psql("ANALYZE public.grown");
    let mut postgres = connect();
    assert!(statistics(&mut postgres, "grown", &["a"]).is_some());
    server.psql("INSERT INTO public.grown SELECT i FROM generate_series(10001, 20000) i");
    wait_until_counted("postgres", &[("grown_1", 15_000)]);
    server.psql("ANALYZE public.grown_1");
    assert_eq!(statistics(&mut postgres, "grown", &["a"]), None);
}

#[test]
fn without_fresh_statistics_of_every_column_there_are_none() {
    prepare_measured();
    let mut postgres = connect();
    assert_eq!(statistics(&mut postgres, "never", &["a"]), None);
    assert_eq!(statistics(&mut postgres, "gone", &["a"]), None);
    assert_eq!(statistics(&mut postgres, "measured", &["id", "gone"]), None);
    // The counts of changes are written within a second or so of the changes.
    while statistics(&mut postgres, "stale", &["a"]).is_some() {}
    let mut stranger = Postgres::open(&data(json!({"user": "stranger"}))).unwrap();
    assert!(statistics(&mut stranger, "measured", &["id"]).is_some());
    assert_eq!(statistics(&mut stranger, "measured", &["id", "few"]), None);
}
