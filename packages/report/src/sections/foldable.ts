import { html, type Markup } from "../html.js";

export interface Foldable<Row> {
  /** Label of the folded part, with the number of its items. */
  readonly summary: string;
  readonly rows: readonly Row[];
  /** The table of the rows. */
  readonly wide: Markup;
  /** A row in the list for narrow pages. */
  readonly card: (row: Row) => Markup;
}

/** More rows close the table at first. On a phone, more than `MOST_SHOWN_NARROW` close the list. */
const MOST_SHOWN = 40;
const MOST_SHOWN_NARROW = 12;

/** Shows rows as a table on a wide page and a list on a narrow one, closed at first if there are many. */
export function foldable<Row>({ summary, rows, wide, card }: Foldable<Row>): Markup {
  const details = (width: "wide" | "narrow", most: number, content: Markup): Markup =>
    html`<details class="${width}"${rows.length <= most ? html` open` : undefined}><summary>${summary}</summary>
${content}</details>`;
  return html`${details("wide", MOST_SHOWN, wide)}
${details("narrow", MOST_SHOWN_NARROW, html`<ul class="cards">${rows.map(card)}</ul>`)}`;
}
