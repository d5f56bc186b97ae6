//! Where a session looks for what a statement, a view or a policy names without a schema.
//!
//! The host sends tables, functions and types with their schemas, and operators without. Those of extensions (`citext`)
//! are found in their schemas only, and functions of the users' own may name tables without a schema. So the path goes
//! on behind `pg_catalog`, but not through a schema in which everybody may create something: that would be called
//! instead of a built-in that fits less well.

use mindhost_sdk::{Result, control};

use crate::session::{CATALOG_TIMEOUT, Session};

/// The path of a server that cannot say more.
const ALONE: &str = "pg_catalog";

/// What follows `pg_catalog` in the path: the role's own path, and the schemas of extensions that have operators.
///
/// `alias.name` and `(value).name` call a function where there is no such column or field, in any schema of the path.
/// The host takes such a name for a column or a built-in. So a schema is not in the path if the role may call a function
/// in it that takes a row as its only argument, or one argument and has the name of a built-in. Those of extensions do
/// no harm.
///
/// Where characters are single bytes, the server folds letters beyond ASCII in names, and the host does not: what the
/// host takes for a common table expression could be a table of the path. So the path ends there.
const FOUND: &str = "
    SELECT pg_catalog.concat('pg_catalog', (
        SELECT pg_catalog.string_agg(
            pg_catalog.concat(', ', pg_catalog.quote_ident(n.nspname)), '' ORDER BY s.place, n.nspname)
        FROM (
            SELECT every.schema, pg_catalog.min(every.place) AS place
            FROM (
                SELECT m.oid AS schema, p.place
                FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY AS p (name, place)
                JOIN pg_catalog.pg_namespace m ON m.nspname = p.name
                UNION ALL
                SELECT o.oprnamespace, 1000000
                FROM pg_catalog.pg_depend d
                JOIN pg_catalog.pg_operator o ON o.oid = d.objid
                WHERE d.classid = 'pg_catalog.pg_operator'::pg_catalog.regclass AND d.deptype = 'e') AS every
            GROUP BY every.schema) AS s
        JOIN pg_catalog.pg_namespace n ON n.oid = s.schema
        WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
            AND (
                SELECT pg_catalog.pg_encoding_max_length(e.encoding) <> 1 FROM pg_catalog.pg_database e
                WHERE e.datname = pg_catalog.current_database())
            AND NOT pg_catalog.has_schema_privilege('public', n.oid, 'CREATE')
            AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_proc f
                JOIN pg_catalog.pg_type a ON a.oid = f.proargtypes[0]
                WHERE f.pronamespace = n.oid AND f.pronargs - f.pronargdefaults <= 1
                    AND pg_catalog.has_function_privilege(f.oid, 'EXECUTE')
                    AND NOT EXISTS (
                        SELECT FROM pg_catalog.pg_depend d
                        WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = f.oid
                            AND d.deptype = 'e')
                    AND (f.provariadic <> 0 OR a.typtype = 'c'
                        OR a.typtype = 'p' AND a.typname = ANY (ARRAY['record', 'any', 'anyelement', 'anynonarray',
                            'anycompatible', 'anycompatiblenonarray'])
                        OR EXISTS (
                            SELECT FROM pg_catalog.pg_type b
                            WHERE b.oid = a.typbasetype AND b.typtype = ANY (ARRAY['c', 'd']::pg_catalog.\"char\"[]))
                        OR EXISTS (
                            SELECT FROM pg_catalog.pg_proc b
                            WHERE b.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
                                AND b.proname = f.proname)))))";

/// The path without anything else, for the connector's own statements: names of types then come with their schemas.
pub(crate) const BUILT_IN: &str = "SET LOCAL search_path TO pg_catalog";

/// Sets the search path of a session, and has the server look whether its client is still there while it computes. A
/// server that cannot look, because it is too old or its system does not tell, refuses; then a statement ends by a cancel
/// request or its timeout alone.
///
/// # Errors
/// When the connection is lost.
pub(crate) fn set(session: &mut Session) -> Result<()> {
    let find = find();
    session.simple(&format!(
        "SELECT pg_catalog.set_config('search_path', ({find}), false)"
    ))?;
    session.simple("SET client_connection_check_interval TO 500")?;
    session.wire.flush()?;
    let is_set = is_done(session.settle_until(1))?;
    is_done(session.settle())?;
    if is_set {
        return Ok(());
    }
    // A server that only speaks the protocol may not have what the path is made of.
    session.simple(&format!("SET search_path TO {ALONE}"))?;
    session.wire.flush()?;
    session.settle()
}

/// The search path for `SET LOCAL` in the transactions of a session behind a connection pool.
///
/// # Errors
/// When the connection is lost.
pub(crate) fn found(session: &mut Session) -> Result<String> {
    let timeout = control::remaining().min(CATALOG_TIMEOUT);
    let mut path = ALONE.to_owned();
    session.begin(timeout)?;
    let asked = session.ask(&find(), &[], timeout, &mut |row| {
        row.text(0).clone_into(&mut path);
        Ok(())
    });
    is_done(asked)?;
    Ok(path)
}

/// Whether a request went well; an error if the session is of no use any more.
fn is_done(answered: Result<()>) -> Result<bool> {
    match answered {
        Err(error) if !error.is_connection_usable() => Err(error),
        answered => Ok(answered.is_ok()),
    }
}

/// A statement that gives the path. It means the same under any path of the role's own.
fn find() -> String {
    let mut sql = FOUND.to_owned();
    for operator in ["=", "<>", "<=", "!~", "-"] {
        sql = sql.replace(
            &format!(" {operator} "),
            &format!(" OPERATOR(pg_catalog.{operator}) "),
        );
    }
    sql
}
