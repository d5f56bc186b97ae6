//! `FETCH FIRST n ROWS ONLY` is `LIMIT n`. DataFusion has no FETCH.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Fetch, LimitClause, Query, Statement, Value, VisitMut as _, VisitorMut,
};

/// Writes each FETCH of a statement as LIMIT.
pub fn as_limit(statement: &mut Statement) {
    let _ = statement.visit(&mut Limits);
}

struct Limits;

impl VisitorMut for Limits {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let rows = match &mut query.fetch {
            Some(Fetch {
                with_ties: false,
                percent: false,
                quantity,
            }) => quantity.take(),
            _ => return ControlFlow::Continue(()),
        };
        let rows = rows.unwrap_or_else(|| Expr::value(Value::Number("1".to_owned(), false)));
        match &mut query.limit_clause {
            Some(LimitClause::LimitOffset { limit, .. }) if limit.is_none() => *limit = Some(rows),
            None => {
                query.limit_clause = Some(LimitClause::LimitOffset {
                    limit: Some(rows),
                    offset: None,
                    limit_by: Vec::new(),
                });
            }
            // Two limits of one query are refused.
            Some(_) => return ControlFlow::Continue(()),
        }
        query.fetch = None;
        ControlFlow::Continue(())
    }
}
