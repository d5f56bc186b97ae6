//! Functions whose result can be far larger than their arguments. Its size is computed first.
//!
//! Forty lines of SQL can double a text forty times. Operators do not count the memory of expressions, so these
//! functions do.

use std::{hash::Hash, sync::Arc};

use datafusion::arrow::datatypes::FieldRef;
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray},
        compute::{cast, kernels::concat_elements::concat_elements_utf8},
        datatypes::{DataType, Int64Type},
    },
    common::{DFSchema, Result, ScalarValue},
    logical_expr::{
        ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature, Volatility,
        expr::ScalarFunction,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawWindowExpr},
    },
};
use sqlparser::ast::BinaryOperator;

use super::errors::external;
use mindhost_base::error::{Code, Error};

/// Bytes that one function may produce for one batch.
const MAX_BYTES: u64 = 128 << 20;
/// Largest text that a function may produce: the next function cannot be interrupted within it.
const MAX_TEXT: u64 = 16 << 20;

/// The growing functions, with the bound of their results; and functions that copy views, which may repeat one text.
const GROWING: [(&str, Estimate); 19] = [
    ("btrim", all),
    ("initcap", all),
    ("left", all),
    ("lower", all),
    ("ltrim", all),
    ("reverse", all),
    ("right", all),
    ("rtrim", all),
    ("split_part", all),
    ("translate", all),
    ("upper", all),
    ("concat", all),
    ("concat_ws", joined),
    ("lpad", padded),
    ("rpad", padded),
    ("repeat", repeated),
    ("replace", replaced),
    ("regexp_replace", replaced),
    ("to_char", formatted),
];

/// An upper bound of the result in bytes, from the sizes of the arguments and the number of rows.
type Estimate = fn(&[Size], u64) -> u64;

/// The size of an argument.
pub struct Size {
    /// Bytes of all texts.
    pub bytes: u64,
    /// Bytes of the longest text.
    pub longest: u64,
    /// The greatest value, if it is a number.
    number: u64,
}

fn all(sizes: &[Size], _: u64) -> u64 {
    sizes
        .iter()
        .map(|size| size.bytes)
        .fold(0, u64::saturating_add)
}

fn joined(sizes: &[Size], rows: u64) -> u64 {
    let between = sizes.first().map_or(0, |size| size.longest);
    let joints = (sizes.len() as u64).saturating_mul(rows);
    all(sizes, rows).saturating_add(between.saturating_mul(joints))
}

fn padded(sizes: &[Size], rows: u64) -> u64 {
    let length = sizes.get(1).map_or(0, |size| size.number);
    rows.saturating_mul(length).saturating_mul(4)
}

fn repeated(sizes: &[Size], rows: u64) -> u64 {
    let times = sizes.get(1).map_or(0, |size| size.number);
    let longest = sizes.first().map_or(0, |size| size.longest);
    rows.saturating_mul(longest).saturating_mul(times)
}

fn replaced(sizes: &[Size], rows: u64) -> u64 {
    let by = sizes.get(2).map_or(0, |size| size.longest);
    let text = sizes.first().map_or(0, |size| size.bytes);
    text.saturating_add(rows)
        .saturating_mul(by.saturating_add(1))
}

fn formatted(sizes: &[Size], rows: u64) -> u64 {
    let format = sizes.get(1).map_or(0, |size| size.longest);
    rows.saturating_mul(format).saturating_mul(16)
}

fn check(args: &[ColumnarValue], rows: usize, estimate: Estimate) -> Result<()> {
    let mut sizes = sizes(args, rows)?;
    let all_rows = estimate(&sizes, rows as u64);
    sizes.iter_mut().for_each(|size| size.bytes = size.longest);
    let most = match (all_rows, estimate(&sizes, 1)) {
        (MAX_BYTES.., _) => MAX_BYTES,
        (_, MAX_TEXT..) => MAX_TEXT,
        _ => return Ok(()),
    };
    Err(external(Error::new(
        Code::ResultTooLarge,
        format!(
            "a function would make texts of more than {} MiB out of a few rows; make them shorter",
            most >> 20
        ),
    )))
}

/// The sizes of the arguments of a function.
pub fn sizes(args: &[ColumnarValue], rows: usize) -> Result<Vec<Size>> {
    args.iter().map(|arg| size(arg, rows as u64)).collect()
}

fn size(arg: &ColumnarValue, rows: u64) -> Result<Size> {
    let (array, copies) = match arg {
        ColumnarValue::Array(array) => (Arc::clone(array), 1),
        ColumnarValue::Scalar(value) => (value.to_array()?, rows),
    };
    let number = match array.data_type().is_integer() {
        true => greatest(&array)?,
        false => 0,
    };
    let text = match array.data_type() {
        DataType::Utf8View => Some(Arc::clone(&array)),
        // Without a copy: the views point to what is there.
        DataType::LargeUtf8 | DataType::Utf8 => Some(cast(&array, &DataType::Utf8View)?),
        _ => None,
    };
    let (mut bytes, mut longest) = (0, 0);
    if let Some(text) = text {
        for value in text.as_string_view().iter().flatten() {
            bytes += value.len() as u64;
            longest = longest.max(value.len() as u64);
        }
    } else {
        bytes = array.get_array_memory_size() as u64;
    }
    Ok(Size {
        bytes: bytes.saturating_mul(copies),
        longest,
        number,
    })
}

fn greatest(array: &ArrayRef) -> Result<u64> {
    let numbers = cast(array, &DataType::Int64)?;
    let greatest = numbers.as_primitive::<Int64Type>().iter().flatten().max();
    Ok(greatest
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or(0))
}

/// Wraps a growing function; returns any other unchanged.
pub fn bounded(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match GROWING.iter().find(|(name, _)| *name == function.name()) {
        Some((name, _)) => Arc::new(ScalarUDF::from(BoundedFunction {
            name: (*name).to_owned(),
            inner: function,
        })),
        None => function,
    }
}

/// A function that checks the size of its result first.
#[derive(Debug, PartialEq, Eq, Hash)]
struct BoundedFunction {
    name: String,
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for BoundedFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types).map(as_view)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        let view = as_view(field.data_type().clone());
        Ok(Arc::new(field.as_ref().clone().with_data_type(view)))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some((_, estimate)) = GROWING.iter().find(|(name, _)| *name == self.name) {
            check(&args.args, args.number_rows, *estimate)?;
        }
        let types: Vec<_> = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let own = self.inner.return_type(&types)?;
        let wanted = args.return_field.data_type().clone();
        args.return_field = Arc::new(args.return_field.as_ref().clone().with_data_type(own));
        self.inner.invoke_with_args(args)?.cast_to(&wanted, None)
    }
}

/// Converts new text to views, so that a join that repeats it copies nothing.
fn as_view(of: DataType) -> DataType {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        other => other,
    }
}

/// Aggregates that build a value from all rows of a window for each row, which is quadratic.
const NOT_IN_WINDOWS: [&str; 7] = [
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "array_agg",
    "median",
    "percentile_cont",
    "string_agg",
];

/// Plans `a || b` as a checked function, and refuses windows that are more than linear.
#[derive(Debug)]
pub struct ConcatPlanner;

impl ExprPlanner for ConcatPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use datafusion::logical_expr::ExprSchemable as _;
        let is_nested = |side: &Expr| side.get_type(schema).is_ok_and(|of| of.is_nested());
        if expr.op != BinaryOperator::StringConcat
            || is_nested(&expr.left)
            || is_nested(&expr.right)
        {
            return Ok(PlannerResult::Original(expr));
        }
        let join = Arc::new(ScalarUDF::from(Concat {
            signature: Signature::user_defined(Volatility::Immutable),
        }));
        let call = ScalarFunction::new_udf(join, vec![expr.left, expr.right]);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }

    fn plan_window(&self, expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        let name = expr.func_def.name();
        match NOT_IN_WINDOWS.contains(&name) {
            false => Ok(PlannerResult::Original(expr)),
            true => Err(external(Error::new(
                Code::SqlNotSupported,
                format!("`{name}` cannot be used with OVER here; group in a subquery and join it"),
            ))),
        }
    }
}

/// `||`: NULL when one side is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Concat {
    signature: Signature,
}

impl ScalarUDFImpl for Concat {
    fn name(&self) -> &str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn coerce_types(&self, _: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![DataType::Utf8View, DataType::Utf8View])
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let sides: Vec<_> = args.iter().map(ToString::to_string).collect();
        Ok(sides.join(" || "))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let sides = args.iter().map(|side| side.schema_name().to_string());
        Ok(sides.collect::<Vec<_>>().join(" || "))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        check(&args.args, args.number_rows, all)?;
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else {
            return Err(external(Error::internal("`||` without two sides")));
        };
        let (left, right) = (cast(left, &DataType::Utf8)?, cast(right, &DataType::Utf8)?);
        let joined = concat_elements_utf8(left.as_string::<i32>(), right.as_string::<i32>())?;
        let joined = cast(&joined, &DataType::Utf8View)?;
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&joined, 0)?),
            false => ColumnarValue::Array(joined),
        })
    }
}
