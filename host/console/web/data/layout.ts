// Where the tables of a diagram stand: tables that refer to each other form a block, and the blocks fill a page that is
// somewhat wider than high.
import { tableName, type Table } from "./addresses";
import { arrange } from "./arrange";
import { BOX, type Box, type Line } from "./box";
import { pack } from "./pack";

/** Columns that a box shows at most: keys first. */
const COLUMNS = 8;

export interface Layout {
  boxes: Map<string, Box>;
  lines: Line[];
  /** By id, the tables that a table refers to and that refer to it. */
  neighbours: Map<string, Set<string>>;
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

/** Lines between the boxes, one for each pair of tables. */
function linesOf(tables: Table[], boxes: Map<string, Box>): Line[] {
  const pairs = new Map<string, Line>();
  for (const table of tables) {
    for (const key of table.foreign_key_constraints) {
      const [from, to] = [tableName(table), target(key)];
      if (from !== to && boxes.has(to)) pairs.set(`${from}\n${to}`, { from, to });
    }
  }
  return [...pairs.values()];
}

function neighboursOf(boxes: Map<string, Box>, lines: Line[]): Map<string, Set<string>> {
  const found = new Map([...boxes.keys()].map((id) => [id, new Set<string>()]));
  for (const { from, to } of lines) {
    found.get(from)!.add(to);
    found.get(to)!.add(from);
  }
  return found;
}

/** Sets of tables between which there is a way along lines. */
function components(boxes: Map<string, Box>, neighbours: Map<string, Set<string>>): Box[][] {
  const seen = new Set<string>();
  const found: Box[][] = [];
  for (const start of boxes.keys()) {
    if (seen.has(start)) continue;
    seen.add(start);
    const reached = [start];
    for (const id of reached) {
      for (const other of neighbours.get(id)!) {
        if (seen.has(other)) continue;
        seen.add(other);
        reached.push(other);
      }
    }
    found.push(reached.map((id) => boxes.get(id)!));
  }
  return found;
}

export function layOut(tables: Table[]): Layout {
  const boxes = new Map(tables.map((table) => [tableName(table), box(table)]));
  const lines = linesOf(tables, boxes);
  const neighbours = neighboursOf(boxes, lines);
  const blocks = components(boxes, neighbours).map((one) => ({ boxes: one, ...arrange(one, lines, neighbours) }));
  return { boxes, lines, neighbours, ...pack(blocks) };
}
