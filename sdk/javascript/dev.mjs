// Builds for `mindhost plugin dev`: a component that was made once gets the plugin's code put into it.
//
// Nearly all of a build is spent on the engine, which is the same each time. So the first build makes a component with
// room for code (see late.js), and the next ones write theirs there.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { FILL, MARK, ROOM } from "./late.js";

const sdk = dirname(fileURLToPath(import.meta.url));

/**
 * The component for a world, with this code in it: a script of esbuild's format `cjs`, in ASCII. Nothing if the code is
 * larger than the room. `make` gives the bytes of a component without code, if `folder` has none.
 */
export async function withCode(folder, world, versions, code, make) {
  const bytes = Buffer.from(code, "latin1");
  if (bytes.length > ROOM - 64) return undefined;
  const kept = join(folder, `javascript-${key([world, versions, process.versions.node])}.wasm`);
  if (!existsSync(kept)) {
    const made = await make();
    mkdirSync(folder, { recursive: true });
    // Those of another SDK or world.
    for (const name of readdirSync(folder)) if (/^javascript-.*\.wasm$/.test(name)) rmSync(join(folder, name));
    const half = `${kept}.${process.pid}`;
    writeFileSync(half, made);
    renameSync(half, kept);
  }
  return filled(readFileSync(kept), bytes);
}

/** The mark alone is memory that was used before. */
function filled(component, code) {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(code.length);
  const room = Buffer.concat([MARK, Buffer.alloc(64, FILL)]);
  for (let at = component.indexOf(room); at >= 0; at = component.indexOf(room, at + 1)) {
    size.copy(component, at + MARK.length);
    code.copy(component, at + MARK.length + size.length);
  }
  return component;
}

/** Of everything that the component is made of, but the plugin. */
function key(facts) {
  const digest = createHash("sha256").update(JSON.stringify(facts));
  for (const name of readdirSync(sdk).filter((name) => /\.m?js$/.test(name)).sort()) {
    digest.update(readFileSync(join(sdk, name)));
  }
  return digest.digest("hex").slice(0, 16);
}
