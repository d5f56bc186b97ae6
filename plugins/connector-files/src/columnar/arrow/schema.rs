//! The schema of an Arrow file, checked before `arrow-ipc` builds types of it: it panics on some that cannot be.

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{
    self as ipc, DateUnit, Endianness, Field, Precision, TimeUnit, Type, UnionMode, root_as_message,
};
use arrow_schema::Schema;

/// Types in each other, at most.
const MAX_DEPTH: usize = 64;
/// Fields with all that are in them, at most.
const MAX_FIELDS: usize = 10_000;

/// The schema in a message.
///
/// # Errors
/// When it is none, or has a type that is not read.
pub fn read(metadata: &[u8]) -> Result<Schema, String> {
    let message =
        root_as_message(metadata).map_err(|error| format!("its schema is broken: {error}"))?;
    of(message
        .header_as_schema()
        .ok_or("it does not begin with a schema")?)
}

/// A schema as types of columns.
///
/// # Errors
/// When it has a type that is not read.
pub fn of(schema: ipc::Schema<'_>) -> Result<Schema, String> {
    if schema.endianness() != Endianness::Little {
        return Err("its numbers are big-endian; write it on a usual machine".to_owned());
    }
    let mut count = 0;
    for field in schema.fields().ok_or("its schema has no fields")? {
        check(field, 0, &mut count)?;
    }
    Ok(fb_to_schema(schema))
}

fn check(field: Field<'_>, depth: usize, count: &mut usize) -> Result<(), String> {
    *count += 1;
    let name = field.name().unwrap_or_default();
    if depth > MAX_DEPTH || *count > MAX_FIELDS {
        return Err("its schema is nested too deeply or has too many fields".to_owned());
    }
    let children = field.children();
    let child = |index: usize| {
        children
            .filter(|all| index < all.len())
            .map(|all| all.get(index))
    };
    let number = children.map_or(0, |children| children.len());
    let fits = match field.type_type() {
        Type::Null
        | Type::Bool
        | Type::Utf8
        | Type::LargeUtf8
        | Type::Binary
        | Type::LargeBinary => number == 0,
        Type::Utf8View | Type::BinaryView => number == 0,
        Type::List | Type::LargeList => number == 1,
        Type::FixedSizeList => {
            number == 1
                && field
                    .type_as_fixed_size_list()
                    .is_some_and(|list| list.listSize() >= 0)
        }
        Type::Map => number == 1 && child(0).is_some_and(is_entries),
        Type::Struct_ => true,
        _ => number == 0 && fits_bits(field),
    };
    if !fits {
        let kind = field.type_type().variant_name().unwrap_or("unknown");
        return Err(format!(
            "its column `{name}` has a type that is not read: {kind}"
        ));
    }
    if let Some(dictionary) = field.dictionary() {
        // The format lets it be left out for 32 bits, which `arrow-ipc` does not know.
        let index = dictionary.indexType();
        if !index.is_some_and(|index| matches!(index.bitWidth(), 8 | 16 | 32 | 64)) {
            return Err(format!(
                "the dictionary of its column `{name}` has no index"
            ));
        }
    }
    (0..number)
        .filter_map(child)
        .try_for_each(|child| check(child, depth + 1, count))
}

fn is_entries(field: Field<'_>) -> bool {
    field.type_type() == Type::Struct_
        && field.children().is_some_and(|children| children.len() == 2)
}

fn fits_bits(field: Field<'_>) -> bool {
    let fits = match field.type_type() {
        Type::Int => field
            .type_as_int()
            .map(|int| matches!(int.bitWidth(), 8 | 16 | 32 | 64)),
        Type::FloatingPoint => field.type_as_floating_point().map(|float| {
            matches!(
                float.precision(),
                Precision::HALF | Precision::SINGLE | Precision::DOUBLE
            )
        }),
        Type::Decimal => field.type_as_decimal().map(|decimal| {
            let most = match decimal.bitWidth() {
                32 => 9,
                64 => 18,
                128 => 38,
                256 => 76,
                _ => 0,
            };
            (1..=most).contains(&decimal.precision())
                && decimal.scale().unsigned_abs() <= most.unsigned_abs()
        }),
        Type::Date => field
            .type_as_date()
            .map(|date| matches!(date.unit(), DateUnit::DAY | DateUnit::MILLISECOND)),
        Type::Time => field.type_as_time().map(|time| {
            matches!(
                (time.bitWidth(), time.unit()),
                (32, TimeUnit::SECOND | TimeUnit::MILLISECOND)
                    | (64, TimeUnit::MICROSECOND | TimeUnit::NANOSECOND)
            )
        }),
        Type::Timestamp => field
            .type_as_timestamp()
            .map(|timestamp| is_unit(timestamp.unit())),
        Type::Duration => field
            .type_as_duration()
            .map(|duration| is_unit(duration.unit())),
        Type::Interval => field
            .type_as_interval()
            .map(|interval| interval.unit().variant_name().is_some()),
        Type::FixedSizeBinary => field
            .type_as_fixed_size_binary()
            .map(|binary| binary.byteWidth() > 0),
        // A union has one of these; it is named in the message.
        Type::Union => field
            .type_as_union()
            .map(|union| union.mode() > UnionMode::Dense),
        _ => None,
    };
    fits.unwrap_or(false)
}

fn is_unit(unit: TimeUnit) -> bool {
    matches!(
        unit,
        TimeUnit::SECOND | TimeUnit::MILLISECOND | TimeUnit::MICROSECOND | TimeUnit::NANOSECOND
    )
}
