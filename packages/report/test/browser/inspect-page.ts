/** Inspects a page in the browser, for what a reader sees of it. */

export interface Inspection {
  /** Plots that are shown. */
  readonly plots: readonly PlotInspection[];
  /** Pixels by which the page is wider than the window; above 0, it scrolls sideways. */
  readonly overflowX: number;
  readonly scripts: number;
  /** Size of the smallest text that is shown, in pixels of the screen. */
  readonly smallestText: number;
  /** Dtypes of the plan of casts that are shown, and how many of them only after scrolling sideways. */
  readonly dtypes: number;
  readonly dtypesOutside: number;
  /** Whether the plan of casts is folded away. */
  readonly isFolded: boolean;
  /** Largest distance in pixels between the zeros of the axes of two plots above each other. */
  readonly axesApart: number;
}

export interface PlotInspection {
  readonly label: string;
  /** Drawn shapes with an extent, axes not counted. */
  readonly marks: number;
  /** Texts that extend beyond their plot, and pairs that overlap. */
  readonly problems: readonly string[];
}

/** Runs in the page, so it must not use variables of this module. */
export function inspectPage(): Inspection {
  const isShown = (element: Element): boolean => element.getClientRects().length > 0;
  const plan = [...document.querySelectorAll("section[aria-labelledby=casts] details")].find(isShown);
  const isFolded = !plan?.hasAttribute("open");
  for (const details of document.querySelectorAll("details")) details.open = true;
  const sizeOf = (text: Element): number => {
    // A plot within a chart is as wide as its drawing.
    const svg = text.closest("svg.mp-chart") ?? text.closest("svg");
    const zoom =
      svg === null ? 1 : svg.getBoundingClientRect().width / (svg as SVGSVGElement).viewBox.baseVal.width;
    return Number.parseFloat(getComputedStyle(text).fontSize) * zoom;
  };
  const texts = [...document.querySelectorAll("svg text, p, li, td, th, dt, dd, summary, figcaption, code")];
  const dtypes = [
    ...document.querySelectorAll("section[aria-labelledby=casts] :is(b.f32, b.f16, b.bf16)"),
  ].filter(isShown);
  const zerosOf = (column: Element): readonly number[] =>
    [...column.querySelectorAll("svg text")]
      .filter(({ textContent }) => textContent === "zero")
      .map((text) => text.getBoundingClientRect().left);
  const apart = [...document.querySelectorAll(".columns > div")]
    .map(zerosOf)
    .map((places) => (places.length === 2 ? Math.max(...places) - Math.min(...places) : 999));
  const inspect = (svg: Element): PlotInspection => {
    const frame = svg.getBoundingClientRect();
    const shapes = [...svg.querySelectorAll("path, rect, circle, line")].filter((shape) => {
      const group = shape.closest("g[aria-label]")?.getAttribute("aria-label") ?? "";
      const { width, height } = shape.getBoundingClientRect();
      return !/axis|grid/.test(group) && (width > 0 || height > 0);
    });
    const texts = [...svg.querySelectorAll("text")].map((text) => ({
      text: text.textContent ?? "",
      box: text.getBoundingClientRect(),
    }));
    const outside = texts
      .map(({ text, box }) => {
        const { left, right, top, bottom } = frame;
        return { text, by: Math.max(left - box.left, box.right - right, top - box.top, box.bottom - bottom) };
      })
      .filter(({ by }) => by > 0.5);
    const over = texts.flatMap((one, index) =>
      texts
        .slice(index + 1)
        .filter(
          (other) =>
            Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left) > 0.5 &&
            Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top) > 2,
        )
        .map((other) => `"${one.text}" over "${other.text}"`),
    );
    return {
      label: svg.getAttribute("aria-label") ?? "",
      marks: shapes.length,
      problems: [...outside.map(({ text, by }) => `"${text}" reaches out by ${by.toFixed(1)}`), ...over],
    };
  };
  return {
    plots: [...document.querySelectorAll("svg")].filter(isShown).map(inspect),
    overflowX: document.documentElement.scrollWidth - window.innerWidth,
    smallestText: Math.min(...texts.filter(isShown).map(sizeOf)),
    dtypes: dtypes.length,
    dtypesOutside: dtypes.filter((dtype) => dtype.getBoundingClientRect().right > window.innerWidth).length,
    isFolded,
    axesApart: Math.max(0, ...apart),
    scripts: document.querySelectorAll("script, iframe, object, img, link[rel=stylesheet]").length,
  };
}
