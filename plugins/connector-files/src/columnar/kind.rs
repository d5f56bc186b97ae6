//! Types of columns: what a file says, and what the host gets.

use arrow_schema::{DataType as Arrow, IntervalUnit, TimeUnit};
use mindhost_sdk::{Column, DataType};

/// Digits of a decimal, at most.
pub const MAX_DIGITS: u8 = 38;
/// Characters of a native type, at most: nested ones can be long.
const MAX_NATIVE: usize = 200;

/// What the type of a column in its file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    None,
    /// Sixteen bytes are a UUID.
    Uuid,
    /// A text is a JSON document.
    Json,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileColumn {
    /// As the file has it.
    pub name: String,
    /// How a reader gives it.
    pub physical: Arrow,
    /// Beside the type.
    pub mark: Mark,
}

impl FileColumn {
    /// The column as the host sees it; none if the type is not read: unions and run-end encoded columns.
    pub fn column(&self) -> Option<Column> {
        let (data_type, native) = target(&self.physical, self.mark)?;
        Some(Column::new(&self.name, data_type).native_type(native))
    }

    /// Whether the values of the file compare as those of the table, whose column may be wider: a decimal stands there
    /// without its point.
    pub fn compares_as(&self, of_table: &Column) -> bool {
        match self.physical {
            Arrow::Decimal32(_, scale)
            | Arrow::Decimal64(_, scale)
            | Arrow::Decimal128(_, scale)
            | Arrow::Decimal256(_, scale) => {
                of_table.data_type == DataType::Decimal && digits(of_table).1 == scale
            }
            Arrow::Duration(unit) => duration(of_table) == Some(unit),
            _ => target(&self.physical, self.mark)
                .is_some_and(|(data_type, _)| data_type == of_table.data_type),
        }
    }
}

fn target(physical: &Arrow, mark: Mark) -> Option<(DataType, String)> {
    let data_type = match physical {
        Arrow::Null => DataType::Text,
        Arrow::Boolean => DataType::Boolean,
        // The smaller unsigned ones fit, and calculate with other integers.
        Arrow::Int8
        | Arrow::Int16
        | Arrow::Int32
        | Arrow::Int64
        | Arrow::UInt8
        | Arrow::UInt16
        | Arrow::UInt32 => DataType::Int64,
        Arrow::Duration(_) => DataType::Int64,
        Arrow::UInt64 => DataType::Uint64,
        Arrow::Float16 | Arrow::Float32 | Arrow::Float64 => DataType::Float64,
        Arrow::Decimal32(digits, scale)
        | Arrow::Decimal64(digits, scale)
        | Arrow::Decimal128(digits, scale)
        | Arrow::Decimal256(digits, scale) => return Some(decimal(*digits, *scale)),
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View if mark == Mark::Json => DataType::Json,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => DataType::Text,
        Arrow::FixedSizeBinary(16) if mark == Mark::Uuid => {
            return Some((DataType::Text, "uuid".into()));
        }
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => {
            DataType::Bytes
        }
        Arrow::Date32 | Arrow::Date64 => DataType::Date,
        Arrow::Time32(TimeUnit::Second | TimeUnit::Millisecond)
        | Arrow::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond) => DataType::Time,
        Arrow::Timestamp(_, None) => DataType::Timestamp,
        Arrow::Timestamp(_, Some(_)) => DataType::TimestampUtc,
        Arrow::Interval(
            IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano,
        ) => DataType::Text,
        Arrow::Dictionary(_, values) => return target(values, mark),
        Arrow::List(_)
        | Arrow::LargeList(_)
        | Arrow::FixedSizeList(..)
        | Arrow::Struct(_)
        | Arrow::Map(..) => DataType::Json,
        _ => return None,
    };
    Some((data_type, native(physical)))
}

fn native(physical: &Arrow) -> String {
    let native: String = physical.to_string().chars().take(MAX_NATIVE).collect();
    native.to_lowercase()
}

/// The unit of a column of durations; none if it is of another type.
pub fn duration(column: &Column) -> Option<TimeUnit> {
    let units = [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ];
    units
        .into_iter()
        .find(|unit| column.native_type == native(&Arrow::Duration(*unit)))
}

/// How many of a unit a second has.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A decimal with more digits than the host calculates with is a text.
fn decimal(digits: u8, scale: i8) -> (DataType, String) {
    let (digits, scale) = match u8::try_from(scale) {
        Ok(scale) => (digits.max(scale), scale),
        // `decimal(5,-2)` has two zeros behind its digits.
        Err(_) => (digits.saturating_add(scale.unsigned_abs()), 0),
    };
    let data_type = if digits <= MAX_DIGITS {
        DataType::Decimal
    } else {
        DataType::Text
    };
    (data_type, format!("decimal({digits},{scale})"))
}

/// Digits and scale in the native type of a decimal column.
pub fn digits(column: &Column) -> (u8, i8) {
    let inner = column
        .native_type
        .strip_prefix("decimal(")
        .and_then(|rest| rest.strip_suffix(')'));
    let parts = inner.and_then(|inner| inner.split_once(','));
    let parsed =
        parts.and_then(|(digits, scale)| Some((digits.parse().ok()?, scale.parse().ok()?)));
    parsed.unwrap_or((MAX_DIGITS, 0))
}
