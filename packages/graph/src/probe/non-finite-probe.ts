import { type ComputeDType, type HostArrays, isFloat } from "../dtype.js";
import { decodeArray, encodeArray } from "../float-format/bits.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Value } from "../graph/graph.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/index.js";
import { elementCount, formatShape, type Shape } from "../shape.js";
import { refusalOf } from "./engine-refusal.js";
import type { ProbeGraph, ProbeResults } from "./probe-pairs.js";

/** A graph to run once, with a function that evaluates the results. */
export interface NonFiniteProbe extends ProbeGraph {
  /**
   * The first element that is not the IEEE 754 result of its terms, as a reason for a manifest; undefined if there is
   * none.
   */
  problem(results: ProbeResults): string | undefined;
}

interface Convolved {
  readonly x: Shape;
  readonly w: Shape;
  readonly pads: number;
  readonly dilation: number;
  readonly group: number;
}

/** The probed cases. Engines have separate kernels for few channels, channel blocks, dilation and groups. */
const CONVOLVED: readonly Convolved[] = [
  { x: [1, 2, 5, 5], w: [3, 2, 3, 3], pads: 1, dilation: 1, group: 1 },
  { x: [1, 16, 4, 4], w: [16, 16, 3, 3], pads: 1, dilation: 1, group: 1 },
  { x: [1, 2, 6, 7], w: [3, 2, 2, 2], pads: 0, dilation: 2, group: 1 },
  { x: [1, 4, 4, 5], w: [6, 2, 2, 3], pads: 1, dilation: 1, group: 2 },
  { x: [1, 3, 5, 5], w: [3, 1, 3, 3], pads: 1, dilation: 1, group: 3 },
  { x: [1, 2, 8], w: [4, 2, 3], pads: 1, dilation: 1, group: 1 },
];

type Operand = (shape: Shape, index: number) => Value;

/** Emits a convolution and the two ops of its gradients, on operands that `operand` makes. */
function emitConvolutions(
  builder: GraphBuilder,
  { x, w, pads, dilation, group }: Convolved,
  operand: Operand,
): Readonly<Record<string, Value>> {
  const kernelShape = w.slice(2);
  const each = (number: number): readonly number[] => kernelShape.map(() => number);
  const window = { strides: each(1), pads: [...each(pads), ...each(pads)], dilations: each(dilation), group };
  const outputs = x.slice(2).map((size, axis) => size + 2 * pads - dilation * ((kernelShape[axis] ?? 1) - 1));
  const y = [x[0] ?? 1, w[0] ?? 1, ...outputs];
  const transposed = { ...window, outputPadding: each(0) };
  return {
    Conv: builder.emitOne("Conv", [operand(x, 0), operand(w, 1)], window),
    ConvTranspose: builder.emitOne("ConvTranspose", [operand(y, 0), operand(w, 1)], transposed),
    ConvWeightGradient: builder.emitOne("ConvWeightGradient", [operand(x, 0), operand(y, 1)], {
      ...window,
      kernelShape,
    }),
  };
}

/**
 * Tests convolutions, their transposes and their weight gradients where one element is infinite, next to zeros of the
 * padding and with a dilated kernel. A manifest declares the answer as `nonFiniteConvolution`.
 * @param dtypes for which the engine has native kernels
 */
export function nonFiniteProbe(dtypes: readonly ComputeDType[]): NonFiniteProbe {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const values = new Map<string, Value>();
  const results = new Map<string, Value>();
  const asked = new Map<string, string>();
  const input = (dtype: ComputeDType, shape: Shape, first: number): Value => {
    const name = `${dtype} ${shape.join()} ${first}`;
    const known = values.get(name);
    if (known !== undefined) return known;
    const numbers = new Float32Array(elementCount(shape, "probe")).fill(1).fill(first, 0, 1);
    inputs[name] =
      dtype === "f32" ? tensor(numbers, shape) : tensor(encodeArray(dtype, numbers), shape, dtype);
    const made = builder.input(name, { dtype, shape }, "batch");
    values.set(name, made);
    return made;
  };
  for (const dtype of dtypes)
    for (const convolved of CONVOLVED)
      for (const infinite of [0, 1]) {
        const made = emitConvolutions(builder, convolved, (shape, index) =>
          // Infinity times a padding zero is NaN, so infinity shows more than NaN would.
          input(dtype, shape, index === infinite ? Number.POSITIVE_INFINITY : 1),
        );
        for (const [op, result] of Object.entries(made)) {
          const { w, pads, dilation } = convolved;
          const name = `y${results.size}`;
          results.set(name, result);
          asked.set(
            name,
            `${op} of ${dtype} with kernels ${formatShape(w)}, pads ${pads}, dilation ${dilation} and infinity in operand ${infinite}`,
          );
        }
      }
  const graph = builder.finish(results);
  return {
    graph,
    inputs,
    problem: (got) => {
      const want = evaluate(graph, inputs);
      for (const [name, what] of asked) {
        const problem = mismatch(got[name], want[name]);
        if (problem !== undefined) return `${what}: ${problem}`;
      }
      return undefined;
    },
  };
}

/**
 * Tests whether an engine's convolutions in the given dtypes follow IEEE 754 for infinities and NaN. Returns the
 * difference or the engine's error, as a reason for a manifest's `nonFiniteConvolution`; undefined if there is none.
 */
export async function nonFiniteProblem(
  dtypes: readonly ComputeDType[],
  run: (probe: ProbeGraph) => Promise<ProbeResults>,
): Promise<string | undefined> {
  let found: string | undefined;
  const refusal = await refusalOf(async () => {
    const probe = nonFiniteProbe(dtypes);
    found = probe.problem(await run(probe));
  });
  return refusal ?? found;
}

function mismatch(got: HostTensor | undefined, want: HostTensor | undefined): string | undefined {
  if (got === undefined || want === undefined) return "nothing came back";
  const [given, wanted] = [got, want].map(readNumbers) as [Float32Array, Float32Array];
  // Finite results are sums of ones, so they must be equal. The sign of zeros is ignored.
  const at = wanted.findIndex((number, index) => !Object.is(number + 0, (given[index] as number) + 0));
  return at < 0 ? undefined : `element ${at} is ${given[at]}, by IEEE 754 ${wanted[at]}`;
}

const readNumbers = ({ dtype, data }: HostTensor): Float32Array =>
  isFloat(dtype)
    ? decodeArray(dtype, data as HostArrays[typeof dtype])
    : Float32Array.from(data as Int32Array);
