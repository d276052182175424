/**
 * One infinity or NaN in a convolution with padding, dilation or groups must reach the results that the manifest names.
 */
import {
  type ComputeDType,
  elementCount,
  formatShape,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type Shape,
  type Value,
} from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { evaluate } from "@mp/graph/reference";
import { EXACT } from "../compare/allowance.js";
import { compareTensors } from "../compare/compare-tensors.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { generate, toNumbers } from "../host-data.js";
import {
  type ConvolutionOp,
  type Convolved,
  conv,
  convTranspose,
  type Make,
  weightGradient,
} from "../samples/convolution-samples.js";
import { runGraph, type Tensors } from "./kinds/graph-case.js";
import { scriptedCase } from "./kinds/scripted-case.js";

const CONVOLVED: readonly Convolved[] = [
  { x: [1, 2, 5, 5], w: [3, 2, 3, 3], pads: [1, 1, 1, 1] },
  { x: [1, 2, 5, 4], w: [3, 2, 3, 2], pads: [1, 0, 1, 2], strides: [2, 1] },
  { x: [1, 16, 4, 4], w: [16, 16, 3, 3], pads: [1, 1, 1, 1] },
  { x: [1, 2, 6, 7], w: [3, 2, 2, 2], dilations: [2, 3] },
  { x: [1, 2, 5, 6], w: [2, 2, 3, 2], dilations: [2, 1], pads: [2, 0, 1, 1] },
  { x: [1, 4, 4, 5], w: [6, 2, 2, 3], group: 2, pads: [0, 1, 1, 1] },
  { x: [1, 3, 5, 5], w: [3, 1, 3, 3], group: 3, pads: [1, 1, 1, 1] },
  { x: [1, 3, 5, 5], w: [3, 1, 2, 2], group: 3, dilations: [2, 2] },
  { x: [1, 2, 8], w: [4, 2, 3], pads: [1, 1] },
  { x: [1, 2, 4, 4, 3], w: [2, 2, 3, 2, 3], pads: [1, 0, 1, 1, 1, 1] },
];

/**
 * Positions of an infinity or NaN in an operand of ones (negative ones count from the end), and the number that fills
 * the other operand. An engine must not leave out a term because one factor is 0.
 */
const NON_FINITE = [
  { operand: 0, value: Number.POSITIVE_INFINITY, at: 7, other: 1 },
  { operand: 0, value: Number.NaN, at: 0, other: 1 },
  { operand: 1, value: Number.NEGATIVE_INFINITY, at: 0, other: 1 },
  { operand: 1, value: Number.NaN, at: -1, other: 1 },
  { operand: 0, value: Number.NaN, at: 7, other: 0 },
  { operand: 1, value: Number.POSITIVE_INFINITY, at: -1, other: 0 },
] as const;

interface Replaced {
  readonly graph: Graph;
  readonly inputs: Tensors;
  readonly called: ReadonlyMap<string, string>;
}

function nonFiniteGraph<K extends ConvolutionOp>(op: K, make: Make<K>, dtype: ComputeDType): Replaced {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const outputs: Record<string, Value> = {};
  const called = new Map<string, string>();
  CONVOLVED.forEach((convolved, row) => {
    NON_FINITE.forEach(({ operand, value, at, other }, column) => {
      const name = `${row}.${column}`;
      const shapes: Shape[] = [];
      const { attributes } = make(
        convolved,
        (type, shape) => {
          shapes.push(shape);
          return generate(type, shape, () => 1);
        },
        dtype,
        false,
      );
      const operands = shapes.map((shape, index) => {
        const size = elementCount(shape, "operand");
        const place = (at + size) % size;
        const fed = generate(dtype, shape, (k) => {
          if (index !== operand) return other;
          return k === place ? value : 1;
        });
        inputs[`${name}.${index}`] = fed;
        return builder.input(`${name}.${index}`, { dtype, shape }, "batch");
      });
      outputs[name] = builder.emitOne(op, operands, attributes);
      const described = Object.entries(attributes).map(([key, own]) => `${key} ${JSON.stringify(own)}`);
      called.set(
        name,
        `${op}(${shapes.map(formatShape).join(", ")}) with ${described.join(", ")}, ${value} in operand ${operand}, ${other} in the other`,
      );
    });
  });
  return { graph: builder.finish(outputs), inputs, called };
}

/** Replaces the finite elements of the inputs by `finite`, if given, and the non-finite elements by `other`. */
const replaceNumbers = (inputs: Tensors, finite: number | undefined, other: number): Tensors =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, tensor]) => {
      const numbers = toNumbers(tensor);
      const mark = (k: number): number =>
        Number.isFinite(numbers[k]) ? (finite ?? (numbers[k] as number)) : other;
      return [name, generate(tensor.dtype, tensor.shape, mark)];
    }),
  );

/** Checks that every result with a non-finite term is non-finite, and that every finite result is right. */
function checkReached({ graph, inputs, called }: Replaced, got: Tensors): void {
  const ones = evaluate(graph, replaceNumbers(inputs, 1, 1));
  // With the non-finite elements replaced by 0, the sum decreases by the number of terms that they belong to.
  const without = evaluate(graph, replaceNumbers(inputs, 1, 0));
  const wanted = evaluate(graph, replaceNumbers(inputs, undefined, 1));
  for (const [name, what] of called) {
    const [all, rest, want, results] = [ones, without, wanted, got].map((of) =>
      toNumbers(of[name] as HostTensor),
    );
    results?.forEach((result, at) => {
      if (!Number.isFinite(result)) return;
      if (all?.[at] !== rest?.[at])
        fail(`${what}: element ${at} is ${result}, though one of its terms is not finite`);
      if (result !== want?.[at]) fail(`${what}: element ${at} is ${result}, want ${want?.[at]} or NaN`);
    });
  }
}

function checkTerms({ graph, inputs, called }: Replaced, got: Tensors): void {
  for (const [name, want] of Object.entries(evaluate(graph, inputs))) {
    const mismatch = compareTensors(got[name], want, { ...EXACT, signedZero: false });
    if (mismatch !== undefined) fail(`${called.get(name)}: ${mismatch}`);
  }
}

function convolutionCases<K extends ConvolutionOp>(op: K, make: Make<K>): readonly ConformanceCase[] {
  return (["f32", "f16", "bf16"] as const).map((dtype) => {
    const graph = () => nonFiniteGraph(op, make, dtype).graph;
    return scriptedCase(`op/${op}-${dtype}/non-finite-values-stay-in-their-sums`, graph, async (backend) => {
      const fresh = nonFiniteGraph(op, make, dtype);
      const got = await runGraph(backend, fresh.graph, fresh.inputs);
      const reason = unsupportedReason(backend.manifest.nonFiniteConvolution);
      (reason === undefined ? checkTerms : checkReached)(fresh, got);
    });
  });
}

export const nonFiniteConvolutionCases: readonly ConformanceCase[] = [
  ...convolutionCases("Conv", conv),
  ...convolutionCases("ConvTranspose", convTranspose),
  ...convolutionCases("ConvWeightGradient", weightGradient),
];
