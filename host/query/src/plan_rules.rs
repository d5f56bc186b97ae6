//! Rules of the planner with a deadline, a limit on the size of plans, and operators that yield to other statements.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::{Expr, JoinType, LogicalPlan},
    optimizer::{
        AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule,
        extract_equijoin_predicate::ExtractEquijoinPredicate,
    },
    physical_expr::{
        expressions::{Column, DynamicFilterPhysicalExpr},
        split_conjunction,
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, coop::CooperativeExec, filter::FilterExec, joins::HashJoinExec,
        replace_children_if_necessary,
    },
};

use super::{
    join_filters,
    meaning::{self, ZerosOfLists, outer_constants::ForgetConstants},
    null_safe_joins, plan_size,
    scheduler::{Share, SlicedExec},
    sieve::SieveExec,
    slow_functions::check_deadline,
    splitter::SplitExec,
    timestamps::MicrosecondComparisons,
};

type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;
type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The analyzer rules, which resolve names and types, with those that keep the meaning of SQL, and one that keeps timestamps
/// in microseconds.
pub fn analyzer(rules: Vec<Analysis>) -> Vec<Analysis> {
    let bounded = |rule: Analysis| -> Analysis { Arc::new(DeadlineRule(rule)) };
    let own: Analysis = Arc::new(MicrosecondComparisons);
    meaning::around(rules).chain([own]).map(bounded).collect()
}

/// The rules of the logical plan. Those at the end see what the ones before them made.
pub fn logical(rules: Vec<Logical>) -> Vec<Logical> {
    let bounded = |rule: Logical| -> Logical { Arc::new(DeadlineRule(rule)) };
    let own: [Logical; 2] = [
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(ZerosOfLists),
    ];
    rules.into_iter().chain(own).map(bounded).collect()
}

/// The rules of the physical plan. The only pushdown of filters is that of what joins have learned, where they tell scans
/// (`learns`). The logical rules push the other filters already, and the physical ones would find columns by their name
/// alone: below a join that is the first one, where both sides have it.
pub fn physical(rules: Vec<Physical>, share: &Arc<Share>, learns: bool) -> Vec<Physical> {
    let is_needed = |rule: &Physical| match rule.name() {
        LEARNING => learns,
        name => !name.starts_with("FilterPushdown"),
    };
    let bounded = |rule: Physical| -> Physical { Arc::new(DeadlineRule(rule)) };
    let mut all: Vec<Physical> = Vec::with_capacity(rules.len() + 3);
    all.push(Arc::new(ForgetConstants));
    for rule in rules.into_iter().filter(is_needed) {
        let is_learning = rule.name() == LEARNING;
        if is_learning {
            all.push(Arc::new(AmbiguousNames));
        }
        all.push(bounded(rule));
        if is_learning {
            all.push(Arc::new(ScansAlone));
        }
    }
    all.push(Arc::new(YieldRule(Arc::clone(share))));
    all
}

/// The rule that passes what joins have learned to scans.
const LEARNING: &str = "FilterPushdown(Post)";

/// Leaves what joins have learned to scans. A sort below a join makes a filter of its own of it, which compares floats by
/// their bits and would lose -0 where the join has 0. The join tests each row anyway.
#[derive(Debug)]
struct ScansAlone;

impl PhysicalOptimizerRule for ScansAlone {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let input = node.downcast_ref::<FilterExec>().and_then(|filter| {
                let is_plain = filter.projection().is_none() && filter.fetch().is_none();
                let parts = split_conjunction(filter.predicate());
                let has_learned = parts
                    .iter()
                    .all(|part| part.is::<DynamicFilterPhysicalExpr>());
                (is_plain && has_learned).then(|| Arc::clone(filter.input()))
            });
            Ok(match input {
                Some(input) => Transformed::yes(input),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "scans_alone"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Keeps filters out of operators in which they could be about another column. On its way down a filter finds its
/// column in the next operator by the name. But what a join has learned it tells its right side by the place, so a
/// statement there knows what it is about, whatever the names of its columns are, if nothing stands in between.
#[derive(Debug)]
struct AmbiguousNames;

impl PhysicalOptimizerRule for AmbiguousNames {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let told = told_by_place(&node).map(Arc::clone);
            with_children(node, |index, child| match &told {
                Some(told) if index == 1 => Arc::clone(told),
                _ => sieved(child),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "ambiguous_names"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn sieved(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let closed = ambiguous_names(plan);
    match closed.is_empty() {
        true => Arc::clone(plan),
        false => Arc::new(SieveExec::new(Arc::clone(plan), &closed)),
    }
}

/// An operator over what is made of its inputs, of which the first has the number 0.
pub fn with_children(
    node: Arc<dyn ExecutionPlan>,
    made: impl Fn(usize, &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan>,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let children = node.children().into_iter().enumerate();
    let children = children.map(|(index, child)| made(index, child)).collect();
    replace_children_if_necessary(node, children).map(Transformed::yes)
}

/// The statement on the right side of a join that has a name twice. What else stands there, it does without: it waits
/// for its datasource, and yields by itself.
fn told_by_place(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let mut below = plan.downcast_ref::<HashJoinExec>()?.right();
    while below.is::<CooperativeExec>() || below.is::<SieveExec>() {
        below = below.children().into_iter().next()?;
    }
    let is_told = below.children().is_empty() && !names_twice(below).is_empty();
    is_told.then_some(below)
}

/// The names of columns about which no filter passes an operator.
fn ambiguous_names(plan: &Arc<dyn ExecutionPlan>) -> HashSet<String> {
    let mut names = names_twice(plan);
    // Filters from above a join could be about another column of that statement.
    names.extend(told_by_place(plan).into_iter().flat_map(names_twice));
    names.extend(confused_keys(plan));
    names
}

/// The names of several columns: a filter would be about the first of them.
fn names_twice(plan: &Arc<dyn ExecutionPlan>) -> HashSet<String> {
    let schema = plan.schema();
    let mut names = HashSet::new();
    let fields = schema.fields().iter().map(|field| field.name());
    fields
        .filter(|name| !names.insert(*name))
        .cloned()
        .collect()
}

/// The keys of a semi join about which it could pass a filter to another column. Every row that it gives has an equal
/// key on the other side, so the filter goes there too, and finds its column by the name of the given one.
fn confused_keys(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
        return Vec::new();
    };
    let other = match join.join_type() {
        JoinType::LeftSemi => join.right().schema(),
        JoinType::RightSemi => join.left().schema(),
        _ => return Vec::new(),
    };
    let confused = join.on().iter().filter_map(|(left, right)| {
        let (given, equal) = match join.join_type() {
            JoinType::LeftSemi => (left, right),
            _ => (right, left),
        };
        let given = given.downcast_ref::<Column>()?;
        let equal = equal.downcast_ref::<Column>().map(Column::index);
        let found = other.index_of(given.name()).ok()?;
        (Some(found) != equal).then(|| given.name().to_owned())
    });
    confused.collect()
}

/// A rule that checks the deadline first. Planning cannot be interrupted in between.
#[derive(Debug)]
struct DeadlineRule<R>(R);

impl AnalyzerRule for DeadlineRule<Analysis> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check_deadline(config)?;
        self.0.analyze(plan, config)
    }
}

/// Runs for each node of the plan. Skips the pushdown of filters that would become too large or that are about a row that
/// is there without any below, and the division of an aggregation whose sums would get another type by it. Keeps keys
/// that make NULL equal to NULL apart from others.
impl OptimizerRule for DeadlineRule<Logical> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        check_deadline(&config.options())?;
        let is_skipped = match self.name() {
            "push_down_filter" => plan_size::would_outgrow(&plan) || filters_a_total(&plan),
            "single_distinct_aggregation_to_group_by" => sums_decimals(&plan),
            _ => false,
        };
        if is_skipped {
            return Ok(Transformed::no(plan));
        }
        let plan = match self.name() {
            "eliminate_cross_join" => null_safe_joins::apart(plan)?,
            "extract_equijoin_predicate" => null_safe_joins::as_condition(plan),
            _ => Transformed::no(plan),
        };
        plan.transform_data(|plan| self.0.rewrite(plan, config))
    }
}

/// Whether a filter is about a row that an aggregation makes of no rows, too. DataFusion takes a condition without columns
/// for one about groups, and would filter the rows that are counted.
fn filters_a_total(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else {
        return false;
    };
    let LogicalPlan::Aggregate(aggregate) = filter.input.as_ref() else {
        return false;
    };
    match aggregate.group_expr.as_slice() {
        [] => true,
        groups => groups.iter().any(|one| matches!(one, Expr::GroupingSet(_))),
    }
}

/// A sum of sums of decimals has more digits than their sum.
fn sums_decimals(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return false;
    };
    let mut fields = aggregate.schema.fields().iter();
    fields.any(|field| field.data_type().is_decimal())
}

impl PhysicalOptimizerRule for DeadlineRule<Physical> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_deadline(config)?;
        self.0.optimize(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Wraps operators that turn one batch into many, so that they yield between batches and split large ones; the filters of
/// joins; and the sources, where what groups all rows takes one batch after the other.
#[derive(Debug)]
struct YieldRule(Arc<Share>);

/// The operators to wrap. Filters merge small batches again.
const EXPANDING: [&str; 8] = [
    "CrossJoinExec",
    "FilterExec",
    "HashJoinExec",
    "LazyMemoryExec",
    "NestedLoopJoinExec",
    "PiecewiseMergeJoinExec",
    "SortMergeJoinExec",
    "UnnestExec",
];

impl PhysicalOptimizerRule for YieldRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = Arc::new(options.clone());
        plan.transform_up(|node| {
            let node = match join_filters::interruptible(&node, &self.0, &options)? {
                Some(join) => join,
                None => node,
            };
            let sliced = |node| Arc::new(SlicedExec::new(node, Arc::clone(&self.0))) as _;
            Ok(if EXPANDING.contains(&node.name()) {
                Transformed::yes(sliced(Arc::new(SplitExec::new(node)) as _))
            } else if node.children().is_empty() {
                Transformed::yes(sliced(node))
            } else {
                Transformed::no(node)
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "yield"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt, sync::Mutex};

    use datafusion::{
        arrow::datatypes::{DataType, Field, Schema},
        common::{NullEquality, tree_node::TreeNodeRecursion},
        execution::{SendableRecordBatchStream, TaskContext},
        physical_expr::{PhysicalExpr, utils::collect_columns},
        physical_optimizer::filter_pushdown::FilterPushdown,
        physical_plan::{
            DisplayAs, DisplayFormatType, PlanProperties,
            empty::EmptyExec,
            filter_pushdown::{
                ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation,
            },
            joins::PartitionMode,
        },
    };

    use super::*;

    fn table(names: [&str; 2]) -> Arc<dyn ExecutionPlan> {
        let fields = names.map(|name| Field::new(name, DataType::Int64, true));
        Arc::new(EmptyExec::new(Arc::new(Schema::new(fields.to_vec()))))
    }

    /// A semi join of two tables by the equality of two columns.
    fn semi_join(
        join_type: JoinType,
        (left, left_key): ([&str; 2], usize),
        (right, right_key): ([&str; 2], usize),
    ) -> Arc<dyn ExecutionPlan> {
        let key = |names: [&str; 2], index: usize| -> Arc<dyn PhysicalExpr> {
            Arc::new(Column::new(names[index], index))
        };
        let on = vec![(key(left, left_key), key(right, right_key))];
        let join = HashJoinExec::try_new(
            table(left),
            table(right),
            on,
            None,
            &join_type,
            None,
            PartitionMode::CollectLeft,
            NullEquality::NullEqualsNothing,
            false,
        );
        Arc::new(join.unwrap())
    }

    #[test]
    fn what_a_join_has_learned_is_no_filter_of_the_host() {
        let scan = table(["id", "k"]);
        let is_true: Arc<dyn PhysicalExpr> = datafusion::physical_expr::expressions::lit(true);
        let learned = DynamicFilterPhysicalExpr::new(Vec::new(), Arc::clone(&is_true));
        for (predicate, is_kept) in [(Arc::new(learned) as _, false), (is_true, true)] {
            let filter = FilterExec::try_new(predicate, Arc::clone(&scan)).unwrap();
            let made = ScansAlone.optimize(Arc::new(filter), &ConfigOptions::new());
            assert_eq!(made.unwrap().is::<FilterExec>(), is_kept);
        }
    }

    /// A statement that keeps what it is told.
    #[derive(Debug)]
    struct Told {
        inner: Arc<dyn ExecutionPlan>,
        filters: Arc<Mutex<Vec<String>>>,
    }

    impl DisplayAs for Told {
        fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Told")
        }
    }

    impl ExecutionPlan for Told {
        fn name(&self) -> &str {
            "Told"
        }

        fn properties(&self) -> &Arc<PlanProperties> {
            self.inner.properties()
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            Vec::new()
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
        ) -> Result<TreeNodeRecursion> {
            Ok(TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: Arc<Self>,
            _: Vec<Arc<dyn ExecutionPlan>>,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(self)
        }

        fn handle_child_pushdown_result(
            &self,
            _: FilterPushdownPhase,
            result: ChildPushdownResult,
            _: &ConfigOptions,
        ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
            let filters = result.parent_filters.iter();
            let columns = filters.flat_map(|one| collect_columns(&one.filter));
            let told = columns.map(|column| column.to_string());
            self.filters.lock().unwrap().extend(told);
            Ok(FilterPushdownPropagation::all_unsupported(result))
        }

        fn execute(
            &self,
            partition: usize,
            context: Arc<TaskContext>,
        ) -> Result<SendableRecordBatchStream> {
            self.inner.execute(partition, context)
        }
    }

    #[test]
    fn statement_with_a_name_twice_is_told_by_the_join_alone() {
        let join = |left, right, on: [usize; 2]| -> Arc<dyn ExecutionPlan> {
            let (left, right): (Arc<dyn ExecutionPlan>, Arc<dyn ExecutionPlan>) = (left, right);
            let key = |side: &Arc<dyn ExecutionPlan>, index: usize| -> Arc<dyn PhysicalExpr> {
                Arc::new(Column::new(side.schema().field(index).name(), index))
            };
            let on = vec![(key(&left, on[0]), key(&right, on[1]))];
            let mode = PartitionMode::CollectLeft;
            let nulls = NullEquality::NullEqualsNothing;
            let join = HashJoinExec::try_new(
                left,
                right,
                on,
                None,
                &JoinType::Inner,
                None,
                mode,
                nulls,
                false,
            );
            Arc::new(join.unwrap())
        };
        for (names, place, above, expected) in [
            // The join says which of the two it is about; the one above it could mean the first.
            (["id", "id"], 0, 3, vec!["id@0"]),
            (["id", "id"], 1, 2, vec!["id@1"]),
            // About a column with a name of its own, both say what they know.
            (["id", "k"], 0, 3, vec!["id@0", "k@1"]),
        ] {
            let filters = Arc::new(Mutex::new(Vec::new()));
            let told = Told {
                inner: table(names),
                filters: Arc::clone(&filters),
            };
            let statement = Arc::new(CooperativeExec::new(Arc::new(told)));
            let inner = join(table(["a", "b"]), statement, [0, place]);
            let plan = join(table(["c", "d"]), inner, [0, above]);
            let mut config = ConfigOptions::new();
            config.optimizer.enable_dynamic_filter_pushdown = true;
            let plan = AmbiguousNames.optimize(plan, &config).unwrap();
            let learning = FilterPushdown::new_post_optimization();
            learning.optimize(plan, &config).unwrap();
            let mut found = filters.lock().unwrap().clone();
            found.sort_unstable();
            assert_eq!(found, expected, "{names:?}");
        }
    }

    #[test]
    fn semi_join_with_the_name_of_its_key_at_another_place_is_closed() {
        let (orders, items) = (["id", "k"], ["k", "id"]);
        for (join_type, left, right, expected) in [
            // The key `k` of the orders is the `id` of an item.
            (JoinType::LeftSemi, (orders, 1), (items, 1), true),
            (JoinType::RightSemi, (items, 1), (orders, 1), true),
            // The same name is the same key, and another name is found nowhere.
            (JoinType::LeftSemi, (orders, 1), (items, 0), false),
            (JoinType::RightSemi, (items, 0), (orders, 1), false),
            (JoinType::LeftSemi, (orders, 1), (["a", "b"], 1), false),
            // What an anti join gives is equal to nothing there.
            (JoinType::LeftAnti, (orders, 1), (items, 1), false),
        ] {
            let join = semi_join(join_type, left, right);
            let closed = ambiguous_names(&join);
            let expected = HashSet::from_iter(expected.then(|| "k".to_owned()));
            assert_eq!(closed, expected, "{join_type} {left:?} {right:?}");
        }
    }
}
