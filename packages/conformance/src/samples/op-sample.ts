import { type DType, elementCount, type HostTensor, type Op, type OpAttributes, type Shape } from "@mp/graph";
import { type Draws, generate, hostData, randomData } from "../host-data.js";

/** One node with data for it. */
export interface OpSample<K extends Op> {
  readonly attributes: OpAttributes[K];
  readonly inputs: readonly HostTensor[];
  /** Whether every order of summation gives the same bits for this data, so that no tolerance applies. */
  readonly exact?: boolean;
}

export const sample = <K extends Op>(
  attributes: OpAttributes[K],
  ...inputs: readonly HostTensor[]
): OpSample<K> => ({ attributes, inputs });

/** A sample for which every order of summation gives the same bits. */
export const exact = <K extends Op>(
  attributes: OpAttributes[K],
  ...inputs: readonly HostTensor[]
): OpSample<K> => ({ attributes, inputs, exact: true });

/** Samples of one op in one dtype by behavior; each behavior becomes a case. */
export type Behaviours<K extends Op> = Readonly<Record<string, readonly OpSample<K>[]>>;

/** Makes samples. Shapes and dtypes must not depend on the random numbers. */
export type Sampled<K extends Op> = (draws: Draws) => Behaviours<K>;

/** Shapes of scalars, one element, no elements, odd lengths, and ranks up to 5. */
export const SHAPES: readonly Shape[] = [[], [1], [0], [3, 0, 2], [5], [2, 3], [2, 1, 3, 1, 2], [1031]];

/** Data for ops that move elements: 23 different numbers, repeated; for bools, whether these are odd. */
export function countUp(dtype: DType, shape: Shape, offset = 0): HostTensor {
  const unsigned = dtype === "u8" || dtype === "u64";
  return generate(dtype, shape, (place) => {
    const x = ((place + offset) * 7) % 23;
    if (dtype === "bool") return x % 2;
    return unsigned ? x : x - 11;
  });
}

/** Whole numbers of mixed sign, so small that every sum of their products is exact, in any order and any float. */
export function smallIntegers(draws: Draws, shape: Shape): HostTensor {
  const low = draws.dtype === "u8" || draws.dtype === "u64" ? 0 : -2;
  return generate(draws.dtype, shape, () => draws.random.integer(low, 2));
}

/** Positive numbers of similar magnitude, so that sums lose nothing to cancellation. */
export function positives(draws: Draws, shape: Shape): HostTensor {
  return randomData(draws, shape, 0.25, 1.25);
}

/** Shuffled whole numbers, all different. */
export function distinct(draws: Draws, shape: Shape): HostTensor {
  const size = elementCount(shape, "test data");
  const order = Array.from({ length: size }, (_, at) => at);
  for (let at = size - 1; at > 0; at--) {
    const other = draws.random.integer(0, at);
    const swapped = order[at] as number;
    order[at] = order[other] as number;
    order[other] = swapped;
  }
  return hostData(draws.dtype, order, shape);
}
