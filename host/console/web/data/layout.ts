// Where the tables of a diagram stand: each below those that it refers to, so that most lines run one way.
import { tableName, type Table } from "./datasource";

export const BOX = { width: 200, row: 20, head: 30, gapX: 70, gapY: 26 };
/** Columns that a box shows at most: keys first. */
const COLUMNS = 8;

export interface Box {
  table: Table;
  id: string;
  columns: { name: string; isKey: boolean; refers: boolean }[];
  more: number;
  x: number;
  y: number;
  height: number;
}

export interface Line {
  from: string;
  to: string;
}

export interface Layout {
  boxes: Map<string, Box>;
  lines: Line[];
  width: number;
  height: number;
}

const target = (key: Table["foreign_key_constraints"][number]) =>
  key.referenced_schema ? `${key.referenced_schema}.${key.referenced_table}` : key.referenced_table;

function box(table: Table): Box {
  const primary = new Set(table.primary_key_constraints.map((key) => key.column_name));
  const foreign = new Set(table.foreign_key_constraints.map((key) => key.column_name));
  const all = table.columns.map(({ name }) => ({ name, isKey: primary.has(name), refers: foreign.has(name) }));
  all.sort((a, b) => Number(b.isKey) - Number(a.isKey) || Number(b.refers) - Number(a.refers));
  const columns = all.slice(0, COLUMNS);
  const more = all.length - columns.length;
  const height = BOX.head + (columns.length + (more > 0 ? 1 : 0)) * BOX.row + 8;
  return { table, id: tableName(table), columns, more, x: 0, y: 0, height };
}

/** The longest way to a table that refers to none; a circle ends where it began. */
function depths(boxes: Map<string, Box>, lines: Line[]): Map<string, number> {
  const next = new Map<string, string[]>();
  for (const { from, to } of lines) next.set(from, [...(next.get(from) ?? []), to]);
  const known = new Map<string, number>();
  const under = new Set<string>();
  const depth = (id: string): number => {
    const found = known.get(id);
    if (found !== undefined) return found;
    under.add(id);
    const below = (next.get(id) ?? []).filter((one) => !under.has(one));
    const own = below.length === 0 ? 0 : 1 + Math.max(...below.map(depth));
    under.delete(id);
    known.set(id, own);
    return own;
  };
  for (const id of boxes.keys()) depth(id);
  return known;
}

export function layOut(tables: Table[]): Layout {
  const boxes = new Map(tables.map((table) => [tableName(table), box(table)]));
  const pairs = new Map<string, Line>();
  for (const table of tables) {
    for (const key of table.foreign_key_constraints) {
      const [from, to] = [tableName(table), target(key)];
      if (from !== to && boxes.has(to)) pairs.set(`${from}\n${to}`, { from, to });
    }
  }
  const lines = [...pairs.values()];
  const linked = new Set(lines.flatMap((line) => [line.from, line.to]));
  const depth = depths(boxes, lines);
  const columns: Box[][] = [];
  for (const one of boxes.values()) {
    if (linked.has(one.id)) (columns[depth.get(one.id) ?? 0] ??= []).push(one);
  }
  let [x, height] = [0, 0];
  for (const column of columns) {
    if (!column) continue;
    // Beside what they refer to, so that lines are short.
    const middle = (one: Box) => {
      const ends = lines.filter((line) => line.from === one.id).map((line) => boxes.get(line.to)!);
      return ends.length === 0 ? Infinity : ends.reduce((sum, end) => sum + end.y + end.height / 2, 0) / ends.length;
    };
    column.sort((a, b) => middle(a) - middle(b) || a.id.localeCompare(b.id));
    let y = 0;
    for (const one of column) {
      Object.assign(one, { x, y });
      y += one.height + BOX.gapY;
    }
    height = Math.max(height, y);
    x += BOX.width + BOX.gapX;
  }
  // Those without a line stand below, side by side.
  const alone = [...boxes.values()].filter((one) => !linked.has(one.id));
  const perRow = Math.max(Math.round(x / (BOX.width + BOX.gapX)), 4);
  for (let index = 0; index < alone.length; index += perRow) {
    const row = alone.slice(index, index + perRow);
    row.forEach((one, place) => Object.assign(one, { x: place * (BOX.width + BOX.gapX), y: height }));
    height += Math.max(...row.map((one) => one.height)) + BOX.gapY;
  }
  const width = Math.max(...[...boxes.values()].map((one) => one.x + BOX.width), BOX.width);
  return { boxes, lines, width, height: Math.max(height - BOX.gapY, BOX.head) };
}
