import { elementCount, formatShape, isFloat, sameShape } from "@mp/graph";
import type { NodeReader } from "../node/node-reader.js";
import type { OperandName, RecurrentOp } from "./cell.js";

export interface Sizes {
  readonly time: number;
  readonly batch: number;
  readonly inputs: number;
  readonly hidden: number;
  readonly directions: number;
  /** Whether the batch axis comes first, before time and directions. */
  readonly isBatchFirst: boolean;
}

/** The sizes of a node's operands. @throws MP_UNSUPPORTED if the operands disagree */
export function readSizes(reader: NodeReader, op: RecurrentOp, directions: number): Sizes {
  const layout = reader.int("layout", 0);
  if (layout !== 0 && layout !== 1)
    return reader.unsupported(`has the layout ${layout}, supported are 0 and 1`);
  const { dtype, shape } = reader.type(0);
  const [first, second, inputs] = shape;
  const isSequence = isFloat(dtype) && shape.length === 3;
  if (!isSequence || first === undefined || second === undefined || inputs === undefined)
    return reader.unsupported(`has X of ${dtype}${formatShape(shape)}, supported are floats of three axes`);
  if (elementCount(shape, "X") === 0)
    return reader.unsupported(`has X of ${formatShape(shape)}, without elements`);
  const hidden = reader.type(2).shape[2] ?? 0;
  const isBatchFirst = layout === 1;
  const [time, batch] = isBatchFirst ? [second, first] : [first, second];
  const sizes = { time, batch, inputs, hidden, directions, isBatchFirst };
  expectShapes(reader, op, sizes);
  const declared = reader.int("hidden_size", hidden);
  if (hidden !== declared)
    return reader.unsupported(
      `has the hidden_size ${declared}, its R is of ${formatShape(reader.type(2).shape)}`,
    );
  return sizes;
}

function expectShapes(reader: NodeReader, { gates, operands }: RecurrentOp, sizes: Sizes): void {
  const { time, batch, inputs, hidden, directions, isBatchFirst } = sizes;
  const width = gates * hidden;
  const state = isBatchFirst ? [batch, directions, hidden] : [directions, batch, hidden];
  const shapes: Readonly<Record<OperandName, readonly number[]>> = {
    X: isBatchFirst ? [batch, time, inputs] : [time, batch, inputs],
    W: [directions, width, inputs],
    R: [directions, width, hidden],
    B: [directions, 2 * width],
    sequence_lens: [batch],
    initial_h: state,
    initial_c: state,
    P: [directions, 3 * hidden],
  };
  operands.forEach((operand, index) => {
    if (!reader.isGiven(index)) return;
    const { shape } = reader.type(index);
    const expected = shapes[operand];
    if (!sameShape(shape, expected))
      reader.unsupported(
        `has ${operand} of ${formatShape(shape)}, by its other operands it is ${formatShape(expected)}`,
      );
  });
}
