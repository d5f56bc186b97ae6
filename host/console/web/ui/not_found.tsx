import { Link, href } from "../lib/router";

/** In place of a page that does not exist, and of one whose operations the role of the key may not call. */
export function NotFound() {
  return (
    <div class="page">
      <h1>There is no such page</h1>
      <p>Or your key may not see it.</p>
      <p><Link to={href("ask")}>Ask a Mind</Link></p>
    </div>
  );
}
