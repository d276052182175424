import { isFloat, type OpOf, type Tensor, type Value } from "@mp/graph";
import { and, reshape, sub } from "@mp/graph/ops";
import { allowMask, combineMasks, fullMask, lengthMask } from "./compositions/attention-mask.js";
import { attentionScores, type ScoreStage } from "./compositions/attention-scores.js";
import type { NodeReader, NodeResult, ReaderTable, ReadNode } from "./node/node-reader.js";

const DOUBLE = 11;

/** The stage that each value of `qk_matmul_output_mode` selects, by index. */
const STAGES: readonly ScoreStage[] = ["product", "capped", "masked", "softmax"];

/** Splits [batch, time, heads · size] into [batch, heads, time, size]. */
function splitHeads(reader: NodeReader, x: Value, heads: number): Value {
  const [batch = 0, time = 0, width = 0] = x.shape;
  if (heads < 1 || width % heads !== 0)
    return reader.unsupported(`divides ${width} columns into ${heads} heads`);
  const split = reader.emitOne("Reshape", [x], { shape: [batch, time, heads, width / heads] });
  return reader.emitOne("Transpose", [split], { perm: [0, 2, 1, 3] });
}

function mergeHeads(reader: NodeReader, y: Value): Value {
  const [batch = 0, heads = 0, time = 0, size = 0] = y.shape;
  const inTime = reader.emitOne("Transpose", [y], { perm: [0, 2, 1, 3] });
  return reader.emitOne("Reshape", [inTime], { shape: [batch, time, heads * size] });
}

/** Reads queries, keys and values, split into heads, with cached keys and values before the new ones. */
function readOperands(reader: NodeReader): {
  readonly hasHeads: boolean;
  readonly all: readonly [Value, Value, Value];
} {
  const given = reader.operands(3) as readonly [Value, Value, Value];
  const hasHeads = given[0].shape.length === 4;
  const heads = [reader.int("q_num_heads", 0), reader.int("kv_num_heads", 0)] as const;
  const [query, key, value] = hasHeads
    ? given
    : (given.map((x, index) => splitHeads(reader, x, heads[index === 0 ? 0 : 1])) as [Value, Value, Value]);
  const after = (index: number, now: Value): Value => {
    const past = reader.optional(index);
    return past === undefined ? now : reader.emitOne("Concat", [past, now], { axis: 2 });
  };
  return { hasHeads, all: [query, after(4, key), after(5, value)] };
}

interface ReadMask {
  readonly mask: Value | undefined;
  /** Whether the Attention op still has to hide later keys, because the mask does not. */
  readonly isCausal: boolean;
}

/** Combines the node's mask, lengths, window and causality into one mask. A mask alone stays as it is. */
function readMask(reader: NodeReader, query: Value, key: Value): ReadMask {
  const [left, right] = [reader.int("left_window_size", -1), reader.int("right_window_size", -1)];
  const isCausal = reader.int("is_causal", 0) === 1;
  const given = reader.optional(3);
  const lengths = reader.isGiven(6) ? reader.indices(6) : undefined;
  const past = reader.isGiven(4) ? reader.type(4).shape[2] : 0;
  const [time = 0, keys = 0] = [query.shape[2], key.shape[2]];
  const isOther = given !== undefined && isFloat(given.dtype) && given.dtype !== query.dtype;
  const added = isOther ? reader.emitOne("Cast", [given], { to: "f32" }) : given;
  const isWhole = added === undefined || (added.shape.length >= 2 && added.shape.at(-1) === keys);
  const isPlain = past === 0 && lengths === undefined && left < 0 && right < 0;
  if (isWhole && (isPlain || (lengths === undefined && !isCausal && left < 0 && right < 0)))
    return { mask: added, isCausal };
  const operands = [...(added === undefined ? [] : [added]), ...(lengths === undefined ? [] : [lengths])];
  const [mask] = reader.composeAll(operands, (...tensors) => {
    const filled = lengths === undefined ? undefined : (tensors.at(-1) as Tensor);
    const given = added === undefined ? undefined : fullMask(tensors[0] as Tensor, keys);
    const before =
      filled === undefined ? (past ?? 0) : sub(reshape(filled, [filled.shape[0] ?? 1, 1, 1, 1]), time);
    const seen = allowMask({ time, keys, before, isCausal, left, right });
    const real = filled && lengthMask(filled, keys);
    const all = combineMasks(given, seen && real ? and(seen, real) : (seen ?? real));
    return all === undefined ? [] : [all];
  });
  return { mask, isCausal: false };
}

const attention: ReadNode = (reader) => {
  if (reader.int("softmax_precision", 0) === DOUBLE) return reader.unsupported("computes its softmax in f64");
  const mode = reader.int("qk_matmul_output_mode", 0);
  const { hasHeads, all } = readOperands(reader);
  const [query, key, value] = all;
  const { mask, isCausal } = readMask(reader, query, key);
  const scale = reader.float("scale", 1 / Math.sqrt(query.shape[3] ?? 1));
  const softcap = reader.float("softcap", 0);
  const masks = mask === undefined ? [] : [mask];
  const y = reader.emitOne("Attention", [query, key, value, ...masks], { scale, isCausal, softcap });
  const results: NodeResult[] = [hasHeads ? y : mergeHeads(reader, y), key, value];
  if ((reader.node.outputs[3] ?? "") === "") return results;
  const stage = STAGES[mode] ?? reader.unsupported(`gives scores by mode ${mode}`);
  const [time = 0, keys = 0] = [query.shape[2], key.shape[2]];
  const [scores] = reader.compose([query, key, ...masks], (q: Tensor, k: Tensor, given?: Tensor) => {
    const causal = isCausal ? allowMask({ time, keys, before: 0, isCausal, left: -1, right: -1 }) : undefined;
    return attentionScores(q, k, combineMasks(given, causal), { scale, softcap, stage });
  });
  return [...results, scores];
};

export const attentionReaders: ReaderTable<OpOf<"attention">> = {
  Attention: attention,
  AttentionGradient: (reader) =>
    reader.emit("AttentionGradient", reader.operands(4, 5), {
      scale: reader.float("scale", 1),
      isCausal: reader.int("is_causal", 0) === 1,
      softcap: reader.float("softcap", 0),
    }),
};
