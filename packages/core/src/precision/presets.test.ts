import type { BackendManifest } from "@mp/graph";
import { cast, greater, matMul, mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { defineManifest } from "../../../graph/src/contract/manifest.js";
import { tinyBackend } from "../../../graph/test/tiny-backend.js";
import { batch, type SmallOptions, type SmallTrainer, smallRun } from "../../test/small-run.js";
import type { TrainingWarning } from "../train/definition/warning.js";
import { usablePrecision } from "./check-precision.js";
import {
  bfloat16,
  float16,
  float32,
  manual,
  mixed,
  mixedBfloat16,
  mixedFloat16,
  type PrecisionChoice,
} from "./presets.js";
import { float8 } from "./quantized-presets.js";

const { manifest } = await reference();
const withHalves = (
  f16: "native" | "emulated" | "none",
  bf16: "native" | "emulated" | "none",
): BackendManifest => {
  const support = (compute: typeof f16) =>
    compute === "none" ? { unsupported: "no such unit" } : ({ storage: "f32", compute } as const);
  return defineManifest({
    ...manifest,
    dtypes: { ...manifest.dtypes, f16: support(f16), bf16: support(bf16) },
  });
};

describe("mixed()", () => {
  it.each([
    ["native", "native", "mixed_bfloat16"],
    ["native", "emulated", "mixed_float16"],
    ["native", "none", "mixed_float16"],
    ["emulated", "native", "mixed_bfloat16"],
    ["emulated", "emulated", "float32"],
    ["none", "none", "float32"],
  ] as const)("with f16 %s and bf16 %s is %s", (f16, bf16, name) => {
    const { warnings = [], ...precision } = mixed()(withHalves(f16, bf16));
    expect(precision.name).toBe(name);
    expect(warnings.map(({ type }) => type)).toEqual(name === "float32" ? ["performance"] : []);
  });

  it("is what a trainer takes, and where it brings nothing it says so once", async () => {
    const received: TrainingWarning[] = [];
    const { backend } = { backend: await reference() };
    const training = await smallRun({
      backend,
      precision: mixed(),
      onWarning: (warning) => void received.push(warning),
    });
    expect(training.precision.name).toBe("float32");
    await training.step(batch(0));
    expect(received.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^mixed\(\): @mp\/core reference v1 on cpu computes neither fp16 nor bf16 natively, so everything runs in float32/,
      ),
    ]);
  });
});

it("a half that the backend does not have at all is refused when the trainer is made", async () => {
  const { backend } = tinyBackend();
  for (const precision of [mixedBfloat16(), bfloat16()]) {
    await expect(smallRun({ backend, precision })).rejects.toMatchObject({
      code: "MP_UNSUPPORTED",
      message: expect.stringMatching(
        /^casting policy .*compute=bf16.*: tiny has no bf16, no storage; take another policy or backend$/,
      ) as string,
    });
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  }
});

it("a pure half warns of casts that the user wrote, and of no others", async () => {
  const warningsOf = async (run: SmallTrainer): Promise<readonly string[]> => {
    await run.step(batch(0));
    return run.warnings.filter(({ type }) => type === "numerics").map(({ message }) => message);
  };
  // The casts of dropout, which converts random bits, and of loss and metrics to f32 do not warn.
  expect(await warningsOf(await smallRun({ precision: float16() }))).toEqual([]);
  const counting: SmallOptions["loss"] = ({ hidden, out }, { x }, { modelState }) => {
    const y = matMul(matMul(x, hidden.w), out);
    return { loss: reduceMean(y), metrics: { error: reduceMean(cast(greater(y, 0), "f32")) }, modelState };
  };
  expect(await warningsOf(await smallRun({ precision: float16(), loss: counting }))).toEqual([]);
  const casting: SmallOptions["loss"] = ({ hidden, out }, { x }, { modelState }) => {
    const error = reduceMean(mul(cast(matMul(matMul(x, hidden.w), out), "f32"), 2));
    return { loss: error, metrics: { error }, modelState };
  };
  expect(await warningsOf(await smallRun({ precision: float16(), loss: casting }))).toEqual([
    expect.stringMatching(/the cast to f32 is undone, Mul takes f16 \(at .*presets\.test\.ts/),
  ]);
});

it("each precision is the policy, the masters and the scaler of its name", () => {
  const parts = [float32(), mixedFloat16(), mixedBfloat16(), float16(), bfloat16(), manual()].map(
    ({ name, policy, masterWeights, lossScaler }) => [
      name,
      String(policy),
      masterWeights.name,
      lossScaler.name,
    ],
  );
  expect(parts).toEqual([
    ["float32", "params=f32,compute=f32,output=f32", "f32", "none"],
    ["mixed_float16", "params=f32,compute=f16,output=f32", "f32", "dynamic(65536)"],
    ["mixed_bfloat16", "params=f32,compute=bf16,output=f32", "f32", "none"],
    ["float16", "params=f16,compute=f16,output=f16", "none(f16)", "none"],
    ["bfloat16", "params=bf16,compute=bf16,output=bf16", "none(bf16)", "none"],
    ["manual", "params=f32,compute=manual,output=f32", "f32", "dynamic(65536)"],
  ]);
});

it("a precision that takes no manifest is called without one", () => {
  const chosen = [float8, mixed, mixedFloat16, () => float32()].map(
    (choice) => usablePrecision("trainer", choice as PrecisionChoice, withHalves("native", "native")).name,
  );
  expect(chosen).toEqual(["float8", "mixed_bfloat16", "mixed_float16", "float32"]);
});
