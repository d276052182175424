import { UsageError } from "../run-app.js";

/** The batch that a pass over the data begins with. @throws UsageError where there is none */
export async function firstBatch<B>(batches: AsyncIterable<B>): Promise<B> {
  for await (const batch of batches) return batch;
  throw new UsageError("the data holds no batch");
}
