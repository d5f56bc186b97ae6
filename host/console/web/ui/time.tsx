import { local, precise, toDate, utc } from "../lib/format";

/** A time in the reader's zone, with UTC on hover. `exact` shows the seconds. */
export function Time({ at, exact = false }: { at: number | string | null | undefined; exact?: boolean }) {
  if (at === null || at === undefined) return <span class="muted">never</span>;
  const date = toDate(at);
  return <time dateTime={date.toISOString()} title={utc(date)}>{exact ? precise(date) : local(date)}</time>;
}
