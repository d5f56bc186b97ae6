// What stands below an answer's text: how it ended if not by itself, which of its numbers are not in the rows, what it
// assumed, and what can be asked next.
import { Untrusted } from "../ui/text";
import type { Turn } from "./turns";

const ENDINGS: Record<string, string> = {
  max_output_tokens: "Cut: the answer reached the limit of its length.",
  content_filter: "Cut: the vendor of the model filtered the text.",
  unknown_reason: "The vendor of the model ended the text for an unknown reason; it may be cut.",
  tool_limit: "Cut: the model wanted to look things up more often than the server allows.",
  repair_limit: "Cut: too many statements of the model were refused or failed.",
  token_budget: "Cut: the tokens of the answer were used up.",
  timeout: "Cut: the time for the answer was over.",
  size_limit: "Cut: the model wrote more than an answer may have.",
};

export function Basis({ turn }: { turn: Turn }) {
  const ending = turn.ending && ENDINGS[turn.ending];
  return (
    <>
      {ending && <p class="muted" role="note">{ending}</p>}
      {turn.truncated && <p class="muted" role="note">The model got only some of the rows. All of them are below.</p>}
      {turn.unverified.length > 0 && <Unverified numbers={turn.unverified} />}
      {turn.assumptions.length > 0 && (
        <section class="assumptions" aria-label="Assumed">
          <p class="muted">Assumed</p>
          <ul>{turn.assumptions.map((text) => <li key={text}><Untrusted text={text} /></li>)}</ul>
        </section>
      )}
    </>
  );
}

function Unverified({ numbers }: { numbers: string[] }) {
  const [one, rest] = numbers.length === 1 ? ["This number is", "it"] : ["These numbers are", "them"];
  return (
    <p class="notice warn" role="note">
      {one} not in the rows, and cannot be worked out from them:{" "}
      {numbers.map((number, index) => <>{index > 0 && ", "}<strong><Untrusted text={number} /></strong></>)}
      . Check {rest} before you use {rest}.
    </p>
  );
}

export function FollowUps({ turn, ask }: { turn: Turn; ask: (text: string) => void }) {
  if (turn.followUps.length === 0) return null;
  return (
    <ul class="follow-ups" aria-label="Ask next">
      {turn.followUps.map((text) => (
        <li key={text}><button type="button" class="small" onClick={() => ask(text)}><Untrusted text={text} /></button></li>
      ))}
    </ul>
  );
}
