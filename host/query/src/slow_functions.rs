//! Slow functions, in chunks of a few rows: the deadline is checked between chunks, and text and patterns are limited.
//!
//! A function cannot be interrupted, and other statements wait for its thread. So a function whose time is more than
//! linear in its text is either missing or limited here. Within the limits, a row with a hostile regular expression may
//! still take seconds. `LIKE` is an operator and has no limit here.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, LazyLock},
};

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, StringViewBuilder},
        compute::{cast, concat},
        datatypes::{DataType, FieldRef},
    },
    common::{
        Result, ScalarValue,
        config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions},
    },
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    },
};
use regex::{Regex, RegexBuilder};
use tokio::time::Instant;

use super::{
    errors::external,
    growing_functions::{Size, sizes},
};
use mindhost_base::error::{Blame, Code, Error};
use mindhost_plugin_api::Call;

/// Rows between two checks of the deadline.
const ROWS: usize = 256;
/// Comparisons of characters per chunk: about a second.
const MAX_COMPARISONS: u64 = 1 << 32;
/// Largest text for a pattern search.
const MAX_SEARCHED_BYTES: u64 = 256 << 10;
/// Largest compiled pattern. In the worst case a search visits each of its states for each character.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// The call of the running statement, as an extension of the session options.
#[derive(Clone, Debug)]
pub struct StatementCall(pub Call);

impl ConfigExtension for StatementCall {
    const PREFIX: &'static str = "mindhost";
}

impl ExtensionOptions for StatementCall {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, _: &str, _: &str) -> Result<()> {
        Err(external(Error::internal(
            "the bounds of a call are not set",
        )))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// Fails if the statement is cancelled or past its deadline.
pub fn check_deadline(options: &ConfigOptions) -> Result<()> {
    let Some(StatementCall(call)) = options.extensions.get::<StatementCall>() else {
        return Ok(());
    };
    if call.cancel.is_cancelled() {
        return Err(external(Error::new(
            Code::Cancelled,
            "the call was cancelled",
        )));
    }
    match Instant::now() < call.deadline {
        true => Ok(()),
        false => Err(external(call.timed_out())),
    }
}

/// The slow functions, with the check of their arguments.
const SLOW: [(&str, Check); 6] = [
    ("btrim", compared),
    ("ltrim", compared),
    ("rtrim", compared),
    ("strpos", compared),
    ("regexp_like", searched),
    ("regexp_replace", searched),
];

/// Refuses arguments that would take too long. Runs for each chunk.
type Check = fn(&[ColumnarValue], &[Size]) -> Result<()>;

/// For functions that compare each character of the first text with each of the second.
fn compared(_: &[ColumnarValue], sizes: &[Size]) -> Result<()> {
    let (Some(text), Some(with)) = (sizes.first(), sizes.get(1)) else {
        return Ok(());
    };
    match text.bytes.saturating_mul(with.longest) <= MAX_COMPARISONS {
        true => Ok(()),
        false => Err(too_long("the second argument of a function is too long")),
    }
}

fn searched(args: &[ColumnarValue], sizes: &[Size]) -> Result<()> {
    if sizes
        .first()
        .is_some_and(|text| text.longest > MAX_SEARCHED_BYTES)
    {
        return Err(too_long(&format!(
            "a pattern can search text of {} KiB at most",
            MAX_SEARCHED_BYTES >> 10
        )));
    }
    let Some(patterns) = args.get(1) else {
        return Ok(());
    };
    let patterns = texts(patterns, 1)?;
    let different: HashSet<&str> = patterns.as_string_view().iter().flatten().collect();
    different
        .into_iter()
        .try_for_each(|pattern| compiled(pattern).map(drop))
}

fn too_long(what: &str) -> datafusion::error::DataFusionError {
    external(Error::new(
        Code::ResultTooLarge,
        format!("{what}; make it shorter"),
    ))
}

fn compiled(pattern: &str) -> Result<Regex> {
    let compiled = RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    compiled.map_err(|error| {
        let error = Error::new(
            Code::SqlInvalid,
            format!("the pattern cannot be used: {error}"),
        );
        external(error.blamed(Blame::Upstream))
    })
}

/// The text of an argument. A constant is repeated for each row.
fn texts(arg: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    Ok(cast(&arg.to_array(rows)?, &DataType::Utf8View)?)
}

/// Wraps a slow function; returns any other unchanged.
pub fn chunked(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match SLOW.iter().any(|(name, _)| *name == function.name()) {
        true => Arc::new(ScalarUDF::from(ChunkedFunction { inner: function })),
        false => function,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ChunkedFunction {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ChunkedFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        if args.number_rows <= ROWS || args.args.iter().all(is_constant) {
            return self.step(args);
        }
        let mut parts = Vec::new();
        for from in (0..args.number_rows).step_by(ROWS) {
            let rows = ROWS.min(args.number_rows - from);
            let step = args.args.iter().map(|arg| match arg {
                ColumnarValue::Array(values) => ColumnarValue::Array(values.slice(from, rows)),
                constant => constant.clone(),
            });
            let step = ScalarFunctionArgs {
                args: step.collect(),
                number_rows: rows,
                ..args.clone()
            };
            parts.push(self.step(step)?.into_array(rows)?);
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}

impl ChunkedFunction {
    fn step(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        check_deadline(&args.config_options)?;
        if let Some((_, check)) = SLOW.iter().find(|(name, _)| *name == self.inner.name()) {
            check(&args.args, &sizes(&args.args, args.number_rows)?)?;
        }
        match self.inner.name() {
            "regexp_replace" => replaced(&args),
            _ => self.inner.invoke_with_args(args),
        }
    }
}

/// `regexp_replace(text, pattern, by [, flags])`. Checks the deadline at every match, because each may read all of the
/// rest.
fn replaced(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let is_constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
    let constant = args.args.iter().all(is_constant);
    let rows = if constant { 1 } else { args.number_rows };
    let columns = args.args.iter().map(|arg| texts(arg, rows));
    let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
    let cell = |column: usize, row: usize| {
        let column = columns.get(column)?.as_string_view();
        (!column.is_null(row)).then(|| column.value(row))
    };
    let mut patterns: HashMap<(&str, &str), Regex> = HashMap::new();
    let mut results = StringViewBuilder::new();
    for row in 0..rows {
        let flags = match columns.len() {
            3 => Some(""),
            _ => cell(3, row),
        };
        let (Some(text), Some(pattern), Some(by), Some(flags)) =
            (cell(0, row), cell(1, row), cell(2, row), flags)
        else {
            results.append_null();
            continue;
        };
        let pattern = match patterns.entry((pattern, flags)) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(compiled(&with_flags(pattern, flags))?)
            }
        };
        let by = groups(by);
        let all = flags.contains('g');
        results.append_value(replace(text, pattern, &by, all, &args.config_options)?);
    }
    let results: ArrayRef = Arc::new(results.finish());
    let results = cast(&results, args.return_field.data_type())?;
    Ok(match constant {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&results, 0)?),
        false => ColumnarValue::Array(results),
    })
}

fn replace(
    text: &str,
    pattern: &Regex,
    by: &str,
    all: bool,
    options: &ConfigOptions,
) -> Result<String> {
    let mut result = String::with_capacity(text.len());
    let mut end = 0;
    for found in pattern.captures_iter(text) {
        check_deadline(options)?;
        let Some(whole) = found.get(0) else { break };
        result.push_str(&text[end..whole.start()]);
        found.expand(by, &mut result);
        end = whole.end();
        if !all {
            break;
        }
    }
    result.push_str(&text[end..]);
    Ok(result)
}

/// Adds the flags to a pattern, without `g`, which means all matches.
fn with_flags(pattern: &str, flags: &str) -> String {
    match flags.replace('g', "") {
        flags if flags.is_empty() => pattern.to_owned(),
        flags => format!("(?{flags}){pattern}"),
    }
}

/// Translates `\1` to `${1}`.
fn groups(by: &str) -> String {
    static NUMBERED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\\{1,2}(\d+)").ok());
    match &*NUMBERED {
        Some(numbered) => numbered.replace_all(by, "$${$1}").into_owned(),
        None => by.to_owned(),
    }
}
