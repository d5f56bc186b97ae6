//! Puts the tables of one datasource next to each other in a chain of inner joins, so that the datasource can join
//! them, and joins what is small first, so that it becomes a filter for what is large.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use datafusion::{
    common::{
        Column, NullEquality, Result,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::{
        Expr, Filter, Join, JoinConstraint, JoinType, LogicalPlan, Projection,
        utils::{conjunction, split_conjunction},
    },
};

use super::{
    cut::joinable_source,
    estimates::{self, Estimate},
    existence::sunk,
};

/// Tables of one chain at most: the order is found by comparing them pairwise.
const MAX_TABLES: usize = 64;

/// Regroups every chain of a plan.
pub fn regroup(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = sunk(plan)?;
    if matches!(&plan, LogicalPlan::Join(join) if is_plain(join))
        // A chain that cannot be put together in another order stays as it is.
        && let Ok(Some(plan)) = regrouped(&plan)
    {
        return Ok(plan);
    }
    let plan = plan
        .map_children(|child| regroup(child).map(Transformed::yes))
        .data()?;
    plan.map_subqueries(|inner| regroup(inner).map(Transformed::yes))
        .data()
}

/// Whether it is an inner join by equal values.
pub fn is_plain(join: &Join) -> bool {
    join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.on.is_empty()
}

/// Whether it is a choice of columns.
pub fn is_choice(projection: &Projection) -> bool {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
    projection.expr.iter().all(is_column)
}

/// A chain of inner joins: what is joined, and by what.
#[derive(Clone, Default)]
struct Chain {
    inputs: Vec<LogicalPlan>,
    /// Pairs of equal values, as the text has them.
    equal: Vec<(Expr, Expr)>,
    /// Values that are all equal to each other, as it follows from the pairs.
    classes: Vec<Vec<Expr>>,
    filters: Vec<Expr>,
}

impl Chain {
    fn collect(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::Join(join) if is_plain(join) => {
                self.collect(&join.left);
                self.collect(&join.right);
                self.equal.extend(join.on.iter().cloned());
                let filter = join.filter.iter().flat_map(split_conjunction);
                self.filters.extend(filter.cloned());
            }
            // A choice of columns between two joins.
            LogicalPlan::Projection(projection)
                if is_choice(projection)
                    && matches!(&*projection.input, LogicalPlan::Join(join) if is_plain(join)) =>
            {
                self.collect(&projection.input);
            }
            other => self.inputs.push(other.clone()),
        }
    }

    /// Makes classes of the pairs: of `a = b` and `b = c` follows `a = c`, by which the datasource of `a` and `c` may
    /// join them alone. A value over two inputs is compared when both are joined.
    fn classify(&mut self) {
        for (left, right) in std::mem::take(&mut self.equal) {
            let of_one = |value| self.inputs_of(value).is_some_and(|of| of.len() == 1);
            if !of_one(&left) || !of_one(&right) {
                self.filters.push(left.eq(right));
                continue;
            }
            let (with, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.classes)
                .into_iter()
                .partition(|class| class.contains(&left) || class.contains(&right));
            let mut class: Vec<Expr> = with.into_iter().flatten().collect();
            for value in [left, right] {
                if !class.contains(&value) {
                    class.push(value);
                }
            }
            self.classes = others;
            self.classes.push(class);
        }
    }

    /// Values of one class within one input are compared there: joins compare only one of them.
    fn compare_within_inputs(&mut self) {
        for class in &self.classes {
            let mut first: BTreeMap<BTreeSet<usize>, &Expr> = BTreeMap::new();
            for value in class {
                let Some(of) = self.inputs_of(value) else {
                    continue;
                };
                match first.get(&of) {
                    Some(other) => self.filters.push((*other).clone().eq(value.clone())),
                    None => drop(first.insert(of, value)),
                }
            }
        }
    }

    /// The inputs that an expression is about; `None` if a name is not of exactly one.
    fn inputs_of(&self, expr: &Expr) -> Option<BTreeSet<usize>> {
        let mut found = BTreeSet::new();
        for column in expr.column_refs() {
            let mut of = (0..self.inputs.len()).filter(|index| self.has(*index, column));
            found.insert(of.next()?);
            if of.next().is_some() {
                return None;
            }
        }
        Some(found)
    }

    fn has(&self, index: usize, column: &Column) -> bool {
        let input = self.inputs.get(index);
        input.is_some_and(|input| input.schema().maybe_index_of_column(column).is_some())
    }
}

/// A part of the chain that has been joined.
#[derive(Clone)]
struct JoinGroup {
    plan: LogicalPlan,
    inputs: BTreeSet<usize>,
    estimate: Estimate,
    source: Option<usize>,
}

fn regrouped(node: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut chain = Chain::default();
    chain.collect(node);
    if chain.inputs.len() < 3 || chain.inputs.len() > MAX_TABLES {
        return Ok(None);
    }
    // Columns of one name in two inputs could not be told apart in another order.
    let exprs = chain.equal.iter().flat_map(|(left, right)| [left, right]);
    if exprs
        .chain(&chain.filters)
        .any(|expr| chain.inputs_of(expr).is_none())
    {
        return Ok(None);
    }
    chain.classify();
    chain.compare_within_inputs();
    let inputs = chain.inputs.iter().cloned().map(regroup);
    chain.inputs = inputs.collect::<Result<_>>()?;
    let inputs = chain.inputs.iter().enumerate();
    let mut parts: Vec<JoinGroup> = inputs
        .map(|(index, input)| JoinGroup {
            plan: input.clone(),
            inputs: BTreeSet::from([index]),
            estimate: estimates::plan(input),
            source: joinable_source(input),
        })
        .collect();
    // First what lies in one datasource, then the rest, each time the two that are smallest together.
    for source in sources(&parts) {
        parts = joined_within(source, parts, &mut chain)?;
    }
    while parts.len() > 1 {
        let Some(two) = pair(&parts, &chain, |_| true, |_, _, _| true) else {
            return Ok(None);
        };
        join_two(two, &mut parts, &mut chain)?;
    }
    let Some(JoinGroup { plan, .. }) = parts.pop() else {
        return Ok(None);
    };
    let rest = conjunction(std::mem::take(&mut chain.filters));
    let plan = match rest {
        Some(filter) => LogicalPlan::Filter(Filter::try_new(filter, Arc::new(plan))?),
        None => plan,
    };
    let columns = node.schema().columns().into_iter().map(Expr::Column);
    let plan = Projection::try_new(columns.collect(), Arc::new(plan))?;
    Ok(Some(LogicalPlan::Projection(plan)))
}

/// The datasources of which some parts are.
fn sources(parts: &[JoinGroup]) -> BTreeSet<usize> {
    parts.iter().filter_map(|part| part.source).collect()
}

/// Joins the parts of a datasource with each other. Where all of them together would give more rows than they have,
/// only those are joined that give no more rows than both of them: the rest waits for the keys of other datasources.
fn joined_within(
    source: usize,
    parts: Vec<JoinGroup>,
    chain: &mut Chain,
) -> Result<Vec<JoinGroup>> {
    let is_of_it = |part: &JoinGroup| part.source == Some(source);
    // The datasource may do the whole chain, and what stands above it.
    let is_whole = parts.iter().all(is_of_it);
    let (mut all, mut all_chain) = (parts.clone(), chain.clone());
    let all_rows = |_: &JoinGroup, _: &JoinGroup, _: f64| true;
    while let Some(two) = pair(&all, &all_chain, is_of_it, all_rows) {
        join_two(two, &mut all, &mut all_chain)?;
    }
    let moved = |group: &JoinGroup| {
        let of = parts
            .iter()
            .filter(|part| part.inputs.is_subset(&group.inputs));
        of.map(|part| part.estimate.rows).sum::<f64>()
    };
    if is_whole || all.iter().all(|group| group.estimate.rows <= moved(group)) {
        *chain = all_chain;
        return Ok(all);
    }
    let mut parts = parts;
    let no_more_rows =
        |a: &JoinGroup, b: &JoinGroup, rows: f64| rows <= a.estimate.rows + b.estimate.rows;
    while let Some(two) = pair(&parts, chain, is_of_it, no_more_rows) {
        join_two(two, &mut parts, chain)?;
    }
    Ok(parts)
}

/// The two parts that a pair of equal values connects, and that have the fewest rows together, or joined if those are
/// more. `is_one` says which parts count, `fits` of two parts and the rows of their join whether they do.
fn pair(
    parts: &[JoinGroup],
    chain: &Chain,
    is_one: impl Fn(&JoinGroup) -> bool,
    fits: impl Fn(&JoinGroup, &JoinGroup, f64) -> bool,
) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for (index, a) in parts.iter().enumerate() {
        for (other, b) in parts.iter().enumerate().skip(index + 1) {
            let both = a.estimate.rows + b.estimate.rows;
            if !is_one(a) || !is_one(b) || best.is_some_and(|(least, ..)| both >= least) {
                continue;
            }
            let on = pairs(a, b, chain);
            let joined = matched(a, b, &on).rows;
            let rows = both.max(joined);
            let is_better = best.is_none_or(|(least, ..)| rows < least);
            if !on.is_empty() && is_better && fits(a, b, joined) {
                best = Some((rows, index, other));
            }
        }
    }
    best.map(|(_, a, b)| (a, b))
}

/// The values by which two parts are joined.
fn pairs(a: &JoinGroup, b: &JoinGroup, chain: &Chain) -> Vec<(Expr, Expr)> {
    let classes = chain.classes.iter();
    classes
        .filter_map(|class| sides(class, a, b, chain))
        .collect()
}

/// What the join of two parts by some values gives.
fn matched(a: &JoinGroup, b: &JoinGroup, on: &[(Expr, Expr)]) -> Estimate {
    let left = estimates::distinct(&a.plan, on.iter().map(|(left, _)| left));
    let right = estimates::distinct(&b.plan, on.iter().map(|(_, right)| right));
    a.estimate.matched(b.estimate, (left, right), on.len())
}

/// Joins two of the parts, the smaller one with the larger one.
fn join_two(
    (first, second): (usize, usize),
    parts: &mut Vec<JoinGroup>,
    chain: &mut Chain,
) -> Result<()> {
    let right = parts.swap_remove(second.max(first));
    let left = parts.swap_remove(second.min(first));
    let (left, right) = if left.estimate.rows <= right.estimate.rows {
        (left, right)
    } else {
        (right, left)
    };
    parts.push(join(left, right, chain)?);
    Ok(())
}

/// Two values of a class, one of `a` and one of `b`, if it has them.
fn sides(class: &[Expr], a: &JoinGroup, b: &JoinGroup, chain: &Chain) -> Option<(Expr, Expr)> {
    let of = |group: &JoinGroup| {
        let mut values = class.iter();
        values.find(|value| {
            let inputs = chain.inputs_of(value);
            inputs.is_some_and(|inputs| inputs.is_subset(&group.inputs))
        })
    };
    Some((of(a)?.clone(), of(b)?.clone()))
}

fn join(a: JoinGroup, b: JoinGroup, chain: &mut Chain) -> Result<JoinGroup> {
    let on = pairs(&a, &b, chain);
    let inputs: BTreeSet<usize> = a.inputs.union(&b.inputs).copied().collect();
    let filters = std::mem::take(&mut chain.filters);
    let (now, later): (Vec<_>, Vec<_>) = filters.into_iter().partition(|filter| {
        chain
            .inputs_of(filter)
            .is_some_and(|of| of.is_subset(&inputs))
    });
    chain.filters = later;
    let estimate =
        matched(&a, &b, &on).filtered(&now.iter().collect::<Vec<_>>(), &[&a.plan, &b.plan]);
    let join = Join::try_new(
        Arc::new(a.plan),
        Arc::new(b.plan),
        on,
        conjunction(now),
        JoinType::Inner,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    Ok(JoinGroup {
        plan: LogicalPlan::Join(join),
        inputs,
        estimate,
        source: a.source.filter(|_| a.source == b.source),
    })
}
