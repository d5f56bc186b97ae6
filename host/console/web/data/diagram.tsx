// A diagram of tables and their keys.
import { useMemo, useState } from "preact/hooks";
import { visible } from "../lib/format";
import { go, href } from "../lib/router";
import { BOX, layOut, type Box, type Layout, type Line } from "./layout";
import { tableName, type Table } from "./datasource";

const MOST = 500;
const SCALES = [0.4, 0.55, 0.75, 1];

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

export function Diagram({ name, tables }: { name: string; tables: Table[] }) {
  const shown = useMemo(() => tables.filter((table) => !table.missing).slice(0, MOST), [tables]);
  const layout = useMemo(() => layOut(shown), [shown]);
  const [scale, setScale] = useState(shown.length > 60 ? 1 : 2);
  const [marked, setMarked] = useState<string | null>(null);
  const size = SCALES[scale]!;
  return (
    <>
      <div class="row">
        <span class="muted grow">A line leads from a foreign key to the table that it refers to.{tables.length > MOST && ` The first ${MOST} tables are shown.`}</span>
        <button type="button" class="small" aria-label="Smaller" disabled={scale === 0} onClick={() => setScale(scale - 1)}>−</button>
        <button type="button" class="small" aria-label="Larger" disabled={scale === SCALES.length - 1} onClick={() => setScale(scale + 1)}>+</button>
      </div>
      <div class="card flush diagram" tabIndex={0} role="region" aria-label="Diagram of tables">
        <svg width={layout.width * size + 24} height={layout.height * size + 24} viewBox={`-12 -12 ${layout.width + 24 / size} ${layout.height + 24 / size}`} role="group" aria-label={`${shown.length} tables`}>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 1 7 4 0 7" /></marker>
          </defs>
          {layout.lines.map((line) => <Path key={`${line.from}>${line.to}`} line={line} layout={layout} marked={marked} />)}
          {[...layout.boxes.values()].map((box) => (
            <BoxView key={box.id} box={box} open={() => go(href("data", name, "tables", tableName(box.table)))} address={href("data", name, "tables", tableName(box.table))} mark={setMarked} />
          ))}
        </svg>
      </div>
    </>
  );
}

function Path({ line, layout, marked }: { line: Line; layout: Layout; marked: string | null }) {
  const [from, to] = [layout.boxes.get(line.from)!, layout.boxes.get(line.to)!];
  const forward = from.x > to.x;
  const [x1, y1] = [forward ? from.x : from.x + BOX.width, from.y + BOX.head / 2];
  const [x2, y2] = [forward ? to.x + BOX.width : to.x + (from.x === to.x ? BOX.width : 0), to.y + BOX.head / 2];
  const bend = from.x === to.x ? BOX.gapX * 0.8 : (x2 - x1) / 2;
  const isMarked = marked === line.from || marked === line.to;
  return <path class={isMarked ? "line marked" : "line"} marker-end="url(#arrow)" d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 + (from.x === to.x ? bend : -bend)} ${y2} ${x2} ${y2}`} />;
}

function BoxView({ box, open, address, mark }: { box: Box; open: () => void; address: string; mark: (id: string | null) => void }) {
  const onClick = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    open();
  };
  const on = () => mark(box.id);
  const off = () => mark(null);
  return (
    <g transform={`translate(${box.x} ${box.y})`}>
      <a href={address} class="table-box" onClick={onClick} onMouseEnter={on} onMouseLeave={off} onFocus={on} onBlur={off}>
        <rect width={BOX.width} height={box.height} rx="8" />
        <text class="name" x="12" y="20">{cut(visible(box.table.name), 24)}</text>
      </a>
      <g class="inner">
        <path class="divider" d={`M0 ${BOX.head}H${BOX.width}`} />
        {box.columns.map((column, index) => (
          <text key={column.name} x="12" y={BOX.head + 17 + index * BOX.row} class={column.isKey ? "key" : column.refers ? "refers" : undefined}>
            {cut(visible(column.name), 26)}
          </text>
        ))}
        {box.more > 0 && <text class="muted" x="12" y={BOX.head + 17 + box.columns.length * BOX.row}>and {box.more} more</text>}
      </g>
    </g>
  );
}
