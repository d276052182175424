import { readFileSync } from "node:fs";
import { elementCount, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { runTraced, runTrees, traceTrees } from "../../../graph/test/run-traced.js";
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
function trained(optimizer: Optimizer, shape: readonly number[]): readonly number[] {
  let weight = given(shape, -1);
  let state = runTrees({ weight }, (inputs) => optimizer.init((inputs as Traced).weight));
  const dataOf = (step: number) => ({
    ...{ weight, state, gradient: given(shape, step) },
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

  it.each([
    [{ steps: 0 }, /muon: steps must be an integer ≥ 1/],
    [{ coefficients: [1, 2] }, /muon: coefficients must be a list of three finite numbers/],
    [{ coefficients: [1, 2, Number.NaN] }, /three finite numbers/],
    [{ dtype: "f64" }, /muon: dtype must be "f32" or "bf16" or "f16"/],
    [{ rateScale: "none" }, /muon: rateScale must be "original" or "match_rms_adamw"/],
    [{ momentum: 1 }, /muon: momentum must be/],
    [{ adjustLrFn: "original" }, /did you mean rateScale/],
  ])("refuses %j", (options, message) => {
    expect(() => muon({ learningRate: 0.02, ...options } as MuonOptions)).toThrow(message);
  });
});
