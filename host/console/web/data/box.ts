// What a diagram is made of.
import type { Table } from "./addresses";

export const BOX = { width: 200, row: 20, head: 30, gapX: 70, gapY: 26 };
/** How much wider than high a diagram shall be. */
export const RATIO = 1.6;

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
