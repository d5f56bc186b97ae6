// Charts compiled by vega-lite and drawn by vega: <a file with one JSON line {name, spec} for each>
//
// A specification must be compiled without a warning, load nothing, and draw as many bars and points as the test says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as vega from "vega";
import * as vegaLite from "vega-lite";

const refuse = (what) => () => {
  throw new Error(`a chart must not load anything: ${what}`);
};
const loader = { load: refuse("load"), sanitize: refuse("sanitize"), http: refuse("http"), file: refuse("file") };

// The bars and points, which axes and legends have none of.
const drawn = (svg) => (svg.match(/role="graphics-symbol" aria-roledescription="(bar|point)"/g) ?? []).length;

const render = async ({ name, spec, marks }) => {
  const warnings = [];
  const note = (...words) => warnings.push(words.join(" "));
  const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
  const compiled = vegaLite.compile(spec, { logger });
  const view = new vega.View(vega.parse(compiled.spec), { renderer: "none", loader, logger });
  const svg = await view.toSVG();
  view.finalize();
  assert.deepEqual(warnings, [], name);
  assert.match(svg, /^<svg /, name);
  const tags = svg.match(/<[^>]*>/g);
  for (const tag of tags) {
    const bare = tag.replace(/"[^"]*"/g, '""');
    assert.match(bare, /^<\/?(svg|g|path|rect|line|text|defs|clipPath|linearGradient|stop)[ />]/, name);
    assert.doesNotMatch(bare, / (xlink:)?href=| on[a-z]+=/, name);
    assert.doesNotMatch(tag, / (d|transform|x|y|x2|y2|width|height)="[^"]*(NaN|Infinity)/, `${name}: ${tag}`);
  }
  if (marks !== undefined) assert.equal(drawn(svg), marks, `${name}: ${svg}`);
};

const lines = readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean);
assert.ok(lines.length > 0, "no charts");
for (const line of lines) {
  const chart = JSON.parse(line);
  await render(chart).catch((error) => {
    throw new Error(`${line}\n${error.stack}`);
  });
}
console.log("ok");
