import {
  customGradient,
  elementCount,
  type Graph,
  grad,
  type HostTensor,
  prepareGraph,
  remat,
  type Tensor,
  tensor,
  traceInto,
} from "@mp/graph";
import {
  add,
  cast,
  constant,
  exp,
  matMul,
  mul,
  neg,
  reduceSum,
  scan,
  sin,
  stopGradient,
  transpose,
} from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CUSTOM_GRADIENTS,
  type CustomGradientSample,
} from "../../../conformance/src/training/custom-gradient-table.js";
import { autocast } from "../../src/cast/autocast.js";
import {
  bfloat16Policy,
  type CastingPolicy,
  float16Policy,
  float32Policy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "../../src/cast/policy.js";

type Fn = (x: Tensor) => Tensor;

const programOf = (fn: Fn, shape: readonly number[]): Graph =>
  prepareGraph(
    traceInto([{ name: "x", role: "parameter", type: { dtype: "f32", shape } }], ([x]) => fn(x as Tensor))
      .graph,
  );

const run = (fn: Fn, x: HostTensor): readonly number[] => [
  ...((
    evaluate(
      programOf((input) => cast(fn(input), "f32"), x.shape),
      { x },
    )["result"] as HostTensor
  ).data as Float32Array),
];

/** Σ weights · fn(x). */
const weighted =
  (weights: HostTensor, fn: Fn) =>
  (x: Tensor): Tensor =>
    reduceSum(mul(cast(fn(x), "f32"), constant(weights)));

/** Within a few roundings of numbers of this size. */
function expectNear(got: readonly number[], want: readonly number[], tolerance: number): void {
  expect(got.length).toBe(want.length);
  const scale = Math.max(1, ...want.map(Math.abs));
  const worst = Math.max(0, ...got.map((number, index) => Math.abs(number - (want[index] as number))));
  expect(worst / scale).toBeLessThan(tolerance);
}

/** Eighths, which every half dtype holds; away from ties of the rounding. */
const number = fc
  .integer({ min: -24, max: 24 })
  .map((eighths) => (eighths % 8 === 4 || eighths % 8 === -4 ? eighths / 8 + 0.125 : eighths / 8));
const drawn = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }).chain((shape) => {
  const length = elementCount(shape, "test");
  const list = fc.array(number, { minLength: length, maxLength: length });
  return fc.record({ x: list, w: list, v: list }).map((lists) => ({ shape, ...lists }));
});

const hosted = (numbers: readonly number[], shape: readonly number[]): HostTensor =>
  tensor(Float32Array.from(numbers), shape);

const IN_HALVES: readonly (readonly [string, CastingPolicy, number])[] = [
  ["float32", float32Policy, 1e-5],
  ["mixed float16", mixedFloat16Policy, 4e-3],
  ["mixed bfloat16", mixedBfloat16Policy, 4e-2],
  ["float16 alone", float16Policy, 4e-3],
  ["bfloat16 alone", bfloat16Policy, 4e-2],
];

const CONTEXTS: readonly (readonly [string, (fn: Fn) => Fn, number])[] = [
  ["alone", (fn) => fn, 1e-5],
  ["in remat", (fn) => remat((x: Tensor) => fn(x)), 1e-5],
  [
    "in the steps of a scan",
    (fn) => (x) => scan((carry: readonly Tensor[], one: Tensor) => [carry, fn(one)], [], x)[1],
    1e-5,
  ],
  [
    "in remat in the steps of a scan",
    (fn) => (x) =>
      scan(
        remat((carry: readonly Tensor[], one: Tensor) => [carry, fn(one)] as const),
        [],
        x,
      )[1],
    1e-5,
  ],
  ...IN_HALVES.map(
    ([name, policy, tolerance]) => [`under ${name}`, (fn: Fn) => autocast(fn, policy), tolerance] as const,
  ),
];

describe.each(CUSTOM_GRADIENTS.map((one) => [one.name, one] as const))(
  "a gradient %s",
  (_, one: CustomGradientSample) => {
    const fn = one.make(customGradient);

    it.each(CONTEXTS)("is that by hand %s", (_, around, tolerance) => {
      fc.assert(
        fc.property(drawn, ({ shape, x, w }) => {
          const weights = hosted(w, shape);
          expectNear(run(around(fn), hosted(x, shape)), x.map(one.value), tolerance);
          expectNear(
            run(grad(weighted(weights, around(fn))), hosted(x, shape)),
            x.map((number, index) => one.pulled(number, w[index] as number)),
            tolerance,
          );
        }),
        { numRuns: 5 },
      );
    });

    it.each(CONTEXTS)("has the second derivative by hand %s", (_, around, tolerance) => {
      fc.assert(
        fc.property(drawn, ({ shape, x, w, v }) => {
          const first = grad(weighted(hosted(w, shape), around(fn)));
          expectNear(
            run(grad(weighted(hosted(v, shape), first)), hosted(x, shape)),
            x.map((number, index) => (v[index] as number) * one.twice(number, w[index] as number)),
            4 * tolerance,
          );
        }),
        { numRuns: 5 },
      );
    });

    it("goes back through the carries of a scan, step by step", () => {
      fc.assert(
        fc.property(drawn, ({ shape, x, w }) => {
          const [steps = 1, ...rest] = shape;
          const size = elementCount(rest, "test");
          const last = w.slice(0, size);
          const loss = (xs: Tensor): Tensor => {
            const start = constant(
              hosted(
                last.map(() => 0),
                rest,
              ),
            );
            const [carry] = scan(
              (sum: Tensor, step: Tensor) => [fn(add(mul(sum, 0.125), mul(step, 0.25))), []],
              start,
              xs,
            );
            return reduceSum(mul(carry, constant(hosted(last, rest))));
          };
          const want = x.map(() => 0);
          for (let column = 0; column < size; column++) {
            const entered: number[] = [];
            for (let step = 0, sum = 0; step < steps; step++) {
              entered.push(0.125 * sum + 0.25 * (x[step * size + column] as number));
              sum = one.value(entered[step] as number);
            }
            let cotangent = last[column] as number;
            for (let step = steps - 1; step >= 0; step--) {
              const pulled = one.pulled(entered[step] as number, cotangent);
              want[step * size + column] = 0.25 * pulled;
              cotangent = 0.125 * pulled;
            }
          }
          expectNear(run(grad(loss), hosted(x, shape)), want, 1e-4);
        }),
        { numRuns: 5 },
      );
    });
  },
);

const shape = [2, 3];
const point = hosted([-1.5, -0.25, 0, 0.5, 1, 2], shape);
const ones = hosted([1, 1, 1, 1, 1, 1], shape);
const doubled = customGradient(
  (x: Tensor) => mul(x, 2),
  (_, g) => [mul(g, 5)],
);
const numbers = ({ data }: HostTensor): readonly number[] => [...(data as Float32Array)];

describe("customGradient", () => {
  it("leaves no trace in a program", () => {
    const ops = (fn: Fn): readonly string[] => programOf(fn, shape).nodes.map(({ op }) => op);
    expect(ops(doubled)).toEqual(["Constant", "Mul"]);
    expect(ops(grad(weighted(ones, doubled))).filter((op) => op === "Barrier")).toEqual([]);
  });

  it("nests, in the function and in the rule", () => {
    const around = customGradient(
      (x: Tensor) => doubled(x),
      (_, g) => [doubled(g)],
    );
    expect(run(grad(weighted(ones, around)), point)).toEqual([2, 2, 2, 2, 2, 2]);
    const inside = (x: Tensor): Tensor => grad(weighted(ones, doubled))(x);
    const derived = customGradient(
      (x: Tensor) => mul(inside(x), x),
      ({ inputs: [x] }, g) => [mul(g, inside(x))],
    );
    expect(run(grad(weighted(ones, derived)), point)).toEqual([5, 5, 5, 5, 5, 5]);
  });

  it("has its own gradient where the result is an input", () => {
    const reversed = customGradient(
      (x: Tensor) => x,
      (_, g) => [neg(g)],
    );
    const loss = (x: Tensor): Tensor => add(reversed(x), mul(x, 3));
    expect(run(grad(weighted(ones, loss)), point)).toEqual([2, 2, 2, 2, 2, 2]);
  });

  it("is called in each step of a scan, also with what is the same in all of them", () => {
    const loss = (x: Tensor): Tensor =>
      scan(
        (sum: Tensor, one: Tensor) => [add(sum, mul(doubled(x), one)), []] as const,
        mul(x, 0),
        constant(hosted([1, 2, 4], [3])),
      )[0];
    expect(run(grad(weighted(ones, loss)), point)).toEqual([35, 35, 35, 35, 35, 35]);
  });

  it("is called in each step of a scan where the rule alone reads the step", () => {
    const loss = (x: Tensor): Tensor =>
      scan(
        (sum: Tensor, one: Tensor) => {
          const scaled = customGradient(
            (v: Tensor) => mul(v, 2),
            (_, g) => [mul(g, one)],
          );
          return [add(sum, mul(scaled(x), one)), []] as const;
        },
        mul(x, 0),
        constant(hosted([1, 2, 4], [3])),
      )[0];
    expect(run(grad(weighted(ones, loss)), point)).toEqual([21, 21, 21, 21, 21, 21]);
  });

  it("leaves casts around it and in the rule as they would be without it", () => {
    const turned = customGradient(
      (x: Tensor) => transpose(x),
      (_, g) => [cast(transpose(cast(g, "f32")), "f32")],
    );
    const product = (turn: Fn) => autocast((x: Tensor) => matMul(turn(x), x), mixedFloat16Policy);
    const nodes = (fn: Fn): readonly string[] =>
      programOf(fn, shape).nodes.map(({ op, outputs }) => `${op} ${outputs[0]?.dtype}`);
    expect(nodes(product(turned))).toEqual(nodes(product((x) => transpose(x))));
    const idle = programOf(
      grad(weighted(hosted(new Array<number>(9).fill(1), [3, 3]), product(turned))),
      shape,
    ).nodes.filter(({ op, inputs, outputs }) => op === "Cast" && inputs[0]?.dtype === outputs[0]?.dtype);
    expect(idle).toEqual([]);
  });

  it("gives the rule what it closes over, in both derivatives", () => {
    const scaled = (x: Tensor): Tensor =>
      customGradient(
        (v: Tensor) => v,
        (_, g) => [mul(g, x)],
      )(mul(x, 2));
    const x = numbers(point);
    expect(run(grad(weighted(ones, scaled)), point)).toEqual(x.map((number) => 2 * number));
    expect(run(grad(weighted(ones, grad(weighted(ones, scaled)))), point)).toEqual(x.map(() => 2));
  });

  it("refuses a gradient for what the function closes over, and takes constants", () => {
    const closing = (x: Tensor, outside: Tensor): Tensor =>
      customGradient(
        (v: Tensor) => mul(v, outside),
        (_, g) => [g],
      )(x);
    const loss = (x: Tensor): Tensor => closing(x, exp(x));
    expect(() => run(grad(weighted(ones, loss)), point)).toThrow(
      expect.objectContaining({
        code: "MP_NOT_DIFFERENTIABLE",
        message: expect.stringMatching(
          /customGradient: no gradient for a tensor that the function closes over; pass it as/,
        ),
      }),
    );
    expect(run(loss, point).length).toBe(6);
    // Its own input from outside, where a gradient of the rule would hide that one is missing.
    for (const around of [(fn: Fn) => fn, remat]) {
      const own = around((x: Tensor) => closing(x, x));
      expect(() => run(grad(weighted(ones, own)), point)).toThrow(
        /that the function closes over; pass it as/,
      );
    }
    const stopped = (x: Tensor): Tensor => add(closing(x, constant(ones)), closing(x, stopGradient(exp(x))));
    expect(run(grad(weighted(ones, stopped)), point)).toEqual([2, 2, 2, 2, 2, 2]);
  });

  it("names itself where it lets no gradient through", () => {
    const cuts: unknown[] = [];
    const none = customGradient(
      (x: Tensor) => exp(x),
      () => [undefined],
    );
    const derived = grad(weighted(ones, none), {
      onUnreached: (unreached) => void cuts.push(...unreached.cuts),
    });
    expect(run(derived, point)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(cuts).toMatchObject([{ op: "Identity", reason: "its rule has no cotangent for it" }]);
  });

  it.each([
    ["f16", mixedFloat16Policy],
    ["bf16", mixedBfloat16Policy],
  ] as const)(
    "computes the function in %s under a policy, the rule as it is written, and keeps halves",
    (half, policy) => {
      const product = customGradient(
        (x: Tensor, w: Tensor) => matMul(x, w),
        ({ inputs: [x, w] }, g) =>
          [matMul(cast(g, "bf16"), cast(transpose(w), "bf16")), matMul(transpose(x), g)].map((cotangent) =>
            cast(cotangent, "f32"),
          ) as [Tensor, Tensor],
      );
      const weights = hosted([1, 2, 3, 4, 5, 6], [3, 2]);
      const plain = autocast((x: Tensor) => matMul(mul(matMul(x, constant(weights)), 0.5), x), policy);
      const custom = autocast((x: Tensor) => matMul(mul(product(x, constant(weights)), 0.5), x), policy);
      const dtypes = (fn: Fn): readonly string[] =>
        programOf(fn, shape).nodes.flatMap(({ op, outputs }) =>
          op === "Identity" || op === "Cast" ? [] : outputs.map(({ dtype }) => `${op} ${dtype}`),
        );
      expect(dtypes(custom)).toEqual(dtypes(plain));
      const backward = programOf(
        grad((x: Tensor) => reduceSum(cast(custom(x), "f32"))),
        shape,
      ).nodes.filter(({ op, origin }) => op === "MatMul" && origin.phase === "backward");
      expect(backward.map(({ outputs }) => outputs[0]?.dtype)).toContain("bf16");
      expect(dtypes(custom).filter((one) => one.startsWith("MatMul"))).toEqual([
        `MatMul ${half}`,
        `MatMul ${half}`,
      ]);
    },
  );

  it("keeps nothing of a segment that is recomputed", () => {
    const graph = programOf(
      grad(
        weighted(
          ones,
          remat((x: Tensor) => sin(CUSTOM_GRADIENTS[6]?.make(customGradient)(sin(x)) as Tensor)),
        ),
      ),
      shape,
    );
    const inside = new Set(
      graph.nodes.filter(({ origin }) => origin.segment !== undefined).flatMap(({ outputs }) => outputs),
    );
    const backward = graph.nodes.filter(({ origin, op }) => origin.phase === "backward" && op !== "Barrier");
    expect(backward.length).toBeGreaterThan(5);
    expect(backward.filter(({ inputs }) => inputs.some((input) => inside.has(input)))).toEqual([]);
  });

  it("inside a remat of a gradient is recomputed with its rule", () => {
    const penalty = grad(weighted(ones, CUSTOM_GRADIENTS[5]?.make(customGradient) as Fn));
    expect(run(grad(weighted(ones, remat(penalty))), point)).toEqual(
      run(grad(weighted(ones, penalty)), point),
    );
  });
});

describe("cotangents that do not match", () => {
  const wrong =
    (rule: unknown, ...more: readonly unknown[]): (() => unknown) =>
    () =>
      run(
        (x) =>
          (customGradient as (...all: readonly unknown[]) => (...inputs: readonly unknown[]) => Tensor)(
            (a: Tensor, { b }: { readonly b: Tensor }) => add(a, b),
            rule,
            ...more,
          )(x, { b: mul(x, 2), n: cast(x, "i32") }),
        point,
      );
  let escaped: Tensor | undefined;
  it.each([
    [
      () => undefined,
      "MP_INVALID_ARGUMENT",
      /the rule must return a list of 2 cotangents, one for each input, got undefined/,
    ],
    [(_: unknown, g: Tensor) => [g], "MP_INVALID_ARGUMENT", /list of 2 cotangents.*got a list of 1/],
    [
      (_: unknown, g: Tensor) => [g, g],
      "MP_INVALID_ARGUMENT",
      /must return a cotangent for input 1 at b, or undefined/,
    ],
    [
      (_: unknown, g: Tensor) => [g, { b: g }],
      "MP_INVALID_ARGUMENT",
      /cotangent for input 1 at n, or undefined/,
    ],
    [
      (_: unknown, g: Tensor) => [g, { b: g, c: g, n: null }],
      "MP_INVALID_ARGUMENT",
      /cotangent for input 1 at c, which is no tensor/,
    ],
    [(_: unknown, g: Tensor) => [g, { b: 3, n: null }], "MP_INVALID_ARGUMENT", /cotangents at 1\/b.*got 3/],
    [
      (_: unknown, g: Tensor) => [g, { b: g, n: g }],
      "MP_DTYPE_MISMATCH",
      /cotangent of input 1 at n must be undefined, since i32 has no gradient; got f32\[2, 3\]/,
    ],
    [
      (_: unknown, g: Tensor) => [reduceSum(g), undefined],
      "MP_SHAPE_MISMATCH",
      /cotangent of input 0 must be f32\[2, 3\], got f32\[\]; sum it over the axes/,
    ],
    [
      (_: unknown, g: Tensor) => [cast(g, "f16"), undefined],
      "MP_DTYPE_MISMATCH",
      /cotangent of input 0 must be f32\[2, 3\], got f16\[2, 3\]; cast it/,
    ],
    [
      (_: unknown, g: Tensor) => {
        traceInto([], () => {
          escaped = mul(g, 2);
          return [];
        });
        return [escaped, undefined];
      },
      "MP_INVALID_ARGUMENT",
      /cotangent of input 0: Tensor f32\[2, 3\] is used outside its trace/,
    ],
  ] as const)("%s", (rule, code, message) => {
    expect(wrong(rule)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });

  it("are found beside results that are no tensors, and unknown options", () => {
    const fine = (_: unknown, g: Tensor): unknown => [g, undefined];
    expect(wrong(fine)).not.toThrow();
    expect(wrong(fine, { hasResiduals: true })).toThrow(
      /with hasResiduals the function must return \[result, residuals\]/,
    );
    expect(wrong(fine, { hasAux: true })).toThrow(/hasAux/);
    expect(wrong(fine, { hasResiduals: "yes" })).toThrow(/hasResiduals must be true, got "yes"/);
    expect(() => customGradient(3 as unknown as Fn, () => [undefined])).toThrow(
      /the function must be a function, got 3/,
    );
    const itself: Fn = customGradient(
      (x: Tensor) => exp(x),
      ({ inputs: [x] }, g) => [mul(g, itself(x))],
    );
    expect(() => run(itself, point)).toThrow(/the rule must not call its own function/);
    expect(() => run(itself, point)).toThrow(/the rule must not call its own function/);
    const none = customGradient(
      () => [],
      () => [],
    );
    expect(() => run(none as unknown as Fn, point)).toThrow(
      /must return a tensor or a tree of tensors, got none/,
    );
    const host = customGradient(
      () => point as unknown as Tensor,
      () => [],
    );
    expect(() => run(host as unknown as Fn, point)).toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }),
    );
  });
});
