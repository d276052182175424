import { batchingChecks } from "../batching.js";
import { claim, optional, optionsCheck } from "../check-arguments.js";
import { invalid } from "../errors.js";
import { permutation, randomStream } from "../random.js";

export interface SplitOptions {
  /** Share of the rows to keep for the test, above 0 and below 1; default 0.2. */
  readonly testShare?: number;
  /** Draws the rows of the test by this seed; by default they are the last ones, as a series needs it. */
  readonly shuffle?: { readonly seed: number };
}

const checkRows = claim("a list with at least two rows", (value) => Array.isArray(value) && value.length > 1);
const checkOptions = optionsCheck<SplitOptions>(
  {
    testShare: optional(
      claim("a number above 0 and below 1", (value) => typeof value === "number" && value > 0 && value < 1),
    ),
    shuffle: batchingChecks.shuffle,
  },
  "{ testShare: 0.2 }",
);

/**
 * Divides rows into those to train on and those of the test, each in their order. Fit everything, such as
 * `columnStatistics`, on `train`.
 * @throws MP_INVALID_ARGUMENT for fewer than two rows, or a share that leaves one part empty
 */
export function splitRows<R>(
  rows: readonly R[],
  options: SplitOptions = {},
): { readonly train: R[]; readonly test: R[] } {
  checkRows("splitRows: rows", rows);
  checkOptions("splitRows", options);
  const { testShare = 0.2, shuffle } = options;
  const kept = Math.round(testShare * rows.length);
  if (kept === 0 || kept === rows.length)
    throw invalid(
      `splitRows: testShare must leave rows in both parts, got ${testShare} of ${rows.length} rows; use another share or more rows`,
    );
  const order =
    shuffle === undefined
      ? Uint32Array.from(rows, (_, at) => rows.length - 1 - at)
      : permutation(rows.length, randomStream(shuffle.seed));
  const test = new Set(order.subarray(0, kept));
  return { train: rows.filter((_, at) => !test.has(at)), test: rows.filter((_, at) => test.has(at)) };
}
