//! Functions that may take long for one row: a few rows at a time, with a look between them at whether the statement may
//! go on, and bounds on the text and the pattern of a row.
//!
//! A function cannot be interrupted, and other statements wait for its thread. So what takes time in proportion to more
//! than its text is either not there at all or bounded here. A row with a hostile regular expression may still take
//! seconds within its bounds, and `LIKE`, an operator and no function, has none here.

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
    bounded::{Size, sizes},
    errors::carried,
};
use mindhost_base::error::{Blame, Code, Error};
use mindhost_plugin_api::Call;

/// Rows between two looks at the time.
const ROWS: usize = 256;
/// Comparisons of a character that the rows of one step may cost: a second or so.
const MAX_WORK: u64 = 1 << 32;
/// Bytes of a text that a pattern is searched in.
const MAX_SEARCHED: u64 = 256 << 10;
/// Bytes that a pattern may take when it is compiled: a search visits each state of it for each character at worst.
const MAX_PATTERN: usize = 256 << 10;

/// The bounds of the statement that a function is called for.
#[derive(Clone, Debug)]
pub struct Until(pub Call);

impl ConfigExtension for Until {
    const PREFIX: &'static str = "mindhost";
}

impl ExtensionOptions for Until {
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
        Err(carried(Error::internal("the bounds of a call are not set")))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// Whether the statement may go on.
pub fn may_go_on(options: &ConfigOptions) -> Result<()> {
    let Some(Until(call)) = options.extensions.get::<Until>() else {
        return Ok(());
    };
    if call.cancel.is_cancelled() {
        return Err(carried(Error::new(
            Code::Cancelled,
            "the call was cancelled",
        )));
    }
    match Instant::now() < call.deadline {
        true => Ok(()),
        false => Err(carried(Error::new(
            Code::Timeout,
            "the time limit ran out; simplify the statement or raise the time limit",
        ))),
    }
}

/// The functions that take more than their text, with how much.
const SLOW: [(&str, Check); 6] = [
    ("btrim", compared),
    ("ltrim", compared),
    ("rtrim", compared),
    ("strpos", compared),
    ("regexp_like", searched),
    ("regexp_replace", searched),
];

/// Refuses arguments that would take too long. It sees the rows of one step.
type Check = fn(&[ColumnarValue], &[Size]) -> Result<()>;

/// Each character with each of the other text: the characters to trim, or a text that almost fits everywhere.
fn compared(_: &[ColumnarValue], sizes: &[Size]) -> Result<()> {
    let (Some(text), Some(with)) = (sizes.first(), sizes.get(1)) else {
        return Ok(());
    };
    match text.bytes.saturating_mul(with.longest) <= MAX_WORK {
        true => Ok(()),
        false => Err(too_long("the second argument of a function is too long")),
    }
}

fn searched(args: &[ColumnarValue], sizes: &[Size]) -> Result<()> {
    if sizes
        .first()
        .is_some_and(|text| text.longest > MAX_SEARCHED)
    {
        return Err(too_long(&format!(
            "patterns are searched in texts of {} KiB at most",
            MAX_SEARCHED >> 10
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
    carried(Error::new(
        Code::ResultTooLarge,
        format!("{what}; make it shorter"),
    ))
}

fn compiled(pattern: &str) -> Result<Regex> {
    let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
    compiled.map_err(|error| {
        let error = Error::new(
            Code::SqlInvalid,
            format!("the pattern cannot be used: {error}"),
        );
        carried(error.blamed(Blame::Upstream))
    })
}

/// The texts of an argument; of a constant as many as there are rows.
fn texts(arg: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    Ok(cast(&arg.to_array(rows)?, &DataType::Utf8View)?)
}

/// A function as it is, or one that is called for a few rows at a time.
pub fn in_steps(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match SLOW.iter().any(|(name, _)| *name == function.name()) {
        true => Arc::new(ScalarUDF::from(InSteps { inner: function })),
        false => function,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct InSteps {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for InSteps {
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

impl InSteps {
    fn step(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        may_go_on(&args.config_options)?;
        if let Some((_, check)) = SLOW.iter().find(|(name, _)| *name == self.inner.name()) {
            check(&args.args, &sizes(&args.args, args.number_rows)?)?;
        }
        match self.inner.name() {
            "regexp_replace" => replaced(&args),
            _ => self.inner.invoke_with_args(args),
        }
    }
}

/// `regexp_replace(text, pattern, by [, flags])`: every match looks at the time, because each may read all of the rest.
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
        may_go_on(options)?;
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

/// `g` is for all matches; the others are the pattern's.
fn with_flags(pattern: &str, flags: &str) -> String {
    match flags.replace('g', "") {
        flags if flags.is_empty() => pattern.to_owned(),
        flags => format!("(?{flags}){pattern}"),
    }
}

/// `\1` is `${1}` to the expressions here.
fn groups(by: &str) -> String {
    static NUMBERED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\\{1,2}(\d+)").ok());
    match &*NUMBERED {
        Some(numbered) => numbered.replace_all(by, "$${$1}").into_owned(),
        None => by.to_owned(),
    }
}
