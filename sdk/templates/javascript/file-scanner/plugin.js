// A file of JSON lines as a table: the rows come from here, the SQL from the host.

import { PluginError, files } from "./mindhost/index.js";

const PLANETS = {
  columns: [
    { name: "name", type: "text", nullable: false },
    { name: "diameter_km", type: "int64", nullable: false },
    { name: "gravity", type: "float64" },
    { name: "discovered", type: "date" },
  ],
  primaryKey: ["name"],
};

export default class Planets {
  /** What the datasource is configured with; manifest.json has its schema. The host opens this file and nothing else. */
  constructor({ path }) {
    this.path = path;
  }

  check() {
    // Opens the file, and fails when it is not there.
    files.readLines(this.path).next();
    return { product: "JSON lines", version: "0.1.0" };
  }

  tables() {
    return [{ schema: "main", name: "planets" }];
  }

  describe({ name }) {
    return name === "planets" ? PLANETS : null;
  }

  // A source that can filter says so in `filterSupport(table, filter)`, and then `asked.filters` has what to leave out.

  *scan(table, asked) {
    for (const line of files.readLines(this.path)) {
      try {
        yield JSON.parse(line);
      } catch (cause) {
        throw new PluginError("upstream", `a line of ${table.name} is not JSON`, { cause });
      }
    }
  }
}
