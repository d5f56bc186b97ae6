//! The exact SQL, in each dialect.

use super::host::Host;
use crate::catalog::Catalog;
use crate::ranked::understand;
use crate::write;

fn statement(question: &str, dialect: &str) -> String {
    let mut json = Host::shop().catalog();
    for table in json["tables"].as_array_mut().unwrap() {
        table["dialect"] = dialect.into();
    }
    let catalog = Catalog::parse(&json.to_string()).unwrap();
    let plan = understand(&catalog, question, &[], "2024-11-20".parse().ok()).unwrap();
    write::write(&catalog, &plan, true)
}

#[test]
fn sqlite() {
    assert_eq!(
        statement("How many shipped orders in 2024?", "sqlite"),
        "SELECT COUNT(*) AS \"count\"\nFROM \"main\".\"orders\" AS \"orders\"\nWHERE \"orders\".\"status\" = 'shipped'\n  \
         AND \"orders\".\"ordered_at\" >= '2024-01-01' AND \"orders\".\"ordered_at\" < '2025-01-01'"
    );
}

#[test]
fn postgres() {
    assert_eq!(
        statement("revenue per month", "postgresql"),
        "SELECT to_char(date_trunc('month', \"orders\".\"ordered_at\"), 'YYYY-MM') AS \"month\", \
         ROUND(CAST(SUM(\"orders\".\"total\") AS numeric), 2) AS \"revenue\"\nFROM \"main\".\"orders\" AS \"orders\"\n\
         GROUP BY to_char(date_trunc('month', \"orders\".\"ordered_at\"), 'YYYY-MM')\nORDER BY \"month\""
    );
}

#[test]
fn mysql() {
    let text = statement("How many orders in 2024 by week", "mysql");
    assert!(text.contains("DATE_FORMAT(DATE_SUB(`orders`.`ordered_at`, INTERVAL WEEKDAY(`orders`.`ordered_at`) DAY), '%Y-%m-%d')"), "{text}");
    assert!(
        text.contains("`orders`.`ordered_at` >= '2024-01-01'"),
        "{text}"
    );
}

#[test]
fn sql_server() {
    assert_eq!(
        statement("top 3 products by price", "mssql"),
        "SELECT TOP (3) [products].[name], [products].[id], [products].[price]\nFROM [main].[products] AS [products]\n\
         ORDER BY [products].[price] DESC, [products].[id]"
    );
}

#[test]
fn a_quoted_text_stays_a_literal() {
    let text = statement("How many customers with name 'x'' OR 1=1 --'?", "sqlite");
    assert!(text.contains("LOWER('x'' OR 1=1 --')"), "{text}");
}
