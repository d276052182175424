// Layers of several inputs.
import type { Tensor } from "@mp/graph";
import {
  add,
  concat,
  div,
  einsum,
  maximum,
  minimum,
  mul,
  reduceSum,
  sqrt,
  square,
  sub,
  unsqueeze,
} from "@mp/graph/ops";
import type { LayerKind } from "../plan.js";

const merging =
  (
    merge: (a: Tensor, b: Tensor) => Tensor,
    finish = (sum: Tensor, _count: number): Tensor => sum,
  ): LayerKind =>
  (settings) => ({
    run: ({ inputs }) => {
      const [first, ...rest] = inputs as [Tensor, ...Tensor[]];
      if (rest.some(({ shape }) => shape.length !== first.shape.length))
        settings.refuse("inputs of different ranks are not read");
      return finish(rest.reduce(merge, first), inputs.length);
    },
  });

const concatenate: LayerKind = (settings) => {
  const axis = settings.number("axis", -1);
  return { run: ({ inputs }) => concat(inputs, axis) };
};

/** x / |x| along an axis, with |x| at least TensorFlow.js' epsilon. */
function unit(x: Tensor, axis: number): Tensor {
  return div(x, maximum(sqrt(reduceSum(square(x), { axes: [axis], keepdims: true })), 1e-7));
}

const dot: LayerKind = (settings) => {
  const given = settings.config["axes"];
  const axes = Array.isArray(given)
    ? settings.list("axes")
    : [settings.number("axes"), settings.number("axes")];
  const isNormalized = settings.flag("normalize", false);
  return {
    run: ({ inputs }) => {
      let letter = "c".charCodeAt(0);
      const operands = inputs.map((x, at) => {
        const axis = (axes[at] ?? -1) < 0 ? (axes[at] ?? -1) + x.shape.length : (axes[at] ?? -1);
        const term = x.shape.map((_, place) =>
          place === 0 ? "b" : place === axis ? "a" : String.fromCharCode(letter++),
        );
        return { term, x: isNormalized ? unit(x, axis) : x };
      });
      const kept = operands.flatMap(({ term }) => term.filter((name) => name !== "a" && name !== "b"));
      const terms = operands.map(({ term }) => term.join("")).join(",");
      const y = einsum(`${terms}->b${kept.join("")}`, ...operands.map(({ x }) => x));
      return kept.length === 0 ? unsqueeze(y, [1]) : y;
    },
  };
};

export const MERGE_LAYERS: Readonly<Record<string, LayerKind>> = {
  Add: merging(add),
  Subtract: merging(sub),
  Multiply: merging(mul),
  Average: merging(add, (sum, count) => mul(sum, 1 / count)),
  Maximum: merging(maximum),
  Minimum: merging(minimum),
  Concatenate: concatenate,
  Dot: dot,
};
