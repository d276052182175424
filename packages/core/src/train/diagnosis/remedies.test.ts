import { MpError, scope, type Tensor, tensor } from "@mp/graph";
import {
  add,
  cast,
  constant,
  exp,
  literal,
  log,
  matMul,
  mul,
  reduceMean,
  relu,
  softmaxCrossEntropyLoss,
  sqrt,
  sub,
} from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { batch, type SmallOptions, smallRun, stateOf } from "../../../test/small-run.js";
import { castingPolicy } from "../../cast/policy.js";
import { adam } from "../../optim/adam.js";
import { sgd } from "../../optim/sgd.js";
import { dynamicLossScale, noLossScaling, staticLossScale } from "../../precision/loss-scaler.js";
import { noMasterWeights, stochasticRounding } from "../../precision/master-weights.js";
import { float16, float32, mixedBfloat16, mixedFloat16, type Precision } from "../../precision/presets.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { Diagnosis } from "./diagnose.js";
import { formatRemedies, withRemedies } from "./remedies.js";

type Loss = SmallOptions["loss"];
/** A loss of the small model's output and of its weights, without dropout. */
const lossOf =
  (of: (y: Tensor, error: Tensor) => Tensor): Loss =>
  (weights, { x, y }, { modelState }) => {
    const { hidden, out } = weights;
    const inner = scope("hidden", () => relu(add(matMul(x, hidden.w), hidden.b)));
    const made = matMul(inner, out);
    const difference = sub(made, y);
    const loss = of(made, reduceMean(mul(difference, difference)));
    return { loss, metrics: { error: literal(0) }, modelState };
  };
const times = (factor: number): Loss => lossOf((_, error) => mul(error, factor));
const scaled = (lossScaler: Precision["lossScaler"]): Precision => ({ ...mixedFloat16(), lossScaler });

/** Diagnoses the first steps, then trains with the advised remedies; returns the diagnosis and the applied steps. */
async function cure(options: Partial<SmallOptions> & { readonly precision: Precision }) {
  // Adam's steps do not change with the size of the loss.
  const run = (precision: Precision) =>
    smallRun({ optimizer: adam({ learningRate: 1e-3 }), ...options, precision });
  const failing = await run(options.precision);
  const before = await stateOf(failing);
  const found = await failing.diagnose([batch(0)]);
  expect(await stateOf(failing)).toEqual(before);
  await failing.dispose();
  const remedies = JSON.parse(JSON.stringify(found?.remedies)) as Diagnosis["remedies"];
  const cured = await run(withRemedies(options.precision, remedies));
  let applied = 0;
  for (let step = 0; step < 10; step++) if ((await cured.step(batch(step))).applied) applied++;
  await cured.dispose();
  return { found, applied };
}

/** Two factors that float16 holds, and a product that it does not. */
const overflow = lossOf((y, error) => add(error, mul(reduceMean(cast(mul(mul(y, 3e4), 3e4), "f32")), 1e-9)));

describe("remedies that are data cure the step that they are given for", () => {
  it.each([
    ["a model that trains below scale 1", mixedFloat16(), times(2 ** 22)],
    ["an initial scale that is too high", scaled(dynamicLossScale({ initialScale: 2 ** 60 })), times(1)],
    [
      "a minimum scale that is too high",
      scaled(dynamicLossScale({ initialScale: 2 ** 40, minScale: 2 ** 39 })),
      times(1),
    ],
    ["a static scale that is too high", scaled(staticLossScale(2 ** 50)), times(1)],
  ])("%s", async (_, precision, loss) => {
    const { found, applied } = await cure({ precision, loss });
    expect(found).toMatchObject({ cause: "scale too high", remedies: [{ option: "lossScaler" }] });
    expect(found?.remedy).not.toMatch(/minimum/);
    expect(found?.remedy).toContain(formatRemedies(found?.remedies ?? []));
    expect(applied).toBe(10);
  });

  it("operators at the top level are kept in f32 by their names, layers by their scopes", async () => {
    const top = await cure({ precision: mixedFloat16(), loss: overflow });
    expect(top.found).toMatchObject({
      cause: "half too narrow",
    });
    expect(top.found?.remedies[0]).toEqual({ option: "policy", value: { ops: { Mul: "f32" } } });
    expect(top.applied).toBe(10);
    const wide: Loss = (weights, { x }, { modelState }) => {
      const large = scope("wide", () => matMul(mul(x, 2e4), mul(weights.hidden.w, 2e4)));
      return {
        loss: mul(reduceMean(matMul(mul(large, 1e-8), weights.out)), 1),
        metrics: { error: literal(0) },
        modelState,
      };
    };
    const layer = await cure({ precision: mixedFloat16(), loss: wide });
    expect(layer.found).toMatchObject({ cause: "half too narrow" });
    expect(layer.found?.remedies[0]).toMatchObject({ value: { scopes: { wide: { MatMul: "f32" } } } });
    expect(layer.applied).toBeGreaterThanOrEqual(9);
  });

  it("replaces a pure half, and what the user lowered", async () => {
    const pure = await cure({ precision: float16(), loss: overflow });
    expect(pure.found?.remedies[0]).toEqual({ option: "precision", value: "mixedFloat16" });
    expect(pure.applied).toBe(10);
    const lowered = lossOf((y, error) =>
      add(error, mul(reduceMean(log(scope("head", () => exp(add(y, 14))))), 1e-3)),
    );
    const policy = castingPolicy({ compute: "f16", scopes: { head: { Exp: "low", Add: "low" } } });
    const { found, applied } = await cure({ precision: { ...mixedFloat16(), policy }, loss: lowered });
    expect(found).toMatchObject({ cause: "half too narrow" });
    expect(applied).toBe(10);
  });

  it.each([
    ["without a scale", scaled(noLossScaling()), 2 ** -40],
    ["below the usual scales", mixedFloat16(), 2 ** -60],
  ])("gradients that all underflow %s", async (_, precision, factor) => {
    const { found, applied } = await cure({ precision, loss: times(factor) });
    expect(found).toMatchObject({ cause: "underflow", remedies: [{ option: "lossScaler" }] });
    expect(applied).toBe(10);
  });

  it("weights that have to grow while the loss falls, at a rate that float32 stands", async () => {
    const loss: Loss = (weights, { x, y }, { modelState }) => {
      const made = matMul(relu(add(matMul(x, weights.hidden.w), weights.hidden.b)), weights.out);
      const far = sub(mul(cast(made, "f32"), 1e-5), y);
      return { loss: reduceMean(mul(far, far)), metrics: { error: literal(0) }, modelState };
    };
    const options = { loss, optimizer: adam({ learningRate: 3 }), precision: mixedFloat16() };
    const training = await smallRun(options);
    let result = await training.step(batch(0));
    for (let step = 0; step < 20; step++) await training.step(batch(0));
    expect(await training.diagnose([batch(0)])).toBeUndefined();
    for (let step = 0; step < 200 && result.applied; step++) result = await training.step(batch(0));
    expect(result.applied).toBe(false);
    const found = await training.diagnose([batch(0)], { scale: result.scale });
    expect(found).toMatchObject({ cause: "half too narrow", remedies: [{ option: "policy" }, {}] });
    const cured = await smallRun({
      ...options,
      precision: withRemedies(options.precision, found?.remedies ?? []),
    });
    for (let step = 0; step < 100; step++)
      expect(await cured.step(batch(0))).toMatchObject({ applied: true });
  });

  it("updates below the precision of the weights, but not of those that are rounded stochastically", async () => {
    const optimizer = sgd({ learningRate: 1e-5 });
    const precision = { ...mixedBfloat16(), masterWeights: noMasterWeights("bf16") };
    const { found } = await cure({ precision, loss: times(1), optimizer });
    expect(found).toMatchObject({
      cause: "lost updates",
      remedies: [{ option: "masterWeights", value: "f32" }],
    });
    const unbiased = { ...mixedBfloat16(), masterWeights: stochasticRounding() };
    expect(
      (await cure({ precision: unbiased, loss: times(1), optimizer }).catch(() => undefined))?.found,
    ).toBeUndefined();
  });
});

describe("what no option cures is named and has no remedies", () => {
  const diagnosed = async (options: Partial<SmallOptions>, steps = 0) => {
    const training = await smallRun(options);
    for (let step = 0; step < steps; step++) await training.step(batch(step));
    const found = await training.diagnose([batch(0)]);
    await training.dispose();
    expect(found?.remedies ?? []).toEqual([]);
    return found;
  };

  it.each([
    ["of Adam in f16", mixedFloat16(), adam({ learningRate: 1e5 })],
    ["of Adam in f32", float32(), adam({ learningRate: 1e5 })],
    ["of SGD in bf16", mixedBfloat16(), sgd({ learningRate: 1e6 })],
    ["that is NaN", float32(), sgd({ learningRate: (step) => log(sub(cast(step, "f32"), 5)) })],
  ])("a learning rate %s", async (_, precision, optimizer) => {
    for (const steps of [0, 1, 4])
      expect(await diagnosed({ precision, optimizer, loss: times(1) }, steps)).toMatchObject({
        cause: "learning rate",
        remedy: expect.stringContaining("lower the learning rate") as string,
      });
  });

  it("a learning rate whose first update is out of range, on a batch of less loss than the first", async () => {
    const training = await smallRun({ precision: float16(), optimizer: adam({ learningRate: 1e6 }) });
    const y = tensor(Float32Array.of(9, 9, 9, 9), [4, 1]);
    expect(await training.step({ ...batch(0), y })).toMatchObject({ applied: false });
    expect(await training.diagnose([batch(0)])).toMatchObject({ cause: "learning rate" });
  });

  it.each([
    ["its gradient at 0", lossOf((y, error) => add(error, reduceMean(sqrt(mul(y, 0)))))],
    ["Exp of more than 88", lossOf((y, error) => add(error, reduceMean(exp(add(mul(y, 0), 89)))))],
    [
      "a mean over labels of which none counts (ignoreIndex",
      lossOf((y, error) =>
        add(
          error,
          softmaxCrossEntropyLoss(y, constant(tensor(Int32Array.of(7, 7, 7, 7))), {
            ignoreIndex: 7,
          }),
        ),
      ),
    ],
    ["leave the range of float32", lossOf((y, error) => mul(mul(add(error, reduceMean(y)), 1e38), 1e38))],
  ])("a model in f32: %s", async (what, loss) => {
    for (const precision of [float32(), mixedFloat16()]) {
      const found = await diagnosed({ precision, loss });
      expect(found).toMatchObject({ cause: "model" });
      expect(found?.remedy).toContain(what);
      expect(found?.remedy).not.toMatch(/in f32|float32 \(|bfloat16/);
    }
  });

  it("a clipNorm below the precision of the weights", async () => {
    const found = await diagnosed({ precision: float32(), loss: times(1), clipNorm: 2 ** -30 });
    expect(found).toMatchObject({ cause: "lost updates" });
    expect(found?.remedy).toMatch(/float32 .*; where they are, raise the learning rate, or clipNorm$/);
  });

  it("a batch without a gradient", async () => {
    const dead = lossOf((y) => reduceMean(relu(sub(y, 1e4))));
    expect(await diagnosed({ precision: mixedFloat16(), loss: dead })).toMatchObject({
      cause: "no gradient",
    });
    // Its labels count in the second batch only, or in none.
    const masked: Loss = (weights, { x, y }, { modelState }) => {
      const made = matMul(matMul(x, weights.hidden.w), weights.out);
      return { loss: reduceMean(mul(made, y)), metrics: { error: literal(0) }, modelState };
    };
    const training = await smallRun({ precision: mixedFloat16(), loss: masked, accumulate: 2 });
    const none = { ...batch(0), y: tensor(new Float32Array(4), [4, 1]) };
    expect(await training.diagnose([none, batch(1)])).toBeUndefined();
    expect(await training.diagnose([none, none])).toMatchObject({ cause: "no gradient" });
  });
});

it("a total underflow is a warning at the first step, with its remedies", async () => {
  const warnings: TrainingWarning[] = [];
  const run = (factor: number, precision: Precision) =>
    smallRun({
      precision,
      loss: times(factor),
      optimizer: adam({ learningRate: 1e-3 }),
      onWarning: (warning) => {
        if (warning.type !== "emulated") warnings.push(warning);
      },
    });
  const training = await run(2 ** -40, scaled(noLossScaling()));
  for (let step = 0; step < 3; step++) await training.step(batch(step));
  expect(warnings).toMatchObject([
    { type: "numerics", message: expect.stringContaining("every gradient is 0") as string },
  ]);
  expect(warnings[0]?.details?.["remedies"]).toMatchObject([{ option: "lossScaler" }]);
  warnings.length = 0;
  for (const [factor, precision] of [
    [0, mixedFloat16()],
    [2 ** -40, float32()],
    [1, mixedFloat16()],
  ] as const)
    await (await run(factor, precision)).step(batch(0));
  expect(warnings).toEqual([]);
});

it("the error after too many skips has the diagnosis", async () => {
  const optimizer = adam({ learningRate: 1e-3 });
  const options = { precision: mixedFloat16(), loss: times(2 ** 40), optimizer, maxConsecutiveSkips: 1 };
  const training = await smallRun(options);
  await training.step(batch(0));
  const failure: unknown = await training.step(batch(1)).catch((error: unknown) => error);
  if (!MpError.is(failure)) throw failure;
  expect(failure.details["diagnosis"]).toMatchObject({
    cause: "scale too high",
    remedies: [{ option: "lossScaler" }],
  });
  expect(failure.message).toContain("remedies: lossScaler {initialScale:");
});

describe("withRemedies", () => {
  const remedies = [{ option: "precision", value: "float32" }] as const;
  const error = (details: Readonly<Record<string, unknown>>) =>
    new MpError("MP_NON_FINITE", "skipped", { details });

  it("takes a list, or an error or a warning with remedies or a diagnosis", () => {
    for (const from of [
      remedies,
      error({ remedies }),
      error({ diagnosis: { cause: "scale too high", remedies } }),
      { details: { remedies } },
    ])
      expect(withRemedies(mixedFloat16(), from).name).toBe("float32");
  });

  it("changes nothing without remedies", () => {
    for (const from of [[], {}, error({}), error({ diagnosis: undefined }), { details: { scale: 1 } }])
      expect(withRemedies(mixedFloat16(), from).name).toBe("mixed_float16");
  });
});
