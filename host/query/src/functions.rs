//! The functions of a session: those that the guard allows, and those of [`distinct_names`], [`lookups`], [`no_rows`]
//! and [`reals`], which no statement can call.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use datafusion::{
    catalog::TableFunction,
    execution::SessionStateDefaults,
    logical_expr::{AggregateUDF, ScalarUDF, WindowUDF, planner::ExprPlanner},
};

use super::{
    checked_arithmetic, distinct_names, exact_functions, float_aggregates, growing_functions,
    meaning::{
        interval_products::IntervalPlanner, lookups, no_rows, reals, truth_texts::TruthPlanner,
    },
    ordered_texts, slow_functions,
};

/// The list of the guard. Other functions cannot be called even if the guard fails.
const LISTED: &str = include_str!("../../sql/src/rules/datafusion.txt");

/// The functions and planners of a session.
pub struct Functions {
    pub planners: Vec<Arc<dyn ExprPlanner>>,
    pub scalar: Vec<Arc<ScalarUDF>>,
    pub aggregate: Vec<Arc<AggregateUDF>>,
    pub window: Vec<Arc<WindowUDF>>,
    pub table: Vec<Arc<TableFunction>>,
}

/// The functions of every session.
pub fn allowed() -> &'static Functions {
    static ALLOWED: LazyLock<Functions> = LazyLock::new(|| {
        let functions = callable();
        let rows = section("rows");
        let mut planners = SessionStateDefaults::default_expr_planners();
        planners.insert(0, Arc::new(growing_functions::ConcatPlanner));
        planners.insert(0, Arc::new(TruthPlanner));
        planners.insert(0, Arc::new(IntervalPlanner));
        Functions {
            planners,
            scalar: SessionStateDefaults::default_scalar_functions()
                .into_iter()
                .filter(|function| is_listed(&functions, function.name(), function.aliases()))
                .map(exact_functions::exact)
                .map(slow_functions::chunked)
                .map(growing_functions::bounded)
                .chain([
                    distinct_names::mark(),
                    no_rows::function(),
                    reals::function(),
                ])
                .chain(lookups::functions())
                .collect(),
            aggregate: SessionStateDefaults::default_aggregate_functions()
                .into_iter()
                .filter(|function| is_listed(&functions, function.name(), function.aliases()))
                .map(checked_arithmetic::sum)
                .map(float_aggregates::exact)
                .map(ordered_texts::by_themselves)
                .collect(),
            window: SessionStateDefaults::default_window_functions()
                .into_iter()
                .filter(|function| is_listed(&functions, function.name(), function.aliases()))
                .collect(),
            table: SessionStateDefaults::default_table_functions()
                .into_iter()
                .filter(|function| rows.contains(function.name()))
                .collect(),
        }
    });
    &ALLOWED
}

fn is_listed(listed: &HashSet<&str>, name: &str, aliases: &[String]) -> bool {
    listed.contains(name) || aliases.iter().any(|alias| listed.contains(alias.as_str()))
}

/// The names of functions and aggregates.
fn callable() -> HashSet<&'static str> {
    let mut all = section("functions");
    all.extend(section("aggregates"));
    all
}

/// The names in a section of the list.
fn section(wanted: &str) -> HashSet<&'static str> {
    let mut section = "";
    let mut words = HashSet::new();
    for line in LISTED.lines().filter(|line| !line.starts_with('#')) {
        let heading = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        match heading {
            Some(heading) => section = heading,
            None if section == wanted => words.extend(line.split_whitespace()),
            None => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning::calls;

    #[test]
    fn every_function_on_the_list_is_there() {
        let functions = allowed();
        let mut found: HashSet<String> = HashSet::new();
        let mut add = |name: &str, aliases: &[String]| {
            found.insert(name.to_owned());
            found.extend(aliases.iter().cloned());
        };
        for one in &functions.scalar {
            add(one.name(), one.aliases());
        }
        for one in &functions.aggregate {
            add(one.name(), one.aliases());
        }
        for one in &functions.window {
            add(one.name(), one.aliases());
        }
        let mut missing: Vec<_> = callable()
            .into_iter()
            .filter(|name| !found.contains(*name) && !calls::NAMES.contains(name))
            .collect();
        missing.sort_unstable();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
