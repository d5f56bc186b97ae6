//! A connector in Python tells the host what its engine knows of its columns.

use mindhost_tests::{Project, build};

/// A table in memory. Its engine has statistics of one column.
const PLUGIN: &str = r#"
from mindhost import Column, ColumnStatistics, Connector, PluginError, Row, Statement, StatisticsOptions, Table, TableName


class Plugin(Connector):
    def check(self) -> tuple[str, str]:
        return "Memory", "1"

    def tables(self) -> list[TableName]:
        return [("main", "item")]

    def describe(self, table: TableName) -> Table | None:
        return Table([Column("id", "int64"), Column("name", "text")])

    def statistics(self, table: TableName, options: StatisticsOptions) -> list[ColumnStatistics] | None:
        if table != ("main", "item") or options.columns != ["id", "name"] or options.max_rows < 1:
            raise PluginError("internal", f"other options than those of the host: {options}")
        return [ColumnStatistics("name", SHARE, distinct_count=2, common_values=[("tea", 0.5)], min_value="salt")]

    def query(self, statement: Statement) -> tuple[list[Column], list[Row]]:
        return [Column("id", "int64"), Column("name", "text")], [(1, "tea"), (2, "salt"), (3, None), (4, "tea")]
"#;

/// The line of the kit on the statistics of a connector that says so of the share of NULL.
fn kit(share: &str) -> (bool, String) {
    let project = Project::of_template("connector-space", "sql-http", "python");
    let plugin = project.path().join("plugin.py");
    std::fs::write(plugin, PLUGIN.replace("SHARE", share)).unwrap();
    let built = project.build();
    let config = r#"{"url": "http://127.0.0.1:1", "api_key": "none"}"#;
    let mut kit = project.command(build::host_binary().to_str().unwrap(), &["plugin", "test"]);
    kit.arg(built)
        .args(["--config", config, "--filter", "=statistics"]);
    let output = kit.output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), report)
}

#[test]
fn statistics_of_a_connector_in_python_reach_the_host() {
    let (succeeded, report) = kit("0.25");
    assert!(succeeded, "{report}");
    assert!(report.contains("pass  statistics "), "{report}");
    let (succeeded, report) = kit("1.5");
    assert!(
        !succeeded && report.contains("FAIL  statistics "),
        "{report}"
    );
}
