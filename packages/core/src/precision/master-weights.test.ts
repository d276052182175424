import {
  type HalfDType,
  type HostTensor,
  key,
  roundTo,
  type Tensor,
  type TensorTree,
  type Tree,
  tensor,
} from "@mp/graph";
import { cast, expand, stochasticallyRounded } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { setRandomCounter } from "../../../graph/src/trace/random/random.js";
import { floats, numbersOf } from "../../../graph/test/evaluate-op.js";
import { runTrees, traceTrees } from "../../../graph/test/run-traced.js";
import {
  f32Master,
  kahan,
  type MasterWeights,
  noMasterWeights,
  stochasticRounding,
} from "./master-weights.js";

const vector = (...numbers: number[]): HostTensor => tensor(Float32Array.from(numbers));

/** Weights in f32 after `times` equal updates, kept as `masters` keeps them. */
function updated(
  masters: MasterWeights,
  start: readonly number[],
  update: number,
  times: number,
): readonly number[] {
  let state = runTrees(vector(...start), (parameters) => masters.init(parameters));
  const updates = vector(...start.map(() => update));
  const dataOf = (step: number) => ({
    state,
    updates,
    step: tensor(Int32Array.of(step), []),
  });
  const apply = traceTrees(dataOf(0), (inputs) => {
    const {
      state: now,
      updates: added,
      step,
    } = inputs as {
      readonly state: TensorTree;
      readonly updates: TensorTree;
      readonly step: Tensor;
    };
    setRandomCounter(step);
    return masters.apply(now, added, key(1));
  });
  for (let step = 0; step < times; step++) state = apply(dataOf(step));
  return numbersOf(runTrees(state, (now) => cast(masters.parameters(now) as Tensor, "f32")) as HostTensor);
}

describe("f32 masters", () => {
  it("add updates in f32 and are what the loss is differentiated by", () => {
    expect(updated(f32Master(), [1, -2], 2 ** -20, 3)).toEqual([1 + 3 * 2 ** -20, -2 + 3 * 2 ** -20]);
  });
});

describe("without masters", () => {
  // Half a unit in the last place of 1 is 2^-11 in f16 and 2^-8 in bf16; below 1 it is half of that.
  it.each([
    ["f16", 11],
    ["bf16", 8],
  ] as const)("%s loses an update of 2^-%i of the weight, as often as it comes", (dtype, bits) => {
    const masters = noMasterWeights(dtype);
    const lost = 2 ** -bits;
    expect(updated(masters, [1, -1], 0.99 * lost, 100)).toEqual([1, -1 + updatedBelow(dtype, lost, 100)]);
    expect(updated(masters, [1], lost, 100)).toEqual([1]);
    expect(updated(masters, [1], 1.01 * lost, 1)).toEqual([1 + 2 * lost]);
    expect(updated(masters, [1], -0.49 * lost, 100)).toEqual([1]);
    expect(updated(masters, [1], -0.51 * lost, 1)).toEqual([1 - lost]);
    expect(updated(f32Master(), [1], 0.99 * lost, 100)[0]).toBeCloseTo(1 + 99 * lost, 5);
  });

  /** Updates a number next to -1, on the side nearer to 0, where the numbers of the half dtype lie twice as close. */
  function updatedBelow(dtype: HalfDType, lost: number, times: number): number {
    let weight = -1;
    for (let step = 0; step < times; step++) weight = roundTo(dtype, weight + roundTo(dtype, 0.99 * lost));
    return weight + 1;
  }

  it("keep the user's parameters rounded once", () => {
    expect(updated(noMasterWeights("bf16"), [1 + 2 ** -9, 1 + 3 * 2 ** -8], 0, 1)).toEqual([1, 1 + 2 ** -6]);
  });
});

describe("Kahan's sum", () => {
  it.each(["bf16", "f16"] as const)("in %s keeps what the sum alone would lose", (dtype) => {
    const [value = 0] = updated(kahan(dtype), [1], 1e-4, 2000);
    expect(updated(noMasterWeights(dtype), [1], 1e-4, 2000)).toEqual([1]);
    // Within one ulp of the f32 result.
    expect(Math.abs(value - 1.2)).toBeLessThan(dtype === "bf16" ? 2 ** -7 : 2 ** -10);
  });

  it("starts from what rounding the parameters lost", () => {
    const state = runTrees(vector(1 + 2 ** -10, -3.003), (parameters) => kahan("bf16").init(parameters)) as {
      readonly value: HostTensor;
      readonly compensation: HostTensor;
    };
    expect(numbersOf(state.value)).toEqual([1, -3]);
    const [first = 0, second = 0] = numbersOf(state.compensation);
    expect(first).toBe(2 ** -10);
    expect(second).toBeCloseTo(-0.003, 4);
    expect(state.compensation.dtype).toBe("bf16");
  });
});

/** The two bf16 neighbors of an f32 number, from its bits; the one nearer to 0 comes first. */
function around(x: number): readonly [number, number] {
  const bits = new Uint32Array(new Float32Array([x]).buffer);
  const down = ((bits[0] ?? 0) & 0xffff0000) >>> 0;
  const numberOf = (pattern: number): number =>
    new Float32Array(new Uint32Array([pattern]).buffer)[0] ?? Number.NaN;
  return [numberOf(down), numberOf(down + 0x10000)];
}

const LARGEST = (2 - 2 ** -7) * 2 ** 127;
const draws = 4096;

/** Rounds one number stochastically many times. */
function roundings(x: number, seed = 7): readonly number[] {
  return numbersOf(
    runTrees(tensor(Float32Array.of(x), []), (input) =>
      stochasticallyRounded(expand(input as Tensor, [draws]), key(seed)),
    ) as HostTensor,
  );
}

describe("stochastic rounding to bf16", () => {
  // A random run of significands, and the places where neighbors lie unequally far apart.
  const samples = [
    ...[1.001, 1.4545454, 1.9990234, 123.456, 3e-20, 7.7e30].flatMap((x) => [x, -x]),
    ...[1, 2, 2 ** -126, 2 ** 60].flatMap((power) => [
      power * (1 + 2 ** -10),
      power * (1 - 2 ** -11),
      -power * (1 - 2 ** -20),
    ]),
  ]
    .map(Math.fround)
    .filter((x) => Math.abs(x) >= 2 ** -126);

  it.each(samples)("%f becomes one of its two neighbors, in the proportion that keeps the mean", (x) => {
    const [low, high] = around(x);
    const results = roundings(x);
    expect(new Set([...results, low, high])).toEqual(new Set([low, high]));
    const probability = (x - low) / (high - low);
    const share = results.filter((result) => result === high).length / draws;
    // Five standard deviations.
    const spread = 5 * Math.sqrt((probability * (1 - probability)) / draws);
    expect(Math.abs(share - probability)).toBeLessThanOrEqual(spread);
  });

  it("leaves what bf16 holds as it is: powers of two, zeros, infinities, NaN, the largest and the smallest", () => {
    const held = [1, -1, 2 ** -126, 0, -0, 1.5, -(2 ** 127), LARGEST, 2 ** -133, -3 * 2 ** -133];
    for (const x of [...held, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]) {
      for (const result of roundings(x).slice(0, 256)) expect(result, String(x)).toBe(x);
    }
  });

  it("does not round the largest up to infinity while nearest rounding would not", () => {
    for (const x of [LARGEST * (1 + 2 ** -10), -LARGEST * (1 + 2 ** -10)]) {
      expect(new Set(roundings(Math.fround(x)))).toEqual(new Set([Math.sign(x) * LARGEST]));
    }
  });

  it("draws anew for every weight, leaf and step, and the same for the same", () => {
    const masters = stochasticRounding();
    const start = { a: vector(...Array<number>(64).fill(1)), b: vector(...Array<number>(64).fill(1)) };
    const half = 2 ** -8;
    const state = runTrees(start, (parameters) => masters.init(parameters));
    const after = (step: number): Record<"a" | "b", readonly number[]> => {
      const updates = {
        a: vector(...Array<number>(64).fill(half)),
        b: vector(...Array<number>(64).fill(half)),
      };
      const data = { state, updates, step: tensor(Int32Array.of(step), []) };
      const next = runTrees(data, (inputs) => {
        const trees = inputs as { readonly [name: string]: TensorTree };
        setRandomCounter(trees["step"] as Tensor);
        return masters.apply(trees["state"] as TensorTree, trees["updates"] as TensorTree, key(3));
      }) as Readonly<Record<"a" | "b", Tree<HostTensor>>>;
      return { a: numbersOf(next.a as HostTensor), b: numbersOf(next.b as HostTensor) };
    };
    const first = after(0);
    expect(new Set(first.a)).toEqual(new Set([1, 1 + 2 ** -7]));
    expect(first.a).not.toEqual(first.b);
    expect(after(1).a).not.toEqual(first.a);
    expect(after(0)).toEqual(first);
  });

  it("moves a weight by updates far below its last place, at the pace of f32", () => {
    const weights = updated(stochasticRounding(), Array<number>(256).fill(1), 2 ** -12, 256);
    const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
    expect(updated(noMasterWeights("bf16"), [1], 2 ** -12, 256)).toEqual([1]);
    // 256 · 2^-12 = 2^-4; the mean of 256 walks is within 2^-9.
    expect(Math.abs(mean - (1 + 2 ** -4))).toBeLessThan(2 ** -9);
  });
});

it("parameters are kept in the dtype that each way says, and floats says so too", () => {
  const dtypes = (masters: MasterWeights): string => {
    const state = runTrees(vector(1), (parameters) => masters.init(parameters));
    return (runTrees(state, (now) => masters.parameters(now)) as HostTensor).dtype;
  };
  expect(dtypes(f32Master())).toBe("f32");
  expect(dtypes(noMasterWeights("f16"))).toBe("f16");
  expect(dtypes(kahan("bf16"))).toBe("bf16");
  expect(dtypes(stochasticRounding())).toBe(floats("bf16", [1]).dtype);
});
