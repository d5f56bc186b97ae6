// What becomes of each column of a table.
import type { ApiError } from "../lib/api";
import { visible } from "../lib/format";
import { Failure } from "../ui/failure";
import { Badge } from "../ui/page";
import { Untrusted } from "../ui/text";
import { TREATMENTS, type ColumnChoice, type Treatment } from "./policy";

interface Props {
  names: string[];
  /** Those that the catalog has. */
  known: string[];
  choices: Map<string, ColumnChoice>;
  change: (column: string, choice: ColumnChoice) => void;
  place: string | null;
  error: ApiError | null;
}

export function Columns({ names, known, choices, change, place, error }: Props) {
  return (
    <fieldset class="stack tight">
      <legend>Columns</legend>
      <ul class="masks">
        {names.map((name) => {
          const choice = choices.get(name) ?? { treatment: "shown", text: "" };
          const { treatment, text } = choice;
          const shown = visible(name);
          return (
            <li key={name} class="stack tight">
              <div class="row">
                <span class="name"><Untrusted text={name} /> {!known.includes(name) && <Badge tone="bad">gone</Badge>}</span>
                <select
                  aria-label={`${shown} is`} value={treatment}
                  onChange={(event) => change(name, { ...choice, treatment: event.currentTarget.value as Treatment })}
                >
                  {Object.entries(TREATMENTS).map(([one, words]) => <option key={one} value={one}>{words}</option>)}
                </select>
                {(treatment === "text" || treatment === "sql") && (
                  <input
                    class={treatment === "sql" ? "mono" : undefined} aria-label={treatment === "sql" ? `Expression for ${shown}` : `Text for ${shown}`}
                    placeholder={treatment === "sql" ? "substr(name, 1, 1)" : "withheld"} value={text} spellcheck={false}
                    onInput={(event) => change(name, { ...choice, text: event.currentTarget.value })}
                  />
                )}
              </div>
              {error && place === `column ${name}` && <Failure error={error} />}
            </li>
          );
        })}
      </ul>
    </fieldset>
  );
}
