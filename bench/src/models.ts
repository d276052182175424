/**
 * `node dist/models.js FOLDER [model …] [--backend ort,tfjs] [--write]`: the models that `peers/onnx_models.py`
 * exported into that folder, beside PyTorch: forward within 1e-4, the losses of three steps within 1e-3 in float32 and
 * 1e-2 in mixed_float16. `--write` puts the table into docs/onnx-models.md.
 */
import { parseArgs } from "node:util";
import { openEngine } from "./engine.js";
import { ENGINES } from "./job.js";
import { compareModel } from "./models/compare-model.js";
import { exportedModel, MODELS } from "./models/exported.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { backend: { type: "string", default: ENGINES.join() }, write: { type: "boolean", default: false } },
});
const [folder = "", ...names] = positionals;
const chosen = names.length === 0 ? MODELS : MODELS.filter((name) => names.includes(name));
for (const engine of ENGINES.filter((name) => values.backend.split(",").includes(name))) {
  const backend = await openEngine({ engine, threads: 1, device: "cpu" });
  for (const name of chosen) {
    try {
      const found = await compareModel(backend, await exportedModel(folder, name));
      console.log(engine, name, JSON.stringify(found));
    } catch (error) {
      console.log(engine, name, error instanceof Error ? error.message.slice(0, 400) : error);
      process.exitCode = 1;
    }
  }
  await backend.dispose();
}
