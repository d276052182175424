import { html, type Markup } from "../html.js";

export interface Column<Row> {
  readonly head: string;
  /** Digits are set in a column of their own width and to the right. */
  readonly isNumber?: boolean;
  /** A path or a name that may be broken anywhere. */
  readonly isName?: boolean;
  /** More than a word or two. */
  readonly isWords?: boolean;
  readonly cell: (row: Row) => Markup | string | number;
}

/** A table that scrolls by itself where it is wider than the page. */
export function table<Row>(label: string, columns: readonly Column<Row>[], rows: readonly Row[]): Markup {
  const cellClass = ({ isNumber, isName, isWords }: Column<Row>): string =>
    isNumber ? "number" : isName ? "name" : isWords ? "words" : "";
  return html`<div class="table" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${columns.map((column) => html`<th scope="col" class="${cellClass(column)}">${column.head}</th>`)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr>${columns.map((column) => html`<td class="${cellClass(column)}">${column.cell(row)}</td>`)}</tr>
`,
  )}</tbody></table></div>
`;
}
