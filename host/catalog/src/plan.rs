//! Plans a request for a run: which tables a new run takes, and which active runs the request joins.

use std::collections::HashSet;

use super::types::{Mode, Run, Table, TableStatus};
use mindhost_base::error::{Code, Error, Result};

/// The plan. Empty if there is nothing to load.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// `None` if active runs do it all, or there is nothing to load.
    pub start: Option<Start>,
    /// Active runs that do a part of the request.
    pub joined: Vec<String>,
}

/// What a new run begins with.
#[derive(Debug, PartialEq, Eq)]
pub struct Start {
    /// Whether it lists the tables of the source first.
    pub whole: bool,
    /// Ids of the tables that it takes at its start.
    pub tables: Vec<String>,
}

/// Plans a request. `asked` holds ids of tables, `None` means the whole datasource; `active` holds the active runs.
///
/// # Errors
/// `run_active` when a run has tables that `force` would delete.
pub fn plan(
    mode: Mode,
    asked: Option<&HashSet<String>>,
    tables: &[Table],
    active: &[Run],
) -> Result<Plan> {
    let mut joined = Vec::new();
    let covering = |run: &&Run| asked.is_none() && run.whole && covers(run.mode, mode);
    if let Some(run) = active.iter().find(covering) {
        joined.push(run.id.clone());
        return Ok(Plan {
            start: None,
            joined,
        });
    }
    let mut taken = Vec::new();
    for table in tables {
        if asked.is_some_and(|asked| !asked.contains(&table.id)) {
            continue;
        }
        match holder(table, active) {
            Some(run) if mode == Mode::Force && run.mode != Mode::Force => {
                return Err(cannot_join(table));
            }
            Some(run) => joined.push(run.id.clone()),
            None if takes(mode, asked.is_some(), table) => taken.push(table.id.clone()),
            None => {}
        }
    }
    if mode == Mode::Force && asked.is_none() && active.iter().any(|run| run.mode != Mode::Force) {
        return Err(cannot_join_whole());
    }
    joined.sort_unstable();
    joined.dedup();
    let whole = asked.is_none();
    let start = (whole || !taken.is_empty()).then_some(Start {
        whole,
        tables: taken,
    });
    Ok(Plan { start, joined })
}

/// Whether a run of this mode takes a table that no active run has.
pub fn takes(mode: Mode, named: bool, table: &Table) -> bool {
    match mode {
        Mode::MissingOnly => !table.missing && table.loaded_at.is_none(),
        // A vanished table is tried when it is named: it may be back. A whole run finds that out by listing.
        Mode::All => named || !table.missing,
        Mode::Force => true,
    }
}

fn covers(running: Mode, asked: Mode) -> bool {
    match asked {
        Mode::MissingOnly => true,
        Mode::All => running != Mode::MissingOnly,
        Mode::Force => running == Mode::Force,
    }
}

fn holder<'a>(table: &Table, active: &'a [Run]) -> Option<&'a Run> {
    let run_id = table.run_id.as_ref()?;
    // A table deleted from under a run is free again.
    (table.status != TableStatus::NotCataloged)
        .then(|| active.iter().find(|run| &run.id == run_id))
        .flatten()
}

fn cannot_join(table: &Table) -> Error {
    Error::new(
        Code::RunActive,
        format!(
            "a run that keeps the stored catalog is loading {}; cancel it or wait for its end, then use force",
            table.table
        ),
    )
}

fn cannot_join_whole() -> Error {
    Error::new(
        Code::RunActive,
        "a run that keeps the stored catalog is active; cancel it or wait for its end, then use force",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Description, RunStatus};
    use mindhost_plugin_api::TableRef;

    fn table(id: &str, status: TableStatus, run: Option<&str>) -> Table {
        Table {
            id: id.into(),
            table: TableRef {
                schema: "main".into(),
                name: id.into(),
            },
            kind: "TABLE".into(),
            description: Description::from_source(None),
            row_count: None,
            status,
            error: None,
            error_request_id: None,
            missing: false,
            run_id: run.map(str::to_owned),
            loaded_at: (status == Completed).then_some(1),
            columns: vec![],
            primary_key: vec![],
            foreign_keys: vec![],
        }
    }

    fn run(id: &str, mode: Mode, whole: bool) -> Run {
        Run {
            id: id.into(),
            workspace: "w".into(),
            datasource_id: "d".into(),
            mode,
            status: RunStatus::Loading,
            whole,
            listed: true,
            total: 0,
            done: 0,
            message: String::new(),
            cancel_requested: false,
            request_id: None,
        }
    }

    /// Expects: whether a run starts and lists the source, its tables, the joined runs.
    type Expected<'a> = (Option<bool>, &'a [&'a str], &'a [&'a str]);

    fn check(
        mode: Mode,
        asked: Option<&[&str]>,
        tables: &[Table],
        active: &[Run],
        expected: Result<Expected<'_>, Code>,
    ) {
        let asked: Option<HashSet<String>> =
            asked.map(|ids| ids.iter().map(ToString::to_string).collect());
        let plan = plan(mode, asked.as_ref(), tables, active)
            .map(|plan| {
                let whole = plan.start.as_ref().map(|start| start.whole);
                let tables = plan.start.map(|start| start.tables).unwrap_or_default();
                (whole, tables, plan.joined)
            })
            .map_err(|error| error.code());
        let expected = expected.map(|(whole, tables, joined)| {
            let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
            (whole, owned(tables), owned(joined))
        });
        assert_eq!(plan, expected);
    }

    use Mode::{All, Force, MissingOnly};
    use TableStatus::{Cancelled, Completed, Failed, Loading, NotCataloged};

    #[test]
    fn missing_only_takes_what_has_no_columns() {
        let tables = [
            table("new", NotCataloged, None),
            table("done", Completed, Some("old")),
            table("failed", Failed, Some("old")),
            table("cancelled", Cancelled, Some("old")),
        ];
        let taken: &[&str] = &["new", "failed", "cancelled"];
        check(
            MissingOnly,
            None,
            &tables,
            &[],
            Ok((Some(true), taken, &[])),
        );
    }

    #[test]
    fn missing_only_leaves_alone_what_failed_with_columns_and_what_vanished() {
        let mut refreshed = table("refreshed", Failed, Some("old"));
        refreshed.loaded_at = Some(1);
        let mut vanished = table("vanished", NotCataloged, None);
        vanished.missing = true;
        let tables = [refreshed, vanished];
        let asked: &[&str] = &["refreshed", "vanished"];
        check(MissingOnly, Some(asked), &tables, &[], Ok((None, &[], &[])));
    }

    #[test]
    fn all_takes_what_was_asked_for() {
        let tables = [table("a", Completed, None), table("b", Completed, None)];
        check(
            All,
            Some(&["b"]),
            &tables,
            &[],
            Ok((Some(false), &["b"], &[])),
        );
        check(All, None, &tables, &[], Ok((Some(true), &["a", "b"], &[])));
    }

    #[test]
    fn a_request_joins_the_run_that_has_its_tables_and_starts_one_for_the_rest() {
        let tables = [table("a", Loading, Some("r")), table("b", Completed, None)];
        let active = [run("r", All, false)];
        check(All, Some(&["a"]), &tables, &active, Ok((None, &[], &["r"])));
        check(
            All,
            Some(&["a", "b"]),
            &tables,
            &active,
            Ok((Some(false), &["b"], &["r"])),
        );
        check(
            All,
            None,
            &tables,
            &active,
            Ok((Some(true), &["b"], &["r"])),
        );
    }

    #[test]
    fn a_whole_request_joins_a_whole_run_that_does_as_much() {
        let tables = [
            table("a", Completed, Some("r")),
            table("b", NotCataloged, None),
        ];
        for (running, asked) in [(All, All), (All, MissingOnly), (Force, All), (Force, Force)] {
            let active = [run("r", running, true)];
            check(asked, None, &tables, &active, Ok((None, &[], &["r"])));
        }
        let active = [run("r", MissingOnly, true)];
        check(
            All,
            None,
            &tables,
            &active,
            Ok((Some(true), &["b"], &["r"])),
        );
    }

    #[test]
    fn force_cannot_join_a_run_that_keeps_what_is_stored() {
        let tables = [table("a", Loading, Some("r")), table("b", Completed, None)];
        let active = [run("r", All, false)];
        check(Force, Some(&["a"]), &tables, &active, Err(Code::RunActive));
        check(Force, None, &tables[1..], &active, Err(Code::RunActive));
        check(
            Force,
            Some(&["b"]),
            &tables,
            &active,
            Ok((Some(false), &["b"], &[])),
        );
    }

    #[test]
    fn a_table_that_was_deleted_from_under_a_run_is_free() {
        let tables = [table("a", NotCataloged, Some("r"))];
        let active = [run("r", All, false)];
        check(
            All,
            Some(&["a"]),
            &tables,
            &active,
            Ok((Some(false), &["a"], &[])),
        );
    }
}
