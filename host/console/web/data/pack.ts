// Puts blocks of boxes side by side and below each other, with little space between them.
import { BOX, RATIO, type Box } from "./box";

/** Boxes that keep their places towards each other. */
export interface Block {
  boxes: Box[];
  width: number;
  height: number;
}

/** A part of the lower edge of what is placed. */
interface Edge {
  x: number;
  y: number;
  width: number;
}

/** The highest place where something so wide has room: the index of the edge that it begins at, and its y. */
function place(edges: Edge[], width: number): { index: number; y: number } {
  let best = { index: 0, y: Infinity };
  for (const index of edges.keys()) {
    let [y, room] = [0, 0];
    for (let next = index; next < edges.length && room < width; next++) {
      y = Math.max(y, edges[next]!.y);
      room += edges[next]!.width;
    }
    if (room >= width && y < best.y) best = { index, y };
  }
  return best;
}

/** Lowers the edge where something was placed. */
function lower(edges: Edge[], index: number, width: number, y: number): void {
  const { x } = edges[index]!;
  let left = width;
  let last = index;
  while (last < edges.length && left >= edges[last]!.width) {
    left -= edges[last]!.width;
    last++;
  }
  const rest = edges[last];
  if (rest && left > 0) edges[last] = { x: rest.x + left, y: rest.y, width: rest.width - left };
  edges.splice(index, last - index, { x, y, width });
}

/** Moves the boxes of each block to its place, high blocks first. Gives the size of it all. */
export function pack(blocks: Block[]): { width: number; height: number } {
  const area = blocks.reduce((sum, one) => sum + (one.width + BOX.gapX) * (one.height + BOX.gapY), 0);
  const total = Math.ceil(Math.max(Math.sqrt(area * RATIO), ...blocks.map((one) => one.width + BOX.gapX)));
  const edges: Edge[] = [{ x: 0, y: 0, width: total }];
  const size = { width: BOX.width, height: BOX.head };
  for (const block of [...blocks].sort((a, b) => b.height - a.height || b.width - a.width)) {
    const width = block.width + BOX.gapX;
    const { index, y } = place(edges, width);
    const { x } = edges[index]!;
    for (const one of block.boxes) {
      one.x += x;
      one.y += y;
    }
    size.width = Math.max(size.width, x + block.width);
    size.height = Math.max(size.height, y + block.height);
    lower(edges, index, width, y + block.height + BOX.gapY);
  }
  return size;
}
