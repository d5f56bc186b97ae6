// What there is without an import, beside the language itself. Name this file in tsconfig.json.

/** Its lines go to the plugin log. In Node it is Node's own. */
declare var console: {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  /** The values, and where the program is. */
  trace(...values: unknown[]): void;
  assert(holds: unknown, ...values: unknown[]): void;
};
