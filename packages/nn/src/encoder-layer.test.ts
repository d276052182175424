import { type HostTensor, isHostTensor, key, leavesOf, tensor } from "@mp/core";
import { add, gelu } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { numbers, run, shapeOf } from "../test/run-layer.js";
import { dense, encoderLayer, layerNorm, multiHeadAttention } from "./index.js";

const x: HostTensor<"f32"> = tensor(
  Float32Array.from({ length: 2 * 3 * 4 }, (_, index) => Math.sin(1 + index)),
  [2, 3, 4],
);
/** Equals x except at the last position. */
const other: typeof x = tensor(
  x.data.map((value, index) => (index % 12 < 8 ? value : 7)),
  x.shape,
);
const params = encoderLayer(4, 2).init(key(1));
const parts = {
  attention: multiHeadAttention(4, 2),
  norm: layerNorm(4),
  expand: dense(4, 16),
  contract: dense(16, 4),
};

describe("encoderLayer", () => {
  it("is attention and a feed-forward network, each added to its input, normalized after or before", () => {
    const { attention, norm, expand, contract } = parts;
    const by = (kind: "post" | "pre") =>
      numbers(run({ params, x }, (t) => encoderLayer(4, 2, { norm: kind }).apply(t.params, t.x)));
    const post = run({ params, x }, ({ params: p, x: y }) => {
      const middle = norm.apply(p.attentionNorm, add(y, attention.apply(p.attention, y)));
      const wide = gelu(expand.apply(p.expand, middle), { approximate: "tanh" });
      return norm.apply(p.norm, add(middle, contract.apply(p.contract, wide)));
    });
    const pre = run({ params, x }, ({ params: p, x: y }) => {
      const middle = add(y, attention.apply(p.attention, norm.apply(p.attentionNorm, y)));
      const wide = gelu(expand.apply(p.expand, norm.apply(p.norm, middle)), { approximate: "tanh" });
      return add(middle, contract.apply(p.contract, wide));
    });
    expect(by("post")).toEqual(numbers(post));
    expect(by("pre")).toEqual(numbers(pre));
    expect(shapeOf(post)).toEqual([2, 3, 4]);
  });

  it("has another GELU and epsilon where told", () => {
    const norm = layerNorm(4, { epsilon: 0.5 });
    const got = run({ params, x }, (t) =>
      encoderLayer(4, 2, { approximate: "none", epsilon: 0.5 }).apply(t.params, t.x),
    );
    const wanted = run({ params, x }, ({ params: p, x: y }) => {
      const middle = norm.apply(p.attentionNorm, add(y, parts.attention.apply(p.attention, y)));
      return norm.apply(
        p.norm,
        add(middle, parts.contract.apply(p.contract, gelu(parts.expand.apply(p.expand, middle)))),
      );
    });
    expect(numbers(got)).toEqual(numbers(wanted));
    expect(() => encoderLayer(4, 2, { epsilon: -1 })).toThrow(/epsilon/);
    expect(() => encoderLayer(4, 2, { approximate: "erf" as "none" })).toThrow(/"none" or "tanh"/);
  });

  it("does not look where the mask is false", () => {
    const mask = tensor(Uint8Array.of(1, 1, 0), [1, 1, 1, 3], "bool");
    const layer = encoderLayer(4, 2);
    const [a, b] = [x, other].map((source) =>
      numbers(run({ params, source, mask }, (t) => layer.apply(t.params, { x: t.source, mask: t.mask }))),
    );
    for (const row of [0, 1])
      expect(a?.slice(row * 12, row * 12 + 8)).toEqual(b?.slice(row * 12, row * 12 + 8));
    expect(a).not.toEqual(b);
  });

  it("looks back only, when causal: what comes later changes nothing before", () => {
    for (const norm of ["post", "pre"] as const) {
      const [now, changed] = [x, other].map((source) =>
        numbers(
          run({ params, source }, (t) =>
            encoderLayer(4, 2, { isCausal: true, norm }).apply(t.params, t.source),
          ),
        ),
      );
      for (const row of [0, 12]) expect(now?.slice(row, row + 8)).toEqual(changed?.slice(row, row + 8));
      expect(now).not.toEqual(changed);
    }
  });

  it("has a feed-forward network of four times its size, or as told", () => {
    const shapes = (hidden?: number) =>
      Object.fromEntries(
        leavesOf(
          encoderLayer(4, 2, hidden === undefined ? {} : { hidden }).init(key(1)),
          isHostTensor,
          "p",
        ).map(([path, { shape }]) => [path, shape]),
      );
    expect(shapes()["expand/kernel"]).toEqual([4, 16]);
    expect(shapes(6)["contract/kernel"]).toEqual([6, 4]);
  });

  it("drops in training only, and needs the context for it", () => {
    const layer = encoderLayer(4, 2, { dropout: 0.5 });
    const at = (training: boolean) =>
      numbers(run({ params, x }, (t) => layer.apply(t.params, t.x, { training, key: key(3) })));
    const plain = numbers(run({ params, x }, (t) => encoderLayer(4, 2).apply(t.params, t.x)));
    expect(at(false)).toEqual(plain);
    expect(at(true)).not.toEqual(plain);
    expect(() => run({ params, x }, (t) => layer.apply(t.params, t.x))).toThrow(/needs the context/);
  });

  it("refuses sizes and options that make no sense", () => {
    expect(() => encoderLayer(4, 3)).toThrow(/3 heads do not divide/);
    expect(() => encoderLayer(4, 2, { hidden: 0 })).toThrow(/hidden/);
    expect(() => encoderLayer(4, 2, { norm: "after" as "post" })).toThrow(/"post" or "pre"/);
    expect(() => encoderLayer(4, 2, { dropout: 1 })).toThrow(/rate/);
  });
});
