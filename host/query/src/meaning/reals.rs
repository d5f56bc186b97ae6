//! The values of `real`. A column of four bytes has the value of its shortest text, 0.1 and not 0.10000000149, so a
//! cast to `real` has it too.

use std::{ops::ControlFlow, sync::Arc};

use datafusion::{
    arrow::{
        array::{AsArray as _, Float64Array},
        compute::cast,
        datatypes::{DataType, Float32Type},
    },
    common::{Result, internal_err},
    logical_expr::{
        ColumnarValue, Expr as Planned, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        Volatility,
    },
};
use sqlparser::ast::{DataType as Written, Expr, Statement, VisitMut as _, VisitorMut};

use super::scalar;
use crate::distinct_names::call;

/// The function that gives these values. The guard lets no statement call it.
const REAL: &str = "__real";
/// Below it, each whole number has a place in four bytes.
const EXACT: f32 = 16_777_216.0;

/// Puts the function around each cast and constant of this type.
pub fn as_shown(statement: &mut Statement) {
    let _ = statement.visit(&mut Reals);
}

struct Reals;

impl VisitorMut for Reals {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let data_type = match expr {
            Expr::Cast { data_type, .. } => data_type,
            Expr::TypedString(typed) => &mut typed.data_type,
            _ => return ControlFlow::Continue(()),
        };
        if matches!(data_type, Written::Real | Written::Float4) {
            *expr = call(REAL, vec![expr.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// The function of these values.
pub fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(Real { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Real {
    signature: Signature,
}

impl ScalarUDFImpl for Real {
    fn name(&self) -> &str {
        REAL
    }

    /// That of its argument, which is a cast.
    fn schema_name(&self, args: &[Planned]) -> Result<String> {
        match args {
            [cast] => Ok(cast.schema_name().to_string()),
            _ => internal_err!("a real of several values"),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        scalar::of_one(&args.args, |values| {
            let values = cast(values, &DataType::Float32)?;
            let values = values.as_primitive::<Float32Type>();
            let shown: Float64Array = values.unary(shown);
            Ok(Arc::new(shown))
        })
    }
}

/// The number that the shortest text of a value stands for.
fn shown(value: f32) -> f64 {
    if value.trunc() == value && value.abs() < EXACT {
        return f64::from(value);
    }
    value
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_that_of_the_shortest_text() {
        for (value, expected) in [
            (0.1, 0.1),
            (-3.4e38, -3.4e38),
            (1e-45, 1e-45),
            (16_777_216.0, 16_777_216.0),
            (f32::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(shown(value), expected);
        }
        assert!(shown(f32::NAN).is_nan());
        assert!(shown(-0.0).is_sign_negative());
    }
}
