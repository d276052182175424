/** Infers from the elements of a table how it came to be: counted out by a formula, or learned. */
import { type HostTensor, isHalf } from "@mp/graph";
import { toNumbers } from "../numbers.js";

/** BERT's masks say -10000 for what may not be attended to; others the least number of their type, or -∞. */
const UNREACHED = -1e4;

const wideAxes = ({ shape }: HostTensor): readonly number[] => shape.filter((size) => size > 1);

/**
 * Whether a table of at least two axes holds nothing but 0 and numbers that no softmax lets through, or nothing but 0
 * and 1; both of each.
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

/** With fewer rows any table would pass. */
const LEAST_ROWS = 4;

/** Tolerance of the sums below, as a part of the largest number: five units of bf16… */
const HALF_TOLERANCE = 2e-2;
/** …and in f32, whose angles of thousands of radians are rounded to 2^-12, some of those. */
const F32_TOLERANCE = 1e-3;
/** Columns that stand still are waves of frequency 0; a table of nothing else is a bias. */
const LEAST_SWING = 0.1;

/**
 * Whether each column of a table is a sine or cosine of its row, of any frequency and phase: then v[r+1] + v[r-1] is
 * 2 cos(frequency) · v[r] in all of its rows, which learned numbers never are.
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
