import { type PlotOptions, plot } from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { html, Markup } from "./html.js";

/** Room for a plot; text in it is of one size on every screen, so that there is one drawing for each. */
export interface Room {
  readonly width: number;
  readonly isNarrow: boolean;
}

export interface Figure {
  readonly title: string;
  /** What it shows, for who cannot see it. */
  readonly description: string;
  readonly draw: (room: Room) => PlotOptions;
  /** Colors and signs in words. */
  readonly legend?: readonly LegendEntry[];
  readonly caption?: Markup | string;
}

export interface LegendEntry {
  /** A CSS color. */
  readonly color: string;
  readonly text: string;
}

/** In CSS pixels: a phone held upright, half of a wide page. */
const ROOMS: readonly Room[] = [
  { width: 340, isNarrow: true },
  { width: 560, isNarrow: false },
];

export const FONT_SIZE = 11;

/** An upper bound of how wide a label is, in pixels; there is no font to ask. */
export const textWidth = (text: string): number => text.length * FONT_SIZE * 0.62;

/** A label's last so many characters: the names of layers differ at their end. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `…${text.slice(1 - length)}`;
}

export function figure({ title, description, draw, legend = [], caption }: Figure): Markup {
  const drawings = ROOMS.map((room) => drawing(draw(room), room, `${title}: ${description}`));
  return html`<figure>
<h3>${title}</h3>
${legend.length === 0 ? undefined : html`<ul class="legend">${legend.map(({ color, text }) => html`<li><i style="background:${color}"></i>${text}</li>`)}</ul>`}
${drawings}
${caption === undefined ? undefined : html`<figcaption>${caption}</figcaption>`}
</figure>
`;
}

function drawing(options: PlotOptions, { width, isNarrow }: Room, label: string): Markup {
  const { document } = parseHTML("<html><body></body></html>");
  const svg = plot({
    ...options,
    document: document as unknown as Document,
    width,
    className: "plot",
    style: { fontSize: `${FONT_SIZE}px` },
  });
  // The page's own style sheet serves all of them.
  svg.querySelector("style")?.remove();
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.setAttribute("class", isNarrow ? "plot narrow" : "plot wide");
  return new Markup(`${svg.outerHTML}\n`);
}
