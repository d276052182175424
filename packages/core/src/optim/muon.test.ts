import { readFileSync } from "node:fs";
import { elementCount, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, matMul, reduceSum, transpose } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runTraced, runTrees, traceTrees } from "../../../graph/test/run-traced.js";
import { float32 } from "../precision/presets.js";
import { trainer } from "../train/trainer.js";
import { adamW } from "./adam.js";
import { biasesAndNorms, byPath } from "./by-path.js";
import { type MuonOptions, muon } from "./muon.js";
import type { Optimizer } from "./optimizer.js";

type Name = "wide" | "tall" | "kernel";
type Results = Readonly<Record<string, Readonly<Record<Name, readonly number[]>>>>;
interface Fixture {
  readonly shapes: Readonly<Record<Name, readonly number[]>>;
  readonly cases: Readonly<Record<string, Omit<MuonOptions, "learningRate">>>;
  readonly numpy: Results;
  readonly peer: Results;
}
const { shapes, cases, numpy, peer } = JSON.parse(
  readFileSync(new URL("../../test/fixtures/muon.json", import.meta.url), "utf8"),
) as Fixture;

type Traced = Readonly<Record<"weight" | "gradient" | "step", Tensor>> & { readonly state: never };
interface Trained {
  readonly weight: HostTensor;
  readonly state: ReturnType<typeof runTrees>;
}

/** Gradients (or, for step -1, weights) by the formula of fixtures/muon.py. */
function given(shape: readonly number[], step: number): HostTensor {
  const data = Float32Array.from({ length: elementCount(shape, "test") }, (_, index) => {
    const raw = (index * 7919 + (step + 1) * 10473 + index * (step + 1) * 31) % 2003;
    return (raw - 1001) / 1024;
  });
  return tensor(data, shape);
}

/** Trains for 50 steps and returns the weights. */
function trained(optimizer: Optimizer, shape: readonly number[], numbers = given): readonly number[] {
  let weight = numbers(shape, -1);
  let state = runTrees({ weight }, (inputs) => optimizer.init((inputs as Traced).weight));
  const dataOf = (step: number) => ({
    ...{ weight, state, gradient: numbers(shape, step) },
    step: tensor(Int32Array.of(step), []),
  });
  const makeStep = traceTrees(dataOf(0), (inputs) => {
    const { weight, state, gradient, step } = inputs as Traced;
    const made = optimizer.update(gradient, state, weight, { step });
    return { weight: add(weight, made.updates as Tensor), state: made.state };
  });
  for (let step = 0; step < 50; step++) ({ weight, state } = makeStep(dataOf(step)) as unknown as Trained);
  return [...(weight.data as Float32Array)];
}

const farthest = (got: readonly number[], want: readonly number[]): number =>
  Math.max(...want.map((number, index) => Math.abs((got[index] ?? Number.NaN) - number)));

describe.each(Object.entries(cases))("muon, %s", (name, options) => {
  it.each(Object.entries(shapes))("makes the weights of its rule in double precision: %s", (part, shape) => {
    const got = trained(muon({ learningRate: 0.02, ...options }), shape);
    expect(farthest(got, numpy[name]?.[part as Name] ?? [])).toBeLessThan(1e-5);
  });

  it.each(Object.entries(shapes))("makes those of torch.optim.Muon in bfloat16: %s", (part, shape) => {
    const got = trained(muon({ learningRate: 0.02, dtype: "bf16", ...options }), shape);
    expect(farthest(got, peer[name]?.[part as Name] ?? [])).toBeLessThan(2e-2);
  });
});

describe("muon", () => {
  it("is near its rule in float16 too, and not the same", () => {
    const want = numpy["default"]?.tall ?? [];
    const got = trained(muon({ learningRate: 0.02, dtype: "f16" }), shapes.tall);
    expect(farthest(got, want)).toBeLessThan(5e-3);
    expect(farthest(got, want)).toBeGreaterThan(1e-6);
  });

  it("takes matrices, and leaves the rest to a group", () => {
    const parameters = { kernel: given([3, 2], -1), bias: given([2], -1) };
    expect(() => runTraced(parameters, (traced) => muon({ learningRate: 0.02 }).init(traced))).toThrow(
      expect.objectContaining({
        code: "MP_SHAPE_MISMATCH",
        message: expect.stringMatching(/muon: bias is f32\[2\].*biasesAndNorms/),
      }),
    );
    const flat = { group: "flat", paths: biasesAndNorms, optimizer: adamW({ learningRate: 1e-3 }) };
    const state = runTraced(parameters, (traced) =>
      byPath([flat], muon({ learningRate: 0.02 })).init(traced),
    );
    expect(state).toMatchObject({
      default: { mean: { kernel: { shape: [3, 2] } } },
      flat: { mean: { bias: { shape: [2] } } },
    });
  });

  /** The update of one step from a gradient. */
  const updated = (gradient: HostTensor, options: Partial<MuonOptions>, warn?: (text: string) => void) =>
    runTraced(
      { g: gradient, m: gradient, step: tensor(Int32Array.of(0), []) },
      ({ g, m, step }) =>
        muon({ learningRate: 1, weightDecay: 0, ...options }).update(
          { at: { w: g } },
          { mean: { at: { w: m } } },
          { at: { w: g } },
          {
            step,
            ...(warn === undefined ? {} : { warn }),
          },
        ).updates,
    ) as unknown as { readonly at: { readonly w: HostTensor } };
  const moved = (x: HostTensor, perm: readonly number[]): HostTensor =>
    runTraced({ x }, ({ x }) => transpose(x, perm)) as unknown as HostTensor;

  it("takes the outputs from any axis, and makes the same step of them", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 4 });
    const rateScale = fc.constantFrom("original" as const, "match_rms_adamw" as const);
    fc.assert(
      fc.property(sizes, fc.nat(3), fc.boolean(), rateScale, (shape, place, counted, rateScale) => {
        const axis = place % shape.length;
        const perm = [axis, ...shape.map((_, at) => at).filter((at) => at !== axis)];
        const gradient = given(shape, 3);
        const first = updated(moved(gradient, perm), { rateScale, outputAxis: 0 }).at.w;
        const outputAxis = counted ? axis - shape.length : () => axis;
        const got = updated(gradient, { rateScale, outputAxis }).at.w;
        expect(farthest([...moved(got, perm).data].map(Number), [...first.data].map(Number))).toBeLessThan(
          1e-5,
        );
      }),
      { numRuns: 40 },
    );
  });

  it("makes PyTorch's steps of weights as PyTorch has them, [out, in]", () => {
    const turned = (shape: readonly number[], step: number) => moved(given(shape, step), [1, 0]);
    for (const part of ["wide", "tall"] as const) {
      const got = trained(muon({ learningRate: 0.02, outputAxis: 0 }), shapes[part], turned);
      const back = moved(tensor(Float32Array.from(got), shapes[part].toReversed()), [1, 0]);
      expect(farthest([...back.data].map(Number), numpy["default"]?.[part] ?? [])).toBeLessThan(1e-5);
      // With the axes exchanged, the factor differs.
      const wrong = trained(muon({ learningRate: 0.02, outputAxis: 1 }), shapes[part], turned);
      expect(farthest(wrong, got)).toBeGreaterThan(1e-3);
    }
  });

  it.each<readonly [string, readonly number[], Partial<MuonOptions>, number]>([
    ["is unknown", [3, 5], {}, 1],
    ["is unknown to the function", [3, 5], { outputAxis: () => undefined }, 1],
    ["is given", [3, 5], { outputAxis: -1 }, 0],
    ["does not matter, for a square", [4, 4], {}, 0],
    ["does not matter, by the rule of the rate", [3, 5], { rateScale: "match_rms_adamw" }, 0],
    ["is that of a convolution", [3, 2, 2, 2], {}, 0],
  ])("warns where the axis matters and %s", (_what, shape, options, count) => {
    const warnings: string[] = [];
    updated(given(shape, 2), options, (text) => warnings.push(text));
    expect(warnings).toHaveLength(count);
    for (const text of warnings)
      expect(text).toMatch(/^muon: the learning rate of at\/w depends .*outputAxis/);
  });

  it.each([1, 2])("warns once in a run, with %i microbatches", async (accumulate) => {
    const warnings: string[] = [];
    const training = await trainer({
      backend: await reference(),
      params: { w: given([3, 5], 1), v: given([5, 3], 1) },
      loss: ({ w, v }, { x }: { readonly x: Tensor }) => reduceSum(matMul(matMul(x, w), v)),
      optimizer: byPath(
        [{ group: "v", paths: "v", optimizer: muon({ learningRate: 0.1 }) }],
        muon({ learningRate: 0.1, outputAxis: 1 }),
      ),
      accumulate,
      precision: float32(),
      onWarning: ({ message }) => warnings.push(message),
    });
    for (const rows of [2, 2, 3]) {
      const batch = { x: given([rows, 3], 2) };
      await training.step(...Array.from({ length: accumulate }, () => batch));
    }
    expect(warnings.filter((text) => text.startsWith("muon"))).toEqual([
      expect.stringMatching(/learning rate of v depends/),
    ]);
    expect(training.warnings).toContainEqual(expect.objectContaining({ type: "numerics" }));
  });

  it("does nothing but decay where there is no gradient", () => {
    const still = tensor(new Float32Array(6), [3, 2]);
    const optimizer = muon({ learningRate: 0.5 });
    const updates = runTraced(
      { w: given([3, 2], -1), g: still, m: still, step: tensor(Int32Array.of(0), []) },
      ({ w, g, m, step }) => optimizer.update(g, { mean: m }, w, { step }).updates,
    ) as unknown as HostTensor;
    expect([...updates.data].map(Number)).toEqual(
      [...given([3, 2], -1).data].map((number) =>
        Math.fround(Math.fround(Number(number) * Math.fround(0.1)) * -0.5),
      ),
    );
  });

  it.each([2, -3, 0.5, "0"])("refuses %s as the axis of a matrix", (axis) => {
    expect(() => updated(given([3, 5], 2), { outputAxis: () => axis as number })).toThrow(
      "muon: outputAxis must be an axis of at/w [3, 5] or undefined, got",
    );
  });

  it.each([
    [{ steps: 0 }, /muon: steps must be an integer ≥ 1/],
    [{ coefficients: [1, 2] }, /muon: coefficients must be a list of three finite numbers/],
    [{ coefficients: [1, 2, Number.NaN] }, /three finite numbers/],
    [{ dtype: "f64" }, /muon: dtype must be "f32" or "bf16" or "f16"/],
    [{ rateScale: "none" }, /muon: rateScale must be "original" or "match_rms_adamw"/],
    [{ momentum: 1 }, /muon: momentum must be/],
    [{ outputAxis: 0.5 }, /muon: outputAxis must be an integer, or a function/],
    [{ adjustLrFn: "original" }, /did you mean rateScale/],
  ])("refuses %j", (options, message) => {
    expect(() => muon({ learningRate: 0.02, ...options } as MuonOptions)).toThrow(message);
  });
});
