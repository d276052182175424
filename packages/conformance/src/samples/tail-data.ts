/** Data for lengths that do not fill an engine's registers: every element differs from those near it. */
import { DTYPES, type DType, type HostTensor, isComputeFloat, isFloat, type Shape } from "@mp/graph";
import { type Draws, generate, randomData } from "../host-data.js";

/** Whole registers of 4 to 64 elements, with every remainder. */
export const LENGTHS: readonly number[] = Array.from({ length: 70 }, (_, at) => at + 1);

/** More than the blocks of 128, 256 and 512 elements in which kernels reduce and search, with a remainder. */
const BLOCKS: readonly number[] = [131, 263, 519];

/**
 * All lengths in the first dtype, for which a table is written. In others every seventh, which has each remainder of 8;
 * dtypes begin at different ones. Blocks in all.
 */
export const lengths = (dtype: DType, first: DType = "f32"): readonly number[] => [
  ...(dtype === first ? LENGTHS : everySeventh(DTYPES.indexOf(dtype))),
  ...BLOCKS,
];

export const everySeventh = (from: number): readonly number[] =>
  LENGTHS.filter((length) => length % 7 === from % 7);

/** One of several forms at each length, spread over the lengths of each remainder of 8 and of 16. */
export function formAt<T>(forms: readonly T[], length: number): T {
  const at = length + 3 * Math.floor(length / 8) + Math.floor(length / 16);
  return forms[at % forms.length] as T;
}

/** Whole registers and their neighbors, for operators of several lengths. */
export const SIDES: readonly number[] = [1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65];

/** Triples of the sides, each side four times in each place. Dtypes other than f32 have a third of them. */
export function sideTriples(dtype: DType): readonly (readonly [number, number, number])[] {
  const steps = dtype === "f32" ? [1, 2, 5, 7] : [1 + (DTYPES.indexOf(dtype) % 5)];
  return SIDES.flatMap((a, row) =>
    steps.map((step) => {
      const [b = 1, c = 1] = [row + step, 2 * row + 3 * step].map((at) => SIDES[at % SIDES.length]);
      return [a, b, c] as const;
    }),
  );
}

const isUnsigned = (dtype: DType): boolean => dtype === "u8" || dtype === "u64";

/** Elements that differ from the next 250, or the next 14 in eight bits; random bools. */
export function label(draws: Draws, shape: Shape): HostTensor {
  if (draws.dtype === "bool") return generate(draws.dtype, shape, () => draws.random.integer(0, 1));
  const count = isFloat(draws.dtype) && !isComputeFloat(draws.dtype) ? 15 : 251;
  const first = draws.random.integer(0, count - 1);
  const low = isUnsigned(draws.dtype) ? 0 : -(count - 1) / 2;
  return generate(draws.dtype, shape, (at) => low + ((first + 7 * at) % count));
}

/** Whole numbers of which none is 0, so that one that a sum leaves out, or adds twice, shows. */
export function terms(draws: Draws, shape: Shape, most = 3): HostTensor {
  return generate(draws.dtype, shape, () => {
    const size = draws.random.integer(1, most);
    return isUnsigned(draws.dtype) || draws.random.next() < 0.5 ? size : -size;
  });
}

/** Floats between the limits, whole numbers between them, or random bools. */
export function drawBetween(draws: Draws, shape: Shape, [low, high]: readonly [number, number]): HostTensor {
  if (draws.dtype === "bool") return generate(draws.dtype, shape, () => draws.random.integer(0, 1));
  return randomData(draws, shape, isUnsigned(draws.dtype) ? Math.max(low, 0) : low, high);
}

/** The same tensor with another number at some places. */
export function setElements(given: HostTensor, value: number, ...places: readonly number[]): HostTensor {
  const one = generate(given.dtype, [1], () => value);
  const data = given.data.slice();
  for (const at of places) data[at] = one.data[0] as never;
  return { ...given, data } as HostTensor;
}

/** Whether the last element of that length is NaN: of every remainder, some lengths have it. */
export const endsInNan = (dtype: DType, length: number): boolean => isComputeFloat(dtype) && length > 35;
