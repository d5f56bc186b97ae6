// Source maps (version 3) in a form that is read one line at a time, without state: an engine that interprets is slow.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * `{sources, lines}` as trace.js reads it, of the text of a source map. Of a source that is not the author's, only where
 * a line begins is kept: most of a component is the SDK.
 */
export function unpacked(text, isOwn) {
  const { sources, mappings } = JSON.parse(text);
  let [source, line, column] = [0, 0, 0];
  const lines = mappings.split(";").map((group) => {
    let own = 0;
    let isBegun = false;
    const segments = (group === "" ? [] : group.split(",")).flatMap((segment) => {
      const [step, ...place] = decoded(segment);
      own += step;
      if (place.length < 3) return [];
      [source, line, column] = [source + place[0], line + place[1], column + place[2]];
      if (isBegun && !isOwn(sources[source])) return [];
      isBegun = true;
      return [[own + 1, source, line + 1, column + 1].join(",")];
    });
    return segments.join(" ");
  });
  return { sources, lines };
}

/** The numbers of a segment: base 64, five bits a digit, the sign in the lowest bit. */
function decoded(segment) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
