import { integer } from "./check-arguments.js";
import { checkDataset, type Dataset, toDataset, withCursor } from "./dataset.js";

const count = integer(1);
/**
 * The share of one rank in a data-parallel run: batch number `rank` out of every `size` batches. If fewer
 * batches than ranks are left at the end of a pass, they are dropped, so that every rank gets the same number
 * of batches. After each group of `size` batches, the cursor is that of the original dataset, and the same on
 * all ranks. Every rank makes all batches, and keeps one of each group.
 * @param ranks the trainer's option `ranks`, or `{ rank, size }`
 * @throws MP_INVALID_ARGUMENT for a value that is not a dataset, or a rank that is not from 0 to below `size`
 */
export function rankDataset<B>(
  dataset: Dataset<B>,
  ranks: { readonly rank: number; readonly size: number },
): Dataset<B> {
  checkDataset("rankDataset: dataset", dataset);
  const { rank, size } = ranks;
  count("rankDataset: size", size);
  integer(0, size - 1)("rankDataset: rank", rank);
  return toDataset((cursor, pass) => {
    const source = dataset.iterate(cursor, pass);
    // The cursor after the last complete group of `size` batches.
    let place = source.cursor;
    async function* run(): AsyncGenerator<B, undefined> {
      for (;;) {
        const turn: B[] = [];
        while (turn.length < size) {
          const next = await source.next();
          if (next.done === true) return;
          turn.push(next.value);
        }
        place = source.cursor;
        yield turn[rank] as B;
      }
    }
    return withCursor(run(), () => place);
  });
}
