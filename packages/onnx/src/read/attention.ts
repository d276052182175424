import { isFloat, type OpOf, type Value } from "@mp/core/graph";
import type { NodeReader, ReaderTable, ReadNode } from "./node-reader.js";

const DOUBLE = 11;

/** Of [batch, time, heads · size]: the heads by themselves, [batch, heads, time, size]. */
function withHeads(reader: NodeReader, x: Value, heads: number): Value {
  const [batch = 0, time = 0, width = 0] = x.shape;
  if (heads < 1 || width % heads !== 0)
    return reader.unsupported(`divides ${width} columns into ${heads} heads`);
  const split = reader.emitOne("Reshape", [x], { shape: [batch, time, heads, width / heads] });
  return reader.emitOne("Transpose", [split], { perm: [0, 2, 1, 3] });
}

function joined(reader: NodeReader, y: Value): Value {
  const [batch = 0, heads = 0, time = 0, size = 0] = y.shape;
  const inTime = reader.emitOne("Transpose", [y], { perm: [0, 2, 1, 3] });
  return reader.emitOne("Reshape", [inTime], { shape: [batch, time, heads * size] });
}

/** Without what came before and without scores as a result: both are operands and outputs that nobody looks at here. */
const attention: ReadNode = (reader) => {
  const given = [0, 1, 2].map((index) => reader.operand(index)) as [Value, Value, Value];
  const hasHeads = given[0].shape.length === 4;
  const heads = [reader.int("q_num_heads", 0), reader.int("kv_num_heads", 0)] as const;
  if (reader.int("softmax_precision", 0) === DOUBLE) return reader.unsupported("computes its softmax in f64");
  // Says what the output of the scores is, which is refused.
  reader.int("qk_matmul_output_mode", 0);
  const [query, key, value] = hasHeads
    ? given
    : (given.map((x, index) => withHeads(reader, x, heads[index === 0 ? 0 : 1])) as [Value, Value, Value]);
  const size = query.shape[3] ?? 1;
  const mask = reader.optional(3);
  const isOther = mask !== undefined && isFloat(mask.dtype) && mask.dtype !== query.dtype;
  const added = isOther ? reader.emitOne("Cast", [mask], { to: "f32" }) : mask;
  const y = reader.emitOne("Attention", [query, key, value, ...(added === undefined ? [] : [added])], {
    scale: reader.float("scale", 1 / Math.sqrt(size)),
    isCausal: reader.int("is_causal", 0) === 1,
    softcap: reader.float("softcap", 0),
  });
  return [hasHeads ? y : joined(reader, y), key, value];
};

export const attentionReaders: ReaderTable<OpOf<"attention">> = { Attention: attention };
