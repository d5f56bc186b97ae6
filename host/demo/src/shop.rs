//! A believable shop: two SQLite databases, the same on every machine, of more than 200,000 rows.
//!
//! `shop.db` holds the business (ten tables, two views), `warehouse.db` the stock (four tables, one view). There
//! are keys, composite ones too, comments, NULLs, Unicode, decimals, dates and blobs. All amounts are multiples of
//! a quarter, which a binary fraction holds exactly, so that sums are exact in every engine.

mod business;
mod calendar;
mod people;
mod random;
mod stock;
mod words;

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Result};

use random::Random;

/// The tables of `shop.db`.
pub const SHOP_TABLES: &[&str] = &[
    "customers",
    "addresses",
    "categories",
    "products",
    "orders",
    "order_items",
    "payments",
    "shipments",
    "returns",
    "reviews",
];

/// The tables of `warehouse.db`.
pub const WAREHOUSE_TABLES: &[&str] = &["warehouses", "suppliers", "inventory", "movements"];

/// How many rows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// In `shop.db`.
    pub shop: i64,
    /// In `warehouse.db`.
    pub warehouse: i64,
}

/// Writes `shop.db` and `warehouse.db` into a folder, in place of older ones.
///
/// # Errors
/// When the folder cannot be written.
pub fn write(folder: &Path) -> Result<Size> {
    let skus = write_shop(&fresh(
        &folder.join("shop.db"),
        include_str!("shop/shop.sql"),
    )?)?;
    let warehouse = fresh(
        &folder.join("warehouse.db"),
        include_str!("shop/warehouse.sql"),
    )?;
    in_transaction(&warehouse, |db| {
        stock::write(db, &mut Random::new(7), &skus)
    })?;
    let shop = Connection::open(folder.join("shop.db"))?;
    Ok(Size {
        shop: rows(&shop, SHOP_TABLES)?,
        warehouse: rows(&warehouse, WAREHOUSE_TABLES)?,
    })
}

/// Whether a folder has both databases, as far as the names of their tables tell.
pub(crate) fn is_in(folder: &Path) -> bool {
    let holds = |file: &str, tables: &[&str]| -> Result<bool> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let db = Connection::open_with_flags(folder.join(file), flags)?;
        let mut is_there =
            db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
        for table in tables {
            if !is_there.exists([table])? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    holds("shop.db", SHOP_TABLES).unwrap_or(false)
        && holds("warehouse.db", WAREHOUSE_TABLES).unwrap_or(false)
}

fn write_shop(db: &Connection) -> Result<Vec<String>> {
    in_transaction(db, |db| {
        let random = &mut Random::new(42);
        let customers = people::write(db, random)?;
        let products = business::products(db, random)?;
        business::orders(db, random, &customers, &products)?;
        business::reviews(db, random, &customers, &products)?;
        Ok(products.into_iter().map(|product| product.sku).collect())
    })
}

fn fresh(path: &Path, schema: &str) -> Result<Connection> {
    let _ = std::fs::remove_file(path);
    let db = Connection::open(path)?;
    // A half-written database is written again anyway, so nothing needs to reach the disk in order. Lines are
    // written before the order that they sum up to, so keys hold at the end only.
    db.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;",
    )?;
    db.execute_batch(schema)?;
    Ok(db)
}

fn in_transaction<T>(db: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    db.execute_batch("BEGIN")?;
    let done = work(db)?;
    db.execute_batch("COMMIT; ANALYZE;")?;
    Ok(done)
}

fn rows(db: &Connection, tables: &[&str]) -> Result<i64> {
    let count = |table: &&str| {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
            row.get::<_, i64>(0)
        })
    };
    tables.iter().map(count).sum()
}

/// An amount in quarters of a euro, as SQLite keeps it.
fn euros(quarters: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
    let quarters = quarters as f64;
    quarters / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shop_is_large_whole_and_always_the_same() {
        let folder = tempfile::TempDir::new().unwrap();
        assert!(!is_in(folder.path()));
        let size = write(folder.path()).unwrap();
        assert!(is_in(folder.path()));
        assert!(size.shop + size.warehouse > 200_000, "{size:?}");
        for file in ["shop.db", "warehouse.db"] {
            let db = Connection::open(folder.path().join(file)).unwrap();
            let broken: i64 = db
                .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(broken, 0, "{file}");
        }
        let db = Connection::open(folder.path().join("shop.db")).unwrap();
        let off: i64 = db.query_row(
            "SELECT count(*) FROM orders o WHERE total <> shipping_fee +
               (SELECT sum(quantity * unit_price - discount) FROM order_items i WHERE i.order_id = o.id)",
            [],
            |row| row.get(0),
        )
        .unwrap();
        assert_eq!(off, 0, "an order's total is the sum of its lines");
    }
}
