import { tensor } from "@mp/graph";
import { mul, where } from "@mp/graph/ops";
import type { NodeReader, NodeResult, ReadNode } from "./node/node-reader.js";

/** The dropout rate if the node gives none. */
const DEFAULT_RATE = 0.5;

/** The dropout rate: an attribute before opset 12, an operand since. */
function dropRate(reader: NodeReader): number {
  if (reader.hasAttribute("ratio")) return reader.float("ratio");
  return reader.number(1, "the rate") ?? DEFAULT_RATE;
}

/** Whether the dropout rate is 0, so that nothing is dropped in training either. */
const keepsAll = (reader: NodeReader): boolean =>
  (reader.isGiven(1) ? reader.number(1, "the rate") : DEFAULT_RATE) === 0;

/** Drops values only if the model is read for training, as by `fromOnnx`; the mask is then an input. */
export const dropout: ReadNode = (reader) => {
  if (reader.hasAttribute("seed")) reader.int("seed");
  for (const index of [1, 2]) if (reader.isGiven(index)) reader.type(index);
  const x = reader.operand(0);
  if (!reader.dropsOut) {
    if (reader.hasAttribute("ratio")) reader.float("ratio");
    if (reader.isGiven(2) && reader.constant(2)?.data[0] !== 0 && !keepsAll(reader))
      return reader.unsupported("is in training mode");
    return [x, ...nothingDropped(reader)];
  }
  const rate = dropRate(reader);
  if (rate === 0) return [x, ...nothingDropped(reader)];
  const mask = reader.randomInput({ kind: "mask", rate }, x.shape);
  if (mask === undefined) throw new Error("internal: a mask is an input");
  const [y] = reader.compose([x, mask], (values, kept) => where(kept, mul(values, 1 / (1 - rate)), 0));
  return [y, mask];
};

function nothingDropped(reader: NodeReader): readonly NodeResult[] {
  if ((reader.node.outputs[1] ?? "") === "") return [];
  const value = reader.emitOne("Constant", [], { value: tensor(Uint8Array.of(1), [], "bool") });
  return [reader.emitOne("Expand", [value], { shape: reader.operand(0).shape })];
}
