//! `float` is a double, as in PostgreSQL; `real` and `float(24)` are single. DataFusion takes each `float` for a single
//! one, which has seven digits.

use sqlparser::ast::{DataType, ExactNumberInfo, Statement};

use crate::cast_types;

/// Most bits of the digits of a `real`.
const REAL_BITS: u64 = 24;

/// Writes the types of casts so that they mean that.
pub fn as_doubles(statement: &mut Statement) {
    cast_types::change(statement, |data_type| {
        if let DataType::Float(bits) = data_type {
            *data_type = match bits {
                ExactNumberInfo::Precision(..=REAL_BITS) => DataType::Real,
                _ => DataType::DoublePrecision,
            };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::{dialect::GenericDialect, parser::Parser};

    #[test]
    fn float_is_double_unless_it_has_few_bits() {
        let sql =
            "SELECT CAST(a AS FLOAT), b::FLOAT(24), TRY_CAST(c AS FLOAT(25)), CAST(d AS REAL)";
        let mut parsed = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
        as_doubles(&mut parsed[0]);
        assert_eq!(
            parsed[0].to_string(),
            "SELECT CAST(a AS DOUBLE PRECISION), b::REAL, TRY_CAST(c AS DOUBLE PRECISION), CAST(d AS REAL)"
        );
    }
}
