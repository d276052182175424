/** Models of one LSTM, GRU or RNN, of small sizes. */
import { type HostTensor, tensor } from "@mp/graph";
import {
  int,
  type OnnxAttribute,
  type OnnxAttributes,
  type OnnxGraph,
  type OnnxModel,
  onnxGraph,
  onnxModel,
  onnxNode,
} from "../src/model.js";

export type RecurrentOp = "LSTM" | "GRU" | "RNN";
export type Tensors = Readonly<Record<string, HostTensor>>;

const GATES: Readonly<Record<RecurrentOp, number>> = { LSTM: 4, GRU: 3, RNN: 1 };
const OPERANDS = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"];
export const TIME = 3;
export const BATCH = 2;
export const HIDDEN = 2;
const INPUTS = 2;

export const numbers = (seed: number, shape: readonly number[]): HostTensor => {
  const length = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length }, (_, at) => 0.6 * Math.sin(37 * seed + 12.9898 * (at + 1))),
    shape,
  );
};
export const lengths = (...rows: number[]): HostTensor => tensor(Int32Array.from(rows), [rows.length], "i32");
export const strings = (value: readonly string[]): OnnxAttribute => ({ kind: "strings", value });

/** All operands that hold numbers of an op of one direction. */
export function operandsOf(op: RecurrentOp): Tensors {
  const width = GATES[op] * HIDDEN;
  const shapes = {
    X: [TIME, BATCH, INPUTS],
    W: [1, width, INPUTS],
    R: [1, width, HIDDEN],
    B: [1, 2 * width],
    initial_h: [1, BATCH, HIDDEN],
    ...(op === "LSTM" && { initial_c: [1, BATCH, HIDDEN], P: [1, 3 * HIDDEN] }),
  };
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape], at) => [name, numbers(at + 1, shape)]),
  );
}

export interface RecurrentModel {
  readonly attributes?: OnnxAttributes;
  readonly outputs?: readonly string[];
  /** Operands that are initializers. */
  readonly held?: readonly string[];
}

/** A model of one node, `/rnn/node`. */
export function modelOf(
  op: RecurrentOp,
  operands: Tensors,
  { attributes = {}, outputs = ["Y"], held = [] }: RecurrentModel = {},
): OnnxModel {
  const last = Math.max(...Object.keys(operands).map((name) => OPERANDS.indexOf(name)));
  const inputs = OPERANDS.slice(0, last + 1).map((name) => (Object.hasOwn(operands, name) ? name : ""));
  const node = onnxNode(op, inputs, outputs, {
    name: "/rnn/node",
    attributes: { hidden_size: int(HIDDEN), ...attributes },
  });
  const entries = Object.entries(operands);
  const graph: Partial<OnnxGraph> = {
    nodes: [node],
    inputs: entries
      .filter(([name]) => !held.includes(name))
      .map(([name, { dtype, shape }]) => ({ name, type: { elementType: dtype, shape }, metadata: {} })),
    initializers: entries
      .filter(([name]) => held.includes(name))
      .map(([name, value]) => ({ name, tensor: value })),
    outputs: outputs.filter((name) => name !== "").map((name) => ({ name, metadata: {} })),
  };
  return onnxModel(onnxGraph("model", graph));
}
