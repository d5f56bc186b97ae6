//! Which row groups and pages cannot have a row that a scan wants, by their statistics.

use std::ops::Range;

use arrow_schema::{DataType as Arrow, TimeUnit};
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;

use crate::columnar::kind::{FileColumn, Mark};
use crate::columnar::predicate::{Bound, Predicate, Summary};

/// Whether a row group may have rows that pass all predicates, by the places of their columns.
pub fn may_have(
    group: &RowGroupMetaData,
    columns: &[FileColumn],
    predicates: &[(usize, Predicate)],
) -> bool {
    predicates.iter().all(|(root, predicate)| {
        let Some((leaf, column)) = leaf_of(group, *root).zip(columns.get(*root)) else {
            return true;
        };
        let Some(chunk) = group.columns().get(leaf) else {
            return true;
        };
        let summary = chunk.statistics().map(|statistics| Summary {
            min: trusted(statistics, column, statistics.min_bytes_opt()),
            max: trusted(statistics, column, statistics.max_bytes_opt()),
            nulls: statistics.null_count_opt(),
            rows: u64::try_from(group.num_rows()).unwrap_or(u64::MAX),
        });
        summary.is_none_or(|summary| predicate.may_hold(&summary))
    })
}

/// The leaf of a column that is not nested, and not repeated: an empty list counts as NULL there.
fn leaf_of(group: &RowGroupMetaData, root: usize) -> Option<usize> {
    let descriptor = group.schema_descr();
    let is_plain = |leaf: usize| {
        let column = descriptor.column(leaf);
        column.path().parts().len() == 1 && column.max_rep_level() == 0
    };
    (0..descriptor.num_columns())
        .find(|leaf| descriptor.get_column_root_idx(*leaf) == root && is_plain(*leaf))
}

/// A bound, unless an old writer may have compared in another order.
fn trusted(statistics: &Statistics, column: &FileColumn, bytes: Option<&[u8]>) -> Option<Bound> {
    let is_signed = matches!(
        column.physical,
        Arrow::Int8
            | Arrow::Int16
            | Arrow::Int32
            | Arrow::Int64
            | Arrow::Date32
            | Arrow::Timestamp(..)
    );
    let is_ordered = !statistics.is_min_max_deprecated() || is_signed;
    let is_integer = matches!(statistics, Statistics::Int32(_) | Statistics::Int64(_));
    bytes
        .filter(|_| is_ordered)
        .and_then(|bytes| of(column, bytes, is_integer))
}

/// The plain bytes of a value as what predicates compare; none if they do not.
fn bound(bytes: &[u8], physical: &Arrow, mark: Mark) -> Option<Bound> {
    let little = || match bytes.len() {
        1 => bytes.first().map(|byte| i128::from(*byte)),
        4 => bytes
            .try_into()
            .ok()
            .map(|bytes| i128::from(i32::from_le_bytes(bytes))),
        8 => bytes
            .try_into()
            .ok()
            .map(|bytes| i128::from(i64::from_le_bytes(bytes))),
        _ => None,
    };
    let in_micros = |unit: &TimeUnit| {
        let value = little()?;
        Some(match unit {
            TimeUnit::Second => value * 1_000_000,
            TimeUnit::Millisecond => value * 1_000,
            TimeUnit::Microsecond => value,
            TimeUnit::Nanosecond => value.div_euclid(1_000),
        })
    };
    Some(match physical {
        Arrow::Boolean
        | Arrow::Int8
        | Arrow::Int16
        | Arrow::Int32
        | Arrow::Int64
        | Arrow::Date32 => Bound::Int(little()?),
        Arrow::UInt8 | Arrow::UInt16 | Arrow::UInt32 => {
            Bound::Int(i128::from(u32::from_le_bytes(bytes.try_into().ok()?)))
        }
        Arrow::UInt64 => Bound::Int(i128::from(u64::from_le_bytes(bytes.try_into().ok()?))),
        // Twelve bytes of the old timestamps have no order.
        Arrow::Timestamp(unit, _) if bytes.len() == 8 => Bound::Int(in_micros(unit)?),
        Arrow::Time32(unit) | Arrow::Time64(unit) => Bound::Int(in_micros(unit)?),
        Arrow::Utf8 if mark == Mark::None => Bound::Bytes(bytes.to_vec()),
        Arrow::Binary => Bound::Bytes(bytes.to_vec()),
        _ => return None,
    })
}

/// A decimal is written as an integer, or as bytes with the largest first.
fn decimal(bytes: &[u8], is_integer: bool) -> Option<Bound> {
    if is_integer {
        return match bytes.len() {
            4 => Some(Bound::Int(i128::from(i32::from_le_bytes(
                bytes.try_into().ok()?,
            )))),
            8 => Some(Bound::Int(i128::from(i64::from_le_bytes(
                bytes.try_into().ok()?,
            )))),
            _ => None,
        };
    }
    let sign = bytes.first().is_some_and(|first| *first >= 0x80);
    let start = if sign { -1i128 } else { 0 };
    (bytes.len() <= 16).then(|| {
        Bound::Int(
            bytes
                .iter()
                .fold(start, |value, byte| value << 8 | i128::from(*byte)),
        )
    })
}

/// The rows of the pages that may have some that pass; none if all may, or the file has no index of its pages.
pub fn selection(
    metadata: &ParquetMetaData,
    group: usize,
    columns: &[FileColumn],
    predicates: &[(usize, Predicate)],
) -> Option<RowSelection> {
    let row_group = metadata.row_groups().get(group)?;
    let rows = usize::try_from(row_group.num_rows()).ok()?;
    let mut selection: Option<RowSelection> = None;
    for (root, predicate) in predicates {
        let leaf = leaf_of(row_group, *root);
        let ranges = leaf
            .and_then(|leaf| ranges(metadata, group, leaf, columns.get(*root)?, predicate, rows));
        if let Some(ranges) = ranges {
            let other = RowSelection::from_consecutive_ranges(ranges.into_iter(), rows);
            selection = Some(match selection {
                None => other,
                Some(known) => known.intersection(&other),
            });
        }
    }
    selection
}

/// The rows of one column's pages that may pass. An index that cannot be counts as none.
fn ranges(
    metadata: &ParquetMetaData,
    group: usize,
    leaf: usize,
    column: &FileColumn,
    predicate: &Predicate,
    rows: usize,
) -> Option<Vec<Range<usize>>> {
    let index = metadata.column_index()?.get(group)?.get(leaf)?;
    let locations = metadata
        .offset_index()?
        .get(group)?
        .get(leaf)?
        .page_locations();
    if matches!(index, ColumnIndexMetaData::NONE) || index.num_pages() != locations.len() as u64 {
        return None;
    }
    let starts: Vec<usize> = locations
        .iter()
        .map(|page| usize::try_from(page.first_row_index).ok())
        .collect::<Option<_>>()?;
    let ends = starts.iter().copied().skip(1).chain([rows]);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (page, (start, end)) in starts.iter().copied().zip(ends).enumerate() {
        if start >= end || end > rows || page == 0 && start != 0 {
            return None;
        }
        if !predicate.may_hold(&summary(index, page, column, (end - start) as u64)) {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    Some(ranges)
}

fn summary(index: &ColumnIndexMetaData, page: usize, column: &FileColumn, rows: u64) -> Summary {
    use ColumnIndexMetaData as Index;
    let plain = |bytes: &[u8]| of(column, bytes, true);
    let (min, max) = match index {
        Index::INT32(values) => (
            values
                .min_value(page)
                .and_then(|value| plain(&value.to_le_bytes())),
            values
                .max_value(page)
                .and_then(|value| plain(&value.to_le_bytes())),
        ),
        Index::INT64(values) => (
            values
                .min_value(page)
                .and_then(|value| plain(&value.to_le_bytes())),
            values
                .max_value(page)
                .and_then(|value| plain(&value.to_le_bytes())),
        ),
        Index::BYTE_ARRAY(values) | Index::FIXED_LEN_BYTE_ARRAY(values) => (
            values
                .min_value(page)
                .and_then(|bytes| of(column, bytes, false)),
            values
                .max_value(page)
                .and_then(|bytes| of(column, bytes, false)),
        ),
        _ => (None, None),
    };
    let nulls = match index.is_null_page(page) {
        true => Some(rows),
        false => index
            .null_count(page)
            .and_then(|nulls| u64::try_from(nulls).ok()),
    };
    Summary {
        min,
        max,
        nulls,
        rows,
    }
}

fn of(column: &FileColumn, bytes: &[u8], is_integer: bool) -> Option<Bound> {
    match column.physical {
        Arrow::Decimal128(..) => decimal(bytes, is_integer),
        _ => bound(bytes, &column.physical, column.mark),
    }
}
