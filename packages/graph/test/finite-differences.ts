import type { HalfDType } from "../src/dtype.js";
import { roundTo } from "../src/float-format/round.js";
import { grad } from "../src/gradient/grad.js";
import type { Op } from "../src/graph/attributes.js";
import { formatType } from "../src/graph/format-type.js";
import { tensor } from "../src/host/host-tensor.js";
import { evaluateRaw, type RawTensor } from "../src/reference/evaluate.js";
import { elementCount, formatShape, type Shape } from "../src/shape.js";
import { add, mul } from "../src/trace/ops/binary.js";
import { reduceSum } from "../src/trace/ops/reduce.js";
import { constant } from "../src/trace/ops/source.js";
import type { Tensor } from "../src/trace/tensor.js";
import { traceInto } from "../src/trace/trace.js";

export interface Point {
  readonly shape: Shape;
  readonly data: readonly number[];
}

export type TensorFunction = (...inputs: readonly Tensor[]) => Tensor;

/** One function of one op at one point, for the tests of the gradient rules. */
export interface GradientCase {
  readonly op: Op;
  readonly name?: string;
  readonly fn: TensorFunction;
  readonly points: readonly Point[];
  /** False where second derivatives do not exist or are documented to be wrong. */
  readonly second?: false;
}

/** Cases with a title each, for `describe.each`. */
export function titled(
  cases: readonly GradientCase[],
): readonly (readonly [title: string, gradientCase: GradientCase])[] {
  return cases.map((one) => {
    const shapes = one.points.map(({ shape }) => formatShape(shape)).join(" ");
    return [[one.op, one.name ?? "", shapes].filter((part) => part !== "").join(" "), one];
  });
}

/** Ops of a rule table that have a rule but no case. */
export function withoutCase(
  rules: Readonly<Record<string, unknown>>,
  cases: readonly GradientCase[],
): readonly string[] {
  const covered = new Set<string>(cases.map(({ op }) => op));
  return Object.keys(rules).filter((op) => typeof rules[op] === "function" && !covered.has(op));
}

/** A point of spread-out values in -1.5 … 1.5, none near 0 and no two alike; `seed` varies them. */
export function pointOf(shape: Shape, seed = 0): Point {
  const size = elementCount(shape, "pointOf");
  const data = Array.from({ length: size }, (_, index) => {
    const turn = ((index + 1) * 0.6180339887 + seed * 0.4142135624) % 1;
    return (turn < 0.5 ? -0.1 : 0.1) + 2.8 * (turn - 0.5);
  });
  return { shape, data };
}

/** `pointOf` away from zero on the positive side. */
export function positivePoint(shape: Shape, seed = 0): Point {
  return { shape, data: pointOf(shape, seed).data.map((x) => Math.abs(x) + 0.3) };
}

/** i32 indices as a tensor of the graph. */
export function indices(data: readonly number[], shape: Shape = [data.length]): Tensor {
  return constant(tensor(Int32Array.from(data), shape));
}

/** Σ of the tensor's elements with unequal weights, so that each element's gradient shows. */
function weightedSum(x: Tensor): Tensor {
  const weights = Float32Array.from({ length: elementCount(x.shape, "weightedSum") }, (_, index) =>
    Math.fround(1 + Math.sin(index * 1.7 + 0.4) / 2),
  );
  return reduceSum(mul(x, constant(tensor(weights, x.shape))));
}

/** The function whose value is the weighted sum of `fn`'s gradients: differentiating it checks second derivatives. */
export function gradientSum(fn: TensorFunction): TensorFunction {
  return (...inputs) =>
    grad((all: readonly Tensor[]) => weightedSum(fn(...all)))(inputs)
      .map(weightedSum)
      .reduce((sum, part) => add(sum, part));
}

/**
 * Evaluates the loss Σ wᵢ·fn(inputs)ᵢ on the reference in f64, its gradients by the gradient rules, and by
 * central differences, each element in turn.
 * @returns the largest |difference| / max(1, |gradient|)
 */
export function gradientError(fn: TensorFunction, points: readonly Point[], step = 1e-5): number {
  const types = points.map(({ shape }, index) => ({
    name: `x${index}`,
    role: "batch" as const,
    type: { dtype: "f32" as const, shape },
  }));
  const loss = (all: readonly Tensor[]): Tensor => weightedSum(fn(...all));
  const forward = traceInto(types, loss).graph;
  const backward = traceInto(types, (inputs) => grad(loss)(inputs)).graph;
  const raw = points.map(
    ({ shape, data }): RawTensor => ({ dtype: "f32", shape, data: Float64Array.from(data) }),
  );
  const feed = (tensors: readonly RawTensor[]): Record<string, RawTensor> =>
    Object.fromEntries(tensors.map((value, index) => [`x${index}`, value]));
  const lossAt = (tensors: readonly RawTensor[]): number =>
    Number(evaluateRaw(forward, feed(tensors), { arithmetic: "f64" })["result"]?.data[0]);

  const gradients = Object.values(evaluateRaw(backward, feed(raw), { arithmetic: "f64" }));
  let worst = 0;
  raw.forEach((value, index) => {
    value.data.forEach((_, element) => {
      const moved = (by: number): readonly RawTensor[] =>
        raw.map((other, at) => {
          if (at !== index) return other;
          const data = Float64Array.from(other.data as Float64Array);
          data[element] = (data[element] ?? 0) + by;
          return { ...other, data };
        });
      const wanted = (lossAt(moved(step)) - lossAt(moved(-step))) / (2 * step);
      const got = Number(gradients[index]?.data[element]);
      const error = Math.abs(got - wanted) / Math.max(1, Math.abs(wanted));
      worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error);
    });
  });
  return worst;
}

/**
 * The same gradients with every input in a half dtype, computed exactly and in f64.
 * @returns the largest difference over all elements, relative to the largest gradient or 1
 * @throws when a gradient has another shape or dtype than its input
 */
export function halfError(fn: TensorFunction, points: readonly Point[], dtype: HalfDType): number {
  const types = points.map(({ shape }, index) => ({
    name: `x${index}`,
    role: "batch" as const,
    type: { dtype, shape },
  }));
  const loss = (all: readonly Tensor[]): Tensor => weightedSum(fn(...all));
  const { graph } = traceInto(types, (inputs) => grad(loss)(inputs));
  graph.outputs.forEach(({ value }, index) => {
    const input = graph.inputs[index]?.value;
    if (input === undefined || formatType(value) !== formatType(input)) {
      throw new Error(`the gradient of x${index} is ${formatType(value)}`);
    }
  });
  const feed = Object.fromEntries(
    points.map(({ shape, data }, index) => [
      `x${index}`,
      { dtype, shape, data: Float32Array.from(data, (x) => roundTo(dtype, x)) },
    ]),
  );
  const exact = Object.values(evaluateRaw(graph, feed));
  const wanted = Object.values(evaluateRaw(graph, feed, { arithmetic: "f64" }));
  const numbers = (raw: RawTensor | undefined): readonly number[] =>
    Array.from((raw?.data ?? []) as Float64Array, Number);
  const largest = Math.max(1, ...wanted.flatMap((raw) => numbers(raw).map(Math.abs)));
  const differences = exact.flatMap((raw, index) => {
    const other = numbers(wanted[index]);
    return numbers(raw).map((x, element) => Math.abs(x - (other[element] ?? Number.NaN)) / largest);
  });
  return differences.reduce(
    (worst, x) => (Number.isNaN(x) ? Number.POSITIVE_INFINITY : Math.max(worst, x)),
    0,
  );
}
