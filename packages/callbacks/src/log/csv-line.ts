/** Formats a line of a CSV file (RFC 4180), without the end of line; cells must not contain line ends. */
export function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
}

/** Splits a line of `csvLine` into its cells. */
export function csvCells(line: string): readonly string[] {
  const cells = line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? [];
  // The pattern also matches the empty end of the line, which is a cell only after a final comma.
  const found = line.endsWith(",") ? cells : cells.filter((cell, at) => cell !== "" || at === 0);
  return found.map((cell) => {
    const bare = cell.endsWith(",") ? cell.slice(0, -1) : cell;
    return bare.startsWith('"') ? bare.slice(1, -1).replaceAll('""', '"') : bare;
  });
}
