/** NaN at every position in every op that reduces many elements to one; some engines' maxima lose it. */

import {
  type ComputeDType,
  GraphBuilder,
  type HostTensor,
  isComputeFloat,
  type Op,
  type OpAttributes,
  opDTypes,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
  type Value,
} from "@mp/graph";
import { manifestAllowance } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { generate } from "../host-data.js";
import { graphCase } from "./kinds/graph-case.js";

/** Length of more than four vectors of 16, with a remainder. */
const LENGTH = 67;

const LONE = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1, -2];

/** Row k has NaN at position k, the last row has none; if transposed, this holds for columns. */
function diagonal(dtype: ComputeDType, transposed: boolean): HostTensor {
  const [rows, columns] = transposed ? [LENGTH, LENGTH + 1] : [LENGTH + 1, LENGTH];
  return generate(dtype, [rows, columns], (at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    return row === column ? Number.NaN : 0.5 + ((row + 3 * column) % 8) / 8;
  });
}

type Fold<K extends Op> = (axis: number) => OpAttributes[K];

/** A case that reduces rows, columns, and a separate vector for each position. */
function foldCase<K extends Op>(op: K, dtype: ComputeDType, fold: Fold<K>): ConformanceCase {
  return graphCase(`reduce/${op}-${dtype}/nan-at-every-position`, () => {
    const builder = new GraphBuilder();
    const inputs: Record<string, HostTensor> = {};
    const outputs: Record<string, Value> = {};
    const apply = (name: string, tensor: HostTensor, axis: number): void => {
      const x = builder.input(name, { dtype, shape: tensor.shape }, "batch");
      inputs[name] = tensor;
      builder.emit(op, [x], fold(axis)).forEach((value, index) => {
        outputs[`${name} result${index}`] = value;
      });
    };
    apply("rows", diagonal(dtype, false), 1);
    apply("columns", diagonal(dtype, true), 0);
    for (let position = 0; position <= LENGTH; position += position < 4 || position > 60 ? 1 : 7) {
      const withNan = (at: number): number => (at === position ? Number.NaN : 1 + (at % 4) / 4);
      apply(`vector with NaN at ${position}`, generate(dtype, [LENGTH], withNan), 0);
    }
    for (const axis of op === "TopK" ? [] : [0, 1, 2]) {
      const lone = generate(dtype, [2, 3, 4].with(axis, 1), (at) => LONE[at % LONE.length] as number);
      apply(`axis ${axis}, of one element`, lone, axis);
    }
    const graph = builder.finish(outputs);
    const dtypes = new Map(graph.outputs.map(({ name, value }) => [name, value.dtype]));
    return {
      graph,
      inputs,
      allowance: (manifest, output) => manifestAllowance(manifest, op, dtypes.get(output) ?? dtype),
      describe: (output) => `${op} of ${output}`,
    };
  });
}

const reduce = (axis: number) => ({ axes: [axis], keepdims: false });
const search = (axis: number) => ({ axis, keepdims: false });

const folds: { readonly [K in Op]?: Fold<K> } = {
  ...rowsOf(REDUCE_OPS, () => reduce),
  // NaN counts as larger than every number for ArgMax, and as the element to find for ArgMin.
  ArgMax: search,
  ArgMin: search,
  TopK: (axis) => ({ axis, k: 3, largest: true }),
  CumSum: (axis) => ({ axis, exclusive: false, reverse: false }),
  Softmax: (axis) => ({ axis }),
  LogSoftmax: (axis) => ({ axis }),
};

function foldCases<K extends Op>(op: K): readonly ConformanceCase[] {
  const fold = folds[op];
  if (fold === undefined) return [];
  return opDTypes[op].filter(isComputeFloat).map((dtype) => foldCase(op, dtype, fold));
}
const reductions = (Object.keys(folds) as ReduceOp[]).filter((op) => folds[op] === reduce);
const PAIRED = 6;

/** NaN at each position beside an infinity at each other, in vectors and in rows, and beside a 0 in rows. */
function besideInfinity(op: ReduceOp, dtype: ComputeDType): ConformanceCase {
  return graphCase(`reduce/${op}-${dtype}/nan-beside-infinity`, () => {
    const builder = new GraphBuilder();
    const inputs: Record<string, HostTensor> = {};
    const outputs: Record<string, Value> = {};
    const element = (nan: number, beside: number, at: number, other = Number.POSITIVE_INFINITY): number =>
      at === nan ? Number.NaN : at === beside ? other : 0.5;
    const reduced = (name: string, x: HostTensor): void => {
      inputs[name] = x;
      const value = builder.input(name, { dtype, shape: x.shape }, "batch");
      outputs[name] = builder.emitOne(op, [value], reduce(x.shape.length - 1));
    };
    const places = Array.from({ length: PAIRED * PAIRED }, (_, at) => [Math.floor(at / PAIRED), at % PAIRED]);
    for (const [nan = 0, infinity = 0] of places)
      reduced(
        `NaN at ${nan}, infinity at ${infinity}`,
        generate(dtype, [PAIRED], (at) => element(nan, infinity, at)),
      );
    for (const other of [Number.POSITIVE_INFINITY, 0])
      reduced(
        `all of them as rows, beside ${other}`,
        generate(dtype, [places.length, PAIRED], (at) => {
          const [nan = 0, beside = 0] = places[Math.floor(at / PAIRED)] ?? [];
          return element(nan, beside, at % PAIRED, other);
        }),
      );
    return {
      graph: builder.finish(outputs),
      inputs,
      allowance: (manifest) => manifestAllowance(manifest, op, dtype),
      describe: (output) => `${op} of ${output}`,
    };
  });
}

/** Matrix products with a NaN term at any position, whose sum must be NaN. */
const products: readonly ConformanceCase[] = (["f32", "f16", "bf16"] as const).map((dtype) =>
  graphCase(`reduce/MatMul-${dtype}/nan-at-every-position`, () => {
    const builder = new GraphBuilder();
    const [rows, columns] = [diagonal(dtype, false), diagonal(dtype, true)];
    const ones = generate(dtype, [LENGTH, 3], () => 1);
    const inputs = { rows, columns, ones, left: generate(dtype, [2, LENGTH], () => 1) };
    const value = (name: keyof typeof inputs): Value =>
      builder.input(name, { dtype, shape: inputs[name].shape }, "batch");
    const y = builder.emitOne("MatMul", [value("rows"), value("ones")], {});
    const z = builder.emitOne("MatMul", [value("left"), value("columns")], {});
    return {
      graph: builder.finish({ y, z }),
      inputs,
      allowance: (manifest) => manifestAllowance(manifest, "MatMul", dtype),
    };
  }),
);

export const nanCases: readonly ConformanceCase[] = [
  ...(Object.keys(folds) as Op[]).flatMap((op) => foldCases(op)),
  ...reductions.flatMap((op) =>
    opDTypes[op].filter(isComputeFloat).map((dtype) => besideInfinity(op, dtype)),
  ),
  ...products,
];
