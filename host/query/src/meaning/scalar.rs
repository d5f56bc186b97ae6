//! Functions of one argument that stand in the place of one of DataFusion's.

use datafusion::{
    arrow::array::ArrayRef,
    common::{Result, ScalarValue},
    logical_expr::ColumnarValue,
};

use crate::errors;
use mindhost_base::error::Error;

/// The result of such a function. A constant stays one.
///
/// # Errors
/// Those of `compute`, and an internal one without an argument or with several.
pub fn of_one(
    args: &[ColumnarValue],
    compute: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    match args {
        [ColumnarValue::Array(values)] => compute(values).map(ColumnarValue::Array),
        [ColumnarValue::Scalar(value)] => {
            let computed = compute(&value.to_array()?)?;
            ScalarValue::try_from_array(&computed, 0).map(ColumnarValue::Scalar)
        }
        _ => Err(errors::external(Error::internal(
            "a function of one argument has several",
        ))),
    }
}
