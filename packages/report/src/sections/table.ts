import { html, type Markup } from "../html.js";

export interface Column<Row> {
  readonly head: string;
  /** Whether cells are numbers, aligned to the right. */
  readonly isNumber?: boolean;
  /** Whether cells are paths or names, in which lines may break anywhere. */
  readonly isName?: boolean;
  /** Whether cells are text of several words. */
  readonly isWords?: boolean;
  readonly cell: (row: Row) => Markup | string | number;
}

/** Makes a table that scrolls if it is wider than the page. */
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
