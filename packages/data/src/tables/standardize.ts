import { type HostTensor, tensor } from "@mp/core";
import { shown } from "@mp/graph/internal";
import { claim, listOf, oneOf, optional, optionsCheck } from "../check-arguments.js";
import { invalid } from "../errors.js";

/** Rows with numbers by name, as `readRows` gives them. */
export type TableRow = Readonly<Record<string, unknown>>;

/** Mean and deviation of a column: a plain value, to save as JSON with the model. */
export interface ColumnStatistics {
  readonly name: string;
  readonly mean: number;
  /** Of the whole column, not of a sample; 1 for a constant column. */
  readonly deviation: number;
}

export interface StandardizeOptions {
  /**
   * What becomes of a value that is null, undefined or NaN: `refuse` (default) throws, `mean` takes the column's mean,
   * and `previous` the last value before it in the rows, or the mean if there is none.
   */
  readonly missing?: "refuse" | "mean" | "previous";
}

const checkRows = claim("a list of rows, not empty", (value) => Array.isArray(value) && value.length > 0);
const checkNames = listOf("names of columns", (value) => typeof value === "string");
const checkColumns = listOf("what columnStatistics gives", (value) => {
  const { name, mean, deviation } = (value ?? {}) as Partial<ColumnStatistics>;
  return typeof name === "string" && Number.isFinite(mean) && Number.isFinite(deviation) && deviation !== 0;
});
const checkOptions = optionsCheck<StandardizeOptions>(
  { missing: optional(oneOf("refuse", "mean", "previous")) },
  '{ missing: "mean" }',
);

/** The number of a row's column; undefined if it is missing. */
function read(what: string, row: TableRow, name: string, at: number): number | undefined {
  const value = row?.[name];
  if (value === null || value === undefined || Number.isNaN(value)) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw invalid(
    `${what}: column ${shown(name)} of row ${at + 1} must be a finite number or missing, got ${shown(value)}; read it with columns: { ${name}: "number?" }`,
  );
}

/**
 * Mean and deviation of columns of numbers over rows, as scikit-learn's `StandardScaler`; missing values are left out.
 * @throws MP_INVALID_ARGUMENT for a value that is no number, or a column without any
 */
export function columnStatistics(rows: readonly TableRow[], names: readonly string[]): ColumnStatistics[] {
  checkRows("columnStatistics: rows", rows);
  checkNames("columnStatistics: names", names);
  return names.map((name) => {
    const values = rows.flatMap((row, at) => read("columnStatistics", row, name, at) ?? []);
    if (values.length === 0)
      throw invalid(`columnStatistics: column ${shown(name)} must have values, and all of them are missing`);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    return { name, mean, deviation: Math.sqrt(variance) || 1 };
  });
}

/**
 * (value - mean) / deviation of each column, f32 [rows, columns], in the order of the statistics. To go back,
 * y · deviation + mean.
 * @throws MP_INVALID_ARGUMENT for a value that is no number, or is missing if `missing` is `refuse`
 */
export function standardize(
  rows: readonly TableRow[],
  columns: readonly ColumnStatistics[],
  options: StandardizeOptions = {},
): HostTensor<"f32"> {
  checkRows("standardize: rows", rows);
  checkColumns("standardize: columns", columns);
  checkOptions("standardize", options);
  const { missing = "refuse" } = options;
  const data = new Float32Array(rows.length * columns.length);
  for (const [column, { name, mean, deviation }] of columns.entries()) {
    let previous = mean;
    for (const [at, row] of rows.entries()) {
      const value = read("standardize", row, name, at);
      if (value === undefined && missing === "refuse")
        throw invalid(
          `standardize: column ${shown(name)} of row ${at + 1} must have a value; leave the row out, or pass missing: "mean" or "previous"`,
        );
      if (missing === "previous" && value !== undefined) previous = value;
      data[at * columns.length + column] = ((value ?? previous) - mean) / deviation;
    }
  }
  return tensor(data, [rows.length, columns.length]);
}
