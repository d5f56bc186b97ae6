//! ClickHouse's ARRAY JOIN: what stands behind it are columns with arrays, which the parser takes for tables.

use sqlparser::ast::{
    Function, FunctionArg, FunctionArguments, Ident, JoinOperator, ObjectName, Spanned,
    TableFactor, TableFunctionArgs, TableWithJoins,
};

use super::{Walk, call};
use mindhost_base::error::Result;

impl Walk<'_> {
    /// The tables of FROM. Behind ARRAY JOIN, ClickHouse reads a comma as one between arrays, up to the next join.
    pub(super) fn from(&mut self, from: &mut [TableWithJoins]) -> Result<()> {
        let mut are_arrays = false;
        for table in from {
            if are_arrays {
                self.array_join(&mut table.relation)?;
                self.joins(&mut table.joins)?;
            } else {
                self.table_with_joins(table)?;
            }
            are_arrays = match table.joins.last() {
                Some(join) => is_array_join(&join.join_operator),
                None => are_arrays,
            };
        }
        Ok(())
    }

    /// A column with arrays, or a function that makes one.
    pub(super) fn array_join(&mut self, factor: &mut TableFactor) -> Result<()> {
        let at = factor.span().start;
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                match args {
                    None => {
                        self.parts(name)?;
                    }
                    Some(TableFunctionArgs {
                        args,
                        settings: None,
                    }) => self.array_function(name, args)?,
                    Some(_) => return Err(self.unsupported("SETTINGS", at)),
                }
                self.other_alias(alias.as_mut())
            }
            _ => Err(self.unsupported("ARRAY JOIN of anything but columns and functions", at)),
        }
    }

    /// The parser takes it for a function that makes a table.
    fn array_function(&mut self, name: &mut ObjectName, args: &mut Vec<FunctionArg>) -> Result<()> {
        let mut function = call(ObjectName::from(Vec::<Ident>::new()), Vec::new());
        std::mem::swap(&mut function.name, name);
        if let FunctionArguments::List(list) = &mut function.args {
            std::mem::swap(&mut list.args, args);
        }
        let checked = self.function(&mut function);
        let Function {
            name: called,
            args: given,
            ..
        } = function;
        *name = called;
        if let FunctionArguments::List(list) = given {
            *args = list.args;
        }
        checked
    }
}

pub(super) fn is_array_join(operator: &JoinOperator) -> bool {
    matches!(
        operator,
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin
    )
}
