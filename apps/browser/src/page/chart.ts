/** Draws plots as SVG, and redraws them with new data. */

const NAMESPACE = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [460, 200];
const [LEFT, RIGHT, TOP, BOTTOM] = [66, 10, 10, 28];
/** Largest number of points of a line; more points than the plot has pixels would overlap. */
const MOST_POINTS = 400;

export interface Line {
  readonly class: string;
  /** Values of the steps, from step 1. */
  readonly values: readonly number[];
}

export interface LinePlot {
  readonly lines: readonly Line[];
  /** Steps that are marked. */
  readonly marks: readonly number[];
  readonly tick: (value: number) => string;
  /** Text alternative to the plot. */
  readonly description: string;
}

/** Lines over the steps of a run. */
export function drawLines(svg: SVGElement, { lines, marks, tick, description }: LinePlot): void {
  const thinned = lines.map(({ values }) => thin(values));
  const shown = thinned.flat().filter(({ value }) => Number.isFinite(value));
  const steps = Math.max(2, ...lines.map(({ values }) => values.length));
  const [low, high] = niceRange(shown.map(({ value }) => value));
  const x = (step: number): number => LEFT + ((step - 1) / (steps - 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number): number => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const ticks = [low, low + (high - low) / 2, high];
  begin(svg, description);
  for (const value of ticks) {
    element(svg, "line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) });
    text(svg, { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, tick(value));
  }
  for (const step of marks)
    element(svg, "line", { class: "skipped", x1: x(step), x2: x(step), y1: TOP, y2: HEIGHT - BOTTOM });
  thinned.forEach((points, index) => {
    const d = points
      .filter(({ value }) => Number.isFinite(value))
      .map(
        ({ step, value }, place) => `${place === 0 ? "M" : "L"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`,
      )
      .join("");
    element(svg, "path", { class: lines[index]?.class ?? "", d });
  });
  text(svg, { x: LEFT, y: HEIGHT - 8, "text-anchor": "start" }, "step 1");
  text(svg, { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, String(steps));
}

export interface Bars {
  /** The exponent of the first bar. */
  readonly first: number;
  readonly counts: readonly number[];
  readonly classOf: (exponent: number) => string;
  readonly description: string;
}

/** A bar for each binary exponent. */
export function drawBars(svg: SVGElement, { first, counts, classOf, description }: Bars): void {
  begin(svg, description);
  const highest = counts.reduce((most, count) => Math.max(most, count), 1);
  const width = (WIDTH - LEFT - RIGHT) / Math.max(1, counts.length);
  const base = HEIGHT - BOTTOM;
  counts.forEach((count, index) => {
    const height = (count / highest) * (base - TOP);
    const x = LEFT + index * width;
    element(svg, "rect", {
      class: classOf(first + index),
      x,
      y: base - height,
      width: Math.max(1, width - 1),
      height,
    });
  });
  element(svg, "line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: base, y2: base });
  text(svg, { x: LEFT, y: HEIGHT - 8, "text-anchor": "start" }, `2^${first}`);
  text(svg, { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, `2^${first + counts.length - 1}`);
  text(svg, { x: LEFT - 6, y: TOP + 8, "text-anchor": "end" }, String(highest));
}

interface Place {
  readonly step: number;
  readonly value: number;
}

/** Averages neighbors, so that at most MOST_POINTS remain. */
function thin(values: readonly number[]): readonly Place[] {
  const every = Math.max(1, Math.ceil(values.length / MOST_POINTS));
  return Array.from({ length: Math.ceil(values.length / every) }, (_, index) => {
    const part = values.slice(index * every, (index + 1) * every);
    return {
      step: index * every + part.length,
      value: part.reduce((sum, value) => sum + value, 0) / part.length,
    };
  });
}

/** The range of the values, rounded outwards to a fifth of the power of ten below its length. */
function niceRange(values: readonly number[]): readonly [number, number] {
  const [least, most] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  if (!(most > least)) return Number.isFinite(least) ? [least - 1, least + 1] : [0, 1];
  const unit = 10 ** Math.floor(Math.log10(most - least)) / 5;
  return [Math.floor(least / unit) * unit, Math.ceil(most / unit) * unit];
}

type Attributes = Readonly<Record<string, string | number>>;

function begin(svg: SVGElement, description: string): void {
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("aria-label", description);
  svg.replaceChildren();
}

function element(svg: SVGElement, name: string, attributes: Attributes): SVGElement {
  const made = document.createElementNS(NAMESPACE, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  svg.append(made);
  return made;
}

function text(svg: SVGElement, attributes: Attributes, content: string): void {
  element(svg, "text", attributes).textContent = content;
}
