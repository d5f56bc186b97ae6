// The conversations, newest first, with a search over their questions, answers and statements.
import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, isAbort, may, mayPass, take, toError, type ApiError, type Schemas } from "../lib/api";
import { visible } from "../lib/format";
import { useAction } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { key, me } from "../lib/session";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";

type Conversation = Schemas["Conversation"];
const PAGE = 30;
/** Milliseconds without a key press after which the search begins. */
const PAUSE = 250;

export function Conversations({ current, turn }: { current: string | null; turn: number }) {
  const [all, setAll] = useState<Conversation[]>([]);
  const [more, setMore] = useState(true);
  const [text, setText] = useState("");
  const [doomed, setDoomed] = useState<Conversation | null>(null);
  const removal = useAction();
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<ApiError | null>(null);
  const titles = useTitles(all);

  const [wanted, setWanted] = useState("");
  const newest = useRef(0);

  const load = async (after: string | null) => {
    const asked = ++newest.current;
    const query = { limit: PAGE, ...(after && { after }), ...(wanted && { search: wanted }) };
    setLoading(true);
    setError(null);
    try {
      const page = await take(api.GET("/api/v1/conversations", { params: { query } }));
      // What came in the meantime is newer.
      if (asked !== newest.current) return;
      setAll((known) => (after ? [...known, ...page.data] : page.data));
      setMore(page.has_more);
    } catch (thrown) {
      if (asked === newest.current && !isAbort(thrown)) setError(toError(thrown));
    }
    if (asked === newest.current) setLoading(false);
  };
  useEffect(() => void load(null), [turn, wanted]);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);

  const title = (one: Conversation) => one.metadata["title"] ?? titles.get(one.id) ?? "";
  const remove = (one: Conversation) =>
    removal.run(async () => {
      await take(api.DELETE("/api/v1/conversations/{id}", { params: { path: { id: one.id } } }));
      setAll((known) => known.filter((other) => other.id !== one.id));
      setDoomed(null);
      if (one.id === current) go(href("ask"));
    });

  return (
    <details class="conversations" open={matchMedia("(min-width: 62rem)").matches}>
      <summary>Conversations</summary>
      <div class="conversations-body">
        <Link class="button" to={href("ask")}>New question</Link>
        <input
          type="search" aria-label="Search the conversations" placeholder="Search" maxLength={200} value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {error && <Failure error={error} retry={() => void load(null)} />}
        <nav aria-label="Conversations">
          <ul>
            {all.map((one) => (
              <li key={one.id}>
                <Link to={href("ask", one.id)} aria-current={one.id === current ? "page" : undefined}>
                  <span class="conversation-title"><Untrusted text={title(one) || "…"} max={120} /></span>
                  <span class="muted"><Untrusted text={one.model ?? "no Mind yet"} /> · <Time at={one.created_at} /></span>
                </Link>
                {may("delete_conversation") && one.key_id === me.value?.id && (
                  <button type="button" class="quiet small" aria-label={`Delete the conversation “${visible(title(one))}”`} onClick={() => setDoomed(one)}>✕</button>
                )}
              </li>
            ))}
          </ul>
          {all.length === 0 && !loading && !error && <p class="muted">{wanted ? "Nothing found." : "None yet."}</p>}
          {more && all.length > 0 && (
            <button type="button" class="small" disabled={loading} onClick={() => void load(all[all.length - 1]!.id)}>Older ones</button>
          )}
        </nav>
      </div>
      {doomed && (
        <Confirm title="Delete this conversation?" action="Delete" busy={removal.busy} close={() => { setDoomed(null); removal.clear(); }} confirm={() => void remove(doomed)}>
          <p><Untrusted text={title(doomed)} /></p>
          <p class="muted">Its messages are deleted with it. This cannot be undone.</p>
          {removal.error && <Failure error={removal.error} />}
        </Confirm>
      )}
    </details>
  );
}

/** First messages never change, so they are kept until the session ends. */
const firsts = new Map<string, string>();

effect(() => {
  if (key.value === null) firsts.clear();
});

/** Titles of conversations that other clients began: their first messages, asked for one after the other. */
function useTitles(all: Conversation[]): Map<string, string> {
  const [, setCount] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const untitled = all.filter((one) => !one.metadata["title"] && !firsts.has(one.id));
    const find = async () => {
      for (const { id } of untitled) {
        const query = { limit: 1, order: "asc" as const };
        try {
          const page = await take(api.GET("/api/v1/conversations/{id}/items", { params: { path: { id }, query }, signal: abort.signal }));
          const item = page.data[0];
          // Of a statement that a caller sent there is the answer alone, which does not say what was asked.
          const said = item?.role === "user" ? item.content[0]?.text : item?.sql;
          const first = said || item?.content[0]?.text || item?.sql || "Empty conversation";
          firsts.set(id, first.slice(0, 200));
        } catch (thrown) {
          if (isAbort(thrown)) return;
          // It may be deleted by now. The others have titles all the same.
          if (!mayPass(toError(thrown))) firsts.set(id, "Conversation without a title");
        }
        setCount(firsts.size);
      }
    };
    void find();
    return () => abort.abort();
  }, [all]);
  return firsts;
}
