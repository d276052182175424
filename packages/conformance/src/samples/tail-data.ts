/** Data for lengths that do not fill an engine's registers; every element differs from those near it. */
import { DTYPES, type DType, type HostTensor, isComputeFloat, isEighth, type Shape } from "@mp/graph";
import { type Draws, generate, randomData } from "../host-data.js";
import { countUp } from "./op-sample.js";

/** Lengths that give every remainder in registers of 4 to 64 elements. */
export const LENGTHS: readonly number[] = Array.from({ length: 70 }, (_, at) => at + 1);

/** Lengths above the blocks of 128, 256 and 512 elements in which kernels reduce and search: by 1, and by half a block. */
const BLOCKS: readonly number[] = [129, 151, 257, 279, 513, 535];

/**
 * All lengths in a table's first dtype. Other dtypes have every seventh length, from different starts, which gives
 * each remainder of 8. Every dtype has the blocks.
 */
export const lengths = (dtype: DType, first: DType = "f32"): readonly number[] => [
  ...(dtype === first ? LENGTHS : everySeventh(DTYPES.indexOf(dtype))),
  ...BLOCKS,
];

export const everySeventh = (from: number): readonly number[] =>
  LENGTHS.filter((length) => length % 7 === from % 7);

/** Chooses a form for each length, so that every form occurs with every remainder of 8 and of 16. */
export function formAt<T>(forms: readonly T[], length: number): T {
  const at = length + 3 * Math.floor(length / 8) + Math.floor(length / 16);
  return forms[at % forms.length] as T;
}

/** Lengths of whole registers and their neighbors, for operators with several lengths. */
export const SIDES: readonly number[] = [1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65];

/** Triples of `SIDES`. Each side appears in each position four times in f32, and once in other dtypes. */
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

/** Elements that differ from the next 250, or in f8 from the next 14; random bools. */
export function label(draws: Draws, shape: Shape): HostTensor {
  if (draws.dtype === "bool") return generate(draws.dtype, shape, () => draws.random.integer(0, 1));
  const count = isEighth(draws.dtype) ? 15 : 251;
  const first = draws.random.integer(0, count - 1);
  const low = isUnsigned(draws.dtype) ? 0 : -(count - 1) / 2;
  return generate(draws.dtype, shape, (at) => low + ((first + 7 * at) % count));
}

/** Integers other than 0, so that a sum shows whether it leaves out or repeats a term. */
export function terms(draws: Draws, shape: Shape, most = 3): HostTensor {
  return generate(draws.dtype, shape, () => {
    const size = draws.random.integer(1, most);
    return isUnsigned(draws.dtype) || draws.random.next() < 0.5 ? size : -size;
  });
}

/** Random floats or integers between the limits, or random bools. */
export function drawBetween(draws: Draws, shape: Shape, [low, high]: readonly [number, number]): HostTensor {
  if (draws.dtype === "bool") return generate(draws.dtype, shape, () => draws.random.integer(0, 1));
  return randomData(draws, shape, isUnsigned(draws.dtype) ? Math.max(low, 0) : low, high);
}

/** Copies a tensor and sets the elements at some positions. */
export function setElements(given: HostTensor, value: number, ...places: readonly number[]): HostTensor {
  const one = generate(given.dtype, [1], () => value);
  const data = given.data.slice();
  for (const at of places) data[at] = one.data[0] as never;
  return { ...given, data } as HostTensor;
}

/** Counts up; floats begin with NaN and end with an infinity, which a move by products would spread. */
export function movable(dtype: DType, shape: Shape, offset = 0): HostTensor {
  const given = countUp(dtype, shape, offset);
  if (!isComputeFloat(dtype)) return given;
  return setElements(setElements(given, Number.NaN, 0), Number.POSITIVE_INFINITY, given.data.length - 1);
}

/** Whether a vector of this length ends in NaN: with some lengths of each remainder of 8 and of 16, it does. */
export const endsInNan = (dtype: DType, length: number): boolean =>
  isComputeFloat(dtype) && length > 35 && length < 60;
