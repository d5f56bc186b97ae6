// Two curves over the same time: the version that served until now, and the new one. While a version is not called its
// curve has a gap.
import { clock, utc } from "../lib/format";
import { PLOT_HEIGHT, PLOT_WIDTH, Plot, ticks } from "../ui/plot";
import type { Mark, Point, Value } from "./samples";

interface CurveProps {
  title: string;
  from: number;
  points: Point[];
  marks: Mark[];
  /** What of a version is drawn. */
  of: (value: Value) => number;
  show: (value: number) => string;
  /** The upper end of the axis at least. */
  least: number;
  /** The name of a stage. */
  nameOf: (stage: Mark["stage"]) => string;
}

type Side = "old" | "new";

export function Curve({ title, from, points, marks, of, show, least, nameOf }: CurveProps) {
  const until = points[points.length - 1]!.at;
  const valueOf = (point: Point, side: Side) => (point[side] === null ? null : of(point[side]));
  const all = points.flatMap((one) => [valueOf(one, "old"), valueOf(one, "new")]).filter((one) => one !== null);
  const values = ticks(Math.max(0, ...all), least);
  const x = (at: number) => ((at - from) / Math.max(until - from, 1)) * PLOT_WIDTH;
  const y = (value: number) => PLOT_HEIGHT - (value / values[2]) * PLOT_HEIGHT;
  const newest = (side: Side) => {
    const last = points.findLast((one) => one[side] !== null);
    return last ? show(valueOf(last, side)!) : "not called";
  };
  const place = (point: Point, value: number) => `${x(point.at).toFixed(1)} ${y(value).toFixed(2)}`;
  const path = (side: Side) => {
    let isGap = true;
    const steps = points.map((one) => {
      const value = valueOf(one, side);
      const step = value === null ? "" : `${isGap ? "M" : "L"}${place(one, value)}`;
      isGap = value === null;
      return step;
    });
    return steps.join("");
  };
  /** Values between two gaps, each as a line of no length, which is drawn as a dot. */
  const dots = (side: Side) => {
    const values = points.map((one) => valueOf(one, side));
    const isAlone = (index: number) => (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
    return points.map((one, index) => (values[index] != null && isAlone(index) ? `M${place(one, values[index])}h0` : "")).join("");
  };
  const stages = marks.map((one) => `${nameOf(one.stage)} from ${clock(new Date(one.at))}`);
  return (
    <figure class="curve">
      <figcaption>
        <strong>{title}</strong>
        <span class="swatch old">old {newest("old")}</span> <span class="swatch new">new {newest("new")}</span>
      </figcaption>
      <Plot
        label={[`${title}: old ${newest("old")}, new ${newest("new")}, at most ${show(Math.max(0, ...all))}`, ...stages].join("; ")}
        values={values.map(show)}
        times={[from, (from + until) / 2, until].map((one) => ({ text: clock(new Date(one)), title: utc(new Date(one)) }))}
      >
        {marks.map((one) => (
          <g key={one.at}>
            <title>{`${utc(new Date(one.at))}: ${nameOf(one.stage)}`}</title>
            <line class="mark" x1={x(one.at)} x2={x(one.at)} y1={0} y2={PLOT_HEIGHT} />
          </g>
        ))}
        {(["old", "new"] as const).map((side) => (
          <g key={side} class={side}>
            <path d={path(side)} />
            <path class="dots" d={dots(side)} />
          </g>
        ))}
      </Plot>
      {stages.length > 0 && <p class="muted mark-of" title={marks.map((one) => utc(new Date(one.at))).join("; ")}>{stages.join("; ")}</p>}
    </figure>
  );
}
