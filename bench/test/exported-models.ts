import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openEngine } from "../src/engine.js";
import type { EngineName } from "../src/job.js";
import { compareModel } from "../src/models/compare-model.js";
import { readExportedModel } from "../src/models/exported.js";
import { isWithin } from "../src/models/table.js";

export const FIXTURES: string = fileURLToPath(new URL("../fixtures", import.meta.url));

/** The small models of docs/onnx-models.md; `python bench/peers/onnx_models.py bench/fixtures unet …` makes them. */
export const SMALL_MODELS = [
  "unet",
  "lstm",
  "mobilenet_v2",
  "unet_groupnorm",
  "clip",
  "deberta_v2",
  "vae_prelu",
] as const;

/** Tests the models on an engine against the outputs and losses of PyTorch. */
export function describeExportedModels(engine: EngineName): void {
  describe(`models exported from PyTorch, on ${engine}`, () => {
    it.each(SMALL_MODELS)("%s: its output, and the losses of its steps", async (model) => {
      const backend = await openEngine({ engine, threads: 1, device: "cpu" });
      const exported = await readExportedModel(FIXTURES, model);
      const found = await compareModel(backend, exported);
      await backend.dispose();
      expect(isWithin({ model, engine, exported, found }), JSON.stringify(found)).toBe(true);
      expect(exported.losses.at(-1)).toBeLessThan((exported.losses[0] ?? 0) - 0.005);
    });
  });
}
