// Who did what, newest first. The address holds the filters, so a link shows another admin the same.
import { api, may, take, type Schemas } from "../lib/api";
import { number, plural, visible } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { chosen, go, query } from "../lib/router";
import { Failure } from "../ui/failure";
import { Badge, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";

type Entry = Schemas["AuditEntry"];
const PAGE = 50;

const nameOf = (entry: Entry): string => entry.key_name ?? "command line";
const objectOf = (entry: Entry): string => entry.made ?? entry.mind ?? entry.resource;
const isFailed = (entry: Entry): boolean => entry.status !== null && entry.status >= 400;
const textOf = (entry: Entry): string => [nameOf(entry), entry.action, entry.resource, entry.mind, entry.made, entry.status, entry.request_id].join("\n").toLowerCase();

export function Audit() {
  const key = query.value.get("key") ?? "";
  const set = (choices: Record<string, string>) => go(chosen(choices), true);
  return (
    <>
      <div class="row">
        <input type="search" class="filter-text" aria-label="Search what is loaded" placeholder="Search what is loaded" value={query.value.get("text") ?? ""} onInput={(event) => set({ text: event.currentTarget.value })} />
        {may("list_keys") && <KeyChoice value={key} choose={(key) => set({ key })} />}
        <label class="check">
          <input type="checkbox" checked={query.value.has("failed")} onChange={(event) => set({ failed: event.currentTarget.checked ? "1" : "" })} />
          Failed only
        </label>
      </div>
      <Entries key={key} keyId={key} />
    </>
  );
}

/** Names of keys may be alike, so each has its prefix. */
function KeyChoice({ value, choose }: { value: string; choose: (id: string) => void }) {
  const { data, error } = useLoad((signal) => take(api.GET("/api/v1/keys", { signal })), []);
  if (error) return <Failure error={error} />;
  const keys = data ?? [];
  const isKnown = value === "" || keys.some((one) => one.id === value);
  return (
    <select class="auto key-choice" aria-label="Key" value={value} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">all keys</option>
      {!isKnown && <option value={value}>{visible(value)}</option>}
      {keys.map((one) => <option key={one.id} value={one.id}>{visible(`${one.name} (${one.prefix}…)`)}{one.revoked_at !== null && ", revoked"}</option>)}
    </select>
  );
}

/** What one key did, or all. The server filters by key; the other filters are for what is loaded. */
function Entries({ keyId }: { keyId: string }) {
  const page = (after: string | null, signal?: AbortSignal) => {
    const wanted = { limit: PAGE, ...(keyId !== "" && { key_id: keyId }), ...(after !== null && { after }) };
    return take(api.GET("/api/v1/audit", { params: { query: wanted }, signal }));
  };
  const loaded = useLoad((signal) => page(null, signal), []);
  const { busy, error, run } = useAction();
  const older = () =>
    void run(async () => {
      const known = loaded.data!;
      const next = await page(known.data[known.data.length - 1]!.id);
      loaded.set({ ...next, data: [...known.data, ...next.data] });
    });
  return (
    <Load of={loaded}>
      {({ data, has_more }) => (
        <>
          <Table all={data} />
          {error && <Failure error={error} />}
          {has_more && <div><button type="button" disabled={busy} onClick={older}>Older entries</button></div>}
        </>
      )}
    </Load>
  );
}

function Table({ all }: { all: Entry[] }) {
  const word = (query.value.get("text") ?? "").trim().toLowerCase();
  const onlyFailed = query.value.has("failed");
  const found = all.filter((one) => (!onlyFailed || isFailed(one)) && (word === "" || textOf(one).includes(word)));
  const isFiltered = onlyFailed || word !== "";
  return (
    <>
      <p class="muted" role="status">{isFiltered ? `${plural(found.length, "entry", "entries")} of ${number(all.length)} that are loaded` : plural(all.length, "entry", "entries")}</p>
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Audit trail">
        <table>
          <thead><tr><th scope="col">When</th><th scope="col">Key</th><th scope="col">What</th><th scope="col">On</th><th scope="col">Answer</th><th scope="col">Request</th></tr></thead>
          <tbody>
            {found.map((one) => (
              <tr key={one.id}>
                <td><Time at={one.created_at} exact /></td>
                <td class="who"><Untrusted text={nameOf(one)} /></td>
                <td><code><Untrusted text={one.action} /></code></td>
                <td class="object"><Untrusted text={objectOf(one)} /></td>
                <td>{one.status !== null && <Badge tone={isFailed(one) ? "bad" : "good"}>{one.status}</Badge>}</td>
                <td>{one.request_id !== null && <code class="request"><Untrusted text={one.request_id} /></code>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
