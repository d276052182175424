import type { Tensor } from "@mp/core";
import { FAMILIES, type OpOf, rowsOf } from "@mp/core/graph";
import { add, div, greater, maximum, minimum, mod, mul, pow, sqrt, sub, where } from "@mp/core/ops";
import {
  type GradientRows,
  type GradientSample,
  numbers,
  type Point,
  positive,
  sample,
  spread,
} from "../gradient-sample.js";
import { of1, of2, PREDICATE } from "./of-operands.js";

const binary = (
  fn: (a: Tensor, b: Tensor) => Tensor,
  point: (shape: readonly number[], turn?: number) => Point = spread,
): readonly GradientSample[] => [
  sample("matrix", of2(fn), point([3, 4]), point([3, 4], 1)),
  sample("broadcasting-rows", of2(fn), point([3, 4]), point([4], 1)),
  sample("broadcasting-both", of2(fn), point([3, 1]), point([2, 1, 4], 1)),
  sample("broadcasting-a-scalar", of2(fn), point([]), point([2, 3], 1)),
];

export const binaryGradients: GradientRows<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, () => PREDICATE),
  Add: [
    ...binary(add),
    sample(
      "one-value-twice",
      of1((x) => add(x, x)),
      spread([3, 4]),
    ),
  ],
  Sub: binary(sub),
  Mul: [
    ...binary(mul),
    sample(
      "one-value-twice",
      of1((x) => mul(x, x)),
      spread([3, 4]),
    ),
  ],
  Div: binary(div, positive),
  Pow: [
    ...binary(pow, positive),
    sample(
      "squares-of-negatives",
      of1((x) => pow(x, 2)),
      numbers(-2, -1, 0, 1.5),
    ),
  ],
  Mod: [
    sample(
      "by-dividend",
      of2((a, b) => mod(a, b, { fmod: true })),
      positive([3, 4]),
      numbers(2.5, 2.5, 2.5, 2.5),
    ),
  ],
  Min: binary(minimum),
  Max: binary(maximum),
  Where: [
    sample(
      "both-sides",
      of2((a, b) => where(greater(a, b), a, mul(b, 2))),
      spread([3, 4]),
      spread([4], 1),
    ),
    sample(
      "an-infinite-gradient-stays-behind-the-mask",
      of1((x) => sqrt(where(greater(x, 0), x, 0))),
      numbers(-1, 0.5, 2, -3),
    ),
  ],
};
