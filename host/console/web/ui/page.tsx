import type { ComponentChildren } from "preact";
import { mayPass, type ApiError } from "../lib/api";
import { Failure } from "./failure";

/** The head of a page: where it is, its name, and what can be done. */
export function Head(props: { title: ComponentChildren; up?: ComponentChildren; about?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <div class="head">
      <div>
        {props.up && <p class="up">{props.up}</p>}
        <h1>{props.title}</h1>
        {props.about && <p class="muted">{props.about}</p>}
      </div>
      {props.children && <div class="actions">{props.children}</div>}
    </div>
  );
}

/** What is loaded, or how far it is. */
export function Load<T>({ of, children }: { of: { data: T | null; error: ApiError | null; reload: () => void }; children: (data: T) => ComponentChildren }) {
  // What is refused stays refused, so there is nothing to try again.
  const retry = of.error && mayPass(of.error) ? of.reload : undefined;
  if (of.error && of.data === null) return <Failure error={of.error} retry={retry} />;
  if (of.data === null) return <p class="muted loading" role="status">Loading …</p>;
  return (
    <>
      {of.error && <Failure error={of.error} retry={retry} />}
      {children(of.data)}
    </>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="heading">{title}</p>
      {children}
    </div>
  );
}

export function Badge({ tone = "plain", children }: { tone?: "plain" | "good" | "warn" | "bad" | "busy"; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Progress({ label, value }: { label: string; value?: number | undefined }) {
  return <progress aria-label={label} max={1} value={value} />;
}
