/**
 * Chains of operators that graph optimizers rewrite by laws that NaN breaks: the largest square root is not the
 * square root of the largest element, and "not less" is not "greater or equal".
 */
import { type ComputeDType, elementCount, GraphBuilder, type HostTensor, type Value } from "@mp/graph";
import { EXACT, manifestAllowance } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { generate } from "../../host-data.js";
import { graphCase } from "../kinds/graph-case.js";

const FLOATS: readonly ComputeDType[] = ["f32", "f16", "bf16"];
const SHAPE = [2, 3, 4];

/** Monotonic functions, over which an optimizer may move a maximum. Some are NaN outside their domain. */
const MONOTONIC = ["Sqrt", "Log", "Exp", "Tanh", "Sigmoid", "Relu", "Neg", "Reciprocal"] as const;
type Monotonic = (typeof MONOTONIC)[number];

const EXTREMES = ["ReduceMax", "ReduceMin"] as const;

/** Positive numbers, except the first three of every twelve, which are negative and of growing magnitude. */
const crossing = (dtype: ComputeDType, size: number): HostTensor =>
  generate(dtype, [size], (at) => (at % 4 === at % 3 ? -1 - at : 0.25 + (at % 5)));

function extremeCase(
  outer: (typeof EXTREMES)[number],
  inner: Monotonic,
  dtype: ComputeDType,
): ConformanceCase {
  return graphCase(`rewrite/${outer}-of-${inner}-${dtype}/outside-its-domain`, () => {
    const builder = new GraphBuilder();
    const inputs: Record<string, HostTensor> = {};
    const outputs: Record<string, Value> = {};
    // Each chain has its own operand and inner value, or no optimizer touches it.
    const applyInner = (): Value => {
      const name = `x${Object.keys(inputs).length}`;
      inputs[name] = crossing(dtype, elementCount(SHAPE, "test data"));
      const x = builder.input(name, { dtype, shape: inputs[name].shape }, "batch");
      return builder.emitOne(inner, [builder.emitOne("Reshape", [x], { shape: SHAPE })], {});
    };
    const extreme = (x: Value, axes: readonly number[], keepdims: boolean): Value =>
      builder.emitOne(outer, [x], { axes, keepdims });
    outputs["of rows"] = extreme(applyInner(), [2], false);
    outputs["of columns"] = extreme(applyInner(), [0, 1], true);
    outputs["of all"] = extreme(applyInner(), [0, 1, 2], false);
    outputs["through Relu"] = extreme(builder.emitOne("Relu", [applyInner()], {}), [2], true);
    outputs["through Neg"] = extreme(builder.emitOne("Neg", [applyInner()], {}), [2], false);
    outputs["of an extreme"] = extreme(extreme(applyInner(), [2], true), [0], false);
    return {
      graph: builder.finish(outputs),
      inputs,
      allowance: (manifest) => manifestAllowance(manifest, inner, dtype),
      describe: (output) => `${outer} of ${inner}, ${output},`,
    };
  });
}

const COMPARISONS = ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"] as const;

/** A negated comparison with NaN. Programs guard against NaN with `where(not(less(x, limit)), 0, x)`. */
function notCase(comparison: (typeof COMPARISONS)[number], dtype: ComputeDType): ConformanceCase {
  return graphCase(`rewrite/Not-of-${comparison}-${dtype}/nan`, () => {
    const builder = new GraphBuilder();
    const numbers = [Number.NaN, 0, 3, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1];
    const input = (name: string): Value => builder.input(name, { dtype, shape: [numbers.length] }, "batch");
    const tensor = generate(dtype, [numbers.length], (at) => numbers[at] as number);
    const [x, y, z] = [input("x"), input("y"), input("z")];
    const one = builder.constant(generate(dtype, [], () => 1));
    const not = (value: Value): Value =>
      builder.emitOne("Not", [builder.emitOne(comparison, [value, one], {})], {});
    return {
      graph: builder.finish({
        not: not(x),
        chosen: builder.emitOne("Where", [not(y), one, y], {}),
        both: builder.emitOne("And", [not(z), builder.emitOne("Equal", [z, z], {})], {}),
      }),
      inputs: { x: tensor, y: tensor, z: tensor },
      allowance: () => EXACT,
      describe: (output) => `Not of ${comparison}, ${output},`,
    };
  });
}

export const nonFiniteChainCases: readonly ConformanceCase[] = FLOATS.flatMap((dtype) => [
  ...EXTREMES.flatMap((outer) => MONOTONIC.map((inner) => extremeCase(outer, inner, dtype))),
  ...COMPARISONS.map((comparison) => notCase(comparison, dtype)),
]);
