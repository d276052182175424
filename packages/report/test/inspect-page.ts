/** What a reader would see of a page, found out inside the browser. */

export interface Inspection {
  /** Plots that are shown. */
  readonly plots: readonly PlotInspection[];
  /** Wider than the window: the page scrolls sideways. */
  readonly overflowX: number;
  readonly scripts: number;
}

export interface PlotInspection {
  readonly label: string;
  /** Drawn shapes with an extent, axes not counted. */
  readonly marks: number;
  /** Texts that reach out of their plot, and pairs that lie over each other. */
  readonly problems: readonly string[];
}

/** Runs in the page: it may use nothing from around it. */
export function inspectPage(): Inspection {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const isShown = (element: Element): boolean => element.getClientRects().length > 0;
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
    const outside = texts.filter(
      ({ box }) =>
        box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom,
    );
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
      problems: [...outside.map(({ text }) => `"${text}" reaches out`), ...over],
    };
  };
  return {
    plots: [...document.querySelectorAll("svg")].filter(isShown).map(inspect),
    overflowX: document.documentElement.scrollWidth - window.innerWidth,
    scripts: document.querySelectorAll("script, iframe, object, img, link[rel=stylesheet]").length,
  };
}
