//! Customers and where they live.

use rusqlite::{Connection, Result, params};

use super::{
    calendar::{DAYS, FIRST_DAY, date, timestamp},
    random::Random,
    words::{COUNTRIES, FAMILY, GIVEN, STREETS},
};

const CUSTOMERS: i64 = 6_000;

/// What orders need to know of a customer.
#[derive(Debug)]
pub(super) struct Customer {
    pub(super) id: i64,
    pub(super) registered: i64,
    pub(super) delivery_address: i64,
}

pub(super) fn write(db: &Connection, random: &mut Random) -> Result<Vec<Customer>> {
    let mut insert = db.prepare("INSERT INTO customers VALUES (?,?,?,?,?,?,?,?,?)")?;
    let mut customers = Vec::new();
    let mut next_address = 1;
    for id in 1..=CUSTOMERS {
        let country = country(random);
        let (country_name, prefix, ..) = COUNTRIES[country];
        let name = name(random, country);
        let email = format!(
            "customer.{id}@{}",
            random.pick(&["example.com", "example.org", "mail.example"])
        );
        let phone = random
            .percent(62)
            .then(|| format!("{prefix} {}", random.between(100_000_000, 999_999_999)));
        let segment = random.weighted(&[("private", 80), ("business", 15), ("education", 5)]);
        let birth = random
            .percent(30)
            .then(|| date(random.between(-9_000, 13_000)));
        // In order, from a year before the first order on.
        let registered = FIRST_DAY - 365 + (id - 1) * (DAYS + 335) / CUSTOMERS;
        let registered_at = timestamp(registered, random.between(0, 86_399));
        let newsletter = random.percent(41);
        insert.execute(params![
            id,
            name,
            email,
            phone,
            country_name,
            segment,
            birth,
            newsletter,
            registered_at
        ])?;
        let delivery_address = next_address;
        next_address += addresses(db, random, id, country, next_address)?;
        customers.push(Customer {
            id,
            registered,
            delivery_address,
        });
    }
    Ok(customers)
}

fn country(random: &mut Random) -> usize {
    let weights: Vec<(&str, u64)> = COUNTRIES
        .iter()
        .map(|(name, .., weight)| (*name, *weight))
        .collect();
    let name = random.weighted(&weights);
    COUNTRIES
        .iter()
        .position(|(country, ..)| *country == name)
        .unwrap_or(0)
}

fn name(random: &mut Random, country: usize) -> String {
    let (given, family) = (random.pick(GIVEN[country]), random.pick(FAMILY[country]));
    match COUNTRIES[country].0 {
        "Japan" => format!("{family} {given}"),
        _ => format!("{given} {family}"),
    }
}

/// One or two addresses; the first is for delivery. Gives how many.
fn addresses(
    db: &Connection,
    random: &mut Random,
    customer: i64,
    country: usize,
    first: i64,
) -> Result<i64> {
    let (country, _, cities, _) = COUNTRIES[country];
    let mut insert = db.prepare_cached("INSERT INTO addresses VALUES (?,?,?,?,?,?,?)")?;
    let count = if random.percent(35) { 2 } else { 1 };
    for (id, kind) in (first..first + count).zip(["delivery", "billing"]) {
        let street = format!("{} {}", random.pick(STREETS), random.between(1, 180));
        let code = (country != "Ireland" || random.percent(30))
            .then(|| format!("{:05}", random.below(100_000)));
        insert.execute(params![
            id,
            customer,
            kind,
            street,
            random.pick(cities),
            code,
            country
        ])?;
    }
    Ok(count)
}
