// The glue between a class of the author's and the world `sql-connector`.

import { describeAll, serverInfo, tableRef } from "./catalog.js";
import { PluginError, guarded, settings } from "./error.js";
import { Answer } from "./rows.js";

class Cursor {
  #answer;
  #connection;

  constructor(connection, answer) {
    this.#connection = connection;
    this.#answer = answer;
  }

  schema() {
    return this.#answer.columns;
  }

  cancelKey() {
    return null;
  }

  next(maxRows, maxBytes) {
    return guarded(() => this.#answer.next(maxRows, maxBytes));
  }

  close() {
    return guarded(() => this.end());
  }

  end() {
    if (this.#answer === null) return true;
    const answer = this.#answer;
    this.#answer = null;
    this.#connection.cursor = null;
    answer.close();
    return true;
  }
}

/** The exported interface `connector`, for a class; `manifest` is the text of manifest.json. */
export function exportConnector(Plugin, manifest) {
  class Connection {
    #plugin;
    cursor = null;

    static open(config) {
      return guarded(() => {
        const connection = new Connection();
        connection.#plugin = new Plugin(settings(config));
        return connection;
      });
    }

    cancelKey() {
      return this.#plugin.cancelKey?.() ?? null;
    }

    check() {
      return guarded(() => serverInfo(this.#plugin.check()));
    }

    tables() {
      return guarded(() => [...this.#plugin.tables()].map(tableRef));
    }

    describeTables(tables) {
      return guarded(() => describeAll(this.#plugin, tables));
    }

    statistics(table, options) {
      return guarded(() => this.#plugin.statistics?.(table, options) ?? null);
    }

    beginSnapshot(timeoutMs) {
      return guarded(() => this.#plugin.beginSnapshot?.(timeoutMs) ?? false);
    }

    endSnapshot() {
      return guarded(() => this.#plugin.endSnapshot?.());
    }

    query(statement) {
      return guarded(() => {
        if (this.cursor !== null) throw new PluginError("internal", "a cursor of this connection is still open");
        const answer = new Answer(this.#plugin.query(statement), statement.maxCellBytes);
        this.cursor = new Cursor(this, answer);
        return this.cursor;
      });
    }
  }

  return {
    Connection,
    Cursor,
    cancel: (config, key) =>
      guarded(() => {
        if (!Plugin.cancel) throw new PluginError("unsupported", "this connector has no cancel request");
        Plugin.cancel(settings(config), key);
      }),
    describe: () => manifest,
  };
}
