import { type PlotOptions, plot } from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { html, Markup } from "./html.js";

/** The size of a plot. Each figure is drawn for two page widths, so that its text is never scaled. */
export interface Room {
  readonly width: number;
  readonly isNarrow: boolean;
}

export interface Figure {
  readonly title: string;
  /** Text alternative to the figure. */
  readonly description: string;
  readonly draw: (room: Room) => PlotOptions;
  /** Whether the figure's column is narrow on a wide page, too. */
  readonly isNarrow?: boolean;
  /** The meaning of colors and signs. */
  readonly legend?: readonly LegendEntry[];
  readonly caption?: Markup | string;
}

export interface LegendEntry {
  /** A CSS color. */
  readonly color: string;
  readonly text: string;
}

/** Rooms in CSS pixels, narrow enough that text is never scaled down: an upright phone, and half of a wide page. */
const NARROW: Room = { width: 336, isNarrow: true };
const WIDE: Room = { width: 536, isNarrow: false };

const FONT_SIZE = 12;

/** An upper bound for the width of a label in pixels. */
export const textWidth = (text: string): number => text.length * FONT_SIZE * 0.62;

/**
 * Shortens a path to `length` characters. First drops the types of outer layers (`4/0 residual/body` becomes
 * `4/0/body`), then keeps the end, where the names of layers differ.
 */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const shorter = text.replace(/(^|\/)(\d+) [^/]+(?=\/)/, "$1$2");
  return shorter === text ? `…${text.slice(1 - length)}` : shorten(shorter, length);
}

/** Draws a figure for the page, whose style sheet has the palette. */
export function figure(figure: Figure): Markup {
  const { title, description, draw, isNarrow = false, legend = [], caption } = figure;
  const drawings = (isNarrow ? [NARROW] : [NARROW, WIDE]).map((room) =>
    drawing(draw(room), room, {
      role: "img",
      "aria-label": `${title}: ${description}`,
      class: `plot ${isNarrow ? "" : room.isNarrow ? "narrow" : "wide"}`.trim(),
    }),
  );
  return html`<figure>
<h3>${title}</h3>
${legend.length === 0 ? undefined : html`<ul class="legend">${legend.map(({ color, text }) => html`<li><i style="background:${color}"></i>${text}</li>`)}</ul>`}
${drawings}
${caption === undefined ? undefined : html`<figcaption>${caption}</figcaption>`}
</figure>
`;
}

export function drawing(
  options: PlotOptions,
  { width }: Room,
  attributes: Readonly<Record<string, string>>,
): Markup {
  const { document } = parseHTML("<html><body></body></html>");
  const svg = plot({
    ...options,
    document: document as unknown as Document,
    width,
    className: "plot",
    style: { fontSize: `${FONT_SIZE}px` },
  });
  // The page has one style sheet for all drawings.
  svg.querySelector("style")?.remove();
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  return new Markup(`${svg.outerHTML}\n`);
}
