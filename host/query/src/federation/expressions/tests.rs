use super::*;

#[test]
fn pattern_of_like_is_one_of_glob() {
    for (like, wanted) in [
        ("%green%", "*green*"),
        ("_a]%", "?a]*"),
        ("100*[?]%", "100[*][[][?]]*"),
        ("", ""),
    ] {
        assert_eq!(glob(like).as_deref(), Some(wanted), "{like}");
    }
    assert_eq!(glob(r"100\%"), None);
    assert_eq!(glob(&"a".repeat(MAX_PATTERN + 1)), None);
}

fn value(sql: &str, kind: Kind) -> Value {
    let sql = sql.to_owned();
    Value { sql, kind }
}

fn bytes(sql: &str) -> String {
    format!("(CAST({sql} AS VARBINARY(MAX)) + CAST(1 AS BINARY(1)))")
}

#[test]
fn texts_of_sql_server_are_compared_with_constants_by_their_bytes() {
    let scope = Scope::exact(Dialect::Mssql, &[]);
    let name = value("t1.[name]", Kind::Utf16);
    let compared = |op, text: &str| scope.compared_to(&name, op, &ScalarValue::from(text));
    assert_eq!(
        compared(Operator::Eq, "té").unwrap(),
        format!(
            "(t1.[name] = N'té' AND {} = {})",
            bytes("t1.[name]"),
            bytes("N'té'")
        )
    );
    assert_eq!(
        compared(Operator::NotEq, "a").unwrap(),
        format!("({} <> {})", bytes("t1.[name]"), bytes("N'a'"))
    );
    // UTF-16 has another order, and half of a pair is any other half for the host.
    assert_eq!(compared(Operator::Lt, "a"), None);
    assert_eq!(compared(Operator::Eq, "\u{fffd}"), None);
    for other in [Kind::Utf16, Kind::CodePage, Kind::Text, Kind::Opaque] {
        let other = value("t2.[name]", other);
        assert_eq!(scope.compared(&name, Operator::Eq, &other), None);
    }
}

#[test]
fn texts_of_sqlite_have_no_order_there() {
    let scope = Scope::widening(Dialect::Sqlite, &[]);
    let code = value("code", Kind::Text);
    let compared = |op| scope.compared_to(&code, op, &ScalarValue::from("b"));
    assert_eq!(
        compared(Operator::Eq).unwrap(),
        "(code COLLATE BINARY = 'b')"
    );
    assert_eq!(compared(Operator::GtEq), None);
    let postgresql = Scope::exact(Dialect::Postgresql, &[]);
    assert!(
        postgresql
            .compared_to(&code, Operator::GtEq, &ScalarValue::from("b"))
            .is_some()
    );
}

#[test]
fn lists_of_texts_of_sql_server_are_lists_of_bytes() {
    let scope = Scope::exact(Dialect::Mssql, &[]);
    let code = value("t1.[code]", Kind::CodePage);
    let one = |text: &str| scope.constant(Kind::CodePage, &ScalarValue::from(text));
    let two = [one("a").unwrap(), one("b ").unwrap()];
    let stored = format!("IN ({}, {})", bytes("'a'"), bytes("'b '"));
    assert_eq!(
        scope.listed(&code, &two, false).unwrap(),
        format!(
            "(t1.[code] IN ('a', 'b ') AND {} {stored})",
            bytes("t1.[code]")
        )
    );
    assert_eq!(
        scope.listed(&code, &two, true).unwrap(),
        format!("({} NOT {stored})", bytes("t1.[code]"))
    );
    assert_eq!(one("ä"), None);
    let many = vec![one("a").unwrap(); 1_001];
    assert_eq!(scope.listed(&code, &many, false), None);
}

#[test]
fn truth_value_of_sql_server_is_compared_with_one() {
    use datafusion::arrow::datatypes::{Field, Schema};
    let schema = Schema::new(vec![Field::new("sold", Physical::Boolean, true)]);
    let schema = DFSchema::try_from(schema).unwrap();
    let values = [value("t1.[sold]", Kind::Bit)];
    let inputs = [(&schema, values.as_slice())];
    let sold = Expr::Column(Column::new_unqualified("sold"));
    let condition = |expr: &Expr| Scope::exact(Dialect::Mssql, &inputs).condition(expr);
    assert_eq!(condition(&sold).unwrap(), "(t1.[sold] = 1)");
    let not = Expr::Not(Box::new(sold));
    assert_eq!(condition(&not).unwrap(), "(NOT (t1.[sold] = 1))");
}

#[test]
fn pattern_that_ends_in_an_escape_of_nothing_is_not_sent() {
    for (quoted, expected) in [
        (r"'a\'", true),
        (r"'\'", true),
        (r"'a\\'", false),
        (r"'a\\\'", true),
        (r"'a\%'", false),
        ("'a'", false),
        ("''", false),
    ] {
        assert_eq!(ends_in_escape(quoted), expected, "{quoted}");
    }
}

#[test]
fn columns_of_postgresql_are_compared_without_their_collations() {
    let scope = Scope::exact(Dialect::Postgresql, &[]);
    let (de, c) = (value("t1.de", Kind::Text), value("t2.c", Kind::Text));
    assert_eq!(
        scope.compared(&de, Operator::Eq, &c).unwrap(),
        r#"(t1.de COLLATE "C" = t2.c)"#
    );
    // A constant has none, and an index may be used.
    assert_eq!(
        scope
            .compared_to(&de, Operator::Eq, &ScalarValue::from("a"))
            .unwrap(),
        r#"(t1.de = 'a' AND t1.de COLLATE "C" = 'a')"#
    );
    assert_eq!(
        scope.listed(&de, &[c, value("'a'", Kind::Text)], false),
        None
    );
}

#[test]
fn case_of_columns_is_compared_with_an_explicit_collation_alone() {
    use datafusion::{
        arrow::datatypes::{Field, Schema},
        prelude::{col, lit, when},
    };
    let field = |name| Field::new(name, Physical::Utf8, true);
    let schema = DFSchema::try_from(Schema::new(vec![field("de"), field("sv")])).unwrap();
    let values = [value("t1.de", Kind::Text), value("t1.sv", Kind::Text)];
    let inputs = [(&schema, values.as_slice())];
    let is_german = col("de").is_not_null();
    let either = when(is_german, col("de")).otherwise(col("sv")).unwrap();
    let in_dialect = |dialect, expr: &Expr| Scope::exact(dialect, &inputs).condition(expr);
    let condition = |expr: &Expr| in_dialect(Dialect::Postgresql, expr);
    let case = "(CASE WHEN (t1.de IS NOT NULL) THEN t1.de ELSE t1.sv END)";
    let equal = either.clone().eq(lit("a"));
    assert_eq!(
        condition(&equal).unwrap(),
        format!(r#"({case} COLLATE "C" = 'a')"#)
    );
    let in_mysql = in_dialect(Dialect::Mysql, &equal).unwrap();
    assert_eq!(in_mysql.matches('=').count(), 1, "{in_mysql}");
    assert_eq!(
        condition(&either.in_list(vec![lit("a"), lit("b")], false)).unwrap(),
        format!(r#"({case} COLLATE "C" IN ('a', 'b'))"#)
    );
    // A column has one collation, and an index may be used.
    assert_eq!(
        condition(&col("de").in_list(vec![lit("a"), lit("b")], false)).unwrap(),
        r#"(t1.de IN ('a', 'b') AND t1.de COLLATE "C" IN ('a', 'b'))"#
    );
}

#[test]
fn null_is_asked_for_in_a_form_that_takes_no_value_for_it() {
    for (dialect, kind, null, not_null) in [
        (
            Dialect::Postgresql,
            Kind::Opaque,
            "(x IS NOT DISTINCT FROM NULL)",
            "(x IS DISTINCT FROM NULL)",
        ),
        (
            Dialect::Postgresql,
            Kind::Date,
            "(x IS NULL)",
            "(x IS NOT NULL)",
        ),
        (
            Dialect::Mysql,
            Kind::Date,
            "(x <=> NULL)",
            "(x IS NOT NULL)",
        ),
        (
            Dialect::Mysql,
            Kind::Integer,
            "(x IS NULL)",
            "(x IS NOT NULL)",
        ),
    ] {
        let scope = Scope::exact(dialect, &[]);
        let x = value("x", kind);
        assert_eq!(scope.is_null(&x), null, "{dialect:?} {kind:?}");
        assert_eq!(scope.is_not_null(&x), not_null, "{dialect:?} {kind:?}");
    }
}
