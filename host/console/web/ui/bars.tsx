// A bar for each day, with a part of it marked where that says something.
import { shortDay } from "../lib/format";
import { PLOT_HEIGHT, PLOT_WIDTH, Plot, ticks } from "./plot";

export interface Bar {
  /** A day of the API, in UTC: `2026-01-15`. */
  day: string;
  value: number;
  /** The part of the value that is marked. */
  marked?: number;
}

interface BarsProps {
  title: string;
  bars: Bar[];
  show: (value: number) => string;
  /** What the marked parts are; without it none is marked. */
  marks?: string | undefined;
  /** Whether it has a table of its values; one that the page has is enough. */
  hasTable?: boolean;
}

const DAY_MS = 86_400_000;
/** Share of the room of a day that its bar takes. */
const FILLED = 0.76;

/** All days from one to another. */
export function everyDay(from: string, until: string): string[] {
  const [first, last] = [Date.parse(from), Date.parse(until)];
  return Array.from({ length: Math.round((last - first) / DAY_MS) + 1 }, (_, index) => new Date(first + index * DAY_MS).toISOString().slice(0, 10));
}

export function Bars({ title, bars, show, marks, hasTable = true }: BarsProps) {
  const most = bars.reduce((best, one) => (one.value > best.value ? one : best), bars[0]!);
  const values = ticks(most.value, 2);
  const top = values[2];
  const room = PLOT_WIDTH / bars.length;
  const height = (value: number) => (value / top) * PLOT_HEIGHT;
  const said = ({ day, value, marked }: Bar) => `${shortDay(day)}: ${show(value)}${marks && marked ? `, ${marks} ${show(marked)}` : ""}`;
  const days = [bars[0]!, bars[Math.floor(bars.length / 2)]!, bars[bars.length - 1]!].map((one) => shortDay(one.day));
  return (
    <figure class="bars">
      <figcaption>
        <strong>{title}</strong>
        {marks && <span class="swatch bad">{marks}</span>}
      </figcaption>
      <Plot label={`${title} by day, from ${days[0]} to ${days[2]}; the most on ${said(most)}`} values={values.map(show)} times={days.map((text) => ({ text }))}>
        {bars.map((one, index) => {
          const x = (index + (1 - FILLED) / 2) * room;
          const [all, marked] = [height(one.value), height(one.marked ?? 0)];
          return (
            <g key={one.day}>
              <title>{said(one)}</title>
              <rect class="room" x={index * room} y={0} width={room} height={PLOT_HEIGHT} />
              <rect class="bar" x={x} y={PLOT_HEIGHT - all} width={room * FILLED} height={all} />
              {marked > 0 && <rect class="bar bad" x={x} y={PLOT_HEIGHT - marked} width={room * FILLED} height={marked} />}
            </g>
          );
        })}
      </Plot>
      {hasTable && <Values title={title} bars={bars} show={show} marks={marks} />}
    </figure>
  );
}

/** The days with a value, newest first. */
function Values({ title, bars, show, marks }: BarsProps) {
  return (
    <details class="more">
      <summary>Values of the chart</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title} by day`}>
        <table>
          <thead><tr><th scope="col">Day (UTC)</th><th scope="col" class="right">{title}</th>{marks && <th scope="col" class="right">{marks}</th>}</tr></thead>
          <tbody>
            {bars.filter((one) => one.value > 0).reverse().map((one) => (
              <tr key={one.day}>
                <th scope="row">{one.day}</th>
                <td class="right">{show(one.value)}</td>
                {marks && <td class="right">{show(one.marked ?? 0)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
