// Two curves over the same time: the version that served until now, and the new one.

export interface Point {
  /** Milliseconds since 1970. */
  at: number;
  old: number;
  new: number;
}

const WIDTH = 320;
const HEIGHT = 90;

export function Curve({ title, points, show }: { title: string; points: Point[]; show: (value: number) => string }) {
  const first = points[0]!.at;
  const span = Math.max(points[points.length - 1]!.at - first, 1);
  const most = Math.max(...points.map((one) => Math.max(one.old, one.new)));
  const line = (value: (point: Point) => number) =>
    points.map((one) => `${(((one.at - first) / span) * WIDTH).toFixed(1)},${(HEIGHT - (value(one) / (most || 1)) * (HEIGHT - 6) - 2).toFixed(1)}`).join(" ");
  const last = points[points.length - 1]!;
  return (
    <figure class="curve">
      <figcaption>
        <strong>{title}</strong>
        <span class="old">old {show(last.old)}</span> <span class="new">new {show(last.new)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${title}: old ${show(last.old)}, new ${show(last.new)}, at most ${show(most)}`}>
        <polyline class="old" points={line((one) => one.old)} />
        <polyline class="new" points={line((one) => one.new)} />
      </svg>
    </figure>
  );
}
