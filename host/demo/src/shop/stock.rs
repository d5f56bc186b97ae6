//! Buildings, suppliers, pieces on the shelf, and how they came and went.

use rusqlite::{Connection, Result, params};

use super::{
    calendar::{DAYS, FIRST_DAY, date, timestamp},
    euros,
    random::Random,
    words::{COUNTRIES, SUPPLIERS},
};

const WAREHOUSES: &[(&str, &str, i64)] = &[
    ("CGN", "Köln", 40_000),
    ("LYS", "Lyon", 25_000),
    ("WRO", "Wrocław", 60_000),
    ("GOT", "Göteborg", 15_000),
];
const SUPPLIER_COUNT: i64 = 60;
const MOVEMENTS: i64 = 30_000;

pub(super) fn write(db: &Connection, random: &mut Random, skus: &[String]) -> Result<()> {
    for (index, (code, city, capacity)) in (0..).zip(WAREHOUSES) {
        let opened = date(FIRST_DAY - 900 + index * 310);
        db.execute(
            "INSERT INTO warehouses VALUES (?,?,?,?)",
            params![code, city, capacity, opened],
        )?;
    }
    suppliers(db, random)?;
    let shelves = inventory(db, random, skus)?;
    movements(db, random, &shelves)
}

fn suppliers(db: &Connection, random: &mut Random) -> Result<()> {
    let mut insert = db.prepare("INSERT INTO suppliers VALUES (?,?,?,?,?)")?;
    for id in 1..=SUPPLIER_COUNT {
        let (country, _, cities, _) = COUNTRIES[usize::try_from(id).unwrap_or(0) % COUNTRIES.len()];
        let name = format!("{} {} {id}", random.pick(SUPPLIERS), random.pick(cities));
        let lead = random.percent(85).then(|| random.between(2, 45));
        let contact = random
            .percent(70)
            .then(|| format!("sales{id}@supplier.example"));
        insert.execute(params![id, name, country, lead, contact])?;
    }
    Ok(())
}

/// Every product lies in at least one building.
fn inventory<'a>(
    db: &Connection,
    random: &mut Random,
    skus: &'a [String],
) -> Result<Vec<(&'static str, &'a str)>> {
    let mut insert = db.prepare("INSERT INTO inventory VALUES (?,?,?,?,?,?,?)")?;
    let mut shelves = Vec::new();
    for (index, sku) in skus.iter().enumerate() {
        for (place, (code, ..)) in WAREHOUSES.iter().enumerate() {
            if index % WAREHOUSES.len() != place && !random.percent(40) {
                continue;
            }
            let supplier = random.between(1, SUPPLIER_COUNT);
            let reorder = random.between(1, 12) * 5;
            let on_hand = if random.percent(8) {
                random.between(0, reorder - 1)
            } else {
                random.between(reorder, 400)
            };
            let counted = random
                .percent(75)
                .then(|| date(FIRST_DAY + DAYS - random.between(1, 360)));
            insert.execute(params![
                code,
                sku,
                supplier,
                on_hand,
                reorder,
                euros(random.between(4, 480)),
                counted
            ])?;
            shelves.push((*code, sku.as_str()));
        }
    }
    Ok(shelves)
}

fn movements(db: &Connection, random: &mut Random, shelves: &[(&str, &str)]) -> Result<()> {
    let mut insert = db.prepare("INSERT INTO movements VALUES (?,?,?,?,?,?)")?;
    for id in 1..=MOVEMENTS {
        let (code, sku) = shelves[random.skewed(shelves.len())];
        let kind = random.weighted(&[
            ("sale", 70),
            ("delivery", 20),
            ("return", 7),
            ("correction", 3),
        ]);
        let quantity = match kind {
            "sale" => -random.between(1, 6),
            "delivery" => random.between(2, 20) * 10,
            "return" => random.between(1, 3),
            _ => random.between(-5, 5),
        };
        let moved_at = timestamp(
            FIRST_DAY + id * (DAYS - 1) / MOVEMENTS,
            random.between(21_600, 72_000),
        );
        insert.execute(params![id, code, sku, kind, quantity, moved_at])?;
    }
    Ok(())
}
