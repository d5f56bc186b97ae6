// The frame of every page, and which page an address shows.
import { useEffect } from "preact/hooks";
import { AskPage } from "./ask/page";
import { DataPage } from "./data/page";
import { may } from "./lib/api";
import { Link, go, href, route } from "./lib/router";
import { ended, isKept, keepInTab, key, me } from "./lib/session";
import { MindsPage } from "./minds/page";
import { OperationsPage } from "./operations/page";
import { PluginsPage } from "./plugins/page";
import { SignInPage } from "./sign_in";
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
  useEffect(() => {
    document.title = section ? `${section.title} · Mindhost` : "Mindhost";
  }, [section]);
  useEffect(() => {
    if (signedIn && route.value.length === 0) go(href("ask"), true);
  });
  if (!signedIn) return <SignInPage />;
  const Page = section?.page;
  return (
    <div class="frame">
      <a class="skip" href="#main">Skip to the content</a>
      <header class="side">
        <Link to={href("ask")} class="brand">Mindhost</Link>
        <nav aria-label="Sections">
          {sections.map(({ path, title }) => (
            <Link to={href(path)} aria-current={section?.path === path ? "page" : undefined}>{title}</Link>
          ))}
        </nav>
        <Account />
      </header>
      <main id="main" tabIndex={-1}>
        <Boundary key={route.value[0]}>
          {Page ? <Page path={route.value.slice(1)} /> : route.value.length > 0 && <NotFound />}
        </Boundary>
      </main>
    </div>
  );
}

/** Whose key it is, and the way out. */
function Account() {
  const who = me.value!;
  return (
    <details class="account">
      <summary>
        <span class="hidden">Signed in as </span>
        <span class="account-name">{who.name}</span>
        <span class="muted">{who.role} · <Untrusted text={who.workspace} /></span>
      </summary>
      <div class="account-menu">
        <label class="check">
          <input type="checkbox" checked={isKept.value} onChange={(event) => keepInTab(event.currentTarget.checked)} />
          Stay signed in until this tab is closed
        </label>
        <a href="/docs">The API</a>
        <button type="button" onClick={() => ended(null)}>Sign out</button>
      </div>
    </details>
  );
}
