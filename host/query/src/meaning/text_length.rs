//! `CAST(x AS varchar(3))`: its first three characters. DataFusion takes no notice of the length.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CharacterLength, DataType, Expr, Statement, Value, VisitMut as _, VisitorMut,
};

/// Writes each cast to a text of some length so that it has no more.
pub fn kept(statement: &mut Statement) {
    let _ = statement.visit(&mut Casts);
}

struct Casts;

impl VisitorMut for Casts {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { data_type, .. } = expr
            && let Some(length) = length(data_type)
        {
            let number = |number: u64| Value::Number(number.to_string(), false).into();
            let whole = std::mem::replace(expr, Expr::Value(Value::Null.into()));
            *expr = Expr::Substring {
                expr: Box::new(whole),
                substring_from: Some(Box::new(Expr::Value(number(1)))),
                substring_for: Some(Box::new(Expr::Value(number(length)))),
                special: true,
                shorthand: false,
            };
        }
        ControlFlow::Continue(())
    }
}

fn length(of: &DataType) -> Option<u64> {
    use DataType::{Char, CharVarying, Character, CharacterVarying, Nvarchar, Varchar};
    match of {
        Character(length)
        | Char(length)
        | CharacterVarying(length)
        | CharVarying(length)
        | Varchar(length)
        | Nvarchar(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
            // `char` alone is one character.
            None if matches!(of, Character(_) | Char(_)) => Some(1),
            _ => None,
        },
        _ => None,
    }
}
