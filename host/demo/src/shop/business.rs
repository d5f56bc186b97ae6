//! Products, and everything that happens to an order.

use std::collections::HashSet;

use rusqlite::{Connection, Result, params};

use super::{
    calendar::{DAYS, FIRST_DAY, TODAY, date, month, timestamp},
    euros,
    people::Customer,
    random::Random,
    words::{CARRIERS, CATEGORIES, COMMENTS, MATERIALS, REASONS, SERIES},
};

const ORDERS: usize = 45_000;
const REVIEWS: i64 = 14_000;

/// What orders need to know of a product. Prices are in quarters of a euro.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) id: i64,
    pub(super) sku: String,
    price: i64,
    introduced: i64,
}

pub(super) fn products(db: &Connection, random: &mut Random) -> Result<Vec<Product>> {
    let mut category = db.prepare("INSERT INTO categories VALUES (?,?,?)")?;
    let mut products = Vec::new();
    let mut names = HashSet::new();
    let mut next = 1;
    for (top, below) in CATEGORIES {
        let parent = next;
        category.execute(params![parent, None::<i64>, top])?;
        next += 1;
        for (name, goods) in *below {
            category.execute(params![next, parent, name])?;
            for thing in *goods {
                for _ in 0..random.between(9, 14) {
                    let name = unused_name(random, thing, &mut names);
                    products.push(product(db, random, next, &name, products.len())?);
                }
            }
            next += 1;
        }
    }
    Ok(products)
}

fn product(
    db: &Connection,
    random: &mut Random,
    category: i64,
    name: &str,
    before: usize,
) -> Result<Product> {
    let mut insert = db.prepare_cached("INSERT INTO products VALUES (?,?,?,?,?,?,?,?,?)")?;
    let id = i64::try_from(before).unwrap_or(0) + 1;
    let sku = format!("{:02}-{id:04}", category);
    let price = random.between(12, 120) * random.between(1, 6);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand grams")]
    let weight = random
        .percent(90)
        .then(|| random.between(40, 9_000) as f64 / 1000.0);
    let thumbnail = random.percent(55).then(|| bitmap(random));
    // Two thirds were there from the first day on.
    let introduced = if random.percent(66) {
        FIRST_DAY
    } else {
        FIRST_DAY + random.between(1, DAYS - 120)
    };
    let discontinued = random.percent(6);
    let values = params![
        id,
        category,
        sku,
        name,
        euros(price),
        weight,
        thumbnail,
        date(introduced),
        discontinued
    ];
    insert.execute(values)?;
    Ok(Product {
        id,
        sku,
        price,
        introduced,
    })
}

fn unused_name(random: &mut Random, thing: &str, names: &mut HashSet<String>) -> String {
    loop {
        let name = format!(
            "{thing} “{}” {}",
            random.pick(SERIES),
            random.pick(MATERIALS)
        );
        if names.insert(name.clone()) {
            return name;
        }
    }
}

/// A bitmap of 4 × 4 pixels in two colours, as any viewer opens it.
fn bitmap(random: &mut Random) -> Vec<u8> {
    let mut bytes =
        b"BM\x66\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x04\0\0\0\x04\0\0\0\x01\0\x18\0".to_vec();
    bytes.extend([0; 24]);
    let colours: [[u8; 3]; 2] = [0, 1].map(|_| {
        random.next().to_le_bytes()[..3]
            .try_into()
            .unwrap_or([0; 3])
    });
    for pixel in 0..16 {
        bytes.extend(colours[usize::from((pixel / 4 + pixel) % 2 == 0)]);
    }
    bytes
}

/// An order that was placed and is now followed to its end.
struct Order {
    id: i64,
    day: i64,
    status: &'static str,
    total: i64,
    lines: i64,
}

pub(super) fn orders(
    db: &Connection,
    random: &mut Random,
    customers: &[Customer],
    products: &[Product],
) -> Result<()> {
    let mut days: Vec<i64> = (0..ORDERS).map(|_| day(random)).collect();
    days.sort_unstable();
    for (id, day) in (1..).zip(days) {
        let registered = customers.partition_point(|customer| customer.registered <= day);
        let customer = &customers[random.skewed(registered)];
        let order = order(db, random, (id, day), customer, products)?;
        payment(db, random, &order)?;
        shipment(db, random, &order)?;
        returned(db, random, &order)?;
    }
    Ok(())
}

/// More every year, and most before the winter holidays.
fn day(random: &mut Random) -> i64 {
    loop {
        let day = FIRST_DAY + random.between(0, DAYS - 1).max(random.between(0, DAYS - 1));
        let busy = match month(day) {
            11 => 90,
            12 => 100,
            1 | 2 | 8 => 45,
            _ => 60,
        };
        if random.percent(busy) {
            return day;
        }
    }
}

fn status(random: &mut Random, age: i64) -> &'static str {
    match age {
        0..=2 => random.weighted(&[("pending", 40), ("paid", 60)]),
        3..=9 => random.weighted(&[("paid", 20), ("shipped", 75), ("cancelled", 5)]),
        _ => random.weighted(&[("delivered", 90), ("cancelled", 5), ("returned", 5)]),
    }
}

fn order(
    db: &Connection,
    random: &mut Random,
    (id, day): (i64, i64),
    customer: &Customer,
    products: &[Product],
) -> Result<Order> {
    let status = status(random, TODAY - day);
    let lines = random.weighted(&[("1", 40), ("2", 28), ("3", 17), ("4", 10), ("5", 5)]);
    let lines = lines.parse().unwrap_or(1);
    let mut sum = 0;
    for line in 1..=lines {
        sum += item(db, random, (id, line, day), products)?;
    }
    let channel = random.weighted(&[("web", 58), ("app", 37), ("phone", 5)]);
    let address = (!random.percent(4)).then_some(customer.delivery_address);
    let fee = if address.is_none() || sum >= 200 {
        0
    } else {
        18
    };
    let voucher = random
        .percent(7)
        .then(|| random.pick(&["WELCOME", "SPRING", "MERCI5", "友達"]));
    let total = sum + fee;
    let placed = timestamp(day, random.between(0, 86_399));
    db.prepare_cached("INSERT INTO orders VALUES (?,?,?,?,?,?,?,?,?)")?
        .execute(params![
            id,
            customer.id,
            address,
            status,
            channel,
            voucher,
            euros(fee),
            euros(total),
            placed
        ])?;
    Ok(Order {
        id,
        day,
        status,
        total,
        lines,
    })
}

/// Writes one line and gives its price in quarters.
fn item(
    db: &Connection,
    random: &mut Random,
    (order, line, day): (i64, i64, i64),
    products: &[Product],
) -> Result<i64> {
    let product = loop {
        let product = &products[random.skewed(products.len())];
        if product.introduced <= day {
            break product;
        }
    };
    let quantity = random
        .weighted(&[("1", 70), ("2", 18), ("3", 7), ("6", 4), ("12", 1)])
        .parse()
        .unwrap_or(1);
    // Prices rose by a tenth over the years.
    let price = product.price * (900 + 100 * (day - FIRST_DAY) / DAYS) / 1000;
    let discount = if random.percent(12) {
        quantity * price / 10
    } else {
        0
    };
    db.prepare_cached("INSERT INTO order_items VALUES (?,?,?,?,?,?)")?
        .execute(params![
            order,
            line,
            product.id,
            quantity,
            euros(price),
            euros(discount)
        ])?;
    Ok(quantity * price - discount)
}

fn payment(db: &Connection, random: &mut Random, order: &Order) -> Result<()> {
    if matches!(order.status, "pending" | "cancelled") {
        return Ok(());
    }
    let method = random.weighted(&[
        ("card", 45),
        ("wallet", 28),
        ("transfer", 15),
        ("invoice", 12),
    ]);
    let day = (order.day
        + if method == "invoice" {
            random.between(3, 14)
        } else {
            0
        })
    .min(TODAY - 1);
    db.prepare_cached("INSERT INTO payments (order_id, method, amount, paid_at) VALUES (?,?,?,?)")?
        .execute(params![
            order.id,
            method,
            euros(order.total),
            timestamp(day, random.between(0, 86_399))
        ])?;
    Ok(())
}

fn shipment(db: &Connection, random: &mut Random, order: &Order) -> Result<()> {
    if !matches!(order.status, "shipped" | "delivered" | "returned") {
        return Ok(());
    }
    let shipped = (order.day + random.between(0, 3)).min(TODAY - 1);
    let delivered =
        (order.status != "shipped").then(|| date((shipped + random.between(1, 6)).min(TODAY - 1)));
    let carrier = random.weighted(CARRIERS);
    let code = random
        .percent(93)
        .then(|| format!("{:012X}", random.next() >> 16));
    db.prepare_cached(
        "INSERT INTO shipments (order_id, carrier, tracking_code, shipped_on, delivered_on) VALUES (?,?,?,?,?)",
    )?
    .execute(params![order.id, carrier, code, date(shipped), delivered])?;
    Ok(())
}

fn returned(db: &Connection, random: &mut Random, order: &Order) -> Result<()> {
    if order.status != "returned" {
        return Ok(());
    }
    let day = (order.day + random.between(8, 25)).min(TODAY - 1);
    for line in 1..=random.between(1, order.lines) {
        let reason = random.percent(70).then(|| random.pick(REASONS));
        db.prepare_cached("INSERT INTO returns VALUES (?,?,1,?,?)")?
            .execute(params![order.id, line, reason, date(day)])?;
    }
    Ok(())
}

pub(super) fn reviews(
    db: &Connection,
    random: &mut Random,
    customers: &[Customer],
    products: &[Product],
) -> Result<()> {
    let mut insert = db.prepare("INSERT INTO reviews VALUES (?,?,?,?,?,?,?)")?;
    for id in 1..=REVIEWS {
        let product = &products[random.skewed(products.len())];
        let customer = &customers[random.skewed(customers.len())];
        let rating = random.weighted(&[("1", 6), ("2", 7), ("3", 14), ("4", 33), ("5", 40)]);
        let rating: i64 = rating.parse().unwrap_or(5);
        let words = COMMENTS[usize::try_from(rating - 1).unwrap_or(0)];
        let comment = random.percent(58).then(|| random.pick(words));
        let first = product.introduced.max(customer.registered);
        let written = timestamp(
            first + random.between(0, TODAY - 1 - first),
            random.between(0, 86_399),
        );
        let votes = if random.percent(20) {
            random.between(1, 40)
        } else {
            0
        };
        insert.execute(params![
            id,
            product.id,
            customer.id,
            rating,
            comment,
            votes,
            written
        ])?;
    }
    Ok(())
}
