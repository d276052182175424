import { key, tensor } from "@mp/core";
import { relu } from "@mp/core/ops";
import { describe, expect, expectTypeOf, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import { batchNorm, convolution, dense, type Layer, residual, sequential } from "./index.js";

const x = tensor(
  Float32Array.from({ length: 12 }, (_, index) => Math.sin(index)),
  [3, 4],
);

describe("residual", () => {
  it("adds the body's result to its input, parameters under body", () => {
    const layer = residual(dense(4, 4));
    const params = layer.init(key(1));
    expect(Object.keys(params.body)).toEqual(["kernel", "bias"]);
    const got = numbers(run({ params, x }, (t) => layer.apply(t.params, t.x)));
    const body = numbers(run({ params, x }, (t) => dense(4, 4).apply(t.params.body, t.x)));
    expect(got).toEqual(body.map((value, index) => value + (x.data[index] ?? 0)));
  });

  it("takes a shortcut where the body changes the shape, and plain functions for either", () => {
    const layer = residual(dense(4, 2), dense(4, 2));
    const params = layer.init(key(1));
    expect(params.body.kernel.data).not.toEqual(params.shortcut.kernel.data);
    const got = numbers(run({ params, x }, (t) => layer.apply(t.params, t.x)));
    const branch = (name: "body" | "shortcut") =>
      numbers(run({ params, x }, (t) => dense(4, 2).apply(t.params[name], t.x)));
    const [body, shortcut] = [branch("body"), branch("shortcut")];
    expect(got).toEqual(body.map((value, index) => value + (shortcut[index] ?? 0)));
    const plain = residual(relu);
    const doubled = numbers(run({ x }, (t) => plain.apply({ body: {}, shortcut: {} }, t.x)));
    expect(doubled).toEqual([...x.data].map((value) => value + Math.max(0, value)));
  });

  it("carries the statistics of its branches, also within a sequence", () => {
    const block = residual(
      sequential(convolution(2, 3, 3, { padding: "same", bias: false }), batchNorm(3), relu),
      sequential(convolution(2, 3, 1), batchNorm(3)),
    );
    const model = sequential(block, relu);
    const images = tensor(
      Float32Array.from({ length: 2 * 2 * 16 }, (_, index) => Math.cos(index)),
      [2, 2, 4, 4],
    );
    const [params, modelState] = [model.init(key(2)), model.initState()];
    expect(modelState[0].body[1].mean.shape).toEqual([3]);
    const result = run({ params, modelState, images }, (t) => {
      const context = { training: true, key: key(3), modelState: t.modelState };
      const [y, next] = model.apply(t.params, t.images, context);
      return { y, body: next[0].body[1].mean, shortcut: next[0].shortcut[1].variance };
    });
    const named = result as Record<string, never>;
    expect(numbers(named["y"])).toHaveLength(2 * 3 * 16);
    expect(numbers(named["body"]).every((value) => value !== 0)).toBe(true);
    expect(numbers(named["shortcut"]).every((value) => value !== 1)).toBe(true);
  });

  it("is a plain layer, to the compiler as well, where no branch has statistics", () => {
    expectTypeOf(residual(dense(2, 2))).toExtend<
      Layer<{ readonly body: unknown; readonly shortcut: unknown }>
    >();
    expect("initState" in residual(dense(2, 2))).toBe(false);
  });

  it("refuses shapes that differ, and branches that are none", () => {
    const layer = residual(dense(4, 2));
    const params = layer.init(key(1));
    expect(() => run({ params, x }, (t) => layer.apply(t.params, t.x))).toThrow(
      "residual: the body gives [3, 2] and the shortcut [3, 4]; pass a shortcut that changes x alike",
    );
    expect(() => residual("relu" as never)).toThrow(
      "residual: the body must be a layer or a function, got string",
    );
  });
});
