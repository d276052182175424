import { type HostTensor, type MapLeaves, mapTree } from "@mp/graph";
import { adoptTensor, isTfTensor } from "./adopt.js";

/** The part of a `tf.data.Dataset` that is used. */
export interface TfDataset<T> {
  iterator(): Promise<{ next(): Promise<{ readonly done: boolean; readonly value: T }> }>;
}

/**
 * Adapts a `tf.data` dataset for `fit` and `steps`. Batches are converted to host tensors, and their `tf.Tensor`s are
 * disposed of at once, because the trainer reads ahead; every epoch iterates over the dataset again.
 * @example
 * ```ts
 * await training.fit(fromTfData(tf.data.zip({ x, y }).batch(32)), { epochs: 3 });
 * ```
 * @throws MP_UNSUPPORTED, during iteration, for batches of complex numbers or strings
 */
export function fromTfData<T extends object>(
  dataset: TfDataset<T>,
): AsyncIterable<MapLeaves<T, { readonly dataId: object }, HostTensor>> {
  return {
    async *[Symbol.asyncIterator]() {
      const iterator = await dataset.iterator();
      for (;;) {
        const { done, value } = await iterator.next();
        if (done) return;
        yield takeHost(value);
      }
    },
  };
}

function takeHost<T extends object>(batch: T): MapLeaves<T, { readonly dataId: object }, HostTensor> {
  return mapTree(batch, isTfTensor, (held) => {
    try {
      const { dtype, shape, data } = adoptTensor(held);
      return { dtype, shape, data: data.slice() } as HostTensor;
    } finally {
      held.dispose();
    }
  }) as never;
}
