//! Arithmetic that fails on overflow. DataFusion's operators and sums wrap around.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions},
        compute::{CastOptions, cast, cast_with_options, kernels::numeric::neg},
        datatypes::{DataType, Decimal128Type, Field, FieldRef, Schema},
    },
    common::{
        DFSchema, Result, ScalarValue, config::ConfigOptions, plan_err, tree_node::Transformed,
    },
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, BinaryExpr, Cast, ColumnarValue, EmitTo, Expr,
        ExprSchemable as _, GroupsAccumulator, Operator, ReversedUDAF, ScalarFunctionArgs,
        ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        expr::ScalarFunction,
        expr_rewriter::FunctionRewrite,
        function::{AccumulatorArgs, StateFieldsArgs},
        type_coercion::binary::BinaryTypeCoercer,
        utils::AggregateOrderSensitivity,
    },
    physical_expr::{
        PhysicalExpr,
        expressions::{BinaryExpr as Computed, Column, Literal},
    },
};

use super::{
    errors::external,
    float_values::{changed, one_nan},
    slow_functions::check_deadline,
};
use mindhost_base::error::Error;

/// Replaces arithmetic operators by checked ones.
#[derive(Debug)]
pub struct CheckedOperators;

impl FunctionRewrite for CheckedOperators {
    fn name(&self) -> &str {
        "checked_operators"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        options: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        check_deadline(options)?;
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply),
                right,
            }) => Transformed::yes(match moves_day(&left, op, &right, schema) {
                true => other_day(*left, op, *right),
                false => call(Some(op), vec![*left, *right]),
            }),
            Expr::Negative(of) => Transformed::yes(call(None, vec![*of])),
            other => Transformed::no(other),
        })
    }
}

/// Whether an integer is added to a day, or taken from one: as in PostgreSQL, it is a number of days.
fn moves_day(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> bool {
    // What has no type yet is told elsewhere.
    let (Ok(left), Ok(right)) = (left.get_type(schema), right.get_type(schema)) else {
        return false;
    };
    match op {
        Operator::Plus if right == DataType::Date32 => left.is_integer(),
        Operator::Plus | Operator::Minus => left == DataType::Date32 && right.is_integer(),
        _ => false,
    }
}

/// The day that is so many days later or earlier.
fn other_day(left: Expr, op: Operator, right: Expr) -> Expr {
    let cast = |expr: Expr, to: DataType| Expr::Cast(Cast::new(Box::new(expr), to));
    // A day is the number of days since 1970, in 32 bits.
    let days = |side: Expr| cast(cast(side, DataType::Int32), DataType::Int64);
    let sum = call(Some(op), vec![days(left), days(right)]);
    cast(cast(sum, DataType::Int32), DataType::Date32)
}

/// The checked operator over its values.
pub fn call(op: Option<Operator>, args: Vec<Expr>) -> Expr {
    let operation = ScalarUDF::from(Operation {
        op,
        signature: Signature::user_defined(Volatility::Immutable),
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(operation), args))
}

/// `a + b`, `a - b`, `a * b`, or `-a` without an operator.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Operation {
    op: Option<Operator>,
    signature: Signature,
}

impl ScalarUDFImpl for Operation {
    fn name(&self) -> &str {
        match self.op {
            Some(Operator::Plus) => "+",
            Some(Operator::Multiply) => "*",
            _ => "-",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.op, types) {
            (Some(op), [left, right]) => BinaryTypeCoercer::new(left, &op, right).get_result_type(),
            (None, [of]) => Ok(of.clone()),
            _ => plan_err!("`{}` with {} values", self.name(), types.len()),
        }
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.op, types) {
            (Some(op), [left, right]) => {
                let (left, right) = BinaryTypeCoercer::new(left, &op, right).get_input_types()?;
                Ok(vec![left, right])
            }
            // The negative of an unsigned type needs a signed one.
            (None, [DataType::UInt64]) => Ok(vec![DataType::Decimal128(20, 0)]),
            (None, [of]) if of.is_unsigned_integer() => Ok(vec![DataType::Int64]),
            (None, [of])
                if of.is_numeric() || of.is_null() || matches!(of, DataType::Interval(_)) =>
            {
                Ok(vec![of.clone()])
            }
            _ => plan_err!("`-` needs a number, and this is {}", types[0]),
        }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<_> = args.iter().map(ToString::to_string).collect();
        Ok(self.shown(&args))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args = args.iter().map(|arg| arg.schema_name().to_string());
        Ok(self.shown(&args.collect::<Vec<_>>()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let computed = match (self.op, args.args.as_slice()) {
            (Some(op), [left, right]) => compute(left, op, right, args.number_rows)?,
            (None, [ColumnarValue::Scalar(value)]) if value.is_null() => {
                return Ok(ColumnarValue::Scalar(value.clone()));
            }
            (None, [ColumnarValue::Scalar(value)]) => {
                let negated = neg(&value.to_array()?)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&negated, 0)?)
            }
            (None, [ColumnarValue::Array(values)]) if values.data_type().is_null() => {
                return Ok(ColumnarValue::Array(Arc::clone(values)));
            }
            (None, [ColumnarValue::Array(values)]) => ColumnarValue::Array(neg(values)?),
            _ => return Err(external(Error::internal("an operator without its values"))),
        };
        check_precision(&computed)?;
        // The processor gives a computed NaN a sign.
        Ok(changed(computed, one_nan))
    }
}

impl Operation {
    /// The text of DataFusion's operator, which names the column.
    fn shown(&self, args: &[String]) -> String {
        match args {
            [left, right] => format!("{left} {} {right}", self.name()),
            _ => format!("(- {})", args.join(" ")),
        }
    }
}

/// Runs DataFusion's operator with overflow checks.
fn compute(
    left: &ColumnarValue,
    op: Operator,
    right: &ColumnarValue,
    rows: usize,
) -> Result<ColumnarValue> {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    let mut side = |value: &ColumnarValue| -> Arc<dyn PhysicalExpr> {
        match value {
            ColumnarValue::Scalar(value) => Arc::new(Literal::new(value.clone())),
            ColumnarValue::Array(values) => {
                fields.push(Field::new("", values.data_type().clone(), true));
                arrays.push(Arc::clone(values));
                Arc::new(Column::new("", arrays.len() - 1))
            }
        }
    };
    let computed = Computed::new(side(left), op, side(right)).with_fail_on_overflow(true);
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
    computed.evaluate(&batch)
}

/// Fails if a decimal has more digits than its type: 128 bits hold more than the type allows.
fn check_precision(value: &ColumnarValue) -> Result<()> {
    let DataType::Decimal128(digits, _) = value.data_type() else {
        return Ok(());
    };
    let array = match value {
        ColumnarValue::Array(array) => Arc::clone(array),
        ColumnarValue::Scalar(value) => value.to_array()?,
    };
    let decimals = array.as_primitive::<Decimal128Type>();
    Ok(decimals.validate_decimal_precision(digits)?)
}

/// A `sum` that uses a wider type, and fails if the result does not fit.
pub fn sum(function: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    match function.name() {
        "sum" => Arc::new(AggregateUDF::from(CheckedSum { inner: function })),
        _ => function,
    }
}

/// The wider type of a sum; `None` if its own is wide enough for 10^10 rows.
fn wide(sum: &DataType) -> Option<DataType> {
    match sum {
        DataType::Int64 | DataType::UInt64 => Some(DataType::Decimal128(38, 0)),
        // A sum has ten digits more than its values, up to the maximum.
        DataType::Decimal128(38, scale) => Some(DataType::Decimal256(76, *scale)),
        _ => None,
    }
}

fn as_wide(field: &FieldRef, wide: &DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(wide.clone()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Arc<AggregateUDF>,
}

impl CheckedSum {
    /// Creates an accumulator for arguments of the wide type.
    fn with<T>(
        &self,
        args: AccumulatorArgs,
        wide: &DataType,
        make: impl FnOnce(&AggregateUDF, AccumulatorArgs) -> Result<T>,
    ) -> Result<T> {
        let fields: Vec<_> = args
            .expr_fields
            .iter()
            .map(|of| as_wide(of, wide))
            .collect();
        let args = AccumulatorArgs {
            return_field: as_wide(&args.return_field, wide),
            expr_fields: &fields,
            ..args
        };
        make(&self.inner, args)
    }

    fn one(
        &self,
        args: AccumulatorArgs,
        make: impl FnOnce(&AggregateUDF, AccumulatorArgs) -> Result<Box<dyn Accumulator>>,
    ) -> Result<Box<dyn Accumulator>> {
        let narrow = args.return_type().clone();
        let Some(wide) = wide(&narrow) else {
            return make(&self.inner, args);
        };
        let inner = self.with(args, &wide, make)?;
        Ok(Box::new(WideAccumulator {
            inner,
            wide,
            narrow,
        }))
    }
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let return_field = match wide(args.return_type()) {
            Some(wide) => as_wide(&args.return_field, &wide),
            None => Arc::clone(&args.return_field),
        };
        self.inner.state_fields(StateFieldsArgs {
            return_field,
            ..args
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.one(args, |inner, args| inner.accumulator(args))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.one(args, |inner, args| inner.create_sliding_accumulator(args))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let narrow = args.return_type().clone();
        let Some(wide) = wide(&narrow) else {
            return self.inner.create_groups_accumulator(args);
        };
        let inner = self.with(args, &wide, |inner, args| {
            inner.create_groups_accumulator(args)
        })?;
        Ok(Box::new(WideAccumulator {
            inner,
            wide,
            narrow,
        }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Sums in the wide type. The input and the result are narrow; the state is wide.
struct WideAccumulator<T: ?Sized> {
    wide: DataType,
    narrow: DataType,
    inner: Box<T>,
}

impl<T: ?Sized> std::fmt::Debug for WideAccumulator<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WideAccumulator({})", self.wide)
    }
}

impl<T: ?Sized> WideAccumulator<T> {
    fn widened(&self, values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let widened = values.iter().map(|values| cast(values, &self.wide));
        Ok(widened.collect::<Result<_, _>>()?)
    }

    /// Converts the sum back; fails if it does not fit.
    fn narrowed(&self, sums: &ArrayRef) -> Result<ArrayRef> {
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        Ok(cast_with_options(sums, &self.narrow, &options)?)
    }
}

impl Accumulator for WideAccumulator<dyn Accumulator> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.widened(values)?;
        self.inner.update_batch(&values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&self.narrowed(&sum)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.widened(values)?;
        self.inner.retract_batch(&values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

impl GroupsAccumulator for WideAccumulator<dyn GroupsAccumulator> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = self.widened(values)?;
        self.inner.update_batch(&values, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sums = self.inner.evaluate(emit)?;
        self.narrowed(&sums)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&self.widened(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
