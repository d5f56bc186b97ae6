// A chart in the page, as wide as there is room, in the colours of the reader.
import { useEffect, useRef, useState } from "preact/hooks";
import { toError, type ApiError } from "../lib/api";
import { visible } from "../lib/format";
import { Failure } from "../ui/failure";
import { Untrusted } from "../ui/text";
import type { Picture } from "./draw";
import { describe, type Chart } from "./spec";

/** Milliseconds until a window that is pulled wider is drawn for. */
const SETTLED = 120;

export function ChartView({ chart }: { chart: Chart }) {
  const box = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    const holder = box.current!;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let picture: Picture | null = null;
    let [turn, width, timer] = [0, 0, 0];
    const show = async () => {
      const own = ++turn;
      try {
        const { draw } = await import("./draw");
        if (own !== turn) return;
        const made = await draw(chart.spec, width, dark.matches);
        if (own !== turn) return made.close();
        picture?.close();
        picture = made;
        holder.replaceChildren(made.element);
        setDrawn(true);
        setError(null);
      } catch (thrown) {
        if (own === turn) setError(toError(thrown));
      }
    };
    const sized = new ResizeObserver(() => {
      const now = Math.floor(holder.clientWidth);
      if (now === width || now === 0) return;
      const isFirst = width === 0;
      width = now;
      clearTimeout(timer);
      timer = window.setTimeout(() => void show(), isFirst ? 0 : SETTLED);
    });
    const recolour = () => void show();
    sized.observe(holder);
    dark.addEventListener("change", recolour);
    return () => {
      turn++;
      clearTimeout(timer);
      sized.disconnect();
      dark.removeEventListener("change", recolour);
      picture?.close();
    };
  }, [chart]);
  return (
    <figure class="chart">
      <figcaption class="heading"><Untrusted text={chart.spec.title} /></figcaption>
      {error && <Failure error={error} />}
      {!drawn && !error && <p class="muted" role="status">Drawing the chart …</p>}
      <div class={drawn ? "chart-box" : "chart-box waiting"} role="img" aria-label={visible(describe(chart.spec))} ref={box} />
      {chart.reason && <p class="muted"><Untrusted text={chart.reason} /></p>}
    </figure>
  );
}
