import { useState } from "preact/hooks";
import { endReason, key } from "./lib/session";
import { enter, signIn } from "./lib/sign_in";
import { useAction } from "./lib/load";
import { Failure } from "./ui/failure";
import { Field } from "./ui/field";

/** Asks whether a link may take the place of the key that the tab has. */
export function LinkPage({ code }: { code: string }) {
  const { busy, run } = useAction();
  return (
    <main class="sign-in">
      <h1>Mindhost</h1>
      <div class="card stack">
        <p>This tab is signed in already. The link signs it out, and in with the key of whoever made the link, into their workspace. Use it only if you made it or asked for it.</p>
        <div class="actions">
          <button type="button" class="primary" disabled={busy} onClick={() => void run(() => enter(null))}>Keep my session</button>
          <button type="button" disabled={busy} onClick={() => void run(() => enter(code))}>Use the link</button>
        </div>
      </div>
    </main>
  );
}

/** Takes a key, once. */
export function SignInPage() {
  const [text, setText] = useState("");
  const [keep, setKeep] = useState(false);
  const { busy, error, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(() => signIn(text.trim(), keep));
  };
  return (
    <main class="sign-in">
      <h1>Mindhost</h1>
      <p class="lead">Questions to your databases, in words and in SQL.</p>
      <form class="card stack" onSubmit={submit}>
        {endReason.value && !error && <Failure error={endReason.value} retry={key.value ? () => void run(() => enter(null)) : undefined} />}
        <Field label="API key" help="The server's first start printed it, or wrote it to admin.key in the data directory.">
          {(id) => (
            <input
              id={id} type="password" autocomplete="off" spellcheck={false} required placeholder="mh_…" value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <label class="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
          Stay signed in until this tab is closed
        </label>
        {error && <Failure error={error} />}
        <button class="primary" type="submit" disabled={busy}>{busy ? "Signing in …" : "Sign in"}</button>
      </form>
      <p class="muted">Or run <code>mindhost console</code> beside the server: it prints a link that signs you in.</p>
    </main>
  );
}
