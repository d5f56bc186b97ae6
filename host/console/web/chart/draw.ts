// Draws a chart with Vega. Only this file imports it, and it is imported when the first chart is shown: it is larger than
// all the rest. Expressions are interpreted, because the policy of the page allows no `eval`, and nothing is ever loaded.
import { None, View, expressionFunction, parse, type LoggerInterface, type Spec } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";
import { EXACTLY, exactly, timeFormat } from "./exact";
import { across, fit } from "./fit";
import { locale } from "./locale";
import type { ChartSpec } from "./spec";
import { theme } from "./theme";
import { Tip } from "./tip";

expressionFunction(EXACTLY, exactly);

/** No specification makes the browser ask for an address. */
const refuse = () => Promise.reject(new Error("a chart loads nothing"));
const NOTHING = { load: refuse, sanitize: refuse, http: refuse, file: refuse, options: {} };

/** Vega says failures to its log alone; this one keeps the first. */
class Log implements LoggerInterface {
  failure: unknown = null;
  level(): number & this {
    return None as number & this;
  }
  error(...said: readonly unknown[]) {
    this.failure ??= said.find((one) => one instanceof Error) ?? new Error(said.join(" "));
    return this;
  }
  warn() {
    return this;
  }
  info() {
    return this;
  }
  debug() {
    return this;
  }
}

export interface Picture {
  element: HTMLElement;
  /** Ends it: its listeners go. */
  close: () => void;
}

async function attempt(spec: ChartSpec, isDark: boolean): Promise<Picture> {
  const log = new Log();
  const compiled = compile(spec as unknown as TopLevelSpec, { config: theme(isDark, timeFormat(spec)), logger: log }).spec as Spec;
  const element = document.createElement("div");
  element.className = "drawing";
  const tip = new Tip(element);
  const view = new View(parse(compiled, undefined, { ast: true }), {
    expr: expressionInterpreter,
    loader: NOTHING as never,
    logger: log,
    renderer: "svg",
    container: element,
    locale: locale() as never,
    tooltip: (_handler, event, _item, value) => tip.show(event as MouseEvent, value),
  });
  const close = () => {
    view.finalize();
    tip.close();
  };
  await view.runAsync();
  if (log.failure) {
    close();
    throw log.failure;
  }
  // The box around it says all this.
  for (const name of ["role", "aria-label", "aria-roledescription"]) element.removeAttribute(name);
  element.setAttribute("aria-hidden", "true");
  return { element, close };
}

/** Draws it for a width. Charts that stand beside one another know what their axes take only when they are drawn. */
export async function draw(from: ChartSpec, width: number, isDark: boolean): Promise<Picture> {
  const spec = fit(from, width);
  const first = await attempt(spec, isDark);
  const over = Number(first.element.querySelector("svg")!.getAttribute("width")) - width;
  if (Math.abs(over) <= 2 || typeof spec["width"] !== "number") return first;
  first.close();
  return attempt({ ...spec, width: Math.max(spec["width"] - Math.ceil(over / across(spec)), 40) }, isDark);
}
