// Sequences whose length is known. They exist while a model is read, and leave only their tensors in the graph.
// PyTorch's exporter writes every `split` and `chunk` with them.
import type { Value } from "@mp/graph";
import type { NodeReader, ReadNode } from "./node/node-reader.js";

/** Sizes of the parts into which a tensor is split: listed, or all equal except perhaps the last. */
function partSizes(reader: NodeReader, size: number): readonly number[] {
  const given = reader.constant(1);
  const numbers = reader.integers(1);
  if (given === undefined || numbers === undefined) return Array<number>(size).fill(1);
  if (given.shape.length > 0) return numbers;
  const [part = 0] = numbers;
  if (part < 1) return reader.unsupported(`splits into parts of ${part}`);
  return Array.from({ length: Math.ceil(size / part) }, (_, index) => Math.min(part, size - index * part));
}

export const sequenceReaders: Readonly<Record<string, ReadNode>> = {
  SplitToSequence: (reader) => {
    const x = reader.operand(0);
    const axis = reader.axis(x.shape.length, 0);
    const split = partSizes(reader, x.shape[axis] as number);
    const keeps = reader.int("keepdims", 1) !== 0 || reader.isGiven(1);
    const parts = reader.emit("Split", [x], { axis, split });
    const squeeze = (part: Value): Value => reader.emitOne("Squeeze", [part], { axes: [axis] });
    return [{ sequence: keeps ? parts : parts.map(squeeze) }];
  },
  SequenceConstruct: (reader) => [{ sequence: reader.operands() }],
  SequenceAt: (reader) => {
    const sequence = reader.sequence(0);
    const [position = 0] = reader.integers(1) ?? [];
    const element = sequence.at(position);
    return [element ?? reader.unsupported(`takes element ${position} of a sequence of ${sequence.length}`)];
  },
};
