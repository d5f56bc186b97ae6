//! Dates and times. DataFusion drops the hours of an interval that it adds to a day, and the fraction of the seconds
//! between two timestamps and of `extract(second …)`; shows a timestamp `AT TIME ZONE` as the moment that it was; has
//! no cast from nanoseconds for a time of day; and takes the patterns of `to_char` for those of another language.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    common::{DFSchema, Result, ScalarValue},
    functions::datetime::to_local_time,
    logical_expr::{
        Cast, Expr, ExprSchemable as _,
        expr::{FieldMetadata, ScalarFunction},
    },
};

use super::{interval_length, patterns};
use crate::timestamps::ZONE;

const LOCAL: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const NANOSECONDS_OF_A_SECOND: f64 = 1e9;
/// The digits of `59.999999`, and those of them behind the point.
const SECOND_DIGITS: u8 = 8;
const SECOND_SCALE: i8 = 6;
/// The bytes of `2024-01-31 10:00`.
const TO_THE_MINUTE: usize = 16;
/// Functions that read a text, which may be in one of some patterns.
const READERS: [&str; 6] = [
    "to_date",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
];

/// An expression with the meaning that SQL gives it.
pub fn exact(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::Cast(cast) => converted(cast, schema),
        Expr::ScalarFunction(call) => called(call, schema),
        other => Ok(other),
    }
}

/// The sides of a sum or a difference. A day and an interval that may have hours make a timestamp.
fn with_hours(left: &mut Expr, right: &mut Expr, schema: &DFSchema) -> Result<()> {
    let (of_left, of_right) = (left.get_type(schema)?, right.get_type(schema)?);
    if is_day(&of_left) && has_hours(right, &of_right) {
        *left = cast(std::mem::take(left), LOCAL);
    } else if is_day(&of_right) && has_hours(left, &of_left) {
        *right = cast(std::mem::take(right), LOCAL);
    } else {
        let mut sides = [std::mem::take(left), std::mem::take(right)];
        days_as_timestamps(&mut sides, &[of_left, of_right]);
        [*left, *right] = sides;
    }
    Ok(())
}

fn is_day(of: &DataType) -> bool {
    matches!(of, DataType::Date32 | DataType::Date64)
}

/// Whether an interval has parts of a day, or is not known before it is computed.
fn has_hours(interval: &Expr, of: &DataType) -> bool {
    match interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(parts)), _) => parts.nanoseconds != 0,
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => false,
        _ => matches!(of, DataType::Interval(_)),
    }
}

fn converted(to: Cast, schema: &DFSchema) -> Result<Expr> {
    let from = to.expr.get_type(schema)?;
    match to.field.data_type() {
        // As `AT TIME ZONE` is planned: all other timestamps are of microseconds.
        DataType::Timestamp(TimeUnit::Nanosecond, Some(zone)) if &**zone != ZONE => {
            let there = DataType::Timestamp(TimeUnit::Microsecond, Some(zone.clone()));
            Ok(match from {
                DataType::Timestamp(_, Some(_)) => {
                    to_local_time().call(vec![cast(*to.expr, there)])
                }
                DataType::Date32 | DataType::Date64 => moment(cast(cast(*to.expr, LOCAL), there)),
                _ => moment(cast(*to.expr, there)),
            })
        }
        DataType::Timestamp(..) | DataType::Date32 => Ok(Expr::Cast(Cast {
            expr: Box::new(with_seconds(*to.expr)),
            ..to
        })),
        DataType::Time64(TimeUnit::Nanosecond) => {
            Ok(cast(*to.expr, DataType::Time64(TimeUnit::Microsecond)))
        }
        _ => Ok(Expr::Cast(to)),
    }
}

/// In the zone of the session.
fn moment(there: Expr) -> Expr {
    cast(
        there,
        DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
    )
}

fn called(mut call: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let mut is_in_microseconds = false;
    match (call.func.name(), call.args.as_mut_slice()) {
        // Operators are checked functions by now.
        ("+" | "-", [left, right]) => with_hours(left, right, schema)?,
        ("date_part", [part, span])
            if text(part).is_some_and(|part| part.eq_ignore_ascii_case("epoch"))
                && matches!(span.get_type(schema)?, DataType::Duration(_)) =>
        {
            let length = interval_length::of(std::mem::take(span));
            let second = Expr::Literal(ScalarValue::Float64(Some(NANOSECONDS_OF_A_SECOND)), None);
            return Ok(cast(length, DataType::Float64) / second);
        }
        ("date_part", [part, of])
            if text(part).is_some_and(is_second) && has_fraction(&of.get_type(schema)?) =>
        {
            *part = Expr::Literal(ScalarValue::from("microsecond"), None);
            is_in_microseconds = true;
        }
        ("date_trunc", [_, of]) if is_day(&of.get_type(schema)?) => {
            *of = cast(std::mem::take(of), LOCAL);
        }
        ("to_char", [_, pattern]) => in_chrono("to_char", pattern)?,
        (name, [written]) if READERS.contains(&name) => {
            *written = with_seconds(std::mem::take(written));
        }
        (name, [_, patterns @ ..]) if READERS.contains(&name) => {
            for pattern in patterns {
                in_chrono(name, pattern)?;
            }
        }
        _ => {}
    }
    let value = Expr::ScalarFunction(call);
    Ok(match is_in_microseconds {
        true => seconds(value),
        false => value,
    })
}

/// A constant pattern in the words that DataFusion takes.
fn in_chrono(function: &str, pattern: &mut Expr) -> Result<()> {
    if let Some(written) = text(pattern) {
        let written = patterns::of_chrono(function, written)?;
        *pattern = Expr::Literal(ScalarValue::Utf8(Some(written)), None);
    }
    Ok(())
}

/// Whether the part of a time is its seconds, in any of their names.
fn is_second(part: &str) -> bool {
    let names = ["s", "sec", "secs", "second", "seconds"];
    names.iter().any(|name| part.eq_ignore_ascii_case(name))
}

/// Whether the fraction of a second of such a value is known. A text is a timestamp here. Of an interval, DataFusion
/// counts the nanoseconds in 32 bits, in which few seconds have a place.
fn has_fraction(of: &DataType) -> bool {
    let is_time = |of: &DataType| matches!(of, DataType::Time32(_) | DataType::Time64(_));
    matches!(of, DataType::Timestamp(..)) || is_time(of) || of.is_string()
}

/// Microseconds of less than a minute as seconds with six digits behind the point.
fn seconds(microseconds: Expr) -> Expr {
    let whole = cast(microseconds, DataType::Decimal128(SECOND_DIGITS, 0));
    let microsecond = ScalarValue::Decimal128(Some(1), SECOND_DIGITS, SECOND_SCALE);
    cast(
        whole * Expr::Literal(microsecond, None),
        DataType::Decimal128(SECOND_DIGITS, SECOND_SCALE),
    )
}

/// Texts beside a timestamp or a time as values of that type, in which they are compared: DataFusion has them in
/// nanoseconds, in which the year 9999 has no place.
pub fn texts_as(sides: &mut [Expr], types: &[DataType]) {
    let is_value = |of: &&DataType| matches!(of, DataType::Timestamp(..) | DataType::Time64(_));
    let mut values = types.iter().filter(is_value);
    let Some(wanted) = values.next() else {
        return;
    };
    if values.any(|other| other != wanted) {
        return;
    }
    for side in sides {
        let Expr::Literal(of_text, _) = with_seconds(side.clone()) else {
            continue;
        };
        let is_text = matches!(of_text.try_as_str(), Some(Some(_)));
        if is_text && let Ok(value) = of_text.cast_to(wanted) {
            *side = Expr::Literal(value, None::<FieldMetadata>);
        }
    }
}

/// Days beside timestamps as timestamps of microseconds, and those of nanoseconds too: DataFusion has a day in
/// nanoseconds then, in which the year 9999 has no place.
pub fn days_as_timestamps(values: &mut [Expr], types: &[DataType]) {
    let is_timestamp = |of: &DataType| matches!(of, DataType::Timestamp(..));
    let fits = |of: &DataType| of.is_null() || is_day(of) || is_timestamp(of);
    let differs = types.iter().any(is_day) && types.iter().any(is_timestamp);
    if !differs || !types.iter().all(fits) {
        return;
    }
    let has_zone = |of: &DataType| matches!(of, DataType::Timestamp(_, Some(_)));
    let is_zoned = types.iter().any(has_zone);
    for (value, of) in values.iter_mut().zip(types) {
        let inner = std::mem::take(value);
        *value = match of {
            DataType::Date32 | DataType::Date64 if is_zoned => moment(cast(inner, LOCAL)),
            DataType::Date32 | DataType::Date64 => cast(inner, LOCAL),
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => cast(
                inner,
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
            ),
            _ => inner,
        };
    }
}

/// Times of day of several units as those of the smallest.
pub fn times_as_nanoseconds(sides: &mut [Expr], types: &[DataType]) {
    let is_time = |of: &DataType| matches!(of, DataType::Time32(_) | DataType::Time64(_));
    let differs = types.windows(2).any(|pair| pair.first() != pair.last());
    if differs && types.iter().all(is_time) {
        for side in sides {
            *side = cast(std::mem::take(side), DataType::Time64(TimeUnit::Nanosecond));
        }
    }
}

/// A constant `2024-01-31 10:00`, which may have a zone, with the seconds that DataFusion wants.
fn with_seconds(expr: Expr) -> Expr {
    match text(&expr).and_then(to_the_second) {
        Some(written) => Expr::Literal(ScalarValue::Utf8(Some(written)), None),
        None => expr,
    }
}

/// A text that ends with the minute or with a zone behind it, with seconds.
fn to_the_second(written: &str) -> Option<String> {
    let (minutes, zone) = written.trim().split_at_checked(TO_THE_MINUTE)?;
    let is_to_the_minute = minutes.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        10 => matches!(byte, b' ' | b'T'),
        13 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let is_zone = matches!(
        zone.trim_start().bytes().next(),
        None | Some(b'Z' | b'z' | b'+' | b'-')
    );
    (is_to_the_minute && is_zone).then(|| format!("{minutes}:00{}", zone.trim_start()))
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

fn cast(expr: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), to))
}
