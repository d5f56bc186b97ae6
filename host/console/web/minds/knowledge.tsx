// What a Mind was taught, by kind.
import { useState } from "preact/hooks";
import { api, may, send, take, type Schemas } from "../lib/api";
import { number, plural } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { Link, go, href, query } from "../lib/router";
import { save } from "../lib/save";
import { Failure } from "../ui/failure";
import { Badge, Empty, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Time } from "../ui/time";
import { KINDS, hasText, nameOf, textsOf, type Entry, type Kind } from "./entry";

/** The most that the API gives at once, and what the page shows at once. */
const PAGE = 100;
const SHOWN = 50;

/** All entries: search and the filter of stale ones need them, and a Mind has a bounded number. */
async function allOf(name: string, signal: AbortSignal): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let after: string | null = null; ; ) {
    const wanted: { limit: number; after?: string } = { limit: PAGE, ...(after && { after }) };
    const page: Schemas["Page_KnowledgeEntry"] = await take(api.GET("/api/v1/minds/{name}/knowledge", { params: { path: { name }, query: wanted }, signal }));
    all.push(...page.data);
    if (!page.has_more || page.last_id === null) return all;
    after = page.last_id;
  }
}

export function Knowledge({ name }: { name: string }) {
  const loaded = useLoad((signal) => allOf(name, signal), [name]);
  return (
    <>
      <p class="muted">What the Mind is told besides its tables, where it fits a question. It widens no right.</p>
      <div class="actions">
        {may("create_knowledge") && <Link class="button primary" to={href("minds", name, "knowledge", "new")}>Teach it</Link>}
        {may("import_knowledge") && <Link class="button" to={href("minds", name, "knowledge", "import")}>Import</Link>}
        <Export name={name} />
      </div>
      <Load of={loaded}>{(all) => (all.length === 0 ? <Empty title="It was taught nothing yet" /> : <List name={name} all={all} />)}</Load>
    </>
  );
}

function Export({ name }: { name: string }) {
  const { busy, error, run } = useAction();
  const start = () =>
    void run(async () => {
      const answer = await send(`/api/v1/minds/${encodeURIComponent(name)}/knowledge/export`);
      save(`${name.replace(/[^\w.-]/g, "_")}.yaml`, "application/yaml", [await answer.blob()]);
    });
  return (
    <>
      <button type="button" disabled={busy} onClick={start}>{busy ? "Exporting …" : "Export"}</button>
      {error && <Failure error={error} />}
    </>
  );
}

function List({ name, all }: { name: string; all: Entry[] }) {
  const [text, setText] = useState("");
  const [most, setMost] = useState(SHOWN);
  const chosen = query.value.get("kind") ?? "";
  const word = text.trim().toLowerCase();
  const isStale = (entry: Entry) => entry.status === "stale";
  const stale = all.filter(isStale).length;
  const ofKind = all.filter((one) => chosen === "" || (chosen === "stale" ? isStale(one) : one.kind === chosen));
  const found = ofKind.filter((one) => word === "" || hasText(one, word));
  const choose = (kind: string) => {
    setMost(SHOWN);
    go(href("minds", name, "knowledge") + (kind && `?kind=${kind}`), true);
  };
  return (
    <>
      <div class="row">
        <input
          type="search" class="grow" aria-label="Search knowledge" placeholder="Search" value={text}
          onInput={(event) => { setText(event.currentTarget.value); setMost(SHOWN); }}
        />
        <select class="auto" aria-label="Kind" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">All kinds</option>
          {Object.entries(KINDS).map(([kind, { many }]) => <option key={kind} value={kind}>{many}</option>)}
          <option value="stale">Stale</option>
        </select>
      </div>
      <p class="muted" role="status">
        {found.length === all.length ? plural(all.length, "entry", "entries") : `${number(found.length)} of ${plural(all.length, "entry", "entries")}`}
        {stale > 0 && ` · ${number(stale)} stale, which no model is told`}
      </p>
      {(Object.keys(KINDS) as Kind[]).map((kind) => {
        const some = found.slice(0, most).filter((one) => one.kind === kind);
        return some.length > 0 && (
          <section key={kind} class="stack tight" aria-label={KINDS[kind].many}>
            <h2>{KINDS[kind].many}</h2>
            <ul class="entries">{some.map((one) => <Item key={one.id} name={name} entry={one} />)}</ul>
          </section>
        );
      })}
      {found.length > most && <div><button type="button" onClick={() => setMost(most + SHOWN)}>Show more</button></div>}
    </>
  );
}

function Item({ name, entry }: { name: string; entry: Entry }) {
  const title = <Untrusted text={nameOf(entry)} />;
  return (
    <li class="card stack tight">
      <h3 class="row"><Link to={href("minds", name, "knowledge", entry.id)}>{title}</Link>{entry.status === "stale" && <Badge tone="warn">stale</Badge>}</h3>
      {entry.stale_reason && <p class="stale">Stale: <Untrusted text={entry.stale_reason} /> <span class="muted">Checked <Time at={entry.checked_at} /></span></p>}
      <EntryFacts entry={entry} max={300} />
    </li>
  );
}

/** The fields that are filled, apart from the name. */
export function EntryFacts({ entry, max }: { entry: Entry; max: number }) {
  const texts = textsOf(entry, ", ");
  const rest = KINDS[entry.kind].fields.filter((field) => field.name !== "name" && field.name !== "question" && texts[field.name]);
  return (
    <dl class="facts">
      {rest.map(({ name, label, control }) => {
        const text = <Untrusted text={texts[name]!} max={max} />;
        return [<dt key={`${name} of`}>{label}</dt>, <dd key={name}>{control === "sql" ? <code>{text}</code> : text}</dd>];
      })}
    </dl>
  );
}
