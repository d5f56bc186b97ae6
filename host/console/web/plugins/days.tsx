// What a plugin used on each day: a chart of one measure, and a table of all.
import { useState } from "preact/hooks";
import type { Schemas } from "../lib/api";
import { brief, bytes, milliseconds, number } from "../lib/format";
import { LINES, meanMs, sum, tokensOf, type Total } from "../lib/plugin_usage";
import { Bars, everyDay } from "../ui/bars";

interface Measure {
  title: string;
  of: (total: Total) => number;
  show: (value: number) => string;
}

const MEASURES = {
  calls: { title: "Calls", of: (one) => one.calls, show: number },
  faults: { title: "Faults", of: (one) => one.faults, show: number },
  mean: { title: "Mean time", of: meanMs, show: milliseconds },
  rows: { title: "Rows", of: (one) => one.rows, show: brief },
  bytes: { title: "Results", of: (one) => one.bytes, show: bytes },
  tokens: { title: "Tokens", of: tokensOf, show: brief },
} satisfies Record<string, Measure>;
type Name = keyof typeof MEASURES;
const NAMES = Object.keys(MEASURES) as Name[];
const NONE = sum([]);

export function Days({ usage }: { usage: Schemas["PluginUsage"] }) {
  const [name, setName] = useState<Name>("calls");
  const { title, of, show }: Measure = MEASURES[name];
  const lines = Map.groupBy(usage.days, (one) => one.day);
  const totals = new Map([...lines].map(([day, all]) => [day, sum(all.map((one) => one.figures))]));
  const bars = everyDay(usage.from, usage.until).map((day) => {
    const total = totals.get(day) ?? NONE;
    return { day, value: of(total), ...(name === "calls" && { marked: total.faults }) };
  });
  const oldest = usage.days[usage.days.length - 1]?.day;
  return (
    <section class="stack" aria-label="Usage by day">
      <div class="row">
        <h2 class="grow">By day</h2>
        <label class="row"><span class="muted">Measure</span>
          <select class="auto" value={name} onChange={(event) => setName(event.currentTarget.value as Name)}>
            {NAMES.map((one) => <option key={one} value={one}>{MEASURES[one].title}</option>)}
          </select>
        </label>
      </div>
      {usage.days.length === 0 ? <p class="muted">It was not called between {usage.from} and {usage.until} (UTC).</p> : (
        <>
          {usage.has_more && <p class="notice" role="note">Only the newest {number(LINES)} lines are counted: days before {oldest} are missing, and {oldest} may be incomplete.</p>}
          <div class="card"><Bars title={title} bars={bars} show={show} marks={name === "calls" ? "faults" : undefined} hasTable={false} /></div>
          <div class="card flush scroll" tabIndex={0} role="region" aria-label="Figures by day">
            <table>
              <thead><tr><th scope="col">Day (UTC)</th>{NAMES.map((one) => <th key={one} scope="col" class="right">{MEASURES[one].title}</th>)}</tr></thead>
              <tbody>
                {[...totals].map(([day, total]) => (
                  <tr key={day}>
                    <th scope="row">{day}</th>
                    {NAMES.map((one) => <td key={one} class="right">{MEASURES[one].show(MEASURES[one].of(total))}</td>)}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
