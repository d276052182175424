/**
 * 8-bit codes for numbers from -1 to 1: the two dynamic maps of bitsandbytes (Dettmers et al., arXiv 2110.02861). Each
 * of the seven decades below 1 is divided into equal steps, and the middle of each step has a code. From the lowest
 * decade up, these are 1, 2, 4 … 64 steps per sign, or 2, 4, 8 … 128 if no number is negative. 0 and 1 have codes of
 * their own.
 */

import type { Tensor } from "@mp/graph";
import { abs, add, cast, clip, exp, floor, log, maximum, minimum, mul } from "@mp/graph/ops";

/** The signs of the values in a slot; second moments, for example, are never negative. */
export type Signs = "both" | "nonNegative";

const DECADES = 7;

/** Number of steps in the lowest decade; each next decade has twice as many. */
const lowest: Readonly<Record<Signs, number>> = { both: 1, nonNegative: 2 };

/** The code of 1 minus the code of 0. */
const top: Readonly<Record<Signs, number>> = { both: 128, nonNegative: 255 };

/** The lines a·c + b, one for each decade, that give the number of code c. In other decades, another line is higher. */
const decadeLines = (signs: Signs): readonly (readonly [a: number, b: number])[] =>
  Array.from({ length: DECADES }, (_, decade) => {
    const steps = lowest[signs] * 2 ** decade;
    const first = steps + 1 - lowest[signs];
    const scale = 10 ** (decade + 1 - DECADES);
    return [(scale * 0.9) / steps, scale * (0.1 + (0.9 * (0.5 - first)) / steps)];
  });

/**
 * Decodes codes (u8, any shape) to f32, as the maximum over the lines of all decades. A look-up table would take
 * engines several times as long.
 */
export function dynamicallyDecoded(codes: Tensor, signs: Signs): Tensor {
  const above = add(cast(codes, "f32"), top[signs] - 255);
  const code = signs === "both" ? abs(above) : above;
  const lines = decadeLines(signs).map(([a, b]) => add(mul(code, a), b));
  const magnitude = clip(lines.reduce(maximum), { min: 0, max: 1 });
  return signs === "both" ? mul(magnitude, clip(above, { min: -1, max: 1 })) : magnitude;
}

/**
 * Encodes x (f32, -1 to 1) as the code (u8) of the nearest number. With `draw`, uniform in [0, 1), x is rounded up or
 * down at random so that the expected value is x.
 */
export function dynamicallyEncoded(x: Tensor, signs: Signs, draw?: Tensor): Tensor {
  const magnitude = signs === "both" ? abs(x) : x;
  const position = codePosition(magnitude, signs, draw !== undefined);
  const limits = { min: 0, max: top[signs] + 0.5 };
  const place = draw === undefined ? position : clip(add(position, add(draw, -0.5)), limits);
  if (signs === "nonNegative") return cast(place, "u8");
  // The sign of x: a smaller factor would give numbers near 0 a fraction instead of ±1.
  const side = clip(mul(x, 2 ** 100), { min: -1, max: 1 });
  // -1 has no code: the clip gives it code 0, that of its nearest number.
  return cast(clip(add(mul(side, floor(place)), 127), { min: 0 }), "u8");
}

/**
 * Maps a magnitude to a position on the axis of codes. The number of code c maps to c + 1/2; magnitudes nearest to that
 * number map to c … c + 1. The map is linear within a decade; other lines connect two decades, 0 and the first number,
 * the last number and 1.
 */
function codePosition(magnitude: Tensor, signs: Signs, joinsBothSides: boolean): Tensor {
  const largest = lowest[signs] * 2 ** DECADES;
  const decade = floor(clip(mul(log(magnitude), 1 / Math.LN10), { min: -DECADES, max: -0.5 }));
  // Steps of the decade for one unit of the first digits, which are from 1 to 10: a ninth of its codes.
  const density = exp(add(mul(decade, Math.LN2), Math.log(largest / 9)));
  const digits = mul(magnitude, exp(mul(decade, -Math.LN10)));
  const steps = mul(density, add(digits, -1));
  // The gap between the decades is 3 steps of the lower one, a third of which is in the upper one.
  const fromBelow = minimum(steps, add(mul(steps, 5 / 3), -1 / 3));
  const within = joinsBothSides
    ? minimum(fromBelow, add(mul(steps, 1 / 3), add(mul(density, 6), -1 / 3)))
    : fromBelow;
  const position = add(within, add(mul(density, 9), 1 - lowest[signs]));
  const slope = largest / 2 / 0.45;
  const upToOne = add(mul(magnitude, slope), top[signs] + 0.5 - slope);
  const first = 1e-6 * (0.1 + 0.45 / lowest[signs]);
  const fromZero = add(mul(clip(magnitude, { max: first }), 1 / first), 0.5);
  return maximum(maximum(position, upToOne), fromZero);
}
