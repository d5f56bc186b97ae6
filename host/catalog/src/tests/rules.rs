use super::*;
use mindhost_base::error::Code;
use scripted::table;

/// Each case runs on SQLite and on PostgreSQL.
macro_rules! on_both_stores {
    ($($(#[doc = $doc:literal])* async fn $name:ident($postgres:ident) $body:block)*) => {
        $(async fn $name($postgres: bool) $body)*

        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(false).await; })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(true).await; })*
        }
    };
}

on_both_stores! {
    async fn listed_tables_are_shown_before_anything_is_loaded(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::NotStarted);
        assert_eq!((shown.status.progress, shown.status.active_flow_runs), (0.0, 0));
        assert_eq!(shown.tables.len(), 2);
        assert!(shown.tables.iter().all(|table| {
            table.status == TableStatus::NotCataloged && table.columns.is_empty() && table.row_count.is_none()
        }));
    }

    async fn a_run_loads_columns_keys_and_statistics(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Completed);
        assert_eq!((shown.status.progress, shown.status.active_flow_runs), (1.0, 0));
        let table = &shown.tables[0];
        assert_eq!((table.status, table.kind.as_str(), table.row_count), (TableStatus::Completed, "TABLE", Some(2)));
        let name = &table.columns[1];
        assert_eq!((name.name.as_str(), name.data_type.as_str(), name.nullable), ("name", "TEXT", true));
        assert_eq!(name.default_value.as_deref(), Some("'nobody'"));
        assert_eq!(name.description.text.as_deref(), Some("what it is called"));
        let statistics = name.statistics.read().unwrap();
        assert_eq!(statistics.most_common_values, Some(vec!["a".to_owned()]));
        assert_eq!((statistics.null_percentage, statistics.estimated), (50.0, false));
        assert_eq!(table.primary_key[0].column_name, "id");
        assert_eq!(table.foreign_keys[0].referenced_table, "parent");
    }

    async fn run_without_a_permit_is_pending(postgres) {
        let setup = Setup::idle(postgres, &["a"]).await;
        setup.refresh(Mode::All, None).await;
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::Pending);
        assert_eq!((shown.status.progress, shown.status.active_flow_runs), (0.0, 1));
        assert_eq!(shown.tables[0].status, TableStatus::Pending);
    }

    /// As after a new Mind, whose run loads what is missing: a refresh of all finds nothing that is free, and ends first.
    async fn status_is_that_of_the_run_that_still_loads(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.engine.put("c", Scripted { gated: true, ..Scripted::default() });
        let first = setup.refresh(Mode::MissingOnly, None).await;
        setup.until(|shown| shown.tables.len() == 2 && status_of(shown, "c") == TableStatus::Loading).await;
        setup.refresh(Mode::All, None).await;
        let shown = setup.until(|shown| shown.status.active_flow_runs == 1).await;
        assert_eq!(shown.status.overall_status, RunStatus::Loading);
        assert!(shown.status.progress < 1.0, "{:?}", shown.status);
        setup.catalog.cancel(setup.source()).await.unwrap();
        setup.catalog.wait(&first, LONG).await.unwrap();
        let shown = setup.shown().await;
        assert_eq!((shown.status.overall_status, shown.status.active_flow_runs), (RunStatus::Cancelled, 0));
    }

    async fn progress_grows_while_a_run_is_loading(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        setup.engine.put("c", Scripted { gated: true, ..Scripted::default() });
        let started = setup.refresh(Mode::All, None).await;
        let shown = setup.until(|shown| shown.status.progress > 0.6).await;
        assert_eq!(shown.status.overall_status, RunStatus::Loading);
        assert!(shown.status.progress < 1.0);
        let shown = setup.until(|shown| status_of(shown, "c") == TableStatus::Loading).await;
        assert_eq!(status_of(&shown, "a"), TableStatus::Completed);
        setup.engine.open_gate();
        setup.catalog.wait(&started, LONG).await.unwrap();
        assert_eq!(setup.shown().await.status.overall_status, RunStatus::Completed);
    }

    async fn run_that_panics_fails_and_is_not_resumed(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.engine.put("bad", Scripted { panics: true, ..Scripted::default() });
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Failed);
        assert_eq!(shown.status.active_flow_runs, 0);
        setup.engine.drop_table("bad");
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Completed);
    }

    async fn missing_only_twice_changes_nothing(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        let first = setup.refreshed(Mode::MissingOnly, None).await;
        let second = setup.refreshed(Mode::MissingOnly, None).await;
        let named = setup.refreshed(Mode::MissingOnly, Some(&["a"])).await;
        assert_eq!(format!("{:?}", first.tables), format!("{:?}", second.tables));
        assert_eq!(format!("{:?}", first.tables), format!("{:?}", named.tables));
        assert_eq!(setup.engine.times_read("a"), 1);
        assert_eq!(named.status.overall_status, RunStatus::Completed);
    }

    async fn missing_only_finds_new_tables_and_tries_failed_ones_again(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.engine.put("b", Scripted { broken: Some("no such thing"), has_no_columns: true, ..Scripted::default() });
        setup.refreshed(Mode::All, None).await;
        setup.engine.put("b", Scripted::default());
        setup.engine.put("c", Scripted::default());
        let shown = setup.refreshed(Mode::MissingOnly, None).await;
        assert!(shown.tables.iter().all(|table| table.status == TableStatus::Completed));
        assert_eq!(shown.tables.len(), 3);
        assert_eq!(setup.engine.times_read("a"), 1);
    }

    async fn one_table_that_fails_does_not_fail_the_others(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.engine.put("b", Scripted { broken: Some("permission denied"), ..Scripted::default() });
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(status_of(&shown, "a"), TableStatus::Completed);
        assert_eq!(status_of(&shown, "b"), TableStatus::Failed);
        assert_eq!(shown.status.overall_status, RunStatus::Failed);
        assert_eq!(shown.status.message, "1 of 2 tables failed: main.b: permission denied");
    }

    async fn a_table_that_fails_keeps_what_was_loaded_before(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.engine.put("a", Scripted { broken: Some("locked"), has_no_columns: true, ..Scripted::default() });
        setup.refreshed(Mode::All, None).await;
        let table = setup.table("a").await;
        assert_eq!((table.status, table.columns.len()), (TableStatus::Failed, 2));
        assert_eq!(table.error.as_deref(), Some("locked"));
    }

    async fn a_table_whose_rows_cannot_be_read_has_what_the_engine_says_of_it(postgres) {
        let setup = Setup::new(postgres, &[]).await;
        let broken = Scripted {
            broken: Some("division by zero"),
            comment: Some("what was sold".into()),
            estimate: Some(7),
            ..Scripted::default()
        };
        setup.engine.put("a", broken);
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Failed);
        assert_eq!(shown.status.message, "1 of 1 tables failed: main.a: division by zero");
        let table = setup.table("a").await;
        assert_eq!((table.status, table.error.as_deref()), (TableStatus::Failed, Some("division by zero")));
        assert_eq!((table.kind.as_str(), table.row_count, table.columns.len()), ("TABLE", Some(7), 2));
        assert_eq!(table.description.text.as_deref(), Some("what was sold"));
        assert_eq!((table.primary_key.len(), table.foreign_keys.len()), (1, 1));
        assert!(!table.columns[1].statistics.read().unwrap().is_known());
        // A question may name its columns, and a model is told that nothing is known of their values.
        let scope = setup.catalog.scope_tables(&setup.datasource, None, ScopeStatistics::Columns).await.unwrap();
        assert_eq!(scope.tables[0].columns, ["id", "name"]);
        let described = setup.catalog.describe(&setup.view(true), &["a".to_owned()]).await.unwrap();
        let json = serde_json::to_value(&described[0]).unwrap();
        assert_eq!(json["columns"][1]["description"], "what it is called");
        for unknown in ["distinct_count", "null_percentage", "min", "max", "common_values"] {
            assert!(json["columns"][1][unknown].is_null(), "{unknown}: {json}");
        }
        // It has columns, so it is not missing.
        let times = setup.engine.times_read("a");
        setup.refreshed(Mode::MissingOnly, None).await;
        assert_eq!(setup.engine.times_read("a"), times);
        setup.engine.put("a", Scripted { rows: vec![(1, Some("tea"))], ..Scripted::default() });
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!((shown.status.overall_status, status_of(&shown, "a")), (RunStatus::Completed, TableStatus::Completed));
        assert_eq!(setup.table("a").await.row_count, Some(1));
    }

    async fn a_table_whose_rows_can_no_longer_be_read_keeps_its_statistics(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.catalog.describe_column(setup.source(), "a", "name", Some("mine")).await.unwrap();
        let broken = Scripted { broken: Some("locked"), estimate: Some(9), ..Scripted::default() };
        setup.engine.put("a", broken.clone());
        setup.refreshed(Mode::All, None).await;
        let table = setup.table("a").await;
        assert_eq!((table.status, table.error.as_deref()), (TableStatus::Failed, Some("locked")));
        assert_eq!((table.row_count, table.columns.len()), (Some(2), 2));
        let statistics = table.columns[1].statistics.read().unwrap();
        assert_eq!(statistics.most_common_values, Some(vec!["a".to_owned()]));
        assert_eq!(table.columns[1].description.text.as_deref(), Some("mine"));
        // Those of another type say nothing.
        setup.engine.put("a", Scripted { name_type: Some("DATE"), ..broken });
        setup.refreshed(Mode::All, None).await;
        let columns = setup.table("a").await.columns;
        assert_eq!(columns[1].data_type, "DATE");
        let known: Vec<_> = columns.iter().map(|column| column.statistics.read().unwrap().is_known()).collect();
        assert_eq!(known, [true, false]);
    }

    async fn a_column_that_may_not_be_read_is_left_without_statistics(postgres) {
        let setup = Setup::new(postgres, &[]).await;
        let rows = vec![(1, Some("tea")), (2, None)];
        setup.engine.put("a", Scripted { denies_name: true, rows, ..Scripted::default() });
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Completed);
        let table = setup.table("a").await;
        assert_eq!((table.status, table.columns.len(), table.row_count), (TableStatus::Completed, 2, Some(2)));
        let known: Vec<_> = table.columns.iter().map(|column| column.statistics.text().contains("\"2\"")).collect();
        assert_eq!(known, [true, false]);
        let note = table.error.unwrap();
        assert!(note.starts_with("no statistics of `name`: the database gives this user no right"), "{note}");
    }

    async fn unreachable_engine_fails_the_run_with_its_message(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        *setup.engine.unreachable.lock().unwrap() = true;
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Failed);
        assert_eq!(shown.status.message, "failed: connection refused");
        assert_eq!(shown.tables[0].error.as_deref(), Some("connection refused"));
    }

    async fn cancellation_reaches_the_engine(postgres) {
        let setup = Setup::new(postgres, &[]).await;
        setup.engine.put("a", Scripted { gated: true, ..Scripted::default() });
        let started = setup.refresh(Mode::All, None).await;
        setup.until(|shown| !shown.tables.is_empty() && status_of(shown, "a") == TableStatus::Loading).await;
        setup.catalog.cancel(setup.source()).await.unwrap();
        setup.catalog.wait(&started, LONG).await.unwrap();
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::Cancelled);
        assert_eq!((shown.status.active_flow_runs, status_of(&shown, "a")), (0, TableStatus::Cancelled));
        assert_eq!(*setup.engine.cancelled.lock().unwrap(), 1);
    }

    async fn unclaimed_run_is_cancelled_at_once(postgres) {
        let setup = Setup::idle(postgres, &["a"]).await;
        setup.refresh(Mode::All, None).await;
        setup.catalog.cancel(setup.source()).await.unwrap();
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::Cancelled);
        assert_eq!(shown.tables[0].status, TableStatus::Cancelled);
        let again = setup.catalog.cancel(setup.source()).await;
        assert!(again.is_ok(), "nothing to cancel is no error");
    }

    async fn descriptions_survive_a_refresh_but_not_a_forced_one(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.engine.put("a", Scripted { comment: Some("of the source".into()), ..Scripted::default() });
        fixture::mind(&setup.store, &setup.workspace, &setup.datasource).await;
        setup.refreshed(Mode::All, None).await;
        assert_eq!(setup.table("a").await.description.text.as_deref(), Some("of the source"));
        setup.catalog.describe_table(setup.source(), "a", Some("mine")).await.unwrap();
        setup.catalog.describe_column(setup.source(), "a", "name", None).await.unwrap();
        setup.refreshed(Mode::All, None).await;
        let kept = setup.table("a").await;
        assert_eq!(kept.description.text.as_deref(), Some("mine"));
        assert_eq!(kept.description.in_source.as_deref(), Some("of the source"));
        assert_eq!(kept.columns[1].description.text, None, "cleared stays cleared");
        assert_eq!(kept.columns[1].description.in_source.as_deref(), Some("what it is called"));
        setup.refreshed(Mode::Force, Some(&["a"])).await;
        let forced = setup.table("a").await;
        assert_eq!(forced.description.text.as_deref(), Some("of the source"));
        assert_eq!(forced.columns[1].description.text.as_deref(), Some("what it is called"));
    }

    async fn force_and_loading_by_name_need_a_mind(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        let names = ["a".to_owned()];
        let forced = setup.catalog.refresh(setup.source(), Mode::Force, None).await;
        let loaded = setup.catalog.load_tables(setup.source(), &names).await;
        for refused in [forced, loaded] {
            assert_eq!(refused.unwrap_err().code(), Code::MindDatasourceRelationshipRequired);
        }
        fixture::mind(&setup.store, &setup.workspace, &setup.datasource).await;
        let started = setup.catalog.load_tables(setup.source(), &names).await.unwrap();
        setup.catalog.wait(&started, LONG).await.unwrap();
        assert_eq!(setup.table("a").await.status, TableStatus::Completed);
    }

    async fn scope_has_statistics_of_columns_where_they_are_asked_for(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.refreshed(Mode::All, None).await;
        let scope = async |with| setup.catalog.scope_tables(&setup.datasource, None, with).await.unwrap().tables.remove(0);
        let table = scope(ScopeStatistics::Columns).await;
        let known: Vec<_> = table.statistics.iter().map(|one| one.column.clone()).collect();
        assert_eq!(known, table.columns);
        assert_eq!(table.statistics[0].null_fraction, Some(0.0));
        assert!(scope(ScopeStatistics::None).await.statistics.is_empty());
    }

    async fn scope_is_read_again_only_after_the_catalog_has_changed(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        let selected = [TableRef::new("main", "a")];
        let columns = async |selection: Option<&[TableRef]>| {
            let scope = setup.catalog.scope_tables(&setup.datasource, selection, ScopeStatistics::None);
            let tables = scope.await.unwrap().tables.into_iter();
            tables.map(|table| table.columns.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(columns(None).await, ["", ""]);
        setup.refreshed(Mode::All, None).await;
        assert_eq!(columns(None).await, ["id name", "id name"]);
        assert_eq!(columns(Some(&selected)).await, ["id name"]);
        // No load wrote this, so it shows when the columns were read.
        let renamed = "UPDATE catalog_columns SET name = 'other' WHERE name = 'name'";
        sqlx::query(renamed).execute(setup.store.pool()).await.unwrap();
        assert_eq!(columns(None).await, ["id name", "id name"]);
        assert_eq!(columns(Some(&selected)).await, ["id name"]);
        setup.catalog.delete_table(setup.source(), "b").await.unwrap();
        assert_eq!(columns(None).await, ["id other", ""]);
        assert_eq!(columns(Some(&selected)).await, ["id other"]);
        setup.refreshed(Mode::All, None).await;
        assert_eq!(columns(None).await, ["id name", "id name"]);
        setup.engine.drop_table("b");
        setup.refreshed(Mode::All, None).await;
        assert_eq!(columns(None).await, ["id name"]);
    }

    async fn missing_table_stays_until_it_is_deleted(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.engine.drop_table("b");
        let shown = setup.refreshed(Mode::All, None).await;
        assert_eq!(shown.status.overall_status, RunStatus::Completed);
        let gone = setup.table("b").await;
        assert_eq!((gone.missing, gone.status, gone.columns.len()), (true, TableStatus::Completed, 2));
        let scope = setup.catalog.scope_tables(&setup.datasource, None, ScopeStatistics::None).await.unwrap();
        assert_eq!((scope.tables.len(), scope.others.len()), (1, 0));
        setup.catalog.delete_table(setup.source(), "b").await.unwrap();
        assert_eq!(setup.shown().await.tables.len(), 1);
    }

    async fn missing_table_that_returns_is_listed_again(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        setup.engine.drop_table("b");
        setup.refreshed(Mode::All, None).await;
        assert!(setup.table("b").await.missing);
        setup.engine.put("b", Scripted::default());
        setup.refreshed(Mode::MissingOnly, None).await;
        let back = setup.table("b").await;
        assert_eq!((back.missing, back.status), (false, TableStatus::Completed));
    }

    async fn deleted_table_stays_listed_without_columns(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.catalog.describe_table(setup.source(), "a", Some("mine")).await.unwrap();
        setup.catalog.delete_table(setup.source(), "main.a").await.unwrap();
        let deleted = setup.table("a").await;
        assert_eq!((deleted.status, deleted.columns.len()), (TableStatus::NotCataloged, 0));
        assert_eq!((deleted.description.text, deleted.primary_key.len()), (None, 0));
        assert_eq!(setup.table("b").await.status, TableStatus::Completed);
    }

    async fn deleted_catalog_counts_as_never_loaded(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.catalog.delete_all(setup.source()).await.unwrap();
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::NotStarted);
        assert_eq!(shown.tables[0].status, TableStatus::NotCataloged);
    }

    async fn deleting_all_ends_the_run_that_is_loading(postgres) {
        let setup = Setup::new(postgres, &[]).await;
        setup.engine.put("a", Scripted { gated: true, ..Scripted::default() });
        setup.refresh(Mode::All, None).await;
        setup.until(|shown| !shown.tables.is_empty() && status_of(shown, "a") == TableStatus::Loading).await;
        setup.catalog.delete_all(setup.source()).await.unwrap();
        setup.engine.open_gate();
        setup.tasks.close();
        setup.ending.cancel();
        setup.tasks.wait().await;
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::NotStarted);
        assert_eq!(status_of(&shown, "a"), TableStatus::NotCataloged);
    }

    async fn a_request_that_overlaps_a_run_joins_it(postgres) {
        let setup = Setup::new(postgres, &[]).await;
        setup.engine.put("a", Scripted { gated: true, ..Scripted::default() });
        let first = setup.refresh(Mode::All, None).await;
        setup.until(|shown| !shown.tables.is_empty()).await;
        let second = setup.refresh(Mode::All, None).await;
        let named = setup.refresh(Mode::MissingOnly, Some(&["a"])).await;
        assert_eq!((&first.runs, &first.runs), (&second.runs, &named.runs));
        assert_eq!(setup.shown().await.status.active_flow_runs, 1);
        fixture::mind(&setup.store, &setup.workspace, &setup.datasource).await;
        let forced = setup.catalog.refresh(setup.source(), Mode::Force, None).await;
        assert_eq!(forced.unwrap_err().code(), Code::RunActive);
        setup.engine.open_gate();
        setup.catalog.wait(&named, LONG).await.unwrap();
        assert_eq!(setup.engine.times_read("a"), 1);
    }

    async fn run_resumes_after_a_restart(postgres) {
        let mut setup = Setup::new(postgres, &["a", "b"]).await;
        setup.engine.put("c", Scripted { gated: true, ..Scripted::default() });
        let started = setup.refresh(Mode::All, None).await;
        let done = |name| move |shown: &CatalogPage| status_of(shown, name) == TableStatus::Completed;
        setup.until(done("a")).await;
        setup.until(done("b")).await;
        setup.until(|shown| status_of(shown, "c") == TableStatus::Loading).await;
        setup.restart().await;
        setup.engine.open_gate();
        setup.catalog.wait(&started, LONG).await.unwrap();
        let shown = setup.shown().await;
        assert_eq!(shown.status.overall_status, RunStatus::Completed);
        assert_eq!((setup.engine.times_read("a"), setup.engine.times_read("b")), (1, 1));
    }

    async fn run_belongs_to_one_host_until_its_heartbeats_stop(postgres) {
        let setup = Setup::idle(postgres, &["a"]).await;
        setup.refresh(Mode::All, Some(&["a"])).await;
        let store = &setup.catalog.store;
        let run = store.claim("one", 0).await.unwrap().unwrap();
        assert!(store.claim("two", 0).await.unwrap().is_none(), "it is taken");
        let soon = mindhost_store::now() + 1_000_000;
        let taken = store.claim("two", soon).await.unwrap().unwrap();
        assert_eq!(taken.id, run.id);
        assert_eq!(store.heartbeat(&run.id, "one").await.unwrap(), super::super::store::Heartbeat::Lost);
        let entry = setup.table("a").await.id;
        assert!(!store.table_failed(&run, "one", &entry, "late", false).await.unwrap());
        assert_eq!(setup.table("a").await.error, None, "what comes late changes nothing");
        assert!(store.table_failed(&run, "two", &entry, "in time", false).await.unwrap());
    }

    async fn names_are_resolved_and_a_new_table_is_found_by_name(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.engine.put("new", Scripted::default());
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = setup.catalog.resolve(setup.source(), &names(&["new", "main.a"])).await.unwrap();
        assert_eq!(found, [table("new"), table("a")]);
        let unknown = setup.catalog.resolve(setup.source(), &names(&["nothing"])).await.unwrap_err();
        assert_eq!(unknown.code(), Code::UnknownTable);
        *setup.engine.unreachable.lock().unwrap() = true;
        let unasked = setup.catalog.resolve(setup.source(), &names(&["nothing"])).await.unwrap_err();
        assert_eq!(unasked.code(), Code::UpstreamUnreachable);
        let stored = setup.catalog.resolve(setup.source(), &names(&["new"])).await.unwrap();
        assert_eq!(stored, [table("new")]);
        let missing = setup.catalog.table(setup.source(), "nothing").await.unwrap_err();
        assert_eq!(missing.code(), Code::TableNotFound);
        let both = [table("a"), TableRef { schema: "other".into(), name: "a".into() }];
        setup.catalog.table_list_stored(setup.source(), &both).await.unwrap();
        let ambiguous = setup.catalog.resolve(setup.source(), &names(&["a"])).await.unwrap_err();
        assert_eq!(ambiguous.code(), Code::AmbiguousTable);
    }

    async fn new_mind_loads_only_missing_tables(postgres) {
        let setup = Setup::new(postgres, &["a", "b"]).await;
        let selection = [table("a")];
        setup.catalog.start_missing(setup.source(), Some(&selection)).await.unwrap();
        setup.until(|shown| shown.status.overall_status == RunStatus::Completed).await;
        let shown = setup.shown().await;
        assert_eq!(status_of(&shown, "a"), TableStatus::Completed);
        assert_eq!(status_of(&shown, "b"), TableStatus::NotCataloged);
        setup.catalog.start_missing(setup.source(), Some(&selection)).await.unwrap();
        assert_eq!(setup.shown().await.status.active_flow_runs, 0);
    }

    async fn a_search_looks_at_names_and_descriptions_of_tables_and_columns(postgres) {
        let setup = Setup::new(postgres, &["orders", "people"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.catalog.describe_table(setup.source(), "people", Some("Our Customers")).await.unwrap();
        for (search, expected) in [("ORDER", 1), ("customer", 1), ("called", 2), ("nothing", 0), ("  ", 2)] {
            let filter = Filter { search: Some(search), ..Filter::default() };
            let shown = setup.catalog.show(setup.source(), filter).await.unwrap();
            assert_eq!(shown.tables.len(), expected, "{search}");
        }
        let selection = [table("people")];
        let filter = Filter { selection: Some(&selection), ..Filter::default() };
        assert_eq!(setup.catalog.show(setup.source(), filter).await.unwrap().tables.len(), 1);
    }

    async fn a_model_finds_tables_by_words_best_first(postgres) {
        let setup = Setup::new(postgres, &["customer_orders", "people", "order_items"]).await;
        setup.refreshed(Mode::All, None).await;
        setup.catalog.describe_table(setup.source(), "people", Some("Our customers")).await.unwrap();
        let names = async |words: &str| {
            let found = setup.catalog.search(&setup.view(true), &Arc::default(), words, 10).await.unwrap();
            found.tables.into_iter().map(|table| table.name).collect::<Vec<_>>()
        };
        assert_eq!(names("Which customers are there?").await, ["main.customer_orders", "main.people"]);
        assert_eq!(names("items").await, ["main.order_items"]);
        assert_eq!(names("weather").await.len(), 3, "all of them when nothing fits");
        assert_eq!(names("").await.len(), 3);
        // The index is kept, and made anew after each of these.
        setup.catalog.describe_table(setup.source(), "people", Some("Rain and weather")).await.unwrap();
        assert_eq!(names("weather").await, ["main.people"]);
        setup.catalog.describe_column(setup.source(), "order_items", "id", Some("Weather")).await.unwrap();
        assert_eq!(names("weather").await.len(), 2);
        setup.catalog.delete_table(setup.source(), "order_items").await.unwrap();
        assert_eq!(names("weather").await, ["main.people"]);
        setup.catalog.describe_table(setup.source(), "people", None).await.unwrap();
        assert_eq!(names("weather").await.len(), 3);
        let one = setup.catalog.search(&setup.view(true), &Arc::default(), "", 1).await.unwrap();
        assert_eq!((one.tables.len(), one.total_tables), (1, 3));
    }

    async fn model_gets_table_details_and_values_only_if_allowed(postgres) {
        let setup = Setup::new(postgres, &["a"]).await;
        setup.refreshed(Mode::All, None).await;
        for name in ["a", "main.a", "shop.a", "shop.main.a"] {
            let described = setup.catalog.describe(&setup.view(true), &[name.to_owned()]).await.unwrap();
            let json = serde_json::to_value(&described[0]).unwrap();
            assert_eq!((&json["table"], &json["type"]), (&"main.a".into(), &"TABLE".into()));
            assert_eq!(json["columns"][1]["common_values"], serde_json::json!(["a"]));
            assert_eq!(json["columns"][0]["max"], "2");
            assert_eq!(json["foreign_keys"][0]["referenced_columns"], serde_json::json!(["key"]));
        }
        let kept = setup.catalog.describe(&setup.view(false), &["a".to_owned()]).await.unwrap();
        let json = serde_json::to_value(&kept[0]).unwrap();
        for value in ["common_values", "min", "max", "distinct_count"] {
            assert!(json["columns"][1][value].is_null(), "{value}: {json}");
        }
        let unknown = setup.catalog.describe(&setup.view(true), &["b".to_owned()]).await.unwrap_err();
        assert_eq!(unknown.code(), Code::UnknownTable);
    }
}
