#!/usr/bin/env node
// Makes a component of a module whose default export is the plugin, in JavaScript or TypeScript:
//     node build.mjs plugin.js manifest.json output.wasm [--small]

import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { withCode } from "./dev.mjs";
import { runtime } from "./runtime.mjs";
import { unpacked } from "./sourcemap.mjs";
import { MAP, frames } from "./trace.js";

const KINDS = {
  "sql-connector": ["connector", "exportConnector"],
  "scanner-connector": ["scanner", "exportScanner"],
  "model-provider": ["model", "exportModel"],
};

/**
 * While a component is made, componentize-qjs has WASI of its own and stand-ins for everything else, and the two do not
 * fit together where an interface of ours names a resource of WASI's. So the WIT is built with WASI under another name
 * of the same length, and gets its own in the finished component.
 */
const STAND_IN = "wa5i:";
const WASI = "wasi:";
/** More errors than these are not shown at once. */
const SHOWN = 3;
/** Longer lines of source are cut around the error. */
const WIDEST = 100;

const sdk = dirname(fileURLToPath(import.meta.url));
const root = process.cwd();
/** What imports the plugin: a name in messages, not a file. */
const ENTRY = "mindhost/entry.js";

/** Why the runtime could not be prepared. */
function why() {
  const [major] = process.versions.node.split(".");
  if (Number(major) < 22) return `that needs Node 22 or newer, and this is Node ${process.versions.node}`;
  return "this version of componentize-qjs is unknown; use the one that package.json of a new project names";
}

/** What is wrong with the project, said in full. */
class Mistake extends Error {}

async function build(plugin, manifestPath, output, optSize) {
  if (!existsSync(plugin)) {
    const next = "if it has another name now, write that in build.sh";
    throw new Mistake(`${plugin} is missing: the plugin is built from it; ${next}`);
  }
  const manifest = manifestOf(manifestPath);
  const { world } = JSON.parse(manifest);
  if (world === undefined) {
    throw new Mistake(`${manifestPath}: \`world\` is missing; it is one of ${Object.keys(KINDS).join(", ")}`);
  }
  if (!(world in KINDS)) throw new Mistake(`${manifestPath}: this SDK does not make the world ${world}`);
  const folder = process.env.DEV_OF_MINDHOST;
  const component =
    (folder && (await development(folder, plugin, world, manifest, optSize))) ||
    (await made(await bundled(contentsOf(plugin, world, manifest), plugin), world, optSize));
  writeFileSync(output, component);
  console.log(`${output}: ${world}, ${component.length} bytes`);
}

/** A component of a development server, or nothing if the plugin is too large for one. */
async function development(folder, plugin, world, manifest, optSize) {
  const { code, map } = await bundled(contentsOf(plugin, world, manifest), plugin, "cjs");
  const [name] = KINDS[world];
  const contents = `
    import { late } from "./late.js";
    import { modules } from "./late-host.js";
    export const ${name} = late(modules, ${JSON.stringify(name)});`;
  const make = async () => made(await bundled(contents, plugin), world, optSize);
  const source = `${code}\n;globalThis[${JSON.stringify(MAP)}] = ${ascii(JSON.stringify(map))};\n`;
  return withCode(folder, world, [versionOf("componentize-qjs"), optSize], source, make);
}

/** The component of a bundle. */
async function made({ code, map }, world, optSize) {
  const jsSource = `${code}\nglobalThis[${JSON.stringify(MAP)}] = ${JSON.stringify(map)};\n`;
  const witPath = standIn();
  try {
    // Nothing is left to be looked for from here: the source is one module.
    const jsPath = join(sdk, "entry.js");
    const { componentize } = await tool("componentize-qjs");
    const runtimeBytes = runtime(optSize);
    if (!runtimeBytes) console.error(`the build is not reproducible: ${why()}`);
    const chosen = runtimeBytes ? { runtimeBytes } : { sync: true, optSize };
    const { component } = await componentize({ witPath, jsSource, jsPath, moduleRoot: root, world, ...chosen });
    return withWasi(component);
  } catch (error) {
    throw new Mistake(atLoad(String(error.message ?? error), map));
  } finally {
    rmSync(witPath, { recursive: true, force: true });
  }
}

/** Text that is the same in Latin-1, inside of JSON. */
const ascii = (text) =>
  text.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The manifest without what is for editors alone. */
function manifestOf(path) {
  try {
    const { $schema, ...manifest } = JSON.parse(readFileSync(path, "utf8"));
    return JSON.stringify(manifest);
  } catch (error) {
    throw new Mistake(`${path}: ${error.message}`);
  }
}

/** What ties the plugin to its world. */
function contentsOf(plugin, world, manifest) {
  const [name, exporter] = KINDS[world];
  const module = (file) => JSON.stringify(`./${relative(sdk, resolve(file)).replaceAll("\\", "/")}`);
  return `
    import "./console.js";
    import Plugin from ${module(plugin)};
    import { provide } from "./host.js";
    import * as wasi from "./wasi-host.js";
    import { ${exporter} } from "./${name}.js";
    provide(wasi);
    export const ${name} = ${exporter}(Plugin, ${JSON.stringify(manifest)});`;
}

/** The plugin and the SDK as one module, and where each line of it comes from. */
async function bundled(contents, plugin, format = "esm") {
  const esbuild = await tool("esbuild");
  try {
    const { outputFiles } = await esbuild.build({
      stdin: { contents, resolveDir: sdk, sourcefile: ENTRY, loader: "js" },
      absWorkingDir: root,
      outfile: join(root, "plugin.bundle.js"),
      bundle: true,
      write: false,
      format,
      platform: "neutral",
      mainFields: ["module", "main"],
      conditions: ["import", "module"],
      target: "es2023",
      // The code of a development build is put into a component byte by byte.
      charset: format === "esm" ? "utf8" : "ascii",
      external: ["mindhost:*", `${STAND_IN}*`, `${WASI}*`],
      sourcemap: "external",
      sourcesContent: false,
      logLevel: "silent",
    });
    const [map, code] = ["map", "js"].map((end) => outputFiles.find(({ path }) => path.endsWith(`.${end}`)).text);
    return { code, map: unpacked(map, (file) => !/(^|\/)mindhost(-sdk)?\//.test(file)) };
  } catch (error) {
    if (!error.errors) throw error;
    const more = error.errors.length - SHOWN;
    const texts = error.errors.slice(0, SHOWN).map((one) => told(one, plugin));
    throw new Mistake([...texts, ...(more > 0 ? [`and ${more} more`] : [])].join("\n"));
  }
}

/** An error of the source in three lines: where, the line, and what is wrong. */
function told({ location, text }, plugin) {
  if (!location) return text;
  if (location.file.endsWith(ENTRY)) {
    return `${plugin}: the plugin has to be its default export: \`export default class … { … }\` (${text})`;
  }
  // The column is in bytes.
  const column = Buffer.from(location.lineText).subarray(0, location.column).toString().length;
  const from = Math.max(0, column - WIDEST / 2);
  const line = location.lineText.slice(from, from + WIDEST).replaceAll("\t", " ");
  const caret = " ".repeat(column - from);
  return `${location.file}:${location.line}:${column + 1}\n  ${line}\n  ${caret}^ ${text}`;
}

/** What the plugin threw while it was loaded, with the author's lines. */
function atLoad(text, map) {
  const [head, ...rest] = text.split("\n");
  const places = frames(rest.join("\n"), map).map((line) => line.replaceAll(`${root}/`, ""));
  const why = head.replace(/^.*?(?:Failed to \w+ JavaScript module(?: evaluation)?: )/s, "").replace(/^(Error: )+/, "");
  return [why || text, ...places].join("\n");
}

/** The version of a module of the project's `node_modules`. */
function versionOf(name) {
  const found = createRequire(join(root, "package.json")).resolve(name);
  return readFileSync(join(dirname(found), "package.json"), "utf8");
}

/** A module of the project's `node_modules`, or of where this file lies. */
async function tool(name) {
  const require = createRequire(join(root, "package.json"));
  try {
    const found = await import(require.resolve(name));
    return found.default ?? found;
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    throw new Mistake(`${name} is not installed; run \`npm install\``);
  }
}

/** The WIT packages with WASI under its other name, in a folder of their own. */
function standIn() {
  const beside = join(sdk, "wit");
  const folder = mkdtempSync(join(tmpdir(), "mindhost-wit-"));
  cpSync(existsSync(beside) ? beside : join(sdk, "../wit"), folder, { recursive: true, dereference: true });
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith(".wit")) continue;
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(WASI, STAND_IN));
  }
  return folder;
}

function withWasi(component) {
  for (let at = component.indexOf(STAND_IN); at >= 0; at = component.indexOf(STAND_IN, at)) {
    component.write(WASI, at, "latin1");
  }
  return component;
}

const [plugin, manifest, output, small] = process.argv.slice(2);
if (!output || (small ?? "--small") !== "--small") {
  console.error("usage: node build.mjs PLUGIN.js MANIFEST.json OUTPUT.wasm [--small]");
  process.exit(2);
}
try {
  await build(plugin, manifest, output, small !== undefined);
} catch (error) {
  console.error(error instanceof Mistake ? error.message : error);
  process.exitCode = 1;
}
