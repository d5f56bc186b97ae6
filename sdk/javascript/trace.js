// Where an error comes from, in the files that the author wrote: stack traces through a source map.

/** More frames than this tell nothing new. */
const FRAMES = 16;
const CAUSES = 3;
const FRAME = /^\s*at (?:(.*?) \()?([^()\s]+?):(\d+)(?::(\d+))?\)?$/;

/** An error with its trace and its causes, one line each: `    at scan (plugin.js:12:7)`. */
export function traced(error, map = globalThis[MAP]) {
  const lines = [];
  let cause = error;
  for (let depth = 0; depth < CAUSES && cause !== undefined && cause !== null; depth++) {
    lines.push(...(depth > 0 ? ["caused by:"] : []), headline(cause), ...frames(cause.stack, map));
    cause = cause.cause;
  }
  return lines;
}

/**
 * Where build.mjs leaves the map of a component: `{sources, lines}`, with one text for each line of the bundle, of
 * segments `column,source,line,column`.
 */
export const MAP = "mindhost:map";

function headline(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** The lines of a stack that are frames, with the author's files, without the SDK's below the author's. */
export function frames(stack, map) {
  const found = String(stack ?? "").split("\n").map((line) => FRAME.exec(line)).filter(Boolean);
  const places = found.slice(0, 4 * FRAMES).map(([, name, file, line, column]) => {
    const place = map && original(map, Number(line), Number(column ?? 1));
    return { name, file: place?.file ?? file, line: place?.line ?? line, column: place?.column ?? column };
  });
  const isOwn = ({ file }) => !/(^|\/)mindhost(-sdk)?\//.test(file) && !file.startsWith("node:");
  const last = places.findLastIndex(isOwn);
  return places.slice(0, Math.min(last < 0 ? FRAMES : last + 1, FRAMES)).map(({ name, file, line, column }) => {
    const place = column === undefined ? `${file}:${line}` : `${file}:${line}:${column}`;
    return name && name !== "<anonymous>" ? `    at ${name} (${place})` : `    at ${place}`;
  });
}

/** The place that a line and column of the bundle, from 1, came from; null where the map has none. */
export function original({ sources, lines }, line, column) {
  let best = null;
  // Segments are in order: the last one that begins at or before the column.
  for (const segment of (lines[line - 1] ?? "").split(" ")) {
    const [own, source, sourceLine, sourceColumn] = segment.split(",").map(Number);
    if (!(source >= 0) || (best !== null && own > column)) break;
    best = { file: sources[source], line: sourceLine, column: sourceColumn };
  }
  return best;
}
