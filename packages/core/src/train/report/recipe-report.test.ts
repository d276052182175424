import { type HostTensor, roundTo, type Tensor, tensor } from "@mp/graph";
import { matMul, mul, reduceSum, scan } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { formatCastReport } from "../../cast/explain.js";
import { sgd } from "../../optim/sgd.js";
import { float32 } from "../../precision/presets.js";
import { float8, mxfp4, mxfp8, nvfp4, type QuantizedPrecision } from "../../precision/quantized-presets.js";
import { delayedScaling } from "../../quantize/delayed-scaling.js";
import { granularities, type ReadRule } from "../../quantize/rule.js";
import type { OperandStatistics } from "../../quantize/statistics.js";
import { programHash } from "../compile/program-hash.js";
import { trainer } from "../trainer.js";
import { type RecipeReport, survives } from "./recipe-report.js";

type Matrix = HostTensor<"f32">;

const f = Math.fround;
/** The largest number of a format, the magnitude from which numbers round to more, and the largest that rounds to 0. */
const LIMITS = {
  f8e4m3: [448, 464, 2 ** -10],
  f8e5m2: [57_344, 61_440, 2 ** -17],
  e2m1: [6, 7, 0.25],
} as const;

/** Numbers of magnitudes over 2^-spread … 1, one in nine 0. */
function wide(shape: readonly [number, number], seed: number, spread = 24): Matrix {
  const numbers = Array.from({ length: shape[0] * shape[1] }, (_, at) =>
    at % 9 === 4 ? 0 : Math.sin(seed + at) * 2 ** -(((at * 7 + seed) % (spread * 4)) / 4),
  );
  return tensor(Float32Array.from(numbers), shape);
}

/** The factor before rounding of a block, by the formulas of docs/recipes.md. */
function encodeOf(amax: number, whole: number, { format, scale, epsilon }: ReadRule): number {
  const [most] = LIMITS[format];
  if (scale.format === "f8e4m3") {
    const encode = f(f(448 * most) / whole);
    const block = roundTo("f8e4m3", Math.min(448, f(amax * f(encode * f(1 / most)))));
    // All numbers of a block whose scale is 0 are lost.
    return block === 0 ? 0 : f(1 / f(block * f(1 / encode)));
  }
  if (scale.format === "f32") {
    const encode = f(most / Math.max(amax, f(epsilon)));
    return scale.powerOfTwo ? 2 ** Math.floor(Math.log2(encode)) : encode;
  }
  const top = { f8e4m3: 8, f8e5m2: 15, e2m1: 2 }[format];
  const exponent =
    scale.rounding === "floor" ? Math.floor(Math.log2(amax)) - top : Math.ceil(Math.log2(amax / most));
  return 2 ** -exponent;
}

/** Counts a matrix's numbers by hand, quantized along one axis or, unless its blocks are square, along both. */
function byHand(
  { data, shape }: Matrix,
  rule: ReadRule,
  axes: readonly number[],
  given?: number,
): OperandStatistics {
  const [rows = 0, columns = 0] = shape;
  const [across, along] = granularities[rule.granularity];
  const [, beyond, flushed] = LIMITS[rule.format];
  const whole = Math.max(...data.map(Math.abs));
  let [numbers, small, large] = [0, 0, 0];
  for (const axis of across === along ? axes.slice(0, 1) : axes) {
    const [down, right] = axis === 1 ? [across, along] : [along, across];
    const place = (at: number): string =>
      `${Math.floor(Math.floor(at / columns) / Math.min(down, rows))} ${Math.floor((at % columns) / Math.min(right, columns))}`;
    const amax = new Map<string, number>();
    for (const [at, x] of data.entries())
      amax.set(place(at), Math.max(amax.get(place(at)) ?? 0, Math.abs(x)));
    for (const [at, x] of data.entries()) {
      if (x === 0) continue;
      const scaled = f(Math.abs(x) * (given ?? encodeOf(amax.get(place(at)) ?? 0, whole, rule)));
      numbers++;
      if (scaled <= flushed) small++;
      if (scaled >= beyond) large++;
    }
  }
  return { amax: whole, allFinite: true, underflows: small / numbers, overflows: large / numbers };
}

const everywhere = { "": true };
const ones = (shape: readonly [number, number]): Matrix =>
  tensor(new Float32Array(shape[0] * shape[1]).fill(1), shape);

/** A run with one product, (p · x) w, whose gradient is y: all of its operands are known. */
const product = async (w: Matrix, x: Matrix, precision: QuantizedPrecision | ReturnType<typeof float32>) =>
  trainer({
    backend: await reference(),
    params: { w, p: ones(x.shape as [number, number]) },
    loss: (params, batch: { readonly x: Tensor; readonly y: Tensor }) =>
      reduceSum(mul(matMul(mul(params.p, batch.x), params.w), batch.y)),
    optimizer: sgd({ learningRate: 0 }),
    precision,
    onWarning: () => undefined,
  });

const statistics = ({ products }: RecipeReport) =>
  products.map(({ quantized }) => quantized?.operands.map((operand) => operand.statistics));

const plain = { stochasticRounding: false, hadamard: false, scopes: everywhere };
const recipes: Readonly<Record<string, QuantizedPrecision>> = {
  float8: float8({ scopes: everywhere }),
  "float8 by row": float8({ granularity: "row", scopes: everywhere }),
  "float8 of powers of two": float8({ powerOfTwo: true, gradient: "f8e4m3", scopes: everywhere }),
  mxfp8: mxfp8({ scopes: everywhere }),
  "mxfp8 that saturates": mxfp8({ rounding: "floor", gradient: "f8e5m2", scopes: everywhere }),
  mxfp4: mxfp4(plain),
  "mxfp4 that saturates": mxfp4({ rounding: "floor", ...plain }),
  nvfp4: nvfp4(plain),
  "nvfp4 with rows of weights": nvfp4({ squareWeights: false, ...plain }),
};
const sizes: readonly (readonly [m: number, k: number, n: number])[] = [
  [4, 3, 5],
  [33, 40, 17],
];

describe("a report on a recipe", () => {
  it.each(
    Object.entries(recipes).flatMap(([name, precision]) =>
      sizes.map((size) => [name, size, precision] as const),
    ),
  )("counts what %s flushes and saturates, %s", async (_, [m, k, n], precision) => {
    const [x, w, y] = [wide([m, k], 1), wide([k, n], 2), wide([m, n], 3, 60)];
    const { input, weight, gradient } = precision.recipe.rules;
    const training = await product(w, x, precision);
    const { recipes, casts } = await training.precisionReport({ x, y });
    const wanted = [[byHand(x, input, [1, 0]), byHand(w, weight, [0, 1]), byHand(y, gradient, [1, 0])]];
    expect(recipes.map(statistics)).toEqual([wanted]);
    expect(m < 10 || wanted[0]?.every(({ underflows }) => underflows > 0)).toBe(true);
    expect(formatCastReport(casts)).toContain(
      `input ${recipes[0]?.products[0]?.quantized?.operands[0]?.rule} (amax `,
    );
    await training.dispose();
  });

  it("finds what the scales of earlier steps saturate", async () => {
    const [x, w, y] = [wide([8, 6], 1), wide([6, 4], 2, 8), wide([8, 4], 3)];
    const scaling = delayedScaling({ history: 4 });
    const precision = float8({ scaling, scopes: everywhere });
    const training = await product(w, x, precision);
    await training.step({ x, y });
    const larger = {
      x: tensor(
        x.data.map((each) => each * 8),
        [8, 6],
      ),
      y,
    };
    const before = [programHash(training.graph(larger)), await training.saveBytes()];
    const { recipes, casts } = await training.precisionReport(larger, { recipes: [float8().recipe] });
    const { input, weight, gradient } = precision.recipe.rules;
    const encode = (matrix: Matrix, most: number): number => f(most / Math.max(...matrix.data.map(Math.abs)));
    const [delayed, current] = recipes.map(statistics);
    expect(delayed).toEqual([
      [
        byHand(larger.x, input, [1], encode(x, 448)),
        byHand(w, weight, [0], encode(w, 448)),
        byHand(y, gradient, [1], encode(y, 57_344)),
      ],
    ]);
    expect(delayed?.[0]?.[0]?.overflows).toBeGreaterThan(0.1);
    expect(current?.[0]?.map((each) => each?.overflows)).toEqual([0, 0, 0]);
    expect(delayed?.[0]?.map((each) => each && survives(each))).toEqual([false, true, true]);
    expect([programHash(training.graph(larger)), await training.saveBytes()]).toEqual(before);
    expect(casts.hash).toBe(training.explain(larger).hash);
    await training.dispose();
  });

  it("counts all steps of a loop, and no infinities", async () => {
    const xs = wide([4 * 6, 5], 1, 60);
    const batch = { xs: tensor(xs.data, [4, 6, 5]) };
    const precision = float8({ scopes: everywhere });
    const training = await trainer({
      backend: await reference(),
      params: { w: wide([5, 5], 2) },
      loss: ({ w }, { xs }: { readonly xs: Tensor }) =>
        reduceSum(scan((sum: Tensor, x: Tensor) => [sum, matMul(x, w)], reduceSum(xs), xs)[1] as Tensor),
      optimizer: sgd({ learningRate: 0 }),
      precision,
      onWarning: () => undefined,
    });
    const step = (from: number): OperandStatistics =>
      byHand(tensor(xs.data.slice(from * 30, from * 30 + 30), [6, 5]), precision.recipe.rules.input, [1]);
    const counted = [0, 1, 2, 3].map(
      (from) => xs.data.slice(from * 30, from * 30 + 30).filter((each) => each !== 0).length,
    );
    const flushed = counted.reduce((sum, numbers, from) => sum + numbers * step(from).underflows, 0);
    const [own] = (await training.precisionReport(batch)).recipes.map(statistics);
    expect(own?.[0]?.[0]?.amax).toBe(Math.max(...xs.data.map(Math.abs)));
    expect(own?.[0]?.[0]?.underflows).toBeCloseTo(flushed / counted.reduce((sum, each) => sum + each, 0), 12);
    batch.xs.data.fill(Number.POSITIVE_INFINITY, 0, 30);
    const [infinite] = (await training.precisionReport(batch)).recipes.map(statistics);
    expect(infinite?.[0]?.[0]?.amax).toBe(Math.max(...xs.data.slice(30).map(Math.abs)));
    batch.xs.data.fill(Number.NaN);
    const [nothing] = (await training.precisionReport(batch)).recipes.map(statistics);
    expect(nothing?.[0]?.[0]).toEqual({ amax: 0, allFinite: false, underflows: 0, overflows: 0 });
    const measured = [own, infinite, nothing].map((each) => each?.[0]?.[0] as OperandStatistics);
    expect(measured.map((each) => each.allFinite)).toEqual([true, false, false]);
    expect(measured.slice(1).map(survives)).toEqual([false, false]);
    await training.dispose();
  });

  it("is made of the recipes asked for, on a run without one", async () => {
    const [x, w, y] = [wide([8, 6], 1), wide([6, 4], 2), wide([8, 4], 3)];
    const training = await product(w, x, float32());
    const asked = [recipes["mxfp8"]?.recipe, recipes["nvfp4"]?.recipe].flatMap((each) => each ?? []);
    const report = await training.precisionReport({ x, y }, { recipes: asked });
    expect(report.recipes.map(({ recipe, products }) => [recipe, products.length])).toEqual([
      ["mxfp8", 1],
      ["nvfp4", 1],
    ]);
    expect(report.casts).toEqual(training.explain({ x, y }));
    expect((await training.precisionReport({ x, y })).recipes).toEqual([]);
    for (const bad of [[float8({ scaling: delayedScaling() }).recipe], float8().recipe, [float8()], null])
      await expect(training.precisionReport({ x, y }, { recipes: bad as never })).rejects.toThrow(
        "precisionReport: recipes must be a list of recipes, such as mxfp8().recipe, without delayed scaling",
      );
    await training.dispose();
  });
});
