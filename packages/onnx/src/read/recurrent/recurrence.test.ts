import {
  applyGraph,
  type Graph,
  type HostTensor,
  isNode,
  printGraph,
  type Tensor,
  type TracedInput,
  tensor,
  traceInto,
  type ValueType,
  valueAndGrad,
} from "@mp/graph";
import { add, mul, reduceSum, tanh } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import {
  BATCH,
  HIDDEN,
  lengths,
  modelOf,
  numbers,
  operandsOf,
  type RecurrentModel,
  type RecurrentOp,
  strings,
  type Tensors,
  TIME,
} from "../../../test/recurrent-models.js";
import { refusal } from "../../../test/small-models.js";
import { float, floats, int, type OnnxAttributes, string } from "../../model.js";
import { readGraph } from "../read.js";

const reading = (op: RecurrentOp, operands: Tensors, rest?: RecurrentModel) =>
  readGraph(modelOf(op, operands, rest));

/** The value of a sum over the graph's results, and its gradient by one operand. */
function gradientOf(graph: Graph, operands: Tensors, by: string) {
  const inputs = Object.entries(operands).map(
    ([name, { dtype, shape }]): TracedInput & { readonly type: ValueType } => ({
      name,
      role: "batch",
      type: { dtype, shape },
    }),
  );
  const traced = traceInto(inputs, (tensors) => {
    const given = Object.fromEntries(inputs.map(({ name }, at) => [name, tensors[at] as Tensor]));
    return valueAndGrad((x: Tensor) => {
      const results = Object.values(applyGraph(graph, { ...given, [by]: x }));
      return results.map((result) => reduceSum(mul(tanh(result), result))).reduce(add);
    })(given[by] as Tensor);
  });
  return (at: HostTensor, others: Tensors = operands) => evaluate(traced.graph, { ...others, [by]: at });
}

/** A copy with one element increased by `by`. */
function nudged({ data, shape }: HostTensor, place: number, by: number): HostTensor {
  const values = Float32Array.from(data as Float32Array);
  values[place] = (values[place] ?? 0) + by;
  return tensor(values, shape);
}

it.each(["LSTM", "GRU", "RNN"] as const)(
  "%s without an operand that it needs is refused with a code",
  (op) => {
    for (const missing of ["X", "W", "R"]) {
      const { [missing]: _, ...operands } = operandsOf(op);
      expect(
        refusal(() => reading(op, operands)),
        missing,
      ).toMatch(/^MP_(UNSUPPORTED|PARSE|INVALID_ARGUMENT): /);
    }
  },
);

const every: Readonly<Record<RecurrentOp, readonly string[]>> = {
  LSTM: ["Y", "Y_h", "Y_c"],
  GRU: ["Y", "Y_h"],
  RNN: ["Y", "Y_h"],
};

describe("the gradient of a recurrent node", () => {
  it.each(
    (["LSTM", "GRU", "RNN"] as const).flatMap((op) =>
      Object.keys(operandsOf(op)).map((operand) => [op, operand] as const),
    ),
  )("%s by %s agrees with finite differences", (op, operand) => {
    const floating = operandsOf(op);
    const operands = { ...floating, sequence_lens: lengths(2, TIME) };
    const { graph } = reading(op, operands, { outputs: every[op], held: ["sequence_lens"] });
    const at = gradientOf(graph, floating, operand);
    const point = floating[operand] as HostTensor;
    const { gradients } = at(point);
    const step = 0.01;
    point.data.forEach((_, place) => {
      const [above, below] = [step, -step].map((by) =>
        Number(at(nudged(point, place, by))["value"]?.data[0]),
      );
      const slope = (Number(above) - Number(below)) / (2 * step);
      expect(Math.abs(Number(gradients?.data[place]) - slope), `${place}`).toBeLessThan(1e-3);
    });
    expect(gradients?.data.some((value) => Math.abs(Number(value)) > 0.01)).toBe(true);
  });
});

describe("a recurrent node that was read", () => {
  it("has one product in its loop, and one of all inputs before it", () => {
    const { graph } = reading("LSTM", operandsOf("LSTM"), { outputs: every.LSTM });
    const [before, inside] = [graph.nodes, bodyOf(graph).nodes].map((nodes) =>
      nodes.filter(({ op }) => op === "MatMul" || op === "Gemm").map(({ outputs }) => outputs[0]?.shape),
    );
    expect(before).toEqual([[TIME * BATCH, 4 * HIDDEN]]);
    expect(inside).toEqual([[BATCH, 4 * HIDDEN]]);
  });

  it("has its module's scope, in the loop too, and no lines of the reader's", () => {
    const { graph } = reading("GRU", operandsOf("GRU"));
    for (const { origin } of [...graph.nodes, ...bodyOf(graph).nodes])
      expect(origin).toEqual({ scope: "rnn", phase: "forward" });
  });

  it("trains its weights, biases, peepholes and a first state of other numbers than one", () => {
    const operands = operandsOf("LSTM");
    const initial_h = tensor(new Float32Array(BATCH * HIDDEN), [1, BATCH, HIDDEN]);
    const { parameters, initializers } = reading(
      "LSTM",
      { ...operands, initial_h },
      { held: ["W", "R", "B", "initial_h", "initial_c", "P"] },
    );
    expect(Object.keys(parameters).sort()).toEqual(["B", "P", "R", "W", "initial_c"]);
    expect(Object.fromEntries(initializers.map(({ name, reason }) => [name, reason]))).toEqual({
      W: 'weight of LSTM "/rnn/node"',
      R: 'weight of LSTM "/rnn/node"',
      B: 'bias of LSTM "/rnn/node"',
      initial_h: "a single number, repeated",
      initial_c: 'first state of LSTM "/rnn/node"',
      P: 'peepholes of LSTM "/rnn/node"',
    });
  });

  it("has no masks where all rows are known to be as long as the time", () => {
    const rest = { held: ["sequence_lens"] };
    const [full, plain, short] = [lengths(TIME, TIME), undefined, lengths(TIME, 1)].map((rows) => {
      const operands = { ...operandsOf("RNN"), ...(rows && { sequence_lens: rows }) };
      return printGraph(reading("RNN", operands, rest).graph);
    });
    expect(full).toBe(plain);
    expect(short).toContain("Where");
  });

  it("leaves a row without elements at the state that it starts from", () => {
    const operands: Tensors = { ...operandsOf("RNN"), sequence_lens: lengths(0, TIME) };
    const { graph } = reading("RNN", operands, { outputs: ["Y", "Y_h"] });
    const { Y, Y_h } = evaluate(graph, operands);
    const firstRow = (found: HostTensor | undefined, from = 0): readonly number[] =>
      Array.from(found?.data ?? [], Number).slice(from, from + HIDDEN);
    expect(firstRow(Y_h)).toEqual(firstRow(operands["initial_h"]));
    for (let time = 0; time < TIME; time++) expect(firstRow(Y, time * BATCH * HIDDEN)).toEqual([0, 0]);
  });

  it.each(["LSTM", "GRU", "RNN"] as const)(
    "%s ignores what is past a row's end, in its gradient too",
    (op) => {
      const floating = operandsOf(op);
      const operands = { ...floating, sequence_lens: lengths(1, TIME) };
      const { graph } = reading(op, operands, { outputs: every[op], held: ["sequence_lens"] });
      const X = floating["X"] as HostTensor;
      const padded = (value: number): Tensors => {
        const data = Float32Array.from(X.data as Float32Array);
        data.fill(value, BATCH * 2, BATCH * 2 + 2);
        return { ...floating, X: tensor(data, X.shape) };
      };
      const found = [0, Number.NaN, Number.POSITIVE_INFINITY].map((value) => {
        const given = padded(value);
        return gradientOf(graph, given, "W")(given["W"] as HostTensor, given);
      });
      expect(found[1]).toEqual(found[0]);
      expect(found[2]).toEqual(found[0]);
    },
  );
});

function bodyOf({ nodes }: Graph): Graph {
  const scan = nodes.find((node) => isNode(node, "Scan"));
  if (scan === undefined) throw new Error("there is no loop");
  return scan.attributes.body;
}

describe("a recurrent node is refused", () => {
  const operands = operandsOf("LSTM");
  const refused = (attributes: OnnxAttributes, given: Tensors = operands): string =>
    refusal(() => reading("LSTM", given, { attributes, held: ["sequence_lens"] }));
  const activations = (...names: string[]) => ({ activations: strings(names) });

  it.each([
    [
      "another direction",
      refused({ direction: string("up") }),
      'has the direction "up", supported are forward, reverse, bidirectional',
    ],
    ["another layout", refused({ layout: int(2) }), "has the layout 2, supported are 0 and 1"],
    ["a bound of 0", refused({ clip: float(0) }), "has the clip 0, supported are numbers above 0"],
    ["another hidden_size", refused({ hidden_size: int(3) }), "has the hidden_size 3, its R is of [1, 8, 2]"],
    [
      "an unknown function",
      refused(activations("Sigmoid", "Swish", "Tanh")),
      'has the activation "Swish", supported are Relu, Tanh, Sigmoid, Softsign, Softplus, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu',
    ],
    ["too few functions", refused(activations("Sigmoid", "Tanh")), "has 2 activations, here it takes 3"],
    [
      "too many numbers",
      refused({ ...activations("Elu", "Elu", "Tanh"), activation_alpha: floats([1, 1, 1]) }),
      "has 3 numbers in activation_alpha, 2 of its activations take one",
    ],
    [
      "a number that engines disagree about",
      refused(activations("Sigmoid", "ScaledTanh", "Tanh")),
      "leaves out the alpha of ScaledTanh, for which engines take different numbers; activation_alpha has to hold it",
    ],
    [
      "an attribute that nobody knows",
      refused({ output_sequence: int(1) }),
      'has the attribute "output_sequence"',
    ],
    [
      "weights of other sizes",
      refused({}, { ...operands, B: numbers(1, [1, 8]) }),
      "has B of [1, 8], by its other operands it is [1, 16]",
    ],
    [
      "one direction's weights for both",
      refused({ direction: string("bidirectional") }),
      "has W of [1, 8, 2], by its other operands it is [2, 8, 2]",
    ],
    [
      "an X of two axes",
      refused({}, { ...operands, X: numbers(1, [3, 2]) }),
      "has X of f32[3, 2], supported are floats of three axes",
    ],
    [
      "an X without elements",
      refused({}, { ...operands, X: numbers(1, [0, 2, 2]) }),
      "has X of [0, 2, 2], without elements",
    ],
    [
      "rows longer than X",
      refused({}, { ...operands, sequence_lens: lengths(1, 4) }),
      "has 4 among its sequence_lens, supported are 0 to 3, X's times",
    ],
  ])("with %s", (_, message, reason) => {
    expect(message).toBe(`MP_UNSUPPORTED: onnx: LSTM of opset 23 (node "/rnn/node") ${reason}`);
  });
});
