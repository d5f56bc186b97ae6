// Further versions of a plugin, made of the one that was built.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const MODEL = "model-offline";

/** The offline model as another version: the path of its file. It says the manifest that it was built with, so that is
 * replaced in its code, by one of the same length. `change` changes the manifest. */
export function versionOf(server, number, change = (manifest) => manifest) {
  const built = readFileSync(join(process.env.TEST_PLUGINS, `${MODEL}.wasm`), "latin1");
  const old = readFileSync(new URL(`../../plugins/${MODEL}/manifest.json`, import.meta.url), "latin1");
  assert(built.includes(old), "the plugin holds another manifest");
  const next = JSON.stringify(change({ ...JSON.parse(old), version: number })).padEnd(old.length);
  assert.equal(next.length, old.length, "the manifest is too long");
  const [described, code, file] = [".json", ".code.wasm", ".wasm"].map((end) => join(server.dir, number + end));
  writeFileSync(described, next, "latin1");
  writeFileSync(code, built.replaceAll(old, next), "latin1");
  execFileSync(process.env.TEST_PROGRAM, ["plugin", "pack", code, "--manifest", described, "--output", file]);
  return file;
}
