import { type HostTensor, tensor } from "@mp/core";
import { arrayClassOf } from "@mp/graph/internal";
import { type BatchingOptions, batchingChecks } from "../batching.js";
import { claim, integer, optionsCheck } from "../check-arguments.js";
import { type Dataset, indexedDataset } from "../dataset.js";
import { datasetSignature } from "../dataset-signature.js";
import { invalid } from "../errors.js";

/** One step of truncated back-propagation through time. */
export interface LanguageModelBatch {
  /** [batch, sequence], word indices. */
  readonly inputs: HostTensor<"i32">;
  /** [batch, sequence], the word after each input. */
  readonly targets: HostTensor<"i32">;
  /** [batch, 1], true where the carried state is reset: everywhere in an epoch's first batch, then nowhere. */
  readonly reset: HostTensor<"bool">;
}

export interface LanguageModelOptions extends Pick<BatchingOptions, "epochs"> {
  /** Number of streams that are read side by side. */
  readonly batch: number;
  /** Words of each stream in one batch, the reach of back-propagation. */
  readonly sequence: number;
  /** What to do with the last, shorter piece of the streams. Default "drop". */
  readonly partial?: "drop" | "keep";
}

const { shuffle: _, ...checks } = batchingChecks;
const checkOptions = optionsCheck<LanguageModelOptions>(
  { ...checks, sequence: integer(1) },
  "{ batch: 20, sequence: 35 }",
);
const checkTokens = claim(
  "an Int32Array, a part of what encodeCorpus gives",
  // Not by instanceof, which is false for an Int32Array of another realm.
  (value) => arrayClassOf(value) === "Int32Array",
);

/**
 * Splits a text into `batch` contiguous streams and reads each `sequence` words at a time. Row r of a batch continues
 * where row r of the previous batch ended, so that a recurrent state can be carried across.
 * @throws MP_INVALID_ARGUMENT for an unknown or invalid option, and if the text is too short for one batch
 */
export function languageModelBatches(
  tokens: Int32Array,
  options: LanguageModelOptions,
): Dataset<LanguageModelBatch> {
  checkOptions("languageModelBatches", options);
  checkTokens("languageModelBatches: tokens", tokens);
  const { batch, sequence, epochs = 1, partial = "drop" } = options;
  // The last word is only ever a target.
  const streamLength = Math.max(0, Math.floor((tokens.length - 1) / batch));
  const batchesPerEpoch =
    partial === "keep" ? Math.ceil(streamLength / sequence) : Math.floor(streamLength / sequence);
  if (batchesPerEpoch < 1) {
    const needed = partial === "keep" ? batch + 1 : batch * sequence + 1;
    throw invalid(
      `languageModelBatches: ${batch} streams of ${sequence} words need at least ${needed} words, the text has ${tokens.length}; use a smaller batch or sequence, or more text`,
      { batch, sequence, needed, words: tokens.length },
    );
  }
  return indexedDataset({
    signature: datasetSignature("language model", { tokens: tensor(tokens), batch, sequence, partial }),
    batchesPerEpoch,
    epochs,
    batch: ({ index }) => {
      const first = index * sequence;
      const length = Math.min(sequence, streamLength - first);
      const window = (shift: number): HostTensor<"i32"> => {
        const data = new Int32Array(batch * length);
        for (let row = 0; row < batch; row++) {
          const start = row * streamLength + first + shift;
          data.set(tokens.subarray(start, start + length), row * length);
        }
        return tensor(data, [batch, length]);
      };
      const reset = new Uint8Array(batch).fill(index === 0 ? 1 : 0);
      return { inputs: window(0), targets: window(1), reset: tensor(reset, [batch, 1], "bool") };
    },
  });
}
