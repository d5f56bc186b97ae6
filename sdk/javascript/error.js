// The one error of a plugin.

import { called, logLines } from "./host.js";
import { traced } from "./trace.js";

/** After these the connection does not count as usable, unless the error says so. */
const BREAKING = ["auth", "unreachable", "tls", "connection-lost", "cancelled", "internal"];

/** What went wrong, of which kind (see wit/README.md), in words for a person. Never put a secret into it. */
export class PluginError extends Error {
  constructor(kind, message, { code = "", position = null, retryAfterMs = null, connectionUsable, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PluginError";
    this.kind = kind;
    this.code = String(code);
    this.position = position;
    this.retryAfterMs = retryAfterMs;
    this.connectionUsable = connectionUsable ?? !BREAKING.includes(kind);
  }
}

/**
 * Calls a function of the plugin; whatever it throws becomes an error of the contract. The trace of a fault, and of what
 * caused a refusal, goes to the plugin log: callers never see it.
 */
export function guarded(work) {
  called();
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PluginError) || error.kind === "internal" || error.cause) {
      logLines("error", traced(error).join("\n"));
    }
    throw wire(error);
  }
}

function wire(error) {
  const known = error instanceof PluginError ? error : new PluginError("internal", String(error));
  const told = {
    kind: known.kind,
    code: known.code,
    message: known.message,
    position: known.position,
    retryAfterMs: known.retryAfterMs,
    connectionUsable: known.connectionUsable,
    extra: [],
  };
  // For unit tests; the host reads only the fields above.
  return Object.defineProperty(told, "cause", { value: error });
}

/** The configuration. The host has checked it against the schema of the manifest and filled in the defaults. */
export const settings = (config) => JSON.parse(config.json);
