//! Queries, their clauses and CTEs.

use sqlparser::{
    ast::{
        Distinct, ExcludeSelectItem, Expr, Fetch, GroupByExpr, Ident, LimitClause,
        NamedWindowDefinition, NamedWindowExpr, ObjectNamePart, Offset, OffsetRows, OrderBy,
        OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem,
        SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, Spanned, TableFactor,
        TableWithJoins, Top, TopQuantity, Values, WildcardAdditionalOptions, WithFill,
    },
    tokenizer::Location,
};

use super::Walk;
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    pub(super) fn query(&mut self, query: &mut Query) -> Result<()> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        if !locks.is_empty() {
            return Err(self.error(
                Code::SqlNotReadOnly,
                "FOR UPDATE and FOR SHARE lock rows; remove the clause",
                Location::empty(),
            ));
        }
        self.none(for_clause.as_ref(), "FOR XML, FOR JSON or FOR BROWSE")?;
        self.none(settings.as_ref(), "SETTINGS")?;
        self.none(format_clause.as_ref(), "FORMAT")?;
        self.empty(pipe_operators, "a pipe operator")?;

        let recursive = self.recursive.take();
        let (outer, called) = (self.ctes.len(), self.called.len());
        self.weights.open();
        if let Some(with) = with {
            self.with(with)?;
        }
        self.weights.passes_all();
        // DataFusion moves a limit below the columns that are computed above it.
        let is_limited = limit_clause.is_some() || fetch.is_some();
        if is_limited && !self.is(Dialect::Datafusion) {
            self.weights.is_barrier();
        }
        self.recursive = recursive;
        self.set_expr(body)?;
        if let Some(order_by) = order_by {
            self.order_by(order_by)?;
        }
        if let Some(limit) = limit_clause {
            self.limit(limit)?;
        }
        if let Some(fetch) = fetch.as_mut() {
            self.fetch(fetch)?;
        }
        if self.is(Dialect::Trino) {
            offset_first(limit_clause, fetch);
        }
        self.ctes.truncate(outer);
        self.called.truncate(called);
        self.weights.close();
        Ok(())
    }

    fn set_expr(&mut self, body: &mut SetExpr) -> Result<()> {
        let recursive = self.recursive.take();
        match body {
            SetExpr::Select(select) => {
                self.weights.open();
                self.select(select)?;
                self.weights.close();
                self.weights.is_source(None, false);
                Ok(())
            }
            SetExpr::Query(query) => {
                self.query(query)?;
                self.weights.is_source(None, false);
                Ok(())
            }
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                match set_quantifier {
                    SetQuantifier::All => self.weights.is_renamed(),
                    _ => self.weights.is_barrier(),
                }
                if !matches!(
                    set_quantifier,
                    SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None
                ) {
                    return Err(self.unsupported("BY NAME", right.span().start));
                }
                let is_step = (*op, *set_quantifier) == (SetOperator::Union, SetQuantifier::All);
                let recursive = recursive.filter(|_| is_step);
                self.recursive.clone_from(&recursive);
                let (outer, called) = (self.ctes.len(), self.called.len());
                self.set_expr(left)?;
                self.called.truncate(called);
                self.ctes.extend(recursive);
                self.set_expr(right)?;
                self.called.truncate(called);
                self.ctes.truncate(outer);
                Ok(())
            }
            SetExpr::Values(values) => self.values(values),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(self.error(
                    Code::SqlNotReadOnly,
                    "INSERT, UPDATE, DELETE and MERGE are not allowed, not even inside a WITH; write a SELECT",
                    Location::empty(),
                ))
            }
            SetExpr::Table(_) => Err(self.error(
                Code::SqlNotSupported,
                "TABLE is not supported; write SELECT * FROM and the name",
                Location::empty(),
            )),
        }
    }

    fn values(&mut self, values: &mut Values) -> Result<()> {
        let Values {
            explicit_row: _,
            value_keyword: _,
            rows,
        } = values;
        for row in rows {
            self.exprs(&mut row.content)?;
        }
        Ok(())
    }

    fn select(&mut self, select: &mut Select) -> Result<()> {
        let Select {
            select_token,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        // A hint is a comment, and no comment goes out.
        optimizer_hints.clear();
        if let Some(into) = into {
            return Err(self.error(
                Code::SqlNotReadOnly,
                format!("{into} writes a table; remove it"),
                select_token.0.span.start,
            ));
        }
        self.none(select_modifiers.as_ref(), "a modifier behind SELECT")?;
        self.none::<ExcludeSelectItem>(exclude.as_ref(), "EXCLUDE")?;
        self.empty(lateral_views, "LATERAL VIEW")?;
        self.empty(connect_by, "CONNECT BY")?;
        self.empty(cluster_by, "CLUSTER BY")?;
        self.empty(distribute_by, "DISTRIBUTE BY")?;
        self.empty(sort_by, "SORT BY")?;
        self.none(value_table_mode.as_ref(), "AS STRUCT or AS VALUE")?;
        if *flavor != SelectFlavor::Standard {
            return Err(self.unsupported("FROM before SELECT", select_token.0.span.start));
        }
        // FROM comes first, so that the tables are known where columns name them.
        self.from(from)?;
        if let Some(Distinct::On(exprs)) = distinct {
            self.exprs(exprs)?;
        }
        let is_grouped = !matches!(group_by, GroupByExpr::Expressions(exprs, modifiers) if exprs.is_empty() && modifiers.is_empty());
        let is_grouped = is_grouped || having.is_some();
        if distinct.is_some() || top.is_some() || (is_grouped && !self.is(Dialect::Datafusion)) {
            self.weights.is_barrier();
        } else if is_grouped {
            // DataFusion computes the columns above the groups, where the next SELECT may take them in.
            self.weights.is_grouped();
        }
        if let Some(top) = top {
            self.top(top)?;
        }
        for item in projection {
            let mark = self.weights.mark();
            self.select_item(item)?;
            let name = self.name_of(item);
            self.weights.item(name, mark);
            self.whole_table(item, from);
        }
        for (clause, what) in [(prewhere, "PREWHERE"), (qualify, "QUALIFY")] {
            if let Some(expr) = clause {
                self.only_clickhouse(what)?;
                self.expr(expr)?;
            }
        }
        if let Some(selection) = selection {
            self.expr(selection)?;
        }
        self.group_by(group_by)?;
        if let Some(having) = having {
            self.expr(having)?;
        }
        named_window
            .iter_mut()
            .try_for_each(|window| self.named_window(window))
    }

    /// DataFusion knows `customer.*` only by the very name that stands in FROM, which the guard has made longer.
    fn whole_table(&self, item: &mut SelectItem, from: &[TableWithJoins]) {
        let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) =
            item
        else {
            return;
        };
        if !self.is(Dialect::Datafusion) {
            return;
        }
        let parts: Vec<_> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let same = |written: &Ident, stored: &ObjectNamePart| {
            let quoted = written.quote_style.is_some();
            stored
                .as_ident()
                .is_some_and(|stored| self.rules.same_table(&written.value, quoted, &stored.value))
        };
        let factors = from.iter().flat_map(|table| {
            let joined = table.joins.iter().map(|join| &join.relation);
            std::iter::once(&table.relation).chain(joined)
        });
        let mut meant = factors.filter_map(|factor| match factor {
            TableFactor::Table {
                name, alias: None, ..
            } => {
                // What is written is the end of what stands there.
                let end = name.0.len().checked_sub(parts.len())?;
                let end = name.0.get(end..)?;
                let is_meant = parts
                    .iter()
                    .zip(end)
                    .all(|(part, stored)| same(part, stored));
                is_meant.then(|| name.clone())
            }
            _ => None,
        });
        if let (Some(only), None) = (meant.next(), meant.next()) {
            *name = only;
        }
    }

    fn named_window(&mut self, window: &mut NamedWindowDefinition) -> Result<()> {
        let NamedWindowDefinition(name, definition) = window;
        self.ident(name)?;
        match definition {
            NamedWindowExpr::NamedWindow(other) => self.ident(other),
            NamedWindowExpr::WindowSpec(spec) => self.window(spec),
        }
    }

    /// The name that a column of a SELECT certainly has.
    fn name_of(&self, item: &SelectItem) -> Option<String> {
        let name = match item {
            SelectItem::ExprWithAlias { alias, .. } => alias,
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => name,
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last()?,
            _ => return None,
        };
        Some(self.fold(name))
    }

    fn select_item(&mut self, item: &mut SelectItem) -> Result<()> {
        let is_wildcard = matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        );
        if is_wildcard {
            self.weights.passes_all();
        }
        match item {
            SelectItem::UnnamedExpr(expr) => self.expr(expr),
            SelectItem::ExprWithAlias { expr, alias } => {
                self.names_no_function(expr, alias)?;
                self.alias(alias)?;
                self.expr(expr)
            }
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => {
                self.wildcard(options)?;
                self.qualifier(name)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(expr), options) => {
                self.wildcard(options)?;
                self.expr(expr)
            }
            SelectItem::Wildcard(options) => self.wildcard(options),
            SelectItem::ExprWithAliases { expr, .. } => {
                Err(self.unsupported("a list of aliases", expr.span().start))
            }
        }
    }

    pub(super) fn wildcard(&self, options: &WildcardAdditionalOptions) -> Result<()> {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        self.none(opt_ilike.as_ref(), "* ILIKE")?;
        self.none(opt_exclude.as_ref(), "* EXCLUDE")?;
        if let Some(except) = opt_except {
            self.only_clickhouse("* EXCEPT")?;
            self.ident(&except.first_element)?;
            self.idents(&except.additional_elements)?;
        }
        self.none(opt_replace.as_ref(), "* REPLACE")?;
        self.none(opt_rename.as_ref(), "* RENAME")?;
        self.none(opt_alias.as_ref(), "an alias of *")
    }

    fn order_by(&mut self, order_by: &mut OrderBy) -> Result<()> {
        let OrderBy { kind, interpolate } = order_by;
        self.none(interpolate.as_ref(), "INTERPOLATE")?;
        match kind {
            OrderByKind::Expressions(exprs) => self.order_exprs(exprs),
            OrderByKind::All(_) if self.is(Dialect::Clickhouse) => Ok(()),
            OrderByKind::All(_) => Err(self.unsupported("ORDER BY ALL", Location::empty())),
        }
    }

    pub(super) fn order_exprs(&mut self, exprs: &mut [OrderByExpr]) -> Result<()> {
        for OrderByExpr {
            expr,
            options: _,
            with_fill,
        } in exprs
        {
            if let Some(WithFill { from, to, step }) = with_fill {
                self.only_clickhouse("WITH FILL")?;
                for bound in [from, to, step].into_iter().flatten() {
                    self.expr(bound)?;
                }
            }
            self.expr(expr)?;
        }
        Ok(())
    }

    /// Refuses a clause that only ClickHouse has.
    fn only_clickhouse(&self, what: &str) -> Result<()> {
        match self.is(Dialect::Clickhouse) {
            true => Ok(()),
            false => Err(self.unsupported(what, Location::empty())),
        }
    }

    fn limit(&mut self, limit: &mut LimitClause) -> Result<()> {
        match limit {
            LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            } => {
                if !limit_by.is_empty() {
                    self.only_clickhouse("LIMIT BY")?;
                    self.exprs(limit_by)?;
                }
                if let Some(limit) = limit {
                    self.expr(limit)?;
                }
                match offset {
                    Some(Offset { value, rows: _ }) => self.expr(value),
                    None => Ok(()),
                }
            }
            LimitClause::OffsetCommaLimit { offset, limit } => {
                self.expr(offset)?;
                self.expr(limit)
            }
        }
    }

    fn fetch(&mut self, fetch: &mut Fetch) -> Result<()> {
        let Fetch {
            with_ties: _,
            percent: _,
            quantity,
        } = fetch;
        quantity
            .as_mut()
            .map_or(Ok(()), |quantity| self.expr(quantity))
    }

    fn top(&mut self, top: &mut Top) -> Result<()> {
        let Top {
            with_ties: _,
            percent: _,
            quantity,
        } = top;
        match quantity {
            Some(TopQuantity::Expr(expr)) => self.expr(expr),
            Some(TopQuantity::Constant(_)) | None => Ok(()),
        }
    }
}

/// Trino has OFFSET before LIMIT, and the serializer prints them the other way. FETCH FIRST means the same as LIMIT and
/// is printed behind OFFSET.
fn offset_first(limit_clause: &mut Option<LimitClause>, fetch: &mut Option<Fetch>) {
    let (limit, offset) = match limit_clause {
        Some(LimitClause::LimitOffset {
            limit: limit @ Some(_),
            offset: Some(offset),
            limit_by,
        }) if fetch.is_none() && limit_by.is_empty() => (limit.take(), offset),
        _ => return,
    };
    offset.rows = OffsetRows::Rows;
    *fetch = Some(Fetch {
        with_ties: false,
        percent: false,
        quantity: limit,
    });
}
