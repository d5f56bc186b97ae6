//! Servers that lie: they speak their protocol as they should, and say what a test has them say. This one is
//! PostgreSQL.

mod http;
mod talk;

pub use http::{HeardRequest, Lie, LyingHttp};

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// A cell as text.
pub type Cell = Option<String>;

/// What the server says to a statement.
pub enum Said {
    /// Columns by name and the number of their type, and rows, perhaps without an end.
    Rows(
        Vec<(String, u32)>,
        Box<dyn Iterator<Item = Vec<Cell>> + Send>,
    ),
    /// An error of that SQLSTATE.
    Error(&'static str, String),
    /// The same bytes without an end.
    Forever(Vec<u8>),
}

impl Said {
    /// Some rows of one column.
    pub fn column<const N: usize>(
        name: impl Into<String>,
        type_number: u32,
        cells: [&str; N],
    ) -> Self {
        let rows = cells.map(|cell| vec![Some(cell.to_owned())]);
        Self::Rows(vec![(name.into(), type_number)], Box::new(rows.into_iter()))
    }

    /// Rows of the catalog, whose columns are not looked at.
    pub fn catalog(rows: impl Iterator<Item = Vec<Cell>> + Send + 'static) -> Self {
        Self::Rows(Vec::new(), Box::new(rows))
    }
}

type Script = dyn Fn(&str) -> Option<Said> + Send + Sync;

/// The server. It ends when it is dropped.
pub struct LyingPostgres {
    port: u16,
    script: Arc<Mutex<Arc<Script>>>,
    server: JoinHandle<()>,
}

impl LyingPostgres {
    /// A server that says the truth about one table, `public.item`, until it is told to lie.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let script: Arc<Mutex<Arc<Script>>> = Arc::new(Mutex::new(Arc::new(|_: &str| None)));
        let told = Arc::clone(&script);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let told = Arc::clone(&told);
                tokio::spawn(async move {
                    let answer = |sql: &str| {
                        let script: Arc<Script> =
                            Arc::clone(&*told.lock().unwrap_or_else(PoisonError::into_inner));
                        script(sql).unwrap_or_else(|| truth(sql))
                    };
                    // A client that leaves in the middle is what these tests are about.
                    let _ = talk::serve(stream, answer).await;
                });
            }
        });
        Self {
            port,
            script,
            server,
        }
    }

    /// From now on statements are answered so; `None` is the truth. Behind the text of a statement stand its parameters,
    /// each on a line.
    pub fn lie(&self, script: impl Fn(&str) -> Option<Said> + Send + Sync + 'static) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(script);
    }

    /// How a datasource reaches it.
    pub fn connection_data(&self) -> Value {
        json!({
            "host": "127.0.0.1", "port": self.port, "user": "u", "database": "d", "sslmode": "disable",
        })
    }
}

impl Drop for LyingPostgres {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What an honest server says to the statements of the connector.
fn truth(sql: &str) -> Said {
    let row = |cells: &[&str]| {
        let empty = |cell: &&str| (!cell.is_empty()).then(|| (*cell).to_owned());
        cells.iter().map(empty).collect::<Vec<Cell>>()
    };
    let rows = |rows: Vec<Vec<Cell>>| Said::catalog(rows.into_iter());
    let column = |name: &str, native: &str| row(&["1", name, native, "f", "", "", "", ""]);
    match sql {
        sql if sql.contains("version()") => rows(vec![row(&["PostgreSQL 15.0 (honest)"])]),
        sql if sql.contains("obj_description") => {
            rows(vec![row(&["1", "public", "item", "r", "", "3"])])
        }
        sql if sql.contains("pg_get_expr") => rows(vec![
            column("id", "integer"),
            column("doc", "jsonb"),
            column("price", "numeric"),
        ]),
        sql if sql.contains("pg_constraint") => rows(Vec::new()),
        sql if sql.contains("pg_stats") => {
            let asked = |name: &&str| sql.contains(&format!("\"{name}\""));
            let columns = ["id", "doc", "price"].into_iter().filter(asked);
            rows(
                columns
                    .map(|name| row(&[name, "0", "-1", "", "", "", "text", ",", "3"]))
                    .collect(),
            )
        }
        sql if sql.contains("pg_class") => rows(vec![row(&["public", "item"])]),
        // The sample of the whole table.
        sql if sql.contains("\"price\"") => {
            let columns = [("id", 23), ("doc", 3802), ("price", 1700)];
            let columns = columns.map(|(name, number)| (name.to_owned(), number));
            let sampled = ["1", "2", "3"].map(|id| row(&[id, "{}", "0.5"]));
            Said::Rows(columns.into(), Box::new(sampled.into_iter()))
        }
        _ => Said::column("id", 23, ["1", "2", "3"]),
    }
}
