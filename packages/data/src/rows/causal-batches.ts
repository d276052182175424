import { type HostTensor, tensor } from "@mp/core";
import { integer, optional, optionsCheck, truth } from "../check-arguments.js";
import { checkDataset, type Dataset, toDataset, withCursor } from "../dataset.js";
import { invalid } from "../errors.js";
import {
  type CausalExample,
  IGNORED,
  type Learned,
  nextLearned,
  type TooLong,
  tooLongCheck,
} from "./causal-example.js";

export interface CausalBatchOptions {
  /** Number of rows in a batch. */
  readonly batch: number;
  /** Number of tokens in a row. */
  readonly length: number;
  /**
   * Whether to fill each row with as many consecutive whole examples as fit; default true. Otherwise each row has one
   * example.
   */
  readonly pack?: boolean;
  /** The token that pads rows, which the loss ignores; default 0. */
  readonly padding?: number;
  /** What to do with examples longer than a row; default `refuse`. */
  readonly tooLong?: TooLong;
}

/** Rows of tokens; examples in one row do not attend to each other. */
export interface CausalBatch {
  /** [batch, length]. */
  readonly ids: HostTensor<"i32">;
  /** [batch, length], the token after each token; -100, the loss's `ignoreIndex`, where it does not count. */
  readonly targets: HostTensor<"i32">;
  /** [batch, length], each token's position in its example, from 0. */
  readonly positions: HostTensor<"i32">;
  /** [batch, length], the number of each token's example in its row, from 1; 0 for padding. */
  readonly segments: HostTensor<"i32">;
  /** [batch, 1, length, length], true where a token attends: to its own example up to itself; padding to padding. */
  readonly mask: HostTensor<"bool">;
}

/** Largest number of elements of a mask, the limit of engines' typed arrays. */
const MOST_ELEMENTS = 2 ** 31 - 1;

const checkOptions = optionsCheck<CausalBatchOptions>(
  {
    batch: integer(1),
    length: integer(1),
    pack: optional(truth),
    padding: optional(integer(0)),
    tooLong: tooLongCheck,
  },
  "{ batch: 4, length: 512 }",
);

/**
 * Makes batches of one shape for a causal language model, with the examples in the dataset's order. Packing leaves
 * little padding, but the model must then use `mask` and `positions`, or examples would attend to earlier ones. The
 * last batch is padded with rows that the loss ignores. Cursors are those of the original dataset.
 * @throws MP_INVALID_ARGUMENT for an invalid dataset or option, and during a pass for an invalid or too long example,
 *   naming its file and row
 */
export function causalBatches(
  examples: Dataset<CausalExample>,
  options: CausalBatchOptions,
): Dataset<CausalBatch> {
  checkDataset("causalBatches: examples", examples);
  checkOptions("causalBatches", options);
  const { batch, length, pack = true, padding = 0, tooLong = "refuse" } = options;
  if (batch * length ** 2 > MOST_ELEMENTS)
    throw invalid(
      `causalBatches: the mask [${batch}, 1, ${length}, ${length}] must have at most ${MOST_ELEMENTS} elements; pass a smaller batch or length`,
    );
  return toDataset((cursor, pass) => {
    const source = examples.iterate(cursor, pass);
    const take = () => nextLearned("causalBatches", source, length, tooLong);
    let place = source.cursor;
    async function* run(): AsyncGenerator<CausalBatch, undefined> {
      try {
        // The first example that does not fit begins the next row, and a resumed run reads it again.
        let next = await take();
        while (next !== undefined) {
          let before = source.cursor;
          const rows: Learned[][] = [];
          while (rows.length < batch && next !== undefined) {
            const row: Learned[] = [];
            let left = length;
            do {
              row.push(next);
              left -= next.ids.length;
              // Only the cursor after the last row is needed, and a shuffled dataset's cursor is long.
              if (rows.length === batch - 1) before = source.cursor;
              next = await take();
            } while (pack && next !== undefined && next.ids.length <= left);
            rows.push(row);
          }
          place = next === undefined ? source.cursor : before;
          yield batchTensors(rows, batch, length, padding);
        }
      } finally {
        await source.return?.();
      }
    }
    return withCursor(run(), () => place);
  });
}

function batchTensors(
  rows: readonly (readonly Learned[])[],
  batch: number,
  length: number,
  padding: number,
): CausalBatch {
  const shape = [batch, length];
  const ids = new Int32Array(batch * length).fill(padding);
  const targets = new Int32Array(batch * length).fill(IGNORED);
  const positions = new Int32Array(batch * length);
  const segments = new Int32Array(batch * length);
  const mask = new Uint8Array(batch * length * length);
  for (let row = 0; row < batch; row++) {
    const end = (row + 1) * length;
    let start = row * length;
    for (const [at, example] of [...(rows[row] ?? []), undefined].entries()) {
      const stop = example === undefined ? end : start + example.ids.length;
      if (example !== undefined) {
        ids.set(example.ids, start);
        targets.set(example.targets, start);
        segments.fill(at + 1, start, stop);
      }
      for (let token = start; token < stop; token++) {
        positions[token] = token - start;
        const first = token * length + start - row * length;
        mask.fill(1, first, first + token - start + 1);
      }
      start = stop;
    }
  }
  return {
    ids: tensor(ids, shape),
    targets: tensor(targets, shape),
    positions: tensor(positions, shape),
    segments: tensor(segments, shape),
    mask: tensor(mask, [batch, 1, length, length], "bool"),
  };
}
