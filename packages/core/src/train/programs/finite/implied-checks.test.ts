// Tests which finite checks are dropped because another checked value shows the same infinities and NaN.

import { type Tensor, type TensorTree, tensor } from "@mp/graph";
import {
  abs,
  add,
  cast,
  div,
  equal,
  expand,
  literal,
  maximum,
  mul,
  neg,
  reshape,
  slice,
  sub,
  where,
} from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { runTraced } from "../../../../../graph/test/run-traced.js";
import { adam } from "../../../optim/adam.js";
import { clipByValue } from "../../../optim/clip.js";
import { momentum, sgd } from "../../../optim/sgd.js";
import { withoutImplied } from "./implied-checks.js";

const data = { x: tensor(Float32Array.of(1, 2, 3, 4)), y: tensor(Float32Array.of(5, 6, 7, 8)) };

/** Whether x needs its own check in addition to the check of the tensor computed from it. */
function isChecked(make: (x: Tensor, y: Tensor) => Tensor): boolean {
  let checked: readonly Tensor[] = [];
  let given: Tensor | undefined;
  runTraced(data, ({ x, y }) => {
    given = x as Tensor;
    checked = withoutImplied([given, make(given, y as Tensor)]);
    return x as Tensor;
  });
  return checked.includes(given as Tensor);
}

describe("a value that shows in another needs no check of its own", () => {
  it.each<readonly [string, (x: Tensor, y: Tensor) => Tensor]>([
    ["a sum", (x, y) => add(y, mul(x, -0.1))],
    ["a difference, from either side", (x, y) => sub(y, sub(x, y))],
    ["a product with 0", (x) => mul(x, 0)],
    ["a quotient's numerator", (x, y) => div(x, y)],
    ["a negation, narrowed", (x) => cast(neg(x), "f16")],
    ["another shape", (x, y) => add(reshape(x, [2, 2]), reshape(y, [2, 2]))],
    ["itself, broadcast", (x) => expand(x, [3, 4])],
  ])("%s", (_name, make) => expect(isChecked(make)).toBe(false));

  it.each<readonly [string, (x: Tensor, y: Tensor) => Tensor]>([
    ["a quotient's denominator: 1 / ∞ is 0", (x, y) => div(y, x)],
    ["the larger of two", (x, y) => maximum(abs(x), y)],
    ["a choice", (x, y) => where(equal(y, 5), x, y)],
    ["a part of it", (x) => slice(x, [{ axis: 0, start: 1 }])],
    ["an integer", (x) => cast(x, "i32")],
    ["nothing at all", (x) => mul(reshape(x, [4, 1]), reshape(slice(x, [{ axis: 0, end: 0 }]), [1, 0]))],
    ["what does not read it", (_x, y) => add(y, 1)],
  ])("but %s does not show it", (_name, make) => expect(isChecked(make)).toBe(true));
});

describe("of an update are read", () => {
  const read = (update: (g: Tensor, w: Tensor) => Readonly<Record<string, Tensor>>): string[] => {
    const names: string[] = [];
    runTraced(data, ({ x, y }) => {
      const parts = { gradient: x as Tensor, ...update(x as Tensor, y as Tensor) };
      const checked = withoutImplied(Object.values(parts));
      for (const [name, part] of Object.entries(parts)) if (checked.includes(part)) names.push(name);
      return x as Tensor;
    });
    return names;
  };
  const step = () => ({ step: literal(0, "i32") });

  it("with SGD and momentum the new weights alone, with Adam its squares too", () => {
    const descent = sgd({ learningRate: 0.1 });
    const moving = momentum({ learningRate: 0.1 });
    const moments = adam({ learningRate: 0.1 });
    expect(read((g, w) => ({ weight: add(w, descent.update(g, {}, w, step()).updates as Tensor) }))).toEqual([
      "weight",
    ]);
    expect(
      read((g, w) => {
        const { updates, state } = moving.update(g, moving.init(w), w, step());
        return { velocity: state.velocity as Tensor, weight: add(w, updates as Tensor) };
      }),
    ).toEqual(["weight"]);
    expect(
      read((g, w) => {
        const { updates, state } = moments.update(g, moments.init(w), w, step());
        return {
          mean: state.mean as Tensor,
          square: state.square as Tensor,
          weight: add(w, updates as Tensor),
        };
      }),
    ).toEqual(["square", "weight"]);
  });

  it("behind a clip by value the gradients as well: it makes an infinity a number", () => {
    const limit = clipByValue(1);
    const clipped = (g: TensorTree, w: Tensor): Tensor => limit.update(g, {}, w, step()).updates as Tensor;
    expect(read((g, w) => ({ weight: add(w, mul(clipped(g, w), -0.1)) }))).toEqual(["gradient", "weight"]);
  });
});
