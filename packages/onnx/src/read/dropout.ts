import { tensor } from "@mp/core";
import { mul, where } from "@mp/core/ops";
import type { NodeReader, NodeResult, ReadNode } from "./node-reader.js";
import { scalarOperand } from "./scalar-operand.js";
import { traced } from "./traced.js";

/** ONNX's rate of a node that gives none. */
const DEFAULT_RATE = 0.5;

/** Acts only in a model that is read for training, as `fromOnnx` does; its masks come from the step's key. */
export const dropout: ReadNode = (reader) => {
  if (reader.hasAttribute("seed")) reader.int("seed");
  for (const index of [1, 2]) if (reader.isGiven(index)) reader.typeOf(index);
  const x = reader.operand(0);
  if (!reader.dropsOut) {
    if (reader.isGiven(2) && reader.constant(2)?.data[0] !== 0)
      return reader.unsupported("is in training mode");
    return [x, ...nothingDropped(reader)];
  }
  const rate = scalarOperand(reader, 1, "the rate") ?? DEFAULT_RATE;
  if (rate === 0) return [x, ...nothingDropped(reader)];
  const mask = reader.mask(rate, x.shape);
  const y = traced(reader, [x, mask], (values, kept) => where(kept, mul(values, 1 / (1 - rate)), 0));
  return [y, mask];
};

function nothingDropped(reader: NodeReader): readonly NodeResult[] {
  if ((reader.node.outputs[1] ?? "") === "") return [];
  const value = reader.emitOne("Constant", [], { value: tensor(Uint8Array.of(1), [], "bool") });
  return [reader.emitOne("Expand", [value], { shape: reader.operand(0).shape })];
}
