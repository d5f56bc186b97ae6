// Makes a component of a module whose default export is the plugin:
//     node build.mjs plugin.js manifest.json output.wasm [--small]

import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { componentize } from "componentize-qjs";

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

const sdk = dirname(fileURLToPath(import.meta.url));
const root = process.cwd();

async function build(plugin, manifestPath, output, optSize) {
  const manifest = JSON.stringify(JSON.parse(readFileSync(manifestPath, "utf8")));
  const { world } = JSON.parse(manifest);
  if (!(world in KINDS)) throw new Error(`${manifestPath}: this SDK does not make the world ${world}`);
  const [name, exporter] = KINDS[world];
  // Modules are looked for below the root; everything is found from entry.js, which jsSource stands in for.
  const jsPath = join(sdk, "entry.js");
  const module = (file) => JSON.stringify(`./${relative(sdk, resolve(file))}`);
  const jsSource = `
    import Plugin from ${module(plugin)};
    import { ${exporter} } from ${module(join(sdk, `${name}.js`))};
    export const ${name} = ${exporter}(Plugin, ${JSON.stringify(manifest)});`;
  const witPath = standIn();
  try {
    const options = { witPath, jsSource, jsPath, moduleRoot: root, world, sync: true, optSize };
    const { component } = await componentize(options);
    writeFileSync(output, withWasi(component));
    console.log(`${output}: ${world}, ${component.length} bytes`);
  } finally {
    rmSync(witPath, { recursive: true, force: true });
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
await build(plugin, manifest, output, small !== undefined);
