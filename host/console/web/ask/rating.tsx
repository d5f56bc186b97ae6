// Whether an answer was right, as the one who asked says it.
import { useState } from "preact/hooks";
import { api, take, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { Failure } from "../ui/failure";

const MAX_COMMENT = 2000;
const LABELS: [Schemas["Rating"], string, string][] = [["up", "👍", "This is right"], ["down", "👎", "This is wrong"]];

export function Rating({ response }: { response: string }) {
  const [given, setGiven] = useState<Schemas["Feedback"] | null>(null);
  const [comment, setComment] = useState<string | null>(null);
  const { busy, error, run } = useAction();
  const send = (rating: Schemas["Rating"], comment: string | null) => run(async () => {
    const body = { rating, comment };
    setGiven(await take(api.POST("/api/v1/responses/{id}/feedback", { params: { path: { id: response } }, body })));
  });
  return (
    <>
      {LABELS.map(([rating, sign, label]) => (
        <button
          key={rating} type="button" class="small" aria-label={label} title={label} disabled={busy}
          aria-pressed={given?.rating === rating} onClick={() => void send(rating, given?.comment ?? null)}
        >
          {sign}
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
      <span class="hidden" role="status">{given ? "Thank you. Editors of the Mind can see it." : ""}</span>
      {error && <Failure error={error} />}
    </>
  );
}
