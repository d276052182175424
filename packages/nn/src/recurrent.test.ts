// Recurrent layers applied to a tensor alone, and to inputs that are not sequences.
import { key, type Tensor, type TensorTree, tensor } from "@mp/core";
import { constant } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { run } from "../test/run-layer.js";
import { bidirectional, gru, lstm, lstmState } from "./index.js";

const x = tensor(
  Float32Array.from({ length: 24 }, (_, at) => Math.sin(at)),
  [4, 2, 3],
);

const layers = {
  lstm: { layer: lstm(3, 5), state: { state: lstmState(2, 5) } },
  gru: { layer: gru(3, 5), state: { hidden: lstmState(2, 5).hidden } },
} as const;

describe.each(Object.entries(layers))("%s", (name, { layer, state }) => {
  const params = layer.init(key(1));
  const apply = layer.apply as unknown as (params: unknown, input: unknown) => TensorTree;

  it("takes a tensor, or x alone, and begins with zeros", () => {
    const results = run({ params, x, state }, (t) => ({
      given: apply(t.params, { x: t.x, ...(t.state as object) }),
      alone: apply(t.params, { x: t.x }),
      plain: apply(t.params, t.x as Tensor),
    })) as unknown as Record<string, unknown>;
    expect(results["alone"]).toEqual(results["given"]);
    expect(results["plain"]).toEqual(results["given"]);
  });

  it.each<readonly [string, (x: Tensor) => unknown, RegExp]>([
    ["nothing", () => undefined, /x: takes traced tensors, got undefined/],
    ["host data", () => x, /x: takes traced tensors, got/],
    ["an empty object", () => ({}), /x: takes traced tensors, got undefined/],
    ["a wrong rank", () => constant(tensor(new Float32Array(3))), /takes \[time, batch, 3\], got \[3\]/],
    [
      "a state of text",
      (t) => ({ x: t, state: { hidden: "0", cell: "0" }, hidden: "0" }),
      /state: takes traced tensors/,
    ],
    [
      "a state without tensors",
      (t) => ({ x: t, state: {}, hidden: undefined }),
      /state: takes traced tensors, got undefined/,
    ],
  ])("refuses %s by name", (_what, input, message) => {
    expect(() => run({ params, x }, (t) => apply(t.params, input(t.x as Tensor)))).toThrow(
      expect.objectContaining({
        code: expect.stringMatching(/^MP_/),
        message: expect.stringMatching(message),
      }),
    );
    expect(() => run({ params, x }, (t) => apply(t.params, input(t.x as Tensor)))).toThrow(
      new RegExp(`^${name}: `),
    );
  });
});

it("runs a layer in both directions, with parameters of each", () => {
  const layer = bidirectional(lstm(3, 5));
  const params = layer.init(key(1));
  expect(params.forward.input.data).not.toEqual(params.backward.input.data);
  const { y, again } = run({ params, x }, (t) => {
    const first = layer.apply(t.params, t.x);
    const { forward, backward } = first;
    return { y: first.y, again: layer.apply(t.params, { x: t.x, forward, backward }).y };
  }) as unknown as Record<"y" | "again", { readonly shape: readonly number[] }>;
  expect(y.shape).toEqual([4, 2, 10]);
  expect(again).not.toEqual(y);
  expect(() => run({ params, x }, (t) => layer.apply(t.params, undefined as never))).toThrow(
    /lstm: x: takes traced tensors, got undefined/,
  );
});
