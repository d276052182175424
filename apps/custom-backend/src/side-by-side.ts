const ROWS = 10;

/** Formats some of the losses, and the largest difference between them. */
export function sideBySide(runs: Readonly<Record<string, readonly number[]>>): string {
  const [own = [], theirs = []] = Object.values(runs);
  const every = Math.max(1, Math.floor(own.length / ROWS));
  const rows = own.flatMap((loss, index) => {
    if ((index + 1) % every !== 0) return [];
    return [[index + 1, loss, theirs[index] ?? Number.NaN].map((cell) => String(cell))];
  });
  const table = [["step", ...Object.keys(runs)], ...rows].map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(column === 0 ? 6 : 24))
      .join("")
      .trimEnd(),
  );
  const apart = own.map((loss, index) => Math.abs(loss - (theirs[index] ?? Number.NaN)) / Math.abs(loss));
  return [...table, `largest relative difference: ${Math.max(0, ...apart).toExponential(1)}`].join("\n");
}
