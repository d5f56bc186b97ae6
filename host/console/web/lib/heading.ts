// The title of the document: what is shown, then what it belongs to, as tabs and the history of a browser list it.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { visible } from "./format";

const NAME = "Mindhost";
const MOST = 80;
const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** What a page says of itself where its address does not. */
const own = signal<string | null>(null);

/** Names the page by what is in it, for as long as it is shown. */
export function useHeading(text: string | null): void {
  useEffect(() => {
    own.value = text;
    return () => { own.value = null; };
  }, [text]);
}

/** `main.orders · shop · Data · Mindhost`; ids say nothing and are left out. `section` is null of a page that does not exist. */
export function titleOf(section: string | null, path: string[]): string {
  if (section === null) return path.length === 0 ? NAME : `No such page · ${NAME}`;
  const parts = own.value !== null ? [own.value] : path.slice(1).filter((part) => !ID.test(part)).reverse();
  return [...parts.map((part) => visible(part.slice(0, MOST))), section, NAME].join(" · ");
}
