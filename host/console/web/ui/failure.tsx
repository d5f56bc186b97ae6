import type { ApiError } from "../lib/api";
import { visible } from "../lib/format";

/** What the server said, with the id under which its log knows the request. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{visible(error.message)}</p>
      {error.requestId && <p class="muted">Request <code>{error.requestId}</code> · {error.code}</p>}
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}
