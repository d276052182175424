import { UsageError } from "../run-app.js";

/** The first batch of a pass over the data. @throws UsageError if the data has no batch */
export async function firstBatch<B>(batches: AsyncIterable<B>): Promise<B> {
  for await (const batch of batches) return batch;
  throw new UsageError("the data holds no batch");
}
