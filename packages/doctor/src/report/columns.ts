/**
 * Rows in columns, two spaces apart; the last one is not padded. Names come from files: their control characters are
 * escaped, so that they cannot steer a terminal.
 */
export function columns(cells: readonly (readonly string[])[], indent = ""): string {
  const rows = cells.map((row) => row.map(visible));
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) => indent + row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

const visible = (cell: string): string =>
  cell.replaceAll(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
