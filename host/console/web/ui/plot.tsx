// The frame of a small chart: a labelled axis of values on the left, one of times below, and lines across. The labels are
// text of the page, so they keep their size however wide the chart is; only what is drawn is stretched.
import type { ComponentChildren } from "preact";

/** What is drawn lies within this box, with 0 at its lower edge. */
export const PLOT_WIDTH = 1000;
export const PLOT_HEIGHT = 100;

const STEPS = [1, 2, 3, 4, 5, 6, 8, 10];

/** Three values from 0 up, evenly spaced and round, so that the last is not below `most` or `least`. */
export function ticks(most: number, least: number): [number, number, number] {
  const half = Math.max(most, least) / 2;
  const power = 10 ** Math.floor(Math.log10(half));
  // Binary fractions: 3 times 0.1 is more than 0.3.
  const step = STEPS.map((one) => Number((one * power).toPrecision(3))).find((one) => one >= half * 0.999999) ?? half;
  return [0, step, 2 * step];
}

interface PlotProps {
  /** What a screen reader says in place of the picture. */
  label: string;
  /** Labels from the lower edge to the upper one, evenly spaced. */
  values: string[];
  /** Labels from left to right, evenly spaced, each with what is said on hover. */
  times: { text: string; title?: string }[];
  children: ComponentChildren;
}

export function Plot({ label, values, times, children }: PlotProps) {
  const height = (index: number) => PLOT_HEIGHT - (index / (values.length - 1)) * PLOT_HEIGHT;
  return (
    <div class="plot">
      <div class="plot-values" aria-hidden="true">{values.map((one, index) => <span key={index}>{one}</span>)}</div>
      <svg viewBox={`0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {values.map((_, index) => <line key={index} class="grid-line" x1={0} x2={PLOT_WIDTH} y1={height(index)} y2={height(index)} />)}
        {children}
      </svg>
      <div class="plot-times" aria-hidden="true">{times.map((one, index) => <span key={index} title={one.title}>{one.text}</span>)}</div>
    </div>
  );
}
