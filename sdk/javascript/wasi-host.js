// The host of a component.

import hostLog from "mindhost:plugin/log@0.1.0";
import { PluginError } from "./error.js";
import { preopens } from "./wasi.js";

export { send } from "./wasi-http.js";
export { isCancelled, remainingMs, sleep } from "./wasi-wait.js";

export const log = (level, line) => hostLog.log(level, line);

/** A file to read from any place. */
export function openFile(path) {
  const file = open(path, {});
  return {
    read(length, at) {
      const [bytes] = attempt(path, () => file.read(length, at));
      return bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
    },
    close: () => file[Symbol.dispose](),
  };
}

/** The names in a directory. */
export function list(path) {
  const directory = open(path, { directory: true });
  const entries = attempt(path, () => directory.readDirectory());
  const names = [];
  for (let entry = entries.readDirectoryEntry(); entry !== null; entry = entries.readDirectoryEntry()) {
    names.push(entry.name);
  }
  entries[Symbol.dispose]();
  directory[Symbol.dispose]();
  return names;
}

function open(path, { directory = false }) {
  for (const [root, name] of preopens.getDirectories()) {
    const prefix = name.endsWith("/") ? name : `${name}/`;
    if (path !== name && !path.startsWith(prefix)) continue;
    const flags = { create: false, directory, exclusive: false, truncate: false };
    const rights = {
      read: true, write: false, fileIntegritySync: false, dataIntegritySync: false,
      requestedWriteSync: false, mutateDirectory: false,
    };
    const relative = path === name ? "." : path.slice(prefix.length);
    return attempt(path, () => root.openAt({ symlinkFollow: true }, relative, flags, rights));
  }
  throw new PluginError("denied", `the configuration does not name ${path}`);
}

const KINDS = { "no-entry": "not-found", access: "denied", "not-permitted": "denied" };

function attempt(path, work) {
  try {
    return work();
  } catch (error) {
    const code = String(error?.payload ?? error);
    throw new PluginError(KINDS[code] ?? "upstream", `${path}: ${code}`, { code });
  }
}
