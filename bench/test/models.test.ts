import { expect, it } from "vitest";
import { openEngine } from "../src/engine.js";
import { readExportedModel } from "../src/models/exported.js";
import { roundTrip } from "../src/models/round-trip.js";
import { isWrittenWithin } from "../src/models/table.js";
import { describeExportedModels, FIXTURES, SMALL_MODELS } from "./exported-models.js";

describeExportedModels("ort");

it.each(SMALL_MODELS)("%s goes out again, to plain onnxruntime-node", async (model) => {
  const backend = await openEngine({ engine: "ort", threads: 1, device: "cpu" });
  const found = await roundTrip(backend, await readExportedModel(FIXTURES, model));
  await backend.dispose();
  expect(isWrittenWithin({ model, found }), JSON.stringify(found)).toBe(true);
  expect(found.f16).toEqual(
    model === "lstm" ? "MP_UNSUPPORTED" : { bytes: expect.any(Number), output: expect.any(Number) },
  );
});
