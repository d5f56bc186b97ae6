//! What the model was told of the tables, as far as the steps of an answer show it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    statement::{Column, Facts},
    table_name::TableName,
};

/// Tables and columns that the steps of one answer name.
#[derive(Clone, Debug, Default)]
pub struct NamedItems {
    /// What the prompt showed of the catalog; `None` if no step says so.
    prompt: Option<Names>,
    /// What the model was told by its tools.
    tools: Names,
    /// Whether some step says which tables the model was told of by tools.
    is_visible: bool,
    /// Statements that were refused or failed.
    pub repairs: u32,
}

/// Tables, each with those of its columns that were named, in lower case.
#[derive(Clone, Debug, Default)]
struct Names {
    tables: BTreeMap<TableName, BTreeSet<String>>,
}

/// Shares of what an accepted statement needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recall {
    /// Tables, from 0 to 1; `None` if no step names any.
    pub tables: Option<f64>,
    /// Columns, from 0 to 1.
    pub columns: Option<f64>,
}

impl NamedItems {
    /// Reads the `step` of each `response.mindhost.step` event. Tables are known from the step `context`, which lists
    /// those of the prompt. Servers that send none are judged by the list `tables` of another step, by what
    /// `describe_tables` names, and by the statements that ran.
    pub fn of(steps: &[Value]) -> Self {
        let mut told = Self::default();
        for step in steps {
            told.read(step);
        }
        told
    }

    fn read(&mut self, step: &Value) {
        let name = step["name"].as_str().unwrap_or_default();
        let has_failed = step["status"] == "failed";
        if name == "context" {
            // Without tables, the prompt showed none.
            return self.prompt.get_or_insert_default().add(&step["tables"]);
        }
        if name == "run_sql" {
            self.repairs += u32::from(has_failed);
            if !has_failed && let Some(sql) = step["sql"].as_str() {
                self.tools.add_facts(Facts::of(sql));
            }
        }
        self.is_visible |= step["tables"].as_array().is_some_and(|all| !all.is_empty());
        self.tools.add(&step["tables"]);
        if name == "describe_tables" && !has_failed && step["tables"].is_null() {
            self.is_visible = true;
            let names = step["message"].as_str().unwrap_or_default();
            for table in names.split(", ").filter_map(|name| TableName::of([name])) {
                self.tools.tables.entry(table).or_default();
            }
        }
    }

    /// How much of an accepted statement's needs the prompt showed, or else the tools told. A described table was told
    /// with all of its columns.
    pub fn recall(&self, gold: &Facts) -> Recall {
        let told = match &self.prompt {
            Some(prompt) => prompt,
            None if self.is_visible => &self.tools,
            None => return Recall::default(),
        };
        if gold.tables.is_empty() {
            return Recall::default();
        }
        let tables = share(&gold.tables, |table| told.has_table(table));
        // What `describe_tables` showed of a table is not known, so columns count only if each table was told.
        let columns = match self.prompt.is_none() && tables >= 1.0 {
            true => 1.0,
            false => share(&gold.columns, |column| told.has_column(column)),
        };
        Recall {
            tables: Some(tables),
            columns: Some(columns),
        }
    }
}

impl Names {
    /// Adds the list `tables` of a step.
    fn add(&mut self, tables: &Value) {
        for table in tables.as_array().into_iter().flatten() {
            let name = table["name"].as_str().or(table.as_str());
            let Some(name) = name.and_then(|name| TableName::of([name])) else {
                continue;
            };
            let columns = table["columns"].as_array().into_iter().flatten();
            let columns = columns.filter_map(|column| {
                let name = column["name"].as_str().or(column.as_str());
                name.map(str::to_lowercase)
            });
            self.tables.entry(name).or_default().extend(columns);
        }
    }

    /// Adds what a statement reads. A column that may be of several tables is added to each.
    fn add_facts(&mut self, facts: Facts) {
        for table in facts.tables {
            self.tables.entry(table).or_default();
        }
        for Column { name, tables } in facts.columns {
            for table in tables {
                self.tables.entry(table).or_default().insert(name.clone());
            }
        }
    }

    fn has_table(&self, table: &TableName) -> bool {
        self.tables.keys().any(|told| told.agrees(table))
    }

    /// Whether a table that the column may be of was told with it.
    fn has_column(&self, column: &Column) -> bool {
        self.tables.iter().any(|(told, columns)| {
            columns.contains(&column.name) && column.tables.iter().any(|one| one.agrees(told))
        })
    }
}

fn share<T>(needed: &BTreeSet<T>, is_told: impl Fn(&T) -> bool) -> f64 {
    match needed.len() {
        0 => 1.0,
        all => needed.iter().filter(|one| is_told(one)).count() as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn recall_is_the_share_of_tables_that_were_told() {
        let gold =
            Facts::of("SELECT o.total FROM orders o JOIN customers c ON c.id = o.customer_id");
        let step = |names: &str| json!({"name": "describe_tables", "status": "completed", "message": names});
        let recall = |steps: &[Value]| NamedItems::of(steps).recall(&gold);
        assert_eq!(recall(&[]).tables, None);
        assert_eq!(recall(&[step("shop.orders")]).tables, Some(0.5));
        assert_eq!(
            recall(&[step("shop.orders"), step("shop.Customers, x")]).columns,
            Some(1.0)
        );
        let tables = json!([{"name": "orders", "columns": ["total"]}]);
        let listed = json!({"name": "find_tables", "status": "completed", "tables": tables});
        let listed = recall(&[listed]);
        assert_eq!(listed.tables, Some(0.5));
        assert!(
            listed
                .columns
                .is_some_and(|share| (share - 1.0 / 3.0).abs() < 1e-9)
        );
    }

    #[test]
    fn recall_is_that_of_the_prompt_where_it_is_known() {
        let gold = Facts::of(
            "SELECT name, sum(total) FROM orders JOIN customers USING (id) GROUP BY name",
        );
        let context =
            |tables: Value| json!({"name": "context", "status": "completed", "tables": tables});
        let table = |name: &str, columns: &[&str]| json!({"name": name, "columns": columns});
        // The model found the other table later, which does not change what the prompt had.
        let later = [
            json!({"name": "describe_tables", "status": "completed", "message": "shop.main.customers"}),
            json!({"name": "run_sql", "status": "completed", "sql": "SELECT name FROM customers"}),
        ];
        let recall = |step: Value| {
            let steps = [&[step][..], &later].concat();
            let Recall { tables, columns } = NamedItems::of(&steps).recall(&gold);
            (tables, columns)
        };
        let orders = table("shop.main.orders", &["id", "total"]);
        let whole = table("shop.main.Customers", &["id", "Name"]);
        // It was told of both, but not of all their columns.
        let cut = table("shop.main.customers", &["id"]);
        assert_eq!(
            recall(context(json!([orders, whole]))),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(
            recall(context(json!([orders, cut]))),
            (Some(1.0), Some(0.5))
        );
        assert_eq!(recall(context(json!([orders]))), (Some(0.5), Some(0.5)));
        assert_eq!(recall(context(Value::Null)), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn tables_of_other_schemas_and_columns_of_other_tables_are_not_told() {
        let context = json!({"name": "context", "status": "completed", "tables": [
            {"name": "shop.archive.orders", "columns": ["id", "total"]},
            {"name": "shop.public.customers", "columns": ["id", "name"]},
        ]});
        let recall = |gold: &str| {
            let told = NamedItems::of(std::slice::from_ref(&context));
            let Recall { tables, columns } = told.recall(&Facts::of(gold));
            (tables, columns)
        };
        // Another schema, and another datasource.
        assert_eq!(
            recall("SELECT total FROM public.orders"),
            (Some(0.0), Some(0.0))
        );
        assert_eq!(
            recall("SELECT total FROM crm.archive.orders"),
            (Some(0.0), Some(0.0))
        );
        // The same, and as much of it as the statement says.
        for name in [
            "orders",
            "archive.orders",
            "shop.orders",
            "Shop.Archive.Orders",
        ] {
            let gold = format!("SELECT total FROM {name}");
            assert_eq!(recall(&gold), (Some(1.0), Some(1.0)), "{name}");
        }
        // `orders` has no `name` and `customers` no `total`.
        assert_eq!(
            recall(
                "SELECT o.name, c.total, o.id, c.id FROM orders o JOIN customers c ON c.id = o.id"
            ),
            (Some(1.0), Some(0.5))
        );
        assert_eq!(
            recall(
                "SELECT archive.orders.total, public.orders.total FROM archive.orders, public.orders"
            ),
            (Some(0.5), Some(0.5))
        );
    }

    #[test]
    fn cte_with_the_name_of_a_table_does_not_lower_recall() {
        let context = json!({"name": "context", "status": "completed", "tables": [
            {"name": "shop.main.orders", "columns": ["customer_id", "total", "paid"]},
            {"name": "shop.main.customers", "columns": ["id", "name"]},
        ]});
        let whole = Recall {
            tables: Some(1.0),
            columns: Some(1.0),
        };
        for gold in [
            "WITH orders AS (SELECT * FROM orders WHERE paid) \
             SELECT o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id",
            "WITH t(cid, n) AS (SELECT customer_id, count(*) FROM orders GROUP BY customer_id) \
             SELECT name, t.n FROM t JOIN customers c ON c.id = cid ORDER BY n DESC",
        ] {
            let told = NamedItems::of(std::slice::from_ref(&context));
            assert_eq!(told.recall(&Facts::of(gold)), whole, "{gold}");
        }
    }

    #[test]
    fn failed_statements_are_repairs() {
        let failed = json!({"name": "run_sql", "status": "failed", "sql": "SELECT x"});
        assert_eq!(NamedItems::of(&[failed.clone(), failed]).repairs, 2);
    }
}
