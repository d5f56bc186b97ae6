// A diagram of tables and their keys.
import { useMemo, useState } from "preact/hooks";
import { number, plural } from "../lib/format";
import { Link, go, href } from "../lib/router";
import { Untrusted } from "../ui/text";
import { tableName, type Table } from "./addresses";
import { BOX, type Box } from "./box";
import { BoxView, LineView, type Emphasis } from "./diagram_parts";
import { layOut, type Layout } from "./layout";
import { MARGIN, useViewport } from "./viewport";

const MOST = 500;
const STEP = 1.35;
/** From this scale on names can be read. */
const LEGIBLE = 0.55;

export function Diagram({ name, tables }: { name: string; tables: Table[] }) {
  const known = useMemo(() => tables.filter((table) => !table.missing), [tables]);
  const layout = useMemo(() => layOut(known.slice(0, MOST)), [known]);
  const view = useViewport(layout, known.length > 60 ? LEGIBLE : 0.75);
  const [pointed, setPointed] = useState<string | null>(null);
  const [found, setFound] = useState<string | null>(null);
  const shown = layout.boxes.size;
  const reveal = (box: Box | null) => {
    setFound(box?.id ?? null);
    if (box) view.reveal(box.x + BOX.width / 2, box.y + box.height / 2, LEGIBLE);
  };
  return (
    <>
      <p class="muted">
        {plural(shown, "table")}{known.length > shown && ` of ${number(known.length)}`}, {plural(layout.lines.length, "line")}. A line leads from a
        foreign key to the table that it refers to.<span class="by-mouse"> Drag to move, Ctrl and the wheel to zoom.</span>
      </p>
      <div class="row">
        <Finder name={name} layout={layout} beyond={known.slice(MOST)} reveal={reveal} />
        <span class="row">
          <button type="button" class="small" aria-label="Smaller" onClick={() => view.zoom(1 / STEP)}>−</button>
          <button type="button" class="small" aria-label="Larger" onClick={() => view.zoom(STEP)}>+</button>
          <button type="button" class="small" onClick={view.fit}>Show all</button>
        </span>
      </div>
      <div class="card flush diagram" tabIndex={0} role="region" aria-label="Diagram of tables" ref={view.frame} {...view.events}>
        <Drawing name={name} layout={layout} scale={view.scale} active={pointed ?? found} mark={setPointed} />
      </div>
    </>
  );
}

interface FinderProps {
  name: string;
  layout: Layout;
  /** Tables that are not drawn. */
  beyond: Table[];
  reveal: (box: Box | null) => void;
}

/** Finds tables by name. Enter goes to the next one. */
function Finder({ name, layout, beyond, reveal }: FinderProps) {
  const [text, setText] = useState("");
  const [turn, setTurn] = useState(0);
  const find = (text: string): Box[] => {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return [];
    const place = (box: Box) => box.table.name.toLowerCase().indexOf(wanted);
    const all = [...layout.boxes.values()].filter((box) => place(box) >= 0 || box.id.toLowerCase().includes(wanted));
    return all.sort((a, b) => Number(place(a) !== 0) - Number(place(b) !== 0) || a.table.name.length - b.table.name.length || a.id.localeCompare(b.id));
  };
  const matches = useMemo(() => find(text), [text, layout]);
  const current = matches[turn % Math.max(matches.length, 1)] ?? null;
  const hidden = current || text.trim() === "" ? null : (beyond.find((one) => tableName(one).toLowerCase().includes(text.trim().toLowerCase())) ?? null);
  const write = (text: string) => {
    setText(text);
    setTurn(0);
    reveal(find(text)[0] ?? null);
  };
  const next = (event: Event) => {
    event.preventDefault();
    if (matches.length === 0) return;
    const following = (turn + 1) % matches.length;
    setTurn(following);
    reveal(matches[following]!);
  };
  return (
    <form class="row fill" role="search" onSubmit={next}>
      <input type="search" class="finder" aria-label="Find a table" placeholder="Find a table" value={text} onInput={(event) => write(event.currentTarget.value)} />
      {matches.length > 1 && <button type="submit" class="small">Next</button>}
      <span class="muted" role="status">
        {text.trim() !== "" && (current ? <>{number(turn + 1)} of {plural(matches.length, "match", "matches")}</> : !hidden && "No table has such a name")}
        {hidden && "Not among the tables that are drawn:"}
      </span>
      {hidden && <Link to={href("data", name, "tables", tableName(hidden))}><Untrusted text={hidden.name} max={40} /></Link>}
      {current && <Link to={href("data", name, "tables", current.id)}><Untrusted text={current.table.name} max={40} /></Link>}
    </form>
  );
}

interface DrawingProps {
  name: string;
  layout: Layout;
  scale: number;
  /** The table that is pointed at or was found: it and its neighbours stand out. */
  active: string | null;
  mark: (id: string | null) => void;
}

function Drawing({ name, layout, scale, active, mark }: DrawingProps) {
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  // The same elements as before are not compared: scale and place change without them.
  const parts = useMemo(() => {
    const near = active === null ? null : layout.neighbours.get(active);
    const ofLine = (from: string, to: string): Emphasis => (near ? (from === active || to === active ? "marked" : "dim") : "none");
    const ofBox = (id: string): Emphasis => (near ? (id === active ? "marked" : near.has(id) ? "none" : "dim") : "none");
    return (
      <>
        {layout.lines.map(({ from, to }) => <LineView key={`${from}>${to}`} from={layout.boxes.get(from)!} to={layout.boxes.get(to)!} emphasis={ofLine(from, to)} />)}
        {[...layout.boxes.values()].map((box) => (
          <BoxView key={box.id} box={box} emphasis={ofBox(box.id)} address={href("data", name, "tables", tableName(box.table))} open={go} mark={mark} />
        ))}
      </>
    );
  }, [layout, name, active]);
  return (
    <svg width={width * scale} height={height * scale} viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`} role="group" aria-label={plural(layout.boxes.size, "table")}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 1 7 4 0 7" /></marker>
      </defs>
      {parts}
    </svg>
  );
}
