import { type Tensor, tensor } from "@mp/graph";
import { argMax, greater, literal, matMul, reduceMean, reduceSum } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { mixedFloat16 } from "../../src/precision/presets.js";
import { batch, loss, type SmallOptions, smallRun, stateOf } from "../small-run.js";

type Loss = SmallOptions["loss"];
const withLoss = (wrong: unknown, options: Partial<SmallOptions> = {}) =>
  smallRun({ loss: wrong as Loss, ...options });

let escaped: Tensor | undefined;
const cases: readonly (readonly [name: string, loss: unknown, code: string, message: RegExp])[] = [
  ["a number", () => 1, "MP_INVALID_ARGUMENT", /the loss must return a Tensor or .*, got 1$/],
  ["nothing", () => undefined, "MP_INVALID_ARGUMENT", /got undefined/],
  ["null", () => null, "MP_INVALID_ARGUMENT", /got null/],
  ["a promise", async () => literal(1), "MP_INVALID_ARGUMENT", /it is async; a loss is traced once/],
  ["a promise that fails", async () => Promise.reject(new Error("x")), "MP_INVALID_ARGUMENT", /async/],
  [
    "host data",
    () => tensor(Float32Array.of(1), []),
    "MP_INVALID_ARGUMENT",
    /an object with dtype, shape, data/,
  ],
  ["an object without loss", () => ({ value: literal(1) }), "MP_INVALID_ARGUMENT", /an object with value/],
  ["a pair", () => [literal(1), {}], "MP_INVALID_ARGUMENT", /an object with 0, 1/],
  ["a loss that is a number", () => ({ loss: 1 }), "MP_INVALID_ARGUMENT", /an object with loss/],
  [
    "a vector",
    ({ out }: { out: Tensor }) => out,
    "MP_SHAPE_MISMATCH",
    /the loss must be a scalar, got f32\[4, 1\]; take its mean/,
  ],
  [
    "a metric that is a vector",
    ({ out }: { out: Tensor }) => ({ loss: reduceMean(out), metrics: { worst: out } }),
    "MP_SHAPE_MISMATCH",
    /the metric worst must be a scalar, got f32\[4, 1\]/,
  ],
  [
    "a metric that is a number",
    ({ out }: { out: Tensor }) => ({ loss: reduceMean(out), metrics: { worst: 3 } }),
    "MP_SHAPE_MISMATCH",
    /the metric worst must be a scalar, got number/,
  ],
  [
    "metrics that are one tensor",
    ({ out }: { out: Tensor }) => ({ loss: reduceMean(out), metrics: reduceMean(out) }),
    "MP_INVALID_ARGUMENT",
    /metrics are scalars by name/,
  ],
  [
    "model state of another structure",
    ({ out }: { out: Tensor }) => ({ loss: reduceMean(out), modelState: { other: out } }),
    "MP_SHAPE_MISMATCH",
    /modelState: the loss returns \{other \[4, 1\]\}, the trainer was given \{mean \[\]; seen \[\]\}/,
  ],
  [
    "model state of another shape",
    ({ out }: { out: Tensor }, _: unknown, { modelState }: { modelState: { seen: Tensor } }) => ({
      loss: reduceMean(out),
      modelState: { mean: out, seen: modelState.seen },
    }),
    "MP_SHAPE_MISMATCH",
    /mean \[4, 1\]; seen \[\]/,
  ],
  [
    "an integer",
    ({ out }: { out: Tensor }) => reduceSum(argMax(out, { axis: 0 })),
    "MP_DTYPE_MISMATCH",
    /the loss must be a float, got i32\[\]/,
  ],
  [
    "a comparison",
    ({ out }: { out: Tensor }) => greater(reduceMean(out), 0),
    "MP_DTYPE_MISMATCH",
    /the loss must be a float, got bool\[\]/,
  ],
  [
    "a tensor of an earlier trace",
    ({ out }: { out: Tensor }) => {
      escaped ??= out;
      return reduceMean(escaped);
    },
    "MP_INVALID_ARGUMENT",
    /used outside its trace/,
  ],
];

describe("a loss that returns", () => {
  it.each(cases)("%s is refused, and the run is as it was", async (name, wrong, code, message) => {
    if (name.includes("earlier")) await (await withLoss(wrong)).step(batch(0)).catch(() => undefined);
    for (const options of [{}, { precision: mixedFloat16() }, { accumulate: 2 }]) {
      const training = await withLoss(wrong, options);
      const before = await stateOf(training);
      const step = training.step(...Array.from({ length: options.accumulate ?? 1 }, () => batch(0)));
      await expect(step).rejects.toThrow(message);
      await expect(step).rejects.toMatchObject({ code });
      expect(await stateOf(training)).toEqual(before);
    }
  });
});

describe("a loss that throws", () => {
  it("passes its error on, once, and traces anew the next time", async () => {
    const mine = new Error("mine");
    let fails = true;
    const training = await smallRun({
      loss: (...given) => {
        if (fails) throw mine;
        return loss(...given);
      },
    });
    await expect(training.step(batch(0))).rejects.toBe(mine);
    await expect(training.evaluate(batch(0))).rejects.toBe(mine);
    // No trace is left open: outside one, operators say so.
    expect(() => literal(1)).toThrow(/operators work inside a traced function/);
    fails = false;
    const good = await smallRun();
    expect(await training.step(batch(0))).toEqual(await good.step(batch(0)));
  });

  it("in the middle of nested traces leaves none of them open", async () => {
    const training = await smallRun({
      loss: (parameters, data, context) => {
        const parts = loss(parameters, data, context);
        throw Object.assign(new Error("late"), { parts });
      },
    });
    await expect(training.step(batch(0))).rejects.toThrow("late");
    expect(() => literal(1)).toThrow(/operators work inside/);
    await (await smallRun()).step(batch(0));
  });

  it("by coercing a tensor is told about operators, with its line", async () => {
    const training = await smallRun({
      loss: ({ out }) => (Number(out) > 0 ? reduceMean(out) : reduceSum(out)),
    });
    await expect(training.step(batch(0))).rejects.toThrow(/has no number while tracing; use operators/);
  });

  it("where an operator refuses is told the line that called it", async () => {
    const training = await smallRun({ loss: ({ out }, { x }) => reduceMean(matMul(x, out)) });
    await expect(training.step(batch(0))).rejects.toMatchObject({
      code: "MP_SHAPE_MISMATCH",
      message: expect.stringMatching(/MatMul: .*wrong-loss\.test\.ts:\d+/) as string,
    });
  });
});
