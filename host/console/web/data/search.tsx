// A search over all datasources: their names, tables, columns, descriptions and common values, and the names of Minds.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { number, plural } from "../lib/format";
import { useLoad } from "../lib/load";
import { Link, go, href, query } from "../lib/router";
import { Failure } from "../ui/failure";
import { Marked } from "../ui/marked";
import { Badge, Empty, Head, Progress } from "../ui/page";
import { Untrusted } from "../ui/text";
import { searchAddress } from "./addresses";
import { catalogs, readAll, type Reading } from "./catalogs";
import { find, patternOf, type Hit, type Kind } from "./find";

const SHOWN = 200;
const TITLES: Record<Kind, string> = { datasource: "Datasources", mind: "Minds", table: "Tables", column: "Columns" };

/** Leads to what is found for a text. */
export function SearchBox({ text: first = "", focus = false }: { text?: string; focus?: boolean }) {
  const [text, setText] = useState(first);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(first), [first]);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    go(searchAddress(text.trim()));
  };
  return (
    <form role="search" class="search" onSubmit={submit}>
      <input ref={field} type="search" aria-label="Search all data" placeholder="Search all data" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit">Search</button>
    </form>
  );
}

/** `/data/search?q=` */
export function SearchPage() {
  const text = (query.value.get("q") ?? "").trim();
  const [turn, setTurn] = useState(0);
  const [reading, setReading] = useState<Reading>({ done: 0, of: null, errors: [] });
  const minds = useLoad(async (signal) => (may("list_minds") ? take(api.GET("/api/v1/minds", { signal })) : []), []);
  useEffect(() => {
    const abort = new AbortController();
    void readAll(abort.signal, setReading);
    return () => abort.abort();
  }, [turn]);
  const again = () => {
    catalogs.value = new Map();
    setTurn(turn + 1);
  };
  const isOver = reading.of !== null && reading.done >= reading.of;
  return (
    <div class="page">
      <Head title="Search" up={<Link to={href("data")}>Data</Link>} about="Datasources, tables, columns, what is written about them, their common values, and Minds by name." />
      <SearchBox text={text} focus={text === ""} />
      {!isOver && (
        <div class="run" role="status">
          <span class="muted loading">{reading.of === null ? "Loading …" : `Loading catalog ${number(reading.done + 1)} of ${number(reading.of)} …`}</span>
          <Progress label="Loading the catalogs" value={reading.of === null ? undefined : reading.done / reading.of} />
        </div>
      )}
      {minds.error && <Failure error={minds.error} retry={minds.reload} />}
      {reading.errors.map((error, index) => <Failure key={index} error={error} />)}
      {text !== "" && <Hits text={text} minds={(minds.data ?? []).map((one) => one.name)} isOver={isOver && (minds.data !== null || minds.error !== null)} />}
      {isOver && <p class="muted">{plural(catalogs.value.size, "catalog")} searched, as they were when this page loaded them. <button type="button" class="link" onClick={again}>Load them again</button></p>}
    </div>
  );
}

function Hits({ text, minds, isOver }: { text: string; minds: string[]; isOver: boolean }) {
  const known = catalogs.value;
  const all = useMemo(() => find(text, known.values(), minds), [text, known, minds.join("\n")]);
  const pattern = useMemo(() => patternOf(text), [text]);
  const groups = Map.groupBy(all.slice(0, SHOWN), (hit: Hit) => hit.kind);
  if (all.length === 0) return isOver ? <Empty title="Nothing was found"><p>Try a part of a word.</p></Empty> : null;
  return (
    <>
      <p role="status">
        {plural(all.length, "match", "matches")}{!isOver && " so far"}
        {all.length > SHOWN && <span class="muted">; the best {number(SHOWN)} are shown, {number(all.length - SHOWN)} more are not</span>}
      </p>
      {(Object.keys(TITLES) as Kind[]).filter((kind) => groups.has(kind)).map((kind) => (
        <section key={kind} class="stack tight" aria-label={TITLES[kind]}>
          <h2>{TITLES[kind]} <Badge>{number(groups.get(kind)!.length)}</Badge></h2>
          <ul class="hits">{groups.get(kind)!.map((hit) => <HitView key={hit.address} hit={hit} pattern={pattern} />)}</ul>
        </section>
      ))}
    </>
  );
}

function HitView({ hit, pattern }: { hit: Hit; pattern: RegExp }) {
  return (
    <li>
      <Link to={hit.address}><Marked text={hit.name} pattern={pattern} /></Link>{" "}
      {hit.where && <span class="muted"><Untrusted text={hit.where} /></span>}
      {hit.description && <p class="muted"><Marked text={hit.description} pattern={pattern} /></p>}
      {hit.value !== null && <p class="muted">has the value <Marked text={hit.value} pattern={pattern} /></p>}
    </li>
  );
}
