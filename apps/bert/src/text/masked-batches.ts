import { type HostTensor, MpError, tensor } from "@mp/core";
import { type Dataset, datasetSignature, indexedDataset, permutation, randomStream } from "@mp/data";
import type { Sequences } from "./sequences.js";
import { MASK, SPECIAL } from "./tokenizer.js";

/** Sequences with hidden pieces, and the pieces that were hidden. */
export interface MaskedBatch {
  /** i32 [batch, sequence] */
  readonly ids: HostTensor<"i32">;
  /** i32 [batch · hidden], each hidden place in the batch's row-major order. */
  readonly places: HostTensor<"i32">;
  /** i32 [batch · hidden], the piece that was there. */
  readonly pieces: HostTensor<"i32">;
}

export interface MaskedOptions {
  /** Sequences in a batch. */
  readonly batch: number;
  readonly vocabulary: number;
  readonly seed: number;
  readonly epochs: number;
  /** Whether the order of the sequences is drawn for each epoch. */
  readonly shuffle: boolean;
}

/** BERT's fractions: pieces to predict; of these, pieces to hide, and pieces to replace by a random piece. */
const SHARE = 0.15;
const HIDDEN = 0.8;
const REPLACED = 0.1;

/** Predicted pieces per sequence, equal for all, so that sequences weigh the same in batches of any size. */
export const predictionsPerSequence = (length: number): number =>
  Math.max(1, Math.round(SHARE * (length - 2)));

/**
 * Batches for the masked language model (Devlin et al., arXiv 1810.04805). The hidden pieces are drawn for each
 * sequence and epoch, independent of the batch size. So 32 batches of 8 hide the same pieces as one of 256.
 * @throws MP_INVALID_ARGUMENT when the text is too short for one batch
 */
export function maskedBatches(sequences: Sequences, options: MaskedOptions): Dataset<MaskedBatch> {
  const { ids, count, length } = sequences;
  const { batch, vocabulary, seed, epochs, shuffle } = options;
  const batchesPerEpoch = Math.floor(count / batch);
  if (batchesPerEpoch < 1) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `the text has ${count} sequences of ${length}, fewer than a batch of ${batch}; use a smaller --batch or --sequence, or more text`,
    );
  }
  const hidden = predictionsPerSequence(length);
  let drawn: { readonly epoch: number; readonly order: Uint32Array } | undefined;
  const epochOrder = (epoch: number): Uint32Array => {
    drawn = drawn?.epoch === epoch ? drawn : { epoch, order: permutation(count, randomStream(seed, epoch)) };
    return drawn.order;
  };
  return indexedDataset({
    signature: datasetSignature("masked text", {
      ids: tensor(ids, [count, length]),
      batch,
      vocabulary,
      seed,
      shuffle,
    }),
    batchesPerEpoch,
    epochs,
    batch: ({ epoch, index }) => {
      const input = new Int32Array(batch * length);
      const places = new Int32Array(batch * hidden);
      const pieces = new Int32Array(batch * hidden);
      for (let row = 0; row < batch; row++) {
        const example = shuffle ? (epochOrder(epoch)[index * batch + row] as number) : index * batch + row;
        const own = input.subarray(row * length, (row + 1) * length);
        own.set(ids.subarray(example * length, (example + 1) * length));
        const random = randomStream(seed, epoch, example, 1);
        const chosen = permutation(length - 2, random)
          .subarray(0, hidden)
          .sort();
        chosen.forEach((place, at) => {
          places[row * hidden + at] = row * length + place + 1;
          pieces[row * hidden + at] = own[place + 1] as number;
          own[place + 1] = replacement(
            own[place + 1] as number,
            random.uniform(),
            () => SPECIAL.length + random.integer(vocabulary - SPECIAL.length),
          );
        });
      }
      return {
        ids: tensor(input, [batch, length]),
        places: tensor(places, [batch * hidden]),
        pieces: tensor(pieces, [batch * hidden]),
      };
    },
  });
}

function replacement(piece: number, draw: number, any: () => number): number {
  if (draw < HIDDEN) return MASK;
  return draw < HIDDEN + REPLACED ? any() : piece;
}
