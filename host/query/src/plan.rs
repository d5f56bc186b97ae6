//! Plans a statement.

use std::sync::Arc;

use datafusion::{
    arrow::array::RecordBatch,
    common::{DataFusionError, Result},
    config::Dialect,
    execution::{
        FunctionRegistry as _, SessionState, SessionStateBuilder, TempFileFactory,
        context::SQLOptions,
        disk_manager::{DiskManagerBuilder, DiskManagerMode},
        runtime_env::RuntimeEnvBuilder,
    },
    optimizer::{Analyzer, Optimizer},
    physical_optimizer::optimizer::PhysicalOptimizer,
    physical_plan::{ExecutionPlan, displayable, execute_stream},
    prelude::SessionConfig,
    sql::parser::Statement,
};
use futures_util::StreamExt as _;
use sqlparser::ast;
use tokio::sync::mpsc;

use super::{
    QueryEngine,
    catalog::{Catalog, NoStores},
    checked_arithmetic::CheckedOperators,
    column_names::ColumnNames,
    distinct_names,
    encode::ResultEncoder,
    errors,
    federation::{self, Sources},
    functions,
    meaning::{
        calls, common_conditions, exists, exponents, fetch, floats, interval_texts, keys, lookups,
        membership, merged_columns, natural, reals, refused, row_groups, similar, text_length,
        unjoined, with_names,
    },
    memory::StatementMemory,
    names::{CATALOG, NO_SCHEMA},
    page_order, places, plan_rules, plan_size,
    reader::Reader,
    scheduler::{Share, SlicedStream},
    slow_functions::StatementCall,
    spill::{SpillFiles, StatementDisk},
    splitter, table_names, timestamps,
};
use mindhost_base::error::{Code, Error, Result as HostResult};
use mindhost_plugin_api::{Call, Column};

/// Recursion limit of the parser: what the guard allows.
const RECURSION: &str = "200";
/// Rows of a batch between operators.
const BATCH_ROWS: usize = 8_192;
const MIN_BATCH_ROWS: usize = 64;
/// Bytes of a repeated constant: it is copied for each row of a batch.
const CONSTANT_BYTES: usize = 64 << 20;
/// The part of the memory that a sort keeps for the merge of what it spilled, and its most bytes.
const MERGE_PART: usize = 16;
const MERGE_BYTES: usize = 10 << 20;

/// What a statement may read.
#[derive(Clone)]
pub enum Tables {
    /// Those of one source of rows.
    Reader(Reader),
    /// Those of several datasources.
    Several(Arc<Sources>),
}

/// The limits of a statement.
pub struct Bounds {
    memory: Arc<StatementMemory>,
    disk: Option<Arc<StatementDisk>>,
    threads: usize,
    share: Arc<Share>,
    call: Call,
}

impl Bounds {
    /// The limits for a statement of a target.
    pub fn of(engine: &QueryEngine, target: &str, call: Call) -> Self {
        let disk = engine.disk.as_ref();
        let disk = disk.map(|host| StatementDisk::new(engine.disk_of_one, host));
        Self {
            memory: StatementMemory::new(engine.memory_of_one, disk.is_some(), &engine.memory),
            disk,
            threads: engine.threads,
            share: engine.scheduler.share(target),
            call,
        }
    }
}

/// A planned statement.
pub struct StatementPlan {
    plan: Arc<dyn ExecutionPlan>,
    state: SessionState,
    form: ResultEncoder,
    memory: Arc<StatementMemory>,
    disk: Option<Arc<StatementDisk>>,
    share: Arc<Share>,
    call: Call,
}

/// Plans a statement. Reads only the columns of its tables.
pub async fn make(text: &str, tables: Tables, bounds: &Bounds) -> HostResult<StatementPlan> {
    let mut own_parts = OwnParts::default();
    // If the statement is refused with our parts too, the first error is returned, which is about the caller's.
    let mut refusal = None;
    let planned = loop {
        match plan(text, &tables, bounds, own_parts).await {
            Err(error) if !own_parts.columns && distinct_names::are_missing(&error) => {
                own_parts.columns = true;
            }
            Err(error) if !own_parts.places && places::are_missing(&error) => {
                own_parts.places = true;
                refusal = Some(error);
            }
            Err(error) if !own_parts.tables && table_names::are_hidden(&error) => {
                own_parts.tables = true;
                refusal = Some(error);
            }
            Err(error) if !own_parts.aggregates && lookups::are_missing(&error) => {
                own_parts.aggregates = true;
                refusal = Some(error);
            }
            // Equal names of columns may be those of two subqueries' values.
            Err(error)
                if !own_parts.values
                    && (lookups::are_unnamed(&error) || distinct_names::are_missing(&error)) =>
            {
                own_parts.values = true;
                refusal = Some(error);
            }
            Err(error)
                if table_names::are_in(&error)
                    || places::are_in(&error)
                    || lookups::are_in(&error)
                    || lookups::are_missing(&error) =>
            {
                break Err(refusal.unwrap_or(error));
            }
            planned => break planned,
        }
    };
    let convert = |error| errors::convert(&error, &bounds.memory, bounds.disk.as_deref());
    let (plan, state, names) = planned.map_err(convert)?;
    let form = ResultEncoder::of(&plan.schema(), &names);
    if form.columns.is_empty() {
        return Err(Error::new(
            Code::SqlInvalid,
            "the statement gives no columns; select at least one",
        ));
    }
    Ok(StatementPlan {
        plan,
        state,
        form,
        memory: Arc::clone(&bounds.memory),
        disk: bounds.disk.clone(),
        share: Arc::clone(&bounds.share),
        call: bounds.call.clone(),
    })
}

/// What of a statement has a name or a form of our own while it is planned, because DataFusion refused the caller's.
#[derive(Clone, Copy, Default)]
struct OwnParts {
    /// Columns, where DataFusion would have one name for two.
    columns: bool,
    /// Columns that ORDER BY has by their place, where DataFusion does not find them.
    places: bool,
    /// Tables, where DataFusion takes their names for columns.
    tables: bool,
    /// Aggregates of subqueries that stand for values, where DataFusion does not join them without.
    aggregates: bool,
    /// The values of subqueries, where DataFusion would have one name for two.
    values: bool,
}

async fn plan(
    text: &str,
    tables: &Tables,
    bounds: &Bounds,
    own_parts: OwnParts,
) -> Result<(Arc<dyn ExecutionPlan>, SessionState, ColumnNames)> {
    let mut state = session(text, tables, bounds)?;
    // The result of now().
    state.mark_start_execution();
    let mut statement = state.sql_to_statement(text, &Dialect::Generic)?;
    let column_names = match &mut statement {
        Statement::Statement(query) if matches!(**query, ast::Statement::Query(_)) => {
            let column_names = ColumnNames::of(query);
            plan_size::check(query).map_err(errors::external)?;
            refused::check(query).map_err(errors::external)?;
            with_names::unique(query);
            fetch::as_limit(query);
            interval_texts::in_words(query);
            membership::quantified_as_in(query);
            exists::without_columns(query);
            common_conditions::before_alternatives(query);
            if let ast::Statement::Query(query) = &mut **query
                && text.to_ascii_lowercase().contains("natural")
            {
                natural::as_using(query, &state).await;
            }
            merged_columns::named_by_table(query).map_err(errors::external)?;
            membership::rows_as_exists(query).map_err(errors::external)?;
            calls::written_out(query);
            row_groups::unbracketed(query);
            timestamps::to_microseconds(query);
            exponents::to_decimals(query);
            floats::as_doubles(query);
            reals::as_shown(query);
            similar::to_regex(query);
            text_length::kept(query);
            if !own_parts.values {
                lookups::named_in_orders(query);
            }
            if own_parts.aggregates {
                lookups::aggregated(query);
            }
            if own_parts.values {
                lookups::named(query);
            }
            let mut own = match own_parts.columns {
                false => distinct_names::Shown::new(),
                true => distinct_names::make(query),
            };
            // After those: a column that has a name needs no other one.
            if own_parts.places {
                places::make(query, &mut own);
            }
            let column_names = column_names.with_own(own);
            match own_parts.tables {
                false => column_names,
                true => column_names.with_tables(table_names::make(query)),
            }
        }
        // The guard allows only queries. The options below refuse other statements too, except EXPLAIN.
        _ => {
            return Err(DataFusionError::Plan(String::from(
                "only a query can be run",
            )));
        }
    };
    let logical = state.statement_to_plan(statement).await?;
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&logical)?;
    let logical = match tables {
        Tables::Reader(_) => page_order::total(logical)?,
        // The host reads these from the first row on for each page.
        Tables::Several(_) => logical,
    };
    let optimised = unjoined::independent(keys::optimised(state.optimize(&logical)?)?)?;
    if own_parts.aggregates {
        unjoined::check(&optimised)?;
    }
    let plan = match tables {
        Tables::Reader(_) => optimised,
        Tables::Several(sources) => federation::cut_plan(&state, optimised, sources)?,
    };
    let planner = Arc::clone(state.query_planner());
    let plan = planner.create_physical_plan(&plan, &state).await?;
    Ok((plan, state, column_names))
}

fn session(text: &str, tables: &Tables, bounds: &Bounds) -> Result<SessionState> {
    let rows = (CONSTANT_BYTES / text.len().max(1)).clamp(MIN_BATCH_ROWS, BATCH_ROWS);
    let mut config = SessionConfig::new()
        .with_batch_size(rows)
        .with_target_partitions(bounds.threads)
        .with_default_catalog_and_schema(CATALOG, NO_SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false)
        .with_collect_statistics(false)
        .with_sort_spill_reservation_bytes((bounds.memory.max() / MERGE_PART).min(MERGE_BYTES));
    let options = config.options_mut();
    options.set("datafusion.sql_parser.recursion_limit", RECURSION)?;
    options.set("datafusion.sql_parser.parse_float_as_decimal", "true")?;
    options.set("datafusion.execution.time_zone", timestamps::ZONE)?;
    options.set("datafusion.execution.enable_recursive_ctes", "false")?;
    // The logical plan knows of more expressions than the physical one that they are never NULL, such as
    // `CASE WHEN a < b THEN a ELSE 0 END`. That is no fault of a statement with DISTINCT or GROUP BY over them.
    options.execution.skip_physical_aggregate_schema_check = true;
    if let Tables::Several(sources) = tables {
        for (name, value) in FEDERATED {
            options.set(name, value)?;
        }
        let filters = &mut options.optimizer;
        filters.enable_join_dynamic_filter_pushdown = sources.share_keys();
    }
    options
        .extensions
        .insert(StatementCall(bounds.call.clone()));
    let files = |disk| Arc::new(SpillFiles(disk)) as Arc<dyn TempFileFactory>;
    let spill = match bounds.disk.clone().map(files) {
        Some(files) => DiskManagerMode::Custom(files),
        None => DiskManagerMode::Disabled,
    };
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::clone(&bounds.memory) as _)
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
        .with_object_store_registry(Arc::new(NoStores))
        .build_arc()?;
    let functions = functions::allowed();
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime);
    let builder = match tables {
        Tables::Reader(reader) => builder.with_catalog_list(Arc::new(Catalog(reader.clone()))),
        Tables::Several(sources) => builder
            .with_catalog_list(Arc::new(federation::Catalogs(Arc::clone(sources))))
            .with_query_planner(federation::planner(sources)),
    };
    let usual = PhysicalOptimizer::new().rules;
    let (rules, learns) = match tables {
        Tables::Several(sources) => match sources.share_keys() {
            true => {
                let rules = federation::small_sides_first(usual);
                (federation::told_subquery_values(rules), true)
            }
            false => (federation::small_sides_first(usual), false),
        },
        Tables::Reader(_) => (federation::single_rows_first(usual), false),
    };
    let mut state = builder
        .with_expr_planners(functions.planners.clone())
        .with_type_planner(Arc::new(timestamps::MicrosecondTimes))
        .with_scalar_functions(functions.scalar.clone())
        .with_aggregate_functions(functions.aggregate.clone())
        .with_window_functions(functions.window.clone())
        .with_table_function_list(functions.table.clone())
        .with_analyzer_rules(plan_rules::analyzer(Analyzer::new().rules))
        .with_optimizer_rules(plan_rules::logical(Optimizer::new().rules))
        .with_physical_optimizer_rules(plan_rules::physical(rules, &bounds.share, learns))
        .build();
    state.register_function_rewrite(Arc::new(CheckedOperators))?;
    Ok(state)
}

/// Settings of a statement over several datasources. One side of a join is read first and tells the other what it
/// needs, which is one list only where the join is not divided.
const FEDERATED: [(&str, &str); 6] = [
    ("datafusion.execution.target_partitions", "1"),
    // `SmallSidesFirst` does it.
    ("datafusion.optimizer.join_reordering", "false"),
    (
        "datafusion.optimizer.enable_topk_dynamic_filter_pushdown",
        "false",
    ),
    (
        "datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown",
        "false",
    ),
    (
        "datafusion.optimizer.hash_join_inlist_pushdown_max_size",
        "1048576",
    ),
    (
        "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values",
        "10000",
    ),
];

impl StatementPlan {
    /// The plan, a line an operator.
    pub fn shown(&self) -> String {
        displayable(self.plan.as_ref()).indent(false).to_string()
    }

    /// What it may keep on disk.
    pub fn disk(&self) -> Option<&Arc<StatementDisk>> {
        self.disk.as_ref()
    }

    /// The columns of the result.
    pub fn columns(&self) -> &Arc<[Column]> {
        &self.form.columns
    }

    /// Runs until the end, an error, or until the receiver is dropped.
    pub async fn run(self, rows: mpsc::Sender<HostResult<RecordBatch>>) {
        let run = self.rows(&rows);
        let ended = tokio::select! {
            ended = run => ended,
            () = tokio::time::sleep_until(self.call.deadline) => Err(self.call.timed_out()),
        };
        if let Err(error) = ended {
            drop(rows.send(Err(error)).await);
        }
    }

    async fn rows(&self, rows: &mpsc::Sender<HostResult<RecordBatch>>) -> HostResult<()> {
        let disk = self.disk.as_deref();
        let convert = |error: DataFusionError| errors::convert(&error, &self.memory, disk);
        let context = self.state.task_ctx();
        let stream = execute_stream(Arc::clone(&self.plan), context).map_err(convert)?;
        let mut stream = SlicedStream::new(stream, Arc::clone(&self.share));
        while let Some(batch) = stream.next().await {
            for piece in splitter::cut(&batch.map_err(convert)?) {
                let piece = self.form.batch(&piece)?;
                if piece.num_rows() > 0 && rows.send(Ok(piece)).await.is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
