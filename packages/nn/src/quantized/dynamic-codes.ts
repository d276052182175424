/**
 * Numbers from -1 to 1 in 8 bits, as bitsandbytes quantizes the scales of NF4 on a CPU: by its dynamic map of
 * 256 numbers, and its search for the nearest one through 65 536 equal bins. Core has this map for optimizer
 * state, in a form that engines compute; here each number has the same last bit as in bitsandbytes.
 */

const DECADES = 7;
const BINS = 65_536;

/** The number that each code stands for, from -0.99 to 1. */
export const DYNAMIC_NUMBERS: Float32Array<ArrayBuffer> = numbers();

function numbers(): Float32Array<ArrayBuffer> {
  const { fround } = Math;
  const start = fround(0.1);
  const positive = Array.from({ length: DECADES }, (_, decade) => {
    const steps = 2 ** decade;
    const step = fround(fround(1 - start) / steps);
    // Counts from the nearer end, as torch.linspace does.
    const limit = (at: number): number =>
      fround(2 * at < steps ? start + step * at : 1 - step * (steps - at));
    const scale = fround(10 ** (decade + 1 - DECADES));
    return Array.from({ length: steps }, (__, at) => fround(scale * (fround(limit(at) + limit(at + 1)) / 2)));
  }).flat();
  return Float32Array.from([...positive.map((each) => -each).reverse(), 0, ...positive, 1]);
}

function codesOfBins(): Uint8Array {
  const codes = new Uint8Array(BINS);
  let code = 0;
  for (let bin = 0; bin < BINS; bin++) {
    const value = Math.fround(-1 + Math.fround((2 * bin) / (BINS - 1)));
    while (code < 255 && middle(code) < value) code++;
    codes[bin] = code;
  }
  return codes;
}

const middle = (code: number): number =>
  Math.fround((DYNAMIC_NUMBERS[code] as number) + (DYNAMIC_NUMBERS[code + 1] as number)) / 2;

/** Quantizes blocks of `size` values, divided by their largest magnitude. @returns codes and magnitudes */
export function dynamicCodes(
  values: Float32Array,
  size: number,
): { readonly codes: Uint8Array<ArrayBuffer>; readonly absmax: Float32Array<ArrayBuffer> } {
  const table = codesOfBins();
  const codes = new Uint8Array(values.length);
  const absmax = new Float32Array(Math.ceil(values.length / size));
  for (const block of absmax.keys()) {
    const part = values.subarray(block * size, (block + 1) * size);
    const most = part.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    absmax[block] = most;
    if (most === 0) continue;
    const inverse = Math.fround(1 / most);
    for (const [at, value] of part.entries()) {
      const place = Math.min(1, Math.max(-1, Math.fround(value * inverse)));
      const bin = Math.fround((Math.fround(place + 1) / 2) * (BINS - 1) + 0.5);
      codes[block * size + at] = table[bin & (BINS - 1)] as number;
    }
  }
  return { codes, absmax };
}
