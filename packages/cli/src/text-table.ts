type Pad = (cell: string, width: number, column: number) => string;

/** Aligns the columns of a table with spaces, to the left unless `pad` says otherwise. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  pad: Pad = (cell, width) => cell.padEnd(width),
): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) => widths.map((width, column) => pad(row[column] ?? "", width, column)))
    .map((cells) => cells.join("  ").trimEnd())
    .join("\n");
}

/** Formats a table with the first column to the left and the others to the right. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return alignColumns([header, ...rows], (cell, width, column) =>
    column === 0 ? cell.padEnd(width) : cell.padStart(width),
  );
}

/** Formats a table of rows. `columns` has, by heading, a function that formats a row's cell. */
export function columnTable<R>(
  rows: readonly R[],
  columns: Readonly<Record<string, (row: R) => string>>,
): string {
  const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row)));
  return textTable(Object.keys(columns), cells);
}
