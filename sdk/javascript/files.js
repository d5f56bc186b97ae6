// Files that the configuration names. A path in the configuration is already the path inside of the sandbox.

import { PluginError } from "./error.js";
import { decode, lines } from "./text.js";
import { preopens } from "./wasi.js";

const READ = 64 * 1024;

/** The bytes of a file in pieces. */
export function* pieces(path) {
  const file = open(path, {});
  try {
    let at = 0;
    for (;;) {
      const [bytes, end] = attempt(path, () => file.read(READ, at));
      if (bytes.length > 0) yield bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
      at += bytes.length;
      if (end || bytes.length === 0) return;
    }
  } finally {
    file[Symbol.dispose]();
  }
}

/** The lines of a text file, without their ends. */
export const readLines = (path) => lines(pieces(path));

/** A whole text file; more than `limit` bytes are the error `too-large`. */
export function readText(path, limit = 8 << 20) {
  const bytes = [];
  for (const piece of pieces(path)) {
    if (bytes.length + piece.length > limit) throw new PluginError("too-large", `${path} is larger than ${limit} bytes`);
    for (const byte of piece) bytes.push(byte);
  }
  return decode(bytes);
}

/** The names in a directory, sorted. */
export function list(path) {
  const directory = open(path, { directory: true });
  const entries = attempt(path, () => directory.readDirectory());
  const names = [];
  for (let entry = entries.readDirectoryEntry(); entry !== null; entry = entries.readDirectoryEntry()) {
    names.push(entry.name);
  }
  entries[Symbol.dispose]();
  directory[Symbol.dispose]();
  return names.sort();
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
