/** LSTM, GRU and RNN of files, beside ONNX Runtime's own kernels of them: read, on the oracle and on the backend. */
import { type Backend, type HostTensor, prepareGraph, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import {
  decodeModel,
  encodeModel,
  float,
  floats,
  int,
  type OnnxAttribute,
  type OnnxAttributes,
  onnxGraph,
  onnxModel,
  onnxNode,
  readGraph,
  string,
} from "@mp/onnx";
import * as engine from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

type Op = "LSTM" | "GRU" | "RNN";
type Operand = "B" | "sequence_lens" | "initial_h" | "initial_c" | "P";

interface Case {
  readonly op: Op;
  readonly attributes?: OnnxAttributes;
  /** Beside X, W and R. */
  readonly operands?: readonly Operand[];
  /** By default all that the op has. */
  readonly outputs?: readonly string[];
  readonly lengths?: readonly number[];
  readonly opset?: number;
  readonly isBatchFirst?: true;
}

const GATES: Readonly<Record<Op, number>> = { LSTM: 4, GRU: 3, RNN: 1 };
const OPERANDS: Readonly<Record<Op, readonly string[]>> = {
  LSTM: ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"],
  GRU: ["X", "W", "R", "B", "sequence_lens", "initial_h"],
  RNN: ["X", "W", "R", "B", "sequence_lens", "initial_h"],
};
const [TIME, BATCH, INPUTS, HIDDEN] = [5, 3, 2, 4];

/** Numbers of -0.4 to 0.4: small, since a state grows where a gate has no bound. */
const numbers = (seed: number, shape: readonly number[]): HostTensor => {
  const length = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length }, (_, at) => 0.4 * Math.sin(37 * seed + 12.9898 * (at + 1))),
    shape,
  );
};

const strings = (value: readonly string[]): OnnxAttribute => ({ kind: "strings", value });

function transposed({ data, shape }: HostTensor, perm: readonly number[]): HostTensor {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, size) => product * size, 1));
  const sizes = perm.map((axis) => shape[axis] ?? 1);
  const values = Float32Array.from(data as Float32Array, (_, at) => {
    let [rest, from] = [at, 0];
    for (let place = perm.length - 1; place >= 0; place--) {
      const size = sizes[place] ?? 1;
      from += (rest % size) * (strides[perm[place] ?? 0] ?? 0);
      rest = Math.floor(rest / size);
    }
    return (data as Float32Array)[from] as number;
  });
  return tensor(values, sizes);
}

/** How what ONNX has in its two layouts differs: the batch is in front of the time, and of the directions. */
const toBatchFirst: Readonly<Record<string, readonly number[]>> = {
  X: [1, 0, 2],
  initial_h: [1, 0, 2],
  initial_c: [1, 0, 2],
};
const toTimeFirst: Readonly<Record<string, readonly number[]>> = {
  Y: [1, 2, 0, 3],
  Y_h: [1, 0, 2],
  Y_c: [1, 0, 2],
};
const moved = (
  tensors: Readonly<Record<string, HostTensor>>,
  perms: Readonly<Record<string, readonly number[]>>,
): Readonly<Record<string, HostTensor>> =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, value]) => {
      const perm = perms[name];
      return [name, perm === undefined ? value : transposed(value, perm)];
    }),
  );

function feedsOf({ op, attributes = {}, operands = [], lengths }: Case): Record<string, HostTensor> {
  const { direction } = attributes;
  const directions = direction?.kind === "string" && direction.value === "bidirectional" ? 2 : 1;
  const width = GATES[op] * HIDDEN;
  const state = [directions, BATCH, HIDDEN];
  const shapes: Readonly<Record<string, readonly number[]>> = {
    X: [TIME, BATCH, INPUTS],
    W: [directions, width, INPUTS],
    R: [directions, width, HIDDEN],
    B: [directions, 2 * width],
    initial_h: state,
    initial_c: state,
    P: [directions, 3 * HIDDEN],
  };
  const names = ["X", "W", "R", ...operands];
  const entries = names.map((name, seed) => [name, numbers(seed + 1, shapes[name] ?? [])] as const);
  const rows = lengths && (["sequence_lens", tensor(Int32Array.from(lengths), [BATCH], "i32")] as const);
  return Object.fromEntries(rows === undefined ? entries : [...entries, rows]);
}

function bytesOf(
  one: Case,
  feeds: Readonly<Record<string, HostTensor>>,
  attributes: OnnxAttributes,
): Uint8Array {
  const { op, outputs = op === "LSTM" ? ["Y", "Y_h", "Y_c"] : ["Y", "Y_h"] } = one;
  const operands = OPERANDS[op].map((name) => (Object.hasOwn(feeds, name) ? name : ""));
  const node = onnxNode(op, operands, outputs, {
    name: "node",
    attributes: { hidden_size: int(HIDDEN), ...one.attributes, ...attributes },
  });
  const graph = onnxGraph("model", {
    inputs: Object.entries(feeds).map(([name, { dtype, shape }]) => ({
      name,
      type: { elementType: dtype, shape },
      metadata: {},
    })),
    nodes: [node],
    outputs: outputs
      .filter((name) => name !== "")
      .map((name) => ({ name, type: { elementType: "f32", shape: sizesLeftOpen(name) }, metadata: {} })),
  });
  return encodeModel(onnxModel(graph, one.opset === undefined ? {} : { opsets: { "": one.opset } }));
}

const sizesLeftOpen = (name: string): readonly string[] =>
  Array.from({ length: name === "Y" ? 4 : 3 }, (_, axis) => `${name}${axis}`);

async function kernels(bytes: Uint8Array, feeds: Readonly<Record<string, HostTensor>>) {
  const session = await engine.InferenceSession.create(bytes);
  const given = Object.entries(feeds).map(([name, { dtype, data, shape }]) => [
    name,
    dtype === "i32"
      ? new engine.Tensor("int32", data as Int32Array, shape)
      : new engine.Tensor("float32", data as Float32Array, shape),
  ]);
  const results = await session.run(Object.fromEntries(given));
  await session.release();
  return Object.fromEntries(
    Object.entries(results).map(([name, { data, dims }]) => [name, tensor(data as Float32Array, [...dims])]),
  );
}

function expectNear(
  found: Readonly<Record<string, HostTensor>>,
  wanted: Readonly<Record<string, HostTensor>>,
): void {
  expect(Object.keys(found).sort()).toEqual(Object.keys(wanted).sort());
  for (const [name, { shape, data }] of Object.entries(wanted)) {
    expect(found[name]?.shape).toEqual(shape);
    data.forEach((want, at) => {
      const difference = Math.abs(Number(found[name]?.data[at]) - Number(want));
      expect(difference, `${name}[${at}]`).toBeLessThan(1e-5 * Math.max(1, Math.abs(Number(want))));
    });
  }
}

const reverse = { direction: string("reverse") };
const both = { direction: string("bidirectional") };
const lengths = [2, 5, 3];
const common = (["LSTM", "GRU", "RNN"] as const).flatMap((op): readonly (readonly [string, Case])[] => [
  ["plain", { op }],
  ["of opset 13", { op, opset: 13 }],
  ["of opset 14", { op, opset: 14 }],
  ["with biases", { op, operands: ["B"] }],
  ["with a first state", { op, operands: ["B", "initial_h"] }],
  ["in reverse", { op, attributes: reverse, operands: ["B", "initial_h"] }],
  ["in both directions", { op, attributes: both, operands: ["B", "initial_h"] }],
  ["clipped", { op, attributes: { clip: float(0.15) }, operands: ["B", "initial_h"] }],
  ["with Y alone", { op, outputs: ["Y"] }],
  ["with the last state alone", { op, outputs: ["", "Y_h"], attributes: both }],
  ["of the batch first", { op, isBatchFirst: true, operands: ["B", "initial_h"] }],
  [
    "of the batch first, in both directions",
    { op, isBatchFirst: true, attributes: both, operands: ["initial_h"] },
  ],
  ["of rows of lengths", { op, lengths, operands: ["B", "initial_h"] }],
  ["of rows of lengths, in reverse", { op, lengths, attributes: reverse, operands: ["initial_h"] }],
  ["of rows of lengths, in both directions", { op, lengths, attributes: both, operands: ["B"] }],
  ["of rows as long as the time", { op, lengths: [TIME, TIME, TIME] }],
]);

const ACTIVATIONS = [
  "Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
  "HardSigmoid", "Elu",
]; // biome-ignore format: one list

/** A cell in whose gates it is too has states without bounds, where it has none itself. */
const activated = ACTIVATIONS.flatMap((name): readonly (readonly [string, Case])[] => {
  const numbersOf = (count: number): OnnxAttributes => ({
    activation_alpha: floats(Array<number>(count).fill(0.4)),
    activation_beta: floats(Array<number>(count).fill(0.3)),
  });
  return [
    [
      `of ${name}`,
      {
        op: "LSTM",
        operands: ["B"],
        attributes: { activations: strings(["Sigmoid", name, name]), ...numbersOf(2) },
      },
    ],
    [
      `of ${name}`,
      { op: "GRU", operands: ["B"], attributes: { activations: strings([name, name]), ...numbersOf(2) } },
    ],
    [
      `of ${name}`,
      { op: "RNN", operands: ["B"], attributes: { activations: strings([name]), ...numbersOf(1) } },
    ],
  ];
});

const special: readonly (readonly [string, Case])[] = [
  ["with both first states", { op: "LSTM", operands: ["B", "initial_h", "initial_c"] }],
  ["with the last cells alone", { op: "LSTM", outputs: ["", "", "Y_c"] }],
  ["with peepholes", { op: "LSTM", operands: ["B", "initial_h", "initial_c", "P"] }],
  [
    "with peepholes, clipped",
    { op: "LSTM", operands: ["P", "initial_c"], attributes: { clip: float(0.15) } },
  ],
  ["of coupled gates", { op: "LSTM", operands: ["B", "initial_c"], attributes: { input_forget: int(1) } }],
  [
    "of coupled gates with peepholes, in both directions",
    { op: "LSTM", operands: ["B", "initial_c", "P"], attributes: { input_forget: int(1), ...both } },
  ],
  ["of rows of lengths, with all", { op: "LSTM", lengths, operands: ["B", "initial_h", "initial_c", "P"] }],
  [
    "reset after the product",
    { op: "GRU", operands: ["B", "initial_h"], attributes: { linear_before_reset: int(1) } },
  ],
  ["reset after the product, without biases", { op: "GRU", attributes: { linear_before_reset: int(1) } }],
  [
    "reset after the product, clipped, in both directions",
    { op: "GRU", operands: ["B"], attributes: { linear_before_reset: int(1), clip: float(0.15), ...both } },
  ],
  [
    "of functions with numbers of their own",
    {
      op: "LSTM",
      attributes: {
        ...both,
        activations: strings(["HardSigmoid", "Tanh", "LeakyRelu", "Sigmoid", "Elu", "ScaledTanh"]),
        activation_alpha: floats([0.3, 0.05, 0.7, 0.6]),
        activation_beta: floats([0.4, 0.8]),
      },
    },
  ],
  [
    "of functions with ONNX's numbers",
    { op: "LSTM", attributes: { activations: strings(["HardSigmoid", "Elu", "LeakyRelu"]) } },
  ],
];

const cases = [...common, ...activated, ...special].map(
  ([title, one]) => [`${one.op} ${title}`, one] as const,
);

describe("a recurrent node", () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await ort();
  });
  afterAll(() => backend.dispose());

  it.each(cases)("%s", async (_, one) => {
    const feeds = feedsOf(one);
    const wanted = await kernels(bytesOf(one, feeds, {}), feeds);
    // ONNX Runtime has no kernels of this layout: its own is compared.
    const isBatchFirst = one.isBatchFirst === true;
    const given = isBatchFirst ? moved(feeds, toBatchFirst) : feeds;
    const layout: OnnxAttributes = isBatchFirst ? { layout: int(1) } : {};
    const { graph } = readGraph(decodeModel(bytesOf(one, given, layout)));
    const inLayout = (found: Readonly<Record<string, HostTensor>>) =>
      isBatchFirst ? moved(found, toTimeFirst) : found;
    expectNear(inLayout(evaluate(graph, given)), wanted);
    const executable = await backend.compile(prepareGraph(graph));
    expectNear(inLayout(await executable.run(given)), wanted);
    await executable.dispose();
  });
});
