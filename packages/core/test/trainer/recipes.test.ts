/** Training with quantized products: their results and gradients by hand, in layers of every kind, and what a run learns. */
import { type HostTensor, type Tensor, tensor, valueAndGrad } from "@mp/graph";
import {
  add,
  gemm,
  matMul,
  mul,
  reduceMean,
  reduceSum,
  reshape,
  stopGradient,
  sub,
  tanh,
  transpose,
} from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { inProcessRanks } from "../../../conformance/src/in-process-ranks.js";
import { numbersOf } from "../../../graph/test/evaluate-op.js";
import { runTraced } from "../../../graph/test/run-traced.js";
import { autocast } from "../../src/cast/autocast.js";
import { float32Policy } from "../../src/cast/policy.js";
import { adam } from "../../src/optim/adam.js";
import { float32, type Precision } from "../../src/precision/presets.js";
import { float8, mxfp4, mxfp8, nvfp4 } from "../../src/precision/quantized-presets.js";
import { recipe } from "../../src/quantize/define-recipe.js";
import { delayedScaling } from "../../src/quantize/delayed-scaling.js";
import { quantize } from "../../src/quantize/quantize.js";
import type { Recipe } from "../../src/quantize/recipe.js";
import { recipesByStep } from "../../src/quantize/recipes-by-step.js";
import type { QuantizationRule } from "../../src/quantize/rule.js";
import type { TrainerOptions } from "../../src/train/options.js";
import type { Trainer } from "../../src/train/run/trainer-interface.js";
import { trainer } from "../../src/train/trainer.js";
import { wave } from "../small-run.js";

const numbersIn = (made: HostTensor): number[] => [...numbersOf(made)];
const swap = (x: Tensor): Tensor => transpose(x, [1, 0]);
const e8m0 = (format: QuantizationRule["format"]): QuantizationRule => ({
  format,
  granularity: "1x32",
  scale: { format: "e8m0", rounding: "rceil" },
});

const everything = { products: "all", scopes: { "": true } } as const;
const RECIPES: readonly Recipe[] = [
  recipe({
    name: "by tensor",
    input: { format: "f8e4m3" },
    weight: { format: "f8e4m3" },
    gradient: { format: "f8e5m2" },
    ...everything,
  }),
  recipe({
    name: "by row",
    input: { format: "f8e4m3", granularity: "row" },
    weight: { format: "f8e4m3", granularity: "row" },
    gradient: { format: "f8e5m2", granularity: "row" },
    ...everything,
  }),
  recipe({
    name: "by block",
    input: e8m0("f8e4m3"),
    weight: e8m0("e2m1"),
    gradient: e8m0("f8e5m2"),
    ...everything,
  }),
];

/** The products that a layer computes, each with the same product of plain matrices. */
const PRODUCTS: Readonly<Record<string, (a: Tensor, b: Tensor) => Tensor>> = {
  MatMul: matMul,
  "MatMul of a batch": (a, b) => reshape(matMul(reshape(a, [2, 20, 50]), b), [40, 3]),
  Gemm: (a, b) => gemm(a, b),
  "Gemm of transposed operands": (a, b) => gemm(swap(a), swap(b), undefined, { transA: true, transB: true }),
};

describe.each(RECIPES)("products of $name", ({ rules, ...rest }) => {
  it.each(Object.keys(PRODUCTS))(
    "and their gradients quantize each operand along its own inner axis: %s",
    (name) => {
      const data = { a: wave([40, 50], 0.37), b: wave([50, 3], 0.91), g: wave([40, 3], 1.7) };
      const quantized = autocast(PRODUCTS[name] as (a: Tensor, b: Tensor) => Tensor, float32Policy, {
        recipe: { rules, ...rest },
      });
      const made = runTraced(data, ({ a, b, g }) => {
        const { gradients } = valueAndGrad((x: { a: Tensor; b: Tensor }) =>
          reduceSum(mul(quantized(x.a, x.b), g)),
        )({ a, b });
        const q = (x: Tensor, role: "input" | "gradient", axis: number): Tensor =>
          quantize(x, rules[role], axis).values;
        return {
          got: { y: quantized(a, b), ...gradients },
          want: {
            y: matMul(q(a, "input", 1), q(b, "input", 0)),
            a: matMul(q(g, "gradient", 1), swap(q(b, "input", 1))),
            b: matMul(swap(q(a, "input", 0)), q(g, "gradient", 0)),
          },
          plain: matMul(a, b),
        };
      });
      for (const part of ["y", "a", "b"] as const) {
        const [got, want] = [numbersIn(made.got[part]), numbersIn(made.want[part])];
        const size = Math.max(...want.map(Math.abs));
        for (const [at, each] of want.entries())
          expect(Math.abs((got[at] ?? Number.NaN) - each)).toBeLessThan(1e-5 * size);
      }
      expect(numbersIn(made.got.y)).not.toEqual(numbersIn(made.plain));
    },
  );
});

const SIZES = [6, 32, 40, 32, 2] as const;

type Weights = Readonly<Record<"a" | "b" | "c" | "d", HostTensor<"f32">>>;
type Batch = { readonly x: Tensor; readonly y: Tensor };

const layer = (at: number): HostTensor<"f32"> => {
  const [from, to] = [SIZES[at] as number, SIZES[at + 1] as number];
  return tensor(
    wave([from, to], 0.7 + at).data.map((each) => each / Math.sqrt(from)),
    [from, to],
  );
};
const batch = {
  x: wave([24, 6], 0.37),
  y: tensor(
    wave([24, 2], 0.91).data.map((each) => 0.3 * each),
    [24, 2],
  ),
};

type Options = Pick<
  TrainerOptions<Weights, Batch, unknown>,
  "precision" | "accumulate" | "onWarning" | "ranks" | "allReduce"
>;

/** Calls `use` with a run of a small network, which is disposed afterwards. */
async function withRun<T>(
  options: Options,
  use: (run: Trainer<Weights, Batch, unknown>) => Promise<T>,
): Promise<T> {
  const backend = await reference();
  const run = await trainer({
    backend,
    params: { a: layer(0), b: layer(1), c: layer(2), d: layer(3) },
    loss: ({ a, b, c, d }, { x, y }: Batch) => {
      const hidden = [a, b, c].reduce((h: Tensor, weight) => tanh(matMul(h, weight)), x);
      const difference = sub(matMul(hidden, d), y);
      return reduceMean(mul(difference, difference));
    },
    optimizer: adam({ learningRate: 0.003 }),
    ...options,
  });
  const result = await use(run as unknown as Trainer<Weights, Batch, unknown>);
  await run.dispose();
  await backend.dispose();
  return result;
}

/** Makes steps and returns their losses. */
async function step(run: Trainer<Weights, Batch, unknown>, steps: number): Promise<number[]> {
  const all: number[] = [];
  for (let at = 0; at < steps; at++) all.push((await run.step(batch)).loss);
  return all;
}

const losses = (precision: Precision, steps = 25): Promise<readonly number[]> =>
  withRun({ precision }, (run) => step(run, steps));

it("losses of quantized products fall as those of float32 do, and differ", async () => {
  const exact = await losses(float32());
  expect(exact.at(-1)).toBeLessThan(0.97 * (exact[0] as number));
  const precisions = [
    float8(),
    float8({ granularity: "row" }),
    float8({ powerOfTwo: true, gradient: "f8e4m3" }),
    mxfp8(),
    mxfp4(),
    nvfp4(),
    nvfp4({ squareWeights: false, stochasticRounding: false, hadamard: false }),
  ];
  for (const precision of precisions) {
    const quantized = await losses(precision);
    expect(quantized).not.toEqual(exact);
    const difference = (quantized.at(-1) ?? Number.NaN) - (exact.at(-1) as number);
    expect(Math.abs(difference), precision.name).toBeLessThan(0.02 * (exact.at(-1) as number));
  }
  // Stochastic rounding draws from the run's key and counter.
  expect(await losses(nvfp4(), 5)).toEqual(await losses(nvfp4(), 5));
});

describe("recipes by step", () => {
  const recipes = recipesByStep({ 0: "none", 2: float8().recipe, 4: nvfp4().recipe });
  const precision: Precision = { ...float32(), recipe: recipes };

  it("change at their counts, and a run resumed before or after a change has the same bits", async () => {
    const [whole, files] = await withRun({ precision }, async (run) => {
      const kept: Uint8Array[] = [];
      const all: number[] = [];
      for (let at = 0; at < 6; at++) {
        kept.push(await run.saveBytes());
        all.push(...(await step(run, 1)));
      }
      return [all, kept];
    });
    for (const [at, file] of files.entries()) {
      const rest = await withRun({ precision }, async (run) => {
        // What the run did before must not matter.
        await step(run, 3);
        await run.loadBytes(file as Uint8Array);
        return step(run, 6 - at);
      });
      expect(rest).toEqual(whole.slice(at));
    }
    const plain = await withRun({ precision: float32() }, (run) => step(run, 6));
    const eighth = await withRun(
      { precision: { ...float32(), recipe: recipesByStep({ 0: "none", 2: float8().recipe }) } },
      (run) => step(run, 6),
    );
    expect(whole.slice(0, 2)).toEqual(plain.slice(0, 2));
    expect(whole[2]).not.toBe(plain[2]);
    expect(whole.slice(0, 4)).toEqual(eighth.slice(0, 4));
    expect(whole[4]).not.toBe(eighth[4]);
  });

  it("hold in predict, too", async () => {
    const model = ({ a, b, c, d }: Readonly<Record<keyof Weights, Tensor>>, { x }: Batch): Tensor =>
      matMul(
        [a, b, c].reduce((h, weight) => tanh(matMul(h, weight)), x),
        d,
      );
    const predicted = (own: Precision, steps: number) =>
      withRun({ precision: own }, async (run) => {
        await step(run, steps);
        return numbersIn(await run.predict(model, batch));
      });
    const [before, after] = [await predicted(precision, 1), await predicted(precision, 2)];
    expect(before).toEqual(await predicted(float32(), 1));
    expect(after).not.toEqual(await predicted(float32(), 2));
  });

  it("warn if a checkpoint was made under others", async () => {
    const file = await withRun({ precision }, (run) => run.saveBytes());
    const said: string[] = [];
    const onWarning = ({ message }: { readonly message: string }): void => void said.push(message);
    await withRun({ precision: float8(), onWarning }, (run) => run.loadBytes(file));
    const before = "instead of byStep(0: none, 2: float8, 4: nvfp4)";
    expect(said.join()).toMatch(new RegExp(`recipe float8 ${before.replace(/[()]/g, "\\$&")}$`));
    await withRun({ precision: float32(), onWarning }, (run) => run.loadBytes(file));
    expect(said.at(-1)).toContain(`recipe none ${before}`);
  });

  it("are described by what they are, also changed copies", async () => {
    const of = (recipe: Recipe): Precision => ({ ...float32(), recipe });
    const file = await withRun({ precision: of(float8().recipe) }, (run) => run.saveBytes());
    const said: string[] = [];
    const onWarning = ({ message }: { readonly message: string }): void => void said.push(message);
    const copy = { ...float8().recipe };
    await withRun({ precision: of(copy), onWarning }, (run) => run.loadBytes(file));
    expect(said).toEqual([]);
    const changed = { ...copy, hadamard: true };
    await withRun({ precision: of(changed), onWarning }, (run) => run.loadBytes(file));
    expect(said.join()).toMatch(/recipe float8, hadamard true instead of float8, hadamard false$/);
    // A name decides nothing: that of rows was the same as that of tensors.
    const rows = float8({ granularity: "row" }).recipe;
    expect(rows.name).toBe("float8_row");
    const named = await withRun({ precision: of({ ...rows, name: "float8" }) }, (run) => run.saveBytes());
    await withRun({ precision: of(rows), onWarning }, (run) => run.loadBytes(named));
    expect(said.length).toBe(1);
  });

  it.each([
    [{}, "from step 0 on, got an object with nothing"],
    [{ 1: "none" }, "from step 0 on, got an object with 1"],
    [[], "from step 0 on, got []"],
    [{ 0: "none", "-1": "none" }, 'integers ≥ 0, got "-1"'],
    // Keys that are not written as integers do not come in order.
    [{ 0: "none", 50: "none", "007": "none" }, 'integers ≥ 0, got "007"'],
    [
      { 0: float8() },
      "0 must be made by recipe(…), or taken from a precision: float8().recipe, got an object",
    ],
  ])("are refused: %j", (given, message) => {
    expect(() => recipesByStep(given as never)).toThrow(message);
  });
});

it.each([float8(), "float8", JSON.parse(JSON.stringify(float8().recipe)), null])(
  "what is no recipe is refused: %#",
  async (given) => {
    const words = "must be made by recipe(…), or taken from a precision: float8().recipe, got ";
    const precision = { ...float32(), recipe: given };
    await expect(withRun({ precision }, (run) => step(run, 1))).rejects.toThrow(
      `trainer: precision: recipe ${words}`,
    );
    expect(() => autocast(matMul, float32Policy, { recipe: given })).toThrow(`autocast: recipe ${words}`);
  },
);

describe("recipes that cannot hold are refused", () => {
  const rule: QuantizationRule = { format: "f8e4m3" };
  const rules = { name: "mine", input: rule, weight: rule, gradient: rule };
  it.each([
    [() => float8({ scaling: { history: 0 } as never }), "history must be"],
    [() => float8({ scopes: [] as never }), "scopes"],
    [() => float8({ epsilon: 1e40 }), "epsilon"],
    [
      () => recipe({ ...rules, input: { ...rule, margin: 1 }, scaling: delayedScaling() }),
      "without a margin",
    ],
    // Both of an operand's magnitudes, plain and transformed, would have one history.
    [() => recipe({ ...rules, hadamard: true, scaling: delayedScaling() }), "hadamard must be false"],
  ])("%s", (make, message) => {
    expect(make).toThrow(message);
  });
});

/** The tensors of delayed scaling in a checkpoint, by slot. */
function scalingIn(file: Uint8Array): Readonly<Record<string, readonly number[]>> {
  const { buffer, byteOffset } = file;
  const length = Number(new DataView(buffer, byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length))) as Record<
    string,
    { readonly data_offsets: readonly [number, number] }
  >;
  const slots = Object.keys(header).filter((name) => name.startsWith("recipe/"));
  return Object.fromEntries(
    slots.map((slot) => {
      const [from, to] = header[slot]?.data_offsets ?? [0, 0];
      return [slot, [...new Float32Array(file.slice(8 + length + from, 8 + length + to).buffer)]];
    }),
  );
}

const huge = {
  ...batch,
  x: tensor(
    Float32Array.from(batch.x.data, () => 1e30),
    [24, 6],
  ),
};
const other = { ...batch, x: wave([24, 6], 1.9) };

describe("delayed scaling", () => {
  const precision = float8({ scaling: delayedScaling({ history: 3, margin: 1 }), scopes: { "": true } });
  const state = async (run: Trainer<Weights, Batch, unknown>) => scalingIn(await run.saveBytes());

  it("keeps the magnitudes of the last steps, and scales by TransformerEngine's rule", async () => {
    await withRun({ precision }, async (run) => {
      const seen: number[][] = [];
      let scale = [1, 1, 1];
      for (let at = 0; at < 5; at++) {
        await run.step(batch);
        const now = await state(run);
        const history = now["recipe/history/b"] as number[];
        seen.push(history.slice(6));
        const last = seen.slice(-3);
        const amax = [0, 1, 2].map((role) => Math.max(...last.map((row) => row[role] as number)));
        scale = amax.map((each, role) => Math.fround(([448, 448, 57344][role] as number) / 2 / each));
        expect(now["recipe/scale/b"]).toEqual(scale);
        expect(history.slice(0, 3)).toEqual([0, 0, 0]);
        expect(history.slice(3, 6)).toEqual(at === 0 ? [0, 0, 0] : seen.at(-2));
      }
      // The input of `b` is a tanh, and its weight is known.
      expect(seen[0]?.[0]).toBeLessThan(1);
      expect(seen[0]?.[1]).toBe(Math.max(...layer(1).data.map(Math.abs)));
      expect(seen.every((row) => row.every((each) => each > 0))).toBe(true);
    });
  });

  it("takes the maximum over microbatches", async () => {
    const alone = await Promise.all(
      [batch, other].map((each) => withRun({ precision }, (run) => run.step(each).then(() => state(run)))),
    );
    const both = await withRun({ precision, accumulate: 2 }, (run) =>
      run.step(batch, other).then(() => state(run)),
    );
    for (const [slot, values] of Object.entries(both)) {
      if (!slot.startsWith("recipe/history")) continue;
      const parts = alone.map((each) => each[slot] as readonly number[]);
      expect(values, slot).toEqual(
        values.map((_, at) => Math.max(...parts.map((part) => part[at] as number))),
      );
      expect(parts[0]).not.toEqual(parts[1]);
    }
  });

  it("takes the maximum over the uses of a parameter", async () => {
    const uses = async (twice: boolean) => {
      const backend = await reference();
      const run = await trainer({
        backend,
        params: { w: wave([6, 6], 0.7) },
        loss: ({ w }, { x }: { readonly x: Tensor }) => {
          const first = matMul(x, w);
          return reduceMean(twice ? add(mul(first, 0.5), matMul(mul(x, 3), w)) : first);
        },
        optimizer: adam({ learningRate: 0.003 }),
        precision,
      });
      await run.step({ x: batch.x });
      const now = scalingIn(await run.saveBytes())["recipe/history/w"]?.slice(6) as number[];
      await run.dispose();
      await backend.dispose();
      return now;
    };
    const [once, twice] = [await uses(false), await uses(true)];
    expect(twice).toEqual([Math.fround(3 * (once[0] as number)), once[1], once[2]]);
  });

  it("scales by the tensor itself where no gradient brings the magnitude, and evaluate does as well", async () => {
    const lossOf = async (own: Precision) => {
      const backend = await reference();
      const run = await trainer({
        backend,
        params: { w: wave([6, 6], 0.7), v: wave([6, 6], 0.3) },
        loss: ({ w, v }, { x }: { readonly x: Tensor }) =>
          reduceMean(mul(matMul(x, v), stopGradient(matMul(mul(x, 5000), w)))),
        optimizer: adam({ learningRate: 0.001 }),
        precision: own,
        onWarning: () => undefined,
      });
      const given = { x: batch.x };
      const { loss: evaluated } = await run.evaluate(given);
      const { loss } = await run.step(given);
      expect(scalingIn(await run.saveBytes())["recipe/scale/w"] ?? [1, 1, 1]).toEqual([1, 1, 1]);
      await run.dispose();
      await backend.dispose();
      return [loss, evaluated] as const;
    };
    const [[got, evaluated], [want]] = [await lossOf(precision), await lossOf(float32())];
    expect(evaluated).toBe(got);
    expect(Math.abs(got / want - 1)).toBeLessThan(0.1);
  });

  it("takes the maximum over ranks, and keeps its state if one rank overflows", async () => {
    const alone = await Promise.all(
      [batch, other].map((each) => withRun({ precision }, (run) => run.step(each).then(() => state(run)))),
    );
    const bad = {
      ...batch,
      x: tensor(
        Float32Array.from(batch.x.data, () => Number.POSITIVE_INFINITY),
        [24, 6],
      ),
    };
    const both = await Promise.all(
      inProcessRanks(2).map((ranks) =>
        withRun({ precision, ranks, accumulate: 2, onWarning: () => undefined }, async (run) => {
          const [first, second] = ranks.rank === 0 ? [batch, batch] : [other, other];
          await run.step(first, second);
          const before = await state(run);
          expect((await run.step(first, ranks.rank === 0 ? second : bad)).applied).toBe(false);
          expect(await state(run)).toEqual(before);
          return before;
        }),
      ),
    );
    expect(both[0]).toEqual(both[1]);
    for (const [slot, values] of Object.entries(both[0] as Readonly<Record<string, readonly number[]>>)) {
      if (!slot.startsWith("recipe/history")) continue;
      const parts = alone.map((each) => each[slot] as readonly number[]);
      expect(values, slot).toEqual(
        values.map((_, at) => Math.max(...parts.map((part) => part[at] as number))),
      );
    }
  });

  it("needs ranks, not a function that knows sums alone", async () => {
    await expect(
      withRun({ precision, allReduce: async (window) => window }, () => Promise.resolve()),
    ).rejects.toThrow("allReduce must be left out with delayed scaling");
  });

  it.each([1, 2])("keeps its state in a skipped step of %d microbatches", async (accumulate) => {
    await withRun({ precision, accumulate, onWarning: () => undefined }, async (run) => {
      const batches = (last: typeof batch) => (accumulate === 1 ? [last] : [batch, last]) as [typeof batch];
      await run.step(...batches(batch));
      const before = await state(run);
      const broken = {
        ...batch,
        x: tensor(
          Float32Array.from(batch.x.data, () => Number.POSITIVE_INFINITY),
          [24, 6],
        ),
      };
      expect((await run.step(...batches(broken))).applied).toBe(false);
      expect(await state(run)).toEqual(before);
      expect((await run.step(...batches(huge))).applied).toBe(true);
      expect(await state(run)).not.toEqual(before);
    });
  });

  it("saturates what the history did not foresee, and still finds what is not finite", async () => {
    await withRun({ precision, onWarning: () => undefined }, async (run) => {
      const exact = await withRun({ precision: float32() }, (plain) => step(plain, 10));
      const all = await step(run, 10);
      expect(Math.abs((all.at(-1) as number) - (exact.at(-1) as number))).toBeLessThan(
        0.03 * (exact.at(-1) as number),
      );
    });
  });

  it("resumes with the same bits, and starts anew from a checkpoint without it", async () => {
    const [file, rest] = await withRun({ precision }, async (run) => {
      await step(run, 2);
      return [await run.saveBytes(), await step(run, 3)] as const;
    });
    await withRun({ precision }, async (run) => {
      await run.loadBytes(file);
      expect(await step(run, 3)).toEqual(rest);
    });
    const plain = await withRun({ precision: float32() }, (run) => step(run, 2).then(() => run.saveBytes()));
    await withRun({ precision, onWarning: () => undefined }, async (run) => {
      const fresh = await state(run);
      await step(run, 1);
      await run.loadBytes(plain);
      expect(await state(run)).toEqual(fresh);
    });
  });
});
