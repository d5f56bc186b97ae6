//! FROM: tables, table functions, subqueries, joins.

use sqlparser::{
    ast::{
        Expr, ExprWithAlias, FunctionArg, FunctionArgExpr, Ident, Join, JoinConstraint,
        JoinOperator, ObjectName, ObjectNamePart, OpenJsonTableColumn, PivotValueSource, Spanned,
        TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs, TableSample,
        TableSampleKind, TableSampleMethod, TableSampleModifier, TableSampleQuantity,
        TableSampleSeed, TableWithJoins,
    },
    tokenizer::Location,
};

use super::{Walk, array_join::is_array_join};
use crate::{mssql, names};
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

/// MySQL reads `a FULL JOIN b` as an inner join of `a AS FULL`.
const NO_FULL_JOIN: &str = "MySQL and MariaDB have no FULL JOIN; write `a LEFT JOIN b ON …`, UNION ALL, and the rows of \
                            `b` without one of `a`: `b LEFT JOIN a ON … WHERE a.key IS NULL`";

impl Walk<'_> {
    pub(super) fn table_with_joins(&mut self, table: &mut TableWithJoins) -> Result<()> {
        let TableWithJoins { relation, joins } = table;
        self.table_factor(relation)?;
        self.joins(joins)
    }

    pub(super) fn joins(&mut self, joins: &mut [Join]) -> Result<()> {
        for Join {
            relation,
            global,
            join_operator,
        } in joins
        {
            if *global && !self.is(Dialect::Clickhouse) {
                return Err(self.unsupported("GLOBAL JOIN", relation.span().start));
            }
            if is_array_join(join_operator) {
                self.array_join(relation)?;
                continue;
            }
            self.table_factor(relation)?;
            self.join(join_operator, relation.span().start)?;
        }
        Ok(())
    }

    /// The kinds of join that the engine has. A word that it lacks would be an alias there, and the join another one.
    fn join(&mut self, operator: &mut JoinOperator, at: Location) -> Result<()> {
        match operator {
            JoinOperator::FullOuter(_) if self.is(Dialect::Mysql) => {
                Err(self.error(Code::SqlNotSupported, NO_FULL_JOIN, at))
            }
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            | JoinOperator::CrossJoin(constraint) => self.join_constraint(constraint, at),
            JoinOperator::StraightJoin(constraint) if self.is(Dialect::Mysql) => {
                self.join_constraint(constraint, at)
            }
            JoinOperator::CrossApply | JoinOperator::OuterApply if self.is(Dialect::Mssql) => {
                Ok(())
            }
            JoinOperator::Semi(constraint)
            | JoinOperator::LeftSemi(constraint)
            | JoinOperator::RightSemi(constraint)
            | JoinOperator::Anti(constraint)
            | JoinOperator::LeftAnti(constraint)
            | JoinOperator::RightAnti(constraint)
                if self.is(Dialect::Clickhouse) =>
            {
                self.join_constraint(constraint, at)
            }
            _ => Err(self.unsupported("this kind of join", at)),
        }
    }

    fn join_constraint(&mut self, constraint: &mut JoinConstraint, at: Location) -> Result<()> {
        match constraint {
            // They would be an alias and a hint.
            JoinConstraint::Using(_) | JoinConstraint::Natural if self.is(Dialect::Mssql) => {
                let message =
                    "SQL Server has no NATURAL JOIN and no USING; write ON with the columns";
                Err(self.error(Code::SqlNotSupported, message, at))
            }
            JoinConstraint::On(expr) => self.expr(expr),
            JoinConstraint::Using(columns) => columns
                .iter()
                .try_for_each(|column| self.parts(column).map(drop)),
            JoinConstraint::Natural | JoinConstraint::None => Ok(()),
        }
    }

    fn table_factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        self.named_factor(factor)?;
        self.apply_policy(factor)
    }

    fn named_factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        let at = factor.span().start;
        self.weights
            .source()
            .map_err(|too_much| self.error(Code::SqlNotSupported, too_much.message(), at))?;
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                self.empty(with_hints, "a table hint")?;
                self.empty(index_hints, "an index hint")?;
                self.empty(partitions, "PARTITION")?;
                self.none(version.as_ref(), "a version of a table")?;
                self.none(json_path.as_ref(), "a path behind a table")?;
                if let Some(alias) = alias.as_mut() {
                    self.table_alias(alias)?;
                }
                if let Some(sample) = sample {
                    self.sample(sample)?;
                }
                if self.is(Dialect::Postgresql) && is_bare(name, "only") {
                    let what = "ONLY, which leaves out the tables that inherit from a table,";
                    return Err(self.unsupported(what, at));
                }
                match args {
                    None if self.is_no_table(name, alias.as_ref()) => Ok(()),
                    None => self.aliased(name, alias),
                    Some(TableFunctionArgs { args, settings }) => {
                        self.none(settings.as_ref(), "SETTINGS")?;
                        self.row_function(name, args, alias.as_ref(), *with_ordinality)
                    }
                }
            }
            TableFactor::Function {
                lateral: _,
                name,
                args,
                with_ordinality,
                alias,
            } => {
                if let Some(alias) = alias.as_mut() {
                    self.table_alias(alias)?;
                }
                self.row_function(name, args, alias.as_ref(), *with_ordinality)
            }
            TableFactor::UNNEST { .. } => self.unnest(factor),
            TableFactor::Derived {
                lateral: _,
                subquery,
                alias,
                sample,
            } => {
                self.none(sample.as_ref(), "TABLESAMPLE of a subquery")?;
                if let Some(alias) = alias.as_mut() {
                    self.table_alias(alias)?;
                }
                self.query(subquery)?;
                let called = alias.as_ref().map(|alias| self.fold(&alias.name));
                self.calls(called.as_deref(), None);
                let is_renamed = alias
                    .as_ref()
                    .is_some_and(|alias| !alias.columns.is_empty());
                self.weights.is_source(called, is_renamed);
                Ok(())
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                self.other_alias(alias.as_mut())?;
                self.table_with_joins(table_with_joins)
            }
            TableFactor::OpenJsonTable { .. } | TableFactor::Pivot { .. }
                if self.is(Dialect::Mssql) =>
            {
                self.t_sql_table(factor, at)
            }
            _ => Err(self.unsupported("this kind of table", at)),
        }
    }

    /// OPENJSON with the columns that it is to have, and PIVOT over a list of values.
    fn t_sql_table(&mut self, factor: &mut TableFactor, at: Location) -> Result<()> {
        match factor {
            TableFactor::OpenJsonTable {
                json_expr,
                json_path,
                columns,
                alias,
            } => {
                self.expr(json_expr)?;
                if let Some(path) = json_path {
                    self.value(path)?;
                }
                for OpenJsonTableColumn {
                    name,
                    r#type,
                    path: _,
                    as_json: _,
                } in columns
                {
                    self.alias(name)?;
                    self.data_type(r#type)?;
                }
                self.weights.is_source(None, false);
                self.other_alias(alias.as_mut())
            }
            TableFactor::Pivot {
                table,
                aggregate_functions,
                value_column,
                value_source: PivotValueSource::List(values),
                default_on_null: None,
                alias,
            } => {
                self.table_factor(table)?;
                for ExprWithAlias { expr, alias } in aggregate_functions.iter_mut().chain(values) {
                    self.none(alias.as_ref(), "an alias in PIVOT")?;
                    self.expr(expr)?;
                }
                self.exprs(value_column)?;
                self.other_alias(alias.as_mut())
            }
            _ => Err(self.unsupported("this kind of table", at)),
        }
    }

    /// The alias of what is neither a table nor a subquery.
    pub(super) fn other_alias(&mut self, alias: Option<&mut TableAlias>) -> Result<()> {
        let Some(alias) = alias else {
            return Ok(());
        };
        self.table_alias(alias)?;
        let name = self.fold(&alias.name);
        self.calls(Some(&name), None);
        Ok(())
    }

    pub(super) fn table_alias(&mut self, alias: &mut TableAlias) -> Result<()> {
        let TableAlias {
            explicit,
            name,
            columns,
            at,
        } = alias;
        self.none(at.as_ref(), "AT behind an alias")?;
        if self.is(Dialect::Clickhouse) {
            if !*explicit && columns.is_empty() && is_modifier(name) {
                return Ok(());
            }
            *explicit = true;
        }
        if self.is(Dialect::Mssql) {
            mssql::is_no_clause(name)
                .map_err(|message| self.error(Code::SqlNotSupported, message, name.span.start))?;
        }
        self.alias(name)?;
        for TableAliasColumnDef { name, data_type } in columns {
            self.alias(name)?;
            if let Some(data_type) = data_type {
                self.data_type(data_type)?;
            }
        }
        Ok(())
    }

    /// MySQL's word for no table at all. It is a keyword, so a table of that name needs quotes.
    fn is_no_table(&self, name: &ObjectName, alias: Option<&TableAlias>) -> bool {
        self.is(Dialect::Mysql) && alias.is_none() && is_bare(name, "dual")
    }

    /// A name in FROM, and what it is called there.
    fn aliased(&mut self, name: &mut ObjectName, alias: &mut Option<TableAlias>) -> Result<()> {
        let bare = name.0.last().and_then(ObjectNamePart::as_ident).cloned();
        let called = alias.as_ref().map(|alias| &alias.name).or(bare.as_ref());
        let called = called.map(|name| self.fold(name));
        let is_renamed = alias
            .as_ref()
            .is_some_and(|alias| !alias.columns.is_empty());
        self.weights.open();
        self.weights.passes_all();
        let before = self.tables.len();
        self.relation(name)?;
        let table = self.tables.get(before).map(|found| found.table);
        self.calls(called.as_deref(), table);
        // The statement goes on to call it by the name that was written, whose case may count in the server.
        if let (true, None, Some(table), Some(bare)) =
            (self.is(Dialect::Mysql), &alias, table, bare)
            && bare.value != table.name
        {
            *alias = Some(TableAlias {
                explicit: true,
                name: self.stored(&bare.value, bare.span.start)?,
                columns: Vec::new(),
                at: None,
            });
        }
        self.weights.close();
        self.weights.is_source(called, is_renamed);
        Ok(())
    }

    /// Checks a name in FROM: a CTE in scope, or a table of the Mind, which gets its stored, quoted and qualified name.
    /// Every dialect can still refer to it by its bare name.
    fn relation(&mut self, name: &mut ObjectName) -> Result<()> {
        if let Some(table) = self.within_policy {
            self.parts(name)?;
            self.tables.push(table);
            self.weights.table();
            return Ok(());
        }
        let start = name.span().start;
        let found = {
            let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
            if parts.len() != name.0.len() {
                return Err(self.unsupported(format_args!("the table name `{name}`"), start));
            }
            if let [only] = parts.as_slice() {
                let folded = self.fold(only);
                let exact = self.ctes.iter().rfind(|(name, _)| *name == folded);
                // Whether SQL Server tells `a` from `A` is up to the database. The name goes out as it was defined, so
                // both ways it means the CTE.
                let same = |(name, _): &&(String, usize)| name.eq_ignore_ascii_case(&folded);
                let in_any_case = self.ctes.iter().rfind(same);
                // MariaDB takes it for the innermost in any case, MySQL with most settings does not.
                if let (true, Some((defined, _))) = (self.is(Dialect::Mysql), in_any_case)
                    && exact != in_any_case
                {
                    let message =
                        format!("`{folded}` is `{defined}` in WITH; write both in the same case");
                    return Err(self.error(Code::SqlNotSupported, message, start));
                }
                let known = match self.is(Dialect::Mssql) {
                    true => exact.or(in_any_case),
                    false => exact,
                };
                if let Some((defined, weight)) = known.cloned() {
                    self.ident(only)?;
                    self.weights.mention(weight);
                    if self.is(Dialect::Mssql) {
                        *name = ObjectName::from(vec![self.stored(&defined, start)?]);
                    }
                    return Ok(());
                }
            }
            names::resolve(self.scope, &parts)
                .map_err(|error| error.with_position(self.source.position(start)))?
        };
        *name = ObjectName::from(self.full_name(&found, start)?);
        if let Some(policy) = found.policy {
            return self.policed_table(found, policy);
        }
        self.tables.push(found);
        self.weights.table();
        Ok(())
    }

    fn row_function(
        &mut self,
        name: &mut ObjectName,
        args: &mut [FunctionArg],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> Result<()> {
        let start = name.span().start;
        let parts = self.parts(name)?;
        let Some(last) = parts.last().map(|last| (*last).clone()) else {
            return Err(self.unsupported("an empty name", start));
        };
        let function = self
            .rules
            .fold_built_in(&last.value, last.quote_style.is_some());
        let own = match parts.as_slice() {
            [_] => true,
            [schema, _] => {
                let schema = (*schema).clone();
                self.schema(&schema)
            }
            _ => return Err(self.not_allowed(name, start)),
        };
        let mut columns: Vec<String> = Vec::new();
        if own {
            let Some(known) = self.rules.rows.get(function.as_str()) else {
                return Err(self.not_allowed(name, start));
            };
            columns.extend(known.iter().map(|column| (*column).to_owned()));
            *name = self.built_in(&function);
        }
        self.remember(&last, alias, columns, with_ordinality);
        args.iter_mut().try_for_each(|arg| self.argument(arg))
    }

    /// `unnest` of one array becomes an ordinary function; of several arrays it stays grammar.
    fn unnest(&mut self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset,
            with_offset_alias,
            with_ordinality,
        } = factor
        else {
            return Ok(());
        };
        if *with_offset || with_offset_alias.is_some() || !self.rules.rows.contains_key("unnest") {
            return Err(self.unsupported("UNNEST in this form", Location::empty()));
        }
        self.exprs(array_exprs)?;
        if let Some(alias) = alias.as_mut() {
            self.table_alias(alias)?;
        }
        self.remember(
            &Ident::new("unnest"),
            alias.as_ref(),
            Vec::new(),
            *with_ordinality,
        );
        if array_exprs.len() == 1 && self.is(Dialect::Postgresql) {
            let arg = |expr: Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
            *factor = TableFactor::Table {
                name: self.built_in("unnest"),
                alias: alias.take(),
                args: Some(TableFunctionArgs {
                    args: array_exprs.drain(..).map(arg).collect(),
                    settings: None,
                }),
                with_hints: Vec::new(),
                version: None,
                with_ordinality: *with_ordinality,
                partitions: Vec::new(),
                json_path: None,
                sample: None,
                index_hints: Vec::new(),
            };
        }
        Ok(())
    }

    /// Records the columns of a function in FROM, for [`Walk::attributes_are_columns`].
    fn remember(
        &mut self,
        function: &Ident,
        alias: Option<&TableAlias>,
        own: Vec<String>,
        with_ordinality: bool,
    ) {
        let name = alias.map_or(function, |alias| &alias.name);
        let name = self.fold(name);
        self.calls(Some(name.as_str()), None);
        let named: Vec<String> = alias
            .map(|alias| {
                alias
                    .columns
                    .iter()
                    .map(|column| self.fold(&column.name))
                    .collect()
            })
            .unwrap_or_default();
        let columns = match (named.is_empty(), own.is_empty()) {
            (false, _) => named,
            (true, false) => own,
            (true, true) => vec![name.clone()],
        };
        let ordinality = with_ordinality.then(|| "ordinality".to_owned());
        self.row_sources
            .push((name, columns.into_iter().chain(ordinality).collect()));
    }

    fn sample(&mut self, sample: &mut TableSampleKind) -> Result<()> {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
            sample;
        let TableSample {
            modifier,
            name,
            quantity,
            seed,
            bucket,
            offset,
        } = sample.as_mut();
        let is_clickhouse = self.is(Dialect::Clickhouse)
            && matches!(modifier, TableSampleModifier::Sample)
            && (name.is_none() && seed.is_none() && bucket.is_none());
        if let (true, Some(offset)) = (is_clickhouse, offset.as_mut()) {
            self.expr(offset)?;
        }
        let known = matches!(modifier, TableSampleModifier::TableSample)
            && matches!(
                name,
                Some(TableSampleMethod::Bernoulli | TableSampleMethod::System)
            )
            && bucket.is_none()
            && offset.is_none()
            && self.is(Dialect::Postgresql);
        if !known && !is_clickhouse {
            let message = match self.rules.dialect {
                Dialect::Postgresql => {
                    "this sample is not supported; write TABLESAMPLE BERNOULLI (50) or SYSTEM (50)"
                }
                Dialect::Clickhouse => "this sample is not supported; write SAMPLE 0.5",
                _ => "TABLESAMPLE is not supported here; leave it out, or test a column in WHERE",
            };
            return Err(self.error(Code::SqlNotSupported, message, Location::empty()));
        }
        match seed {
            Some(TableSampleSeed { modifier: _, value }) => self.value(value)?,
            // ClickHouse takes the same rows each time.
            None => self.volatile |= !is_clickhouse,
        }
        if let Some(TableSampleQuantity {
            parenthesized: _,
            value,
            unit,
        }) = quantity
        {
            self.none(unit.as_ref(), "a unit of a sample")?;
            self.expr(value)?;
        }
        Ok(())
    }
}

/// Whether a name is this word, without quotes.
fn is_bare(name: &ObjectName, word: &str) -> bool {
    let only = match name.0.as_slice() {
        [only] => only.as_ident(),
        _ => None,
    };
    only.is_some_and(|name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word))
}

/// Words of ClickHouse behind a table that the parser takes for its alias, as in `customers ANY LEFT JOIN orders`,
/// `customers ALL LEFT JOIN orders` and `orders FINAL`. They are printed as they were read, so that the engine takes
/// them for what they are.
fn is_modifier(name: &Ident) -> bool {
    let word = name.value.to_ascii_lowercase();
    name.quote_style.is_none() && matches!(word.as_str(), "all" | "any" | "final")
}
