// What was used in some days: a chart and totals over the days, and a table by key, Mind, day or plugin.
import type { Schemas } from "../lib/api";
import { useState } from "preact/hooks";
import { brief, bytes, number } from "../lib/format";
import { useLoad } from "../lib/load";
import { firstDay } from "../lib/plugin_usage";
import { chosen, go, query } from "../lib/router";
import { Bars, everyDay } from "../ui/bars";
import { Empty, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { GROUPS, byPlugin, groups, rowsOf, usageBy, type Group, type Row, type Rows } from "./usage_lines";

const MEASURES = {
  requests: { title: "Requests", show: number },
  rows: { title: "Rows", show: brief },
  bytes: { title: "Results", show: bytes },
  input_tokens: { title: "Tokens read", show: brief },
  output_tokens: { title: "Tokens written", show: brief },
};
type Measure = keyof typeof MEASURES;
const NAMES = Object.keys(MEASURES) as Measure[];
const PERIODS = [7, 30, 90];

export function Usage() {
  const period = PERIODS.find((one) => `${one}` === query.value.get("days")) ?? 30;
  const from = firstDay(period);
  const loaded = useLoad((signal) => usageBy("day", from, signal), [from]);
  return (
    <>
      <div class="row">
        <span class="muted grow">Days are in UTC.</span>
        <label class="row"><span class="muted">Period</span>
          <select class="auto" value={period} onChange={(event) => go(chosen({ days: event.currentTarget.value }), true)}>
            {PERIODS.map((one) => <option key={one} value={one}>{number(one)} days</option>)}
          </select>
        </label>
      </div>
      <Load of={loaded}>
        {(days) => days.data.length === 0 ? <Empty title={`Nothing was used in the last ${number(period)} days`} /> : <><Total days={days} /><Grouped days={days} from={from} /></>}
      </Load>
    </>
  );
}

/** The totals, and a chart of one of them. */
function Total({ days }: { days: Schemas["Usage"] }) {
  const [measure, setMeasure] = useState<Measure>("requests");
  const { title, show } = MEASURES[measure];
  const byDay = new Map(days.data.map((line) => [line.day, line]));
  const bars = everyDay(days.from, days.until).map((day) => ({ day, value: byDay.get(day)?.[measure] ?? 0 }));
  const total = (name: Measure) => days.data.reduce((all, line) => all + line[name], 0);
  return (
    <>
      <dl class="figures">
        {NAMES.map((name) => <div key={name} class="figure"><dt class="muted">{MEASURES[name].title}</dt><dd><b>{MEASURES[name].show(total(name))}</b></dd></div>)}
      </dl>
      <section class="card stack" aria-label="Usage by day">
        <label class="row"><span class="muted">Measure</span>
          <select class="auto" value={measure} onChange={(event) => setMeasure(event.currentTarget.value as Measure)}>
            {NAMES.map((name) => <option key={name} value={name}>{MEASURES[name].title}</option>)}
          </select>
        </label>
        <Bars title={title} bars={bars} show={show} />
      </section>
    </>
  );
}

function Grouped({ days, from }: { days: Schemas["Usage"]; from: string }) {
  const all = groups();
  const group = all.find((one) => one === query.value.get("by")) ?? "key";
  const loaded = useLoad<Rows>(async (signal) => {
    if (group === "plugin") return byPlugin(from, signal);
    return rowsOf(group, group === "day" ? days : await usageBy(group, from, signal));
  }, [group, days]);
  return (
    <section class="stack" aria-label="Usage by group">
      <div class="row">
        <h2 class="grow">By {group === "mind" ? "Mind" : group}</h2>
        <label class="row"><span class="muted">By</span>
          <select class="auto" value={group} onChange={(event) => go(chosen({ by: event.currentTarget.value }), true)}>
            {all.map((one) => <option key={one} value={one}>{GROUPS[one]}</option>)}
          </select>
        </label>
      </div>
      {group === "plugin" && <p class="muted">Of all workspaces. A request may need several calls of plugins, or none.</p>}
      <Load of={loaded}>
        {({ rows, left }) => (
          <>
            {left !== null && <p class="notice" role="note"><Untrusted text={left} /></p>}
            <Table group={group} rows={rows} />
          </>
        )}
      </Load>
    </section>
  );
}

function Table({ group, rows }: { group: Group; rows: Row[] }) {
  const titleOf = (name: Measure) => (group === "plugin" && name === "requests" ? "Calls" : MEASURES[name].title);
  return (
    <div class="card flush scroll" tabIndex={0} role="region" aria-label="Usage">
      <table>
        <thead><tr><th scope="col">{GROUPS[group]}</th>{NAMES.map((name) => <th key={name} scope="col" class="right">{titleOf(name)}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <th scope="row"><Untrusted text={row.name} /></th>
              {NAMES.map((name) => <td key={name} class="right">{MEASURES[name].show(row[name])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
