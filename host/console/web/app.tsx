// The frame of every page, and which page an address shows.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { AskPage } from "./ask/page";
import { DataPage } from "./data/page";
import { may } from "./lib/api";
import { forgetDrafts } from "./lib/drafts";
import { titleOf } from "./lib/heading";
import { Link, go, href, route } from "./lib/router";
import { ended, isKept, keepInTab, key, me } from "./lib/session";
import { offered } from "./lib/sign_in";
import { MindsPage } from "./minds/page";
import { OperationsPage } from "./operations/page";
import { PluginsPage } from "./plugins/page";
import { LinkPage, SignInPage } from "./sign_in";
import { Boundary } from "./ui/boundary";
import { NotFound } from "./ui/not_found";
import { Untrusted } from "./ui/text";

const SECTIONS = [
  { path: "ask", title: "Ask", page: AskPage, shown: () => may("list_minds", "create_response") },
  { path: "data", title: "Data", page: DataPage, shown: () => may("list_datasources") },
  { path: "minds", title: "Minds", page: MindsPage, shown: () => may("list_minds") },
  { path: "plugins", title: "Plugins", page: PluginsPage, shown: () => may("list_plugins") },
  { path: "operations", title: "Operations", page: OperationsPage, shown: () => may("list_usage") },
];

export function App() {
  const signedIn = key.value !== null && me.value !== null;
  const sections = signedIn ? SECTIONS.filter((one) => one.shown()) : [];
  const section = sections.find((one) => one.path === route.value[0]);
  const title = signedIn ? titleOf(section?.title ?? null, route.value) : titleOf(null, []);
  useEffect(() => {
    document.title = title;
  }, [title]);
  useFocus(signedIn, route.value);
  useEffect(() => {
    if (signedIn && route.value.length === 0) go(href("ask"), true);
  });
  if (!signedIn) return offered.value === null ? <SignInPage /> : <LinkPage code={offered.value} />;
  const Page = section?.page;
  return (
    <div class="frame">
      <a class="skip" href="#main">Skip to the content</a>
      <header class="side">
        <Link to={href("ask")} class="brand">Mindhost</Link>
        <nav aria-label="Sections">
          {sections.map(({ path, title }) => (
            <Link key={path} to={href(path)} aria-current={section?.path === path ? "page" : undefined}>{title}</Link>
          ))}
        </nav>
        <Account />
      </header>
      <main id="main" tabIndex={-1}>
        <Boundary key={route.value[0]} at={route.value.join("/")}>
          {Page ? <Page path={route.value.slice(1)} /> : route.value.length > 0 && <NotFound />}
        </Boundary>
      </main>
    </div>
  );
}

/** Moves the focus to the content of a new page, where a reader goes on. A page that takes the focus itself has it after
 * that. In a conversation the focus stays in the field: its first question gives it an address. */
function useFocus(signedIn: boolean, path: string[]): void {
  const before = useRef<string | null>(null);
  const now = signedIn ? path.join("/") : null;
  useLayoutEffect(() => {
    const isFirst = before.current === null || before.current === "";
    before.current = now;
    const main = document.getElementById("main");
    if (isFirst || !main) return;
    if (path[0] === "ask" && main.contains(document.activeElement)) return;
    main.focus({ preventScroll: true });
  }, [now]);
}

function signOut(): void {
  ended(null);
  forgetDrafts();
}

/** Whose key it is, and the way out. */
function Account() {
  const who = me.value!;
  return (
    <details class="account">
      <summary>
        <span class="hidden">Signed in as </span>
        <span class="account-name"><Untrusted text={who.name} max={60} /></span>
        <span class="muted">{who.role} · <Untrusted text={who.workspace} /></span>
      </summary>
      <div class="account-menu">
        <label class="check">
          <input type="checkbox" checked={isKept.value} onChange={(event) => keepInTab(event.currentTarget.checked)} />
          Stay signed in until this tab is closed
        </label>
        <a href="/docs">The API</a>
        <button type="button" onClick={signOut}>Sign out</button>
      </div>
    </details>
  );
}
