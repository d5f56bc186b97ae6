// Ask a Mind: the conversations, the one that is shown, and the field for the next question.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { useLoad } from "../lib/load";
import { nextMind } from "../lib/drafts";
import { useHeading } from "../lib/heading";
import { Link, href, query, go } from "../lib/router";
import { Failure } from "../ui/failure";
import { Empty, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Composer } from "./composer";
import { useConversation } from "./conversation";
import { Conversations } from "./list";
import { TurnView } from "./turn";
import { Suggestions } from "./suggestions";
import { isAnswered, questionOf } from "./turns";

export function AskPage({ path }: { path: string[] }) {
  const [id = null, message = null] = path;
  const [turn, setTurn] = useState(0);
  return (
    <div class="ask">
      <Conversations current={id} turn={turn} />
      <Thread id={id} message={message} began={() => setTurn((turn) => turn + 1)} />
    </div>
  );
}

function Thread({ id, message, began }: { id: string | null; message: string | null; began: () => void }) {
  const minds = useLoad((signal) => take(api.GET("/api/v1/minds", { signal })), []);
  const talk = useConversation(id, began);
  const [chosen, setChosen] = useState<string | null>(() => nextMind(query.value));
  const count = talk.turns.length;
  // A new question goes to the Mind that a link names, or else to that of the conversation before.
  useEffect(() => { if (query.value.has("mind")) setChosen((chosen) => nextMind(query.value) ?? chosen); }, [query.value]);
  useEffect(() => { if (talk.mind !== null) setChosen(talk.mind); }, [talk.mind]);
  // A Mind may have been made since they were loaded.
  const wanted = talk.mind ?? chosen;
  const looked = useRef<{ name: string | null; among: unknown }>({ name: null, among: null });
  const isUnknown = wanted !== null && minds.data !== null && !minds.data.some((one) => one.name === wanted);
  const isLookedFor = isUnknown && (looked.current.name !== wanted || looked.current.among === minds.data);
  useEffect(() => {
    if (!isUnknown || looked.current.name === wanted) return;
    looked.current = { name: wanted, among: minds.data };
    minds.reload();
  }, [isUnknown, wanted]);
  const current = useRef<string | null>(null);
  // The same functions each time, so that the turns are not drawn again for them.
  const latest = useRef(talk.ask);
  latest.current = talk.ask;
  const ask = useCallback((text: string) => void latest.current({ mind: current.current!, text }), []);
  const run = useCallback((sql: string) => void latest.current({ mind: current.current!, text: "", sql }), []);
  const first = talk.turns[0];
  useHeading(first ? first.text || first.sql : null);
  const view = useFollow(count, message === null);
  useEffect(() => {
    const named = message && document.getElementById(`message-${message}`);
    if (named) named.scrollIntoView({ block: "start" });
  }, [count, message]);
  return (
    <Load of={minds}>
      {(all) => {
        const name = talk.mind ?? (all.some((one) => one.name === chosen) ? chosen : null) ?? all[0]?.name ?? null;
        const mind = all.find((one) => one.name === name) ?? null;
        if (all.length === 0) return <NoMinds />;
        // Its Mind was deleted, or the key does not see it any more.
        const isGone = talk.mind !== null && mind === null && !talk.loading && !isLookedFor;
        const isAwaited = isLookedFor && talk.mind !== null;
        const mayAdd = talk.isOwn && !isGone && !isAwaited && !talk.loading && !talk.error;
        current.current = name;
        return (
          <section class="thread" aria-label="Conversation">
            <div class="thread-scroll" ref={view} tabIndex={0} role="region" aria-label="Messages">
              <div class="thread-inner">
                {talk.error && <Failure error={talk.error} />}
                {talk.unstopped && <Failure error={talk.unstopped} />}
                {talk.loading && <p class="muted" role="status">Loading …</p>}
                {isUnknown && talk.mind === null && !isLookedFor && <p class="notice" role="note">There is no Mind “<Untrusted text={wanted!} />”, or your key may not use it. The question goes to the Mind that is chosen below.</p>}
                {count === 0 && !talk.loading && !talk.error && (
                  <div class="welcome">
                    <h1>What do you want to know?</h1>
                    <p class="muted">Each answer shows the SQL that it is based on. Questions only ever read.</p>
                    {mind && <Suggestions mind={mind} ask={ask} />}
                  </div>
                )}
                {(count > 0 || talk.loading || talk.error) && <h1 class="hidden">{count > 0 ? <>Conversation with <Untrusted text={name ?? ""} /></> : "Conversation"}</h1>}
                {talk.turns.map((turn, index) => (
                  <TurnView
                    key={index}
                    turn={turn}
                    conversation={id}
                    marked={turn.id !== "" && turn.id === message}
                    newest={index === count - 1}
                    question={questionOf(talk.turns, index)}
                    isOwn={talk.isOwn}
                    isUnanswered={turn.role === "user" && turn.id !== "" && !isAnswered(talk.turns, index)}
                    mind={mind}
                    ask={talk.busy || !mayAdd ? null : ask}
                    run={talk.busy || !mayAdd ? null : run}
                  />
                ))}
              </div>
            </div>
            {(!talk.isOwn || isGone) && (
              <p class="notice read-only" role="note">
                {isGone ? <>The Mind “<Untrusted text={talk.mind ?? ""} />” was deleted, so this conversation can be read and not continued.</> : "Another key owns this conversation, so you can read it and not add to it."}{" "}
                <Link to={isGone ? href("ask") : `${href("ask")}?mind=${encodeURIComponent(name ?? "")}`}>{isGone ? "Begin a new one" : "Begin your own"}</Link>
              </p>
            )}
            {talk.isOwn && !isGone && <Composer
              isReady={mayAdd}
              minds={all}
              mind={name}
              fixed={talk.mind !== null}
              choose={(name) => {
                setChosen(name);
                if (talk.mind !== null) go(href("ask"));
              }}
              busy={talk.busy}
              ask={ask}
              run={run}
              stop={() => void talk.stop()}
            />}
          </section>
        );
      }}
    </Load>
  );
}

/** Keeps the newest message in view as long as the reader has not scrolled away from it. */
function useFollow(count: number, fromStart: boolean) {
  const view = useRef<HTMLDivElement>(null);
  const follows = useRef(fromStart);
  useEffect(() => {
    const box = view.current;
    if (!box) return;
    const onScroll = () => {
      follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    };
    const grown = new ResizeObserver(() => {
      if (follows.current) box.scrollTop = box.scrollHeight;
    });
    grown.observe(box.firstElementChild!);
    box.addEventListener("scroll", onScroll);
    return () => {
      grown.disconnect();
      box.removeEventListener("scroll", onScroll);
    };
  }, [count > 0, view.current]);
  useEffect(() => {
    if (!fromStart) return;
    follows.current = true;
    if (view.current && count > 0) view.current.scrollTop = view.current.scrollHeight;
  }, [count]);
  return view;
}

function NoMinds() {
  return (
    <div class="page">
      <h1>Ask</h1>
      <Empty title="There is no Mind to ask yet">
        <p>A Mind is some tables, a language model and instructions under one name.</p>
        {may("create_mind") && <Link class="button primary" to={href("minds", "new")}>Make a Mind</Link>}
      </Empty>
    </div>
  );
}
