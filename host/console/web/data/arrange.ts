// Places the tables of one block: those that others refer to on the left, and each near the tables that it has lines to.
import { BOX, RATIO, type Box, type Line } from "./box";

/** How often the order in the columns is made better. */
const SWEEPS = 6;
/** A block may be so much wider than wanted before it goes on below. */
const SLACK = 1.5;

const heightOf = (column: Box[]) => column.reduce((sum, one) => sum + one.height + BOX.gapY, -BOX.gapY);

/** The longest way to a table that refers to none; a circle ends where it began. */
function depths(boxes: Box[], lines: Line[]): Map<string, number> {
  const next = new Map<string, string[]>(boxes.map((one) => [one.id, []]));
  for (const { from, to } of lines) next.get(from)?.push(to);
  const known = new Map<string, number>();
  const under = new Set<string>();
  const depth = (id: string): number => {
    const found = known.get(id);
    if (found !== undefined) return found;
    under.add(id);
    const below = next.get(id)!.filter((one) => !under.has(one));
    const own = below.length === 0 ? 0 : 1 + Math.max(...below.map(depth));
    under.delete(id);
    known.set(id, own);
    return own;
  };
  for (const one of boxes) depth(one.id);
  return known;
}

/** Stacks a column, its middle at `middle`. */
function stack(column: Box[], middle: number): void {
  let y = middle - heightOf(column) / 2;
  for (const one of column) {
    one.y = y;
    y += one.height + BOX.gapY;
  }
}

/** Sorts each layer by where the neighbours of its tables are, which shortens the lines, again and again. */
function order(layers: Box[][], neighbours: Map<string, Set<string>>): void {
  const known = new Map(layers.flat().map((one) => [one.id, one]));
  const middle = (one: Box) => one.y + one.height / 2;
  const wanted = (one: Box) => {
    const others = [...neighbours.get(one.id)!].map((id) => known.get(id)!);
    return others.length === 0 ? middle(one) : others.reduce((sum, other) => sum + middle(other), 0) / others.length;
  };
  for (const layer of layers) stack(layer.sort((a, b) => a.id.localeCompare(b.id)), 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const places = new Map(layer.map((one) => [one, wanted(one)]));
      stack(layer.sort((a, b) => places.get(a)! - places.get(b)!), 0);
    }
  }
}

/** A layer as columns that are not higher than wanted. Neighbours in the order stay at the same height. */
function split(layer: Box[], height: number): Box[][] {
  const count = Math.max(Math.ceil(heightOf(layer) / height), 1);
  const columns = Array.from({ length: count }, (_, index) => layer.filter((__, place) => place % count === index));
  return columns.filter((column) => column.length > 0);
}

/** Places the boxes from 0, 0 on, and gives the size of the block. */
export function arrange(boxes: Box[], lines: Line[], neighbours: Map<string, Set<string>>): { width: number; height: number } {
  const depth = depths(boxes, lines);
  const layers = [...Map.groupBy(boxes, (one) => depth.get(one.id)!).entries()].sort(([a], [b]) => a - b).map(([, layer]) => layer);
  order(layers, neighbours);
  const area = boxes.reduce((sum, one) => sum + (BOX.width + BOX.gapX) * (one.height + BOX.gapY), 0);
  const height = Math.max(Math.sqrt(area / RATIO), ...boxes.map((one) => one.height));
  const columns = layers.flatMap((layer) => split(layer, height));
  const most = Math.max(Math.round((height * RATIO * SLACK) / (BOX.width + BOX.gapX)), 3);
  let [y, width] = [0, 0];
  // Long chains go on below, as text does.
  for (let first = 0; first < columns.length; first += most) {
    const band = columns.slice(first, first + most);
    const high = Math.max(...band.map(heightOf));
    for (const [index, column] of band.entries()) {
      stack(column, y + high / 2);
      for (const one of column) one.x = index * (BOX.width + BOX.gapX);
    }
    y += high + BOX.gapY;
    width = Math.max(width, band.length * (BOX.width + BOX.gapX) - BOX.gapX);
  }
  return { width, height: y - BOX.gapY };
}
