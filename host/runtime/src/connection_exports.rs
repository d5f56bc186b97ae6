//! The exports that both worlds of connectors have: a connection to a source, and cursors that read from it. A
//! scanner's source counts as a connection.

use wasmtime::{Store, component::ResourceAny};

use super::{
    bindings::{
        catalog_types,
        scan::ScannerConnector,
        sql::SqlConnector,
        types::{self, TableRef},
    },
    state::State,
    world::GuestFuture,
};

/// The result of a guest function, or the error that it reports.
pub type GuestResult<R> = Result<R, types::Error>;

/// A connection that a guest opened, and what `cancel` needs to stop what runs on it.
pub type OpenConnection = (ResourceAny, Option<Vec<u8>>);

/// The exports of a world with connections to pool.
pub trait ConnectionExports: Send + Sync + Sized + 'static {
    /// Opens a connection to what `config` names, as JSON of the connection data that the guest may see.
    fn open<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
    ) -> GuestFuture<'a, GuestResult<OpenConnection>>;
    /// Stops what runs on the connection of another instance.
    fn cancel<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
        key: Vec<u8>,
    ) -> GuestFuture<'a, GuestResult<()>>;
    /// Describes the server behind a connection.
    fn check<'a>(
        &'a self,
        store: &'a mut Store<State>,
        connection: ResourceAny,
    ) -> GuestFuture<'a, GuestResult<types::ServerInfo>>;
    /// Every table in reach, as the guest says it: unchecked.
    fn tables<'a>(
        &'a self,
        store: &'a mut Store<State>,
        connection: ResourceAny,
    ) -> GuestFuture<'a, GuestResult<Vec<TableRef>>>;
    /// Columns, keys and comments of these tables, as the guest says them: unchecked.
    fn describe_tables<'a>(
        &'a self,
        store: &'a mut Store<State>,
        connection: ResourceAny,
        tables: Vec<TableRef>,
    ) -> GuestFuture<'a, GuestResult<Vec<catalog_types::Table>>>;
    /// The columns of a cursor.
    fn schema<'a>(
        &'a self,
        store: &'a mut Store<State>,
        cursor: ResourceAny,
    ) -> GuestFuture<'a, GuestResult<Vec<types::Column>>>;
    /// The next rows of a cursor.
    fn next<'a>(
        &'a self,
        store: &'a mut Store<State>,
        cursor: ResourceAny,
        max_rows: u32,
        max_bytes: u32,
    ) -> GuestFuture<'a, GuestResult<Option<types::Batch>>>;
    /// Closes a cursor. Returns whether its connection can be used again.
    fn close<'a>(
        &'a self,
        store: &'a mut Store<State>,
        cursor: ResourceAny,
    ) -> GuestFuture<'a, GuestResult<bool>>;
}

/// The calls that have the same shape in both worlds; only the names of the interface and its resource differ.
macro_rules! same_calls {
    ($interface:ident, $connection:ident) => {
        fn check<'a>(
            &'a self,
            store: &'a mut Store<State>,
            connection: ResourceAny,
        ) -> GuestFuture<'a, GuestResult<types::ServerInfo>> {
            let exports = self.$interface().$connection();
            Box::pin(async move { exports.call_check(store, connection).await })
        }

        fn tables<'a>(
            &'a self,
            store: &'a mut Store<State>,
            connection: ResourceAny,
        ) -> GuestFuture<'a, GuestResult<Vec<TableRef>>> {
            let exports = self.$interface().$connection();
            Box::pin(async move { exports.call_tables(store, connection).await })
        }

        fn describe_tables<'a>(
            &'a self,
            store: &'a mut Store<State>,
            connection: ResourceAny,
            tables: Vec<TableRef>,
        ) -> GuestFuture<'a, GuestResult<Vec<catalog_types::Table>>> {
            let exports = self.$interface().$connection();
            Box::pin(async move {
                exports
                    .call_describe_tables(store, connection, &tables)
                    .await
            })
        }

        fn schema<'a>(
            &'a self,
            store: &'a mut Store<State>,
            cursor: ResourceAny,
        ) -> GuestFuture<'a, GuestResult<Vec<types::Column>>> {
            let exports = self.$interface().cursor();
            Box::pin(async move { exports.call_schema(store, cursor).await })
        }

        fn next<'a>(
            &'a self,
            store: &'a mut Store<State>,
            cursor: ResourceAny,
            max_rows: u32,
            max_bytes: u32,
        ) -> GuestFuture<'a, GuestResult<Option<types::Batch>>> {
            let exports = self.$interface().cursor();
            Box::pin(async move { exports.call_next(store, cursor, max_rows, max_bytes).await })
        }

        fn close<'a>(
            &'a self,
            store: &'a mut Store<State>,
            cursor: ResourceAny,
        ) -> GuestFuture<'a, GuestResult<bool>> {
            let exports = self.$interface().cursor();
            Box::pin(async move { exports.call_close(store, cursor).await })
        }
    };
}

impl ConnectionExports for SqlConnector {
    fn open<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
    ) -> GuestFuture<'a, GuestResult<OpenConnection>> {
        Box::pin(async move {
            let connection = self.mindhost_plugin_connector().connection();
            match connection.call_open(&mut *store, &config).await? {
                Ok(handle) => {
                    let key = connection.call_cancel_key(&mut *store, handle).await?;
                    Ok(Ok((handle, key)))
                }
                Err(error) => Ok(Err(error)),
            }
        })
    }

    fn cancel<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
        key: Vec<u8>,
    ) -> GuestFuture<'a, GuestResult<()>> {
        let exports = self.mindhost_plugin_connector();
        Box::pin(async move { exports.call_cancel(store, &config, &key).await })
    }

    same_calls!(mindhost_plugin_connector, connection);
}

impl ConnectionExports for ScannerConnector {
    fn open<'a>(
        &'a self,
        store: &'a mut Store<State>,
        config: types::Config,
    ) -> GuestFuture<'a, GuestResult<OpenConnection>> {
        let source = self.mindhost_plugin_scanner().source();
        Box::pin(async move {
            let opened = source.call_open(store, &config).await?;
            Ok(opened.map(|handle| (handle, None)))
        })
    }

    /// Does nothing: a scanner sees a cancellation through `control` only, and its sources have no cancel key.
    fn cancel<'a>(
        &'a self,
        _: &'a mut Store<State>,
        _: types::Config,
        _: Vec<u8>,
    ) -> GuestFuture<'a, GuestResult<()>> {
        Box::pin(async { Ok(Ok(())) })
    }

    same_calls!(mindhost_plugin_scanner, source);
}
