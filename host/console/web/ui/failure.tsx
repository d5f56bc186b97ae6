import type { ApiError } from "../lib/api";
import { visible } from "../lib/format";
import { Untrusted } from "./text";

/** What the server said, with the id under which its log knows the request. */
export function Failure({ error, retry, action = "Try again" }: { error: ApiError; retry?: (() => void) | undefined; action?: string }) {
  return (
    <div class="failure" role="alert">
      <p>{visible(error.message)}</p>
      <RequestId id={error.requestId} code={error.code} />
      {retry && <button type="button" onClick={retry}>{action}</button>}
    </div>
  );
}

/** Why something failed in the background, with the request that began it. It is no news, so it is no alert. */
export function Reason({ text, request, max = 4000 }: { text: string; request: string | null; max?: number }) {
  return (
    <div class="failure">
      <p><Untrusted text={text} max={max} /></p>
      <RequestId id={request} />
    </div>
  );
}

/** The id under which the server's log has what failed. Nothing where none is known. */
export function RequestId({ id, code }: { id: string | null; code?: string }) {
  if (!id) return null;
  return <p class="muted">Request <code>{visible(id)}</code>{code && <> · {code}</>}</p>;
}
