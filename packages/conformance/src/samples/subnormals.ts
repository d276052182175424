/** Subnormals in every op that moves, adds or multiplies them by 1. */
import {
  type DType,
  type FloatDType,
  floatFormats,
  type HostTensor,
  type Op,
  type OpAttributes,
  type Shape,
} from "@mp/graph";
import { backwards, generate, hostData } from "../host-data.js";
import { exact, sample } from "./op-sample.js";
import { HALVES_TOO, type RareRow, rareRow } from "./rare-row.js";

/** Integer multiples of the smallest subnormal, of either sign, whose sums are exact. */
function small(dtype: DType, shape: Shape): HostTensor {
  const { minSubnormal } = floatFormats[dtype as FloatDType];
  return generate(dtype, shape, (at) => (((at * 3) % 7) - 3) * minSubnormal);
}

/** Dtypes for ops that only move subnormals; these include f8. */
const MOVED: readonly FloatDType[] = ["f32", "f16", "bf16", "f8e4m3", "f8e5m2"];

const subnormalRow = <K extends Op>(dtypes: readonly DType[], samples: RareRow<K>["samples"]): RareRow<K> =>
  rareRow("subnormals", dtypes, samples);

export const moveSubnormals = <K extends Op>(
  attributes: OpAttributes[K],
  ...shapes: readonly Shape[]
): RareRow<K> =>
  subnormalRow(MOVED, (dtype) => [sample(attributes, ...shapes.map((shape) => small(dtype, shape)))]);

export const indexSubnormals = <K extends Op>(
  attributes: OpAttributes[K],
  indices: Shape,
  updates?: Shape,
  dtypes: readonly DType[] = MOVED,
): RareRow<K> =>
  subnormalRow(dtypes, (dtype) => [
    sample(
      attributes,
      small(dtype, [5, 3]),
      hostData("i32", [4, 0, 2], indices),
      ...(updates === undefined ? [] : [small(dtype, updates)]),
    ),
  ]);

/** Subnormals in an op that chooses among elements of its operand. */
export const chooseSubnormals = <K extends Op>(attributes: OpAttributes[K]): RareRow<K> =>
  subnormalRow(HALVES_TOO, (dtype) => [exact(attributes, small(dtype, [5, 7]))]);

/** Subnormals in Max or Min, with the operands in both orders. */
export const subnormalsOfTwo = <K extends "Max" | "Min">(): RareRow<K> =>
  subnormalRow(HALVES_TOO, (dtype) => {
    const x = small(dtype, [5, 7]);
    return [
      [x, backwards(x)],
      [backwards(x), x],
    ].map((pair) => exact({} as OpAttributes[K], ...pair));
  });

export const subnormalsWhere: RareRow<"Where"> = subnormalRow(MOVED, (dtype) => [
  sample(
    {},
    generate("bool", [5, 7], (at) => at % 2),
    small(dtype, [5, 7]),
    small(dtype, [7]),
  ),
]);

export const reducedSubnormals: RareRow<"ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceL1"> = subnormalRow(
  HALVES_TOO,
  (dtype) => [[0], [1], [0, 1]].map((axes) => exact({ axes, keepdims: false }, small(dtype, [5, 7]))),
);

const identity = (dtype: DType, size: number): HostTensor =>
  generate(dtype, [size, size], (at) => (at % (size + 1) === 0 ? 1 : 0));

export const subnormalsTimesOne: RareRow<"MatMul"> = subnormalRow(HALVES_TOO, (dtype) => [
  exact({}, small(dtype, [3, 5]), identity(dtype, 5)),
  exact({}, identity(dtype, 5), small(dtype, [5, 3])),
  exact(
    {},
    small(dtype, [3, 5]),
    generate(dtype, [5, 2], () => 1),
  ),
]);

export const subnormalsPlusOthers: RareRow<"Gemm"> = subnormalRow(HALVES_TOO, (dtype) => [
  exact(
    { transA: false, transB: true, alpha: 1, beta: 1 },
    small(dtype, [3, 5]),
    identity(dtype, 5),
    small(dtype, [5]),
  ),
]);
