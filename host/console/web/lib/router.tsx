// Addresses. A link is an ordinary one, so that it can be opened in a new tab; a plain click stays in the page.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

const BASE = "/console";

/** The parts of the address below `/console`: `["ask", "01a2…"]`. */
export const route = signal<string[]>(parts());
export const query = signal(new URLSearchParams(location.search));

function parts(): string[] {
  return location.pathname.slice(BASE.length).split("/").filter(Boolean).map(unescaped);
}

/** A part as it was written, if it is not escaped as an address must be. */
function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function changed(): void {
  query.value = new URLSearchParams(location.search);
  route.value = parts();
}

addEventListener("popstate", changed);

/** The address of a page, each part escaped. */
export function href(...path: string[]): string {
  return [BASE, ...path.map(encodeURIComponent)].join("/");
}

export function go(address: string, replace = false): void {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  changed();
}

/** The address of this page with other choices; an empty one is left out. */
export function chosen(choices: Record<string, string>): string {
  const all = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(choices)) {
    if (value === "") all.delete(name);
    else all.set(name, value);
  }
  return location.pathname + (all.size > 0 ? `?${all.toString()}` : "");
}

type LinkProps = { to: string; children: ComponentChildren } & Omit<JSX.AnchorHTMLAttributes, "href">;

export function Link({ to, children, ...rest }: LinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={onClick} {...rest}>
      {children}
    </a>
  );
}
