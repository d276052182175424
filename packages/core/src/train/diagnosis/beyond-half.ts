/** Finds numbers of a batch that are not finite, or that a cast to a half dtype makes infinite. */
import {
  type ComputeDType,
  floatFormats,
  type HalfDType,
  isHostTensor,
  type RunInput,
  roundTo,
  stridesOf,
} from "@mp/graph";

export type Inputs = Readonly<Record<string, RunInput>>;

/** Describes the first input that the half cannot hold: `batch/x holds 1e6, above 65504, …`; undefined without one. */
export function beyondHalf(inputs: Inputs, names: readonly string[], half: HalfDType): string | undefined {
  for (const name of names) {
    const number = Object.hasOwn(inputs, name) ? farthest(inputs[name] as RunInput) : 0;
    if (Number.isFinite(roundTo(half, number))) continue;
    const side = number > 0 ? "above " : "below -";
    return `${name} holds ${short(number)}, ${side}${floatFormats[half].maxFinite}, the end of ${half}, which no loss scale can help: standardize it, or keep what reads it in f32`;
  }
  return undefined;
}

/** Names the first number that is not finite, with its place in f32 data of the host: `NaN at [17, 2]`. */
export function notFinite(input: RunInput | undefined): string {
  const { data, shape } = isHostTensor(input) && input.dtype === "f32" ? input : { data: [], shape: [] };
  const at = data.findIndex((number) => !Number.isFinite(number));
  const place = stridesOf(shape).map((stride, axis) => Math.floor(at / stride) % (shape[axis] ?? 1));
  return at < 0 ? "an infinity or NaN" : `${data[at]} at [${place.join(", ")}]`;
}

/** Whether host data, f32 or i32, holds a number that is not finite, or is not in the dtype. */
export const isBeyond = (input: RunInput, dtype: ComputeDType): boolean =>
  isHostTensor(input) &&
  (input.dtype === "f32" || input.dtype === "i32") &&
  input.data.some((number) => !Number.isFinite(roundTo(dtype, number)));

/** The finite number farthest from 0 in host data, f32 or i32; data in f16 or bf16 is always in range. */
function farthest(input: RunInput): number {
  if (!isHostTensor(input) || (input.dtype !== "f32" && input.dtype !== "i32")) return 0;
  let number = 0;
  for (const each of input.data)
    if (Math.abs(each) > Math.abs(number) && Number.isFinite(each)) number = each;
  return number;
}

/** Prints a number as 1e6 or 6.552e4: enough digits to find it in the data. */
export const short = (number: number): string =>
  Number(number.toPrecision(4)).toExponential().replace("e+", "e");
