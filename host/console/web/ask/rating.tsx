// Whether an answer was right, as the one who asked says it.
import { useState } from "preact/hooks";
import { api, take, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { Failure } from "../ui/failure";
import type { Given } from "./conversation";

const MAX_COMMENT = 2000;
const LABELS: [Schemas["Rating"], string][] = [["up", "This is right"], ["down", "This is wrong"]];

/** A thumb. Not an emoji: not every system has a font with it. */
function Thumb({ rating }: { rating: Schemas["Rating"] }) {
  return (
    <svg class="thumb" viewBox="0 0 16 16" aria-hidden="true">
      <path transform={rating === "down" ? "rotate(180 8 8)" : undefined} d="M2 7h2.5v7H2zM5.5 7.2 8 1.6c1.2 0 1.9.9 1.7 2.1L9.3 6h3.6c.9 0 1.5.8 1.3 1.7l-1 4.9c-.2.8-.8 1.4-1.6 1.4H5.5z" />
    </svg>
  );
}

export function Rating({ response, before }: { response: string; before: Given | null }) {
  const [given, setGiven] = useState<Given | null>(before);
  const [isNew, setNew] = useState(false);
  const [comment, setComment] = useState<string | null>(null);
  const { busy, error, run } = useAction();
  const send = (rating: Schemas["Rating"], comment: string | null) => run(async () => {
    const body = { rating, comment };
    setGiven(await take(api.POST("/api/v1/responses/{id}/feedback", { params: { path: { id: response } }, body })));
    setNew(true);
  });
  return (
    <>
      {LABELS.map(([rating, label]) => (
        <button
          key={rating} type="button" class="small" aria-label={label} title={label} disabled={busy}
          aria-pressed={given?.rating === rating} onClick={() => void send(rating, given?.comment ?? null)}
        >
          <Thumb rating={rating} />
        </button>
      ))}
      {given && comment === null && (
        <button type="button" class="small" onClick={() => setComment(given.comment ?? "")}>
          {given.comment ? "Change the comment" : "Add a comment"}
        </button>
      )}
      {given && comment !== null && (
        <form
          class="comment"
          onSubmit={(event) => {
            event.preventDefault();
            void send(given.rating, comment.trim() || null).then(() => setComment(null));
          }}
        >
          <input
            aria-label="Comment" maxLength={MAX_COMMENT} value={comment} placeholder="What is wrong, or what was meant"
            ref={(field) => field?.focus()} onInput={(event) => setComment(event.currentTarget.value)}
          />
          <button type="submit" class="small primary" disabled={busy}>Send</button>
          <button type="button" class="small" onClick={() => setComment(null)}>Cancel</button>
        </form>
      )}
      <span class="hidden" role="status">{isNew ? "Thank you. Editors of the Mind can see it." : ""}</span>
      {error && <Failure error={error} />}
    </>
  );
}
