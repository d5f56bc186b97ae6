// The glue between a class of the author's and the world `scanner-connector`.

import { describeAll, serverInfo, tableRef } from "./catalog.js";
import { PluginError, guarded, settings } from "./error.js";
import { Answer, column } from "./rows.js";

class Cursor {
  #answer;

  constructor(answer) {
    this.#answer = answer;
  }

  schema() {
    return this.#answer.columns;
  }

  next(maxRows, maxBytes) {
    return guarded(() => this.#answer.next(maxRows, maxBytes));
  }

  close() {
    return guarded(() => {
      this.#answer.close();
      return true;
    });
  }
}

/** Whether a filter came as it was sent: a number beyond 2^53 is not exact here, so the host keeps it. */
const isExact = ({ values }) => values.every(({ tag, val }) => !/int64$/.test(tag) || Number.isSafeInteger(val));

/** Values of filters as JavaScript has them. */
const plainFilter = ({ column, op, values }) => ({ column, op, values: values.map((value) => value.val ?? null) });

/** The exported interface `scanner`, for a class; `manifest` is the text of manifest.json. */
export function exportScanner(Plugin, manifest) {
  class Source {
    #plugin;

    static open(config) {
      return guarded(() => {
        const source = new Source();
        source.#plugin = new Plugin(settings(config));
        return source;
      });
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

    columns(table) {
      return guarded(() => columnsOf(this.#plugin, table).map(column));
    }

    filterSupport(table, filters) {
      const support = (filter) => (isExact(filter) && this.#plugin.filterSupport?.(table, plainFilter(filter))) || "no";
      return guarded(() => filters.map(support));
    }

    scan({ table, projection, filters, limit, id, maxCellBytes }) {
      return guarded(() => {
        const own = columnsOf(this.#plugin, table);
        const columns = projection.map((name) => own.find((column) => column.name === name) ?? gone(table, name));
        const asked = { columns: projection, filters: filters.map(plainFilter), limit, id };
        return new Cursor(new Answer({ columns, rows: this.#plugin.scan(table, asked) }, maxCellBytes, true));
      });
    }
  }

  return { Source, Cursor, describe: () => manifest };
}

function columnsOf(plugin, table) {
  const about = plugin.describe(table);
  if (!about) throw new PluginError("not-found", `there is no table ${table.name}`);
  return about.columns;
}

function gone(table, name) {
  throw new PluginError("not-found", `${table.name} has no column ${name}`);
}
