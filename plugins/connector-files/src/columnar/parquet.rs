//! Parquet, one row group after another.
//!
//! The `parquet` crate decodes the pages; finding and decompressing them is done here (`pages`), where a page that lies
//! about its size is an error. `sound` refuses pages that the decoder would panic at. `prune` leaves out row groups and
//! pages by their statistics.

mod intervals;
mod pages;
mod prune;
mod sound;
mod thrift;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType as Arrow, Field, Fields, IntervalUnit, TimeUnit};
use mindhost_sdk::{Error, Result};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{
    FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema,
};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Type as Physical};
use parquet::column::page::PageIterator;
use parquet::errors::{ParquetError, Result as Read};
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescriptor, Type};

use super::kind::{FileColumn, Mark};
use super::predicate::Predicate;
use super::{BATCH_BYTES, Batches, MAX_ROWS, Rows};
use crate::directory::unreadable;
use crate::input::fault;
use crate::text::types;

use self::pages::{Chunk, OneChunk, Source};

/// Bytes of the footer, at most.
const MAX_FOOTER: u64 = 64 << 20;
const MAGIC: &[u8; 4] = b"PAR1";
/// Values of lists in one column of a row group, at most.
const MAX_ITEMS: i64 = 200_000_000;

/// A file whose footer was read.
pub struct ParquetFile {
    path: String,
    source: Source,
    metadata: ParquetMetaData,
    /// Its schema as the reader is told it, with bytes in place of intervals.
    descriptor: SchemaDescriptor,
    /// How a reader gives the columns.
    fields: Fields,
    columns: Vec<FileColumn>,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// `Upstream` when it is no Parquet file, or its footer is broken.
    pub fn open(root: &str, path: &str) -> Result<Self> {
        let failed = |error: std::io::Error| unreadable(&error).context(format_args!("`{path}`"));
        let file = File::open(Path::new(root).join(path)).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let source = Source::new(file, length);
        let metadata = footer(&source).map_err(|error| wrong(path, &error))?;
        let root = metadata.file_metadata().schema_descr().root_schema_ptr();
        let root = intervals::as_bytes(&root).map_err(|error| wrong(path, &error))?;
        let descriptor = SchemaDescriptor::new(root);
        let fields = fields(&metadata, &descriptor).map_err(|error| wrong(path, &error))?;
        let columns = columns(&metadata, &fields);
        Ok(Self {
            path: path.to_owned(),
            source,
            metadata,
            descriptor,
            fields,
            columns,
        })
    }

    /// The columns in their order.
    pub fn columns(&self) -> &[FileColumn] {
        &self.columns
    }

    /// The number of rows, as the footer says it.
    pub fn rows(&self) -> u64 {
        let groups = self.metadata.row_groups().iter();
        groups
            .map(|group| u64::try_from(group.num_rows()).unwrap_or_default())
            .sum()
    }

    /// Reads these columns. The places of the predicates are in `wanted`.
    ///
    /// # Errors
    /// When the schema cannot be read.
    pub fn read(
        mut self,
        wanted: &[usize],
        predicates: &[(usize, Predicate)],
    ) -> Result<ParquetBatches> {
        let mut roots = wanted.to_vec();
        roots.sort_unstable();
        let places = wanted
            .iter()
            .filter_map(|index| roots.binary_search(index).ok())
            .collect();
        let filters: Vec<(usize, Predicate)> = predicates
            .iter()
            .filter_map(|(place, predicate)| Some((*wanted.get(*place)?, predicate.clone())))
            .collect();
        if !filters.is_empty() {
            self.read_page_index();
        }
        let mask = ProjectionMask::roots(&self.descriptor, roots.iter().copied());
        let levels = parquet_to_arrow_field_levels(&self.descriptor, mask, Some(&self.fields))
            .map_err(|error| wrong(&self.path, &error))?;
        Ok(ParquetBatches {
            file: self,
            levels,
            roots,
            places,
            filters,
            group: 0,
            unread: 0,
            current: None,
        })
    }

    /// The index of pages. It only saves work, so a broken one counts as none.
    fn read_page_index(&mut self) {
        let known = self.metadata.clone();
        let mut reader = ParquetMetaDataReader::new_with_metadata(known)
            .with_page_index_policy(PageIndexPolicy::Optional);
        if reader.read_page_indexes(&self.source).is_ok()
            && let Ok(metadata) = reader.finish()
        {
            self.metadata = metadata;
        }
    }
}

fn wrong(path: &str, error: &ParquetError) -> Error {
    let text = match error {
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::NYI(text) => {
            text.clone()
        }
        other => other.to_string(),
    };
    fault(path, &text)
}

fn general(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

fn footer(source: &Source) -> Read<ParquetMetaData> {
    let length = source.length();
    let tail = length
        .checked_sub(8)
        .ok_or_else(|| general("it is too short for a Parquet file"))?;
    let end = source.bytes(tail, 8)?;
    let (size, magic) = end
        .split_at_checked(4)
        .ok_or_else(|| general("its end is cut off"))?;
    match magic {
        magic if magic == MAGIC => {}
        b"PARE" => return Err(general("it is encrypted")),
        _ => return Err(general("it is no Parquet file, or not complete")),
    }
    let size = size
        .try_into()
        .map(u32::from_le_bytes)
        .map_err(|_| general("its end is cut off"))?;
    let size = u64::from(size);
    let start = tail.checked_sub(size).filter(|_| size <= MAX_FOOTER);
    let start = start.ok_or_else(|| general("its footer has an impossible length"))?;
    let bytes = source.bytes(start, usize::try_from(size).unwrap_or_default())?;
    // Lists of the footer are allocated by the lengths that it says.
    thrift::check(&bytes).map_err(|what| general(&what))?;
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes)?;
    check(&metadata, length)?;
    Ok(metadata)
}

/// Compares the places of the column chunks with the file, before anything panics on them.
fn check(metadata: &ParquetMetaData, length: u64) -> Read<()> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    for group in metadata.row_groups() {
        if group.columns().len() != leaves || group.num_rows() < 0 {
            return Err(general("a row group does not fit the schema"));
        }
        for column in group.columns() {
            let start = column
                .dictionary_page_offset()
                .unwrap_or_else(|| column.data_page_offset());
            let start = start.min(column.data_page_offset());
            let end = u64::try_from(start)
                .ok()
                .zip(u64::try_from(column.compressed_size()).ok());
            let end = end.and_then(|(start, size)| start.checked_add(size));
            if end.is_none_or(|end| end > length)
                || column.uncompressed_size() < 0
                || column.num_values() < 0
            {
                return Err(general("a column is outside of the file"));
            }
            let is_list = column.column_descr().max_rep_level() > 0;
            if is_list && column.num_values() > MAX_ITEMS
                || !is_list && column.num_values() != group.num_rows()
            {
                return Err(general("a column has an impossible number of values"));
            }
        }
    }
    Ok(())
}

fn fields(metadata: &ParquetMetaData, descriptor: &SchemaDescriptor) -> Read<Fields> {
    // Without the Arrow schema that some writers add: what Parquet itself says is enough, and is checked.
    let schema = parquet_to_arrow_schema(descriptor, None)?;
    let parquet = descriptor.root_schema().get_fields();
    if parquet.len() != schema.fields().len() {
        return Err(general("its schema cannot be read"));
    }
    let other = |leaf: &ColumnDescriptor| {
        // In 64 bits, nanoseconds of the old timestamps of twelve bytes would reach from 1677 to 2262 only.
        let is_old = leaf.physical_type() == Physical::INT96;
        let micros = is_old.then_some(Arrow::Timestamp(TimeUnit::Microsecond, None));
        micros.or_else(|| is_enum(leaf).then_some(Arrow::Utf8))
    };
    let mut leaves = metadata.file_metadata().schema_descr().columns().iter();
    let field = |field: &Arc<Field>| retyped(field, &mut leaves, &other);
    Ok(schema.fields().iter().map(field).collect())
}

/// A field with other types where it, or a field in it, is such a leaf. Takes the leaves of the field, which the file
/// has in the same order.
fn retyped<'a>(
    field: &Arc<Field>,
    leaves: &mut impl Iterator<Item = &'a ColumnDescPtr>,
    other: &impl Fn(&ColumnDescriptor) -> Option<Arrow>,
) -> Arc<Field> {
    let mut inner = |field: &Arc<Field>| retyped(field, leaves, other);
    let data_type = match field.data_type() {
        Arrow::Struct(fields) => Arrow::Struct(fields.iter().map(inner).collect()),
        Arrow::List(item) => Arrow::List(inner(item)),
        Arrow::Map(entries, is_sorted) => Arrow::Map(inner(entries), *is_sorted),
        found => {
            let other = leaves.next().and_then(|leaf| other(leaf));
            other.unwrap_or_else(|| found.clone())
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn columns(metadata: &ParquetMetaData, fields: &Fields) -> Vec<FileColumn> {
    let descriptor = metadata.file_metadata().schema_descr();
    let mut leaves = descriptor.columns().iter();
    let with_months = |leaf: &ColumnDescriptor| {
        intervals::is_interval(leaf).then_some(Arrow::Interval(IntervalUnit::MonthDayNano))
    };
    let names = types::numbered(fields.iter().map(|field| field.name().clone()));
    let column = |((field, name), parquet): ((&Arc<Field>, String), &Arc<Type>)| {
        let field = retyped(field, &mut leaves, &with_months);
        FileColumn {
            name,
            physical: field.data_type().clone(),
            mark: mark(parquet, field.data_type()),
        }
    };
    let parquet = descriptor.root_schema().get_fields();
    let fields = fields.iter().zip(names).zip(parquet);
    fields.map(column).collect()
}

/// Whether values are the names of an enumeration: UTF-8, which the `parquet` crate gives as bytes unless it is told.
fn is_enum(leaf: &ColumnDescriptor) -> bool {
    matches!(leaf.logical_type_ref(), Some(LogicalType::Enum))
        || leaf.converted_type() == ConvertedType::ENUM
}

fn mark(parquet: &Type, physical: &Arrow) -> Mark {
    let info = parquet.get_basic_info();
    match (info.logical_type_ref(), physical) {
        (Some(LogicalType::Uuid), Arrow::FixedSizeBinary(16)) => Mark::Uuid,
        (Some(LogicalType::Json), Arrow::Utf8) => Mark::Json,
        _ if info.converted_type() == ConvertedType::JSON && *physical == Arrow::Utf8 => Mark::Json,
        _ => Mark::None,
    }
}

/// A file while its rows are read.
pub struct ParquetBatches {
    file: ParquetFile,
    levels: FieldLevels,
    /// The places of the wanted columns in the schema, ascending.
    roots: Vec<usize>,
    /// For each wanted column its place in `roots`.
    places: Vec<usize>,
    filters: Vec<(usize, Predicate)>,
    /// The next row group.
    group: usize,
    /// Rows of a group of which no column is wanted that are still to be given.
    unread: usize,
    current: Option<ParquetRecordBatchReader>,
}

impl Batches for ParquetBatches {
    fn next(&mut self) -> Result<Option<Rows>> {
        loop {
            if let Some(reader) = &mut self.current {
                match reader
                    .next()
                    .transpose()
                    .map_err(|error| fault(&self.file.path, &error))?
                {
                    Some(batch) => {
                        return Ok(Some(Rows {
                            arrays: self.arrays(&batch)?,
                            count: batch.num_rows(),
                        }));
                    }
                    None => self.current = None,
                }
            }
            mindhost_sdk::control::check()?;
            if self.unread > 0 {
                let count = self.unread.min(MAX_ROWS);
                self.unread -= count;
                return Ok(Some(Rows {
                    arrays: Vec::new(),
                    count,
                }));
            }
            let group = self.group;
            let Some(metadata) = self.file.metadata.row_groups().get(group) else {
                return Ok(None);
            };
            self.group += 1;
            let rows = usize::try_from(metadata.num_rows()).unwrap_or_default();
            if rows == 0 || !prune::may_have(metadata, &self.file.columns, &self.filters) {
                continue;
            }
            if self.roots.is_empty() {
                self.unread = rows;
                continue;
            }
            self.current = Some(
                self.open(group, rows)
                    .map_err(|error| wrong(&self.file.path, &error))?,
            );
        }
    }
}

impl ParquetBatches {
    /// The wanted columns of a batch.
    fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let found = self.places.iter().filter_map(|place| {
            let column = self.file.columns.get(*self.roots.get(*place)?)?;
            Some((batch.columns().get(*place)?, &column.physical))
        });
        found
            .map(|(array, wanted)| intervals::typed(array, wanted))
            .collect::<std::result::Result<Vec<_>, ArrowError>>()
            .map_err(|error| fault(&self.file.path, &error))
    }

    fn open(&self, index: usize, rows: usize) -> Read<ParquetRecordBatchReader> {
        let metadata = &self.file.metadata;
        let selection = prune::selection(metadata, index, &self.file.columns, &self.filters);
        let group = Group {
            metadata,
            index,
            rows,
            source: &self.file.source,
            leaves: self.leaves(),
        };
        let batch_rows = group.rows_at_once()?;
        ParquetRecordBatchReader::try_new_with_row_groups(
            &self.levels,
            &group,
            batch_rows,
            selection,
        )
    }

    /// The leaves of the wanted columns.
    fn leaves(&self) -> Vec<usize> {
        let descriptor = self.file.metadata.file_metadata().schema_descr();
        let is_wanted = |leaf: &usize| {
            self.roots
                .binary_search(&descriptor.get_column_root_idx(*leaf))
                .is_ok()
        };
        (0..descriptor.num_columns()).filter(is_wanted).collect()
    }
}

/// One row group, for the reader.
struct Group<'a> {
    metadata: &'a ParquetMetaData,
    index: usize,
    rows: usize,
    source: &'a Source,
    leaves: Vec<usize>,
}

impl Group<'_> {
    fn row_group(&self) -> Read<&RowGroupMetaData> {
        self.metadata
            .row_groups()
            .get(self.index)
            .ok_or_else(|| general("a row group is absent"))
    }

    fn chunk(&self, leaf: usize) -> Read<Chunk> {
        let column = self
            .row_group()?
            .columns()
            .get(leaf)
            .ok_or_else(|| general("a column is absent"))?;
        Chunk::new(self.source, column, self.leaves.len())
    }

    /// How many rows are decoded at once: by their size in the file, and so that the longest value of a dictionary may
    /// stand in each of them.
    fn rows_at_once(&self) -> Read<usize> {
        let mut row = 0usize;
        for leaf in &self.leaves {
            let Some(column) = self.row_group()?.columns().get(*leaf) else {
                continue;
            };
            let average =
                usize::try_from(column.uncompressed_size()).unwrap_or_default() / self.rows.max(1);
            row = row
                .saturating_add(average)
                .saturating_add(self.widest(*leaf, column)?);
        }
        Ok((BATCH_BYTES / row.max(1)).clamp(1, MAX_ROWS))
    }

    /// Bytes of the longest value that a page can repeat.
    fn widest(&self, leaf: usize, column: &ColumnChunkMetaData) -> Read<usize> {
        let is_bytes = column.column_type() == parquet::basic::Type::BYTE_ARRAY;
        // Values that share their beginnings: a kilobyte is much for such columns.
        let shares = is_bytes
            && column
                .encodings()
                .any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY);
        let dictionary = match is_bytes && column.dictionary_page_offset().is_some() {
            true => self.chunk(leaf)?.widest_of_dictionary()?,
            false => 0,
        };
        Ok(dictionary.max(if shares { 1 << 10 } else { 0 }))
    }
}

impl RowGroups for Group<'_> {
    fn num_rows(&self) -> usize {
        self.rows
    }

    fn column_chunks(&self, leaf: usize) -> Read<Box<dyn PageIterator>> {
        Ok(Box::new(OneChunk::new(self.chunk(leaf)?)))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().get(self.index).into_iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}
