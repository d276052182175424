/** Tensors so large that an engine splits them among threads, tiles or launches, with a remainder. */
import { type DType, GraphBuilder, type HostTensor, type Op, type OpAttributes, type Shape } from "@mp/graph";
import { manifestAllowance } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { generate } from "../host-data.js";
import { graphCase } from "./kinds/graph-case.js";

interface Large<K extends Op> {
  readonly attributes: OpAttributes[K];
  readonly inputs: readonly HostTensor[];
  /** Whether results are exact: sums of small whole numbers are, in every order. */
  readonly exact?: boolean;
}

function largeCase<K extends Op>(op: K, behaviour: string, build: () => Large<K>): ConformanceCase {
  return graphCase(`large/${op}/${behaviour}`, () => {
    const { attributes, inputs, exact = false } = build();
    const builder = new GraphBuilder();
    const operands = inputs.map((tensor, index) => builder.input(`x${index}`, tensor, "batch"));
    const outputs = builder.emit(op, operands, attributes);
    const graph = builder.finish(new Map(outputs.map((value, index) => [`y${index}`, value])));
    const dtypes = new Map(graph.outputs.map(({ name, value }) => [name, value.dtype]));
    return {
      graph,
      inputs: Object.fromEntries(inputs.map((tensor, index) => [`x${index}`, tensor])),
      allowance: (manifest, output) => {
        const declared = manifestAllowance(manifest, op, dtypes.get(output) as DType);
        return exact ? { ...declared, ulp: 0 } : declared;
      },
    };
  });
}

/** Whole numbers -2 … 2 without a short period. */
const whole = (shape: Shape, dtype: DType = "f32"): HostTensor =>
  generate(dtype, shape, (at) => ((Math.imul(at, 2654435761) >>> 7) % 5) - 2);
const smooth = (shape: Shape): HostTensor => generate("f32", shape, (at) => Math.sin(at * 0.37) * 3);

const along = (...axes: readonly number[]) => ({ axes, keepdims: false });

export const largeCases: readonly ConformanceCase[] = [
  largeCase("Add", "a-million-and-one", () => ({
    attributes: {},
    inputs: [smooth([1_000_001]), whole([1_000_001])],
  })),
  largeCase("Mul", "broadcast-columns", () => ({
    attributes: {},
    inputs: [smooth([1023, 517]), smooth([1023, 1])],
  })),
  largeCase("Exp", "a-million-and-one", () => ({ attributes: {}, inputs: [smooth([1_000_001])] })),
  largeCase("Where", "a-million-and-one", () => ({
    attributes: {},
    inputs: [
      generate("bool", [1_000_001], (at) => Math.floor(at / 3) % 2),
      smooth([1_000_001]),
      whole([1_000_001]),
    ],
  })),
  largeCase("Cast", "a-million-halves", () => ({
    attributes: { to: "f16" as const },
    inputs: [smooth([1_000_001])],
  })),
  largeCase("MatMul", "uneven-tiles", () => ({
    attributes: {},
    inputs: [whole([257, 301]), whole([301, 263])],
    exact: true,
  })),
  largeCase("MatMul", "tall-and-thin", () => ({
    attributes: {},
    inputs: [whole([1, 20_011]), whole([20_011, 3])],
    exact: true,
  })),
  largeCase("MatMul", "many-small-ones", () => ({
    attributes: {},
    inputs: [whole([301, 5, 7]), whole([301, 7, 3])],
    exact: true,
  })),
  largeCase("Gemm", "both-transposed", () => ({
    attributes: { transA: true, transB: true, alpha: 1, beta: 1 },
    inputs: [whole([301, 257]), whole([263, 301]), whole([263])],
    exact: true,
  })),
  largeCase("ReduceSum", "all-of-a-million", () => ({
    attributes: along(0),
    inputs: [whole([1_000_001])],
    exact: true,
  })),
  largeCase("ReduceSum", "columns", () => ({
    attributes: along(0),
    inputs: [whole([2003, 301])],
    exact: true,
  })),
  largeCase("ReduceSum", "rows", () => ({ attributes: along(1), inputs: [whole([301, 2003])], exact: true })),
  largeCase("ReduceMax", "all-of-a-million", () => ({ attributes: along(0), inputs: [smooth([1_000_001])] })),
  largeCase("CumSum", "a-long-row", () => ({
    attributes: { axis: 1, exclusive: false, reverse: false },
    inputs: [whole([2, 50_021])],
    exact: true,
  })),
  largeCase("Softmax", "many-rows", () => ({ attributes: { axis: 1 }, inputs: [smooth([2003, 17])] })),
  largeCase("Transpose", "uneven-tiles", () => ({
    attributes: { perm: [1, 0] },
    inputs: [smooth([1023, 517])],
  })),
  largeCase("Concat", "two-halves", () => ({
    attributes: { axis: 1 },
    inputs: [smooth([301, 999]), whole([301, 1001])],
  })),
  largeCase("Gather", "many-rows", () => ({
    attributes: { axis: 0 },
    inputs: [smooth([1009, 33]), generate("i32", [5003], (at) => (at * 389) % 1009)],
  })),
  largeCase("ScatterElements", "many-updates-to-few-places", () => ({
    attributes: { axis: 0, reduction: "add" as const },
    inputs: [whole([101]), generate("i32", [50_021], (at) => (at * 37) % 101), whole([50_021])],
    exact: true,
  })),
  largeCase("TopK", "of-many", () => ({
    attributes: { axis: 0, k: 100, largest: true },
    inputs: [generate("f32", [20_011], (at) => (at * 7919) % 20_011)],
  })),
  largeCase("RandomBits", "a-hundred-thousand", () => ({
    attributes: { key: 0x9e3779b97f4a7c15n, shape: [317, 331] },
    inputs: [generate("i32", [], () => 12_345)],
  })),
];
