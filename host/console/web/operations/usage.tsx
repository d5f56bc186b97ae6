import { useState } from "preact/hooks";
import { api, take, type Schemas } from "../lib/api";
import { brief, bytes, number } from "../lib/format";
import { useLoad } from "../lib/load";
import { Empty, Load } from "../ui/page";
import { Untrusted } from "../ui/text";

type Line = Schemas["UsageLine"];
type Counts = Pick<Line, "requests" | "rows" | "bytes" | "input_tokens" | "output_tokens">;
const MEASURES = { requests: number, rows: brief, bytes, input_tokens: brief, output_tokens: brief } as const;
const TITLES = { requests: "Requests", rows: "Rows", bytes: "Results", input_tokens: "Tokens read", output_tokens: "Tokens written" } as const;
const GROUPS = { key_name: "Key", mind: "Mind", day: "Day" } as const;
const NAMES = Object.keys(MEASURES) as (keyof Counts)[];

function sum(lines: Line[]): Counts {
  const none: Counts = { requests: 0, rows: 0, bytes: 0, input_tokens: 0, output_tokens: 0 };
  for (const line of lines) for (const name of NAMES) none[name] += line[name];
  return none;
}

/** What keys used in the last thirty days, by key, Mind or day. */
export function Usage() {
  const [group, setGroup] = useState<keyof typeof GROUPS>("key_name");
  const loaded = useLoad((signal) => take(api.GET("/api/v1/usage", { params: { query: { limit: 1000 } }, signal })), []);
  return (
    <Load of={loaded}>
      {(usage) => {
        if (usage.data.length === 0) return <Empty title="Nothing was used yet" />;
        const all = sum(usage.data);
        const groups = [...Map.groupBy(usage.data, (line: Line) => line[group] ?? "no Mind")].map(([name, lines]) => ({ name, counts: sum(lines) }));
        groups.sort((a, b) => (group === "day" ? b.name.localeCompare(a.name) : b.counts.requests - a.counts.requests));
        return (
          <>
            <dl class="figures">
              {NAMES.map((name) => <div key={name} class="figure"><dt class="muted">{TITLES[name]}</dt><dd><b>{MEASURES[name](all[name])}</b></dd></div>)}
            </dl>
            <div class="row">
              <span class="muted grow">From {usage.from} until {usage.until} (UTC){usage.has_more && "; the newest thousand lines"}</span>
              <label class="row"><span class="muted">By</span>
                <select class="auto" value={group} onChange={(event) => setGroup(event.currentTarget.value as typeof group)}>
                  {Object.entries(GROUPS).map(([value, title]) => <option key={value} value={value}>{title}</option>)}
                </select>
              </label>
            </div>
            <div class="card flush scroll" tabIndex={0} role="region" aria-label="Usage">
              <table>
                <thead><tr><th scope="col">{GROUPS[group]}</th>{NAMES.map((name) => <th key={name} scope="col" class="right">{TITLES[name]}</th>)}</tr></thead>
                <tbody>
                  {groups.map(({ name, counts }) => (
                    <tr key={name}>
                      <th scope="row"><Untrusted text={name} /></th>
                      {NAMES.map((one) => <td key={one} class="right">{MEASURES[one](counts[one])}</td>)}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        );
      }}
    </Load>
  );
}
