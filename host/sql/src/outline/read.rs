//! Reads the outline of a statement.

use std::ops::ControlFlow;

use sqlparser::{
    ast::{
        BinaryOperator, Cte, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
        FunctionArguments, GroupByExpr, Ident, JoinConstraint, JoinOperator, ObjectName,
        ObjectNamePart, Query, Select, SelectItem, Statement, TableFactor, UnaryOperator, Value,
        Visit, Visitor,
    },
    parser::{Parser, ParserOptions},
};

use super::{
    Aggregate, Block, Column, Comparison, Division, FunctionCall, Literal, Name, Operand, Outline,
    Table, aliases::Aliases,
};
use crate::{
    dialect::PrefixLimited,
    guard::STACK_BYTES,
    lexical::{self, Source},
    rules::Rules,
};
use mindhost_plugin_api::Dialect;

/// Constants of one IN that are looked at. Each has the text of the whole IN, so more of them would take much memory.
const MAX_LISTED: usize = 16;
/// Recursion limit of the parser.
const RECURSION: usize = 100;
/// Aggregates of all dialects that a fan-out of a join changes.
const AGGREGATES: [&str; 4] = ["sum", "avg", "count", "total"];
/// Functions of a column that keep its type.
const KEEP_TYPE: [&str; 5] = ["sum", "min", "max", "coalesce", "abs"];

/// The outline of a statement; `None` if it is not one SELECT of this dialect.
pub fn outline(sql: &str, dialect: Dialect) -> Option<Outline> {
    parse(sql, dialect, |source, query| {
        let mut reader = Reader {
            source,
            rules: Rules::of(dialect),
            outline: Outline::default(),
        };
        let _ = Visit::visit(query, &mut reader);
        reader.outline
    })
}

/// Reads a statement with the stack that its depth may need; `None` if it is not one SELECT of this dialect.
pub(super) fn parse<T>(
    sql: &str,
    dialect: Dialect,
    read: impl FnOnce(&Source<'_>, &Query) -> T,
) -> Option<T> {
    let rules = Rules::of(dialect);
    let source = Source::new(sql).ok()?;
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        let tokens = lexical::tokens(&source, rules).ok()?;
        let limited = PrefixLimited::new(rules.parser(), tokens.len());
        let statements = Parser::new(&limited)
            .with_options(ParserOptions::new().with_unescape(rules.unescapes()))
            .with_recursion_limit(RECURSION)
            .with_tokens_with_locations(tokens)
            .parse_statements()
            .ok()?;
        let [Statement::Query(query)] = &statements[..] else {
            return None;
        };
        Some(read(&source, query))
    })
}

struct Reader<'a> {
    source: &'a Source<'a>,
    rules: &'static Rules,
    outline: Outline,
}

impl Visitor for Reader<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for Cte { alias, .. } in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.define(&alias.name);
            for column in &alias.columns {
                self.define(&column.name);
            }
        }
        let uses = Aliases::uses_in_order(query, self.rules, &|ident| self.name(ident));
        self.outline.alias_uses.extend(uses);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let block = self.block(select);
        self.outline.blocks.push(block);
        let uses = Aliases::of(select, self.rules).uses(&|ident| self.name(ident));
        self.outline.alias_uses.extend(uses);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                let column = self.column(expr);
                self.outline.columns.extend(column);
            }
            Expr::Function(function) => {
                let call = self.call(function);
                self.outline.calls.extend(call);
            }
            Expr::BinaryOp { left, op, right } => self.operation(expr, left, op, right),
            Expr::Like {
                expr: of, pattern, ..
            } => self.compare(expr, of, "LIKE", pattern),
            Expr::ILike {
                expr: of, pattern, ..
            } => self.compare(expr, of, "ILIKE", pattern),
            Expr::Between {
                expr: of,
                low,
                high,
                negated: false,
            } => {
                self.compare(expr, of, ">=", low);
                self.compare(expr, of, "<=", high);
            }
            Expr::InList { expr: of, list, .. } => {
                for item in list.iter().take(MAX_LISTED) {
                    self.compare(expr, of, "IN", item);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Reader<'_> {
    fn define(&mut self, ident: &Ident) {
        self.outline.defined.insert(ident.value.to_lowercase());
    }

    fn name(&self, ident: &Ident) -> Name {
        Name {
            text: ident.value.clone(),
            quote: ident.quote_style,
            position: self.source.position(ident.span.start).unwrap_or(0),
        }
    }

    /// The column, if the expression is one and nothing else; parentheses around it do not count.
    fn column(&self, expr: &Expr) -> Option<Column> {
        match expr {
            Expr::Nested(inner) => self.column(inner),
            Expr::Identifier(name) => Some(Column {
                qualifier: None,
                name: self.name(name),
            }),
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [.., qualifier, name] => Some(Column {
                    qualifier: Some(self.name(qualifier)),
                    name: self.name(name),
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The columns in an expression.
    fn columns(&self, expr: &Expr) -> Vec<Column> {
        let mut columns = Columns {
            reader: self,
            found: Vec::new(),
        };
        let _ = Visit::visit(expr, &mut columns);
        columns.found
    }

    fn call(&self, function: &Function) -> Option<FunctionCall> {
        let ident = last_ident(&function.name)?;
        let arguments = arguments(function);
        Some(FunctionCall {
            name: self.name(ident),
            columns: arguments
                .iter()
                .filter_map(|one| self.column(one))
                .collect(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
        })
    }

    fn operation(&mut self, whole: &Expr, left: &Expr, op: &BinaryOperator, right: &Expr) {
        match op {
            BinaryOperator::Divide => {
                let (left, right) = (self.operand(left), self.operand(right));
                // Such a division says nothing, and the text of each in a chain has those before it.
                if left != Operand::Other && right != Operand::Other {
                    let text = whole.to_string();
                    self.outline.divisions.push(Division { left, right, text });
                }
            }
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => {
                self.compare(whole, left, &op.to_string(), right);
                self.compare(whole, right, &mirrored(op).to_string(), left);
            }
            _ => {}
        }
    }

    fn compare(&mut self, whole: &Expr, of: &Expr, operator: &str, with: &Expr) {
        if let (Some(column), Some(literal)) = (self.column(of), literal(with)) {
            self.outline.comparisons.push(Comparison {
                column,
                operator: operator.to_owned(),
                literal,
                text: whole.to_string(),
            });
        }
    }

    fn operand(&self, expr: &Expr) -> Operand {
        match expr {
            Expr::Nested(inner) => self.operand(inner),
            Expr::Function(function) => {
                let name = last_ident(&function.name).map(|name| name.value.to_lowercase());
                match name.as_deref() {
                    Some("count") => Operand::Integer,
                    Some(name) if KEEP_TYPE.contains(&name) => arguments(function)
                        .first()
                        .map_or(Operand::Other, |argument| self.operand(argument)),
                    _ => Operand::Other,
                }
            }
            Expr::Case {
                else_result,
                conditions,
                ..
            } => {
                let is_integer = |expr: &Expr| self.operand(expr) == Operand::Integer;
                let whole = conditions.iter().all(|one| is_integer(&one.result))
                    && else_result.as_ref().is_none_or(|other| is_integer(other));
                if whole {
                    Operand::Integer
                } else {
                    Operand::Other
                }
            }
            _ => match (literal(expr), self.column(expr)) {
                (Some(Literal::Number(text)), _) if text.bytes().all(|c| c.is_ascii_digit()) => {
                    Operand::Integer
                }
                (None, Some(column)) => Operand::Column(column),
                _ => Operand::Other,
            },
        }
    }

    fn block(&mut self, select: &Select) -> Block {
        let mut block = Block {
            is_filtered: select.selection.is_some() || select.having.is_some(),
            ..Block::default()
        };
        for from in &select.from {
            self.table(&from.relation, &mut block);
            for join in &from.joins {
                let first = block.tables.len();
                self.table(&join.relation, &mut block);
                match constraint(&join.join_operator) {
                    Some(JoinConstraint::On(on)) => {
                        self.equal(on, &mut block);
                        self.conditions(on, &mut block);
                    }
                    Some(JoinConstraint::None) => {}
                    _ => block.joined.extend(first..block.tables.len()),
                }
            }
        }
        if let Some(filter) = &select.selection {
            self.equal(filter, &mut block);
            self.conditions(filter, &mut block);
        }
        let by = match &select.group_by {
            GroupByExpr::Expressions(by, _) => &by[..],
            GroupByExpr::All(_) => &[],
        };
        block.grouped = by.iter().map(ToString::to_string).collect();
        let by: Vec<Column> = by.iter().filter_map(|one| self.column(one)).collect();
        for (index, item) in select.projection.iter().enumerate() {
            let alias = match item {
                SelectItem::ExprWithAlias { alias, .. } => {
                    self.define(alias);
                    Some(alias.value.as_str())
                }
                _ => None,
            };
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item
            else {
                continue;
            };
            let mut found = Aggregates {
                reader: self,
                depth: 0,
                of_subqueries: false,
                found: Vec::new(),
            };
            let _ = Visit::visit(expr, &mut found);
            let (found, of_subqueries) = (found.found, found.of_subqueries);
            if found.is_empty() && !of_subqueries && literal(expr).is_none() {
                let (text, columns) = (expr.to_string(), self.columns(expr));
                let names = [Some(text.as_str()), alias];
                let number = (index + 1).to_string();
                let mut grouped = block.grouped.iter().map(String::as_str);
                let is_grouped = grouped.any(|one| one == number || names.contains(&Some(one)));
                let are_grouped = columns
                    .iter()
                    .all(|one| by.iter().any(|by| is_same(by, one)));
                if !is_grouped && (columns.is_empty() || !are_grouped) {
                    block.ungrouped.push(text.clone());
                }
                block.plain.push(text);
                block.shown.extend(columns);
            }
            block.aggregates.extend(found);
        }
        if let GroupByExpr::Expressions(grouped, _) = &select.group_by {
            let columns = grouped.iter().flat_map(|one| self.columns(one));
            block.shown.extend(columns);
        }
        block
    }

    fn table(&mut self, factor: &TableFactor, block: &mut Block) {
        match factor {
            TableFactor::Table {
                name, alias, args, ..
            } => {
                let Some(last) = last_ident(name).filter(|_| args.is_none()) else {
                    return;
                };
                let part = |part: &ObjectNamePart| part.as_ident().map(|one| one.value.clone());
                block.tables.push(Table {
                    parts: name.0.iter().filter_map(part).collect(),
                    name: self.name(last),
                    alias: alias.as_ref().map(|alias| alias.name.value.clone()),
                });
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => {
                let first = block.tables.len();
                self.table(&table_with_joins.relation, block);
                for join in &table_with_joins.joins {
                    self.table(&join.relation, block);
                }
                // Their conditions are not read.
                block.joined.extend(first..block.tables.len());
            }
            TableFactor::Derived {
                alias: Some(alias), ..
            } => {
                self.define(&alias.name);
                for column in &alias.columns {
                    self.define(&column.name);
                }
            }
            _ => {}
        }
    }

    /// Adds the columns of a condition, or of its parts between AND.
    fn conditions(&self, condition: &Expr, block: &mut Block) {
        match condition {
            Expr::Nested(inner) => self.conditions(inner, block),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                self.conditions(left, block);
                self.conditions(right, block);
            }
            _ => {
                let columns = self.columns(condition);
                if columns.len() > 1 {
                    block.conditions.push(columns);
                }
            }
        }
    }

    /// Adds the pairs of columns that a condition compares with `=`, and the columns that it wants to be NULL.
    fn equal(&self, condition: &Expr, block: &mut Block) {
        match condition {
            Expr::Nested(inner) => self.equal(inner, block),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                self.equal(left, block);
                self.equal(right, block);
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => {
                if let (Some(left), Some(right)) = (self.column(left), self.column(right)) {
                    block.equal.push((left, right));
                }
            }
            Expr::IsNull(inner) => block.null.extend(self.column(inner)),
            _ => {}
        }
    }
}

/// Whether two columns are written alike; one of them may stand without its qualifier.
fn is_same(one: &Column, other: &Column) -> bool {
    let are_equal = |a: &Name, b: &Name| a.text.eq_ignore_ascii_case(&b.text);
    let qualifiers = one.qualifier.as_ref().zip(other.qualifier.as_ref());
    are_equal(&one.name, &other.name) && qualifiers.is_none_or(|(a, b)| are_equal(a, b))
}

/// Collects the aggregates of an expression. Those of a subquery are of its own SELECT.
struct Aggregates<'a, 'b> {
    reader: &'a Reader<'b>,
    /// Queries around the expression that is visited.
    depth: usize,
    /// Whether a subquery has some.
    of_subqueries: bool,
    found: Vec<Aggregate>,
}

impl Visitor for Aggregates<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth = self.depth.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let name = last_ident(&function.name).map(|name| name.value.to_lowercase());
        let is_aggregate = |name: &String| {
            AGGREGATES.contains(&name.as_str())
                || ["min", "max", "group_concat", "string_agg"].contains(&name.as_str())
        };
        let Some(name) = name.filter(|name| is_aggregate(name) && function.over.is_none()) else {
            return ControlFlow::Continue(());
        };
        if self.depth > 0 {
            self.of_subqueries = true;
            return ControlFlow::Continue(());
        }
        let arguments = arguments(function).into_iter();
        self.found.push(Aggregate {
            function: name,
            columns: arguments
                .flat_map(|argument| self.reader.columns(argument))
                .collect(),
            distinct: matches!(&function.args, FunctionArguments::List(list)
                if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)),
        });
        ControlFlow::Continue(())
    }
}

/// Collects the columns of an expression.
struct Columns<'a, 'b> {
    reader: &'a Reader<'b>,
    found: Vec<Column>,
}

impl Visitor for Columns<'_, '_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            self.found.extend(self.reader.column(expr));
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn last_ident(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(ObjectNamePart::as_ident)
}

fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let expr = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().filter_map(expr).collect()
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// The comparison with its sides exchanged.
fn mirrored(op: &BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other.clone(),
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        // `DATE '2024-05-01'`
        Expr::TypedString(typed) => match &typed.value.value {
            Value::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match literal(expr)? {
            Literal::Number(number) => Some(Literal::Number(format!("-{number}"))),
            Literal::Text(_) => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(Literal::Number(number.to_string())),
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::NationalStringLiteral(text) => Some(Literal::Text(text.clone())),
            _ => None,
        },
        _ => None,
    }
}
