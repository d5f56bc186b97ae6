//! The host's side of the tools, over a database made by the statements of a file of `fixture/`.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Value, json};

use crate::decide::decide;
use crate::taught;
use crate::turn::{Action, Step, Turn};

/// The shop, and how it is described.
pub struct Host {
    db: Connection,
    /// Whether results come without their rows.
    pub withhold_rows: bool,
    /// What the model is told that the Mind was taught: entries as the host writes them.
    pub knowledge: String,
}

/// What came of a question.
#[derive(Debug)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// The statements, in order.
    pub sql: Vec<String>,
    /// What was taken for granted, as the last statement was sent with it.
    pub assumptions: Value,
    /// Whether there is no answer.
    pub is_declined: bool,
}

impl Host {
    pub fn shop() -> Self {
        Self::over(include_str!("../../fixture/shop.sql"))
    }

    /// A database made by these statements.
    pub fn over(sql: &str) -> Self {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(sql).unwrap();
        Self {
            db,
            withhold_rows: false,
            knowledge: String::new(),
        }
    }

    /// Asks one question; every tool call is answered from the database.
    pub fn ask(&self, question: &str) -> Answer {
        self.ask_after(&[], question)
    }

    pub fn ask_after(&self, earlier: &[&str], question: &str) -> Answer {
        let mut turn = Turn {
            today: "2024-11-20".parse().ok(),
            taught: taught::find(&self.knowledge, question),
            knowledge: self.knowledge.clone(),
            earlier: earlier.iter().map(|q| (*q).to_owned()).collect(),
            question: question.to_owned(),
            steps: Vec::new(),
            tools: ["search_catalog", "describe_tables", "run_sql"]
                .map(str::to_owned)
                .to_vec(),
        };
        let (mut sql, mut assumptions) = (Vec::new(), Value::Null);
        for _ in 0..10 {
            let action = decide(&turn);
            let is_declined = matches!(action, Action::Decline(_));
            match action {
                Action::Say(text) | Action::Decline(text) => {
                    return Answer {
                        text,
                        sql,
                        assumptions,
                        is_declined,
                    };
                }
                Action::Call { tool, arguments } => {
                    let given: Value = serde_json::from_str(&arguments).unwrap();
                    sql.extend(given["sql"].as_str().map(str::to_owned));
                    assumptions = given["assumptions"].clone();
                    let (content, failed) = self.tool(tool, &given);
                    turn.steps.push(Step {
                        tool: tool.to_owned(),
                        arguments,
                        content,
                        failed,
                    });
                }
            }
        }
        panic!("no answer after ten calls: {question}");
    }

    /// Every value of the first column of a statement, as text.
    pub fn column(&self, sql: &str) -> Vec<String> {
        let rows = self.texts(sql).into_iter();
        rows.map(|mut row| row.swap_remove(0)).collect()
    }

    /// The rows of a statement, as text.
    pub fn texts(&self, sql: &str) -> Vec<Vec<String>> {
        let rows = self.rows(sql).unwrap_or_else(|e| panic!("{e}: {sql}"));
        let texts = rows
            .1
            .iter()
            .map(|r| r.iter().map(crate::markdown::value).collect());
        texts.collect()
    }

    /// The one value of a statement, as text.
    pub fn one(&self, sql: &str) -> String {
        self.column(sql).swap_remove(0)
    }

    fn tool(&self, tool: &str, given: &Value) -> (String, bool) {
        match tool {
            "search_catalog" => (self.search(given).to_string(), false),
            "describe_tables" => {
                let mut catalog = self.catalog();
                let described = catalog["tables"].as_array_mut().unwrap();
                described.retain(|t| given["tables"].as_array().unwrap().contains(&t["table"]));
                (catalog.to_string(), false)
            }
            _ => match self.rows(given["sql"].as_str().unwrap()) {
                Ok((names, rows)) => {
                    let columns: Vec<Value> = names
                        .iter()
                        .map(|n| json!({"name": n, "type": "any"}))
                        .collect();
                    let count = if rows.len() < 2 {
                        json!(rows.len())
                    } else {
                        json!("many")
                    };
                    let given = match self.withhold_rows {
                        true => {
                            json!({"columns": columns, "row_count": count, "rows_withheld": true})
                        }
                        false => {
                            json!({"columns": columns, "row_count": rows.len(), "rows": rows, "truncated": false})
                        }
                    };
                    (given.to_string(), false)
                }
                Err(error) => (
                    json!({"error": {"code": "sql_invalid", "message": error.to_string()}})
                        .to_string(),
                    true,
                ),
            },
        }
    }

    /// The tables whose names are among the words; all if none is.
    fn search(&self, given: &Value) -> Value {
        let all = self.tables();
        let words = given["query"].as_str().unwrap();
        let mut found: Vec<&String> = all.iter().filter(|t| words.contains(t.as_str())).collect();
        if found.is_empty() {
            found = all.iter().collect();
        }
        found.truncate(given["limit"].as_u64().unwrap().try_into().unwrap());
        let table = |t: &&String| json!({"datasource": "shop", "table": format!("main.{t}"), "columns": []});
        json!({"tables": found.iter().map(table).collect::<Vec<_>>(), "total_tables": all.len()})
    }

    fn tables(&self) -> Vec<String> {
        self.column("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid")
    }

    /// The answer of `describe_tables` for the whole shop.
    pub fn catalog(&self) -> Value {
        let tables: Vec<Value> = self.tables().iter().map(|t| self.table(t)).collect();
        json!({"tables": tables})
    }

    fn table(&self, table: &str) -> Value {
        let columns = self.objects(&format!(
            "SELECT json_object('name', name, 'type', type, 'nullable', json(iif(\"notnull\" = 0 AND pk = 0, 'true', 'false')))
             FROM pragma_table_info('{table}')"
        ));
        let columns: Vec<Value> = columns
            .into_iter()
            .map(|c| self.column_values(table, c))
            .collect();
        let foreign_keys = self.objects(&format!(
            "SELECT json_object('columns', json_group_array(\"from\"), 'references', 'main.' || \"table\",
                 'referenced_columns', json_group_array(\"to\"))
             FROM (SELECT * FROM pragma_foreign_key_list('{table}') ORDER BY id, seq) GROUP BY id"
        ));
        let kind = self.one(&format!(
            "SELECT upper(type) FROM sqlite_master WHERE name = '{table}'"
        ));
        let key = self.column(&format!(
            "SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk"
        ));
        let count: u64 = self
            .one(&format!("SELECT count(*) FROM {table}"))
            .parse()
            .unwrap();
        json!({
            "datasource": "shop", "dialect": "sqlite", "table": format!("main.{table}"), "type": kind, "columns": columns,
            "primary_key": key, "row_count": count, "foreign_keys": foreign_keys,
        })
    }

    /// A column with what the catalog says of its values.
    fn column_values(&self, table: &str, mut column: Value) -> Value {
        let name = column["name"].as_str().unwrap().to_owned();
        let one = |value: &str| self.one(&format!("SELECT {value} FROM {table}"));
        let common = self.column(&format!(
            "SELECT CAST({name} AS TEXT) FROM {table} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 10"
        ));
        column["common_values"] = json!(common);
        column["min"] = json!(one(&format!("CAST(min({name}) AS TEXT)")));
        column["max"] = json!(one(&format!("CAST(max({name}) AS TEXT)")));
        column["distinct_count"] = json!(
            one(&format!("count(DISTINCT {name})"))
                .parse::<u64>()
                .unwrap()
        );
        if name == "discount" {
            column["description"] = json!("Taken off the line, in euros");
        }
        column
    }

    /// The objects that a statement makes.
    fn objects(&self, sql: &str) -> Vec<Value> {
        let texts = self.column(sql);
        texts
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect()
    }

    pub fn rows(&self, sql: &str) -> rusqlite::Result<(Vec<String>, Vec<Vec<Value>>)> {
        let mut statement = self.db.prepare(sql)?;
        let names: Vec<String> = statement
            .column_names()
            .iter()
            .map(|n| (*n).to_owned())
            .collect();
        let cells = |row: &Row<'_>| (0..names.len()).map(|i| row.get_ref(i).map(cell)).collect();
        let rows = statement
            .query_map([], cells)?
            .collect::<rusqlite::Result<_>>()?;
        Ok((names, rows))
    }
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(i) => json!(i),
        ValueRef::Real(f) => json!(f),
        ValueRef::Text(t) => json!(String::from_utf8_lossy(t)),
        ValueRef::Blob(_) => json!("blob"),
    }
}
