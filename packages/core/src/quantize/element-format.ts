/** The formats that operands of products pass through: their ranges, and rounding to them in traced operators. */
import { type EighthDType, floatFormats, type Key, type Tensor } from "@mp/graph";
import {
  abs,
  add,
  cast,
  clip,
  div,
  floor,
  less,
  mul,
  randomUniform,
  round,
  stochasticallyRounded,
  sub,
} from "@mp/graph/ops";

export const ELEMENT_FORMATS = ["f8e4m3", "f8e5m2", "e2m1"] as const;

/** The two 8-bit floats of the graph, and the 4-bit float of OCP's MXFP4 and of NVFP4. */
export type ElementFormat = (typeof ELEMENT_FORMATS)[number];

interface Element {
  readonly maxFinite: number;
  /** Exponent of the largest finite number. */
  readonly maxExponent: number;
  readonly fractionBits: number;
  /** Rounds f32 numbers within the range to nearest, ties to even; e2m1 codes are numbers of its grid in f32. */
  nearest(x: Tensor): Tensor;
  /** Rounds f32 numbers within the range up or down, so that the expected value is exact. */
  stochastic(x: Tensor, key: Key): Tensor;
}

const eighth = (dtype: EighthDType): Element => ({
  ...floatFormats[dtype],
  nearest: (x) => cast(x, dtype),
  stochastic: (x, key) => stochasticallyRounded(x, key, dtype),
});

/** The distance between neighbors of e2m1's grid 0, ½, 1, 1½, 2, 3, 4, 6 around x: ⌊|x| / 2⌋ from ½ to 2. */
const gridStep = (x: Tensor): Tensor => clip(floor(mul(abs(x), 0.5)), { min: 0.5, max: 2 });

export const elementFormats: Readonly<Record<ElementFormat, Element>> = {
  f8e4m3: eighth("f8e4m3"),
  f8e5m2: eighth("f8e5m2"),
  e2m1: {
    maxFinite: 6,
    maxExponent: 2,
    fractionBits: 1,
    nearest: (x) => {
      const step = gridStep(x);
      return mul(round(div(x, step)), step);
    },
    stochastic: (x, key) => {
      const step = gridStep(x);
      const steps = div(x, step);
      const below = floor(steps);
      const isUp = less(randomUniform(key, x.shape), sub(steps, below));
      return mul(add(below, cast(isUp, "f32")), step);
    },
  },
};
