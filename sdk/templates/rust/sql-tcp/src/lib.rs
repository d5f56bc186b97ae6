//! A SQL engine over TCP with TLS, in a protocol of its own: lines of JSON.

mod cells;
mod wire;

use std::time::Duration;

use mindhost_sdk::net::TcpStream;
use mindhost_sdk::tls::{self, Certificates, SslMode, TlsStream};
use mindhost_sdk::{
    Batch, BatchBuilder, BatchLimits, Column, Config, Connector, Result, ServerInfo, Statement,
    Table, TableColumn, TableRef, export_connector,
};
use serde::Deserialize;

use crate::cells::{column, value};
use crate::wire::{Welcome, Wire};

/// An engine without schemas uses one fixed name.
const SCHEMA: &str = "main";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For statements of the catalog.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(10);

/// What the datasource is configured with; `manifest.json` has its schema.
#[derive(Deserialize)]
struct Settings {
    host: String,
    port: u16,
    password: String,
    sslmode: SslMode,
    sslrootcert: Option<String>,
}

/// One connection.
struct Engine {
    wire: Wire<TlsStream<TcpStream>>,
    welcome: Welcome,
}

/// An answer in progress.
struct Answer {
    batch: BatchBuilder,
    max_cell_bytes: u64,
    /// All of it was read, so that the connection is free.
    has_ended: bool,
}

impl Settings {
    /// An encrypted connection, made anew where the server knows none of the ciphers that are offered first.
    fn dial(&self) -> Result<TlsStream<TcpStream>> {
        let certificates = Certificates {
            root: self.sslrootcert.as_deref(),
            ..Certificates::default()
        };
        let settings = tls::Settings::new(self.sslmode, &certificates)?;
        let dialled = tls::with_suites(|suites| {
            let mut socket = TcpStream::connect(&self.host, self.port, CONNECT_TIMEOUT)?;
            wire::upgrade(&mut socket)?;
            settings.handshake(&self.host, socket, suites)
        });
        dialled.map_err(|failure| failure.error)
    }
}

impl Engine {
    /// All rows of a short answer, as text.
    fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        self.wire.ask(sql, CATALOG_TIMEOUT)?;
        let mut rows = Vec::new();
        while let Some(row) = self.wire.row()? {
            let texts = row.iter().map(|cell| cell.as_str().unwrap_or_default());
            rows.push(texts.map(str::to_owned).collect());
        }
        Ok(rows)
    }
}

impl Connector for Engine {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Cursor = Answer;

    fn open(config: &Config) -> Result<Self> {
        let settings: Settings = config.parse()?;
        let mut wire = Wire::over(settings.dial()?);
        let welcome = wire.login(&settings.password)?;
        Ok(Self { wire, welcome })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        self.texts("select 1")?;
        let Welcome { product, version } = self.welcome.clone();
        Ok(ServerInfo::new(product, version))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        let names = self.texts(
            "select name from sqlite_master where type in ('table', 'view') order by name",
        )?;
        Ok(names
            .into_iter()
            .flatten()
            .map(|name| TableRef::new(SCHEMA, name))
            .collect())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        let mut described = Vec::new();
        for table in tables {
            let name = table.name.replace('\'', "''");
            let columns = self.texts(&format!(
                "select name, type from pragma_table_info('{name}') order by cid"
            ))?;
            if table.schema != SCHEMA || columns.is_empty() {
                continue;
            }
            let mut about = Table::new(table.clone(), "TABLE");
            about.columns = (1..)
                .zip(&columns)
                .map(|(ordinal, column)| TableColumn::new(&column[0], ordinal, &column[1]))
                .collect();
            described.push(about);
        }
        Ok(described)
    }

    fn query(&mut self, statement: &Statement) -> Result<Answer> {
        let columns = self.wire.ask(&statement.text, statement.timeout)?;
        Ok(Answer {
            batch: BatchBuilder::new(columns.into_iter().map(column).collect()),
            max_cell_bytes: statement.max_cell_bytes,
            has_ended: false,
        })
    }

    fn schema(&mut self, answer: &mut Answer) -> Result<Vec<Column>> {
        Ok(answer.batch.columns().to_vec())
    }

    fn next(&mut self, answer: &mut Answer, limits: BatchLimits) -> Result<Option<Batch>> {
        answer.batch.start(limits);
        while !answer.has_ended && !answer.batch.is_full() {
            let Some(row) = self.wire.row()? else {
                answer.has_ended = true;
                break;
            };
            for cell in row {
                answer.batch.append(value(cell, answer.max_cell_bytes)?);
            }
            answer.batch.end_row();
        }
        answer.batch.finish()
    }

    /// An answer that was not read to its end is still on its way: the host makes another connection.
    fn close(&mut self, answer: Answer) -> Result<bool> {
        Ok(answer.has_ended)
    }
}

export_connector!(Engine);

#[cfg(test)]
mod tests;
