// Writes the types of the API and the role that each operation needs, from the server's own document:
// `npm run generate -- http://127.0.0.1:8080`. With `--check`, says whether they are as the server says, and writes nothing.
import { readFileSync, writeFileSync } from "node:fs";
import openapi, { astToString } from "openapi-typescript";

const [address, mode] = process.argv.slice(2);
if (!address) {
  console.error("name a running server: npm run generate -- http://127.0.0.1:8080");
  process.exit(2);
}
const document = await (await fetch(new URL("/api/v1/openapi.json", address))).json();
const methods = ["get", "post", "put", "patch", "delete"];
const operations = Object.values(document.paths).flatMap((item) => methods.flatMap((method) => item[method] ?? []));
const roles = operations.map((one) => `  ${one.operationId}: "${one["x-mindhost-role"] ?? "none"}",`);
const beyond = operations.filter((one) => one["x-mindhost-all-minds"]).map((one) => `  "${one.operationId}",`);

/** Descriptions are for people, who have /docs; the types stay small without them, and without failures and examples. */
function slim(node) {
  if (Array.isArray(node)) return node.map(slim);
  if (node === null || typeof node !== "object") return node;
  const dropped = new Set(["description", "summary", "example", "examples", "links", "tags"]);
  const isNamed = (key, value) => typeof value === "object" && !Array.isArray(value) && key !== "links" && key !== "examples";
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => !dropped.has(key) || isNamed(key, value))
      .filter(([key]) => !/^[45]\d\d$/.test(key))
      .map(([key, value]) => [key, slim(value)]),
  );
}

// The document as it is on each path holds the same operations for all clients; the console uses those below /api/v1.
const head = "// Written by `npm run generate` from the server's document. Not by hand.\n";
const types = astToString(await openapi(slim(document)));
const files = {
  "web/api/schema.d.ts": `${head}\n${types}`,
  "web/api/roles.ts": `${head}
/** The least role of a key that may call an operation. */
export const ROLES = {
${roles.join("\n")}
} as const;

/** Operations that refuse keys which are limited to some Minds. */
export const BEYOND_MINDS: ReadonlySet<string> = new Set([
${beyond.join("\n")}
]);
`,
};
for (const [name, text] of Object.entries(files)) {
  const path = new URL(`../${name}`, import.meta.url);
  if (mode !== "--check") {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`${name} is not what the server says; run: npm run generate -- ${address}`);
    process.exitCode = 1;
  }
}
