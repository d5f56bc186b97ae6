// The questions of an evaluation: found by their mark and their words, and each opened to see how it went.
import { useEffect, useRef, useState } from "preact/hooks";
import { may } from "../lib/api";
import { milliseconds, number, percent, plural, price } from "../lib/format";
import { Markdown } from "../lib/markdown";
import { Link, chosen, go, query } from "../lib/router";
import { RequestId } from "../ui/failure";
import { Badge } from "../ui/page";
import { SqlView } from "../ui/sql";
import { Untrusted } from "../ui/text";
import { MARKS, askAddress, type Judged, type Mark, type Report } from "./evaluation";

/** Questions that are shown at first, and more at each request. */
const SHOWN = 50;

interface Props {
  name: string;
  report: Report;
  /** Id of a question to open, until it is shown. */
  opened: string | null;
  shown: () => void;
}

export function Questions({ name, report, opened, shown }: Props) {
  const [text, setText] = useState("");
  const [most, setMost] = useState(SHOWN);
  const { questions, difference } = report;
  const before = new Map(difference?.changed.map((one) => [one.id, one.before]));
  const filters = [
    { value: "", title: "all", matches: (_: Judged) => true },
    ...(Object.keys(MARKS) as Mark[]).map((mark) => ({ value: mark as string, title: MARKS[mark].title, matches: (one: Judged) => one.mark === mark })),
    ...(difference ? [{ value: "changed", title: "changed", matches: (one: Judged) => before.has(one.id) }] : []),
  ];
  const filter = filters.find((one) => one.value === query.value.get("mark")) ?? filters[0]!;
  const word = text.trim().toLowerCase();
  const found = questions.filter((one) => filter.matches(one) && (word === "" || `${one.id}\n${one.question}`.toLowerCase().includes(word)));
  const choose = (mark: string) => {
    setMost(SHOWN);
    go(chosen({ mark }), true);
  };
  // What is to be opened shall not be hidden by a filter.
  const place = opened === null ? -1 : found.findIndex((one) => one.id === opened);
  useEffect(() => {
    if (opened === null) return;
    if (place >= 0) return setMost((most) => Math.max(most, place + 1));
    setText("");
    if (filter.value !== "") choose("");
  }, [opened, place]);
  return (
    <section class="stack" aria-label="Questions">
      <h2>Questions</h2>
      <fieldset class="filters">
        <legend class="hidden">Mark</legend>
        {filters.map(({ value, title, matches }) => (
          <label key={value}>
            <input type="radio" name="mark" value={value} checked={value === filter.value} onChange={() => choose(value)} />
            {title} <span>{number(questions.filter(matches).length)}</span>
          </label>
        ))}
      </fieldset>
      <input type="search" aria-label="Search questions" placeholder="Search" value={text} onInput={(event) => { setText(event.currentTarget.value); setMost(SHOWN); }} />
      <p class="muted" role={report.status === "running" ? undefined : "status"}>{found.length === questions.length ? plural(found.length, "question") : `${number(found.length)} of ${plural(questions.length, "question")}`}</p>
      <ul class="entries">
        {found.slice(0, most).map((one) => (
          <Item key={one.id} name={name} judged={one} before={before.get(one.id)} report={report} opened={one.id === opened} shown={shown} />
        ))}
      </ul>
      {found.length > most && <div><button type="button" onClick={() => setMost(most + SHOWN)}>Show more</button></div>}
    </section>
  );
}

interface ItemProps {
  name: string;
  judged: Judged;
  /** The mark of the earlier run, if it was another. */
  before: Mark | undefined;
  report: Report;
  opened: boolean;
  shown: () => void;
}

function Item({ name, judged, before, report, opened, shown }: ItemProps) {
  const [open, setOpen] = useState(false);
  const head = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!opened) return;
    setOpen(true);
    head.current?.focus();
    head.current?.scrollIntoView({ block: "start" });
    shown();
  }, [opened]);
  const { title, tone } = MARKS[judged.mark];
  return (
    <li>
      <details class="card question" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary ref={head}>
          <Badge tone={tone}>{title}</Badge>
          <span><Untrusted text={judged.question} /></span>
          {before && <span class="muted">was {MARKS[before].title}</span>}
        </summary>
        {open && <Body name={name} judged={judged} report={report} />}
      </details>
    </li>
  );
}

function Body({ name, judged, report: { currency, request_id: request } }: { name: string; judged: Judged; report: Report }) {
  const { why, text, sql, gold, unsupported_numbers: unsupported = [], recall_tables: tables, recall_columns: columns } = judged;
  return (
    <div class="stack">
      {why && <p class="stale"><Untrusted text={why} max={4000} /></p>}
      {judged.mark === "failed" && <RequestId id={request} />}
      {text && <section class="stack tight"><h3>Answer</h3><Markdown text={text} /></section>}
      {sql && <section class="stack tight"><h3>Its statement</h3><SqlView sql={sql} label="Its statement" /></section>}
      {gold && <section class="stack tight"><h3>Accepted statement</h3><SqlView sql={gold} label="Accepted statement" /></section>}
      <dl class="facts">
        <dt>Id</dt><dd><Untrusted text={judged.id} /></dd>
        <dt>Expected</dt><dd>{judged.expect === "declined" ? "to be declined" : "an answer"}</dd>
        {unsupported.length > 0 && <><dt>Numbers from nowhere</dt><dd><Untrusted text={unsupported.join(", ")} max={2000} /></dd></>}
        {typeof tables === "number" && <><dt>Told of</dt><dd>{percent(tables)} of the tables{typeof columns === "number" && `, ${percent(columns)} of the columns`}</dd></>}
        <dt>Time</dt><dd>{milliseconds(judged.latency_ms ?? 0)}</dd>
        <dt>Repairs</dt><dd>{number(judged.repairs ?? 0)}</dd>
        <dt>Tokens</dt><dd>{number(judged.input_tokens ?? 0)} read, {number(judged.output_tokens ?? 0)} written</dd>
        {typeof judged.cost === "number" && <><dt>Cost</dt><dd>{price(judged.cost)} <Untrusted text={currency} /></dd></>}
      </dl>
      {may("create_response") && <div class="actions"><Link class="button small" to={askAddress(name, judged.question)}>Ask it</Link></div>}
    </div>
  );
}
