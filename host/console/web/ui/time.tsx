import { local, toDate, utc } from "../lib/format";

/** A time in the reader's zone, with UTC on hover. */
export function Time({ at }: { at: number | string | null | undefined }) {
  if (at === null || at === undefined) return <span class="muted">never</span>;
  const date = toDate(at);
  return <time dateTime={date.toISOString()} title={utc(date)}>{local(date)}</time>;
}
