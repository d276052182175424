/** Infers from the elements of a table whether a formula or training produced it. */
import { type HostTensor, isHalf } from "@mp/graph";
import { toNumbers } from "../numbers.js";

/** Largest number that hides a position in a mask: BERT's masks have -10000, others less, down to -∞. */
const UNREACHED = -1e4;

const wideAxes = ({ shape }: HostTensor): readonly number[] => shape.filter((size) => size > 1);

/**
 * Whether a table of at least two axes is an attention mask. A mask holds 0 and numbers that softmax turns into 0, or 0
 * and 1; both must occur.
 */
export function isMask(tensor: HostTensor): boolean {
  if (wideAxes(tensor).length < 2) return false;
  const values = toNumbers(tensor);
  const zeros = values.filter((value) => value === 0).length;
  if (zeros === 0 || zeros === values.length) return false;
  return (
    values.every((value) => value === 0 || value <= UNREACHED) ||
    values.every((value) => value === 0 || value === 1)
  );
}

export function holdsOneNumber(tensor: HostTensor): boolean {
  const [first, ...others] = toNumbers(tensor);
  return others.every((value) => Object.is(value, first));
}

/** Fewest rows that `isWaves` accepts; any table with fewer rows would pass the test. */
const LEAST_ROWS = 4;

/** Relative tolerance of `isWave` for f16 and bf16: five units of bf16. */
const HALF_TOLERANCE = 2e-2;
/** Relative tolerance of `isWave` for f32, because angles of thousands of radians are rounded to 2^-12. */
const F32_TOLERANCE = 1e-3;
/** Least range of a varying column. Constant columns pass as waves, but a table of only these is a bias. */
const LEAST_SWING = 0.1;

/**
 * Whether each column of a table is a sine or cosine of the row number, with any frequency and phase. In all rows,
 * v[r+1] + v[r-1] is then 2 cos(frequency) · v[r], which learned numbers never satisfy.
 */
export function isWaves(tensor: HostTensor): boolean {
  const [rows = 0, columns = 0, ...others] = wideAxes(tensor);
  if (rows < LEAST_ROWS || columns === 0 || others.length > 0) return false;
  const values = toNumbers(tensor);
  const tolerance = isHalf(tensor.dtype) ? HALF_TOLERANCE : F32_TOLERANCE;
  let varies = false;
  for (let column = 0; column < columns; column++) {
    const wave = Array.from({ length: rows }, (_, row) => values[row * columns + column] as number);
    if (!isWave(wave, tolerance)) return false;
    varies ||= Math.max(...wave) - Math.min(...wave) > LEAST_SWING;
  }
  return varies;
}

function isWave(wave: readonly number[], tolerance: number): boolean {
  const inner = wave.slice(1, -1);
  const largest = inner.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const around = (at: number): number => (wave[at] as number) + (wave[at + 2] as number);
  const at = inner.findIndex((value) => Math.abs(value) === largest);
  if (at < 0) return false;
  const twiceCosine = largest === 0 ? 0 : around(at) / (inner[at] as number);
  const allowed = tolerance * Math.max(largest, ...wave.map(Math.abs));
  return (
    Math.abs(twiceCosine) <= 2 * (1 + tolerance) &&
    inner.every((value, place) => Math.abs(around(place) - twiceCosine * value) <= allowed)
  );
}
