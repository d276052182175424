import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openEngine } from "./engine.js";
import { ENGINES } from "./job.js";
import { compareModel } from "./models/compare-model.js";
import { exportedModel } from "./models/exported.js";
import { roundTrip } from "./models/round-trip.js";
import { isWithin, isWrittenWithin } from "./models/table.js";

const FOLDER = fileURLToPath(new URL("../fixtures", import.meta.url));

/** Two of the models of docs/onnx-models.md; `python bench/peers/onnx_models.py bench/fixtures unet lstm` makes them. */
describe.each(ENGINES)("models exported from PyTorch, on %s", (engine) => {
  it.each(["unet", "lstm"] as const)("%s: its output, and the losses of three steps", async (model) => {
    const backend = await openEngine({ engine, threads: 1, device: "cpu" });
    const exported = await exportedModel(FOLDER, model);
    const found = await compareModel(backend, exported);
    await backend.dispose();
    expect(isWithin({ model, engine, exported, found }), JSON.stringify(found)).toBe(true);
    expect(exported.losses[3]).toBeLessThan((exported.losses[0] ?? 0) - 0.01);
  });
});

it.each(["unet", "lstm"] as const)("%s goes out again, to plain onnxruntime-node", async (model) => {
  const backend = await openEngine({ engine: "ort", threads: 1, device: "cpu" });
  const found = await roundTrip(backend, await exportedModel(FOLDER, model));
  await backend.dispose();
  expect(isWrittenWithin({ model, found }), JSON.stringify(found)).toBe(true);
  expect(found.f16).toEqual(
    model === "lstm" ? "MP_UNSUPPORTED" : { bytes: expect.any(Number), output: expect.any(Number) },
  );
});
