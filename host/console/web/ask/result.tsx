// The result behind an answer: its rows in a table that shows only those in view, and its export.
import { Component } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ChartView } from "../chart/chart";
import type { Chart } from "../chart/spec";
import { bytes, number, plural, visible } from "../lib/format";
import { Dialog } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Untrusted } from "../ui/text";
import { Cell, asText, isNumeric } from "./cell";
import { forSpreadsheet, useExport } from "./export";
import { Rows, type Column } from "./rows";

const ROW_PX = 30;
const VIEW_ROWS = 12;
/** Rows above and below those in view. */
const MARGIN = 6;
/** Elements of rows that leave the view are used again for those that come. At least as many as are ever in the page. */
const POOL = VIEW_ROWS + 2 * MARGIN + 1;
/** Browsers show no element that is higher than about this; beyond it, a pixel stands for more than a row's part. */
const MAX_PX = 12_000_000;

interface Props {
  conversation: string;
  message: string;
  /** Whether it is open from the start. */
  open: boolean;
  /** Undefined if the rows have to say it. */
  chart: Chart | null | undefined;
}

export function Result({ open, ...of }: Props) {
  const [shown, setShown] = useState(open);
  return (
    <details class="result" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>Result</summary>
      {shown && <Views {...of} />}
    </details>
  );
}

/** The chart where there is one, with the switch to the table; else the table. */
function Views({ conversation, message, chart: known }: Omit<Props, "open">) {
  const [version, setVersion] = useState(0);
  const redraw = () => setVersion((version) => version + 1);
  const rows = useMemo(() => new Rows(conversation, message, redraw, known), [conversation, message]);
  const [asTable, setAsTable] = useState(false);
  const { chart } = rows;
  useEffect(() => {
    if (chart === undefined) rows.want(0, 1);
  }, [rows]);
  useEffect(() => () => rows.close(), [rows]);

  if (rows.total === null && rows.error) return <Failure error={rows.error} retry={() => rows.retry()} />;
  if (chart === undefined) return <p class="muted" role="status">Loading the rows …</p>;
  return (
    <div class="stack tight">
      {chart && <Switch name={message} asTable={asTable} change={setAsTable} />}
      {chart && !asTable ? <ChartView chart={chart} /> : <Table rows={rows} version={version} conversation={conversation} message={message} />}
    </div>
  );
}

function Switch({ name, asTable, change }: { name: string; asTable: boolean; change: (asTable: boolean) => void }) {
  const choice = (label: string, isTable: boolean) => (
    <label>
      <input type="radio" name={`view-${name}`} checked={asTable === isTable} onChange={() => change(isTable)} />
      {label}
    </label>
  );
  return (
    <fieldset class="switch">
      <legend class="hidden">Show the result as</legend>
      {choice("Chart", false)}
      {choice("Table", true)}
    </fieldset>
  );
}

function Table({ rows, conversation, message }: { rows: Rows; version: number; conversation: string; message: string }) {
  const [top, setTop] = useState(0);
  const [opened, setOpened] = useState<number | null>(null);
  const frame = useRef(0);
  const total = rows.total ?? 0;
  const height = Math.min(total * ROW_PX, MAX_PX);
  const view = Math.min(Math.max(total, 1), VIEW_ROWS);
  const span = Math.max(height - view * ROW_PX, 1);
  const first = height < MAX_PX ? Math.floor(top / ROW_PX) : Math.round((top / span) * Math.max(total - view, 0));
  const from = Math.max(first - MARGIN, 0);
  const until = Math.min(first + view + MARGIN, Math.max(total, view));
  useEffect(() => rows.want(from, until), [rows, from, until]);

  if (rows.total === null) return <p class="muted" role="status">Loading the rows …</p>;
  const widths = columnWidths(rows, from);
  const offset = height < MAX_PX ? from * ROW_PX : top - (first - from) * ROW_PX;
  const indexes = Array.from({ length: Math.max(Math.min(until, total) - from, 0) }, (_, index) => from + index);
  const onScroll = (event: Event) => {
    const { scrollTop } = event.currentTarget as HTMLElement;
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => setTop(scrollTop));
  };
  return (
    <div class="stack tight">
      {rows.error && <Failure error={rows.error} retry={() => rows.retry()} />}
      <div
        class="grid" role="table" tabIndex={0} aria-label="Rows of the result" aria-rowcount={total + 1}
        aria-colcount={rows.columns.length + 1} onScroll={onScroll}
        style={{ maxHeight: `${(VIEW_ROWS + 1.6) * ROW_PX}px`, ...widths }}
      >
        <div role="rowgroup" class="grid-head">
          <div role="row" aria-rowindex={1} class="grid-row">
            <span role="columnheader" class="right">#</span>
            {rows.columns.map((column, index) => <ColumnHead key={index} column={column} first={rows.row(0)?.[index]} />)}
          </div>
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: `${height}px` }}>
          <div class="grid-window" role="presentation" style={{ transform: `translateY(${offset}px)` }}>
            {indexes.map((index) => (
              <Row key={index % POOL} index={index} values={rows.row(index)} columns={rows.columns} open={setOpened} />
            ))}
          </div>
        </div>
      </div>
      <Foot conversation={conversation} message={message} total={total} stable={rows.isStable} />
      {opened !== null && (
        <Dialog title={`Row ${number(opened + 1)}`} close={() => setOpened(null)}>
          {rows.row(opened) === null && rows.error ? (
            <Failure error={rows.error} retry={() => rows.retry()} />
          ) : (
            <RowInFull columns={rows.columns} values={rows.row(opened)} />
          )}
        </Dialog>
      )}
    </div>
  );
}

function ColumnHead({ column, first }: { column: Column; first: unknown }) {
  return (
    <span role="columnheader" class={isNumeric(column, first) ? "right" : undefined} title={visible(column.native_type || column.type)}>
      <Untrusted text={column.name} max={60} /> <TypeOf column={column} />
    </span>
  );
}

/** Of a computed column, some engines know no type. */
function TypeOf({ column }: { column: Column }) {
  if (column.type === "any") return null;
  return <small class="muted"><Untrusted text={column.native_type ? column.native_type.toLowerCase() : column.type} max={40} /></small>;
}

interface RowProps {
  index: number;
  values: unknown[] | null;
  columns: Column[];
  open: (index: number) => void;
}

/** A row that is the same is not looked at again: while one scrolls, that is most of them in each frame. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.index !== this.props.index || next.values !== this.props.values || next.columns !== this.props.columns;
  }

  override render({ index, values, columns, open }: RowProps) {
    return (
      <div role="row" aria-rowindex={index + 2} class="grid-row">
        <span role="rowheader" class="right">
          <button type="button" class="row-number" aria-label={`Row ${index + 1} in full`} onClick={() => open(index)}>{number(index + 1)}</button>
        </span>
        {columns.map((column, place) => (
          <span key={place} role="cell" class={isNumeric(column, values?.[place]) ? "right" : undefined}>
            {values ? <Cell value={values[place]} column={column} isOneLine /> : <span class="muted">…</span>}
          </span>
        ))}
      </div>
    );
  }
}

/** Long values are cut in the table; here they are whole, up to what a page can hold. */
function RowInFull({ columns, values }: { columns: Column[]; values: unknown[] | null }) {
  if (values === null) return <p class="muted" role="status">Loading the row …</p>;
  const most = 200_000;
  /** Characters beyond which a value scrolls by itself, so that the next ones stay near. */
  const long = 2_000;
  return (
    <dl class="row-in-full">
      {columns.map((column, place) => {
        const value = values[place];
        const size = value === null || value === undefined ? 0 : asText(value).length;
        return (
          <div key={place}>
            <dt><Untrusted text={column.name} /> <TypeOf column={column} /></dt>
            <dd {...(size > long && { class: "long", tabIndex: 0 })}><Cell value={value ?? null} column={column} max={most} /></dd>
            {size > most && <dd class="muted">The first {number(most)} of {number(size)} characters. The export has all.</dd>}
          </div>
        );
      })}
    </dl>
  );
}

/** Wide enough for the names and for most values in view; measured in characters, so that nothing has to be laid out. */
const widthCache = new WeakMap<Rows, Widths>();

/** Of each column, and of all: with a sum that is known, no row is measured by what is in it. */
interface Widths {
  "--columns": string;
  "--width": string;
}

function columnWidths(rows: Rows, from: number): Widths {
  const known = widthCache.get(rows);
  if (known) return known;
  // Room that is left is for text: numbers stay near one another.
  const shares = rows.columns.map((column, place) => (isNumeric(column, rows.row(from)?.[place]) ? "0fr" : "1fr"));
  const widths = rows.columns.map((column, place) => {
    let most = column.name.length + (column.native_type || column.type).length + 2;
    for (let index = from; index < from + 50; index++) {
      const value = rows.row(index)?.[place];
      if (value !== null && value !== undefined) most = Math.max(most, Math.min(asText(value).length, 40));
    }
    return Math.min(Math.max(most, 6), 36) + 2;
  });
  const sum = widths.reduce((sum, one) => sum + one, 0);
  // The numbers of the rows are in a smaller font, beside which there is room for the padding.
  const numbers = `calc(${Math.max(number(rows.total ?? 0).length, 3)}ch + 1.2rem)`;
  const made = { "--columns": `${numbers} ${widths.map((one, place) => `minmax(${one}ch, ${shares[place]})`).join(" ")}`, "--width": `calc(${numbers} + ${sum}ch)` };
  if (rows.row(from)) widthCache.set(rows, made);
  return made;
}

function Foot({ conversation, message, total, stable }: { conversation: string; message: string; total: number; stable: boolean }) {
  const job = useExport(conversation, message, total);
  return (
    <div class="row foot">
      <span class="muted grow">
        <span class="count">{plural(total, "row")}</span>{!stable && total > 200 && " · the SQL has no ORDER BY, so pages may repeat or miss rows"}
      </span>
      {job.error && <Failure error={job.error} />}
      {job.received !== null && (
        <>
          <progress aria-label="Export" max={1} value={job.share ?? undefined} />
          <span class="muted" role="status">{bytes(job.received)}</span>
        </>
      )}
      {job.received === null ? (
        <>
          <label class="check" title="Puts an apostrophe before texts that a spreadsheet would run as formulas. Leave it out for programs.">
            <input type="checkbox" checked={forSpreadsheet.value} onChange={(event) => { forSpreadsheet.value = event.currentTarget.checked; }} />
            For a spreadsheet
          </label>
          <button type="button" class="small" onClick={job.start}>Export CSV</button>
        </>
      ) : (
        <button type="button" class="small" onClick={job.stop}>Stop</button>
      )}
    </div>
  );
}
