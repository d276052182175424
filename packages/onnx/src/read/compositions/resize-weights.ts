// Weights of ONNX's Resize: along an axis, each result is a weighted sum of elements. Weights depend on sizes only.

export const COORDINATES = [
  "half_pixel",
  "half_pixel_symmetric",
  "pytorch_half_pixel",
  "align_corners",
  "asymmetric",
  "tf_crop_and_resize",
] as const;
export const KERNELS = ["nearest", "linear", "cubic"] as const;
export const ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] as const;

export interface Interpolation {
  readonly coordinates: (typeof COORDINATES)[number];
  readonly kernel: (typeof KERNELS)[number];
  readonly rounding: (typeof ROUNDINGS)[number];
  /** The coefficient a of the cubic convolution kernel. */
  readonly coefficient: number;
  /** Whether the kernel widens when the axis shrinks, for antialiasing. */
  readonly isSmoothed: boolean;
  /** Whether positions beyond the edge get no weight; otherwise the edge element is repeated there. */
  readonly excludesOutside: boolean;
}

export interface ResizedAxis {
  readonly size: number;
  readonly resized: number;
  readonly scale: number;
  /** The part of the axis that is resized, as fractions of its length; only for `tf_crop_and_resize`. */
  readonly region: readonly [start: number, end: number];
}

interface AxisWeights {
  /** [size, resized] */
  readonly weights: Float32Array;
  /** For each result, whether its position is outside of the operand; its weights are then 0. */
  readonly isOutside: readonly boolean[];
}

/**
 * The operand's position for the result at index `at`, by coordinate transformation mode. Lengths are integers, as in
 * ONNX's text, ONNX Runtime and PyTorch; ONNX's reference evaluator uses scale · size.
 */
const places: Readonly<Record<Interpolation["coordinates"], (at: number, axis: ResizedAxis) => number>> = {
  half_pixel: (at, { scale }) => (at + 0.5) / scale - 0.5,
  half_pixel_symmetric: (at, { scale, size, resized }) =>
    (size / 2) * (1 - resized / (scale * size)) + (at + 0.5) / scale - 0.5,
  pytorch_half_pixel: (at, { scale, resized }) => (resized === 1 ? 0 : (at + 0.5) / scale - 0.5),
  align_corners: (at, { size, resized }) => (resized === 1 ? 0 : (at * (size - 1)) / (resized - 1)),
  asymmetric: (at, { scale }) => at / scale,
  tf_crop_and_resize: (at, { size, resized, region: [start, end] }) =>
    start * (size - 1) +
    (resized === 1 ? ((end - start) * (size - 1)) / 2 : (at * (end - start) * (size - 1)) / (resized - 1)),
};

const round: Readonly<Record<Interpolation["rounding"], (x: number) => number>> = {
  round_prefer_floor: (x) => Math.ceil(x - 0.5),
  round_prefer_ceil: (x) => Math.floor(x + 0.5),
  floor: Math.floor,
  ceil: Math.ceil,
};

function cubic(distance: number, a: number): number {
  const d = Math.abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

const linear = (distance: number): number => Math.max(0, 1 - Math.abs(distance));

/** Lists the elements around position x with their weights; indices may lie beyond the edges. */
function taps(
  x: number,
  scale: number,
  how: Interpolation,
): readonly (readonly [at: number, weight: number])[] {
  if (how.kernel === "nearest") return [[round[how.rounding](x), 1]];
  const narrowing = how.isSmoothed ? Math.min(scale, 1) : 1;
  const reach = Math.ceil((how.kernel === "cubic" ? 2 : 1) / narrowing);
  const first = Math.floor(x) - reach;
  return Array.from({ length: 2 * reach + 2 }, (_, index) => {
    const distance = (first + index - x) * narrowing;
    const weight = how.kernel === "cubic" ? cubic(distance, how.coefficient) : linear(distance);
    return [first + index, weight] as const;
  }).filter(([, weight]) => weight !== 0);
}

export function axisWeights(axis: ResizedAxis, how: Interpolation): AxisWeights {
  const { size, resized, scale } = axis;
  const weights = new Float64Array(size * resized);
  const isOutside = Array.from({ length: resized }, (_, at) => {
    const x = places[how.coordinates](at, axis);
    if (how.coordinates === "tf_crop_and_resize" && (x < 0 || x > size - 1)) return true;
    const all = taps(x, scale, how);
    const counted = how.excludesOutside ? all.filter(([place]) => place >= 0 && place < size) : all;
    const total =
      how.excludesOutside || how.isSmoothed ? counted.reduce((sum, [, weight]) => sum + weight, 0) : 1;
    for (const [place, weight] of counted) {
      const inside = Math.min(Math.max(place, 0), size - 1);
      weights[inside * resized + at] = (weights[inside * resized + at] as number) + weight / (total || 1);
    }
    return false;
  });
  return { weights: Float32Array.from(weights), isOutside };
}
