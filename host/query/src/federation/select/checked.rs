//! Groups of one table whose cells may have other types than their columns. See [`super::super::cells`].

use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::{Aggregate, Expr, expr::AggregateFunction},
};

use super::{
    super::{
        cells::{misfit, read_by},
        expressions::{Scope, Value},
        kinds::Kind,
    },
    Select,
    aggregates::in_bytes,
    clauses::Condition,
};

/// What groups are in place of a number: no number fits it, so that the host says that a cell does not fit.
const OTHER_TYPE: &str = "'a cell of another type'";
/// The same for a sum beyond 64 bits.
const TOO_LARGE: &str = "'a sum beyond 64 bits'";

impl Select {
    /// With a condition that is exact where each cell has the type of its column; the groups above have to look at
    /// those that it read. `None` if it is not exact even there.
    pub fn filtered_where_cells_fit(mut self, condition: &Expr, schema: &DFSchema) -> Option<Self> {
        let columns = (schema, self.columns.as_slice());
        let misfits = read_by(condition, columns)?;
        let misfits: Option<Vec<String>> = misfits.iter().map(misfit).collect();
        let inputs = [columns];
        let condition = Scope::exact(self.dialect, &inputs).condition(condition)?;
        self.misfits.extend(misfits?);
        // The scan may have it already.
        let is_new = !self.conditions.iter().any(|known| match known {
            Condition::Text(known) => *known == condition,
            Condition::Exists { .. } => false,
        });
        if is_new {
            self.conditions.push(Condition::Text(condition));
        }
        Some(self)
    }

    /// With the groups and aggregates of a plan, which look at each cell that they were computed of. A key is read as
    /// it is, so the host looks at it itself.
    pub fn grouped_where_cells_fit(mut self, aggregate: &Aggregate) -> Option<Self> {
        let inputs = [(aggregate.input.schema().as_ref(), self.columns.as_slice())];
        let scope = Scope::exact(self.dialect, &inputs);
        let rules = self.rules();
        let key = |expr: &Expr| {
            let value = scope.value(expr).filter(|value| {
                matches!(
                    value.kind,
                    Kind::Integer | Kind::Text | Kind::Date | Kind::Decimal
                )
            });
            let is_plain = matches!(expr, Expr::Column(_));
            value
                .filter(|value| is_plain && super::is_column(&value.sql))
                .map(|value| in_bytes(value, rules))
        };
        let keys: Option<Vec<Value>> = aggregate.group_expr.iter().map(key).collect();
        let mut columns = keys?;
        // A date is a text whose column may be declared to be compared without blanks at the end. The column itself stays
        // as it is: only then SQLite tells its type.
        let group = |key: &Value| match key.kind {
            Kind::Date => rules.bytes(&key.sql),
            _ => key.sql.clone(),
        };
        let groups = columns.iter().map(group).collect();
        let mut misfits = self.misfits.clone();
        let mut computed = Vec::new();
        for expr in &aggregate.aggr_expr {
            let (sql, cell) = aggregated(expr, &scope)?;
            computed.push(sql);
            if let Some(cell) = cell {
                misfits.push(misfit(&cell)?);
            }
        }
        misfits.sort();
        misfits.dedup();
        if computed.is_empty() && !misfits.is_empty() {
            return None;
        }
        // No condition on them goes there: it would drop what tells of a cell of another type.
        columns.extend(computed.into_iter().map(|sql| Value {
            sql: match misfits.is_empty() {
                true => sql,
                false => {
                    let any = misfits.join(" OR ");
                    format!("CASE WHEN max({any}) THEN {OTHER_TYPE} ELSE {sql} END")
                }
            },
            kind: Kind::Opaque,
        }));
        self.is_single_row |= aggregate.group_expr.is_empty();
        self.columns = columns;
        self.groups = Some(groups);
        Some(self)
    }
}

/// An aggregate that is the host's where the cells of its column have the type of it, and that column.
fn aggregated(expr: &Expr, scope: &Scope<'_>) -> Option<(String, Option<Value>)> {
    let Expr::AggregateFunction(AggregateFunction { func, params }) = expr.clone().unalias() else {
        return None;
    };
    let is_plain = params.filter.is_none() && params.order_by.is_empty();
    let [arg] = params.args.as_slice() else {
        return None;
    };
    if !is_plain || params.null_treatment.is_some() {
        return None;
    }
    let every_row = matches!(arg, Expr::Literal(ScalarValue::Int64(Some(_)), _));
    if func.name() == "count" && every_row && !params.distinct {
        return Some((String::from("count(*)"), None));
    }
    if !matches!(arg, Expr::Column(_)) {
        return None;
    }
    let cell = scope.value(arg)?;
    let sql = match (func.name(), cell.kind, params.distinct) {
        // Whatever a text is stored as, the host reads a text.
        ("count", Kind::Text, false) => return Some((format!("count({})", cell.sql), None)),
        ("count", _, false) => format!("count({})", cell.sql),
        ("count", Kind::Integer | Kind::Date, true) => format!("count(DISTINCT {})", cell.sql),
        // What is no integer has no place in the result of these.
        ("min" | "max", Kind::Integer, _) => format!("{}({})", func.name(), cell.sql),
        ("sum", Kind::Integer, false) => sum(&cell.sql),
        _ => return None,
    };
    Some((sql, Some(cell)))
}

/// The sum of integers. `sum` fails as soon as the cells so far are beyond 64 bits, also if the whole is not. So the upper
/// and lower halves of the cells are summed up, which needs four thousand million rows to do so.
fn sum(cell: &str) -> String {
    let lower = format!("sum({cell} & 4294967295)");
    let upper = format!("(sum({cell} >> 32) + ({lower} >> 32))");
    format!(
        "CASE WHEN {upper} NOT BETWEEN -2147483648 AND 2147483647 THEN {TOO_LARGE} ELSE {upper} * 4294967296 + ({lower} & 4294967295) END"
    )
}
