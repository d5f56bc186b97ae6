// Moves what Vite built into `dist`, with compressed forms and a list, as `build.rs` reads them. `dist` changes only when a
// file does, so that Cargo builds nothing again for nothing. Says how large the first load is, and fails beyond its bar.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const FIRST_LOAD = 200_000;
const root = fileURLToPath(new URL("..", import.meta.url));
const [build, dist] = [join(root, "build"), join(root, "dist")];
const files = readdirSync(build, { recursive: true }).filter((name) => statSync(join(build, name)).isFile()).sort();

const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
const list = files.map((name) => `${name}\t${createHash("sha256").update(readFileSync(join(build, name))).digest("hex").slice(0, 32)}\n`).join("");
const known = join(dist, "files.txt");
if (existsSync(known) && readFileSync(known, "utf8") === list) {
  console.log("console: unchanged");
} else {
  for (const name of readdirSync(dist)) if (name !== ".gitkeep") rmSync(join(dist, name), { recursive: true });
  for (const name of files) {
    const bytes = readFileSync(join(build, name));
    mkdirSync(dirname(join(dist, name)), { recursive: true });
    writeFileSync(join(dist, name), bytes);
    writeFileSync(join(dist, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    writeFileSync(join(dist, `${name}.br`), brotli(bytes));
  }
  writeFileSync(known, list);
}

// What the page names itself is the first load; the rest is loaded when it is needed.
const page = readFileSync(join(build, "index.html"), "utf8");
const first = ["index.html", ...files.filter((name) => page.includes(`/console/${name}`))];
const size = first.reduce((sum, name) => sum + statSync(join(dist, `${name}.gz`)).size, 0);
console.log(`console: first load ${(size / 1000).toFixed(1)} kB with gzip; bar ${FIRST_LOAD / 1000} kB`);
if (size > FIRST_LOAD) process.exit(1);
