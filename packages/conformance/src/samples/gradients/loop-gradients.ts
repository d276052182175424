import { remat, type Tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { add, matMul, mul, reduceSum, scan, sin, tanh } from "@mp/core/ops";
import { type GradientRows, type GradientSample, sample, spread } from "../gradient-sample.js";

/** A recurrence of a carry, a sequence and weights from outside: its last carry and all before, as one number each row. */
const recurrence =
  (reverse: boolean, isKept: boolean): GradientSample["fn"] =>
  (h, x, w) => {
    const step = (state: Tensor, element: Tensor) => {
      const next = tanh(add(matMul(state, w as Tensor), element));
      return [next, mul(next, sin(element))] as const;
    };
    const [last, all] = scan(isKept ? step : remat(step), h as Tensor, x as Tensor, { reverse });
    return add(last, reduceSum(all, { axes: [0] }));
  };

const points = [spread([2, 3]), spread([4, 2, 3], 1), spread([3, 3], 2)] as const;

export const loopGradients: GradientRows<OpOf<"loop">> = {
  Scan: [
    sample("recurrence", recurrence(false, true), ...points),
    sample("recurrence-backwards", recurrence(true, true), ...points),
    sample("recomputed", recurrence(false, false), ...points),
    sample(
      "without-sequences",
      (h, w) =>
        scan((state: Tensor) => [matMul(state, w as Tensor), state], h as Tensor, [], { length: 3 })[1],
      spread([2, 2]),
      spread([2, 2], 1),
    ),
    sample(
      "without-carries",
      (x, w) =>
        scan((_, element: Tensor) => [[], sin(mul(element, w as Tensor))], [], x as Tensor, {
          reverse: true,
        })[1],
      spread([3, 2]),
      spread([2], 1),
    ),
    sample(
      "nested",
      (h, x) =>
        scan(
          (state: Tensor, element: Tensor) => {
            const [inner] = scan(
              (at: Tensor, again: Tensor) => [sin(add(mul(at, again), element)), []],
              state,
              x as Tensor,
            );
            return [inner, []];
          },
          h as Tensor,
          x as Tensor,
        )[0],
      spread([3]),
      spread([2, 3], 1),
    ),
  ],
};
