import type { ModelSummary } from "./summary.js";

/** Largest number of characters in a row of the table. */
const WIDTH = 100;

/** Formats a summary as a table of at most 100 characters per row, followed by the memory by kind. */
export function formatSummary({ layers, parameters, frozen, memory }: ModelSummary): string {
  const rows = layers.map((each) => [
    layerName(each),
    `[${each.shape.join(", ")}]`,
    groupThousands(each.parameters),
    groupThousands(each.frozen),
    each.dtypes.join(" "),
  ]);
  const head = ["layer", "output", "parameters", "frozen", "computes in"];
  const foot = ["total", "", groupThousands(parameters), groupThousands(frozen), ""];
  const table = [head, ...rows, foot];
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const others = widths.slice(1).reduce((sum, width) => sum + width + 2, 0);
  widths[0] = Math.min(widths[0] ?? 0, Math.max(16, WIDTH - others));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 2 || column === 3 ? cell.padStart(width) : shorten(cell, width).padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const rule = "─".repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  const kinds = Object.entries(memory.kinds).flatMap(([kind, bytes]) =>
    bytes > 0 ? [`  ${words(kind).padEnd(14)}${formatBytes(bytes)}`] : [],
  );
  return [
    line(head),
    rule,
    ...rows.map(line),
    rule,
    line(foot),
    `memory of a step: at most ${formatBytes(memory.peak)} at once, ${formatBytes(memory.state)} between steps (computed)`,
    ...kinds,
  ].join("\n");
}

/** The name of a layer in the table. A layer without its own scope, such as a function, is named `1 relu`. */
function layerName({ layer, label = "" }: ModelSummary["layers"][number]): string {
  if (layer === "") return "(outside layers)";
  const [, name] = /(?:^|\/)\d+ ([^/]+)$/.exec(label) ?? [];
  return name === undefined ? layer : `${layer} ${name}`;
}

/** Truncates the beginning of a long path, because its end says more. */
const shorten = (cell: string, width: number): string =>
  cell.length <= width ? cell : `…${cell.slice(cell.length - width + 1)}`;

const groupThousands = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
const words = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const value = bytes / 2 ** (10 * power);
  return `${power === 0 ? bytes : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[power]}`;
}
