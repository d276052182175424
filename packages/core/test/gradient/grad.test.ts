import {
  grad,
  type HostTensor,
  remat,
  type Tensor,
  Tensor as TensorClass,
  tensor,
  traceInto,
  valueAndGrad,
} from "@mp/graph";
import { add, cast, mul, reduceSum, round, sin, stopGradient, sub } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { currentBuilder, withPhase } from "../../../graph/src/trace/trace.js";
import { autocast } from "../../src/cast/autocast.js";
import { float32Policy, mixedBfloat16Policy, mixedFloat16Policy } from "../../src/cast/policy.js";

const vector = { dtype: "f32" as const, shape: [2] };
const scalar = { dtype: "f32" as const, shape: [] };

function run(
  types: Readonly<
    Record<string, { readonly dtype: "f32" | "f16" | "i32"; readonly shape: readonly number[] }>
  >,
  body: (...xs: readonly Tensor[]) => unknown,
  feed: Readonly<Record<string, HostTensor>>,
): Readonly<Record<string, readonly number[]>> {
  const inputs = Object.entries(types).map(([name, type]) => ({ name, role: "parameter" as const, type }));
  const { graph } = traceInto(inputs, (xs) => body(...xs));
  return Object.fromEntries(
    Object.entries(evaluate(graph, feed)).map(([name, { data }]) => [name, Array.from(data as Float32Array)]),
  );
}

const x = tensor(Float32Array.of(2, 3));
const y = tensor(Float32Array.of(5, 7));

describe("stopGradient", () => {
  const half = (a: Tensor): Tensor => reduceSum(mul(a, stopGradient(a)));

  it("lets the value through and no gradient, which counts as no way to the loss", () => {
    expect(run({ x: vector }, (a) => valueAndGrad(half)(a as Tensor), { x })).toEqual({
      value: [4 + 9],
      gradients: [2, 3],
    });
    const unreached: unknown[] = [];
    const stopped = valueAndGrad((a: Tensor) => reduceSum(stopGradient(a)), {
      onUnreached: ({ cuts }) => void unreached.push(...cuts),
    });
    expect(run({ x: vector }, (a) => stopped(a as Tensor), { x })).toMatchObject({ gradients: [0, 0] });
    expect(unreached).toMatchObject([{ op: "Identity", reason: "stopGradient" }]);
  });

  it("holds under casting policies, in checkpoints and for gradients of gradients", () => {
    for (const policy of [mixedFloat16Policy, mixedBfloat16Policy, float32Policy]) {
      const cast = autocast(half, policy);
      expect(run({ x: vector }, (a) => grad(cast)(a as Tensor), { x })).toEqual({ result: [2, 3] });
    }
    expect(run({ x: vector }, (a) => grad(remat(half))(a as Tensor), { x })).toEqual({ result: [2, 3] });
    // d(a · stop(a))/da = stop(a): constant from then on.
    const second = grad((a: Tensor) => reduceSum(mul(grad(half)(a), a)));
    expect(run({ x: vector }, (a) => second(a as Tensor), { x })).toEqual({ result: [2, 3] });
  });

  it("makes a straight-through estimate", () => {
    const through = (a: Tensor): Tensor => reduceSum(add(a, stopGradient(sub(round(a), a))));
    expect(
      run({ x: vector }, (a) => valueAndGrad(through)(a as Tensor), { x: tensor(Float32Array.of(1.2, 2.7)) }),
    ).toEqual({ value: [4], gradients: [1, 1] });
  });
});

describe("valueAndGrad", () => {
  it("gives the value and a tree like the first argument", () => {
    const loss = ({ a, deep: [b] }: { a: Tensor; deep: readonly [Tensor] }): Tensor =>
      reduceSum(mul(mul(a, a), b));
    const result = run(
      { x: vector, y: vector },
      (a, b) => valueAndGrad(loss)({ a: a as Tensor, deep: [b as Tensor] }),
      { x, y },
    );
    expect(result).toEqual({ value: [4 * 5 + 9 * 7], "gradients/a": [20, 42], "gradients/deep/0": [4, 9] });
  });

  it("hands aux through", () => {
    const loss = (a: Tensor): readonly [Tensor, { readonly squares: Tensor }] => {
      const squares = mul(a, a);
      return [reduceSum(squares), { squares }];
    };
    const result = run({ x: vector }, (a) => valueAndGrad(loss, { hasAux: true })(a as Tensor), { x });
    expect(result).toEqual({ "aux/squares": [4, 9], gradients: [4, 6], value: [13] });
  });

  it("scales gradients, not the value, by the seed, which takes the loss's dtype", () => {
    const result = run(
      { x: vector, s: { dtype: "f32", shape: [] } },
      (a, s) =>
        valueAndGrad((v: Tensor) => cast(reduceSum(mul(v, v)), "f16"), { seed: s as Tensor })(a as Tensor),
      { x, s: tensor(Float32Array.of(1024), []) },
    );
    expect(result["gradients"]).toEqual([4096, 6144]);
    expect(result["value"]).toEqual([0x4a80]);
  });

  it("differentiates the argument only: other arguments and captured tensors are constants, also the same tensor", () => {
    const result = run(
      { x: vector },
      (a) => grad((v: Tensor, w: Tensor) => reduceSum(mul(mul(v, w), a as Tensor)))(a as Tensor, a as Tensor),
      { x },
    );
    expect(result).toEqual({ result: [4, 9] });
  });

  it("tells two leaves apart that are one tensor", () => {
    const result = run(
      { x: vector },
      (a) =>
        grad(([p, q]: readonly Tensor[]) => reduceSum(add(mul(p as Tensor, 2), mul(q as Tensor, 3))))([
          a as Tensor,
          a as Tensor,
        ]),
      { x },
    );
    expect(result).toEqual({ "0": [2, 2], "1": [3, 3] });
  });

  it("gives zeros for a leaf that the loss does not depend on, and 1 for the loss itself", () => {
    expect(
      run(
        { x: vector, s: scalar },
        (a, s) => grad(([, v]: readonly Tensor[]) => v as Tensor)([a as Tensor, s as Tensor]),
        { x, s: tensor(Float32Array.of(9), []) },
      ),
    ).toEqual({ "0": [0, 0], "1": [1] });
  });

  it("nests: the third derivative of x⁴ is 24 x, and a penalty on the gradient's norm has a gradient", () => {
    const fourth = (v: Tensor): Tensor => reduceSum(mul(mul(v, v), mul(v, v)));
    const sumOf =
      (fn: (v: Tensor) => Tensor) =>
      (v: Tensor): Tensor =>
        reduceSum(fn(v));
    expect(run({ x: vector }, (a) => grad(sumOf(grad(sumOf(grad(fourth)))))(a as Tensor), { x })).toEqual({
      result: [48, 72],
    });
    const penalty = (v: Tensor): Tensor => {
      const g = grad(fourth)(v);
      return reduceSum(mul(g, g));
    };
    expect(run({ x: vector }, (a) => grad(penalty)(a as Tensor), { x })).toEqual({
      result: [96 * 2 ** 5, 96 * 3 ** 5],
    });
  });

  it("captures from the function around it, and is differentiated through by it", () => {
    const outer = (v: Tensor): Tensor => {
      const inner = grad((w: Tensor) => reduceSum(mul(mul(w, w), v)))(mul(v, 3));
      return reduceSum(inner);
    };
    // d/dv of 2 · 3v · v
    expect(run({ x: vector }, (a) => grad(outer)(a as Tensor), { x })).toEqual({ result: [24, 36] });
  });

  it("keeps the role of parameters inside", () => {
    const roles: (string | undefined)[] = [];
    const role = (t: Tensor): string | undefined => {
      const builder = currentBuilder("test");
      return builder.roleOf(TensorClass.valueIn(t, builder, "test"));
    };
    run(
      { x: vector, y: vector },
      (a, b) =>
        grad(([p, q]: readonly Tensor[], rest: Tensor) => {
          roles.push(role(p as Tensor), role(q as Tensor), role(rest));
          return reduceSum(mul(mul(p as Tensor, q as Tensor), rest));
        })([a as Tensor, sin(b as Tensor)], b as Tensor),
      { x, y },
    );
    expect(roles).toEqual(["parameter", undefined, "parameter"]);
  });

  it("leaves the phase of what follows alone", () => {
    const { graph } = traceInto([{ name: "x", role: "batch", type: vector }], ([a]) =>
      withPhase("loss", () => sin(grad((v: Tensor) => reduceSum(mul(v, v)))(a as Tensor))),
    );
    expect(graph.nodes.at(-1)?.origin.phase).toBe("loss");
  });

  it.each([
    ["MP_SHAPE_MISMATCH", "take its mean", (v: Tensor) => v],
    ["MP_DTYPE_MISMATCH", "cast", (v: Tensor) => cast(reduceSum(v), "i32")],
    ["MP_INVALID_ARGUMENT", "hasAux: true", (v: Tensor) => [reduceSum(v), v] as never],
    ["MP_INVALID_ARGUMENT", "undefined", () => undefined as never],
  ])("refuses what is no loss: %s, with the remedy %s", (code, remedy, fn) => {
    expect(() => run({ x: vector }, (a) => grad(fn)(a as Tensor), { x })).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(remedy) }),
    );
  });

  it("refuses integer leaves, naming their path, and seeds that are no scalar", () => {
    expect(() =>
      run(
        { i: { dtype: "i32", shape: [2] } },
        (i) => grad((p: { n: Tensor }) => reduceSum(cast(p.n, "f32")))({ n: i as Tensor }),
        {},
      ),
    ).toThrow(
      expect.objectContaining({ code: "MP_DTYPE_MISMATCH", message: expect.stringContaining("at n is i32") }),
    );
    expect(() =>
      run({ x: vector }, (a) => grad((v: Tensor) => reduceSum(v), { seed: a as Tensor })(a as Tensor), { x }),
    ).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it("works inside a trace only", () => {
    expect(() => grad((v: Tensor) => v)(undefined as never)).toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }),
    );
  });
});
