import { useEffect, useRef } from "preact/hooks";
import { Link } from "../lib/router";

export interface Tab {
  title: string;
  to: string;
  isCurrent: boolean;
}

/** The views of a page. At phone width not all of them have room, so the current one is brought into view. */
export function Tabs({ tabs }: { tabs: Tab[] }) {
  const nav = useRef<HTMLElement>(null);
  const current = tabs.find((one) => one.isCurrent)?.to;
  useEffect(() => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [current]);
  return (
    <nav class="tabs" aria-label="Views" ref={nav}>
      {tabs.map(({ title, to, isCurrent }) => <Link key={to} to={to} aria-current={isCurrent ? "page" : undefined}>{title}</Link>)}
    </nav>
  );
}
