import type { ApiError } from "../lib/api";
import { visible } from "../lib/format";

/** What the server said, with the id under which its log knows the request. */
export function Failure({ error, retry, action = "Try again" }: { error: ApiError; retry?: (() => void) | undefined; action?: string }) {
  return (
    <div class="failure" role="alert">
      <p>{visible(error.message)}</p>
      {error.requestId && <p class="muted">Request <code>{error.requestId}</code> · {error.code}</p>}
      {retry && <button type="button" onClick={retry}>{action}</button>}
    </div>
  );
}
