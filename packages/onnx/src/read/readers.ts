import type { Op } from "@mp/graph";
import { OWN_DOMAIN } from "../own-domain.js";
import { attentionReaders } from "./attention.js";
import { batchNormalizationReaders } from "./batch-normalization.js";
import { binaryReaders } from "./binary.js";
import { branch } from "./branch.js";
import { gridSample } from "./compositions/grid-sample.js";
import { reverseSequence } from "./compositions/reverse-sequence.js";
import { rotaryEmbedding } from "./compositions/rotary-embedding.js";
import { convolutionReaders } from "./convolution.js";
import { foreignReaders } from "./foreign.js";
import { activationReaders } from "./foreign-activations.js";
import { imageReaders } from "./foreign-images.js";
import { reductionReaders } from "./foreign-reductions.js";
import { indexingReaders } from "./indexing.js";
import { loopReaders, readLoop } from "./loop.js";
import { lossReaders } from "./loss.js";
import { matrixReaders } from "./matrix.js";
import { movementReaders } from "./movement.js";
import type { ReaderTable, ReadNode } from "./node/node-reader.js";
import { normalizationReaders } from "./normalization.js";
import { poolingReaders } from "./pooling.js";
import { randomReaders } from "./random.js";
import { readGru } from "./recurrent/gru.js";
import { readLstm } from "./recurrent/lstm.js";
import { readRnn } from "./recurrent/rnn.js";
import { reduceReaders } from "./reduce.js";
import { sequenceReaders } from "./sequence.js";
import { sourceReaders } from "./source.js";
import { unaryReaders } from "./unary.js";

const ownReaders: ReaderTable = {
  ...unaryReaders,
  ...binaryReaders,
  ...matrixReaders,
  ...attentionReaders,
  ...convolutionReaders,
  ...reduceReaders,
  ...poolingReaders,
  ...normalizationReaders,
  ...lossReaders,
  ...batchNormalizationReaders,
  ...movementReaders,
  ...indexingReaders,
  ...loopReaders,
  ...sourceReaders,
};

/** Graph ops that ONNX lacks. */
const OWN_OPS: ReadonlySet<string> = new Set<Op>([
  "RandomBits",
  "AttentionGradient",
  "ConvWeightGradient",
  "BatchNormalizationGradient",
  "MaxPoolGradient",
  "Barrier",
]);

// A Map, since names come from files, and an object would also find `constructor`.
const standard: ReadonlyMap<string, ReadNode> = new Map(
  Object.entries<ReadNode>({
    ...ownReaders,
    ...foreignReaders,
    ...randomReaders,
    ...imageReaders,
    ...activationReaders,
    ...reductionReaders,
    ...sequenceReaders,
    If: branch,
    Scatter: indexingReaders.ScatterElements,
    GridSample: gridSample,
    ReverseSequence: reverseSequence,
    RotaryEmbedding: rotaryEmbedding,
    Loop: readLoop,
    LSTM: readLstm,
    GRU: readGru,
    RNN: readRnn,
  }),
);

/** ONNX's own operators that can be read, in alphabetical order; some attributes or dtypes may be refused. */
export const READ_OPERATORS: readonly string[] = [...standard.keys()].filter((op) => !OWN_OPS.has(op)).sort();

/** The reader of an op of a domain; undefined if graphs cannot express the op. */
export function findReader(domain: string, opType: string): ReadNode | undefined {
  const isOwn = OWN_OPS.has(opType);
  return (domain === "" && !isOwn) || (domain === OWN_DOMAIN && isOwn) ? standard.get(opType) : undefined;
}
