// How charts look in light and in dark. Vega computes with colours, so they are values here and not CSS properties. Those of
// categories have a contrast of at least 3 to the card.

import { EXACTLY } from "./exact";

const LIGHT = {
  ink: "#1f2421",
  soft: "#5b625d",
  line: "#dfe0da",
  categories: ["#2f7d66", "#c05a24", "#4568b2", "#a3386f", "#84701c", "#6a55a8", "#24829a", "#b5403a", "#5d6b64", "#7d4e24"],
  ramp: ["#dcebe4", "#7fb3a0", "#1d4a3d"],
};

const DARK: typeof LIGHT = {
  ink: "#e8eae6",
  soft: "#a3aaa5",
  line: "#363b3e",
  categories: ["#7cc7ad", "#f0a070", "#8fb0ee", "#e38dbb", "#d2bd62", "#b5a4ea", "#6fc9de", "#f09389", "#aab4ae", "#c99a6b"],
  ramp: ["#2b3a35", "#4d8a77", "#b9f0d9"],
};

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif';
/** Numbers of axes, without the noise of binary fractions. */
const NUMBERS = ",.12~r";

/** The configuration of Vega-Lite, with the format of times that are read one by one. */
export function theme(isDark: boolean, timeFormat: string) {
  const { ink, soft, line, categories, ramp } = isDark ? DARK : LIGHT;
  const text = { labelColor: soft, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600 as const, labelLimit: 170 };
  return {
    // What a screen reader says is written beside the drawing, not into each of its marks.
    aria: false,
    background: "transparent",
    font: FONT,
    numberFormat: NUMBERS,
    customFormatTypes: true,
    tooltipFormat: { numberFormat: "", numberFormatType: EXACTLY, timeFormat },
    padding: 2,
    axis: { ...text, domainColor: line, gridColor: line, tickColor: line, titlePadding: 8 },
    axisBand: { ticks: false },
    legend: { ...text, symbolType: "circle" as const, gradientLength: 160 },
    header: { ...text, labelFontWeight: 600 as const, labelColor: ink },
    view: { stroke: null },
    range: { category: categories, heatmap: ramp, ramp },
    mark: { color: categories[0]!, aria: false },
    bar: { cornerRadiusEnd: 2 },
    line: { strokeWidth: 2 },
    point: { filled: true, size: 45, opacity: 0.75 },
    rect: { stroke: isDark ? "#1e2123" : "#ffffff", strokeWidth: 1 },
    events: { bind: "none" as const },
  };
}
