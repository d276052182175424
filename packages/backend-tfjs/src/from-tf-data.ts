import { type HostTensor, type MapLeaves, mapTree } from "@mp/core";
import { adoptTensor, isTfTensor } from "./adopt.js";

/** What is used of a `tf.data.Dataset`. */
export interface TfDataset<T> {
  iterator(): Promise<{ next(): Promise<{ readonly done: boolean; readonly value: T }> }>;
}

/**
 * A `tf.data` dataset as data for `fit` and `steps`. Batches come as tensors of the host and their `tf.Tensor`s are
 * disposed at once, since the trainer reads ahead; every pass goes through the dataset anew.
 * @example
 * ```ts
 * await training.fit(fromTfData(tf.data.zip({ x, y }).batch(32)), { epochs: 3 });
 * ```
 * @throws MP_UNSUPPORTED, on the way, for batches of complex numbers or strings
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
