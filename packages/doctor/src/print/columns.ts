/** Aligns rows in columns, two spaces apart. Escapes control characters, which names from files may contain. */
export function columns(cells: readonly (readonly string[])[], indent = ""): string {
  const rows = cells.map((row) => row.map(visible));
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return rows
    .map((row) => indent + row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** Escapes characters that control a terminal or change the direction of text. */
export const visible = (text: string): string =>
  text.replaceAll(
    /\p{Cc}|\p{Bidi_Control}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
