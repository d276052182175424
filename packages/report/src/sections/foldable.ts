import { html, type Markup } from "../html.js";

export interface Folded<Row> {
  /** Label of the folded part, with the number of its items. */
  readonly summary: string;
  readonly rows: readonly Row[];
  /** The table of the rows. */
  readonly wide: Markup;
  /** A row where the table would be wider than the screen. */
  readonly card: (row: Row) => Markup;
}

/** Rows of a table, and of a list on a phone, that are not folded away. */
const MOST_SHOWN = 40;
const MOST_SHOWN_NARROW = 12;

/** Rows as a table on a wide page and as a list on a narrow one; many are closed at first. */
export function foldable<Row>({ summary, rows, wide, card }: Folded<Row>): Markup {
  const details = (width: "wide" | "narrow", most: number, content: Markup): Markup =>
    html`<details class="${width}"${rows.length <= most ? html` open` : undefined}><summary>${summary}</summary>
${content}</details>`;
  return html`${details("wide", MOST_SHOWN, wide)}
${details("narrow", MOST_SHOWN_NARROW, html`<ul class="cards">${rows.map(card)}</ul>`)}`;
}
